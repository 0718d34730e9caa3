//! What of a row and its history can still matter, as one number. Two stores with the same number answer every later call
//! in the same way, so the checker takes them for one.
//!
//! Left out is what no rule reads: prose, counters that only people see, since when a state holds. The row is taken apart
//! field by field, so that a new field of the core does not compile here until somebody decides whether it matters.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};

use deed_core::action::{Action, Approval, Attempt, Effect, Grant, Lookups};
use deed_core::id::ActionKey;

use super::ledger::Ledger;

/// Whether the number of the row's version matters: it does where somebody looks first and decides later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Versions {
    /// It does.
    Matter,
    /// Every decision is made on the current one.
    AreCurrent,
}

/// The row, and what is remembered of each request and token.
pub fn digest(hasher: &mut impl Hasher, ledger: &Ledger, key: &ActionKey, versions: Versions) {
    let Some(action) = ledger.row(key) else { return };
    row(hasher, action);
    if versions == Versions::Matter {
        (action.version, action.sequence).hash(hasher);
    }
    let events = ledger.history(key);
    let requests: BTreeSet<_> = events
        .iter()
        .filter_map(|event| event.request)
        .map(|trace| trace.id)
        .collect();
    for id in requests {
        if let Some(past) = ledger.past_request(key, id) {
            (id, past.granted, past.begun).hash(hasher);
        }
    }
    let tokens: BTreeSet<_> = events.iter().filter_map(|event| event.token).collect();
    for token in tokens {
        if let Some(past) = ledger.past_token(key, token) {
            (token, past.holder, past.kind, past.attempt, past.lease_end).hash(hasher);
        }
    }
}

fn row(hasher: &mut impl Hasher, action: &Action) {
    let Action {
        key: _,
        spec: _,
        created_at,
        state,
        since: _,
        doubt: _,
        reason: _,
        version: _,
        sequence: _,
        token,
        approval,
        budget_from,
        grant,
        attempts,
        attempts_counted,
        setbacks,
        allowance,
        undisproved,
        key_generation,
        first_sent_at,
        last_sent_at,
        execute_after,
        lookups,
        facts_true,
        facts_missing,
        resumed,
        absence_counted,
        stop,
        external_id,
        effect,
        result: _,
        closure: _,
        flags,
        assignee: _,
    } = action;
    (
        created_at,
        state,
        token,
        budget_from,
        attempts,
        attempts_counted,
        setbacks,
    )
        .hash(hasher);
    (
        allowance,
        key_generation,
        first_sent_at,
        last_sent_at,
        execute_after,
    )
        .hash(hasher);
    (
        facts_true,
        facts_missing,
        resumed,
        absence_counted,
        stop,
        external_id,
        flags,
    )
        .hash(hasher);
    match approval {
        Approval::NotRequired => 0.hash(hasher),
        Approval::Pending { expires_at } => expires_at.hash(hasher),
        Approval::Given { .. } => 1.hash(hasher),
    }
    grant.is_some().hash(hasher);
    if let Some(grant) = grant {
        self::grant(hasher, grant);
    }
    undisproved.len().hash(hasher);
    for attempt in undisproved {
        self::attempt(hasher, attempt);
    }
    let Lookups {
        inconclusive,
        granted: _,
        early_spent,
        last_at: _,
        next,
    } = lookups;
    let next = next.map(|next| (next.not_before, next.pending));
    (inconclusive, early_spent, next).hash(hasher);
    // Which evidence decided is compared at every step, but no rule reads it.
    let decided = effect.as_ref().map(
        |Effect {
             evidence: _,
             basis,
             attempt,
             at: _,
         }| (*basis, *attempt),
    );
    decided.hash(hasher);
}

fn grant(hasher: &mut impl Hasher, grant: &Grant) {
    let Grant {
        token,
        holder,
        request: _,
        kind,
        attempt,
        resumes,
        resend,
        granted_at,
        expires_at,
        hold_until,
        begun_at,
        ended,
    } = grant;
    holder.hash(hasher);
    (token, kind, attempt, resumes, resend).hash(hasher);
    (granted_at, expires_at, hold_until, begun_at, ended).hash(hasher);
}

fn attempt(hasher: &mut impl Hasher, attempt: &Attempt) {
    let Attempt {
        number,
        token,
        lease_end,
        ended_at,
        external_id,
        word,
    } = attempt;
    (number, token, lease_end, ended_at, external_id, word).hash(hasher);
}
