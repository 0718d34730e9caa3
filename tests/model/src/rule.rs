//! Rules of the protocol, taken out one at a time. The core is not touched: what it is handed, or what it answers, is
//! changed around the call, so that it behaves as an earlier draft without the rule would have.

use deed_core::action::{Action, Ended, State, Word};
use deed_core::command::{Ask, Command, Decision, Resolution};
use deed_core::contract::{Contract, Terms};
use deed_core::evidence::{Receipt, Verdict};
use deed_core::judgement::{Judgement, Remembered};
use deed_core::reply::{Execute, NextStep, Refusal, Reply};
use deed_core::time::{Span, Timestamp};

/// What is believed instead.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rule {
    /// A lease that lapsed after begin frees execution: nothing happened.
    LapseIsNothing,
    /// C1: "nothing was done" speaks for all attempts, not only for its own.
    ReceiptSpeaksForAll,
    /// C2: "the job failed" speaks for whichever attempt is undisproved.
    FailureSpeaksForAny,
    /// C3: the holder counts its lease from the answer, not from the grant.
    LeaseFromTheAnswer,
    /// C4, C20: a grant that was read back is answered without a synchronous commit.
    ReadBackIsTold,
    /// C5: a repeat of a lookup's evidence is judged again, by the time of its arrival.
    RepeatedAbsenceCounts,
    /// Rule 7, C8: a lookup counts whenever it was granted.
    EarlyLookupCounts,
    /// C7: an operator's word is taken at any time.
    OperatorAtAnyTime,
    /// C9: the answer of a claim is kept and given again as it was.
    AnswersAreReplayed,
    /// C9, C15: nobody remembers request ids.
    RequestsAreForgotten,
    /// C10: evidence under a token that this database does not know is refused.
    UnknownTokensAreRefused,
    /// C11: a re-send's lease knows nothing of the receiver's window.
    ResendsOutliveTheWindow,
    /// C12: an absence outweighs the executor's word.
    AbsenceOutweighsReceipts,
    /// C13: a send is over with its lease.
    SendTimeoutIgnored,
    /// C14: an external id proves any number of actions.
    ProofsAreShared,
    /// C16: a renewal moves the version.
    RenewalsMoveTheVersion,
    /// C17: what was accepted is done or visible at once.
    EffectDeadlineIgnored,
    /// C18: the quiet time counts from the report, not from the lease end that the holder was told.
    ToldLeaseEndForgotten,
    /// C19: a send without begin is evidence, but no attempt.
    UngatedIsNoAttempt,
    /// C21: a late `COMPLETED` is filed and changes nothing.
    LateCompletedIsFiled,
}

/// Far enough in the past or the future for every comparison.
const LONG: Span = Span::from_hours(1);

impl Rule {
    /// Changes what the core is handed.
    pub fn before(
        self,
        row: &mut Option<Action>,
        remembered: &mut Remembered,
        command: &mut Command,
        now: Timestamp,
    ) {
        if self == Self::RequestsAreForgotten {
            remembered.request = None;
        }
        if self == Self::ProofsAreShared {
            remembered.external_id = None;
        }
        let Some(row) = row else { return };
        match (self, &mut command.ask) {
            (Self::LapseIsNothing, _) => forget_lapsed(row, now),
            (Self::FailureSpeaksForAny, Ask::Verify { observation, .. } | Ask::Observe { observation }) => {
                if let Verdict::Failed { attempt, .. } = &mut observation.verdict {
                    *attempt = row.undisproved.last().map(|attempt| attempt.number);
                }
            }
            (Self::RepeatedAbsenceCounts, Ask::Verify { token, .. }) => {
                if let Some(grant) = row.grant.as_mut().filter(|grant| grant.token == *token)
                    && remembered.request.take().is_some()
                {
                    (grant.ended, grant.granted_at) = (None, now);
                }
            }
            (Self::EarlyLookupCounts, Ask::Verify { .. }) => {
                if let Some(grant) = &mut row.grant {
                    grant.granted_at = now.plus(LONG);
                }
            }
            (
                Self::OperatorAtAnyTime,
                Ask::Decide {
                    decision:
                        Decision::Resolve {
                            resolution: Resolution::Absent,
                            ..
                        },
                    ..
                },
            ) => {
                for attempt in &mut row.undisproved {
                    attempt.ended_at = Some(now.minus(LONG));
                }
            }
            (Self::AbsenceOutweighsReceipts, Ask::Verify { observation, .. })
                if observation.verdict == Verdict::NotFound =>
            {
                let words = row.undisproved.iter_mut().map(|attempt| &mut attempt.word);
                words.for_each(|word| *word = Word::None);
            }
            (Self::SendTimeoutIgnored, _) => {
                amend(row, |terms| terms.send_timeout = Span::from_millis(1));
            }
            (Self::EffectDeadlineIgnored, _) => amend(row, |terms| terms.asynchronous = false),
            _ => {}
        }
    }

