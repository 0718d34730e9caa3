//! Whether the run tested anything at all, and how long there was no service after a failover.

use super::super::fleet::Fleet;
use super::super::nemesis::Fault;
use super::super::record::Record;
use super::Verdict;

/// Checks that every fault came about often enough, that the control fleet met them, and that the others did their work.
pub fn check(record: &Record, floor: usize, verdict: &mut Verdict) {
    for fault in Fault::ALL {
        let count = record.diary.injected.get(&fault).copied().unwrap_or_default();
        if count < floor {
            verdict.failures.push(format!(
                "tested nothing: {} only {count} times, {floor} are needed; give it more CHAOS_SECONDS",
                fault.title()
            ));
        }
    }
    for (fleet, tally) in &verdict.fleets {
        if tally.effects == 0 {
            verdict.failures.push(format!(
                "tested nothing: the {} fleet brought nothing about",
                fleet.title()
            ));
        }
    }
    if verdict
        .fleets
        .get(&Fleet::Blind)
        .is_none_or(|tally| tally.duplicates == 0)
    {
        verdict.failures.push(
            "tested nothing: without Deed nothing was doubled either, so these faults would prove nothing"
                .to_owned(),
        );
    }
    for fallen in &record.fallen {
        verdict.failures.push(fallen.clone());
    }
}

/// The longest time, around a failover, in which no call of anybody went into history.
pub fn longest_outage_ms(record: &Record) -> Option<i64> {
    let mut times: Vec<i64> = record
        .history
        .values()
        .flatten()
        .map(|event| event.at_ms)
        .collect();
    times.sort_unstable();
    let strikes = &record.diary.database;
    let failovers = strikes
        .iter()
        .enumerate()
        .filter(|(_, (_, fault))| *fault == Fault::PrimaryKilled);
    failovers
        .filter_map(|(nth, (from, _))| {
            let until = strikes.get(nth + 1).map_or(i64::MAX, |(at, _)| *at);
            let before = times.partition_point(|at| at < from).checked_sub(1)?;
            let window = times[before..].windows(2);
            window
                .take_while(|pair| pair[0] < until)
                .map(|pair| pair[1] - pair[0].max(*from))
                .max()
        })
        .max()
}
