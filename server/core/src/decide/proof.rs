//! Proof and contradiction. Positive evidence wins; what is confirmed stays confirmed; one effect proves one action.

use super::case::Case;
use crate::action::{Attempt, Basis, Doubt, Effect, Flag, State, Stop, Word};
use crate::contract::{ExternalIdMeaning, Guarantee};
use crate::event::What;
use crate::id::{ActionKey, EvidenceId, Token};
use crate::text::{ActionId, ExternalId, Note};

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
        action.reason = Note::none();
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
    pub fn confirmed_again(&mut self, attempt: Option<u32>, external_id: Option<&ExternalId>) {
        let identifies = self.action.spec.contract.external_id == ExternalIdMeaning::IdentifiesEffect;
        let same = external_id.is_some() && self.action.external_id.is_some() && identifies;
        if self.differing_id(external_id) || same {
            return;
        }
        let first = self.action.effect.as_ref().and_then(|effect| effect.attempt);
        // Proof clears the attempts, so one that is there came after it and cannot be what the proof speaks of.
        let later = attempt.is_some_and(|number| self.undisproved(number).is_some());
        let other = first.is_some() && attempt.is_some() && first != attempt;
        if !self.harmless_twice() && (later || other) {
            self.flag(Flag::DuplicateSuspected);
        }
        if self.action.external_id.is_none() && external_id.is_some() {
            self.register(external_id);
            self.action.external_id = external_id.cloned();
            self.touched = true;
        }
    }

    /// Whether a send other than the one that the proof speaks of may have left, or may still leave, an effect.
    fn second_effect_possible(&self, attempt: Option<u32>) -> bool {
        if self.harmless_twice() {
            return false;
        }
        let holder = self.action.live_grant(self.now).filter(|grant| grant.begun());
        // Proof that names no attempt, while there was only one, speaks of that one.
        let only = self.action.attempts == 1 && attempt.is_none();
        let by_holder = !only && holder.is_some_and(|grant| attempt != Some(grant.attempt));
        let undisproved = self.action.undisproved.iter();
        let others = undisproved.filter(|other| Some(other.number) != attempt).count();
        // Proof without a name speaks of one of them. What resumes partial work completes it and doubles nothing.
        let unexplained = if attempt.is_some() {
            others
        } else {
            others.saturating_sub(1)
        };
        by_holder || unexplained > 0 && !self.action.resumed
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
        self.contests = self.rival(external_id);
        if self.contests.is_none() {
            return false;
        }
        self.flag(Flag::Contradicted);
        self.contradict();
        true
    }

    /// The other action that the id proves, where it can prove only one.
    pub fn rival(&self, external_id: Option<&ExternalId>) -> Option<(ActionKey, ExternalId)> {
        let identifies = self.action.spec.contract.external_id == ExternalIdMeaning::IdentifiesEffect;
        let other = self
            .remembered
            .external_id
            .as_ref()
            .filter(|other| **other != self.action.key)?;
        identifies.then_some((other.clone(), external_id?.clone()))
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
        self.doubt(Doubt::Contradiction);
    }

    /// An id that named only what left no effect names nothing any more: the id of a retry is no second effect then.
    pub fn forget_disproved_id(&mut self) {
        let action = &mut self.action;
        let stands = |id: &ExternalId| {
            let mut standing = action.undisproved.iter();
            standing.any(|attempt| attempt.external_id.as_ref() == Some(id))
        };
        if !action.state.settled() && !action.external_id.as_ref().is_some_and(stands) {
            action.external_id = None;
        }
    }

    /// A `COMPLETED` receipt for an attempt that had been disproved: it is undisproved again, and a contradiction.
    pub fn revive(&mut self, number: Option<u32>, token: Token, external_id: Option<&ExternalId>) {
        if let Some(number) = number {
            self.action.undisproved.push(Attempt {
                number,
                token,
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
