//! The case: one action under judgement, with the helpers that every rule uses.

use super::Protocol;
use crate::action::{Action, Attempt, Doubt, Ended, Flag, Grant, GrantKind, NextLookup, State, Stop, Word};
use crate::command::Request;
use crate::event::{Event, Trace, What};
use crate::id::{ActionKey, Token, Version};
use crate::judgement::Remembered;
use crate::text::{ExternalId, FactName};
use crate::time::{Span, Timestamp};

/// One action under judgement.
pub(super) struct Case<'a> {
    pub protocol: &'a Protocol,
    pub remembered: &'a Remembered,
    pub request: &'a Request,
    pub now: Timestamp,
    pub action: Action,
    pub events: Vec<Event>,
    /// The row changes without history: a renewal.
    pub touched: bool,
    pub terms_differ: bool,
    pub reads_back: bool,
    pub registers: Option<ExternalId>,
    pub contests: Option<(ActionKey, ExternalId)>,
    /// The grant that this call is answered with.
    pub granted: Option<Token>,
}

impl<'a> Case<'a> {
    pub fn open(
        protocol: &'a Protocol,
        action: Action,
        remembered: &'a Remembered,
        request: &'a Request,
        now: Timestamp,
    ) -> Self {
        Self {
            protocol,
            remembered,
            request,
            now,
            action,
            events: Vec::new(),
            touched: false,
            terms_differ: false,
            reads_back: false,
            registers: None,
            contests: None,
            granted: None,
        }
    }

    /// Appends history that no call is remembered by.
    pub fn record(&mut self, what: What) -> &mut Event {
        self.action.sequence += 1;
        self.events.push(Event {
            sequence: self.action.sequence,
            at: self.now,
            token: None,
            attempt: None,
            by: Some(self.request.caller.clone()),
            request: None,
            state: self.action.state,
            what,
        });
        let last = self.events.len() - 1;
        &mut self.events[last]
    }

    /// Appends the history that this call is remembered by.
    pub fn record_call(&mut self, what: What) -> &mut Event {
        let trace = Trace {
            id: self.request.id,
            fingerprint: self.request.fingerprint,
            granted: None,
            begun: false,
        };
        let event = self.record(what);
        event.request = Some(trace);
        event
    }

    /// Completes the history: the state after the call, the grant it was answered with, one version further.
    pub fn sign(&mut self) {
        if self.events.is_empty() {
            return;
        }
        self.action.version = Version(self.action.version.0 + 1);
        let begun = self.action.grant.as_ref().is_some_and(Grant::begun);
        for event in &mut self.events {
            event.state = self.action.state;
            if let Some(trace) = &mut event.request
                && self.granted.is_some()
            {
                trace.granted = self.granted;
                trace.begun = begun;
            }
        }
    }

    /// Moves to a state; `since` moves only with it.
    pub fn enter(&mut self, state: State) {
        if self.action.state != state {
            self.action.state = state;
            self.action.since = self.now;
        }
    }

    /// Sets a mark and writes it down once.
    pub fn flag(&mut self, flag: Flag) {
        if self.action.flags.set().any(|set| set == flag) {
            return;
        }
        self.action.flags.put(flag, true);
        self.record(What::Flagged { flag });
    }

    /// I4: what time has decided. The sweeper and every call write it down in the same way.
    pub fn lapse(&mut self) {
        let now = self.now;
        if let Some(grant) = &mut self.action.grant
            && grant.ended.is_none()
            && !grant.live(now)
        {
            grant.ended = Some(Ended::Lapsed);
            let (kind, begun, at) = (grant.kind, grant.begun(), grant.expires_at);
            let (token, attempt) = (grant.token, grant.begun().then_some(grant.attempt));
            match kind {
                GrantKind::Execute if begun => {
                    self.doubt(Doubt::LeaseLapsed);
                    self.action.since = at;
                }
                GrantKind::Execute => {}
                GrantKind::Verify => self.inconclusive(at),
            }
            let event = self.record(What::Lapsed { expires_at: at });
            (event.token, event.attempt, event.by) = (Some(token), attempt, None);
        }
        // SUBTLE: not only in AWAITING_APPROVAL: evidence of a lost grant leads an unapproved action past it, and there it
        // would wait for ever for an approval whose request has expired.
        let idle = matches!(
            self.action.state,
            State::AwaitingApproval | State::Planned | State::NotFound
        );
        if idle
            && let crate::action::Approval::Pending { expires_at } = self.action.approval
            && expires_at <= now
        {
            self.enter(State::Rejected);
            self.action.since = expires_at;
            self.action.closure = Some(crate::action::Closure::ApprovalExpired);
            self.record(What::ApprovalExpired).by = None;
        }
    }

