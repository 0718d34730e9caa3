//! What the demo prints at its end, and whether it may be called a success.

use std::collections::BTreeSet;
use std::time::Duration;

use super::tally::Tally;

/// So many invoices are named where something went wrong.
const NAMED: usize = 5;

/// Both columns.
#[derive(Clone, Debug)]
pub struct Report {
    pub without: Tally,
    pub with: Tally,
    /// One line for each action that Deed left undecided.
    pub explanations: Vec<String>,
}

impl Report {
    /// One table.
    pub fn table(&self) -> String {
        let count =
            |of: fn(&Tally) -> usize| [of(&self.without), of(&self.with)].map(|number| number.to_string());
        let time = |of: fn(&Tally) -> Option<Duration>| {
            [of(&self.without), of(&self.with)].map(|time| time.map_or("-".to_owned(), milliseconds))
        };
        let rows = [
            ("effects asked for", count(|tally| tally.asked)),
            ("applied", count(|tally| tally.applied)),
            ("duplicated", count(|tally| tally.duplicated)),
            ("lost", count(|tally| tally.lost.len())),
            ("left undecided", count(|tally| tally.undecided.len())),
            ("time per action, median", time(|tally| tally.median)),
            ("time per action, p99", time(|tally| tally.p99)),
            ("workers killed", count(|tally| tally.workers_killed)),
            ("Deed servers killed", count(|tally| tally.servers_killed)),
            (
                "whole run",
                [&self.without, &self.with].map(|tally| seconds(tally.took)),
            ),
        ];
        let mut table = format!("{:25}{:>14}{:>14}\n", "", "without Deed", "with Deed");
        for (name, [without, with]) in rows {
            table.push_str(&format!("{name:25}{without:>14}{with:>14}\n"));
        }
        table
    }

    /// What must not have happened; empty after a success.
    pub fn failures(&self) -> Vec<String> {
        let Tally {
            duplicated,
            lost,
            denied,
            ..
        } = &self.with;
        let mut failures = Vec::new();
        if *duplicated > 0 {
            failures.push(format!("{duplicated} effects were doubled with Deed"));
        }
        if !lost.is_empty() {
            failures.push(format!(
                "Deed calls settled what the receiver does not have: {}",
                names(lost)
            ));
        }
        if !denied.is_empty() {
            failures.push(format!("Deed denies what the receiver has: {}", names(denied)));
        }
        if self.without.duplicated == 0 {
            failures.push(
                "nothing was doubled without Deed either, so this run tested nothing; give it more invoices, or kills"
                    .to_owned(),
            );
        }
        failures
    }

    /// The last line.
    pub fn verdict(&self) -> String {
        format!(
            "duplicates without deed: {}   with deed: {}   undecided: {}",
            self.without.duplicated,
            self.with.duplicated,
            self.with.undecided.len()
        )
    }
}

fn names(ids: &BTreeSet<String>) -> String {
    let named: Vec<&str> = ids.iter().take(NAMED).map(String::as_str).collect();
    let more = match ids.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", named.join(", "))
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1_000.0)
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let tally = |duplicated| Tally {
            asked: 500,
            applied: 500 + duplicated,
            duplicated,
            ..Tally::default()
        };
        Report {
            without: tally(41),
            with: tally(0),
            explanations: Vec::new(),
        }
    }

    #[test]
    fn the_verdict_is_one_line_of_three_numbers() {
        let mut report = report();
        report.with.undecided.insert("INV-1".to_owned());
        let line = "duplicates without deed: 41   with deed: 0   undecided: 1";
        assert_eq!(report.verdict(), line);
        assert!(report.failures().is_empty(), "undecided is honest, not wrong");
    }

    #[test]
    fn a_duplicate_a_loss_and_a_denied_effect_with_deed_are_failures_and_so_is_a_test_of_nothing() {
        let spoiled: [fn(&mut Report); 4] = [
            |report| report.with.duplicated = 1,
            |report| report.with.lost.extend(["INV-1".to_owned()]),
            |report| report.with.denied.extend(["INV-1".to_owned()]),
            |report| report.without.duplicated = 0,
        ];
        for spoil in spoiled {
            let mut report = report();
            spoil(&mut report);
            assert_eq!(report.failures().len(), 1);
        }
    }
}
