//! Receipts and observations, as scripts write them.

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use deed_core::command::Then;
use deed_core::evidence::{NotSentReason, Observation, Receipt, Seen, Verdict};
use deed_core::text::{ExternalId, FactName, Note};
use deed_core::time::Span;

use super::args::Args;

/// `completed ext=X result=R`, `accepted ext=J retry_after=5`, `rejected`, `not_applied retry_after=30`, `not_sent`,
/// `unknown ended`.
pub fn receipt(args: &mut Args) -> anyhow::Result<Receipt> {
    let kind = args.next("what became of the attempt")?;
    Ok(match kind.as_str() {
        "completed" => Receipt::Completed {
            external_id: external_id(args)?,
            result: result(args),
        },
        "accepted" => Receipt::Accepted {
            external_id: external_id(args)?,
            retry_after: args.span("retry_after")?.unwrap_or(Span::ZERO),
        },
        "rejected" => Receipt::Rejected {
            reason: note(args, "why")?,
        },
        "not_applied" => Receipt::NotApplied {
            retry_after: args.span("retry_after")?.unwrap_or(Span::ZERO),
            reason: note(args, "why")?,
        },
        "not_sent" => Receipt::NotSent {
            reason: NotSentReason::NotConnected,
            detail: note(args, "why")?,
        },
        "unknown" => Receipt::Unknown {
            reason: note(args, "why")?,
            ended: args.flag("ended"),
        },
        other => bail!("{other:?} is no receipt"),
    })
}

/// `confirmed ext=X`, `not_found`, `pending retry_after=5`, `failed ext=J attempt=1`, `partial`, `unknown`; with
/// `facts=a:true,b:false,c:not_seen` and `detail=…`.
pub fn observation(args: &mut Args) -> anyhow::Result<Observation> {
    let verdict = args.next("what the lookup found")?;
    let verdict = match verdict.as_str() {
        "confirmed" => Verdict::Confirmed {
            external_id: external_id(args)?,
            result: result(args),
        },
        "not_found" => Verdict::NotFound,
        "pending" => Verdict::Pending {
            retry_after: args.span("retry_after")?,
        },
        "failed" => Verdict::Failed {
            external_id: external_id(args)?,
            attempt: args.number("attempt")?,
            reason: note(args, "why")?,
        },
        "partial" => Verdict::Partial,
        "unknown" => Verdict::Unknown {
            reason: note(args, "why")?,
        },
        other => bail!("{other:?} is no verdict"),
    };
    let mut facts = BTreeMap::new();
    for part in args.value("facts").iter().flat_map(|facts| facts.split(',')) {
        let (name, seen) = part
            .split_once(':')
            .with_context(|| format!("{part:?} is not FACT:SEEN"))?;
        let seen = match seen {
            "true" => Seen::True,
            "false" => Seen::False,
            "not_seen" => Seen::NotSeen,
            other => bail!("{other:?}: a fact is seen true, false or not_seen"),
        };
        facts.insert(FactName::new(name)?, seen);
    }
    Ok(Observation {
        verdict,
        facts,
        detail: note(args, "detail")?,
    })
}

/// `then=grant`, `then=begun`; nothing else asked for, nothing given.
pub fn then(args: &mut Args) -> anyhow::Result<Then> {
    Ok(match args.value("then").as_deref() {
        None | Some("nothing") => Then::Nothing,
        Some("grant") => Then::Grant,
        Some("begun") => Then::BegunGrant,
        Some(other) => bail!("then={other} asks for nothing: nothing, grant, begun"),
    })
}

fn external_id(args: &mut Args) -> anyhow::Result<Option<ExternalId>> {
    Ok(args.value("ext").map(ExternalId::new).transpose()?)
}

fn result(args: &mut Args) -> Option<Vec<u8>> {
    args.value("result").map(String::into_bytes)
}

fn note(args: &mut Args, key: &str) -> anyhow::Result<Note> {
    Ok(Note::new(args.value(key).unwrap_or_default())?)
}
