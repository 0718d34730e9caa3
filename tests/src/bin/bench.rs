//! `make bench`: what one Postgres does by hand, at its limit and with Deed in front. Prints one table, and fails where a
//! load lost or skipped work.

use std::process::ExitCode;

use deed_tests::bench::measure;
use deed_tests::bench::plan::Plan;
use deed_tests::bench::table;

#[tokio::main]
async fn main() -> ExitCode {
    match bench().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn bench() -> anyhow::Result<()> {
    let plan = Plan::from_environment()?;
    let results = measure::all(&plan, |said| eprintln!("{said}")).await?;
    println!("{}", table::markdown(&results)?);
    Ok(())
}
