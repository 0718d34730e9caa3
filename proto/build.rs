//! Compiles `deed/v1/*.proto` to Rust, client and server, and keeps the descriptors for reflection. Needs no installed
//! protoc: protox parses, tonic-prost-build writes.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use protox::prost::Message as _;

const FILES: [&str; 7] = [
    "deed/v1/contract.proto",
    "deed/v1/evidence.proto",
    "deed/v1/next_step.proto",
    "deed/v1/action.proto",
    "deed/v1/ownership.proto",
    "deed/v1/ledger.proto",
    "deed/v1/operations.proto",
];

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo::rerun-if-changed={}", root.join("deed").display());

    let descriptors = protox::compile(FILES.map(|file| root.join(file)), [&root])?;
    fs::write(out.join("deed.v1.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure()
        .build_client(true)
        .build_server(true)
        .emit_rerun_if_changed(false)
        .out_dir(&out)
        .compile_fds(descriptors)?;
    Ok(())
}
