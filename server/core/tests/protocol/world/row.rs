//! What a store keeps of one action, and what it remembers for a call.

use std::collections::BTreeMap;

use deed_core::action::{Action, GrantKind};
use deed_core::command::{Ask, Command, Decision, Resolution};
use deed_core::event::{Event, What};
use deed_core::id::{ActionKey, Token};
use deed_core::judgement::{PastRequest, PastToken, Remembered};
use deed_core::text::{ExternalId, Namespace, Tool};

/// The external-id table.
pub type Registry = BTreeMap<(Namespace, Tool, ExternalId), ActionKey>;

/// One action with its whole history.
#[derive(Clone, Default)]
pub struct Row {
    pub action: Option<Action>,
    pub events: Vec<Event>,
}

impl Row {
    /// What history says of the call, its token and its external id.
    pub fn remembered(&self, command: &Command, registry: &Registry) -> Remembered {
        Remembered {
            request: self.past_request(command),
            token: token_of(&command.ask).and_then(|token| self.past_token(token)),
            external_id: self.proven_by(command, registry),
        }
    }

    fn past_request(&self, command: &Command) -> Option<PastRequest> {
        self.events.iter().find_map(|event| {
            let trace = event.request.filter(|trace| trace.id == command.request.id)?;
            Some(PastRequest {
                fingerprint: trace.fingerprint,
                caller: event.by.clone()?,
                granted: trace.granted,
                begun: trace.begun,
            })
        })
    }

    /// What a token did.
    pub fn past_token(&self, token: Token) -> Option<PastToken> {
        let of_token = || self.events.iter().filter(move |event| event.token == Some(token));
        let granted = of_token().find(|event| matches!(event.what, What::Granted { .. }));
        let origin =
            granted.or_else(|| of_token().find(|event| matches!(event.what, What::Reported { .. })))?;
        let told = of_token().filter_map(|event| match event.what {
            What::Granted { expires_at, .. }
            | What::Lapsed { expires_at }
            | What::Released { expires_at }
            | What::Fenced { expires_at } => Some(expires_at),
            _ => None,
        });
        let assumed = self
            .action
            .as_ref()
            .map(|action| origin.at.plus(action.spec.contract.lease));
        Some(PastToken {
            holder: origin.by.clone()?,
            kind: match origin.what {
                What::Granted { kind, .. } => kind,
                _ => GrantKind::Execute,
            },
            attempt: of_token().find_map(|event| event.attempt),
            lease_end: told.max().or(assumed)?,
        })
    }

    fn proven_by(&self, command: &Command, registry: &Registry) -> Option<ActionKey> {
        let named = external_id_of(&command.ask)?;
        let tool = match (&self.action, &command.ask) {
            (Some(action), _) => action.spec.tool.clone(),
            (None, Ask::Report { spec: Some(spec), .. }) => spec.tool.clone(),
            (None, _) => return None,
        };
        registry
            .get(&(command.key.namespace.clone(), tool, named.clone()))
            .cloned()
    }
}

/// The token that a call presents.
pub fn token_of(ask: &Ask) -> Option<Token> {
    match ask {
        Ask::Begin { token }
        | Ask::Report { token, .. }
        | Ask::Verify { token, .. }
        | Ask::Renew { token }
        | Ask::Release { token } => Some(*token),
        Ask::Plan { .. }
        | Ask::Claim { .. }
        | Ask::Observe { .. }
        | Ask::Sweep
        | Ask::Contest { .. }
        | Ask::Decide { .. } => None,
    }
}

/// The external id that a call names.
pub fn external_id_of(ask: &Ask) -> Option<&ExternalId> {
    match ask {
        Ask::Report { receipt, .. } => receipt.external_id(),
        Ask::Verify { observation, .. } | Ask::Observe { observation } => observation.external_id(),
        Ask::Decide {
            decision:
                Decision::Resolve {
                    resolution: Resolution::Confirmed { external_id },
                    ..
                },
            ..
        } => external_id.as_ref(),
        _ => None,
    }
}
