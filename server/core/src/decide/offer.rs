//! What a claim would get now: the rules of when to execute, to look up, to wait, to stop. Reads the case, changes nothing.

use super::Protocol;
use super::case::Case;
use crate::action::{Action, Approval, Attempt, State, Stop, Word};
use crate::contract::{Deduplication, EffectClass, OnPartial};
use crate::reply::{BlockReason, WaitReason};
use crate::text::FactName;
use crate::time::{Span, Timestamp};

/// How often a caller asks whether a person has approved: people take minutes, so seconds are soon enough.
const APPROVAL_POLL: Span = Span::from_secs(5);

/// The shortest re-send lease worth giving: a send that starts at once and fails at once takes less. A contract with a
/// shorter lease says that its tool is quicker.
const USEFUL_LEASE: Span = Span::from_secs(1);

/// What a claim would get.
pub(super) enum Offer {
    /// The lease is somebody's.
    Held,
    /// A grant to execute.
    Execute { resend: bool, resumes: Vec<FactName> },
    /// A grant to look up.
    Verify,
    /// Nothing before `until`.
    Wait { until: Timestamp, reason: WaitReason },
    /// Nothing ever.
    Settled,
    /// Nothing without a person.
    Blocked(BlockReason),
}

impl Case<'_> {
    /// What a claim would get now.
    pub fn offer(&self) -> Offer {
        if self.action.live_grant(self.now).is_some() {
            return Offer::Held;
        }
        if self.action.state.settled() {
            return Offer::Settled;
        }
        match self.action.stop {
            Some(Stop::Contradiction) => return Offer::Blocked(BlockReason::Contradiction),
            Some(Stop::EffectDeadlinePassed) => return Offer::Blocked(BlockReason::EffectDeadlinePassed),
            None => {}
        }
        match self.action.state {
            State::AwaitingApproval => self.approval(),
            State::Planned | State::NotFound => self.execution(false, Vec::new()),
            State::Partial => self.resumption(),
            State::Sent | State::Accepted | State::Unknown => self.inquiry(),
            State::Confirmed | State::Rejected | State::Abandoned => Offer::Settled,
        }
    }

    fn approval(&self) -> Offer {
        let poll = self.now.plus(APPROVAL_POLL);
        let until = match self.action.approval {
            Approval::Pending { expires_at } if expires_at > self.now => poll.min(expires_at),
            // An action in doubt outlives the request: it is not closed while it may have left an effect.
            Approval::Pending { .. } | Approval::NotRequired | Approval::Given { .. } => poll,
        };
        Offer::Wait {
            until,
            reason: WaitReason::Approval,
        }
    }

    /// I3: an execution, within the limits.
    fn execution(&self, resend: bool, resumes: Vec<FactName>) -> Offer {
        if self.action.unapproved() {
            return self.approval();
        }
        if !self.action.allowance {
            if self.action.attempts_counted >= self.action.spec.contract.retry.max_attempts {
                return Offer::Blocked(BlockReason::AttemptsExhausted);
            }
            if self.now >= self.budget_end() {
                return Offer::Blocked(BlockReason::BudgetExhausted);
            }
        }
        match self.action.execute_after {
            Some(until) if until > self.now => Offer::Wait {
                until,
                reason: WaitReason::Backoff,
            },
            _ => Offer::Execute { resend, resumes },
        }
    }

    /// Partial work: one execution of what is missing, where the contract says so and no executor said that all was done.
    fn resumption(&self) -> Offer {
        let missing = &self.action.facts_missing;
        let resumes = self.action.spec.contract.on_partial == OnPartial::Resume;
        if resumes && !self.action.resumed && !self.action.completed() && !missing.is_empty() {
            return self.execution(false, missing.clone());
        }
        Offer::Blocked(BlockReason::Partial)
    }

    /// The effect may exist: look, re-send where that is harmless, or ask a person.
    fn inquiry(&self) -> Offer {
        let contract = &self.action.spec.contract;
        if contract.effect_class == EffectClass::Read {
            return self.execution(true, Vec::new());
        }
        let exhausted = self.action.lookups.inconclusive >= contract.retry.max_verifications;
        if contract.verifiable() && !exhausted {
            return self.lookup();
        }
        // SUBTLE: never where any attempt was accepted: the receiver works on it, and may have forgotten the key.
        let taken = self
            .action
            .undisproved
            .iter()
            .any(|attempt| attempt.word > Word::None);
        match self.resend_until() {
            Some(end) if self.action.state != State::Accepted && !taken => {
                if self.now.plus(contract.lease.min(USEFUL_LEASE)) > end {
                    return Offer::Blocked(BlockReason::DeduplicationWindowPassed);
                }
                self.execution(true, Vec::new())
            }
            _ if contract.verifiable() => Offer::Blocked(BlockReason::VerificationsExhausted),
            _ => Offer::Blocked(BlockReason::Unverifiable),
        }
    }

    fn lookup(&self) -> Offer {
        let quiet = self.quiet_time();
        let lookups = &self.action.lookups;
        let next = lookups.next.map_or(self.now, |next| next.not_before);
        // Before the quiet time one lookup an attempt: it can still confirm, but it cannot prove absence.
        if self.now < quiet && lookups.early_spent {
            let reason = if next > quiet {
                WaitReason::VerifyBackoff
            } else {
                WaitReason::SettleWindow
            };
            return Offer::Wait {
                until: quiet.max(next),
                reason,
            };
        }
        if next > self.now {
            let pending = lookups.next.is_some_and(|next| next.pending);
            let reason = if pending {
                WaitReason::Pending
            } else {
                WaitReason::VerifyBackoff
            };
            return Offer::Wait { until: next, reason };
        }
        Offer::Verify
    }

    /// I7: the earliest time at which absence can be believed.
    pub fn quiet_time(&self) -> Timestamp {
        self.protocol.quiet_time(&self.action)
    }

    /// How long the receiver may still report pending work.
    pub fn pending_until(&self) -> Timestamp {
        let deadline = self.action.spec.contract.effect_deadline();
        let over = self
            .action
            .undisproved
            .iter()
            .map(|attempt| send_over(&self.action, attempt).plus(deadline));
        over.max().unwrap_or(self.action.created_at)
    }

    /// The end of every re-send's lease: late enough to finish and to settle within the receiver's window. Absent where
    /// the receiver does not deduplicate by key.
    pub fn resend_until(&self) -> Option<Timestamp> {
        let contract = &self.action.spec.contract;
        let Deduplication::IdempotencyKey { window } = contract.deduplication else {
            return None;
        };
        let margin = contract
            .send_timeout
            .plus(contract.settle_window())
            .plus(self.protocol.max_clock_step);
        self.action
            .first_sent_at
            .map(|first| first.plus(window).minus(margin))
    }
}

impl Protocol {
    /// I7: the earliest time at which the absence of the effect can be believed; for screens too.
    pub fn quiet_time(&self, action: &Action) -> Timestamp {
        let contract = &action.spec.contract;
        let margin = contract.settle_window().plus(self.max_clock_step);
        let pending = if contract.asynchronous {
            contract.effect_deadline()
        } else {
            Span::ZERO
        };
        let over = action
            .undisproved
            .iter()
            .map(|attempt| send_over(action, attempt).plus(pending).plus(margin));
        over.max().unwrap_or(action.created_at)
    }
}

/// When the send of an attempt is certainly over.
// SUBTLE: the latest expiry that its holder was ever told, even if the lease ended earlier: another thread of the
// holder may still start its send within it (C18).
fn send_over(action: &Action, attempt: &Attempt) -> Timestamp {
    attempt
        .ended_at
        .unwrap_or_else(|| attempt.lease_end.plus(action.spec.contract.send_timeout))
}
