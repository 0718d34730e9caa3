//! The one function that decides.
//!
//! It takes the row (or its absence), what history remembers of this call, the command and the database's time, and
//! answers with everything that must be written and told. It reads nothing else and has no memory of its own.

mod answer;
mod case;
mod claim;
mod lookup;
mod offer;
mod operator;
mod proof;
mod receipt;

use crate::action::Action;
use crate::command::{Ask, Command, Request};
use crate::event::What;
use crate::judgement::{Judgement, Remembered};
use crate::reply::{Answer, NextStep, Refusal, Reply};
use crate::spec::Specification;
use crate::text::ExternalId;
use crate::time::{Span, Timestamp};
use case::Case;

/// The protocol with the few numbers that a deployment sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Protocol {
    /// The largest forward step of the database's clock that is allowed for. Added to every quiet time.
    pub max_clock_step: Span,
}

impl Default for Protocol {
    /// 1 s: what a disciplined clock steps at most; a larger one ends leases early.
    fn default() -> Self {
        Self {
            max_clock_step: Span::from_secs(1),
        }
    }
}

/// What a judged call leads to, before it is answered.
enum Outcome {
    /// The action's next step.
    Step(NextStep),
    /// A lease that goes on.
    Renewed,
}

impl Protocol {
    /// Judges one command at the database's time `now`.
    pub fn decide(
        &self,
        action: Option<&Action>,
        remembered: &Remembered,
        command: &Command,
        now: Timestamp,
    ) -> Judgement {
        let mut case = match (action, &command.ask) {
            (Some(action), _) => Case::open(self, action.clone(), remembered, &command.request, now),
            (None, Ask::Plan { spec } | Ask::Claim { spec, .. } | Ask::Report { spec: Some(spec), .. }) => {
                let fresh = Action::new(command.key.clone(), (**spec).clone(), now);
                Case::open(self, fresh, remembered, &command.request, now)
            }
            (None, _) => return Judgement::refused(Refusal::ActionNotFound),
        };
        case.lapse();
        match case.judge(&command.ask, action.is_none()) {
            Ok(outcome) => case.close(outcome),
            // SUBTLE: a refused call changes nothing, not even what time has decided: that is written down by the next
            // call that is judged, or by the sweeper. So a stranger's call never moves a row.
            Err(refusal) => Judgement::refused(refusal),
        }
    }

    /// What a claim would get at `now`, for screens. Nothing is written.
    pub fn look(&self, action: &Action, now: Timestamp) -> (Action, Answer) {
        let (nothing, look) = (Remembered::default(), Request::look());
        let mut case = Case::open(self, action.clone(), &nothing, &look, now);
        case.lapse();
        let step = case.step();
        let answer = case.answer(step);
        (case.action, answer)
    }
}

impl Judgement {
    fn refused(refusal: Refusal) -> Self {
        Self {
            reply: Err(refusal),
            next: None,
            events: Vec::new(),
            registers: None,
            reads_back: false,
            contests: None,
        }
    }
}

impl Case<'_> {
    fn judge(&mut self, ask: &Ask, fresh: bool) -> Result<Outcome, Refusal> {
        if let Some(spec) = ask.specification() {
            if !self.action.spec.same_operation(spec) {
                return Err(Refusal::InputMismatch);
            }
            self.terms_differ = !self.action.spec.same_terms(spec);
        }
        if !matches!(ask, Ask::Renew { .. } | Ask::Sweep | Ask::Contest { .. })
            && let Some(past) = self.remembered.request.clone()
        {
            let step = self.repeat(&past)?;
            // The server may have gone between the first answer's commit and the mark on the other action.
            self.contests = self.rival(ask.evidence_id());
            return Ok(Outcome::Step(step));
        }
        let step = match ask {
            Ask::Plan { .. } => {
                if fresh {
                    self.record_call(What::Planned);
                }
                self.step()
            }
            Ask::Claim { begin, .. } => {
                let step = self.take(*begin);
                if fresh && self.events.is_empty() {
                    // SUBTLE: without a trace, so that this very request can still get the grant once it is approved.
                    self.record(What::Planned);
                }
                step
            }
            Ask::Begin { token } => self.begin(*token)?,
            Ask::Report {
                token, receipt, then, ..
            } => {
                if fresh {
                    self.record(What::Planned);
                }
                let speaker = self.report(*token, receipt)?;
                self.proceed(speaker.may_want(*then))
            }
            Ask::Verify {
                token,
                observation,
                then,
            } => {
                let speaker = self.verify(*token, observation)?;
                self.proceed(speaker.may_want(*then))
            }
            Ask::Renew { token } => return self.renew(*token),
            Ask::Release { token } => self.release(*token)?,
            Ask::Observe { observation } => {
                self.observe(observation)?;
                self.step()
            }
            Ask::Sweep => self.step(),
            Ask::Contest { by, external_id } => {
                self.contest(by, external_id);
                self.step()
            }
            Ask::Decide {
                version,
                note,
                decision,
            } => {
                self.decide(*version, note, decision)?;
                self.step()
            }
        };
        Ok(Outcome::Step(step))
    }
}

impl Ask {
    /// The external id that the evidence names.
    fn evidence_id(&self) -> Option<&ExternalId> {
        match self {
            Self::Report { receipt, .. } => receipt.external_id(),
            Self::Verify { observation, .. } | Self::Observe { observation } => observation.external_id(),
            Self::Plan { .. }
            | Self::Claim { .. }
            | Self::Begin { .. }
            | Self::Renew { .. }
            | Self::Release { .. }
            | Self::Sweep
            | Self::Contest { .. }
            | Self::Decide { .. } => None,
        }
    }

    fn specification(&self) -> Option<&Specification> {
        match self {
            Self::Plan { spec } | Self::Claim { spec, .. } => Some(spec),
            Self::Report { spec, .. } => spec.as_deref(),
            Self::Begin { .. }
            | Self::Verify { .. }
            | Self::Renew { .. }
            | Self::Release { .. }
            | Self::Observe { .. }
            | Self::Sweep
            | Self::Contest { .. }
            | Self::Decide { .. } => None,
        }
    }
}

impl Case<'_> {
    /// Everything that must be written and told.
    fn close(mut self, outcome: Outcome) -> Judgement {
        let reply = match outcome {
            Outcome::Step(step) => Reply::Step(Box::new(self.answer(step))),
            Outcome::Renewed => self.renewed(),
        };
        self.sign();
        let changed = self.touched || !self.events.is_empty();
        Judgement {
            reply: Ok(reply),
            next: changed.then(|| Box::new(self.action)),
            events: self.events,
            registers: self.registers,
            reads_back: self.reads_back,
            contests: self.contests,
        }
    }
}
