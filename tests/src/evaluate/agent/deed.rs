//! The worker with Deed: every step is an action, and `perform` does what the next step says.
//!
//! Owns the contract that fits the receiver, and the honest translation of its answers into receipts.

use std::time::{Duration, Instant};

use deed_client::{Contract, EffectClass, Grant, Outcome, Pending, Receipt, Retry, hours};

use super::{Agent, StepEnd, all_parts};
use crate::evaluate::scale::{ASK_AGAIN, ASK_AGAIN_MAX, BACKOFF, PATIENCE, SENDS, Scale};
use crate::evaluate::setting::Keys;
use crate::evaluate::task::Step;
use crate::receiver::{Applied, Call, VERSION_CONFLICT};
use crate::support::adapter;

/// Between two claims there is at least this much.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);

impl Agent {
    pub(super) async fn with_deed(&self, step: &Step) -> anyhow::Result<StepEnd> {
        let deadline = Instant::now() + PATIENCE;
        let mut ask_again = ASK_AGAIN;
        while Instant::now() < deadline {
            let pause = match self.perform(step).await? {
                outcome if outcome.confirmed() => return Ok(StepEnd::Done),
                Outcome::Settled(_) => return Ok(StepEnd::Failed),
                Outcome::Blocked(blocked) => {
                    let reason = blocked.reason.as_str_name();
                    let reason = reason.strip_prefix("BLOCKED_REASON_").unwrap_or(reason);
                    return Ok(StepEnd::Undecided(reason.to_owned()));
                }
                Outcome::Pending(Pending::Wait { retry_after, .. }) => retry_after,
                Outcome::Pending(Pending::Held { retry_after, .. }) => {
                    let pause = retry_after.min(ask_again);
                    ask_again = (ask_again * 2).min(ASK_AGAIN_MAX);
                    pause
                }
                Outcome::Pending(Pending::Claimable(_)) => SHORTEST_PAUSE,
            };
            tokio::time::sleep(pause.max(SHORTEST_PAUSE)).await;
        }
        Ok(StepEnd::Undecided(format!(
            "not decided within {} s",
            PATIENCE.as_secs()
        )))
    }

    async fn perform(&self, step: &Step) -> anyhow::Result<Outcome> {
        let business_id = self.business_id(step);
        let outcome = self
            .deed
            .action(&business_id)
            .namespace(&self.namespace())
            .tool(step.tool)
            .input(&business_id)?
            .contract(contract(step, self.cell.trouble.keys(), &self.scale))
            .expected_effect("every part is there", &step.parts)
            .patience(Duration::ZERO)
            .perform(
                |grant| self.execute(step, grant),
                |lookup| {
                    let business_id = &business_id;
                    async move { adapter::look_up(&self.receiver, business_id, &lookup).await }
                },
            )
            .await?;
        Ok(outcome)
    }

    /// One for each cell: their receivers are different worlds with the same names for things.
    fn namespace(&self) -> String {
        self.cell.to_string()
    }

    /// One send, and what is honestly known after it.
    async fn execute(&self, step: &Step, grant: Grant) -> Receipt {
        let parts = grant
            .resumes()
            .map_or_else(|| all_parts(step), <[String]>::to_vec);
        let mut request = self.request(step, &parts);
        request.idempotency_key = Some(grant.outward_key().to_owned());
        match self.apply(&request).await {
            Call::NotSent { reason } => Receipt::not_connected(reason),
            // The call has returned: what was sent of it was sent by now.
            Call::Unknown { detail, .. } => Receipt::unknown(detail).ended(),
            Call::Answered(Applied::Done {
                external_id, applied, ..
            }) if applied.len() == parts.len() => Receipt::completed(external_id),
            Call::Answered(Applied::Done { applied, .. }) => {
                Receipt::unknown(format_args!("only {} came about", applied.join(", "))).ended()
            }
            Call::Answered(Applied::Refused { error, .. }) if error.code == VERSION_CONFLICT => {
                Receipt::not_applied(Duration::ZERO, error.message)
            }
            Call::Answered(Applied::NotNow {
                retry_after, error, ..
            }) => Receipt::not_applied(retry_after, error.message),
            Call::Answered(Applied::Refused { error, .. }) => Receipt::rejected(error.message),
            Call::Answered(Applied::Accepted {
                external_id,
                retry_after,
                ..
            }) => Receipt::accepted(external_id, retry_after),
            Call::Answered(Applied::KeyInProgress) => {
                Receipt::unknown("an earlier request with this key is under way").ended()
            }
            Call::Answered(Applied::Failed { error, .. }) => Receipt::unknown(error.message).ended(),
        }
    }
}

/// What the receiver can and cannot do.
fn contract(step: &Step, keys: Keys, scale: &Scale) -> Contract {
    let contract = match keys {
        Keys::Ignored => Contract::serialized(scale.settle_window),
        Keys::Honoured => Contract::idempotency_key(hours(24)).verified(scale.settle_window),
    };
    let retry = Retry::default()
        .max_attempts(SENDS)
        .backoff(BACKOFF, 2.0, 4 * BACKOFF);
    let contract = contract
        .effect_class(step.class)
        .send_timeout(scale.send_timeout)
        .lease(scale.lease)
        .retry(retry);
    if step.class == EffectClass::Reversible {
        contract.on_partial_resume()
    } else {
        contract
    }
}
