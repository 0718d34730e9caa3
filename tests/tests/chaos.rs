//! Chaos as a whole, in a few seconds: every kind of fault at least once, and the same judgement as in the full run.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Any would do.
const SEED: &str = "7";

fn chaos(seconds: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chaos"));
    command.args(["--seconds", seconds, "--seed", SEED]);
    command
}

fn said(output: &Output) -> String {
    let (out, error) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    format!("{}\n{out}\n{error}", output.status)
}

#[test]
fn a_short_storm_of_every_fault_doubles_nothing_and_loses_nothing() -> Result<()> {
    let output = chaos("6").output()?;
    ensure!(output.status.success(), "{}", said(&output));
    let stdout = String::from_utf8(output.stdout.clone())?;
    let last = stdout.lines().last().unwrap_or_default();
    ensure!(
        last.contains("with deed: 0   evidence lost: 0") && !last.contains("without deed: 0"),
        "{}",
        said(&output)
    );
    Ok(())
}

#[test]
fn whoever_is_interrupted_in_the_middle_of_it_leaves_no_process_behind() -> Result<()> {
    let directory = tempfile::Builder::new()
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .tempdir()?;
    let mut child = chaos("600")
        .arg("--data")
        .arg(directory.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let stdout = child.stdout.take().context("it has no output")?;
    let heard = BufReader::new(stdout)
        .lines()
        .map_while(Result::ok)
        .any(|line| line.contains("the storm begins"));
    kill(Pid::from_raw(i32::try_from(child.id())?), Signal::SIGINT)?;
    let status = child.wait()?;
    let mut error = String::new();
    child
        .stderr
        .take()
        .context("it has no error output")?
        .read_to_string(&mut error)?;
    ensure!(
        heard && !status.success() && error.contains("interrupted"),
        "{status}: {error}"
    );
    let left = processes_of(directory.path().to_str().context("the path is no text")?)?;
    ensure!(left.is_empty(), "left behind: {left:?}");
    Ok(())
}

/// The command lines that name this directory.
fn processes_of(directory: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")?.flatten() {
        // A process that ends meanwhile is none.
        let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&words).replace('\0', " ");
        if line.contains(directory) {
            found.push(line);
        }
    }
    Ok(found)
}
