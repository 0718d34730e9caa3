//! Leases: repeat, claim, begin, renew, release. Who may act is decided here and nowhere else.

use super::Outcome;
use super::case::Case;
use super::offer::Offer;
use crate::action::{Attempt, Doubt, Ended, Grant, GrantKind, State, Word};
use crate::command::Then;
use crate::contract::EffectClass;
use crate::event::What;
use crate::id::{Caller, Token};
use crate::judgement::{PastRequest, PastToken};
use crate::reply::{NextStep, Refusal};
use crate::text::{FactName, Note};
use crate::time::{Span, Timestamp};

/// How far beyond the database's time a token may be and still have been issued before a failover: a new primary's clock
/// that is further behind breaks more than this.
const TOKEN_REACH: Span = Span::from_secs(60);

/// What a token that a caller presents is to this action.
pub(super) enum Standing {
    /// The last grant's.
    Current,
    /// An earlier one's.
    Past(PastToken),
    /// Not known to this database, but possible: a failover may have lost it.
    Lost,
}

/// Who speaks under a token.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    /// Whoever the token was granted to.
    Holder,
    /// Somebody else, whose word is evidence and nothing more.
    Witness,
}

impl Speaker {
    /// What it may want after its evidence.
    pub fn may_want(self, then: Then) -> Then {
        match self {
            Self::Holder => then,
            Self::Witness => Then::Nothing,
        }
    }
}

