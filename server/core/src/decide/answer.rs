//! How a case is told to its caller.

use super::case::Case;
use super::offer::Offer;
use crate::action::{Grant, GrantKind};
use crate::reply::{Answer, BlockReason, Execute, NextStep, Reply, Settled, VerifyEffect};
use crate::text::Note;
use crate::time::Span;

/// How soon to ask again about a lease that somebody holds: most work is done within a second.
const HELD_POLL: Span = Span::from_secs(1);

impl Case<'_> {
    /// What every answer says.
    pub fn answer(&self, step: NextStep) -> Answer {
        let mut version = self.action.version;
        if !self.events.is_empty() {
            version.0 += 1;
        }
        Answer {
            step,
            guarantee: self.action.spec.contract.guarantee(),
            state: self.action.state,
            version,
            flags: self.action.flags,
            terms_differ: self.terms_differ,
        }
    }

    /// The next step for a caller that gets no grant.
    pub fn step(&self) -> NextStep {
        self.told(self.offer())
    }

    /// An offer in words, without a grant.
    pub fn told(&self, offer: Offer) -> NextStep {
        match offer {
            Offer::Held => self.held(),
            Offer::Execute { .. } => NextStep::Claimable(GrantKind::Execute),
            Offer::Verify => NextStep::Claimable(GrantKind::Verify),
            Offer::Wait { until, reason } => NextStep::Wait {
                retry_after: until.since(self.now),
                reason,
            },
            Offer::Settled => NextStep::Settled(self.settlement()),
            Offer::Blocked(reason) => self.blocked(reason),
        }
    }

    fn held(&self) -> NextStep {
        let Some(grant) = self.action.live_grant(self.now) else {
            return self.blocked(BlockReason::Contradiction);
        };
        let lease_left = grant.expires_at.since(self.now);
        NextStep::Held {
            owner: grant.holder.owner.clone(),
            lease_left,
            retry_after: lease_left.min(HELD_POLL),
        }
    }

    /// The grant, as its holder is told. `begun` is what the answer says, which for a repeat is what it said before.
    pub fn granted(&self, grant: &Grant, begun: bool) -> NextStep {
        let lease_left = grant.expires_at.since(self.now);
        match grant.kind {
            GrantKind::Execute => NextStep::Execute(Execute {
                token: grant.token,
                attempt: grant.attempt,
                lease_left,
                expires_at: grant.expires_at,
                send_timeout: self.action.spec.contract.send_timeout,
                outward_key: self.action.outward_key(),
                begun,
                resend: grant.resend,
                resumes: grant.resumes.clone(),
            }),
            GrantKind::Verify => NextStep::VerifyEffect(VerifyEffect {
                token: grant.token,
                lease_left,
                expires_at: grant.expires_at,
                outward_key: self.action.outward_key(),
                external_id: self.known_external_id(),
                attempts: self.action.attempts,
                first_sent_at: self.action.first_sent_at,
                facts: self.action.spec.expected.facts.clone(),
                absence_counts_from: self.quiet_time(),
                undisproved: self.action.undisproved.clone(),
            }),
        }
    }

    fn known_external_id(&self) -> Option<crate::text::ExternalId> {
        let last = self
            .action
            .undisproved
            .iter()
            .rev()
            .find_map(|attempt| attempt.external_id.clone());
        last.or_else(|| self.action.external_id.clone())
    }

    /// The renewed lease.
    pub fn renewed(&self) -> Reply {
        let expires_at = self
            .action
            .grant
            .as_ref()
            .map_or(self.now, |grant| grant.expires_at);
        Reply::Renewed {
            lease_left: expires_at.since(self.now),
            expires_at,
        }
    }

    fn settlement(&self) -> Settled {
        let action = &self.action;
        Settled {
            state: action.state,
            effect: action.effect.as_ref().map(|effect| effect.evidence),
            basis: action.effect.as_ref().map(|effect| effect.basis),
            external_id: action.external_id.clone(),
            result: action.result.clone(),
            closure: action.closure.clone(),
            reason: action.reason.clone(),
            settled_at: action.since,
        }
    }

    fn blocked(&self, reason: BlockReason) -> NextStep {
        let missing = match reason {
            BlockReason::Partial => self.action.facts_missing.clone(),
            _ => Vec::new(),
        };
        NextStep::Blocked {
            reason,
            detail: self.diagnosis(reason),
            missing,
        }
    }

    fn what_is_left(&self) -> &'static str {
        if self.action.undisproved.is_empty() {
            "none left an effect"
        } else {
            "whether one of them left an effect is not known"
        }
    }

    /// What is known and what a person can do, in one sentence each.
    fn diagnosis(&self, reason: BlockReason) -> Note {
        let action = &self.action;
        let retry = &action.spec.contract.retry;
        let text = match reason {
            BlockReason::Unverifiable => {
                "It may have happened; nothing can be looked up and the receiver does not deduplicate. \
                 Find out at the receiver, then Resolve."
                    .to_owned()
            }
            BlockReason::Partial => {
                let missing: Vec<_> = action.facts_missing.iter().map(|fact| fact.as_str()).collect();
                format!("Part of the effect exists; missing: {}. Complete or undo it, then Resolve.", missing.join(", "))
            }
            BlockReason::VerificationsExhausted => format!(
                "{} lookups could not tell whether it happened (at most {}). Look it up by hand and Resolve, or Reopen for \
                 more lookups.",
                action.lookups.inconclusive, retry.max_verifications
            ),
            BlockReason::AttemptsExhausted => format!(
                "{} of {} attempts are used; {}. Mend the cause, then Reopen for one more.{}",
                action.attempts_counted,
                retry.max_attempts,
                self.what_is_left(),
                last_words(&action.reason)
            ),
            BlockReason::BudgetExhausted => format!(
                "The total budget of {} is over; {}. Reopen for one more attempt, or Resolve.",
                retry.total_budget,
                self.what_is_left()
            ),
            BlockReason::DeduplicationWindowPassed => {
                "It may have happened, and the receiver may have forgotten the outward key. Find out at the receiver, then \
                 Resolve."
                    .to_owned()
            }
            BlockReason::EffectDeadlinePassed => format!(
                "The receiver still says pending after the effect deadline of {}. Ask the receiver, then Resolve.",
                action.spec.contract.effect_deadline()
            ),
            BlockReason::Contradiction => {
                "Evidence contradicts itself; see the history. Find out at the receiver, then Resolve or Reopen.".to_owned()
            }
        };
        Note::new(text).unwrap_or_else(|_| Note::none())
    }
}

fn last_words(reason: &Note) -> String {
    if reason.blank() {
        String::new()
    } else {
        format!(
            " Last reason: {}",
            reason.as_str().chars().take(500).collect::<String>()
        )
    }
}
