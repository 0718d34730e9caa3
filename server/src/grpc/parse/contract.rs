//! The contract of a tool. Defaults are filled in here; ranges and contradictions are the core's.

use deed_core::contract::{
    ApprovalNeed, ConfirmBy, Contract, Deduplication, EffectClass, ExternalIdMeaning, OnPartial, Retry,
    Terms, Verification,
};
use deed_proto::v1;

use super::number::known;
use super::time::span;
use super::{At, Invalid, required};

/// A contract that does not contradict itself.
pub fn contract(message: &v1::Contract) -> Result<Contract, Invalid> {
    let effect_class = match known(message.effect_class, "effect_class")? {
        v1::EffectClass::Unspecified => return Err(Invalid::missing()).at("effect_class"),
        v1::EffectClass::Read => EffectClass::Read,
        v1::EffectClass::Reversible => EffectClass::Reversible,
        v1::EffectClass::Irreversible => EffectClass::Irreversible,
    };
    let lease = span(message.lease, "lease")?.unwrap_or(Terms::DEFAULT_LEASE);
    let terms = Terms {
        effect_class,
        asynchronous: message.asynchronous,
        deduplication: deduplication(message.deduplication.as_ref()).at("deduplication")?,
        confirm_by: confirm_by(message)?,
        verification: verification(message.verification.as_ref()).at("verification")?,
        external_id: match known(message.external_id, "external_id")? {
            v1::ExternalIdMeaning::Unspecified | v1::ExternalIdMeaning::IdentifiesEffect => {
                ExternalIdMeaning::IdentifiesEffect
            }
            v1::ExternalIdMeaning::IdentifiesObject => ExternalIdMeaning::IdentifiesObject,
        },
        retry: retry(message.retry.as_ref()).at("retry")?,
        send_timeout: span(message.send_timeout, "send_timeout")?.unwrap_or(lease),
        lease,
        max_hold: span(message.max_hold, "max_hold")?.unwrap_or(Terms::DEFAULT_MAX_HOLD),
        on_partial: match known(message.on_partial, "on_partial")? {
            v1::OnPartial::Unspecified | v1::OnPartial::Stop => OnPartial::Stop,
            v1::OnPartial::Resume => OnPartial::Resume,
        },
        approval: match known(message.approval, "approval")? {
            v1::Approval::Unspecified | v1::Approval::None => ApprovalNeed::None,
            v1::Approval::Required => ApprovalNeed::Required,
        },
    };
    Contract::new(terms).map_err(|error| Invalid::because(error.reason).placed(error.field))
}

fn confirm_by(message: &v1::Contract) -> Result<ConfirmBy, Invalid> {
    Ok(match known(message.confirm_by, "confirm_by")? {
        // SUBTLE: only what was left open is filled in. An explicit RECEIPT of an asynchronous tool stays, so that the
        // core refuses the contradiction instead of this file hiding it (B28).
        v1::ConfirmBy::Unspecified if message.asynchronous => ConfirmBy::Postcondition,
        v1::ConfirmBy::Unspecified | v1::ConfirmBy::Receipt => ConfirmBy::Receipt,
        v1::ConfirmBy::Postcondition => ConfirmBy::Postcondition,
    })
}

fn deduplication(message: Option<&v1::Deduplication>) -> Result<Deduplication, Invalid> {
    use v1::deduplication::Kind;
    Ok(match message.and_then(|message| message.kind.as_ref()) {
        None | Some(Kind::None(_)) => Deduplication::None,
        Some(Kind::FencingToken(_)) => Deduplication::FencingToken,
        Some(Kind::IdempotencyKey(key)) => {
            let window = required(key.window, "window").and_then(|window| span(Some(window), "window"));
            let window = window.at("idempotency_key")?.unwrap_or_default();
            Deduplication::IdempotencyKey { window }
        }
    })
}

fn verification(message: Option<&v1::Verification>) -> Result<Verification, Invalid> {
    use v1::verification::Kind;
    match message.and_then(|message| message.kind.as_ref()) {
        None | Some(Kind::None(_)) => Ok(Verification::None),
        Some(Kind::Postcondition(postcondition)) => {
            let parse = || {
                let settle_window = span(postcondition.settle_window, "settle_window")?;
                let effect_deadline = span(postcondition.effect_deadline, "effect_deadline")?;
                Ok(Verification::Postcondition {
                    settle_window: required(settle_window, "settle_window")?,
                    effect_deadline: effect_deadline.unwrap_or(Terms::DEFAULT_EFFECT_DEADLINE),
                })
            };
            parse().at("postcondition")
        }
    }
}

fn retry(message: Option<&v1::Retry>) -> Result<Retry, Invalid> {
    let default = Terms::DEFAULT_RETRY;
    let Some(message) = message else {
        return Ok(default);
    };
    let multiplier = message.multiplier.map(thousandths).transpose();
    Ok(Retry {
        max_attempts: message.max_attempts.unwrap_or(default.max_attempts),
        initial_backoff: span(message.initial_backoff, "initial_backoff")?.unwrap_or(default.initial_backoff),
        multiplier_thousandths: multiplier
            .at("multiplier")?
            .unwrap_or(default.multiplier_thousandths),
        max_backoff: span(message.max_backoff, "max_backoff")?.unwrap_or(default.max_backoff),
        total_budget: span(message.total_budget, "total_budget")?.unwrap_or(default.total_budget),
        max_verifications: message.max_verifications.unwrap_or(default.max_verifications),
    })
}

/// From a factor to thousandths. Refuses what is not a number.
fn thousandths(factor: f64) -> Result<u32, Invalid> {
    if !(1.0..=100.0).contains(&factor) {
        return Err(Invalid::because(format!("is {factor}; it must be from 1 to 100")));
    }
    #[expect(
        clippy::as_conversions,
        reason = "std has no fallible conversion from floats, and the range has just been checked"
    )]
    Ok((factor * 1_000.0).round() as u32)
}
