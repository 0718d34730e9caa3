//! Rows, history and external ids, and what they remember of a call.

use std::collections::HashMap;

use deed_core::action::{Action, GrantKind};
use deed_core::command::{Ask, Command, Decision, Resolution};
use deed_core::event::{Event, What};
use deed_core::id::{ActionKey, RequestId, Token};
use deed_core::judgement::{Judgement, PastRequest, PastToken, Remembered};
use deed_core::text::ExternalId;

/// Namespace, tool and what the receiver calls the effect.
type EffectName = (String, String, String);

/// Everything that is kept.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    rows: HashMap<ActionKey, Action>,
    history: HashMap<ActionKey, Vec<Event>>,
    effects: HashMap<EffectName, ActionKey>,
}

impl Ledger {
    /// The row.
    pub fn row(&self, key: &ActionKey) -> Option<&Action> {
        self.rows.get(key)
    }

    /// Its history, oldest first.
    pub fn history(&self, key: &ActionKey) -> &[Event] {
        self.history.get(key).map_or(&[], Vec::as_slice)
    }

    /// The action that this external id proves.
    pub fn proven_by(&self, namespace: &str, tool: &str, external_id: &str) -> Option<&ActionKey> {
        let name = (namespace.to_owned(), tool.to_owned(), external_id.to_owned());
        self.effects.get(&name)
    }

    /// From now on the external id proves this action, unless it proves one already.
    pub fn register(&mut self, key: &ActionKey, tool: &str, external_id: &str) {
        let name = (
            key.namespace.as_str().to_owned(),
            tool.to_owned(),
            external_id.to_owned(),
        );
        self.effects.entry(name).or_insert_with(|| key.clone());
    }

    /// What is remembered of a call.
    pub fn recall(&self, command: &Command) -> Remembered {
        let (token, external_id) = named(&command.ask);
        let spec = match &command.ask {
            Ask::Report { spec: Some(spec), .. } => Some(&**spec),
            _ => None,
        };
        let tool = self
            .row(&command.key)
            .map(|row| &row.spec)
            .or(spec)
            .map(|spec| &spec.tool);
        let namespace = command.key.namespace.as_str();
        Remembered {
            request: self.past_request(&command.key, command.request.id),
            token: token.and_then(|token| self.past_token(&command.key, token)),
            external_id: tool
                .zip(external_id)
                .and_then(|(tool, id)| self.proven_by(namespace, tool.as_str(), id.as_str()))
                .cloned(),
        }
    }

    /// What is remembered of a request.
    pub fn past_request(&self, key: &ActionKey, id: RequestId) -> Option<PastRequest> {
        past_request(self.history(key), id)
    }

    /// What is remembered of a token.
    pub fn past_token(&self, key: &ActionKey, token: Token) -> Option<PastToken> {
        past_token(self.history(key), token, self.row(key))
    }

    /// Keeps what a judgement says.
    pub fn keep(&mut self, key: &ActionKey, judgement: &Judgement) {
        let Some(next) = &judgement.next else { return };
        if let Some(external_id) = &judgement.registers {
            self.register(key, next.spec.tool.as_str(), external_id.as_str());
        }
        self.rows.insert(key.clone(), (**next).clone());
        let history = self.history.entry(key.clone()).or_default();
        history.extend(judgement.events.iter().cloned());
    }
}

/// The token that a call presents and the external id that it names.
fn named(ask: &Ask) -> (Option<Token>, Option<&ExternalId>) {
    match ask {
        Ask::Begin { token } | Ask::Renew { token } | Ask::Release { token } => (Some(*token), None),
        Ask::Report { token, receipt, .. } => (Some(*token), receipt.external_id()),
        Ask::Verify {
            token, observation, ..
        } => (Some(*token), observation.external_id()),
        Ask::Observe { observation } => (None, observation.external_id()),
        Ask::Decide {
            decision:
                Decision::Resolve {
                    resolution: Resolution::Confirmed { external_id },
                    ..
                },
            ..
        } => (None, external_id.as_ref()),
        Ask::Plan { .. } | Ask::Claim { .. } | Ask::Sweep | Ask::Contest { .. } | Ask::Decide { .. } => {
            (None, None)
        }
    }
}

fn past_request(events: &[Event], id: RequestId) -> Option<PastRequest> {
    events.iter().find_map(|event| {
        let trace = event.request.filter(|trace| trace.id == id)?;
        Some(PastRequest {
            fingerprint: trace.fingerprint,
            caller: event.by.clone()?,
            granted: trace.granted,
            begun: trace.begun,
        })
    })
}

/// What a token did. Its grant says for whom and what; later events its attempt and the latest expiry that was told. A
/// token of which only reports are known was lost by a failover: its lease is taken to end a lease after the report.
fn past_token(events: &[Event], token: Token, row: Option<&Action>) -> Option<PastToken> {
    let mut past: Option<PastToken> = None;
    for event in events.iter().filter(|event| event.token == Some(token)) {
        let (kind, end) = match &event.what {
            What::Granted { kind, expires_at, .. } => (*kind, *expires_at),
            What::Lapsed { expires_at } | What::Released { expires_at } | What::Fenced { expires_at } => {
                (GrantKind::Execute, *expires_at)
            }
            What::Reported { .. } => {
                let lease = row.map_or_else(Default::default, |row| row.spec.contract.lease);
                (GrantKind::Execute, event.at.plus(lease))
            }
            What::Observed { .. } => (GrantKind::Verify, event.at),
            What::Begun => (GrantKind::Execute, event.at),
            What::Planned
            | What::ApprovalExpired
            | What::Decided { .. }
            | What::Contested { .. }
            | What::Flagged { .. } => continue,
        };
        match &mut past {
            None => {
                past = event.by.clone().map(|holder| PastToken {
                    holder,
                    kind,
                    attempt: event.attempt,
                    lease_end: end,
                });
            }
            Some(past) => {
                past.attempt = event.attempt.or(past.attempt);
                let told = matches!(
                    event.what,
                    What::Lapsed { .. } | What::Released { .. } | What::Fenced { .. }
                );
                if told {
                    past.lease_end = past.lease_end.max(end);
                }
            }
        }
    }
    past
}
