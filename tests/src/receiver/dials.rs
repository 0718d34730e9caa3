//! The dials: how the receiver treats its clients from now on, and the faults queued for one business id.
//!
//! Owns the description of misbehaviour. Carrying it out is `world`'s part, drawing it at random `odds`'s. Every
//! duration is in milliseconds.

use serde::{Deserialize, Serialize};

use super::odds::{Magnitudes, Odds};

/// The receiver's standing behaviour. The default is a plain system: it applies at once, answers honestly, deduplicates
/// nothing and ignores tokens.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dials {
    pub mode: Mode,
    pub idempotency: Idempotency,
    pub fencing: Fencing,
    /// What every request for an effect meets unless a fault is queued for its business id; odds are laid on top.
    pub every: Fault,
    /// What every lookup meets unless a fault is queued for its business id.
    pub every_lookup: LookupFault,
    /// Faults by chance, decided by this seed, the business id and how many requests for it came before: the order in
    /// which different ids arrive changes nothing.
    pub seed: u64,
    pub odds: Odds,
    pub magnitudes: Magnitudes,
}

/// When the answer comes: after the effect, or before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Mode {
    #[default]
    Synchronous,
    /// 202 at once; the job waits unseen in a queue, then runs and is shown as pending, then is done or has failed.
    Asynchronous { queued_ms: u64, run_ms: u64 },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Idempotency {
    #[default]
    Ignored,
    /// A key replays its first answer until `retention_ms` after it was given; `refusals` says whether a refusal is
    /// stored like a success.
    Honoured {
        retention_ms: u64,
        #[serde(default)]
        refusals: StoredRefusals,
    },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoredRefusals {
    #[default]
    Forgotten,
    Replayed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fencing {
    #[default]
    Ignored,
    /// Effects need a token that is neither used nor below the floor; lookups do not raise the floor.
    EffectsOnly,
    /// As above, and a lookup's token raises the floor too.
    EffectsAndLookups,
}

/// What one request for an effect meets, from its arrival to its answer. Stages combine: an effect may be applied late,
/// in the wrong place, hidden, and its answer dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fault {
    pub admission: Admission,
    /// The commit comes this much after the request; a synchronous answer waits for it.
    pub apply_after_ms: u64,
    /// Only these of the requested parts are brought about; all when absent.
    pub only_parts: Option<Vec<String>>,
    /// The effect lands here instead of where it was asked to be.
    pub place: Option<String>,
    /// Lookups miss the effect for this long after it was applied.
    pub hide_ms: u64,
    /// This many lookups miss the effect, however long they take to come.
    pub hide_lookups: u32,
    /// How an asynchronous job ends.
    pub job: JobEnd,
    pub answer: AnswerFault,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Admission {
    #[default]
    Admitted,
    /// 422 before any effect.
    Refused,
    /// 429 with Retry-After, nothing done.
    RateLimited { retry_after_ms: u64 },
    /// 503 with Retry-After, nothing done.
    Maintenance { retry_after_ms: u64 },
    /// 409 because the caller's view of the record is stale, nothing done.
    Conflict,
    /// The connection ends without an answer, nothing done.
    Dropped,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobEnd {
    #[default]
    Done,
    Failed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AnswerFault {
    #[default]
    Honest,
    /// The connection ends without an answer, after the effect.
    Dropped,
    /// The honest answer, this much later.
    Late { after_ms: u64 },
    /// 200 with an error in its body, after the effect.
    ErrorBody,
    /// The process ends right after the effect. A receiver inside a test drops the answer instead.
    Crash,
}

/// What one lookup meets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum LookupFault {
    #[default]
    Honest,
    Dropped,
    Maintenance {
        retry_after_ms: u64,
    },
    Late {
        after_ms: u64,
    },
}

/// Faults for the next requests about one business id, in order, each used once. The body of `PUT /dials/{business_id}`
/// replaces what was queued before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Queued {
    pub effects: Vec<Fault>,
    pub lookups: Vec<LookupFault>,
}

impl Fault {
    pub fn admission(admission: Admission) -> Self {
        Self {
            admission,
            ..Self::default()
        }
    }

    pub fn answer(answer: AnswerFault) -> Self {
        Self {
            answer,
            ..Self::default()
        }
    }

    pub fn apply_after(apply_after_ms: u64) -> Self {
        Self {
            apply_after_ms,
            ..Self::default()
        }
    }

    pub fn hide_for(hide_ms: u64) -> Self {
        Self {
            hide_ms,
            ..Self::default()
        }
    }

    pub fn hide_from_lookups(hide_lookups: u32) -> Self {
        Self {
            hide_lookups,
            ..Self::default()
        }
    }

    pub fn only(parts: &[&str]) -> Self {
        Self {
            only_parts: Some(parts.iter().map(|part| (*part).to_owned()).collect()),
            ..Self::default()
        }
    }

    pub fn misplace(place: &str) -> Self {
        Self {
            place: Some(place.to_owned()),
            ..Self::default()
        }
    }

    pub fn failing_job() -> Self {
        Self {
            job: JobEnd::Failed,
            ..Self::default()
        }
    }

    /// The same fault, with its answer treated like this.
    pub fn and_answer(mut self, answer: AnswerFault) -> Self {
        self.answer = answer;
        self
    }
}
