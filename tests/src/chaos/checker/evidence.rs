//! What workers were told must still be so: acknowledged evidence, grants and outcomes; and what is undecided says why.

use std::collections::BTreeMap;

use super::super::fleet::Fleet;
use super::super::log::{End, Line};
use super::super::record::Record;
use super::{Tally, Verdict};
use crate::support::standing::NONE_TOLD;

/// Checks how one action stands.
pub fn check(record: &Record, action: &str, tally: &mut Tally, verdict: &mut Verdict) {
    let there = record.effects.contains_key(action);
    let Some(standing) = record.actions.get(action) else {
        // Whoever was answered about it knows it; without an answer it may never have come to be.
        if there || record.ends().any(|(of, end, _)| of == action && told(end)) {
            tally.lost += 1;
            verdict.failures.push(format!("{action}: Deed does not know it"));
        }
        return;
    };
    if !standing.decided() {
        tally.undecided += 1;
        *verdict
            .undecided
            .entry(format!("{}, {}", standing.state, standing.next))
            .or_default() += 1;
        if standing.next == NONE_TOLD || standing.next.is_empty() {
            verdict.failures.push(format!(
                "{action} is {} and nobody is told what comes next",
                standing.state
            ));
        }
        if standing.reason.is_empty() && !["PLANNED", "NOT_FOUND", "SENT"].contains(&standing.state.as_str())
        {
            verdict
                .failures
                .push(format!("{action} is {} and does not say why", standing.state));
        }
    } else if standing.state == "CONFIRMED" && !there {
        tally.lost += 1;
        verdict
            .failures
            .push(format!("{action} is confirmed and the receiver does not have it"));
    } else if standing.state != "CONFIRMED" && there {
        verdict
            .failures
            .push(format!("{action} is {} and the receiver has it", standing.state));
    }
    for (_, end, acknowledged) in record.ends().filter(|(of, _, _)| *of == action) {
        for token in acknowledged {
            let kept = |event: &&super::Event| {
                event.token == Some(*token) && ["REPORTED", "OBSERVED"].contains(&event.kind.as_str())
            };
            if !record.events(action).iter().any(|event| kept(&event)) {
                tally.lost += 1;
                verdict.failures.push(format!(
                    "{action}: the evidence under token {token} was acknowledged and is gone"
                ));
            }
        }
        if let End::Settled { state, effect_id } = end
            && state == "CONFIRMED"
            && (standing.state != "CONFIRMED" || standing.effect_id != *effect_id)
        {
            tally.lost += 1;
            verdict.failures.push(format!(
                "{action}: a worker was told that it is confirmed by {effect_id}; now it is {} by {:?}",
                standing.state, standing.effect_id
            ));
        }
    }
}

/// Whether a worker was told anything by Deed.
fn told(end: &End) -> bool {
    match end {
        End::Settled { .. } | End::Blocked { .. } | End::Open => true,
        End::Unanswered | End::Refused { .. } | End::Believed { .. } => false,
    }
}

/// Checks what workers logged against the histories, and counts their sends.
pub fn check_logs(record: &Record, verdict: &mut Verdict) {
    let mut holders: BTreeMap<(&str, u64), &str> = BTreeMap::new();
    for log in &record.logs {
        let mut owner = "";
        for line in log {
            match line {
                Line::Started { owner: name, .. } => owner = name,
                Line::Sending {
                    action,
                    token,
                    left_ms,
                    ..
                } => {
                    if let Some(fleet) = Fleet::of(action) {
                        let tally = verdict.fleets.entry(fleet).or_default();
                        tally.sends += 1;
                        tally.overdue += usize::from(*left_ms == 0);
                    }
                    if let Some(other) = holders.insert((action, *token), owner) {
                        verdict.failures.push(format!(
                            "{action}: {other} and {owner} both sent under token {token}"
                        ));
                    }
                    let known = record.events(action).iter().any(|event| {
                        event.token == Some(*token)
                            && event.executes()
                            && event.owner.as_deref() == Some(owner)
                    });
                    if !known {
                        verdict.failures.push(format!(
                            "{action}: {owner} sent under token {token}, which history never granted it"
                        ));
                    }
                }
                Line::Ended {
                    action,
                    end: End::Refused { error },
                    ..
                } => {
                    verdict
                        .failures
                        .push(format!("{action}: {owner} was answered with {error}"));
                }
                Line::Sent { .. } | Line::Looked { .. } | Line::Ended { .. } => {}
            }
        }
    }
}
