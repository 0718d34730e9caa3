//! Random worlds: any command at any time, lost, repeated and reordered, under every shape of contract. `World` checks all
//! invariants after every step; this module counts what was reached and asks that nothing reachable was left out.

mod coverage;
mod moves;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use coverage::Coverage;
use moves::Player;

use crate::world::Dice;

/// Worlds by steps: some 20 s of an unoptimised build on one core, an order of magnitude above what the rarest listed
/// combination needs.
const WORLDS: u64 = 12_000;
const STEPS: u32 = 60;

#[test]
fn every_invariant_holds_after_every_step_and_every_reachable_answer_is_reached() {
    let mut coverage = Coverage::default();
    for seed in 0..WORLDS {
        let mut world = AssertUnwindSafe((Player::new(Dice::new(seed)), &mut coverage));
        let played = catch_unwind(move || {
            let (player, coverage) = &mut *world;
            (0..STEPS).for_each(|_| player.step(coverage));
        });
        if played.is_err() {
            // The seed names the world: it is played again, this time aloud.
            eprintln!("again, the world of seed {seed}:");
            let mut player = Player::new(Dice::new(seed)).telling();
            (0..STEPS).for_each(|_| player.step(&mut Coverage::default()));
        }
    }
    coverage.print();
    let short: BTreeMap<_, _> = coverage.below(coverage::REACHABLE, coverage::ENOUGH);
    assert!(
        short.is_empty(),
        "reached less than {} times: {short:#?}",
        coverage::ENOUGH
    );
}
