//! The demo as a whole: real processes, a receiver that loses answers, and kills, also of the server.

use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};

/// Any would do: few invoices meet enough faults and races for the blind workers to double some.
const SEED: &str = "7";

/// What the demo printed, and how it ended.
struct Ended {
    output: Output,
    stdout: String,
}

impl Ended {
    /// The last number of the table's row: the one with Deed.
    fn row(&self, name: &str) -> Result<u32> {
        let row = self.stdout.lines().find(|line| line.starts_with(name));
        let number = row.and_then(|row| row.split_whitespace().last());
        let number = number.with_context(|| format!("no row {name:?}; {}", self.all()))?;
        Ok(number.parse()?)
    }

    /// The three numbers of the last line.
    fn verdict(&self) -> Result<[u32; 3]> {
        let parse = || {
            let rest = self
                .stdout
                .lines()
                .last()?
                .strip_prefix("duplicates without deed: ")?;
            let (without, rest) = rest.split_once("   with deed: ")?;
            let (with, undecided) = rest.split_once("   undecided: ")?;
            Some([without.parse().ok()?, with.parse().ok()?, undecided.parse().ok()?])
        };
        parse().with_context(|| format!("the last line is no verdict; {}", self.all()))
    }

    fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    fn all(&self) -> String {
        format!("{}\n{}\n{}", self.output.status, self.stdout, self.stderr())
    }
}

fn demo(arguments: &[&str]) -> Result<Ended> {
    let output = Command::new(env!("CARGO_BIN_EXE_demo"))
        .args(arguments)
        .output()?;
    let stdout = String::from_utf8(output.stdout.clone())?;
    Ok(Ended { output, stdout })
}

#[test]
fn killing_the_server_in_the_middle_of_the_demo_loses_nothing_and_doubles_nothing() -> Result<()> {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/invoices.jsonl");
    let invoices = shipped.to_str().context("the path is no text")?;
    let ended = demo(&[
        "--invoices",
        invoices,
        "--limit",
        "60",
        "--kills",
        "4",
        "--seed",
        SEED,
        "--kill-server",
    ])?;
    ensure!(ended.output.status.success(), "{}", ended.all());
    let [without, with, undecided] = ended.verdict()?;
    ensure!(without > 0 && with == 0 && undecided == 0, "{}", ended.all());
    assert_eq!(ended.row("Deed servers killed")?, 1);
    assert_eq!((ended.row("applied")?, ended.row("lost")?), (60, 0));
    Ok(())
}

#[test]
fn a_file_that_is_not_there_is_named_before_anything_is_started() -> Result<()> {
    let ended = demo(&["--invoices", "no-such-file.jsonl"])?;
    assert!(!ended.output.status.success());
    assert!(ended.stderr().contains("no-such-file.jsonl"), "{}", ended.all());
    assert!(ended.stdout.is_empty(), "{}", ended.all());
    Ok(())
}
