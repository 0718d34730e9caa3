//! The ledger: everything that ever happened at the receiver, as a fold of entries.
//!
//! Owns the truth that tests count. Knows neither time nor chance nor HTTP: `world` writes the entries, `journal` keeps
//! them on disk.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::dials::JobEnd;
use super::messages::{EffectAnswer, EffectRequest, ErrorBody, FencingToken, JobStatus};

/// One effect that was really brought about, whole or in part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Application {
    pub external_id: String,
    pub business_id: String,
    pub kind: String,
    /// The parts that were brought about, which may be fewer than were asked for.
    pub parts: Vec<String>,
    pub place: String,
    pub in_right_place: bool,
    pub amount: Option<i64>,
    pub idempotency_key: Option<String>,
    pub fencing_token: Option<FencingToken>,
    /// Milliseconds since 1970.
    pub applied_at_ms: u64,
    /// Lookups do not show it before this time.
    pub hidden_until_ms: u64,
    /// So many more lookups do not show it.
    pub hidden_lookups: u32,
}

/// A command that was accepted and is carried out later.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    pub external_id: String,
    pub request: EffectRequest,
    pub fault: super::dials::Fault,
    pub queued_ms: u64,
    pub run_ms: u64,
    pub status: JobStatus,
}

/// A first answer that its idempotency key replays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptAnswer {
    pub request: EffectRequest,
    pub answer: Result<EffectAnswer, (u16, ErrorBody)>,
    pub answered_at_ms: u64,
}

/// One line of the ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    EffectRequested {
        business_id: String,
    },
    LookedUp {
        business_id: String,
    },
    /// Lookup or effect, this token was presented: the floor rises to it.
    TokenSeen {
        business_id: String,
        token: FencingToken,
    },
    TokenUsed {
        business_id: String,
        token: FencingToken,
    },
    /// The effect and the answer that its key replays are one line: a crash never separates them.
    Applied {
        application: Application,
        kept: Option<KeptAnswer>,
    },
    JobAccepted {
        job: Job,
        kept: Option<KeptAnswer>,
    },
    JobMoved {
        external_id: String,
        status: JobStatus,
    },
    RefusalKept {
        kept: KeptAnswer,
    },
    /// One lookup missed the effects that were hidden from it.
    HiddenFromLookup {
        business_id: String,
    },
    /// Whatever was hidden is shown from now on.
    Revealed {
        business_id: String,
    },
}

/// The state that the entries add up to.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    pub applications: Vec<Application>,
    pub jobs: Vec<Job>,
    pub kept_answers: HashMap<String, KeptAnswer>,
    pub floors: HashMap<String, FencingToken>,
    pub used_tokens: HashMap<String, BTreeSet<FencingToken>>,
    pub requests: HashMap<String, u64>,
    pub lookups: HashMap<String, u64>,
}

/// What a test or the demo wants to know first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Requests for effects that arrived, whatever became of them.
    pub requests: u64,
    pub lookups: u64,
    pub applications: usize,
    /// Business ids with at least one application.
    pub business_ids: usize,
    /// Applications that brought about a part that an earlier one had already brought about.
    pub duplicates: usize,
    pub duplicated_ids: BTreeSet<String>,
    pub misplaced: usize,
    pub jobs_under_way: usize,
    pub jobs_failed: usize,
}

impl Ledger {
    /// Adds one entry to the state.
    pub fn record(&mut self, entry: Entry) {
        match entry {
            Entry::EffectRequested { business_id } => *self.requests.entry(business_id).or_default() += 1,
            Entry::LookedUp { business_id } => *self.lookups.entry(business_id).or_default() += 1,
            Entry::TokenSeen { business_id, token } => {
                let floor = self.floors.entry(business_id).or_insert(token);
                *floor = token.max(*floor);
            }
            Entry::TokenUsed { business_id, token } => {
                self.used_tokens.entry(business_id).or_default().insert(token);
            }
            Entry::Applied { application, kept } => {
                self.move_job(&application.external_id, JobStatus::Done);
                self.applications.push(application);
                self.keep(kept);
            }
            Entry::JobAccepted { job, kept } => {
                self.jobs.push(job);
                self.keep(kept);
            }
            Entry::JobMoved { external_id, status } => self.move_job(&external_id, status),
            Entry::RefusalKept { kept } => self.keep(Some(kept)),
            Entry::HiddenFromLookup { business_id } => {
                for application in self.of_mut(&business_id) {
                    application.hidden_lookups = application.hidden_lookups.saturating_sub(1);
                }
            }
            Entry::Revealed { business_id } => {
                for application in self.of_mut(&business_id) {
                    application.hidden_until_ms = 0;
                    application.hidden_lookups = 0;
                }
            }
        }
    }

    /// The next external id: never given out before, also not as a job that failed.
    pub fn next_external_id(&self) -> String {
        let jobs_without_effect = self
            .jobs
            .iter()
            .filter(|job| job.status != JobStatus::Done)
            .count();
        format!("fx-{}", self.applications.len() + jobs_without_effect + 1)
    }

    /// Everything applied for one business id, in order.
    pub fn of(&self, business_id: &str) -> Vec<Application> {
        self.applications
            .iter()
            .filter(|application| application.business_id == business_id)
            .cloned()
            .collect()
    }

    pub fn summary(&self) -> Summary {
        let mut done = BTreeMap::new();
        let mut summary = Summary {
            requests: self.requests.values().sum(),
            lookups: self.lookups.values().sum(),
            applications: self.applications.len(),
            misplaced: self
                .applications
                .iter()
                .filter(|application| !application.in_right_place)
                .count(),
            jobs_under_way: self.jobs.iter().filter(|job| job.under_way()).count(),
            jobs_failed: self
                .jobs
                .iter()
                .filter(|job| job.status == JobStatus::Failed)
                .count(),
            ..Summary::default()
        };
        for application in &self.applications {
            let parts: &mut BTreeSet<&str> = done
                .entry((&application.business_id, &application.kind))
                .or_default();
            // SUBTLE: every part is inserted, also after a repeated one was met; `any` would stop there and miss later
            // duplicates of the rest.
            let repeated = application
                .parts
                .iter()
                .filter(|part| !parts.insert(part))
                .count();
            if repeated > 0 {
                summary.duplicates += 1;
                summary.duplicated_ids.insert(application.business_id.clone());
            }
        }
        summary.business_ids = self
            .applications
            .iter()
            .map(|application| &application.business_id)
            .collect::<BTreeSet<_>>()
            .len();
        summary
    }

    fn keep(&mut self, kept: Option<KeptAnswer>) {
        if let Some(kept) = kept
            && let Some(key) = &kept.request.idempotency_key
        {
            self.kept_answers.insert(key.clone(), kept);
        }
    }

    fn move_job(&mut self, external_id: &str, status: JobStatus) {
        for job in self.jobs.iter_mut().filter(|job| job.external_id == external_id) {
            job.status = status;
        }
    }

    fn of_mut(&mut self, business_id: &str) -> impl Iterator<Item = &mut Application> {
        self.applications
            .iter_mut()
            .filter(move |application| application.business_id == business_id)
    }
}

impl Application {
    /// Whether a lookup at this time shows it.
    pub fn visible_at(&self, now_ms: u64) -> bool {
        self.hidden_lookups == 0 && self.hidden_until_ms <= now_ms
    }
}

impl Job {
    pub fn under_way(&self) -> bool {
        matches!(self.status, JobStatus::Queued | JobStatus::Pending)
    }

    pub fn fails(&self) -> bool {
        self.fault.job == JobEnd::Failed
    }
}
