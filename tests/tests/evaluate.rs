//! A small version of `make evaluate`: all arms against a real server and real receivers, and the test of its verdict.

use anyhow::{Context, Result, ensure};
use deed_tests::evaluate::run::{self, Results, Scope};
use deed_tests::evaluate::scale::Scale;
use deed_tests::evaluate::setting::{Arm, Keys, Lateness, Level};
use deed_tests::evaluate::stage::Stage;
use deed_tests::evaluate::tally::Tally;
use deed_tests::evaluate::{page, plot};

/// Few seeds, and the level at which blind retry doubles four episodes of five.
fn scope() -> Scope {
    Scope {
        scale: Scale::QUICK,
        levels: vec![Level::High],
        seeds: 6,
        workers: vec![(3, 2)],
        late_commits: vec![(Keys::Ignored, Lateness::InWindow)],
        late_seeds: 2,
    }
}

fn of(results: &mut Results, arm: Arm) -> impl Iterator<Item = &mut Tally> {
    results
        .cells
        .iter_mut()
        .filter_map(move |(cell, tally)| (cell.arm == arm).then_some(tally))
}

#[tokio::test(flavor = "multi_thread")]
async fn blind_retry_doubles_where_deed_does_not_and_the_verdict_notices_either_missing() -> Result<()> {
    let stage = Stage::start().await?;
    let results = run::run(&stage, &scope()).await;
    stage.end().await?;
    let mut results = results?;

    let failures = page::failures(&results);
    ensure!(failures.is_empty(), "{failures:?}\n{}", page::tables(&results)?);
    let written = page::page(&results, "make evaluate", "evaluation.svg")?;
    for part in [
        "reported",
        "| high | Deed | 0 %",
        "Where Deed's number is not 0",
        "Independence",
    ] {
        ensure!(written.contains(part), "{part:?} is missing in\n{written}");
    }
    let drawn = plot::svg(&results)?;
    ensure!(
        drawn.starts_with("<svg") && drawn.contains("record_invoice"),
        "{drawn}"
    );

    of(&mut results, Arm::Deed)
        .next()
        .context("Deed has cells")?
        .duplicated
        .hits = 1;
    assert_eq!(
        page::failures(&results).len(),
        1,
        "a planted duplicate is noticed"
    );
    for tally in of(&mut results, Arm::Blind) {
        tally.duplicated.hits = 0;
    }
    assert_eq!(
        page::failures(&results).len(),
        2,
        "faults that do not strike are noticed"
    );
    Ok(())
}
