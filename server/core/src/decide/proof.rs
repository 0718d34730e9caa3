//! Proof and contradiction. Positive evidence wins; what is confirmed stays confirmed; one effect proves one action.

use super::case::Case;
use crate::action::{Attempt, Basis, Doubt, Effect, Ended, Flag, State, Stop, Word};
use crate::contract::{ExternalIdMeaning, Guarantee};
use crate::event::What;
use crate::id::EvidenceId;
use crate::text::{ActionId, ExternalId};

impl Case<'_> {
    /// I11: the effect is proven. Nothing undoes it.
    pub fn confirm(
        &mut self,
        basis: Basis,
        attempt: Option<u32>,
        external_id: Option<&ExternalId>,
        result: Option<&[u8]>,
    ) {
        if self.action.state == State::Confirmed {
            self.confirmed_again(attempt, external_id);
            return;
        }
        let was_closed = self.action.state.settled() || self.action.state == State::AwaitingApproval;
        if was_closed || self.action.absence_counted {
            self.flag(Flag::Contradicted);
        }
        self.differing_id(external_id);
        if self.second_effect_possible(attempt) {
            self.flag(Flag::DuplicateSuspected);
        }
        self.fence();
        self.register(external_id);
        let action = &mut self.action;
        action.external_id = external_id.cloned().or_else(|| action.external_id.take());
        action.result = result.map(<[u8]>::to_vec);
        action.effect = Some(Effect {
            evidence: EvidenceId(self.request.id.0),
            basis,
            attempt,
            at: self.now,
        });
        action.undisproved.clear();
        action.facts_missing.clear();
        action.stop = None;
        action.closure = None;
        self.enter(State::Confirmed);
    }

    /// Proof of what is proven already: only a second effect would be news.
    fn confirmed_again(&mut self, attempt: Option<u32>, external_id: Option<&ExternalId>) {
        if self.differing_id(external_id) || external_id.is_some() && self.action.external_id.is_some() {
            return;
        }
        let first = self.action.effect.as_ref().and_then(|effect| effect.attempt);
        if !self.harmless_twice() && first.is_some() && attempt.is_some() && first != attempt {
            self.flag(Flag::DuplicateSuspected);
        }
        if self.action.external_id.is_none() && external_id.is_some() {
            self.register(external_id);
            self.action.external_id = external_id.cloned();
            self.touched = true;
        }
    }

    /// Whether the present holder's begun send may be a second one: it is not the attempt that the proof speaks of.
    fn second_effect_possible(&self, attempt: Option<u32>) -> bool {
        let Some(grant) = self.action.live_grant(self.now).filter(|grant| grant.begun()) else {
            return false;
        };
        // Proof that names no attempt, while there was only one, speaks of that one.
        let only = self.action.attempts == 1 && attempt.is_none();
        !self.harmless_twice() && !only && attempt != Some(grant.attempt)
    }

    fn harmless_twice(&self) -> bool {
        matches!(
            self.action.spec.contract.guarantee(),
            Guarantee::Deduplicated | Guarantee::Repeatable
        )
    }

    /// Two different external ids for one action: the effect may exist twice.
    pub fn differing_id(&mut self, external_id: Option<&ExternalId>) -> bool {
        let known = self.action.external_id.as_ref();
        let differs = matches!((known, external_id), (Some(known), Some(named)) if known != named);
        if differs {
            self.flag(Flag::DuplicateSuspected);
        }
        differs
    }

    /// I12: the first receipt that names an id registers it; from then on it can prove no other action.
    pub fn register(&mut self, external_id: Option<&ExternalId>) {
        let Some(external_id) = external_id else { return };
        if self.action.external_id.is_none() {
            self.action.external_id = Some(external_id.clone());
        }
        let identifies = self.action.spec.contract.external_id == ExternalIdMeaning::IdentifiesEffect;
        if identifies && self.remembered.external_id.is_none() {
            self.registers = Some(external_id.clone());
        }
    }

    /// I12: an id that proves another action is no proof for this one; both are marked.
    pub fn contested(&mut self, external_id: Option<&ExternalId>) -> bool {
        let identifies = self.action.spec.contract.external_id == ExternalIdMeaning::IdentifiesEffect;
        let other = self
            .remembered
            .external_id
            .as_ref()
            .filter(|other| **other != self.action.key);
        let (true, Some(other), Some(external_id)) = (identifies, other, external_id) else {
            return false;
        };
        self.contests = Some((other.clone(), external_id.clone()));
        self.flag(Flag::Contradicted);
        self.contradict();
        true
    }

    /// Marks this action because another one names the same effect.
    pub fn contest(&mut self, by: &ActionId, external_id: &ExternalId) {
        if self.action.flags.contradicted {
            return;
        }
        self.record(What::Contested {
            by: by.clone(),
            external_id: external_id.clone(),
        });
        self.flag(Flag::Contradicted);
    }

    /// I10: evidence contradicts itself. Nobody sends until there is proof or a person decides.
    pub fn contradict(&mut self) {
        if self.action.state.settled() {
            return;
        }
        self.action.stop = Some(Stop::Contradiction);
        if self.sending() {
            return;
        }
        self.fence();
        // A lookup whose lease has lapsed could still have counted; it cannot any more.
        if let Some(grant) = self
            .action
            .grant
            .as_mut()
            .filter(|grant| grant.ended == Some(Ended::Lapsed))
        {
            grant.ended = Some(Ended::Fenced);
        }
        self.doubt(Doubt::Contradiction);
    }

    /// A `COMPLETED` receipt for an attempt that had been disproved: it is undisproved again, and a contradiction.
    pub fn revive(&mut self, number: Option<u32>, external_id: Option<&ExternalId>) {
        if let Some(number) = number {
            self.action.undisproved.push(Attempt {
                number,
                token: self.action.token,
                lease_end: self.now,
                ended_at: Some(self.now),
                external_id: external_id.cloned(),
                word: Word::Completed,
            });
        }
        if self.sending() && !self.harmless_twice() {
            self.flag(Flag::DuplicateSuspected);
        }
        self.contradict();
    }
}
