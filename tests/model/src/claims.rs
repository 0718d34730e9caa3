//! What must hold of every step, whoever did whatever. Derived from the protocol's page, not from the code. What must hold
//! of every *state* is in [`sights`](super::sights) and [`progress`](super::progress).

use deed_core::action::{Action, State, Stop};
use deed_core::command::{Ask, Command, Decision, Resolution};
use deed_core::event::{Event, What};
use deed_core::evidence::{Receipt, Verdict};
use deed_core::judgement::{Judgement, Remembered};
use deed_core::reply::{NextStep, Refusal, Reply};

/// A claim that did not hold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Broken {
    /// A grant's token was not above all earlier ones.
    TokenFell,
    /// `CONFIRMED` was left, or its deciding evidence changed.
    ProofUndone,
    /// Evidence was not kept exactly once, or an honest worker's was refused.
    EvidenceLost,
    /// Evidence that had been acknowledged is gone after a failover.
    AcknowledgedLost,
    /// A repeat got another grant than its request, or time that the grant does not have.
    AnswerChanged,
    /// More attempts than absences and proofs that nothing left.
    AbsenceSpentTwice,
    /// Somebody was let through the gate although Deed had been told that the effect exists.
    ProofIgnored,
    /// A decision was refused for its version although nothing but a renewal had happened.
    RenewalRefusesDecision,
    /// After a failover somebody holds a grant that the new primary does not know.
    GrantUnknown,
    /// Evidence confirmed an action by an external id that already proved another one.
    ProofShared,
}

/// One call as it was judged.
pub struct Arrival<'a> {
    /// The call.
    pub command: &'a Command,
    /// What was remembered of it.
    pub remembered: &'a Remembered,
    /// The row before it.
    pub before: Option<&'a Action>,
    /// The judgement.
    pub judgement: &'a Judgement,
}

/// What a step means for claims that look further back than one step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Consequences {
    /// Broken by this step alone.
    pub broken: Option<Broken>,
    /// Somebody passed the gate, otherwise than for a re-send that the contract makes harmless.
    pub begins: bool,
    /// A proof that the attempts so far left nothing, or a person's word.
    pub licenses: bool,
    /// Evidence that the effect exists.
    pub proves: bool,
    /// A person's word that earlier evidence no longer speaks.
    pub retires: bool,
}

/// Judges a step.
pub fn check(arrival: &Arrival<'_>) -> Consequences {
    let after = arrival.judgement.next.as_deref().or(arrival.before);
    let broken = refused_evidence(arrival)
        .or_else(|| tokens(arrival, after))
        .or_else(|| finality(arrival, after))
        .or_else(|| evidence(arrival))
        .or_else(|| uniqueness(arrival, after))
        .or_else(|| answers(arrival));
    let events = &arrival.judgement.events;
    let resend = after
        .and_then(|row| row.grant.as_ref())
        .is_some_and(|grant| grant.resend);
    Consequences {
        broken,
        begins: !resend && events.iter().any(begins),
        licenses: events.iter().any(|event| licenses(event, after)),
        proves: events.iter().any(proves),
        retires: events.iter().any(retires),
    }
}

fn refused_evidence(arrival: &Arrival<'_>) -> Option<Broken> {
    let evidence = matches!(
        arrival.command.ask,
        Ask::Report { .. } | Ask::Verify { .. } | Ask::Observe { .. }
    );
    // A lookup does not say what the action is; after a failover that lost the action nobody can know.
    let unknown = matches!(arrival.judgement.reply, Err(Refusal::ActionNotFound));
    (evidence && !unknown && arrival.judgement.reply.is_err()).then_some(Broken::EvidenceLost)
}

fn tokens(arrival: &Arrival<'_>, after: Option<&Action>) -> Option<Broken> {
    let before = arrival.before?.token;
    let granted = |event: &&Event| matches!(event.what, What::Granted { .. });
    let mut granted = arrival.judgement.events.iter().filter(granted);
    let stale = granted.any(|event| event.token.is_none_or(|token| token <= before));
    (stale || after?.token < before).then_some(Broken::TokenFell)
}

