//! Receipts: what an executor says about its own attempt. Late ones are evidence, never lost, never commands.

use super::case::Case;
use super::claim::{Speaker, Standing};
use crate::action::{Basis, Closure, Doubt, Ended, Flag, GrantKind, NextLookup, State, Stop, Word};
use crate::contract::ConfirmBy;
use crate::event::What;
use crate::evidence::Receipt;
use crate::id::Token;
use crate::reply::Refusal;
use crate::text::{ExternalId, Note};
use crate::time::{Span, Timestamp};

impl Case<'_> {
    /// I6: a receipt speaks for its own attempt only.
    pub fn report(&mut self, token: Token, receipt: &Receipt) -> Result<Speaker, Refusal> {
        let (standing, speaker) = self.standing_of_evidence(token, receipt.proof())?;
        let own = matches!(standing, Standing::Current) && speaker == Speaker::Holder;
        let live = own && self.action.live_grant(self.now).is_some();
        let (kind, known, lease_end) = self.attempt_of(&standing);
        if kind == GrantKind::Verify {
            let reason =
                "is the token of a lookup's grant; bring what the lookup found with Verify".to_owned();
            return Err(Refusal::InvalidField {
                field: "fencing_token",
                reason,
            });
        }
        if live {
            self.end_own();
        }
        // An unknown token that is ahead of this database raises the floor: the next grant must outgrow it.
        self.action.token = self.action.token.max(token);
        let sent = !matches!(receipt, Receipt::NotSent { .. });
        let number = known.or_else(|| sent.then(|| self.note_ungated(&standing, token, lease_end)));
        let event = self.record_call(What::Reported {
            receipt: receipt.clone(),
            late: !live,
        });
        (event.token, event.attempt) = (Some(token), number);
        if live && number.is_none() {
            // SUBTLE: renewals leave no history, so the expiry that was told last is written down where an unbegun lease
            // ends: should its holder say later that it did send, the quiet time counts from there (C18).
            let expires_at = lease_end;
            self.record(What::Released { expires_at }).token = Some(token);
        }
        // SUBTLE: that its send is over only the sender knows. Believed from somebody else, it would let an absence count
        // while the send is still under way.
        if receipt.ended() && speaker == Speaker::Holder {
            self.note_end(number);
        }
        match receipt {
            Receipt::Completed { external_id, result } => {
                self.completed(number, token, external_id.as_ref(), result.as_deref());
            }
            Receipt::Accepted {
                external_id,
                retry_after,
            } => {
                self.accepted(number, external_id.as_ref(), *retry_after);
            }
            Receipt::Rejected { .. } | Receipt::NotApplied { .. } | Receipt::NotSent { .. } => {
                self.disproved(number, receipt, live);
            }
            Receipt::Unknown { reason, .. } => {
                if self.action.state == State::Sent && live {
                    self.action.reason = reason.clone();
                    self.doubt(Doubt::Reported);
                }
            }
        }
        self.resettle();
        Ok(speaker)
    }

    /// Kind, attempt and last told expiry of the grant that a receipt speaks for.
    fn attempt_of(&self, standing: &Standing) -> (GrantKind, Option<u32>, Timestamp) {
        match (standing, &self.action.grant) {
            (Standing::Current, Some(grant)) => (
                grant.kind,
                grant.begun().then_some(grant.attempt),
                grant.expires_at,
            ),
            (Standing::Past(past), _) => (past.kind, past.attempt, past.lease_end),
            (Standing::Current | Standing::Lost, _) => (
                GrantKind::Execute,
                None,
                self.now.plus(self.action.spec.contract.lease),
            ),
        }
    }

    fn end_own(&mut self) {
        if let Some(grant) = &mut self.action.grant {
            grant.ended = Some(Ended::Evidence);
        }
    }

    /// A send that never passed the gate, or whose grant a failover lost, is an undisproved attempt from now on. Nobody
    /// may begin on top of it unverified.
    // SUBTLE: also where the action is closed: `Reopen` must know of it, or somebody executes on top of it (C19).
    pub fn note_ungated(&mut self, standing: &Standing, token: Token, lease_end: Timestamp) -> u32 {
        let number = self.action.attempts + 1;
        self.note_attempt(number, token, lease_end);
        // SUBTLE: a lost grant was given about when its token says, perhaps before this row was; a deduplication window
        // that counted from now would end too late.
        let millis = i64::try_from(token.number()).unwrap_or(i64::MAX);
        let sent_at = Timestamp::from_micros(millis.saturating_mul(1_000)).min(self.now);
        let action = &mut self.action;
        action.first_sent_at = Some(action.first_sent_at.map_or(sent_at, |first| first.min(sent_at)));
        action.last_sent_at = action.last_sent_at.max(Some(sent_at));
        self.fence_unbegun_execution();
        if let (Standing::Current, Some(grant)) = (standing, &mut self.action.grant) {
            grant.begun_at = Some(self.now);
            // SUBTLE: its number may have gone to a lost grant's attempt since it was told; a later receipt under this
            // token must not speak for that one.
            grant.attempt = number;
        }
        if !self.sending() && !self.action.state.settled() {
            self.doubt(Doubt::Ungated);
        }
        if !matches!(standing, Standing::Lost) {
            self.flag(Flag::Ungated);
        }
        number
    }

    /// Overtakes a live execution that has not begun; a lookup may go on.
    pub fn fence_unbegun_execution(&mut self) {
        let execution = self
            .action
            .live_grant(self.now)
            .is_some_and(|grant| grant.kind == GrantKind::Execute);
        if execution {
            self.fence_unbegun();
        }
    }

    fn note_end(&mut self, number: Option<u32>) {
        let now = self.now;
        if let Some(attempt) = number.and_then(|number| self.undisproved(number)) {
            attempt.ended_at.get_or_insert(now);
        }
    }

    /// The receiver said that the effect is done.
    fn completed(
        &mut self,
        number: Option<u32>,
        token: Token,
        external_id: Option<&ExternalId>,
        result: Option<&[u8]>,
    ) {
        if self.contested(external_id) {
            return;
        }
        if self.action.spec.contract.confirm_by == ConfirmBy::Receipt {
            self.confirm(Basis::Receipt, number, external_id, result);
            return;
        }
        if self.action.state == State::Confirmed {
            self.confirmed_again(number, external_id);
            return;
        }
        if self.action.state.settled() {
            self.flag(Flag::Contradicted);
        }
        self.register(external_id);
        self.differing_id(external_id);
        match number.and_then(|number| self.undisproved(number)) {
            Some(attempt) => {
                attempt.word = Word::Completed;
                attempt.external_id = external_id.cloned().or_else(|| attempt.external_id.take());
                self.taken();
            }
            // I10: it was disproved, and now its executor says that it was done.
            None => self.revive(number, token, external_id),
        }
    }

    /// The receiver took the command.
    fn accepted(&mut self, number: Option<u32>, external_id: Option<&ExternalId>, retry_after: Span) {
        if self.contested(external_id) {
            return;
        }
        self.differing_id(external_id);
        if self.action.state.settled() {
            return;
        }
        self.register(external_id);
        let now = self.now;
        let not_before = now.plus(retry_after);
        let Some(attempt) = number.and_then(|number| self.undisproved(number)) else {
            return;
        };
        if attempt.word < Word::Accepted {
            attempt.word = Word::Accepted;
            // SUBTLE: the effect deadline runs from the acceptance, not from an earlier word that the send is over (C17).
            attempt.ended_at = Some(now);
        }
        attempt.external_id = external_id.cloned().or_else(|| attempt.external_id.take());
        self.action.lookups.next = Some(NextLookup {
            not_before,
            pending: true,
        });
        self.taken();
    }

    /// An attempt is in the receiver's hands: nobody sends on top of it.
    fn taken(&mut self) {
        self.fence_unbegun_execution();
        if !self.sending() && self.action.stop.is_none() && !self.action.state.settled() {
            self.enter(State::Accepted);
        }
    }

    /// The receipt says that its attempt left no effect and will leave none.
    fn disproved(&mut self, number: Option<u32>, receipt: &Receipt, live: bool) {
        let Some(number) = number else {
            if live {
                self.action.setbacks += 1;
                self.back_off(receipt);
            }
            return;
        };
        let Some(at) = self
            .action
            .undisproved
            .iter()
            .position(|attempt| attempt.number == number)
        else {
            return;
        };
        if self.action.undisproved[at].word == Word::Completed {
            self.contradict();
            return;
        }
        self.action.undisproved.remove(at);
        if matches!(receipt, Receipt::NotSent { .. }) {
            self.action.attempts_counted = self.action.attempts_counted.saturating_sub(1);
            let resumed = self
                .action
                .grant
                .as_ref()
                .is_some_and(|grant| grant.attempt == number && !grant.resumes.is_empty());
            self.action.resumed &= !resumed;
        }
        self.forget_disproved_id();
        if let Receipt::NotApplied { retry_after, .. } = receipt {
            self.postpone(Some(self.now.plus(*retry_after)));
        }
        let contradicted = self.action.stop == Some(Stop::Contradiction);
        if self.action.state.settled() || contradicted || self.sending() {
            return;
        }
        if !self.action.undisproved.is_empty() {
            self.relapse();
            self.back_off(receipt);
        } else if self.part_seen() {
            self.contradict();
        } else {
            self.fence();
            self.back_off(receipt);
            self.action.stop = None;
            if let Receipt::Rejected { .. } = receipt {
                self.action.closure = Some(Closure::Refused);
                self.enter(State::Rejected);
            } else if self.action.unapproved() {
                self.enter(State::AwaitingApproval);
            } else {
                self.enter(State::Planned);
            }
        }
    }

    /// What the sender said, and when the next execution may begin.
    fn back_off(&mut self, receipt: &Receipt) {
        let wait = self.action.spec.contract.retry.backoff(self.action.setbacks);
        let (reason, at_least) = match receipt {
            Receipt::NotApplied { retry_after, reason } => (reason.clone(), *retry_after),
            Receipt::Rejected { reason } => (reason.clone(), Span::ZERO),
            Receipt::NotSent { detail, .. } => (detail.clone(), Span::ZERO),
            Receipt::Completed { .. } | Receipt::Accepted { .. } | Receipt::Unknown { .. } => {
                (Note::none(), Span::ZERO)
            }
        };
        self.action.reason = reason;
        self.postpone(Some(self.now.plus(wait.max(at_least))));
    }

    /// The last attempt left nothing, but an earlier one may have.
    pub fn relapse(&mut self) {
        if self.action.facts_missing.is_empty() {
            self.doubt(Doubt::EarlierAttempt);
        } else {
            self.enter(State::Partial);
        }
    }

    /// `SENT` says that somebody is sending. Where nobody is any more and no rule has moved it, it is doubt.
    pub fn resettle(&mut self) {
        if self.action.state == State::Sent && !self.sending() {
            self.doubt(Doubt::EarlierAttempt);
        }
    }
}
