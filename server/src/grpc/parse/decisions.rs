//! The decisions of people in charge.

use deed_core::action::Flag;
use deed_core::command::{Ask, Command, Decision, Request, Resolution};
use deed_core::id::Caller;
use deed_core::text::{ActionId, ExternalId, Note, Owner, Principal};
use deed_proto::v1;

use super::calls::Call;
use super::request::Repeatable;
use super::spec::input_hash;
use super::text::{self, key_text, note, optional_key_text};
use super::{At, Invalid, number};
use crate::auth::Right;

/// A reference says where the proof is kept; it is not the proof.
const MAX_PROOF_BYTES: usize = 512;

/// An operator is known by its principal, not by a name that it gives itself.
fn operator(principal: Principal) -> Result<Caller, Invalid> {
    let owner = Owner::new(principal.as_str())
        .map_err(Invalid::from)
        .at("principal")?;
    Ok(Caller { owner, principal })
}

fn proof(text: String) -> Result<Option<Note>, Invalid> {
    if text.len() > MAX_PROOF_BYTES {
        let reason = format!("has {} bytes; at most {MAX_PROOF_BYTES} are allowed", text.len());
        return Err(Invalid::because(reason)).at("proof_reference");
    }
    let parsed = note(text, "proof_reference")?;
    Ok((!parsed.blank()).then_some(parsed))
}

/// Gives a message of `Operations` its parser; all but the decision itself is the same for each.
macro_rules! decision {
    ($($message:ident: $self:ident => $decision:expr;)*) => {$(
        impl Call for v1::$message {
            const RIGHT: Right = Right::Decide;

            fn command(mut self, principal: Principal) -> Result<Command, Invalid> {
                let (id, fingerprint) = self.identify()?;
                let caller = operator(principal)?;
                let key = text::key(self.key.take())?;
                let version = number::version(self.version, "version")?;
                let note = note(std::mem::take(&mut self.note), "note")?;
                let $self = self;
                let decision = $decision;
                let request = Request { id, fingerprint, caller };
                Ok(Command { key, request, ask: Ask::Decide { version, note, decision } })
            }
        }
    )*};
}

decision! {
    ApproveRequest: it => Decision::Approve { input: input_hash(it.input_hash)? };
    DenyRequest: _it => Decision::Deny;
    AssignRequest: it => Decision::Assign {
        assignee: optional_key_text(it.assignee, Owner::new, "assignee")?,
    };
    ResolveRequest: it => Decision::Resolve {
        resolution: resolution(it.resolution)?,
        proof: proof(it.proof_reference)?,
    };
    ReopenRequest: it => Decision::Reopen {
        new_key: it.new_key,
        proof: proof(it.proof_reference)?,
    };
    AcknowledgeRequest: it => Decision::Acknowledge { flag: required_flag(it.flag)? };
}

fn resolution(message: Option<v1::resolve_request::Resolution>) -> Result<Resolution, Invalid> {
    use v1::resolve_request::Resolution as Kind;
    Ok(match message {
        None => {
            let reason = "must be one of: confirmed, absent, rejected, compensated, abandoned";
            return Err(Invalid::because(reason)).at("resolution");
        }
        Some(Kind::Confirmed(it)) => Resolution::Confirmed {
            external_id: optional_key_text(it.external_id, ExternalId::new, "external_id").at("confirmed")?,
        },
        Some(Kind::Absent(_)) => Resolution::Absent,
        Some(Kind::Rejected(_)) => Resolution::Rejected,
        Some(Kind::Compensated(it)) => Resolution::Compensated {
            by: key_text(it.compensating_action, ActionId::new, "compensating_action").at("compensated")?,
        },
        Some(Kind::Abandoned(_)) => Resolution::Abandoned,
    })
}

fn required_flag(number: i32) -> Result<Flag, Invalid> {
    flag(number, "flag")?.ok_or_else(Invalid::missing).at("flag")
}

/// A flag; None where it was left out.
pub fn flag(number: i32, field: &str) -> Result<Option<Flag>, Invalid> {
    Ok(match number::known(number, field)? {
        v1::Flag::Unspecified => None,
        v1::Flag::DuplicateSuspected => Some(Flag::DuplicateSuspected),
        v1::Flag::Contradicted => Some(Flag::Contradicted),
        v1::Flag::Ungated => Some(Flag::Ungated),
    })
}
