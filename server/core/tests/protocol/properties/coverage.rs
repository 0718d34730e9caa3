//! How often each (state, command) led to which kind of answer.

use std::collections::BTreeMap;

use deed_core::action::{Action, GrantKind, State};
use deed_core::command::{Ask, Command, Decision};
use deed_core::reply::{BlockReason, NextStep, Refusal, Reply, WaitReason};

use crate::world::Answered;

/// Less than this and a combination was met by luck.
pub const ENOUGH: u64 = 100;

/// State before the call (`ABSENT` for none), command, answer.
pub type Reached = (&'static str, &'static str, &'static str);

/// What random worlds must reach, a line for each state and call: `STATE Call: answer, answer`. The state is the row's
/// before the call; time may have moved it on by then. Answers that take a rarer coincidence than these worlds hold are not
/// listed.
fn reachable() -> impl Iterator<Item = Reached> {
    include_str!("reachable.txt").lines().flat_map(|line| {
        let (called, answers) = line.split_once(": ").unwrap();
        let (state, ask) = called.split_once(' ').unwrap();
        answers.split(", ").map(move |answer| (state, ask, answer))
    })
}

#[derive(Default)]
pub struct Coverage(BTreeMap<Reached, u64>);

impl Coverage {
    pub fn count(&mut self, before: Option<&Action>, command: &Command, answered: &Answered) {
        let reached = (state(before), ask(&command.ask), answer(answered));
        *self.0.entry(reached).or_default() += 1;
    }

    pub fn print(&self) {
        for ((state, ask, answer), times) in &self.0 {
            println!("{state:18} {ask:16} {answer:32} {times:>9}");
        }
    }

    pub fn and(mut self, other: Self) -> Self {
        for (reached, times) in other.0 {
            *self.0.entry(reached).or_default() += times;
        }
        self
    }

    /// The listed combinations that were reached less often.
    pub fn below(&self, enough: u64) -> BTreeMap<Reached, u64> {
        let times = |reached: &Reached| self.0.get(reached).copied().unwrap_or(0);
        reachable()
            .map(|reached| (reached, times(&reached)))
            .filter(|(_, times)| *times < enough)
            .collect()
    }

    /// Leave to execute where there must be none.
    pub fn executions_after_the_end(&self) -> Vec<Reached> {
        let over = ["CONFIRMED", "REJECTED", "ABANDONED", "AWAITING_APPROVAL"];
        let wrong = |reached: &&Reached| over.contains(&reached.0) && reached.2 == "Execute";
        self.0.keys().filter(wrong).copied().collect()
    }
}

fn state(before: Option<&Action>) -> &'static str {
    match before.map(|action| action.state) {
        None => "ABSENT",
        Some(State::AwaitingApproval) => "AWAITING_APPROVAL",
        Some(State::Planned) => "PLANNED",
        Some(State::Sent) => "SENT",
        Some(State::Accepted) => "ACCEPTED",
        Some(State::Partial) => "PARTIAL",
        Some(State::Unknown) => "UNKNOWN",
        Some(State::NotFound) => "NOT_FOUND",
        Some(State::Confirmed) => "CONFIRMED",
        Some(State::Rejected) => "REJECTED",
        Some(State::Abandoned) => "ABANDONED",
    }
}

fn ask(ask: &Ask) -> &'static str {
    match ask {
        Ask::Plan { .. } => "Plan",
        Ask::Claim { .. } => "Claim",
        Ask::Begin { .. } => "Begin",
        Ask::Report { .. } => "Report",
        Ask::Verify { .. } => "Verify",
        Ask::Renew { .. } => "Renew",
        Ask::Release { .. } => "Release",
        Ask::Observe { .. } => "Observe",
        Ask::Sweep => "Sweep",
        Ask::Contest { .. } => "Contest",
        Ask::Decide { decision, .. } => match decision {
            Decision::Approve { .. } => "Approve",
            Decision::Deny => "Deny",
            Decision::Assign { .. } => "Assign",
            Decision::Resolve { .. } => "Resolve",
            Decision::Reopen { .. } => "Reopen",
            Decision::Acknowledge { .. } => "Acknowledge",
        },
    }
}

fn answer(answered: &Answered) -> &'static str {
    match &answered.0 {
        Ok(Reply::Renewed { .. }) => "Renewed",
        Ok(Reply::Step(answer)) => match &answer.step {
            NextStep::Execute(_) => "Execute",
            NextStep::VerifyEffect(_) => "VerifyEffect",
            NextStep::Claimable(GrantKind::Execute) => "Claimable execute",
            NextStep::Claimable(GrantKind::Verify) => "Claimable verify",
            NextStep::Wait { reason, .. } => match reason {
                WaitReason::Backoff => "Wait BACKOFF",
                WaitReason::SettleWindow => "Wait SETTLE_WINDOW",
                WaitReason::VerifyBackoff => "Wait VERIFY_BACKOFF",
                WaitReason::Pending => "Wait PENDING",
                WaitReason::Approval => "Wait APPROVAL",
            },
            NextStep::Held { .. } => "Held",
            NextStep::Settled(_) => "Settled",
            NextStep::Blocked { reason, .. } => match reason {
                BlockReason::Unverifiable => "Blocked UNVERIFIABLE",
                BlockReason::Partial => "Blocked PARTIAL",
                BlockReason::VerificationsExhausted => "Blocked VERIFICATIONS_EXHAUSTED",
                BlockReason::AttemptsExhausted => "Blocked ATTEMPTS_EXHAUSTED",
                BlockReason::BudgetExhausted => "Blocked BUDGET_EXHAUSTED",
                BlockReason::DeduplicationWindowPassed => "Blocked WINDOW_PASSED",
                BlockReason::EffectDeadlinePassed => "Blocked DEADLINE_PASSED",
                BlockReason::Contradiction => "Blocked CONTRADICTION",
            },
        },
        Err(refusal) => match refusal {
            Refusal::ActionNotFound => "refused ACTION_NOT_FOUND",
            Refusal::InputMismatch => "refused INPUT_MISMATCH",
            Refusal::InvalidField { .. } => "refused INVALID_FIELD",
            Refusal::TokenNeverIssued => "refused TOKEN_NEVER_ISSUED",
            Refusal::NotYourGrant => "refused NOT_YOUR_GRANT",
            Refusal::RequestIdReused => "refused REQUEST_ID_REUSED",
            Refusal::DecisionNotAllowed { .. } => "refused DECISION_NOT_ALLOWED",
            Refusal::VersionChanged { .. } => "refused VERSION_CHANGED",
        },
    }
}
