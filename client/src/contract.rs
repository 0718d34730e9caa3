//! What the tool's receiver can and cannot do, said once by whoever knows the tool.
//!
//! Owns the words. It refuses to judge them: contradictions are found by the service, which names the field.

use std::time::Duration;

use deed_proto::v1;
pub use deed_proto::v1::EffectClass;
use deed_proto::v1::verification::Postcondition;

use crate::span;

/// What a tool's receiver can and cannot do. Fixed with the action when it is created; a later claim keeps the stored one.
///
/// Unless said otherwise: irreversible, a lease of 30 s, three attempts within 24 h, a receipt is the proof.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Contract {
    terms: v1::Contract,
    /// Kept apart from the terms, where it is three enums deep.
    postcondition: Option<Postcondition>,
}

impl Contract {
    fn cautious(effect_class: EffectClass) -> Self {
        let terms = v1::Contract {
            effect_class: effect_class.into(),
            ..v1::Contract::default()
        };
        Self {
            terms,
            postcondition: None,
        }
    }

    /// Leaves nothing behind and may be run again freely. Guarantee `REPEATABLE`.
    pub fn read() -> Self {
        Self::cautious(EffectClass::Read)
    }

    /// The receiver honours an idempotency key, the grant's outward key, for `window` after the first send. Longer than
    /// send timeout and settle window together. Guarantee `DEDUPLICATED`.
    pub fn idempotency_key(window: Duration) -> Self {
        let kind = v1::deduplication::IdempotencyKey {
            window: Some(span::to_wire(window)),
        };
        Self::cautious(EffectClass::Irreversible).deduplicated(v1::deduplication::Kind::IdempotencyKey(kind))
    }

    /// The receiver refuses a token that is lower than one it has seen, or used, and a lookup raises its floor.
    /// Guarantee `FENCED`. `settle_window` as for [`Contract::verified`].
    pub fn fencing_token(settle_window: Duration) -> Self {
        let kind = v1::deduplication::Kind::FencingToken(v1::deduplication::FencingToken {});
        Self::cautious(EffectClass::Irreversible)
            .deduplicated(kind)
            .verified(settle_window)
    }

    /// The receiver does not deduplicate, but absence can be proven by a lookup. Guarantee `SERIALIZED`.
    /// `settle_window` as for [`Contract::verified`].
    pub fn serialized(settle_window: Duration) -> Self {
        Self::cautious(EffectClass::Irreversible).verified(settle_window)
    }

    /// The receiver does not deduplicate and nothing can be looked up: doubt goes to a person. Guarantee `AT_MOST_ONCE`.
    pub fn at_most_once() -> Self {
        Self::cautious(EffectClass::Irreversible)
    }

    /// What a second effect would mean. Default: irreversible.
    pub fn effect_class(mut self, class: EffectClass) -> Self {
        self.terms.effect_class = class.into();
        self
    }

    /// The postcondition can be looked up; an effect may stay invisible for `settle_window` after its send is over (the
    /// receiver's queue and read lag). 0 to 30 days.
    pub fn verified(mut self, settle_window: Duration) -> Self {
        self.postcondition.get_or_insert_default().settle_window = Some(span::to_wire(settle_window));
        self
    }

    /// The receiver answers before the effect, which then may stay pending for `effect_deadline`. A lookup must prove it,
    /// so the settle window has to be said too ([`Contract::verified`]).
    pub fn asynchronous(mut self, effect_deadline: Duration) -> Self {
        self.terms.asynchronous = true;
        self.effect_deadline(effect_deadline)
    }

    /// How long an accepted command may stay pending. Default 24 h.
    pub fn effect_deadline(mut self, deadline: Duration) -> Self {
        self.postcondition.get_or_insert_default().effect_deadline = Some(span::to_wire(deadline));
        self
    }

    /// A receipt is not enough: a lookup must prove the effect.
    pub fn confirm_by_postcondition(mut self) -> Self {
        self.terms.confirm_by = v1::ConfirmBy::Postcondition.into();
        self
    }

    /// Many actions may name one external id: updates of one ticket, one batch.
    pub fn external_id_identifies_object(mut self) -> Self {
        self.terms.external_id = v1::ExternalIdMeaning::IdentifiesObject.into();
        self
    }

