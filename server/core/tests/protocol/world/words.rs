//! Short words for stories: contracts, receipts, findings.

use std::collections::BTreeMap;

use deed_core::action::Flag;
use deed_core::command::{Decision, Resolution};
use deed_core::contract::{
    ApprovalNeed, ConfirmBy, Contract, Deduplication, EffectClass, OnPartial, Terms, Verification,
};
use deed_core::evidence::{NotSentReason, Observation, Receipt, Seen, Verdict};
use deed_core::id::{ActionKey, Caller};
use deed_core::spec::{ExpectedEffect, InputHash, Label, Specification};
use deed_core::text::{
    ActionId, Description, ExternalId, FactName, HashScheme, LabelKey, LabelValue, Namespace, Note, Owner,
    Principal, Tool,
};
use deed_core::time::Span;

pub fn secs(seconds: u64) -> Span {
    Span::from_secs(seconds)
}

pub fn note(text: &str) -> Note {
    Note::new(text).unwrap()
}

pub fn external(id: &str) -> ExternalId {
    ExternalId::new(id).unwrap()
}

pub fn fact(name: &str) -> FactName {
    FactName::new(name).unwrap()
}

pub fn key(action_id: &str) -> ActionKey {
    key_in("shop", action_id)
}

pub fn key_in(namespace: &str, action_id: &str) -> ActionKey {
    ActionKey {
        namespace: Namespace::new(namespace).unwrap(),
        action_id: ActionId::new(action_id).unwrap(),
    }
}

/// A worker instance: the owner of this name, authenticated under the same name.
pub fn caller(name: &str) -> Caller {
    Caller {
        owner: Owner::new(name).unwrap(),
        principal: Principal::new(name).unwrap(),
    }
}

/// Nothing deduplicates, nothing can be looked up: lease 5 s, send timeout 5 s.
pub fn at_most_once() -> Terms {
    Terms {
        lease: secs(5),
        send_timeout: secs(5),
        ..Terms::cautious(EffectClass::Reversible)
    }
}

/// A lookup can prove absence: settle window 10 s, effect deadline 1 h.
pub fn serialized() -> Terms {
    Terms {
        verification: Verification::Postcondition {
            settle_window: secs(10),
            effect_deadline: Span::from_hours(1),
        },
        ..at_most_once()
    }
}

/// The receiver keeps outward keys for 100 s; nothing can be looked up.
pub fn deduplicated() -> Terms {
    Terms {
        deduplication: Deduplication::IdempotencyKey { window: secs(100) },
        ..at_most_once()
    }
}

/// The receiver refuses stale tokens.
pub fn fenced() -> Terms {
    Terms {
        deduplication: Deduplication::FencingToken,
        ..serialized()
    }
}

/// Only a lookup proves it.
pub fn by_lookup() -> Terms {
    Terms {
        confirm_by: ConfirmBy::Postcondition,
        ..serialized()
    }
}

/// The receiver answers before the effect.
pub fn asynchronous() -> Terms {
    Terms {
        asynchronous: true,
        ..by_lookup()
    }
}

/// Leaves nothing behind.
pub fn reading() -> Terms {
    Terms {
        effect_class: EffectClass::Read,
        ..at_most_once()
    }
}

/// Partial work is resumed once.
pub fn resuming() -> Terms {
    Terms {
        on_partial: OnPartial::Resume,
        ..serialized()
    }
}

/// A person must approve.
pub fn approved() -> Terms {
    Terms {
        approval: ApprovalNeed::Required,
        ..at_most_once()
    }
}

pub fn spec(terms: Terms, facts: &[&str]) -> Specification {
    Specification::new(
        Tool::new("charge_card").unwrap(),
        input(1),
        ExpectedEffect {
            description: Description::new("the card is charged once").unwrap(),
            facts: facts.iter().map(|name| fact(name)).collect(),
        },
        Contract::new(terms).unwrap(),
        vec![Label {
            key: LabelKey::new("run").unwrap(),
            value: LabelValue::new("1").unwrap(),
        }],
    )
    .unwrap()
}

pub fn input(byte: u8) -> InputHash {
    InputHash {
        scheme: HashScheme::new("jcs-sha256").unwrap(),
        digest: [byte; 32],
    }
}

pub fn completed(id: &str) -> Receipt {
    Receipt::Completed {
        external_id: Some(external(id)),
        result: Some(id.as_bytes().to_vec()),
    }
}

pub fn completed_without_id() -> Receipt {
    Receipt::Completed {
        external_id: None,
        result: None,
    }
}

pub fn accepted(id: &str, retry_after: u64) -> Receipt {
    Receipt::Accepted {
        external_id: Some(external(id)),
        retry_after: secs(retry_after),
    }
}

pub fn rejected(reason: &str) -> Receipt {
    Receipt::Rejected { reason: note(reason) }
}

pub fn not_applied(retry_after: u64) -> Receipt {
    Receipt::NotApplied {
        retry_after: secs(retry_after),
        reason: note("429"),
    }
}

pub fn not_sent() -> Receipt {
    Receipt::NotSent {
        reason: NotSentReason::NotConnected,
        detail: note("connection refused"),
    }
}

/// The send may still be on its way.
pub fn unknown() -> Receipt {
    Receipt::Unknown {
        reason: note("timeout"),
        ended: false,
    }
}

/// The send is over, its answer was lost.
pub fn unknown_ended() -> Receipt {
    Receipt::Unknown {
        reason: note("connection reset"),
        ended: true,
    }
}

pub fn found(verdict: Verdict) -> Observation {
    Observation {
        verdict,
        facts: BTreeMap::new(),
        detail: Note::none(),
    }
}

pub fn found_with(verdict: Verdict, facts: &[(&str, Seen)]) -> Observation {
    Observation {
        verdict,
        facts: facts.iter().map(|(name, seen)| (fact(name), *seen)).collect(),
        detail: note("looked"),
    }
}

pub fn seen(id: &str) -> Observation {
    found(Verdict::Confirmed {
        external_id: Some(external(id)),
        result: None,
    })
}

pub fn seen_without_id() -> Observation {
    found(Verdict::Confirmed {
        external_id: None,
        result: None,
    })
}

pub fn absent() -> Observation {
    found(Verdict::NotFound)
}

pub fn unclear() -> Observation {
    found(Verdict::Unknown {
        reason: note("the lookup timed out"),
    })
}

pub fn pending(retry_after: u64) -> Observation {
    found(Verdict::Pending {
        retry_after: Some(secs(retry_after)),
    })
}

pub fn failed_id(id: &str) -> Observation {
    found(Verdict::Failed {
        external_id: Some(external(id)),
        attempt: None,
        reason: note("the job failed"),
    })
}

pub fn failed_attempt(number: u32) -> Observation {
    found(Verdict::Failed {
        external_id: None,
        attempt: Some(number),
        reason: note("the job failed"),
    })
}

pub fn resolve(resolution: Resolution) -> Decision {
    Decision::Resolve {
        resolution,
        proof: None,
    }
}

pub fn resolve_confirmed(id: &str) -> Decision {
    resolve(Resolution::Confirmed {
        external_id: Some(external(id)),
    })
}

pub fn reopen() -> Decision {
    Decision::Reopen {
        new_key: false,
        proof: None,
    }
}

pub fn reopen_with_new_key() -> Decision {
    Decision::Reopen {
        new_key: true,
        proof: None,
    }
}

pub fn approve() -> Decision {
    Decision::Approve { input: input(1) }
}

pub fn acknowledge(flag: Flag) -> Decision {
    Decision::Acknowledge { flag }
}