    /// The effect may exist and evidence does not decide.
    pub fn doubt(&mut self, doubt: Doubt) {
        let taken = self
            .action
            .undisproved
            .iter()
            .any(|attempt| attempt.word > Word::None);
        let contradicted = self.action.stop == Some(Stop::Contradiction);
        self.action.doubt = Some(if contradicted { Doubt::Contradiction } else { doubt });
        self.enter(if taken && !contradicted {
            State::Accepted
        } else {
            State::Unknown
        });
        self.postpone(self.backed_off_from_last_send());
    }

    /// No execution before `at`. Never earlier than was known before: a receiver that asked for patience still does (A8).
    pub fn postpone(&mut self, at: Option<Timestamp>) {
        self.action.execute_after = self.action.execute_after.max(at);
    }

    /// The wait before the next execution.
    pub fn backoff(&self) -> Span {
        let retry = &self.action.spec.contract.retry;
        retry.backoff(self.action.setbacks.max(1))
    }

    /// The earliest next execution, counted from the last send.
    pub fn backed_off_from_last_send(&self) -> Option<Timestamp> {
        let wait = self.backoff();
        self.action.last_sent_at.map(|at| at.plus(wait))
    }

    /// A lookup that could not tell, at `at`.
    pub fn inconclusive(&mut self, at: Timestamp) {
        let lookups = &mut self.action.lookups;
        lookups.inconclusive += 1;
        lookups.last_at = Some(at);
        let wait = self.action.spec.contract.retry.backoff(lookups.inconclusive);
        lookups.next = Some(NextLookup {
            not_before: at.plus(wait),
            pending: false,
        });
    }

    /// Whether somebody who has begun holds the lease.
    pub fn sending(&self) -> bool {
        self.action.live_grant(self.now).is_some_and(Grant::begun)
    }

    /// Overtakes a live grant, begun or not: its next call says so.
    pub fn fence(&mut self) {
        let Some(grant) = self.action.grant.as_mut() else {
            return;
        };
        // SUBTLE: a lookup counts even after its lease has lapsed, so newer knowledge overtakes it there as well; else
        // its absence would undo what the sender has said since, and the wait that the receiver asked for (A8).
        let lapsed = grant.kind == GrantKind::Verify && grant.ended == Some(Ended::Lapsed);
        if grant.ended.is_some() && !lapsed {
            return;
        }
        grant.ended = Some(Ended::Fenced);
        if lapsed {
            return;
        }
        let (token, attempt, expires_at) = (
            grant.token,
            grant.begun().then_some(grant.attempt),
            grant.expires_at,
        );
        let event = self.record(What::Fenced { expires_at });
        (event.token, event.attempt) = (Some(token), attempt);
    }

    /// Overtakes a live grant that has not begun.
    pub fn fence_unbegun(&mut self) {
        if !self.sending() {
            self.fence();
        }
    }

    /// The undisproved attempt of this number.
    pub fn undisproved(&mut self, number: u32) -> Option<&mut Attempt> {
        self.action
            .undisproved
            .iter_mut()
            .find(|attempt| attempt.number == number)
    }

    /// Whether some of the effect was seen: a fact, or a part of it where no facts are declared.
    pub fn part_seen(&self) -> bool {
        !self.action.facts_true.is_empty() || self.action.state == State::Partial
    }

    /// The declared facts that no lookup has seen true.
    pub fn facts_open(&self) -> Vec<FactName> {
        let seen = &self.action.facts_true;
        self.action
            .spec
            .expected
            .facts
            .iter()
            .filter(|fact| !seen.contains(fact))
            .cloned()
            .collect()
    }

    /// Whether no more attempts are allowed but by an operator.
    pub fn limits_used_up(&self) -> bool {
        let retry = &self.action.spec.contract.retry;
        self.action.attempts_counted >= retry.max_attempts || self.now >= self.budget_end()
    }

    /// Executions may begin before this.
    pub fn budget_end(&self) -> Timestamp {
        self.action
            .budget_from
            .plus(self.action.spec.contract.retry.total_budget)
    }
}
