//! What must be found: a rule taken out, or a premise that somebody breaks. Each trap is a pair of worlds that differ in
//! that alone. In the first the claim holds, in the second the checker finds how it is broken. A claim that nothing could
//! break would prove nothing.
//!
//! Worlds have one action. Of the second one that C14 needs, the only thing that the first can see is there: the external id
//! that it has named.

mod premises;
mod rules;

use deed_core::contract::Terms;

use super::rule::Rule;
use super::setting::{Habit, Setting, Tick};
use super::terms::serialized;
use super::world::Claim;

/// A pair of worlds.
#[derive(Clone, Debug)]
pub struct Trap {
    /// The scenario, where there is one.
    pub id: &'static str,
    /// What is believed or done in the second world.
    pub broken_by: &'static str,
    /// The claim.
    pub claim: Claim,
    /// It holds here.
    pub with: Setting,
    /// It is broken here.
    pub without: Setting,
}

fn world(terms: Terms, horizon: Tick, claims: [u8; 2], habits: &'static [Habit]) -> Setting {
    Setting {
        horizon,
        claims,
        habits,
        ..Setting::new("trap", terms)
    }
}

fn rule(id: &'static str, broken_by: &'static str, rule: Rule, claim: Claim, with: Setting) -> Trap {
    let without = with.clone().without(rule);
    Trap {
        id,
        broken_by,
        claim,
        with,
        without,
    }
}

fn premise(broken_by: &'static str, with: Setting, change: impl FnOnce(&mut Setting)) -> Trap {
    let mut without = with.clone();
    change(&mut without);
    Trap {
        id: "",
        broken_by,
        claim: Claim::OneEffect,
        with,
        without,
    }
}

/// Rules that are taken out.
pub fn rules() -> Vec<Trap> {
    rules::all()
}

/// Promises that are broken.
pub fn premises() -> Vec<Trap> {
    premises::all()
}

/// Absence can be proven, and nothing is late.
fn plain(horizon: Tick) -> Setting {
    world(serialized(), horizon, [1, 1], &[Habit::GoesOn])
}
