//! Random worlds: any command at any time, lost, repeated and reordered, under every shape of contract. `World` checks all
//! invariants after every step; this module counts what was reached and asks that nothing reachable was left out.

mod coverage;
mod moves;
mod openings;

use std::panic::{AssertUnwindSafe, catch_unwind};

use coverage::{Coverage, ENOUGH};
use moves::Player;

use crate::world::Dice;

/// Worlds by steps: some 10 s of an unoptimised build on two idle cores, and what the rarest listed combination needs.
const WORLDS: u64 = 30_000;
const STEPS: u32 = 30;

#[test]
fn every_invariant_holds_after_every_step_and_every_reachable_answer_is_reached() {
    // Odd and even seeds side by side: each world is its own.
    let coverage = std::thread::scope(|scope| {
        let even = scope.spawn(|| play((0..WORLDS).step_by(2)));
        let odd = play((1..WORLDS).step_by(2));
        let even = even
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        odd.and(even)
    });
    coverage.print();
    let short = coverage.below(ENOUGH);
    assert!(short.is_empty(), "reached less than {ENOUGH} times: {short:#?}");
    assert_eq!(
        coverage.executions_after_the_end(),
        [],
        "nobody acts on what is settled or unapproved"
    );
}

fn play(seeds: impl Iterator<Item = u64>) -> Coverage {
    let mut coverage = Coverage::default();
    for seed in seeds {
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
    coverage
}
