//! Every call of the API as one method: message in, message out, repeated with the same request id until it is answered.
//!
//! Owns filling in what a caller leaves blank: the owner and the request id. It keeps no lease and waits for nothing;
//! `perform` does.

use std::time::Duration;

use deed_proto::v1;
use deed_proto::v1::ledger_client::LedgerClient;
use deed_proto::v1::operations_client::OperationsClient;
use deed_proto::v1::ownership_client::OwnershipClient;
use uuid::Uuid;

use crate::error::CallError;
use crate::repeat::{Answered, Caller, Limits};
use crate::session::{LARGEST_ANSWER, carry};
use crate::span;

/// What the service waits for where `WaitAction` names no time (30 s).
const DEFAULT_LINGERING: Duration = Duration::from_secs(30);

/// The raw calls. A blank `owner` is this client's, a blank `request_id` a new one.
#[derive(Clone, Debug)]
pub struct Calls {
    caller: Caller,
    owner: String,
    limits: Limits,
}

/// What all requests have in common.
pub(crate) trait Request {
    /// Fills in what was left blank.
    fn stamp(&mut self, owner: &str);

    /// For how long the service is asked to wait before it answers.
    fn lingers(&self) -> Duration {
        Duration::ZERO
    }
}

fn fill(request_id: &mut String) {
    if request_id.is_empty() {
        *request_id = Uuid::new_v4().to_string();
    }
}

macro_rules! stamped {
    (owner: $($with_owner:ident)*; id: $($without:ident)*; none: $($reading:ident)*;) => {
        $(impl Request for v1::$with_owner {
            fn stamp(&mut self, owner: &str) {
                if self.owner.is_empty() {
                    owner.clone_into(&mut self.owner);
                }
                fill(&mut self.request_id);
            }
        })*
        $(impl Request for v1::$without {
            fn stamp(&mut self, _owner: &str) {
                fill(&mut self.request_id);
            }
        })*
        $(impl Request for v1::$reading {
            fn stamp(&mut self, _owner: &str) {}
        })*
    };
}

stamped! {
    owner: PlanRequest ClaimRequest BeginRequest ReportRequest VerifyRequest RenewRequest ReleaseRequest ObserveRequest;
    id: ApproveRequest DenyRequest AssignRequest ResolveRequest ReopenRequest AcknowledgeRequest;
    none: GetActionRequest ListActionsRequest ListEventsRequest;
}

/// A batch has no owner and no request id of its own; its entries do.
macro_rules! batches {
    ($($batch:ident)*) => {$(
        impl Request for v1::$batch {
            fn stamp(&mut self, owner: &str) {
                for entry in &mut self.entries {
                    entry.stamp(owner);
                }
            }
        }
    )*};
}

batches! { BatchClaimRequest BatchReportRequest }

impl Request for v1::WaitActionRequest {
    fn stamp(&mut self, _owner: &str) {}

    fn lingers(&self) -> Duration {
        self.timeout
            .map_or(DEFAULT_LINGERING, |timeout| span::from_wire(Some(timeout)))
    }
}

impl Calls {
    pub(crate) fn new(caller: Caller, owner: String, limits: Limits) -> Self {
        Self {
            caller,
            owner,
            limits,
        }
    }