impl Case<'_> {
    /// I9: a repeat gets the same grant or none.
    pub fn repeat(&mut self, past: &PastRequest) -> Result<NextStep, Refusal> {
        if past.fingerprint != self.request.fingerprint || past.caller != self.request.caller {
            return Err(Refusal::RequestIdReused);
        }
        // SUBTLE: not only a grant: whoever hears the answer to evidence or to a decision stops repeating it, so what was
        // read must not be lost with this primary (C4, C20).
        self.reads_back = true;
        let same = self
            .action
            .live_grant(self.now)
            .filter(|grant| Some(grant.token) == past.granted);
        let Some(grant) = same else { return Ok(self.step()) };
        Ok(self.granted(grant, past.begun))
    }

    /// Takes what is offered.
    pub fn take(&mut self, begin: bool) -> NextStep {
        match self.offer() {
            Offer::Execute { resend, resumes } => self.grant(GrantKind::Execute, resend, resumes, begin),
            Offer::Verify => self.grant(GrantKind::Verify, false, Vec::new(), false),
            offer @ (Offer::Held | Offer::Wait { .. } | Offer::Settled | Offer::Blocked(_)) => {
                self.told(offer)
            }
        }
    }

    /// I8: the answer to evidence may be the next grant, in the same transaction.
    pub fn proceed(&mut self, then: Then) -> NextStep {
        match then {
            Then::Nothing => self.step(),
            Then::Grant => self.take(false),
            Then::BegunGrant => self.take(true),
        }
    }

    /// I1, I2: one more token, one lease.
    fn grant(&mut self, kind: GrantKind, resend: bool, resumes: Vec<FactName>, begin: bool) -> NextStep {
        let contract = self.action.spec.contract;
        let token = Token::after(Some(self.action.token), self.now);
        let longest = self.now.plus(contract.max_hold);
        // What only reads may be run again at any time: no window of the receiver limits it.
        let limited = resend && contract.effect_class != EffectClass::Read;
        let hold_until = match self.resend_until() {
            Some(end) if limited => end.min(longest),
            _ => longest,
        };
        let grant = Grant {
            token,
            holder: self.request.caller.clone(),
            request: self.request.id,
            kind,
            attempt: if kind == GrantKind::Execute {
                self.action.attempts + 1
            } else {
                0
            },
            resumes,
            resend,
            granted_at: self.now,
            expires_at: self.now.plus(contract.lease).min(hold_until),
            hold_until,
            begun_at: None,
            ended: None,
        };
        let begun = begin && kind == GrantKind::Execute;
        let what = What::Granted {
            kind,
            expires_at: grant.expires_at,
            begun,
            resend,
        };
        let attempt = begun.then_some(grant.attempt);
        self.action.token = token;
        self.action.grant = Some(grant.clone());
        self.granted = Some(token);
        if kind == GrantKind::Verify {
            self.action.lookups.granted += 1;
            self.action.lookups.early_spent = self.now < self.quiet_time();
        }
        let anchored = self.events.iter().any(|event| event.request.is_some());
        let event = if anchored {
            self.record(what)
        } else {
            self.record_call(what)
        };
        (event.token, event.attempt) = (Some(token), attempt);
        if begun {
            self.pass_gate();
        }
        self.granted(&grant, begun)
    }

    /// The gate: from here on the effect may exist.
    fn pass_gate(&mut self) {
        let Some(grant) = self.action.grant.as_mut() else {
            return;
        };
        grant.begun_at = Some(self.now);
        let (number, token, lease_end, resumes) = (
            grant.attempt,
            grant.token,
            grant.expires_at,
            !grant.resumes.is_empty(),
        );
        self.note_attempt(number, token, lease_end);
        let action = &mut self.action;
        action.allowance = false;
        action.resumed |= resumes;
        action.first_sent_at.get_or_insert(self.now);
        action.last_sent_at = Some(self.now);
        action.execute_after = None;
        self.enter(State::Sent);
    }

    /// Takes one more attempt into account, begun or only reported.
    pub fn note_attempt(&mut self, number: u32, token: Token, lease_end: Timestamp) {
        let action = &mut self.action;
        action.attempts = action.attempts.max(number);
        action.attempts_counted += 1;
        action.setbacks += 1;
        action.absence_counted = false;
        action.lookups.inconclusive = 0;
        action.lookups.early_spent = false;
        action.lookups.next = None;
        action.undisproved.push(Attempt {
            number,
            token,
            lease_end,
            ended_at: None,
            external_id: None,
            word: Word::None,
        });
    }

    /// What the token is to this action. Only its holder may speak under it.
    pub fn standing(&self, token: Token) -> Result<Standing, Refusal> {
        match self.place(token)? {
            (standing, Speaker::Holder) => Ok(standing),
            (_, Speaker::Witness) => Err(Refusal::NotYourGrant),
        }
    }

    /// The same for evidence. I11: proof of the effect is taken from everybody, under the speaker's own name; the rest from
    /// the token's holder only.
    pub fn standing_of_evidence(&self, token: Token, proof: bool) -> Result<(Standing, Speaker), Refusal> {
        match self.place(token)? {
            (_, Speaker::Witness) if !proof => Err(Refusal::NotYourGrant),
            placed => Ok(placed),
        }
    }

    fn place(&self, token: Token) -> Result<(Standing, Speaker), Refusal> {
        let speaker = |holder: &Caller| {
            if *holder == self.request.caller {
                Speaker::Holder
            } else {
                Speaker::Witness
            }
        };
        if let Some(grant) = self.action.grant.as_ref().filter(|grant| grant.token == token) {
            return Ok((Standing::Current, speaker(&grant.holder)));
        }
        if let Some(past) = &self.remembered.token {
            return Ok((Standing::Past(past.clone()), speaker(&past.holder)));
        }
        let reach = self.now.plus(TOKEN_REACH).millis();
        if token > self.action.token && token.number() > reach {
            return Err(Refusal::TokenNeverIssued);
        }
        // Nobody is known to hold it, so whoever speaks is taken for its holder.
        Ok((Standing::Lost, Speaker::Holder))
    }

    /// I5: the go/no-go gate. Anything but `Execute` in the answer means: do not send.
    pub fn begin(&mut self, token: Token) -> Result<NextStep, Refusal> {
        let standing = self.standing(token)?;
        let ready = matches!(standing, Standing::Current)
            && self
                .action
                .live_grant(self.now)
                .is_some_and(|grant| grant.kind == GrantKind::Execute && !grant.begun());
        if !ready {
            return Ok(self.step());
        }
        let too_late = !self.action.allowance && self.now >= self.budget_end();
        if too_late || self.action.unapproved() {
            self.fence();
            return Ok(self.step());
        }
        self.pass_gate();
        let attempt = self.action.attempts;
        let event = self.record_call(What::Begun);
        (event.token, event.attempt) = (Some(token), Some(attempt));
        self.granted = Some(token);
        match &self.action.grant {
            Some(grant) => Ok(self.granted(grant, true)),
            None => Ok(self.step()),
        }
    }

    /// Never shortens, never revives, ends at `max_hold` and at the receiver's window.
    pub fn renew(&mut self, token: Token) -> Result<Outcome, Refusal> {
        let standing = self.standing(token)?;
        let live = self.action.live_grant(self.now).is_some();
        if !live || !matches!(standing, Standing::Current) {
            return Ok(Outcome::Step(self.step()));
        }
        let wanted = self.now.plus(self.action.spec.contract.lease);
        let Some(grant) = self.action.grant.as_mut() else {
            return Ok(Outcome::Step(self.step()));
        };
        let expires_at = wanted.min(grant.hold_until).max(grant.expires_at);
        grant.expires_at = expires_at;
        let (begun, number) = (grant.begun(), grant.attempt);
        if begun && let Some(attempt) = self.undisproved(number) {
            attempt.lease_end = expires_at;
        }
        self.touched = true;
        Ok(Outcome::Renewed)
    }

    /// Gives a lease back. What has begun stays in doubt: a polite stop is never worse than a kill.
    pub fn release(&mut self, token: Token) -> Result<NextStep, Refusal> {
        let standing = self.standing(token)?;
        let now = self.now;
        let own = self.action.grant.as_mut().filter(|grant| grant.live(now));
        let (Standing::Current, Some(grant)) = (standing, own) else {
            return Ok(self.step());
        };
        grant.ended = Some(Ended::Released);
        let (kind, begun, attempt, expires_at) = (grant.kind, grant.begun(), grant.attempt, grant.expires_at);
        match kind {
            GrantKind::Execute if begun => {
                self.action.reason = Note::none();
                self.doubt(Doubt::Released);
            }
            GrantKind::Execute => {}
            // Nobody looked, so the early lookup is still to be had.
            GrantKind::Verify => self.action.lookups.early_spent = false,
        }
        let event = self.record_call(What::Released { expires_at });
        (event.token, event.attempt) = (Some(token), begun.then_some(attempt));
        Ok(self.step())
    }
}
