//! Folds history into what the core asks about a call: what its request id did, and what its token did.

use deed_core::action::{Action, GrantKind};
use deed_core::id::{Caller, Fingerprint, Token};
use deed_core::judgement::{PastRequest, PastToken};
use deed_core::text::{Owner, Principal};
use deed_core::time::Timestamp;
use tokio_postgres::Row;

use super::row::{At, Damage, Word, read, read_opt};

/// One event that the request id or the token of a call left.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Which call, counted from 1.
    pub nth: i64,
    of_request: bool,
    of_token: bool,
    sequence: i64,
    at: Timestamp,
    kind: String,
    attempt: Option<u32>,
    by: Option<Caller>,
    fingerprint: Option<Fingerprint>,
    granted: Option<Token>,
    begun: Option<bool>,
    lease: Option<GrantKind>,
    told: Option<Timestamp>,
}

impl Mark {
    pub fn read(row: &Row) -> Result<Self, Damage> {
        let owner = read_opt(row, "by_owner", |text: String| Owner::new(text).ok())?;
        let principal = read_opt(row, "by_principal", |text: String| Principal::new(text).ok())?;
        Ok(Self {
            nth: read(row, "nth")?,
            of_request: read(row, "of_request")?,
            of_token: read(row, "of_token")?,
            sequence: read(row, "sequence")?,
            at: read::<At>(row, "at")?.0,
            kind: read(row, "kind")?,
            attempt: read_opt(row, "attempt", |number: i64| u32::try_from(number).ok())?,
            by: owner
                .zip(principal)
                .map(|(owner, principal)| Caller { owner, principal }),
            fingerprint: read_opt(row, "fingerprint", |bytes: &[u8]| {
                bytes.try_into().ok().map(Fingerprint)
            })?,
            granted: read_opt(row, "granted", |number: i64| {
                u64::try_from(number).ok().and_then(Token::new)
            })?,
            begun: read(row, "begun")?,
            lease: read_opt(row, "lease_kind", |word: &str| GrantKind::read(word))?,
            told: read::<Option<i64>>(row, "lease_expires_at")?.map(Timestamp::from_micros),
        })
    }
}

/// What the request id did. One event of an action remembers it, or none.
pub fn request(marks: &[Mark]) -> Option<PastRequest> {
    let mark = marks.iter().find(|mark| mark.of_request)?;
    Some(PastRequest {
        fingerprint: mark.fingerprint?,
        caller: mark.by.clone()?,
        granted: mark.granted,
        begun: mark.begun.unwrap_or(false),
    })
}

/// What the token did. A token that only lookups or decisions name is as unknown as before.
pub fn token(marks: &[Mark], action: &Action) -> Option<PastToken> {
    let mut marks: Vec<_> = marks.iter().filter(|mark| mark.of_token).collect();
    marks.sort_by_key(|mark| mark.sequence);
    let granted = marks.iter().find(|mark| mark.kind == "GRANTED");
    let reported = marks.iter().find(|mark| mark.kind == "REPORTED");
    let first = granted.or(reported)?;
    let told = marks.iter().filter_map(|mark| mark.told).max();
    Some(PastToken {
        holder: first.by.clone()?,
        kind: first.lease.unwrap_or(GrantKind::Execute),
        attempt: marks.iter().find_map(|mark| mark.attempt),
        lease_end: told.unwrap_or_else(|| first.at.plus(action.spec.contract.lease)),
    })
}
