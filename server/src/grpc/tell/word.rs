//! Enums: the core's on the left, the wire's on the right.

use deed_core::action::{Closure, Doubt, Flag, Flags, GrantKind, State, Stop};
use deed_core::contract::Guarantee;
use deed_core::reply::{BlockReason, WaitReason};
use deed_proto::v1;

/// A state.
pub fn state(state: State) -> v1::State {
    match state {
        State::AwaitingApproval => v1::State::AwaitingApproval,
        State::Planned => v1::State::Planned,
        State::Sent => v1::State::Sent,
        State::Accepted => v1::State::Accepted,
        State::Partial => v1::State::Partial,
        State::Unknown => v1::State::Unknown,
        State::NotFound => v1::State::NotFound,
        State::Confirmed => v1::State::Confirmed,
        State::Rejected => v1::State::Rejected,
        State::Abandoned => v1::State::Abandoned,
    }
}

/// A guarantee.
pub fn guarantee(guarantee: Guarantee) -> v1::Guarantee {
    match guarantee {
        Guarantee::Repeatable => v1::Guarantee::Repeatable,
        Guarantee::Deduplicated => v1::Guarantee::Deduplicated,
        Guarantee::Fenced => v1::Guarantee::Fenced,
        Guarantee::Serialized => v1::Guarantee::Serialized,
        Guarantee::AtMostOnce => v1::Guarantee::AtMostOnce,
    }
}

/// What a grant allows.
pub fn grant_kind(kind: GrantKind) -> v1::GrantKind {
    match kind {
        GrantKind::Execute => v1::GrantKind::Execute,
        GrantKind::Verify => v1::GrantKind::Verify,
    }
}

/// One mark.
pub fn flag(flag: Flag) -> v1::Flag {
    match flag {
        Flag::DuplicateSuspected => v1::Flag::DuplicateSuspected,
        Flag::Contradicted => v1::Flag::Contradicted,
        Flag::Ungated => v1::Flag::Ungated,
    }
}

/// The marks that are set.
pub fn flags(flags: Flags) -> Vec<i32> {
    flags.set().map(|set| flag(set).into()).collect()
}

/// Why to wait.
pub fn wait_reason(reason: WaitReason) -> v1::WaitReason {
    match reason {
        WaitReason::Backoff => v1::WaitReason::Backoff,
        WaitReason::SettleWindow => v1::WaitReason::SettleWindow,
        WaitReason::VerifyBackoff => v1::WaitReason::VerifyBackoff,
        WaitReason::Pending => v1::WaitReason::Pending,
        WaitReason::Approval => v1::WaitReason::Approval,
    }
}

/// Why a person is needed.
pub fn blocked_reason(reason: BlockReason) -> v1::BlockedReason {
    match reason {
        BlockReason::Unverifiable => v1::BlockedReason::Unverifiable,
        BlockReason::Partial => v1::BlockedReason::Partial,
        BlockReason::VerificationsExhausted => v1::BlockedReason::VerificationsExhausted,
        BlockReason::AttemptsExhausted => v1::BlockedReason::AttemptsExhausted,
        BlockReason::BudgetExhausted => v1::BlockedReason::BudgetExhausted,
        BlockReason::DeduplicationWindowPassed => v1::BlockedReason::DeduplicationWindowPassed,
        BlockReason::EffectDeadlinePassed => v1::BlockedReason::EffectDeadlinePassed,
        BlockReason::Contradiction => v1::BlockedReason::Contradiction,
    }
}

/// How a settled action ended.
pub fn outcome(state: State, closure: Option<&Closure>) -> v1::Outcome {
    match (state, closure) {
        (State::Confirmed, _) => v1::Outcome::EffectProven,
        (_, Some(Closure::Refused | Closure::ResolvedRejected)) => v1::Outcome::Refused,
        (_, Some(Closure::Denied)) => v1::Outcome::ApprovalDenied,
        (_, Some(Closure::ApprovalExpired)) => v1::Outcome::ApprovalExpired,
        (_, Some(Closure::Compensated { .. })) => v1::Outcome::Compensated,
        (_, Some(Closure::Abandoned)) => v1::Outcome::EffectUnknown,
        (State::Rejected, None) => v1::Outcome::Refused,
        (_, None) => v1::Outcome::Unspecified,
    }
}

/// Why an action is in doubt, as a word in capitals.
pub fn doubt(doubt: Doubt) -> &'static str {
    match doubt {
        Doubt::LeaseLapsed => "LEASE_LAPSED",
        Doubt::Reported => "REPORTED",
        Doubt::Released => "RELEASED",
        Doubt::Ungated => "UNGATED",
        Doubt::EarlierAttempt => "EARLIER_ATTEMPT",
        Doubt::Decided => "DECIDED",
        Doubt::Contradiction => "CONTRADICTION",
    }
}

/// Why an action was closed without proof, as a word in capitals.
pub fn closure(closure: &Closure) -> &'static str {
    match closure {
        Closure::Refused => "REFUSED",
        Closure::Denied => "APPROVAL_DENIED",
        Closure::ApprovalExpired => "APPROVAL_EXPIRED",
        Closure::ResolvedRejected => "RESOLVED_REJECTED",
        Closure::Abandoned => "ABANDONED",
        Closure::Compensated { .. } => "COMPENSATED",
    }
}

/// Why an action stopped, as a word in capitals.
pub fn stop(stop: Stop) -> &'static str {
    match stop {
        Stop::Contradiction => "CONTRADICTION",
        Stop::EffectDeadlinePassed => "EFFECT_DEADLINE_PASSED",
    }
}
