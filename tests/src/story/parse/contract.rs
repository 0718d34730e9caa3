//! `contract PROFILE key=value …`: the profile is the guarantee that must follow.

use anyhow::{bail, ensure};
use deed_core::contract::{
    ApprovalNeed, ConfirmBy, Contract, Deduplication, EffectClass, ExternalIdMeaning, Guarantee, OnPartial,
    Terms, Verification,
};
use deed_core::time::Span;

use super::args::Args;

/// Reads the terms after the word `contract`.
pub fn terms(args: &mut Args) -> anyhow::Result<Terms> {
    let profile = args.next("the guarantee (or `contradictory`)")?;
    let guarantee = match profile.as_str() {
        "repeatable" => Some(Guarantee::Repeatable),
        "deduplicated" => Some(Guarantee::Deduplicated),
        "fenced" => Some(Guarantee::Fenced),
        "serialized" => Some(Guarantee::Serialized),
        "at_most_once" => Some(Guarantee::AtMostOnce),
        "contradictory" => None,
        other => bail!("{other:?} is no guarantee"),
    };
    let terms = stated(args, guarantee)?;
    match (guarantee, Contract::new(terms)) {
        (Some(wanted), Ok(contract)) => {
            let follows = contract.guarantee();
            ensure!(
                follows == wanted,
                "from these terms follows {follows:?}, not {wanted:?}"
            );
        }
        (None, Err(_)) => {}
        (Some(_), Err(error)) => bail!("{} {error}", error.field),
        (None, Ok(_)) => bail!("the terms do not contradict themselves"),
    }
    Ok(terms)
}

fn stated(args: &mut Args, guarantee: Option<Guarantee>) -> anyhow::Result<Terms> {
    let class = match (args.value("class").as_deref(), guarantee) {
        (Some("read"), _) | (None, Some(Guarantee::Repeatable)) => EffectClass::Read,
        (Some("reversible"), _) => EffectClass::Reversible,
        (Some("irreversible") | None, _) => EffectClass::Irreversible,
        (Some(other), _) => bail!("{other:?} is no effect class"),
    };
    let mut terms = Terms::cautious(class);
    if let Some(settle_window) = args.span("settle")? {
        terms.verification = Verification::Postcondition {
            settle_window,
            effect_deadline: args.span("deadline")?.unwrap_or(Terms::DEFAULT_EFFECT_DEADLINE),
        };
    }
    if let Some(window) = args.span("window")? {
        terms.deduplication = Deduplication::IdempotencyKey { window };
    } else if args.flag("fencing") || guarantee == Some(Guarantee::Fenced) {
        terms.deduplication = Deduplication::FencingToken;
    }
    terms.asynchronous = args.flag("async");
    let default = if terms.asynchronous {
        "postcondition"
    } else {
        "receipt"
    };
    terms.confirm_by = match args.value("confirm_by").as_deref().unwrap_or(default) {
        "receipt" => ConfirmBy::Receipt,
        "postcondition" => ConfirmBy::Postcondition,
        other => bail!("{other:?} confirms nothing"),
    };
    if args.flag("object") {
        terms.external_id = ExternalIdMeaning::IdentifiesObject;
    }
    if args.flag("resume") {
        terms.on_partial = OnPartial::Resume;
    }
    if args.flag("approval") {
        terms.approval = ApprovalNeed::Required;
    }
    let or = |given: Option<Span>, default: Span| given.unwrap_or(default);
    terms.lease = or(args.span("lease")?, terms.lease);
    terms.send_timeout = or(args.span("send_timeout")?, terms.lease);
    terms.max_hold = or(args.span("max_hold")?, terms.max_hold);
    let retry = &mut terms.retry;
    retry.initial_backoff = or(args.span("backoff")?, retry.initial_backoff);
    retry.max_backoff = or(args.span("max_backoff")?, retry.max_backoff);
    retry.total_budget = or(args.span("budget")?, retry.total_budget);
    retry.max_attempts = args.number("attempts")?.unwrap_or(retry.max_attempts);
    retry.max_verifications = args.number("lookups")?.unwrap_or(retry.max_verifications);
    Ok(terms)
}
