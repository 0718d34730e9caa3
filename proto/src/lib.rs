//! The types of Deed's API, package `deed.v1`, generated from `deed/v1/*.proto`: the messages, and for each of the
//! services `Ownership`, `Ledger` and `Operations` a client and a server trait.
//!
//! Owns the words on the wire and nothing else. It refuses to judge: what a message may contain is checked by the
//! server's parser, and what follows from it is decided by `deed-core`.

/// The messages and services of package `deed.v1`.
pub mod v1 {
    tonic::include_proto!("deed.v1");
}

/// The encoded `google.protobuf.FileDescriptorSet` of the package and of everything it imports, for gRPC reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/deed.v1.bin"));
