//! What is written of a ruling, on the primary and on its standby, and which claims that look back a step breaks.

use super::claims::Broken;
use super::deed::{Deed, Ruling};
use super::setting::small;
use super::state::{State, Worker};

/// Whether the standby has what was written before anybody is answered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Standby {
    /// It has.
    Follows,
    /// It has not got it.
    Lags,
}

/// Writes what was ruled and keeps account of the claims that look back.
pub fn written(state: &mut State, ruling: &Ruling, standby: Standby) {
    state.primary = ruling.after.clone();
    // One log: whatever is committed synchronously takes everything before it along.
    if standby == Standby::Follows && (ruling.writes || ruling.reads_back) {
        state.standby = state.primary.clone();
    }
    let consequences = ruling.consequences;
    if let Some(broken) = consequences.broken {
        state.breaks(broken);
    }
    if consequences.proves {
        state.proven = true;
    }
    if consequences.retires {
        state.proven = false;
    }
    // In one step evidence comes before the grant that follows from it.
    if consequences.licenses {
        state.licence = true;
    }
    if consequences.begins {
        if !state.licence {
            state.breaks(Broken::AbsenceSpentTwice);
        }
        if state.proven {
            state.breaks(Broken::ProofIgnored);
        }
        state.licence = false;
    }
}

/// The primary dies; the standby goes on with what it has.
pub fn fail_over(deed: &Deed, state: &mut State) {
    state.primary = state.standby.clone();
    state.failovers -= 1;
    // No promotion takes less than a millisecond, so no token of the old primary comes again.
    state.now += 1;
    (state.licence, state.proven) = (true, false);
    let history = state.primary.ledger.history(&deed.words.key);
    let known = |token: u64| {
        history
            .iter()
            .filter_map(|event| event.token)
            .any(|known| known.number() == token)
    };
    let unknown = state
        .workers
        .iter()
        .filter_map(Worker::token)
        .any(|token| !known(token));
    let forgotten = state.workers.iter().enumerate().any(|(at, worker)| {
        let mut calls = worker
            .calls
            .iter()
            .enumerate()
            .filter(|(_, call)| call.acknowledged);
        calls.any(|(number, _)| !deed.remembers(&state.primary, small(at), small(number)))
    });
    if unknown {
        state.breaks(Broken::GrantUnknown);
    }
    if forgotten {
        state.breaks(Broken::AcknowledgedLost);
    }
}
