//! The one table.

use super::checker::{Tally, Verdict, longest_outage_ms};
use super::fleet::Fleet;
use super::nemesis::Fault;
use super::record::Record;

/// So many failures are named; the rest are mostly the same again.
const NAMED: usize = 20;

/// One number of a fleet.
type Count = fn(&Tally) -> usize;

/// What was injected, what came of it, and for whom.
pub fn table(record: &Record, verdict: &Verdict) -> String {
    let mut table = format!("{:38}", "");
    for fleet in Fleet::ALL {
        table.push_str(&format!("{:>14}", fleet.title()));
    }
    table.push('\n');
    let rows: [(&str, Count, bool); 10] = [
        ("actions", |tally| tally.actions, true),
        ("calls to Deed", |tally| tally.calls, false),
        ("sends", |tally| tally.sends, false),
        (
            "sends that woke up after their lease",
            |tally| tally.overdue,
            false,
        ),
        ("effects", |tally| tally.effects, true),
        ("duplicates", |tally| tally.duplicates - tally.excused, true),
        ("duplicates, premise broken", |tally| tally.excused, false),
        ("effects after the quiet time", |tally| tally.outlived, false),
        ("acknowledged evidence lost", |tally| tally.lost, false),
        ("left undecided", |tally| tally.undecided, false),
    ];
    for (name, of, control) in rows {
        table.push_str(&format!("{name:38}"));
        for fleet in Fleet::ALL {
            let cell = verdict
                .fleets
                .get(&fleet)
                .filter(|_| control || fleet.guarded())
                .map(of);
            let cell = cell.map_or("-".to_owned(), |count| count.to_string());
            table.push_str(&format!("{cell:>14}"));
        }
        table.push('\n');
    }
    for fault in Fault::ALL {
        let count = record.diary.injected.get(&fault).copied().unwrap_or_default();
        table.push_str(&format!("{:38}{count:>14}\n", fault.title()));
    }
    let outage =
        longest_outage_ms(record).map_or("-".to_owned(), |ms| format!("{:.1} s", ms as f64 / 1_000.0));
    table.push_str(&format!(
        "{:38}{outage:>14}\n",
        "longest failover without service"
    ));
    table
}

/// What must be said besides: why actions are undecided, and what failed.
pub fn remarks(verdict: &Verdict) -> Vec<String> {
    let undecided = verdict
        .undecided
        .iter()
        .map(|(what, count)| format!("undecided: {count} x {what}"));
    let failures = verdict
        .failures
        .iter()
        .take(NAMED)
        .map(|failure| format!("FAILED: {failure}"));
    let more = verdict.failures.len().saturating_sub(NAMED);
    let rest = (more > 0).then(|| format!("FAILED: and {more} more"));
    undecided.chain(failures).chain(rest).collect()
}

/// The last line: three numbers and the seed that gives them again.
pub fn last_line(verdict: &Verdict, seed: u64) -> String {
    let sum = |of: Count, guarded: bool| -> usize {
        let fleets = verdict
            .fleets
            .iter()
            .filter(|(fleet, _)| fleet.guarded() == guarded);
        fleets.map(|(_, tally)| of(tally)).sum()
    };
    format!(
        "duplicates without deed: {}   with deed: {}   evidence lost: {}   seed: {seed}",
        sum(|tally| tally.duplicates, false),
        sum(|tally| tally.duplicates - tally.excused, true),
        sum(|tally| tally.lost, true),
    )
}
