//! A row of `actions` back into an action.

use deed_core::action::{
    Action, Approval, Attempt, Closure, Doubt, Effect, Ended, Flags, Grant, GrantKind, State, Stop,
};
use deed_core::id::{ActionKey, Caller, EvidenceId, Token, Version};
use deed_core::spec::{InputHash, Label, Specification};
use deed_core::text::{ActionId, ExternalId, HashScheme, Namespace, Note, Owner, Principal, Tool};
use tokio_postgres::Row;
use tokio_postgres::types::Json;
use uuid::Uuid;

use super::columns::{At, Damage, read, read_as, read_opt};
use super::contract::Fixed;
use super::progress::{Approved, DecidedBy, LeaseTerms, Progress};
use super::stored::Of;
use super::word::Word;
use crate::store::Error;

/// Reads one action. Its stored result is in another table; the caller adds it.
pub fn read_action(row: &Row) -> Result<Action, Error> {
    let key = || {
        let part = |column| row.try_get::<_, String>(column).unwrap_or_default();
        format!("{}/{}", part("namespace"), part("action_id"))
    };
    decode(row).map_err(|Damage(what)| Error::Corrupt { key: key(), what })
}

/// Reads the key of any row that has one.
pub fn read_key(row: &Row) -> Result<ActionKey, Damage> {
    Ok(ActionKey {
        namespace: read_as(row, "namespace", |text: String| Namespace::new(text).ok())?,
        action_id: read_as(row, "action_id", |text: String| ActionId::new(text).ok())?,
    })
}

fn decode(row: &Row) -> Result<Action, Damage> {
    let count = |number: i64| u32::try_from(number).ok();
    let mut progress = read::<Json<Progress>>(row, "progress")?.0;
    let fixed = read::<Json<Fixed>>(row, "specification")?.0;
    Ok(Action {
        key: read_key(row)?,
        spec: Specification {
            tool: read_as(row, "tool", |text: String| Tool::new(text).ok())?,
            input: InputHash {
                scheme: read_as(row, "input_scheme", |text: String| HashScheme::new(text).ok())?,
                digest: read_as(row, "input_digest", |bytes: &[u8]| bytes.try_into().ok())?,
            },
            expected: fixed.expected,
            contract: fixed.contract,
            labels: read::<Json<Of<Vec<Label>>>>(row, "labels")?.0.0,
        },
        created_at: read::<At>(row, "created_at")?.0,
        state: read_as(row, "state", |word: &str| State::read(word))?,
        since: read::<At>(row, "state_since")?.0,
        doubt: read_opt(row, "doubt", |word: &str| Doubt::read(word))?,
        reason: read_as(row, "reason", |text: String| Note::new(text).ok())?,
        version: Version(read_as(row, "version", |number: i64| u64::try_from(number).ok())?),
        sequence: read_as(row, "sequence", count)?,
        token: read_as(row, "token", token)?,
        approval: approval(row, progress.approved.take())?,
        budget_from: progress.budget_from,
        grant: grant(row)?,
        attempts: read_as(row, "attempts", count)?,
        attempts_counted: progress.attempts_counted,
        setbacks: progress.setbacks,
        allowance: progress.allowance,
        undisproved: read::<Json<Of<Vec<Attempt>>>>(row, "undisproved")?.0.0,
        key_generation: progress.key_generation,
        first_sent_at: progress.first_sent_at,
        last_sent_at: progress.last_sent_at,
        execute_after: progress.execute_after,
        lookups: progress.lookups,
        facts_true: progress.facts_true,
        facts_missing: progress.facts_missing,
        resumed: progress.resumed,
        absence_counted: progress.absence_counted,
        stop: read_opt(row, "stop", |word: &str| Stop::read(word))?,
        external_id: read_opt(row, "external_id", |text: String| ExternalId::new(text).ok())?,
        effect: effect(row, progress.decided_by)?,
        result: None,
        closure: closure(row, progress.compensated_by)?,
        flags: Flags {
            duplicate_suspected: read(row, "duplicate_suspected")?,
            contradicted: read(row, "contradicted")?,
            ungated: read(row, "ungated")?,
        },
        assignee: read_opt(row, "assignee", |text: String| Owner::new(text).ok())?,
    })
}

fn token(number: i64) -> Option<Token> {
    u64::try_from(number).ok().and_then(Token::new)
}

fn approval(row: &Row, approved: Option<Approved>) -> Result<Approval, Damage> {
    match (read::<Option<At>>(row, "approval_expires_at")?, approved) {
        (Some(At(expires_at)), None) => Ok(Approval::Pending { expires_at }),
        (None, Some(Approved { at, by })) => Ok(Approval::Given { at, by }),
        (None, None) => Ok(Approval::NotRequired),
        (Some(_), Some(_)) => Err(Damage::new(
            "approval_expires_at",
            "is set beside an approval that was given",
        )),
    }
}

fn grant(row: &Row) -> Result<Option<Grant>, Damage> {
    let Some(token) = read_opt(row, "lease_token", token)? else {
        return Ok(None);
    };
    let terms = read::<Json<LeaseTerms>>(row, "lease_terms")?.0;
    Ok(Some(Grant {
        token,
        holder: Caller {
            owner: read_as(row, "lease_owner", |text: String| Owner::new(text).ok())?,
            principal: read_as(row, "lease_principal", |text: String| Principal::new(text).ok())?,
        },
        request: terms.request,
        kind: read_as(row, "lease_kind", |word: &str| GrantKind::read(word))?,
        attempt: terms.attempt,
        resumes: terms.resumes,
        resend: terms.resend,
        granted_at: read::<At>(row, "lease_granted_at")?.0,
        expires_at: read::<At>(row, "lease_expires_at")?.0,
        hold_until: terms.hold_until,
        begun_at: read::<Option<At>>(row, "lease_begun_at")?.map(|At(at)| at),
        ended: read_opt(row, "lease_ended", |word: &str| Ended::read(word))?,
    }))
}

fn effect(row: &Row, decided_by: Option<DecidedBy>) -> Result<Option<Effect>, Damage> {
    match (read::<Option<Uuid>>(row, "effect_id")?, decided_by) {
        (Some(id), Some(DecidedBy { basis, attempt, at })) => Ok(Some(Effect {
            evidence: EvidenceId(id),
            basis,
            attempt,
            at,
        })),
        (None, None) => Ok(None),
        (Some(_), None) | (None, Some(_)) => Err(Damage::new(
            "effect_id",
            "and what decided do not belong together",
        )),
    }
}

fn closure(row: &Row, compensated_by: Option<ActionId>) -> Result<Option<Closure>, Damage> {
    read_opt(row, "closure", |word: &str| match (word, compensated_by) {
        ("REFUSED", None) => Some(Closure::Refused),
        ("DENIED", None) => Some(Closure::Denied),
        ("APPROVAL_EXPIRED", None) => Some(Closure::ApprovalExpired),
        ("RESOLVED_REJECTED", None) => Some(Closure::ResolvedRejected),
        ("ABANDONED", None) => Some(Closure::Abandoned),
        ("COMPENSATED", Some(by)) => Some(Closure::Compensated { by }),
        _ => None,
    })
}
