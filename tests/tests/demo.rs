//! The demo as a whole: real processes, a receiver that loses answers, and kills, also of the server.

use std::path::Path;
use std::process::{Command, Output};

/// A seed at which the blind arm doubles something even with few invoices; any of the first hundred did.
const SEED: &str = "7";

fn demo(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_demo"))
        .args(arguments)
        .output()
        .unwrap()
}

fn invoices() -> String {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/invoices.jsonl");
    shipped.to_str().unwrap().to_owned()
}

/// The three numbers of the last line.
fn verdict(output: &Output) -> [u32; 3] {
    let stdout = String::from_utf8(output.stdout.clone()).unwrap();
    let line = stdout.lines().last().unwrap_or_default();
    let parse = || {
        let rest = line.strip_prefix("duplicates without deed: ")?;
        let (without, rest) = rest.split_once("   with deed: ")?;
        let (with, undecided) = rest.split_once("   undecided: ")?;
        Some([without.parse().ok()?, with.parse().ok()?, undecided.parse().ok()?])
    };
    parse().unwrap_or_else(|| panic!("the last line is {line:?}; {}", said(output)))
}

fn said(output: &Output) -> String {
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{}\n{stdout}\n{stderr}", output.status)
}

#[test]
fn killing_the_server_in_the_middle_of_the_demo_loses_nothing_and_doubles_nothing() {
    let invoices = invoices();
    let output = demo(&[
        "--invoices",
        &invoices,
        "--limit",
        "60",
        "--kills",
        "4",
        "--seed",
        SEED,
        "--kill-server",
    ]);
    assert!(output.status.success(), "{}", said(&output));
    let [without, with, undecided] = verdict(&output);
    assert!(without > 0, "{}", said(&output));
    assert_eq!((with, undecided), (0, 0), "{}", said(&output));
    let stdout = String::from_utf8_lossy(&output.stdout);
    let row = |name: &str| {
        let row = stdout
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_default();
        row.rsplit(' ').next().unwrap_or_default().to_owned()
    };
    assert_eq!(row("Deed servers killed"), "1", "{stdout}");
    assert_eq!(
        (row("applied"), row("lost")),
        ("60".to_owned(), "0".to_owned()),
        "{stdout}"
    );
}

#[test]
fn a_file_that_is_not_there_is_named_before_anything_is_started() {
    let output = demo(&["--invoices", "no-such-file.jsonl"]);
    assert!(!output.status.success());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("no-such-file.jsonl"), "{stderr}");
}
