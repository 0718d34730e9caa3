//! Renewals: many leases in one call, each a command of its own.

use std::collections::HashSet;

use deed_core::command::{Ask, Command, Request};
use deed_core::id::{Caller, RequestId};
use deed_core::text::Principal;
use deed_proto::v1;
use uuid::Uuid;

use super::request::{Repeatable, caller, fingerprint};
use super::text::bounded;
use super::{At, Invalid, number, text};

/// As many leases as one process is likely to hold; more go in another call.
const MAX_LEASES: usize = 1_000;

/// One entry: a command, or what is wrong with it. A bad entry costs its neighbours nothing.
pub type Entry = Result<Command, Invalid>;

/// Parses `Renew` into its entries, in their order.
pub fn renew(mut message: v1::RenewRequest, principal: Principal) -> Result<Vec<Entry>, Invalid> {
    let leases = std::mem::take(&mut message.leases);
    let (id, _) = message.identify()?;
    let caller = caller(message.owner, principal)?;
    if leases.is_empty() {
        return Err(Invalid::because("is empty: name the leases to prolong")).at("leases");
    }
    bounded(leases.len(), MAX_LEASES).at("leases")?;
    let mut seen = HashSet::new();
    let entries = leases.into_iter().enumerate();
    Ok(entries
        .map(|(index, lease)| {
            let command = entry(id, &caller, index, lease).at_entry("leases", index)?;
            if !seen.insert(command.key.clone()) {
                return Err(Invalid::because("names an action a second time")).at_entry("leases", index);
            }
            Ok(command)
        })
        .collect())
}

fn entry(id: RequestId, caller: &Caller, index: usize, lease: v1::RenewEntry) -> Entry {
    let request = Request {
        id: RequestId(Uuid::new_v5(&id.0, index.to_string().as_bytes())),
        fingerprint: fingerprint(v1::RenewRequest::CALL, &lease),
        caller: caller.clone(),
    };
    Ok(Command {
        key: text::key(lease.key)?,
        request,
        ask: Ask::Renew {
            token: number::token(lease.fencing_token)?,
        },
    })
}
