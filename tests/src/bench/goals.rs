//! What was to be reached, and whether it was: ratios within one run.

use std::fmt::Write;

use super::kept::Kept;
use super::results::Sample;

/// One goal.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    pub figure: &'static str,
    pub wanted: Wanted,
    /// None where the run does not say.
    pub measured: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wanted {
    AtLeast(f64),
    AtMost(f64),
}

impl Goal {
    pub fn met(&self) -> Option<bool> {
        let measured = self.measured?;
        Some(match self.wanted {
            Wanted::AtLeast(least) => measured >= least,
            Wanted::AtMost(most) => measured <= most,
        })
    }
}

/// All of them, by what was measured so far.
pub fn all(kept: &Kept) -> Vec<Goal> {
    let bench = kept.bench.as_ref();
    let rate = |name: &str| bench?.median(name, |sample| Some(sample.per_second));
    let best = |prefix: &str| bench?.best(prefix);
    let latency = |name: &str, figure: fn(&Sample) -> f64| bench?.median(name, |sample| Some(figure(sample)));
    let many = [256, 1_024].map(|callers| rate(&format!("session/{callers}")));
    let session = many.into_iter().flatten().max_by(f64::total_cmp);
    let limit = best("limit-");
    let refused = best("session-refused/");
    let per_core = |sample: &Sample| Some(1e6 / (sample.server + sample.postgres));
    let renewals = bench.and_then(|bench| {
        let row = bench
            .rows
            .iter()
            .find(|row| row.name.starts_with("unary-renewals/"))?;
        Some(row.spread(per_core)?.median)
    });
    let idle = bench.and_then(|bench| {
        let row = bench
            .rows
            .iter()
            .find(|row| row.name.starts_with("session-idle/"))?;
        Some(row.spread(|sample| sample.server_memory)?.most)
    });
    let grown = kept.growth.as_ref().and_then(|growth| growth.ratio());
    let goal = |figure, wanted, measured| Goal {
        figure,
        wanted,
        measured,
    };
    vec![
        goal(
            "throughput, 64 callers, unary ÷ hand-written",
            Wanted::AtLeast(2.0),
            over(rate("unary/64"), rate("hand/64")),
        ),
        goal(
            "throughput, session, 256 or more callers ÷ hand-written at its best",
            Wanted::AtLeast(4.0),
            over(session, best("hand/")),
        ),
        goal(
            "session throughput ÷ limit, random keys",
            Wanted::AtLeast(0.6),
            over(session, limit),
        ),
        goal(
            "throughput, session ÷ Redis with `appendfsync always`, 64 callers",
            Wanted::AtLeast(1.5),
            over(rate("session/64"), rate("redis/64")),
        ),
        goal(
            "refused claims on contended keys, session ÷ hand-written",
            Wanted::AtLeast(3.0),
            over(refused, rate("hand-refused/64")),
        ),
        goal(
            "latency p50 of one action, 1 caller, session ÷ hand-written",
            Wanted::AtMost(1.3),
            over(
                latency("session/1", |sample| sample.p50),
                latency("hand/1", |sample| sample.p50),
            ),
        ),
        goal(
            "p99 of one action at 64 callers, session ÷ hand-written at 64",
            Wanted::AtMost(0.5),
            over(
                latency("session/64", |sample| sample.p99),
                latency("hand/64", |sample| sample.p99),
            ),
        ),
        goal(
            "throughput at the largest table ÷ empty",
            Wanted::AtLeast(0.85),
            grown,
        ),
        goal(
            "leases renewed per second of processor (server and Postgres), batched",
            Wanted::AtLeast(100_000.0),
            renewals,
        ),
        goal(
            "server memory with 10,000 idle sessions, MB",
            Wanted::AtMost(500.0),
            idle,
        ),
    ]
}

fn over(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    Some(one? / other.filter(|other| *other > 0.0)?)
}

/// As a table.
pub fn markdown(goals: &[Goal]) -> anyhow::Result<String> {
    let mut text = String::from("| figure | goal | measured | |\n| --- | ---: | ---: | --- |\n");
    for goal in goals {
        let wanted = match goal.wanted {
            Wanted::AtLeast(least) => format!("≥ {least}"),
            Wanted::AtMost(most) => format!("≤ {most}"),
        };
        let measured = match goal.measured {
            None => "–".to_owned(),
            Some(measured) if measured >= 100.0 => format!("{measured:.0}"),
            Some(measured) => format!("{measured:.2}"),
        };
        let verdict = match goal.met() {
            None => "not measured",
            Some(true) => "met",
            Some(false) => "**missed**",
        };
        writeln!(text, "| {} | {wanted} | {measured} | {verdict} |", goal.figure)?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::results::{Results, Row};

    fn row(name: &str, per_second: f64) -> Row {
        let sample = Sample {
            per_second,
            ..Sample::default()
        };
        Row {
            name: name.to_owned(),
            rounds: vec![sample],
        }
    }

    #[test]
    fn a_ratio_needs_both_sides_and_says_whether_it_is_enough() {
        let mut kept = Kept {
            bench: Some(Results {
                machine: String::new(),
                seconds: 1.0,
                rows: vec![row("hand/64", 100.0), row("unary/64", 199.0)],
                missing: Vec::new(),
            }),
            ..Kept::default()
        };
        let first = |kept: &Kept| all(kept).remove(0);
        assert_eq!(first(&kept).met(), Some(false));
        kept.bench.as_mut().unwrap().rows[1] = row("unary/64", 200.0);
        assert_eq!(first(&kept).met(), Some(true));
        kept.bench.as_mut().unwrap().rows.pop();
        assert_eq!(first(&kept).met(), None);
    }
}