    pub(crate) fn owner(&self) -> &str {
        &self.owner
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    fn limits_for(&self, request: &impl Request) -> Limits {
        let lingers = request.lingers();
        Limits {
            each: self.limits.each + lingers,
            total: self.limits.total + lingers,
        }
    }
}

/// For each call, a method for everybody, and one with limits of its own and the moment of asking for this crate.
macro_rules! calls {
    ($(
        $(#[$doc:meta])*
        $client:ident $name:ident $within:ident $path:literal ($Request:ident) -> $Response:ident ($($how:tt)+);
    )*) => {
        impl Calls {$(
            $(#[$doc])*
            pub async fn $name(&self, request: v1::$Request) -> Result<v1::$Response, CallError> {
                let limits = self.limits_for(&request);
                Ok(self.$within(request, limits).await?.message)
            }

            pub(crate) async fn $within(
                &self,
                mut request: v1::$Request,
                limits: Limits,
            ) -> Result<Answered<v1::$Response>, CallError> {
                request.stamp(&self.owner);
                self.caller
                    .repeat($path, request, limits, carry!($Response $($how)+), |channel, request| async move {
                        let client = $client::new(channel);
                        client.max_decoding_message_size(LARGEST_ANSWER).$name(request).await
                    })
                    .await
            }
        )*}
    };
}

calls! {
    /// Records an action without a lease.
    OwnershipClient plan plan_within "Plan" (PlanRequest) -> PlanResponse (as Plan);
    /// Asks for the lease; records the action where it is new.
    OwnershipClient claim claim_within "Claim" (ClaimRequest) -> ClaimResponse (as Claim);
    /// The go/no-go gate right before the send.
    OwnershipClient begin begin_within "Begin" (BeginRequest) -> BeginResponse (as Begin);
    /// Hands in the receipt of an attempt. Never too late.
    OwnershipClient report report_within "Report" (ReportRequest) -> ReportResponse (as Report);
    /// Hands in what one lookup found.
    OwnershipClient verify verify_within "Verify" (VerifyRequest) -> VerifyResponse (as Verify);
    // SUBTLE: beside the session. Whatever holds the stream up, a thousand calls in flight or a large answer, must not hold up
    // the leases as well; and one call for all of them costs next to nothing (B06, B48).
    /// Prolongs many leases.
    OwnershipClient renew renew_within "Renew" (RenewRequest) -> RenewResponse (alone);
    /// Gives a lease back.
    OwnershipClient release release_within "Release" (ReleaseRequest) -> ReleaseResponse (as Release);
    /// Hands in evidence without a lease: a webhook, an audit.
    OwnershipClient observe observe_within "Observe" (ObserveRequest) -> ObserveResponse (as Observe);
    /// Many claims in one call, each answered for itself, in the order of the request.
    OwnershipClient batch_claim batch_claim_within "BatchClaim" (BatchClaimRequest) -> BatchClaimResponse (whole BatchClaim);
    /// Many reports in one call, each answered for itself, in the order of the request.
    OwnershipClient batch_report batch_report_within "BatchReport" (BatchReportRequest) -> BatchReportResponse (whole BatchReport);
    /// One action.
    LedgerClient get_action get_action_within "GetAction" (GetActionRequest) -> Action (alone);
    /// Many actions, filtered and paged.
    LedgerClient list_actions list_actions_within "ListActions" (ListActionsRequest) -> ListActionsResponse (alone);
    /// One action's whole history, paged.
    LedgerClient list_events list_events_within "ListEvents" (ListEventsRequest) -> ListEventsResponse (alone);
    /// Answers once the action is settled, or has changed, or the request's time is over.
    LedgerClient wait_action wait_action_within "WaitAction" (WaitActionRequest) -> WaitActionResponse (alone);
    /// Lets workers act on this exact input hash.
    OperationsClient approve approve_within "Approve" (ApproveRequest) -> Action (alone);
    /// Refuses the approval.
    OperationsClient deny deny_within "Deny" (DenyRequest) -> Action (alone);
    /// Says who is to reconcile the action.
    OperationsClient assign assign_within "Assign" (AssignRequest) -> Action (alone);
    /// Closes the question what became of the effect.
    OperationsClient resolve resolve_within "Resolve" (ResolveRequest) -> Action (alone);
    /// Leaves `REJECTED`, `ABANDONED` or used-up limits.
    OperationsClient reopen reopen_within "Reopen" (ReopenRequest) -> Action (alone);
    /// Clears a flag.
    OperationsClient acknowledge acknowledge_within "Acknowledge" (AcknowledgeRequest) -> Action (alone);
}
