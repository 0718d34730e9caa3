//! `make evaluate`: the published experiment with a third arm. Writes the page and its plot, prints the tables, and fails
//! where nothing was tested or Deed broke what it promised.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use deed_tests::evaluate::run::{self, Results, Scope};
use deed_tests::evaluate::stage::Stage;
use deed_tests::evaluate::{page, plot};

/// The page and, beside it, its plot.
const PAGE: &str = "evaluation.md";
const PLOT: &str = "evaluation.svg";

/// Runs the published experiment with three arms: blind retry, verify-then-retry, and Deed.
#[derive(Parser)]
#[command(name = "evaluate")]
struct Arguments {
    /// 1,000 seeds at each level for tight intervals, instead of the published 25.
    #[arg(long)]
    deep: bool,
    /// Where the page and its plot go.
    #[arg(long, value_name = "DIR", default_value = "docs")]
    into: PathBuf,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match evaluate(&arguments).await {
        Ok(failures) if failures.is_empty() => ExitCode::SUCCESS,
        Ok(failures) => {
            for failure in failures {
                eprintln!("FAILED: {failure}");
            }
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("evaluate: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn evaluate(arguments: &Arguments) -> anyhow::Result<Vec<String>> {
    let (scope, command) = if arguments.deep {
        (Scope::deep(), "make evaluate-deep")
    } else {
        (Scope::published(), "make evaluate")
    };
    let stage = Stage::start().await?;
    let results = run::run(&stage, &scope).await;
    let ended = stage.end().await;
    let results = results?;
    ended.context("the server did not end as it should")?;
    println!("{}", page::tables(&results)?);
    write(&arguments.into, &results, command)?;
    println!("all of it in {:.0} s", results.took.as_secs_f64());
    Ok(page::failures(&results))
}

fn write(into: &Path, results: &Results, command: &str) -> anyhow::Result<()> {
    let context = || format!("cannot write into {}", into.display());
    fs::create_dir_all(into).with_context(context)?;
    fs::write(into.join(PLOT), plot::svg(results)?).with_context(context)?;
    fs::write(into.join(PAGE), page::page(results, command, PLOT)?).with_context(context)?;
    println!("written: {} and {PLOT} beside it", into.join(PAGE).display());
    Ok(())
}
