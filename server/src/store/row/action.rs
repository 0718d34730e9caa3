//! Actions on their way into `actions`, column by column.

use deed_core::action::{Action, Approval, Attempt, Closure, Grant};
use deed_core::event::Event;
use deed_core::id::{ActionKey, Version};
use deed_core::spec::Label;
use deed_core::text::{ExternalId, Owner};
use tokio_postgres::types::Json;
use uuid::Uuid;

use super::columns::{At, Place, bigint, columns};
use super::contract::Fixed;
use super::progress::{LeaseTerms, Progress};
use super::stored::Of;
use super::word::Word;

columns! {
    /// What is fixed at creation.
    FixedColumns {
        namespace: &'a str => TEXT_ARRAY,
        action_id: &'a str => TEXT_ARRAY,
        created_at: At => TIMESTAMPTZ_ARRAY,
        tool: &'a str => TEXT_ARRAY,
        input_scheme: &'a str => TEXT_ARRAY,
        input_digest: &'a [u8] => BYTEA_ARRAY,
        labels: Json<Of<Vec<Label>>> => JSONB_ARRAY,
        specification: Json<Fixed> => JSON_ARRAY,
    }
}

columns! {
    /// Which row changes, and as what it was read.
    SeenColumns {
        place: Place => TID_ARRAY,
        namespace: &'a str => TEXT_ARRAY,
        action_id: &'a str => TEXT_ARRAY,
        previous: i64 => INT8_ARRAY,
    }
}

columns! {
    /// What any write may change.
    StandingColumns {
        state: &'a str => TEXT_ARRAY,
        state_since: At => TIMESTAMPTZ_ARRAY,
        doubt: Option<&'a str> => TEXT_ARRAY,
        stop: Option<&'a str> => TEXT_ARRAY,
        closure: Option<&'a str> => TEXT_ARRAY,
        reason: &'a str => TEXT_ARRAY,
        version: i64 => INT8_ARRAY,
        sequence: i64 => INT8_ARRAY,
        token: i64 => INT8_ARRAY,
        lease_token: Option<i64> => INT8_ARRAY,
        lease_owner: Option<&'a str> => TEXT_ARRAY,
        lease_principal: Option<&'a str> => TEXT_ARRAY,
        lease_kind: Option<&'a str> => TEXT_ARRAY,
        lease_granted_at: Option<At> => TIMESTAMPTZ_ARRAY,
        lease_expires_at: Option<At> => TIMESTAMPTZ_ARRAY,
        lease_begun_at: Option<At> => TIMESTAMPTZ_ARRAY,
        lease_ended: Option<&'a str> => TEXT_ARRAY,
        lease_terms: Option<Json<LeaseTerms>> => JSON_ARRAY,
        approval_expires_at: Option<At> => TIMESTAMPTZ_ARRAY,
        attempts: i64 => INT8_ARRAY,
        undisproved: Json<Of<Vec<Attempt>>> => JSON_ARRAY,
        external_id: Option<&'a str> => TEXT_ARRAY,
        effect_id: Option<Uuid> => UUID_ARRAY,
        duplicate_suspected: bool => BOOL_ARRAY,
        contradicted: bool => BOOL_ARRAY,
        ungated: bool => BOOL_ARRAY,
        assignee: Option<&'a str> => TEXT_ARRAY,
        progress: Json<Progress> => JSON_ARRAY,
        traced: Option<Uuid> => UUID_ARRAY,
    }
}

impl<'a> FixedColumns<'a> {
    /// Takes a fresh row in.
    pub fn push(&mut self, action: &'a Action) {
        let spec = &action.spec;
        self.namespace.push(action.key.namespace.as_str());
        self.action_id.push(action.key.action_id.as_str());
        self.created_at.push(At(action.created_at));
        self.tool.push(spec.tool.as_str());
        self.input_scheme.push(spec.input.scheme.as_str());
        self.input_digest.push(&spec.input.digest);
        self.labels.push(Json(Of(spec.labels.clone())));
        self.specification.push(Json(Fixed {
            expected: spec.expected.clone(),
            contract: spec.contract,
        }));
    }
}

impl<'a> SeenColumns<'a> {
    /// Takes a row in that lies at `place` and was read as `previous`.
    pub fn push(&mut self, key: &'a ActionKey, place: Place, previous: Version) {
        self.place.push(place);
        self.namespace.push(key.namespace.as_str());
        self.action_id.push(key.action_id.as_str());
        self.previous.push(bigint(previous.0));
    }
}

impl<'a> StandingColumns<'a> {
    /// Takes one row in, as it will be, with the request id that its new history remembers: one call leaves one at most.
    pub fn push(&mut self, action: &'a Action, events: &[Event]) {
        self.state.push(action.state.word());
        self.state_since.push(At(action.since));
        self.doubt.push(action.doubt.as_ref().map(Word::word));
        self.stop.push(action.stop.as_ref().map(Word::word));
        self.closure.push(action.closure.as_ref().map(closure_word));
        self.reason.push(action.reason.as_str());
        self.version.push(bigint(action.version.0));
        self.sequence.push(i64::from(action.sequence));
        self.token.push(bigint(action.token.number()));
        self.push_grant(action.grant.as_ref());
        self.approval_expires_at.push(match &action.approval {
            Approval::Pending { expires_at } => Some(At(*expires_at)),
            Approval::NotRequired | Approval::Given { .. } => None,
        });
        self.attempts.push(i64::from(action.attempts));
        self.undisproved.push(Json(Of(action.undisproved.clone())));
        self.external_id
            .push(action.external_id.as_ref().map(ExternalId::as_str));
        self.effect_id
            .push(action.effect.as_ref().map(|effect| effect.evidence.0));
        self.duplicate_suspected.push(action.flags.duplicate_suspected);
        self.contradicted.push(action.flags.contradicted);
        self.ungated.push(action.flags.ungated);
        self.assignee.push(action.assignee.as_ref().map(Owner::as_str));
        self.progress.push(Json(Progress::of(action)));
        let traced = events.iter().find_map(|event| event.request.as_ref());
        self.traced.push(traced.map(|trace| trace.id.0));
    }

    fn push_grant(&mut self, grant: Option<&'a Grant>) {
        self.lease_token
            .push(grant.map(|grant| bigint(grant.token.number())));
        self.lease_owner
            .push(grant.map(|grant| grant.holder.owner.as_str()));
        self.lease_principal
            .push(grant.map(|grant| grant.holder.principal.as_str()));
        self.lease_kind.push(grant.map(|grant| grant.kind.word()));
        self.lease_granted_at
            .push(grant.map(|grant| At(grant.granted_at)));
        self.lease_expires_at
            .push(grant.map(|grant| At(grant.expires_at)));
        self.lease_begun_at
            .push(grant.and_then(|grant| grant.begun_at).map(At));
        self.lease_ended
            .push(grant.and_then(|grant| grant.ended.as_ref()).map(Word::word));
        self.lease_terms
            .push(grant.map(|grant| Json(LeaseTerms::of(grant))));
    }
}

fn closure_word(closure: &Closure) -> &'static str {
    match closure {
        Closure::Refused => "REFUSED",
        Closure::Denied => "DENIED",
        Closure::ApprovalExpired => "APPROVAL_EXPIRED",
        Closure::ResolvedRejected => "RESOLVED_REJECTED",
        Closure::Abandoned => "ABANDONED",
        Closure::Compensated { .. } => "COMPENSATED",
    }
}