    /// Changes what the core answered.
    pub fn after(
        self,
        before: Option<&Action>,
        remembered: &Remembered,
        command: &Command,
        judgement: &mut Judgement,
        now: Timestamp,
    ) {
        let Some(before) = before else { return };
        match self {
            Self::ReadBackIsTold => judgement.reads_back = false,
            Self::AnswersAreReplayed => replay(before, remembered, judgement, now),
            _ => {}
        }
        let receipt = match &command.ask {
            Ask::Report { receipt, token, .. } => Some((receipt, *token)),
            _ => None,
        };
        if let (Self::UnknownTokensAreRefused, Some((_, token))) = (self, receipt)
            && remembered.token.is_none()
            && before.grant.as_ref().is_none_or(|grant| grant.token != token)
        {
            judgement.reply = Err(Refusal::TokenNeverIssued);
            judgement.next = None;
            judgement.events.clear();
            return;
        }
        let Some(next) = &mut judgement.next else { return };
        match (self, receipt) {
            (Self::SendTimeoutIgnored | Self::EffectDeadlineIgnored, _) => {
                next.spec.contract = before.spec.contract;
            }
            (Self::RenewalsMoveTheVersion, _) if matches!(command.ask, Ask::Renew { .. }) => {
                next.version.0 += 1;
            }
            (Self::ResendsOutliveTheWindow, _) => outlive(next, judgement.reply.as_mut().ok(), now),
            (Self::ReceiptSpeaksForAll, Some((Receipt::NotApplied { .. } | Receipt::NotSent { .. }, _))) => {
                next.undisproved.clear();
                if !next.state.settled() && next.live_grant(now).is_none() {
                    next.state = State::Planned;
                }
            }
            (Self::ToldLeaseEndForgotten, Some((_, token))) => {
                let mut known = next.undisproved.iter_mut();
                if let Some(attempt) = known.find(|attempt| attempt.token == token) {
                    attempt.lease_end = attempt.lease_end.min(now);
                }
            }
            (Self::UngatedIsNoAttempt, Some(_)) if next.attempts > before.attempts => {
                file_only(next, before);
            }
            (Self::LateCompletedIsFiled, Some((Receipt::Completed { .. }, token)))
                if before.undisproved.iter().all(|attempt| attempt.token != token) =>
            {
                file_only(next, before);
            }
            _ => {}
        }
    }
}

/// A begun lease that has lapsed never was.
fn forget_lapsed(row: &mut Action, now: Timestamp) {
    let Some(grant) = &mut row.grant else { return };
    let lapsed = grant.ended.is_none() && !grant.live(now) || grant.ended == Some(Ended::Lapsed);
    if lapsed && grant.begun() {
        let token = grant.token;
        grant.ended = Some(Ended::Lapsed);
        row.undisproved.retain(|attempt| attempt.token != token);
        if !row.state.settled() {
            row.state = State::Planned;
        }
    }
}

fn amend(row: &mut Action, change: impl FnOnce(&mut Terms)) {
    let mut terms = *row.spec.contract;
    change(&mut terms);
    if let Ok(contract) = Contract::new(terms) {
        row.spec.contract = contract;
    }
}

/// The event stays, the row stays as it was.
fn file_only(next: &mut Action, before: &Action) {
    let (version, sequence) = (next.version, next.sequence);
    *next = before.clone();
    (next.version, next.sequence) = (version, sequence);
}

/// The first answer again, whatever has become of its grant.
fn replay(before: &Action, remembered: &Remembered, judgement: &mut Judgement, now: Timestamp) {
    let past = remembered.request.as_ref().filter(|past| past.begun);
    let Some(token) = past.and_then(|past| past.granted) else {
        return;
    };
    let Ok(Reply::Step(answer)) = &mut judgement.reply else {
        return;
    };
    let lease = before.spec.contract.lease;
    answer.step = NextStep::Execute(Execute {
        token,
        attempt: before.attempts,
        lease_left: lease,
        expires_at: now.plus(lease),
        send_timeout: before.spec.contract.send_timeout,
        outward_key: before.outward_key(),
        begun: true,
        resend: false,
        resumes: Vec::new(),
    });
}

fn outlive(next: &mut Action, reply: Option<&mut Reply>, now: Timestamp) {
    let contract = next.spec.contract;
    let Some(grant) = next.grant.as_mut().filter(|grant| grant.resend) else {
        return;
    };
    grant.hold_until = grant.granted_at.plus(contract.max_hold);
    if grant.granted_at != now {
        return;
    }
    grant.expires_at = now.plus(contract.lease);
    if let Some(Reply::Step(answer)) = reply
        && let NextStep::Execute(told) = &mut answer.step
    {
        (told.lease_left, told.expires_at) = (contract.lease, grant.expires_at);
    }
}
