//! What was measured, as it is kept: every round of every row, with what it ran on.

use serde::{Deserialize, Serialize};

/// One run of a cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Units a second: actions, refused claims, or leases renewed.
    pub per_second: f64,
    /// Milliseconds.
    pub p50: f64,
    pub p99: f64,
    pub p999: f64,
    /// Processor microseconds per unit.
    pub client: f64,
    /// Deed's server, or Redis.
    pub server: f64,
    pub postgres: f64,
    /// What Postgres counted, where the cell has one.
    pub database: Option<DatabaseCost>,
    /// The server's peak, in megabytes, where there is one.
    pub server_memory: Option<f64>,
}

/// Per unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DatabaseCost {
    pub wal_bytes: f64,
    pub transactions: f64,
    pub syncs: f64,
    /// Top-level statements, where Postgres's own counter of them is installed.
    pub statements: Option<f64>,
}

/// All rounds of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub name: String,
    pub rounds: Vec<Sample>,
}

/// The middle, and how far the rounds lie apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub least: f64,
    pub most: f64,
}

impl Spread {
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let last = values.len() - 1;
        let median = (values[last / 2] + values[last.div_ceil(2)]) / 2.0;
        Some(Self { median, least, most })
    }
}

impl Row {
    /// Of the rounds that have the figure.
    pub fn spread(&self, figure: impl Fn(&Sample) -> Option<f64>) -> Option<Spread> {
        Spread::of(self.rounds.iter().filter_map(figure))
    }
}

/// One run of `make bench`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Processors, Postgres's version, and whether the build is optimised.
    pub machine: String,
    /// How long each cell was measured, without its warm-up.
    pub seconds: f64,
    pub rows: Vec<Row>,
    /// What could not be measured here.
    pub missing: Vec<String>,
}

impl Results {
    pub fn row(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// The median of a figure in one row.
    pub fn median(&self, name: &str, figure: impl Fn(&Sample) -> Option<f64>) -> Option<f64> {
        Some(self.row(name)?.spread(figure)?.median)
    }

    /// The highest median rate of the rows whose name starts so.
    pub fn best(&self, prefix: &str) -> Option<f64> {
        let rows = self
            .rows
            .iter()
            .filter(|row| row.name.starts_with(prefix) && !row.name.contains("-at-"));
        let rates = rows.filter_map(|row| Some(row.spread(|sample| Some(sample.per_second))?.median));
        rates.max_by(f64::total_cmp)
    }
}

/// A build without optimisation measures the compiler.
pub fn machine(postgres: &str) -> String {
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    let build = if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    };
    format!("{processors} processors, {postgres}, {build} build")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_two_rounds_lies_between_them() {
        let spread = Spread::of([4.0, 2.0]).unwrap();
        assert_eq!((spread.median, spread.least, spread.most), (3.0, 2.0, 4.0));
        assert_eq!(Spread::of([5.0, 1.0, 2.0]).unwrap().median, 2.0);
        assert_eq!(Spread::of([]), None);
    }
}
