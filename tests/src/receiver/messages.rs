//! What travels between a worker and the receiver: the JSON of requests and answers.
//!
//! Owns the wire shapes that the HTTP side and the client share. Decides nothing: `world` does, and `http` gives the
//! answers their status codes.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The place of an effect whose request names none.
pub const DEFAULT_PLACE: &str = "main";

/// The name of the fact that says whether every visible effect is where it was asked to be.
pub const IN_RIGHT_PLACE: &str = "in_right_place";

/// The code of a refusal because of a stale view of the record: nothing was done, and another try may succeed.
pub const VERSION_CONFLICT: &str = "version_conflict";

/// A fencing token as the receiver sees it. Text in JSON, because numbers above 2^53 do not survive every JSON reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FencingToken(pub u64);

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for FencingToken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for FencingToken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number = text.parse().map_err(|_| {
            serde::de::Error::custom(format!(
                "fencing_token {text:?} is not a decimal number written as text"
            ))
        })?;
        Ok(Self(number))
    }
}

/// Asks for one effect.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EffectRequest {
    /// What the effect is for: the order, the invoice. Lookups find effects by it; duplicates are counted by it.
    pub business_id: String,
    /// What kind of effect it is (`charge`, `refund`): the same part of another kind is another effect.
    pub kind: String,
    /// Names of the facts to bring about; none means one fact with the name of the kind.
    #[serde(default)]
    pub parts: Vec<String>,
    /// Where the effect belongs (a project, an account); `main` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// In the smallest unit of whatever it is an amount of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fencing_token: Option<FencingToken>,
}

impl EffectRequest {
    /// A request for one effect with the given parts and nothing optional.
    pub fn new(business_id: &str, kind: &str, parts: &[&str]) -> Self {
        Self {
            business_id: business_id.to_owned(),
            kind: kind.to_owned(),
            parts: parts.iter().map(|part| (*part).to_owned()).collect(),
            ..Self::default()
        }
    }

    pub fn with_key(mut self, idempotency_key: &str) -> Self {
        self.idempotency_key = Some(idempotency_key.to_owned());
        self
    }

    pub fn with_token(mut self, token: u64) -> Self {
        self.fencing_token = Some(FencingToken(token));
        self
    }

    /// The parts that this request asks for, by name.
    pub fn asked_parts(&self) -> Vec<String> {
        if self.parts.is_empty() {
            vec![self.kind.clone()]
        } else {
            self.parts.clone()
        }
    }

    /// The place that this request asks for.
    pub fn asked_place(&self) -> &str {
        self.place.as_deref().unwrap_or(DEFAULT_PLACE)
    }

    /// Whether `other` asks for the same effect; key and token name the attempt, not the effect.
    pub fn asks_the_same(&self, other: &Self) -> bool {
        self.business_id == other.business_id
            && self.kind == other.kind
            && self.amount == other.amount
            && self.asked_parts() == other.asked_parts()
            && self.asked_place() == other.asked_place()
    }
}

/// The body of a 201 or 202.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectAnswer {
    /// The receiver's name for the effect; an asynchronous job and its effect share it.
    pub external_id: String,
    /// The parts that were brought about; empty while a job is pending.
    pub applied: Vec<String>,
    /// Whether this is the stored answer to an earlier request with the same idempotency key.
    #[serde(default)]
    pub replayed: bool,
    /// In milliseconds: when a job may be asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

/// The body of every refusal, and of the error that hides behind a 200.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorAnswer {
    pub error: ErrorBody,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    /// For programs: `refused`, `rate_limited`, `maintenance`, `key_in_progress`, `key_reused`, `stale_token`,
    /// `used_token`, `token_missing`, `version_conflict`, `malformed`, `internal`.
    pub code: String,
    /// For people.
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

/// Asks what the receiver shows for one business id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LookupRequest {
    pub business_id: String,
    /// Only effects of this kind; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Comma-separated names of facts to answer even where nothing has been seen of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fencing_token: Option<FencingToken>,
}

/// What a lookup sees. It may be less than the ledger holds: hidden effects are missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookupAnswer {
    pub business_id: String,
    pub effects: Vec<SeenEffect>,
    pub jobs: Vec<SeenJob>,
    /// Every fact that was asked about or ever brought about visibly, and [`IN_RIGHT_PLACE`].
    pub facts: BTreeMap<String, bool>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenEffect {
    pub external_id: String,
    pub kind: String,
    pub parts: Vec<String>,
    pub place: String,
    pub in_right_place: bool,
    /// Milliseconds since 1970.
    pub applied_at_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenJob {
    pub external_id: String,
    pub kind: String,
    pub status: JobStatus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobStatus {
    /// Accepted, waiting in a queue that lookups do not see.
    Queued,
    Pending,
    Done,
    Failed,
}
