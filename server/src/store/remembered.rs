//! What history remembers of a call: what its request id did, and what its token did.
//!
//! Most calls need not ask. The row itself lists the request ids that its history remembers, while they are few, and the
//! core asks about a token only where it is not that of the row's own grant.

use std::collections::HashMap;

use deed_core::action::{Action, GrantKind};
use deed_core::id::{ActionKey, Caller, Fingerprint, Token};
use deed_core::judgement::{PastRequest, PastToken};
use deed_core::text::{Owner, Principal};
use deed_core::time::Timestamp;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};
use uuid::Uuid;

use super::row::{At, Damage, Word, bigint, read, read_opt};
use super::sqlstate::{Stage, classify};
use super::{Error, Lookup};

/// The calls that history has to be asked about, column by column.
#[derive(Default)]
pub struct Question<'a> {
    /// Which lookup, counted from 1.
    nth: Vec<i64>,
    created: Vec<At>,
    namespaces: Vec<&'a str>,
    action_ids: Vec<&'a str>,
    requests: Vec<Uuid>,
    tokens: Vec<Option<i64>>,
}

impl<'a> Question<'a> {
    /// `locked` finds the row of a call, and the request ids that it lists.
    pub fn of<'r>(
        lookups: &'a [Lookup],
        locked: impl Fn(&ActionKey) -> Option<(&'r Action, Option<&'r [Uuid]>)>,
    ) -> Self {
        let mut question = Self::default();
        for (nth, lookup) in (1..).zip(lookups) {
            let Some((action, requests)) = locked(&lookup.key) else {
                continue;
            };
            let held = action.grant.as_ref().map(|grant| grant.token);
            let token = lookup.token.filter(|token| Some(*token) != held);
            // SUBTLE: no list means that there were too many to list, not that there were none.
            let repeat = requests.is_none_or(|listed| listed.contains(&lookup.request.0));
            if !repeat && token.is_none() {
                continue;
            }
            question.nth.push(nth);
            question.created.push(At(action.created_at));
            question.namespaces.push(lookup.key.namespace.as_str());
            question.action_ids.push(lookup.key.action_id.as_str());
            question.requests.push(lookup.request.0);
            question.tokens.push(token.map(|token| bigint(token.number())));
        }
        question
    }

    /// The answers, by lookup.
    pub async fn ask(&self, client: &Client) -> Result<HashMap<i64, Marks>, Error> {
        let mut marks: HashMap<i64, Marks> = HashMap::new();
        if self.nth.is_empty() {
            return Ok(marks);
        }
        let parameters: &[(&(dyn ToSql + Sync), Type)] = &[
            (&self.created, Type::TIMESTAMPTZ_ARRAY),
            (&self.namespaces, Type::TEXT_ARRAY),
            (&self.action_ids, Type::TEXT_ARRAY),
            (&self.requests, Type::UUID_ARRAY),
            (&self.tokens, Type::INT8_ARRAY),
        ];
        let rows = client
            .query_typed(include_str!("sql/remembered.sql"), parameters)
            .await
            .map_err(|error| classify(error, Stage::BeforeCommit))?;
        for row in &rows {
            let (nth, mark) = self.mark(row).map_err(|Damage(what)| Error::Corrupt {
                key: "a row of history".to_owned(),
                what,
            })?;
            marks.entry(nth).or_default().0.push(mark);
        }
        Ok(marks)
    }

    fn mark(&self, row: &Row) -> Result<(i64, Mark), Damage> {
        let asked: i64 = read(row, "nth")?;
        let nth = usize::try_from(asked - 1).ok().and_then(|nth| self.nth.get(nth));
        let nth = *nth.ok_or_else(|| Damage::new("nth", "names no call"))?;
        Ok((nth, Mark::read(row)?))
    }
}

/// What history remembers of one call.
#[derive(Debug, Default)]
pub struct Marks(Vec<Mark>);

/// One event that the request id or the token of a call left.
#[derive(Clone, Debug)]
struct Mark {
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
    fn read(row: &Row) -> Result<Self, Damage> {
        let owner = read_opt(row, "by_owner", |text: String| Owner::new(text).ok())?;
        let principal = read_opt(row, "by_principal", |text: String| Principal::new(text).ok())?;
        Ok(Self {
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

impl Marks {
    /// What the request id did. One event of an action remembers it, or none.
    pub fn request(&self) -> Option<PastRequest> {
        let mark = self.0.iter().find(|mark| mark.of_request)?;
        Some(PastRequest {
            fingerprint: mark.fingerprint?,
            caller: mark.by.clone()?,
            granted: mark.granted,
            begun: mark.begun.unwrap_or(false),
        })
    }

    /// What the token did. A token that only lookups or decisions name is as unknown as before.
    pub fn token(&self, action: &Action) -> Option<PastToken> {
        let mut marks: Vec<_> = self.0.iter().filter(|mark| mark.of_token).collect();
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
}
