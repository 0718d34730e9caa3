//! Lookups: what a verifier or a witness found. Absence counts only when nothing can be on its way any more.

use super::case::Case;
use super::claim::{Speaker, Standing};
use crate::action::{Basis, Ended, GrantKind, NextLookup, State, Stop, Word};
use crate::event::What;
use crate::evidence::{Observation, Seen, Verdict};
use crate::id::Token;
use crate::reply::Refusal;
use crate::text::{ExternalId, FactName};
use crate::time::Span;

/// How much a lookup's negative findings weigh.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weight {
    /// Granted after the quiet time, by the current token: absence counts.
    Full,
    /// By the current token, but granted too early: it decides nothing but proof.
    Early,
    /// No current lookup: only proof and the receiver's final word count.
    Evidence,
}

impl Case<'_> {
    /// What a verifier found, under the token of its grant.
    pub fn verify(&mut self, token: Token, observation: &Observation) -> Result<Speaker, Refusal> {
        self.check_facts(observation)?;
        let (standing, speaker) = self.standing_of_evidence(token, observation.proof())?;
        let mut weight = Weight::Evidence;
        let mut lapsed = false;
        let mut attempt = None;
        match (&standing, &mut self.action.grant) {
            (Standing::Current, Some(grant)) if grant.kind == GrantKind::Verify => {
                let open = matches!(grant.ended, None | Some(Ended::Lapsed));
                if open && speaker == Speaker::Holder {
                    lapsed = grant.ended == Some(Ended::Lapsed);
                    grant.ended = Some(Ended::Evidence);
                    let granted_at = grant.granted_at;
                    // SUBTLE: by the quiet time as it is now: an attempt may have become known since the grant (C19).
                    weight = if granted_at >= self.quiet_time() {
                        Weight::Full
                    } else {
                        Weight::Early
                    };
                }
            }
            (Standing::Current, Some(grant)) => attempt = grant.begun().then_some(grant.attempt),
            (Standing::Past(past), _) => attempt = past.attempt,
            (Standing::Current | Standing::Lost, _) => {}
        }
        self.action.token = self.action.token.max(token);
        self.note_lost_send(&standing, token);
        self.found(observation, weight, attempt, Some(token), lapsed);
        Ok(speaker)
    }

    /// A lookup that this database never granted was granted because somebody had sent: a failover lost that send too.
    fn note_lost_send(&mut self, standing: &Standing, token: Token) {
        let mut noted = self.action.undisproved.iter();
        let known = noted.any(|attempt| attempt.token == token);
        if matches!(standing, Standing::Lost) && !known && self.action.state != State::Confirmed {
            let lease_end = self.now.plus(self.action.spec.contract.lease);
            self.note_ungated(standing, token, lease_end);
        }
    }

    /// What a witness saw, without a lease.
    pub fn observe(&mut self, observation: &Observation) -> Result<(), Refusal> {
        match observation.verdict {
            Verdict::Confirmed { .. } | Verdict::Failed { .. } | Verdict::Pending { .. } => {}
            Verdict::NotFound | Verdict::Partial | Verdict::Unknown { .. } => {
                let reason =
                    "must be CONFIRMED, FAILED or PENDING: other findings need the grant of a lookup"
                        .to_owned();
                return Err(Refusal::InvalidField {
                    field: "observation",
                    reason,
                });
            }
        }
        self.check_facts(observation)?;
        let attempt = self.attempt_named(observation);
        self.found(observation, Weight::Evidence, attempt, None, false);
        Ok(())
    }

    fn attempt_named(&self, observation: &Observation) -> Option<u32> {
        let named = observation.external_id()?;
        let mut known = self.action.undisproved.iter();
        known
            .find(|attempt| attempt.external_id.as_ref() == Some(named))
            .map(|attempt| attempt.number)
    }

    fn found(
        &mut self,
        observation: &Observation,
        weight: Weight,
        attempt: Option<u32>,
        token: Option<Token>,
        lapsed: bool,
    ) {
        let event = self.record_call(What::Observed {
            observation: observation.clone(),
            counted: false,
        });
        (event.token, event.attempt) = (token, attempt);
        let at = self.events.len() - 1;
        let before = (self.action.state, self.action.stop, self.action.undisproved.len());
        if weight != Weight::Evidence {
            self.action.lookups.last_at = Some(self.now);
        }
        let open = !self.action.state.settled() && self.action.stop != Some(Stop::Contradiction);
        let learned = self.learn(observation);
        match &observation.verdict {
            Verdict::Confirmed { external_id, result } => {
                if !self.contested(external_id.as_ref()) {
                    self.confirm(
                        Basis::Observation,
                        attempt,
                        external_id.as_ref(),
                        result.as_deref(),
                    );
                }
            }
            Verdict::Failed {
                external_id, attempt, ..
            } if open => {
                self.failed(external_id.as_ref(), *attempt, weight, lapsed);
            }
            Verdict::NotFound if open && weight == Weight::Full => self.absent(),
            Verdict::Partial if open && weight == Weight::Full => self.partial(observation),
            Verdict::Pending { retry_after } if open => self.pending(*retry_after, weight, token.is_none()),
            Verdict::Unknown { .. } if open && weight != Weight::Evidence && !lapsed => {
                self.inconclusive(self.now)
            }
            Verdict::Failed { .. }
            | Verdict::NotFound
            | Verdict::Partial
            | Verdict::Pending { .. }
            | Verdict::Unknown { .. } => {}
        }
        // I10, in the other order: what had been proven absent is seen, and no attempt is left that could explain it.
        if learned && self.action.undisproved.is_empty() && !self.action.state.settled() {
            self.contradict();
        }
        self.resettle();
        let after = (self.action.state, self.action.stop, self.action.undisproved.len());
        if let What::Observed { counted, .. } = &mut self.events[at].what {
            *counted = before != after || weight == Weight::Full;
        }
    }

    /// True facts accumulate: what was seen, exists. Says whether there was a new one.
    fn learn(&mut self, observation: &Observation) -> bool {
        let known = self.action.facts_true.len();
        for (fact, seen) in &observation.facts {
            if *seen == Seen::True && !self.action.facts_true.contains(fact) {
                self.action.facts_true.push(fact.clone());
            }
        }
        self.action.facts_true.len() > known
    }

    /// An absence that counts disproves all attempts, unless it contradicts what somebody saw or was told.
    fn absent(&mut self) {
        if self.action.completed() || self.part_seen() {
            self.contradict();
            return;
        }
        self.action.undisproved.clear();
        self.action.facts_missing.clear();
        self.action.absence_counted = true;
        self.action.stop = None;
        self.forget_disproved_id();
        self.postpone(self.backed_off_from_last_send());
        self.enter(State::NotFound);
    }

    fn partial(&mut self, observation: &Observation) {
        let lost = |fact: &FactName| observation.facts.get(fact) == Some(&Seen::False);
        if self.action.facts_true.iter().any(lost) {
            self.contradict();
            return;
        }
        self.action.facts_missing = self.facts_open();
        self.action.reason = observation.detail.clone();
        self.action.stop = None;
        self.enter(State::Partial);
    }

    fn pending(&mut self, retry_after: Option<Span>, weight: Weight, witness: bool) {
        if weight == Weight::Evidence && !witness || self.action.undisproved.is_empty() {
            return;
        }
        if self.now >= self.pending_until() && !self.sending() {
            self.fence_unbegun();
            self.action.stop = Some(Stop::EffectDeadlinePassed);
            return;
        }
        let wait = retry_after.unwrap_or_else(|| self.action.spec.contract.retry.backoff(1));
        self.action.lookups.next = Some(NextLookup {
            not_before: self.now.plus(wait),
            pending: true,
        });
        self.action.lookups.early_spent = false;
    }

    /// The receiver's final word about the work that it names, and about nothing else.
    fn failed(
        &mut self,
        external_id: Option<&ExternalId>,
        number: Option<u32>,
        weight: Weight,
        lapsed: bool,
    ) {
        let named = self.action.undisproved.iter().position(|attempt| {
            number == Some(attempt.number)
                || external_id.is_some() && attempt.external_id.as_ref() == external_id
        });
        let told = named.is_some_and(|at| self.action.undisproved[at].word == Word::Completed);
        let last = self.action.undisproved.len() == 1;
        let (Some(at), false) = (named, told) else {
            if told {
                self.contradict();
            } else if weight != Weight::Evidence && !lapsed {
                self.inconclusive(self.now);
            }
            return;
        };
        if last && self.part_seen() {
            self.contradict();
            return;
        }
        self.action.undisproved.remove(at);
        self.forget_disproved_id();
        if !last {
            // The receiver has nothing in its hands any more unless another attempt was accepted too.
            if self.action.state == State::Accepted {
                self.relapse();
            }
            if weight != Weight::Evidence && !lapsed {
                self.inconclusive(self.now);
            }
            return;
        }
        self.fence();
        self.action.facts_missing.clear();
        self.action.stop = None;
        self.action.absence_counted = true;
        self.postpone(Some(self.now.plus(self.backoff())));
        self.enter(State::NotFound);
    }

    /// A verdict that its own facts contradict is a mistake of the caller.
    fn check_facts(&self, observation: &Observation) -> Result<(), Refusal> {
        let declared = &self.action.spec.expected.facts;
        if let Some(other) = observation.facts.keys().find(|fact| !declared.contains(fact)) {
            let reason = format!("names {other:?}, which the action's expected effect does not declare");
            return Err(Refusal::InvalidField {
                field: "observation.facts",
                reason,
            });
        }
        let holds = |fact: &FactName| match observation.facts.get(fact) {
            Some(Seen::False) => false,
            Some(Seen::True) => true,
            Some(Seen::NotSeen) | None => self.action.facts_true.contains(fact),
        };
        let all = !declared.is_empty() && declared.iter().all(holds);
        let seen_true = observation.facts.values().any(|seen| *seen == Seen::True);
        let seen_false = observation.facts.values().any(|seen| *seen == Seen::False);
        let wrong = match &observation.verdict {
            Verdict::Confirmed { .. } if !declared.is_empty() && !all => {
                Some("CONFIRMED needs every declared fact to be seen true")
            }
            Verdict::NotFound if seen_true => Some("NOT_FOUND contradicts a fact that was seen true"),
            Verdict::Failed { .. } if seen_true => Some("FAILED contradicts a fact that was seen true"),
            Verdict::Partial if !(declared.is_empty() || seen_false && declared.iter().any(holds)) => {
                Some("PARTIAL needs a fact that was seen true and a fact that was seen false")
            }
            // SUBTLE: only by what this lookup saw: one that saw nothing may say so, whatever earlier ones have seen.
            Verdict::Unknown { .. } if all && seen_true => {
                Some("UNKNOWN contradicts the facts, which all hold")
            }
            Verdict::Pending { .. } if all && seen_true => {
                Some("PENDING contradicts the facts, which all hold")
            }
            Verdict::Confirmed { .. }
            | Verdict::NotFound
            | Verdict::Failed { .. }
            | Verdict::Partial
            | Verdict::Pending { .. }
            | Verdict::Unknown { .. } => None,
        };
        match wrong {
            Some(reason) => Err(Refusal::InvalidField {
                field: "observation.facts",
                reason: reason.to_owned(),
            }),
            None => Ok(()),
        }
    }
}
