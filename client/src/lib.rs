//! The worker's half of Deed: claims actions, keeps their leases, and tells the service the truth about every send.
//!
//! ```no_run
//! use deed_client::{Contract, Deed, Observation, Receipt, hours};
//! # async fn charge_card(_key: &str) -> Result<String, std::io::Error> { Ok(String::new()) }
//! # async fn find_charge(_key: &str) -> Result<Option<String>, std::io::Error> { Ok(None) }
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! # let charge = serde_json::json!({"order": "4821", "amount": 30});
//! let deed = Deed::connect("http://127.0.0.1:7717")?;
//! let outcome = deed
//!     .action("order-4821/charge")
//!     .tool("charge_card")
//!     .input(&charge)?
//!     .contract(Contract::idempotency_key(hours(24)))
//!     .perform(
//!         |grant| async move { charge_card(grant.outward_key()).await.map(Receipt::completed) },
//!         |lookup| async move {
//!             find_charge(lookup.outward_key()).await.map(|found| match found {
//!                 Some(id) => Observation::confirmed(id),
//!                 None => Observation::not_found(),
//!             })
//!         },
//!     )
//!     .await?;
//! # Ok(())
//! # }
//! ```
//!
//! What it keeps, so that its user need not: a lease is measured from before the claim was sent, on two clocks; all leases
//! of the process are renewed in one call; no send starts, or goes on, under a lease that is not surely live; lost calls
//! are repeated under the same request id; timeouts, panics and cancellations are *unknown*, never failure; and no
//! receipt is dropped.
//!
//! What it cannot keep: a process frozen between the gate and its first byte can still send late. Send timeout, settle
//! window, outward key and fencing token are for that. One grant is one send: no retries inside an SDK, a proxy or a queue
//! under it. *Not sent* and *ended* are believed.

mod action;
mod adapt;
mod calls;
mod clock;
mod contract;
mod deed;
mod door;
mod error;
mod evidence;
mod grant;
mod guard;
mod hold;
mod input;
mod json;
mod many;
mod observation;
mod outcome;
mod perform;
mod receipt;
mod renewals;
mod repeat;
mod session;
mod span;
#[cfg(test)]
mod testing;
mod text;
mod wire;
mod worker;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use deed_proto::v1;

pub use crate::action::Action;
pub use crate::calls::Calls;
pub use crate::clock::{Clock, SystemClock};
pub use crate::contract::{Contract, EffectClass, Retry};
pub use crate::deed::{Builder, Deed};
pub use crate::error::{CallError, Error, Redelivery, Refusal};
pub use crate::grant::{FencingToken, Grant, Guarantee, Lookup};
pub use crate::input::InputError;
pub use crate::observation::{Observation, Seen};
pub use crate::outcome::{Blocked, BlockedReason, GrantKind, Outcome, Pending, Settled, State, WaitReason};
pub use crate::receipt::{NotSentReason, Receipt};
pub use crate::span::{days, hours, minutes, seconds};

/// Nothing here panics while it holds a lock, so a poisoned one is as good as any.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
