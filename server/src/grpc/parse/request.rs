//! Who asks, and how a repeat is recognised: request id, fingerprint, caller.

use deed_core::command::Request;
use deed_core::id::{Caller, Fingerprint, RequestId};
use deed_core::text::{Owner, Principal};
use prost::Message;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::text::key_text;
use super::{At, Invalid};

/// A request id: a UUID as text.
pub fn request_id(text: &str) -> Result<RequestId, Invalid> {
    let parse = || {
        if text.is_empty() {
            return Err(Invalid::missing());
        }
        let id = Uuid::try_parse(text)
            .map_err(|_| Invalid::because("is not a UUID: choose one at random for every call"))?;
        if id.is_nil() {
            return Err(Invalid::because(
                "is the nil UUID: choose one at random for every call",
            ));
        }
        Ok(RequestId(id))
    };
    parse().at("request_id")
}

/// A digest of everything a call says but its request id, under the name of the call.
// SUBTLE: encoding a parsed message gives one byte string for one content, because the API has no maps and prost writes
// fields in the order of their numbers. With a map a repeat could look like another call (B19).
pub fn fingerprint(call: &str, message: &impl Message) -> Fingerprint {
    let digest = Sha256::new()
        .chain_update(call.as_bytes())
        .chain_update([0])
        .chain_update(message.encode_to_vec())
        .finalize();
    let mut first = [0; 16];
    first.copy_from_slice(&digest[..16]);
    Fingerprint(first)
}

/// A worker or witness: the name it gives itself, bound to its principal.
pub fn caller(owner: String, principal: Principal) -> Result<Caller, Invalid> {
    let owner = key_text(owner, Owner::new, "owner")?;
    Ok(Caller { owner, principal })
}

/// A message that carries a request id.
pub trait Repeatable: Message {
    /// The call's name.
    const CALL: &'static str;

    /// Where the request id is.
    fn request_id(&mut self) -> &mut String;

    /// Takes the request id out and digests the rest.
    fn identify(&mut self) -> Result<(RequestId, Fingerprint), Invalid>
    where
        Self: Sized,
    {
        let id = request_id(&std::mem::take(self.request_id()))?;
        Ok((id, fingerprint(Self::CALL, self)))
    }

    /// Identifies a call of a worker or witness.
    fn request(&mut self, owner: String, principal: Principal) -> Result<Request, Invalid>
    where
        Self: Sized,
    {
        let (id, fingerprint) = self.identify()?;
        let caller = caller(owner, principal)?;
        Ok(Request {
            id,
            fingerprint,
            caller,
        })
    }
}

macro_rules! repeatable {
    ($($message:ident => $call:literal),* $(,)?) => {$(
        impl Repeatable for deed_proto::v1::$message {
            const CALL: &'static str = $call;

            fn request_id(&mut self) -> &mut String {
                &mut self.request_id
            }
        }
    )*};
}

repeatable! {
    PlanRequest => "Plan",
    ClaimRequest => "Claim",
    BeginRequest => "Begin",
    ReportRequest => "Report",
    VerifyRequest => "Verify",
    RenewRequest => "Renew",
    ReleaseRequest => "Release",
    ObserveRequest => "Observe",
    ApproveRequest => "Approve",
    DenyRequest => "Deny",
    AssignRequest => "Assign",
    ResolveRequest => "Resolve",
    ReopenRequest => "Reopen",
    AcknowledgeRequest => "Acknowledge",
}
