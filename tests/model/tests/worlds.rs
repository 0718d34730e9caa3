//! Small worlds of the protocol, explored whole; `make model` explores larger ones.

use std::collections::BTreeSet;

use anyhow::Context;
use deed_model::run::{explore, spring};
use deed_model::worlds::{self, Size};
use deed_model::{sights, traps};

/// The tests of this file run beside each other already.
const THREADS: usize = 1;

/// Every claim holds, and everything that the world owes is seen.
fn holds(name: &str) -> anyhow::Result<()> {
    let worlds = worlds::all(Size::Quick);
    let setting = worlds
        .iter()
        .find(|setting| setting.name == name)
        .context("no such world")?;
    let explored = explore(setting, THREADS)?;
    println!("{name}: {} states, {} steps", explored.states, explored.steps);
    assert_eq!(explored.broken, None);
    assert_eq!(explored.missing, []);
    Ok(())
}

/// The claim of each trap holds with the rule or the premise, and is broken without.
fn finds(traps: &[traps::Trap]) -> anyhow::Result<()> {
    for trap in traps {
        let found = spring(trap, THREADS)?;
        assert!(found.shown(), "{found:#?}");
    }
    Ok(())
}

macro_rules! worlds {
    ($($test:ident: $name:literal;)*) => {
        $(#[test] fn $test() -> anyhow::Result<()> { holds($name) })*

        #[test]
        fn every_world_has_a_test() {
            let tested = BTreeSet::from([$($name),*]);
            let all = worlds::all(Size::Quick);
            assert_eq!(all.iter().map(|setting| setting.name).collect::<BTreeSet<_>>(), tested);
        }
    };
}

worlds! {
    serialized_holds: "SERIALIZED";
    serialized_holds_over_a_clock_step: "SERIALIZED, the clock steps";
    serialized_holds_with_renewals_releases_and_second_threads: "SERIALIZED, renewed and given up";
    serialized_holds_by_lookup_with_an_operator: "SERIALIZED, by lookup, with an operator";
    contradictions_stop: "SERIALIZED, contradicting itself";
    budgets_hold_at_the_gate: "SERIALIZED, gate apart, within a budget";
    deduplicated_holds_beyond_the_window: "DEDUPLICATED";
    fenced_holds: "FENCED";
    fenced_holds_where_workers_freeze: "FENCED, workers freeze";
    at_most_once_holds_where_workers_freeze: "AT_MOST_ONCE, workers freeze";
    at_most_once_holds_with_an_operator_who_looks: "AT_MOST_ONCE, approved, with an operator who looks";
    partial_work_is_resumed_once: "RESUME";
    asynchronous_holds_with_failing_jobs_and_webhooks: "asynchronous";
    acknowledged_grants_and_evidence_survive_a_failover: "SERIALIZED, a failover";
}

#[test]
fn without_a_rule_the_checker_finds_the_violation() -> anyhow::Result<()> {
    finds(&traps::rules())
}

#[test]
fn without_a_premise_the_checker_finds_the_duplicate() -> anyhow::Result<()> {
    finds(&traps::premises())
}

#[test]
fn every_state_every_block_and_every_turn_is_owed_by_some_world() {
    let worlds = worlds::all(Size::Quick);
    let owed: BTreeSet<_> = worlds.iter().flat_map(|setting| setting.shows).copied().collect();
    assert_eq!(owed, BTreeSet::from(sights::ALL));
}
