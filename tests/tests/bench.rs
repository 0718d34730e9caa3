//! A tiny run of the load generator: every cell that needs no Redis, each for a moment. What they check by themselves must
//! hold, and the page must tell all of it. No figure is asserted.

use std::time::Duration;

use anyhow::{Result, ensure};
use deed_tests::bench::course::{Length, Pace};
use deed_tests::bench::kept::Kept;
use deed_tests::bench::plan::{Cell, Column, Plan, RATES, Work, cells};
use deed_tests::bench::{growth, measure, page, plot};

/// Sessions that do nothing: some, and not what a machine may have files for.
const SESSIONS: usize = 100;

fn plan() -> Plan {
    let mut cells = cells();
    // Nothing is different at 16 callers, nor at another rate.
    cells.retain(|cell| {
        cell.column != Column::Redis && cell.callers != 16 && cell.pace != Pace::Open(RATES[1])
    });
    for cell in &mut cells {
        // A debug build takes its time for each action, and so do a thousand callers.
        cell.callers = cell.callers.min(SESSIONS);
        if let Work::Renewals { leases } = &mut cell.work {
            *leases = 200;
        }
        if let Column::Limit { batch } = &mut cell.column {
            *batch = 20;
        }
    }
    let mut seen: Vec<Cell> = Vec::new();
    for cell in cells {
        if !seen.contains(&cell) {
            seen.push(cell);
        }
    }
    Plan {
        rounds: 1,
        length: Length {
            warm_up: Duration::from_millis(200),
            measured: Duration::from_millis(400),
        },
        cells: seen,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_cell_does_what_it_counts_and_the_page_tells_it() -> Result<()> {
    let plan = plan();
    let bench = measure::all(&plan, |_| {}).await?;
    for row in &bench.rows {
        ensure!(row.rounds.len() == 1, "{} was not measured", row.name);
    }
    let kept = Kept {
        bench: Some(bench),
        ..Kept::default()
    };
    let written = page::page(&kept, "## Where the time goes\n")?;
    for part in [
        "## Goals",
        "`hand/64`",
        "`session-refused/64`",
        "## Where the time goes",
    ] {
        ensure!(written.contains(part), "{part:?} is missing in\n{written}");
    }
    if let Some(bench) = &kept.bench {
        ensure!(plot::svg(bench)?.starts_with("<svg"), "no plot was drawn");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filled_database_has_what_was_asked_for_and_works_on() -> Result<()> {
    let plan = Plan {
        cells: Vec::new(),
        ..plan()
    };
    // Each size is counted before and after its load.
    let grown = growth::measure(&plan, &[0, 3_000], |_| {}).await?;
    ensure!(grown.sizes.len() == 2 && grown.servers.len() == 2, "{grown:?}");
    ensure!(grown.ratio().is_some(), "no ratio of {grown:?}");
    Ok(())
}
