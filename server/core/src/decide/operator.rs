//! Operators: a person's word, in the history under its name. Refused where it would let two sends overlap.

use super::case::Case;
use crate::action::{Approval, Basis, Closure, Doubt, State, Word};
use crate::command::{Decision, Resolution};
use crate::contract::{EffectClass, Terms};
use crate::event::What;
use crate::id::{Token, Version};
use crate::reply::Refusal;
use crate::text::Note;
use crate::time::Timestamp;

use super::offer::Offer;

fn refuse<T>(why: &str) -> Result<T, Refusal> {
    Err(Refusal::DecisionNotAllowed {
        why: why.to_owned(),
        allowed_from: None,
    })
}

impl Case<'_> {
    /// One decision on the version that the operator looked at.
    pub fn decide(&mut self, seen: Version, note: &Note, decision: &Decision) -> Result<(), Refusal> {
        let current = self.action.version;
        if seen != current {
            return Err(Refusal::VersionChanged { seen, current });
        }
        match decision {
            Decision::Approve { input } => {
                if !self.action.unapproved() || self.action.state.settled() {
                    return refuse("it does not await approval");
                }
                if *input != self.action.spec.input {
                    let reason = "is not the stored input hash: look at the action again before approving it"
                        .to_owned();
                    return Err(Refusal::InvalidField {
                        field: "input_hash",
                        reason,
                    });
                }
            }
            Decision::Deny if self.action.state != State::AwaitingApproval => {
                return refuse("it does not await approval");
            }
            Decision::Resolve { resolution, proof } => self.may_resolve(resolution, proof.as_ref())?,
            Decision::Reopen { new_key, proof } => self.may_reopen(*new_key, proof.as_ref())?,
            Decision::Deny | Decision::Assign { .. } | Decision::Acknowledge { .. } => {}
        }
        self.record_call(What::Decided {
            decision: decision.clone(),
            note: note.clone(),
        });
        let at = self.events.len() - 1;
        self.carry_out(decision, note);
        self.events[at].token = Some(self.action.token);
        Ok(())
    }

    fn carry_out(&mut self, decision: &Decision, note: &Note) {
        match decision {
            // SUBTLE: naming a person or clearing a mark lets nobody act, so it takes no lease away: it moves no token.
            Decision::Assign { assignee } => self.action.assignee.clone_from(assignee),
            Decision::Acknowledge { flag } => self.action.flags.put(*flag, false),
            Decision::Approve { .. } => {
                self.action.approval = Approval::Given {
                    at: self.now,
                    by: self.request.caller.principal.clone(),
                };
                self.action.budget_from = self.now;
                if self.action.state == State::AwaitingApproval {
                    self.enter(State::Planned);
                }
                self.move_token();
            }
            Decision::Deny => self.shut(State::Rejected, Closure::Denied, note),
            Decision::Resolve { resolution, .. } => self.resolve(resolution, note),
            Decision::Reopen { new_key, .. } => self.reopen(*new_key),
        }
    }

    /// Every decision that changes what may be done takes the lease from whoever holds it.
    fn move_token(&mut self) {
        self.fence();
        self.action.grant = None;
        self.action.token = Token::after(Some(self.action.token), self.now);
    }

    fn shut(&mut self, state: State, closure: Closure, note: &Note) {
        self.move_token();
        self.action.closure = Some(closure);
        self.action.reason = note.clone();
        self.action.stop = None;
        self.enter(state);
    }

    fn may_resolve(&self, resolution: &Resolution, proof: Option<&Note>) -> Result<(), Refusal> {
        if self.action.state == State::Confirmed {
            return refuse("the effect is proven, and proof is final");
        }
        match resolution {
            Resolution::Confirmed { .. } => Ok(()),
            _ if self.action.state.settled() => refuse("it is closed: only a confirmation or Reopen applies"),
            Resolution::Absent => {
                self.may_let_execute(proof)?;
                let in_doubt = matches!(
                    self.action.state,
                    State::Accepted | State::Partial | State::Unknown
                );
                if in_doubt || self.limits_used_up() {
                    Ok(())
                } else {
                    refuse("nothing is in doubt: a claim gets a grant")
                }
            }
            Resolution::Compensated { .. } => {
                if self.action.spec.contract.effect_class != EffectClass::Reversible {
                    return refuse("only a REVERSIBLE action can be compensated");
                }
                if self.sending() {
                    return self.not_yet("its holder may be sending");
                }
                Ok(())
            }
            Resolution::Rejected | Resolution::Abandoned => Ok(()),
        }
    }

    fn may_reopen(&self, new_key: bool, proof: Option<&Note>) -> Result<(), Refusal> {
        if self.action.state == State::Confirmed {
            return refuse("the effect is proven, and proof is final");
        }
        if new_key && !self.action.undisproved.is_empty() {
            return refuse(
                "an attempt under the present outward key may have left an effect: resolve it first",
            );
        }
        if !matches!(self.offer(), Offer::Settled | Offer::Blocked(_)) && !self.sending() {
            return refuse("it is neither closed nor blocked: there is nothing to reopen");
        }
        self.may_let_execute(proof)
    }

    /// A word that lets somebody execute: never while a send may be under way, and with proof where nothing can be undone.
    fn may_let_execute(&self, proof: Option<&Note>) -> Result<(), Refusal> {
        if self.sending() || !self.action.undisproved.is_empty() && self.now < self.quiet_time() {
            return self.not_yet("a send may still be under way");
        }
        let irreversible = self.action.spec.contract.effect_class == EffectClass::Irreversible;
        if irreversible && proof.is_none_or(Note::blank) {
            let reason = "is empty, but the action is IRREVERSIBLE: write down where the proof is".to_owned();
            return Err(Refusal::InvalidField {
                field: "proof_reference",
                reason,
            });
        }
        Ok(())
    }

    fn not_yet(&self, why: &str) -> Result<(), Refusal> {
        let allowed_from: Timestamp = self.quiet_time();
        Err(Refusal::DecisionNotAllowed {
            why: why.to_owned(),
            allowed_from: Some(allowed_from),
        })
    }

    fn resolve(&mut self, resolution: &Resolution, note: &Note) {
        match resolution {
            Resolution::Confirmed { external_id } => {
                // SUBTLE: exempt from the uniqueness of external ids: a person decides between two actions (C14).
                self.confirm(Basis::Decision, None, external_id.as_ref(), None);
                self.move_token();
                self.action.reason = note.clone();
            }
            Resolution::Absent => {
                self.retire();
                self.action.undisproved.clear();
                self.forget_disproved_id();
                self.action.absence_counted = true;
                self.move_token();
                self.enter(State::NotFound);
            }
            Resolution::Rejected => self.shut(State::Rejected, Closure::ResolvedRejected, note),
            Resolution::Compensated { by } => {
                self.shut(State::Abandoned, Closure::Compensated { by: by.clone() }, note);
            }
            Resolution::Abandoned => self.shut(State::Abandoned, Closure::Abandoned, note),
        }
    }

    /// Earlier facts and receipts no longer speak; the limits allow one more attempt where they are used up.
    fn retire(&mut self) {
        self.action.allowance = self.limits_used_up();
        self.action.facts_true.clear();
        self.action.facts_missing.clear();
        self.action.resumed = false;
        self.action.stop = None;
        self.action.execute_after = None;
        self.action.lookups.inconclusive = 0;
        self.action.lookups.early_spent = false;
        self.action.lookups.next = None;
    }

    fn reopen(&mut self, new_key: bool) {
        self.retire();
        for attempt in &mut self.action.undisproved {
            attempt.word = Word::None;
        }
        if new_key {
            self.action.key_generation += 1;
            self.action.first_sent_at = None;
        }
        self.action.closure = None;
        self.action.absence_counted = false;
        self.move_token();
        if !self.action.undisproved.is_empty() {
            self.doubt(Doubt::Decided);
        } else if self.action.unapproved() {
            let expires_at = self.now.plus(Terms::APPROVAL_EXPIRES);
            self.action.approval = Approval::Pending { expires_at };
            self.enter(State::AwaitingApproval);
        } else {
            self.enter(State::Planned);
        }
    }
}