fn finality(arrival: &Arrival<'_>, after: Option<&Action>) -> Option<Broken> {
    let before = arrival.before.filter(|row| row.state == State::Confirmed)?;
    let after = after?;
    (after.state != State::Confirmed || after.effect != before.effect).then_some(Broken::ProofUndone)
}

fn evidence(arrival: &Arrival<'_>) -> Option<Broken> {
    let brings = matches!(
        arrival.command.ask,
        Ask::Report { .. } | Ask::Verify { .. } | Ask::Observe { .. }
    );
    let kept = |event: &&Event| matches!(event.what, What::Reported { .. } | What::Observed { .. });
    let kept = arrival.judgement.events.iter().filter(kept).count();
    let expected = usize::from(brings && arrival.remembered.request.is_none());
    (arrival.judgement.reply.is_ok() && kept != expected).then_some(Broken::EvidenceLost)
}

fn uniqueness(arrival: &Arrival<'_>, after: Option<&Action>) -> Option<Broken> {
    let confirmed = |row: &Action| row.state == State::Confirmed;
    let confirms = after.is_some_and(confirmed) && !arrival.before.is_some_and(confirmed);
    let others = arrival
        .remembered
        .external_id
        .as_ref()
        .is_some_and(|key| *key != arrival.command.key);
    (confirms && others).then_some(Broken::ProofShared)
}

fn answers(arrival: &Arrival<'_>) -> Option<Broken> {
    if matches!(arrival.command.ask, Ask::Renew { .. }) {
        return None;
    }
    let past = arrival.remembered.request.as_ref()?;
    let Ok(Reply::Step(answer)) = &arrival.judgement.reply else {
        return None;
    };
    let (token, expires_at) = match &answer.step {
        NextStep::Execute(grant) => (grant.token, grant.expires_at),
        NextStep::VerifyEffect(grant) => (grant.token, grant.expires_at),
        _ => return None,
    };
    let grant = arrival.before.and_then(|row| row.grant.as_ref());
    let held = grant
        .is_some_and(|grant| grant.token == token && grant.expires_at == expires_at && grant.ended.is_none());
    (past.granted != Some(token) || !held).then_some(Broken::AnswerChanged)
}

fn begins(event: &Event) -> bool {
    matches!(event.what, What::Granted { begun: true, .. } | What::Begun)
}

fn proves(event: &Event) -> bool {
    match &event.what {
        What::Reported { receipt, .. } => matches!(receipt, Receipt::Completed { .. }),
        What::Observed { observation, .. } => matches!(observation.verdict, Verdict::Confirmed { .. }),
        _ => false,
    }
}

fn retires(event: &Event) -> bool {
    let What::Decided { decision, .. } = &event.what else {
        return false;
    };
    matches!(
        decision,
        Decision::Reopen { .. }
            | Decision::Resolve {
                resolution: Resolution::Absent,
                ..
            }
    )
}

/// Whether it allows one more attempt: an absence that counts, what is missing of a part, a sender's own word that nothing
/// was left, or a person's.
fn licenses(event: &Event, after: Option<&Action>) -> bool {
    let contradicted = after.is_some_and(|row| row.stop == Some(Stop::Contradiction));
    match &event.what {
        What::Observed {
            observation,
            counted: true,
        } => match observation.verdict {
            Verdict::NotFound | Verdict::Failed { .. } | Verdict::Partial => !contradicted,
            Verdict::Confirmed { .. } | Verdict::Pending { .. } | Verdict::Unknown { .. } => false,
        },
        What::Reported { receipt, .. } => matches!(
            receipt,
            Receipt::NotSent { .. } | Receipt::NotApplied { .. } | Receipt::Rejected { .. }
        ),
        _ => retires(event),
    }
}