    /// The limits of trying again.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.terms.retry = Some(retry.0);
        self
    }

    /// Longest time from the start of a send to its certain end; the client cancels what takes longer. Default: the lease.
    pub fn send_timeout(mut self, timeout: Duration) -> Self {
        self.terms.send_timeout = Some(span::to_wire(timeout));
        self
    }

    /// How long one grant lasts without renewal; 100 ms to 1 h. The client renews at a third of it. Default 30 s.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.terms.lease = Some(span::to_wire(lease));
        self
    }

    /// Renewals of one grant end this long after it. Default 1 h.
    pub fn max_hold(mut self, hold: Duration) -> Self {
        self.terms.max_hold = Some(span::to_wire(hold));
        self
    }

    /// Partial work is completed by one further execution instead of waiting for a person. Not for irreversible tools;
    /// needs declared facts.
    pub fn on_partial_resume(mut self) -> Self {
        self.terms.on_partial = v1::OnPartial::Resume.into();
        self
    }

    /// A person approves this exact input before anybody may act.
    pub fn approval_required(mut self) -> Self {
        self.terms.approval = v1::Approval::Required.into();
        self
    }

    /// As the wire carries it.
    pub fn to_wire(&self) -> v1::Contract {
        let verification = self.postcondition.map(|postcondition| v1::Verification {
            kind: Some(v1::verification::Kind::Postcondition(postcondition)),
        });
        v1::Contract {
            verification,
            ..self.terms
        }
    }

    /// Nothing deduplicates and nothing can be looked up, so doubt is to be kept small.
    pub(crate) fn leaves_doubt_to_people(&self) -> bool {
        self.terms.effect_class() != EffectClass::Read
            && self.terms.deduplication.is_none()
            && self.postcondition.is_none()
    }

    fn deduplicated(mut self, kind: v1::deduplication::Kind) -> Self {
        self.terms.deduplication = Some(v1::Deduplication { kind: Some(kind) });
        self
    }
}

/// The limits of trying again. They live in the service, not in a prompt; what is not set has the service's default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[must_use]
pub struct Retry(v1::Retry);

impl Retry {
    /// Attempts that may be begun; 1 to 1000, default 3.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.0.max_attempts = Some(attempts);
        self
    }

    /// Waits between attempts, and between lookups: the first, how many times longer each further one is, and the longest.
    /// Default 1 s, 2.0, 5 min.
    pub fn backoff(mut self, initial: Duration, multiplier: f64, longest: Duration) -> Self {
        self.0.initial_backoff = Some(span::to_wire(initial));
        self.0.multiplier = Some(multiplier);
        self.0.max_backoff = Some(span::to_wire(longest));
        self
    }

    /// Time since creation after which nothing is executed any more; lookups go on. Default 24 h.
    pub fn total_budget(mut self, budget: Duration) -> Self {
        self.0.total_budget = Some(span::to_wire(budget));
        self
    }

    /// Inconclusive lookups after which a person is asked. Default 20.
    pub fn max_verifications(mut self, lookups: u32) -> Self {
        self.0.max_verifications = Some(lookups);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::{hours, seconds};

    #[test]
    fn only_a_contract_that_leaves_doubt_to_people_begins_right_before_the_send() {
        assert!(Contract::at_most_once().leaves_doubt_to_people());
        let others = [
            Contract::read(),
            Contract::idempotency_key(hours(24)),
            Contract::fencing_token(seconds(5)),
            Contract::serialized(seconds(5)),
            Contract::at_most_once().verified(seconds(5)),
        ];
        for contract in others {
            assert!(!contract.leaves_doubt_to_people(), "{contract:?}");
        }
    }

    #[test]
    fn a_settle_window_of_zero_is_only_ever_said_and_never_assumed() {
        let settle_window = |contract: Contract| match contract.to_wire().verification.unwrap().kind {
            Some(v1::verification::Kind::Postcondition(postcondition)) => postcondition.settle_window,
            Some(v1::verification::Kind::None(_)) | None => None,
        };
        let asynchronous = Contract::idempotency_key(hours(24)).asynchronous(hours(1));
        assert_eq!(settle_window(asynchronous), None);
        assert_eq!(
            settle_window(Contract::serialized(seconds(0))),
            Some(prost_types::Duration::default())
        );
    }
}
