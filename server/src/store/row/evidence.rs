//! Receipts, observations and what history says happened, as documents. Results are bytes and have a column of their own:
//! a document is written without its result, and gets it back when it is read.

use std::collections::BTreeMap;

use deed_core::action::{Flag, GrantKind};
use deed_core::command::{Decision, Resolution};
use deed_core::event::What;
use deed_core::evidence::{NotSentReason, Observation, Receipt, Seen, Verdict};
use deed_core::spec::InputHash;
use deed_core::text::{ActionId, ExternalId, FactName, HashScheme, Note, Owner};
use deed_core::time::{Span, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::document;
use super::stored::{self, Stored};

#[derive(Serialize, Deserialize)]
#[serde(
    remote = "Receipt",
    tag = "kind",
    rename_all = "SCREAMING_SNAKE_CASE",
    deny_unknown_fields
)]
enum ReceiptDocument {
    Completed {
        #[serde(with = "stored", default, skip_serializing_if = "Option::is_none")]
        external_id: Option<ExternalId>,
        #[serde(skip)]
        result: Option<Vec<u8>>,
    },
    Accepted {
        #[serde(with = "stored", default, skip_serializing_if = "Option::is_none")]
        external_id: Option<ExternalId>,
        #[serde(with = "stored")]
        retry_after: Span,
    },
    Rejected {
        #[serde(with = "stored")]
        reason: Note,
    },
    NotApplied {
        #[serde(with = "stored")]
        retry_after: Span,
        #[serde(with = "stored")]
        reason: Note,
    },
    NotSent {
        #[serde(with = "stored")]
        reason: NotSentReason,
        #[serde(with = "stored")]
        detail: Note,
    },
    Unknown {
        #[serde(with = "stored")]
        reason: Note,
        ended: bool,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(
    remote = "Verdict",
    tag = "kind",
    rename_all = "SCREAMING_SNAKE_CASE",
    deny_unknown_fields
)]
enum VerdictDocument {
    Confirmed {
        #[serde(with = "stored", default, skip_serializing_if = "Option::is_none")]
        external_id: Option<ExternalId>,
        #[serde(skip)]
        result: Option<Vec<u8>>,
    },
    NotFound,
    Pending {
        #[serde(with = "stored", default, skip_serializing_if = "Option::is_none")]
        retry_after: Option<Span>,
    },
    Failed {
        #[serde(with = "stored", default, skip_serializing_if = "Option::is_none")]
        external_id: Option<ExternalId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempt: Option<u32>,
        #[serde(with = "stored")]
        reason: Note,
    },
    Partial,
    Unknown {
        #[serde(with = "stored")]
        reason: Note,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Observation", deny_unknown_fields)]
struct ObservationDocument {
    #[serde(with = "stored")]
    verdict: Verdict,
    #[serde(with = "stored", default, skip_serializing_if = "BTreeMap::is_empty")]
    facts: BTreeMap<FactName, Seen>,
    #[serde(with = "stored")]
    detail: Note,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "InputHash", deny_unknown_fields)]
struct InputHashDocument {
    #[serde(with = "stored")]
    scheme: HashScheme,
    digest: [u8; 32],
}

#[derive(Serialize, Deserialize)]
#[serde(
    remote = "Decision",
    tag = "kind",
    rename_all = "SCREAMING_SNAKE_CASE",
    deny_unknown_fields
)]
enum DecisionDocument {
    Approve {
        #[serde(with = "stored")]
        input: InputHash,
    },
    Deny,
    Assign {
        #[serde(with = "stored", default, skip_serializing_if = "Option::is_none")]
        assignee: Option<Owner>,
    },
    Resolve {
        #[serde(with = "stored")]
        resolution: Resolution,
        #[serde(with = "stored", default, skip_serializing_if = "Option::is_none")]
        proof: Option<Note>,
    },
    Reopen {
        new_key: bool,
        #[serde(with = "stored", default, skip_serializing_if = "Option::is_none")]
        proof: Option<Note>,
    },
    Acknowledge {
        #[serde(with = "stored")]
        flag: Flag,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(
    remote = "Resolution",
    tag = "kind",
    rename_all = "SCREAMING_SNAKE_CASE",
    deny_unknown_fields
)]
enum ResolutionDocument {
    Confirmed {
        #[serde(with = "stored", default, skip_serializing_if = "Option::is_none")]
        external_id: Option<ExternalId>,
    },
    Absent,
    Rejected,
    Compensated {
        #[serde(with = "stored")]
        by: ActionId,
    },
    Abandoned,
}

#[derive(Serialize, Deserialize)]
#[serde(
    remote = "What",
    tag = "kind",
    rename_all = "SCREAMING_SNAKE_CASE",
    deny_unknown_fields
)]
enum WhatDocument {
    Planned,
    Granted {
        #[serde(with = "stored", rename = "grant")]
        kind: GrantKind,
        #[serde(with = "stored")]
        expires_at: Timestamp,
        begun: bool,
        resend: bool,
    },
    Begun,
    Reported {
        #[serde(with = "stored")]
        receipt: Receipt,
        late: bool,
    },
    Observed {
        #[serde(with = "stored")]
        observation: Observation,
        counted: bool,
    },
    Lapsed {
        #[serde(with = "stored")]
        expires_at: Timestamp,
    },
    Released {
        #[serde(with = "stored")]
        expires_at: Timestamp,
    },
    Fenced {
        #[serde(with = "stored")]
        expires_at: Timestamp,
    },
    ApprovalExpired,
    Decided {
        #[serde(with = "stored")]
        decision: Decision,
        #[serde(with = "stored")]
        note: Note,
    },
    Contested {
        #[serde(with = "stored")]
        by: ActionId,
        #[serde(with = "stored")]
        external_id: ExternalId,
    },
    Flagged {
        #[serde(with = "stored")]
        flag: Flag,
    },
}

document! {
    Receipt => ReceiptDocument,
    Verdict => VerdictDocument,
    Observation => ObservationDocument,
    InputHash => InputHashDocument,
    Decision => DecisionDocument,
    Resolution => ResolutionDocument,
    What => WhatDocument,
}
