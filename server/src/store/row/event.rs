//! An event as a row of `events`.

use deed_core::action::Action;
use deed_core::event::{Event, Trace, What};
use deed_core::evidence::{Receipt, Verdict};
use deed_core::id::{Caller, Fingerprint, RequestId, Token};
use deed_core::text::{Owner, Principal};
use tokio_postgres::Row;
use tokio_postgres::types::Json;
use uuid::Uuid;

use super::columns::{At, Damage, bigint, columns, read, read_as, read_opt};
use super::stored::Of;
use super::word::Word;
use crate::store::Error;

columns! {
    /// The history to append, column by column.
    EventColumns {
        row: i32 => INT4_ARRAY,
        created_at: At => TIMESTAMPTZ_ARRAY,
        namespace: &'a str => TEXT_ARRAY,
        action_id: &'a str => TEXT_ARRAY,
        sequence: i64 => INT8_ARRAY,
        at: At => TIMESTAMPTZ_ARRAY,
        kind: &'a str => TEXT_ARRAY,
        token: Option<i64> => INT8_ARRAY,
        attempt: Option<i64> => INT8_ARRAY,
        by_owner: Option<&'a str> => TEXT_ARRAY,
        by_principal: Option<&'a str> => TEXT_ARRAY,
        request_id: Option<Uuid> => UUID_ARRAY,
        fingerprint: Option<&'a [u8]> => BYTEA_ARRAY,
        granted: Option<i64> => INT8_ARRAY,
        begun: Option<bool> => BOOL_ARRAY,
        state: &'a str => TEXT_ARRAY,
        body: Json<Body<'a>> => JSON_ARRAY,
        result: Option<&'a [u8]> => BYTEA_ARRAY,
    }
}

/// What happened, as a document without its result.
#[derive(Debug)]
pub struct Body<'a>(&'a What);

impl serde::Serialize for Body<'_> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        super::stored::serialize(self.0, to)
    }
}

impl<'a> EventColumns<'a> {
    /// Takes one event in, of the action that is this row of its statement, counted from 1.
    pub fn push(&mut self, row: i32, action: &'a Action, event: &'a Event) {
        let number = |token: Token| bigint(token.number());
        let trace = event.request.as_ref();
        self.row.push(row);
        self.created_at.push(At(action.created_at));
        self.namespace.push(action.key.namespace.as_str());
        self.action_id.push(action.key.action_id.as_str());
        self.sequence.push(i64::from(event.sequence));
        self.at.push(At(event.at));
        self.kind.push(kind(&event.what));
        self.token.push(event.token.map(number));
        self.attempt.push(event.attempt.map(i64::from));
        self.by_owner.push(event.by.as_ref().map(|by| by.owner.as_str()));
        self.by_principal
            .push(event.by.as_ref().map(|by| by.principal.as_str()));
        self.request_id.push(trace.map(|trace| trace.id.0));
        self.fingerprint
            .push(trace.map(|trace| trace.fingerprint.0.as_slice()));
        self.granted
            .push(trace.and_then(|trace| trace.granted).map(number));
        self.begun.push(trace.map(|trace| trace.begun));
        self.state.push(event.state.word());
        self.body.push(Json(Body(&event.what)));
        self.result.push(result(&event.what));
    }
}

fn kind(what: &What) -> &'static str {
    match what {
        What::Planned => "PLANNED",
        What::Granted { .. } => "GRANTED",
        What::Begun => "BEGUN",
        What::Reported { .. } => "REPORTED",
        What::Observed { .. } => "OBSERVED",
        What::Lapsed { .. } => "LAPSED",
        What::Released { .. } => "RELEASED",
        What::Fenced { .. } => "FENCED",
        What::ApprovalExpired => "APPROVAL_EXPIRED",
        What::Decided { .. } => "DECIDED",
        What::Contested { .. } => "CONTESTED",
        What::Flagged { .. } => "FLAGGED",
    }
}

fn result(what: &What) -> Option<&[u8]> {
    match what {
        What::Reported {
            receipt: Receipt::Completed { result, .. },
            ..
        } => result.as_deref(),
        What::Observed { observation, .. } => match &observation.verdict {
            Verdict::Confirmed { result, .. } => result.as_deref(),
            _ => None,
        },
        _ => None,
    }
}

fn restore(what: &mut What, bytes: Option<Vec<u8>>) -> Result<(), Damage> {
    let place = match what {
        What::Reported {
            receipt: Receipt::Completed { result, .. },
            ..
        } => Some(result),
        What::Observed { observation, .. } => match &mut observation.verdict {
            Verdict::Confirmed { result, .. } => Some(result),
            _ => None,
        },
        _ => None,
    };
    match (place, bytes) {
        (Some(place), bytes) => *place = bytes,
        (None, Some(_)) => return Err(Damage::new("result", "belongs to no evidence of this kind")),
        (None, None) => {}
    }
    Ok(())
}

/// Reads one event.
pub fn read_event(row: &Row) -> Result<Event, Error> {
    let key = || {
        let part = |column| row.try_get::<_, String>(column).unwrap_or_default();
        format!(
            "{}/{}, event {}",
            part("namespace"),
            part("action_id"),
            row.try_get::<_, i64>("sequence").unwrap_or_default()
        )
    };
    decode(row).map_err(|Damage(what)| Error::Corrupt { key: key(), what })
}

fn decode(row: &Row) -> Result<Event, Damage> {
    let token = |number: i64| u64::try_from(number).ok().and_then(Token::new);
    let mut what = read::<Json<Of<What>>>(row, "body")?.0.0;
    restore(&mut what, read(row, "result")?)?;
    let owner = read_opt(row, "by_owner", |text: String| Owner::new(text).ok())?;
    let principal = read_opt(row, "by_principal", |text: String| Principal::new(text).ok())?;
    let by = owner
        .zip(principal)
        .map(|(owner, principal)| Caller { owner, principal });
    let request = match read::<Option<Uuid>>(row, "request_id")? {
        None => None,
        Some(id) => Some(Trace {
            id: RequestId(id),
            fingerprint: read_as(row, "fingerprint", |bytes: &[u8]| {
                bytes.try_into().ok().map(Fingerprint)
            })?,
            granted: read_opt(row, "granted", token)?,
            begun: read(row, "begun")?,
        }),
    };
    Ok(Event {
        sequence: read_as(row, "sequence", |number: i64| u32::try_from(number).ok())?,
        at: read::<At>(row, "at")?.0,
        token: read_opt(row, "token", token)?,
        attempt: read_opt(row, "attempt", |number: i64| u32::try_from(number).ok())?,
        by,
        request,
        state: read_as(row, "state", |word: &str| Word::read(word))?,
        what,
    })
}
