//! The table: one line for each cell, medians with the least and the most of the rounds.

use std::fmt::Write;

use super::plan::Cell;
use super::run::Sample;

/// All rounds of a cell.
#[derive(Clone, Debug)]
pub struct Measured {
    pub cell: Cell,
    pub rounds: Vec<Sample>,
}

/// The middle, and how far the rounds lie apart.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    pub median: f64,
    pub least: f64,
    pub most: f64,
}

impl Measured {
    pub fn spread(&self, figure: impl Fn(&Sample) -> f64) -> Spread {
        let mut values: Vec<f64> = self.rounds.iter().map(figure).collect();
        values.sort_by(f64::total_cmp);
        let at = |n: usize| values.get(n).copied().unwrap_or_default();
        let last = values.len().saturating_sub(1);
        Spread {
            median: (at(last / 2) + at(last.div_ceil(2))) / 2.0,
            least: at(0),
            most: at(last),
        }
    }

    pub fn median(&self, figure: impl Fn(&Sample) -> f64) -> f64 {
        self.spread(figure).median
    }
}

/// The whole table as Markdown.
pub fn markdown(rows: &[Measured]) -> anyhow::Result<String> {
    let mut text = String::from(
        "| cell | a second (least–most) | p50 ms | p99 ms | p99.9 ms | µs client | µs server | µs Postgres | WAL bytes | transactions | fsyncs | server MB |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for row in rows {
        let rate = row.spread(|sample| sample.per_second);
        let memory = row.rounds.iter().filter_map(|sample| sample.server_memory);
        let memory = memory.fold(None, |most: Option<f64>, next| {
            Some(most.map_or(next, |most| most.max(next)))
        });
        writeln!(
            text,
            "| {} | {:.0} ({:.0}–{:.0}) | {:.2} | {:.2} | {:.2} | {:.1} | {:.1} | {:.1} | {:.0} | {:.3} | {:.3} | {} |",
            row.cell.name(),
            rate.median,
            rate.least,
            rate.most,
            row.median(|sample| sample.p50),
            row.median(|sample| sample.p99),
            row.median(|sample| sample.p999),
            row.median(|sample| sample.client),
            row.median(|sample| sample.server),
            row.median(|sample| sample.postgres),
            row.median(|sample| sample.wal_bytes),
            row.median(|sample| sample.transactions),
            row.median(|sample| sample.syncs),
            memory.map_or_else(|| "–".to_owned(), |memory| format!("{memory:.0}")),
        )?;
    }
    Ok(text)
}
