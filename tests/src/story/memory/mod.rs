//! The core as an engine: rows, history and external ids in memory, no store, no wire.
//!
//! It does by hand what store and committer do: it recalls what is remembered of a call, keeps what was judged, and flags
//! the other action of a contested external id. It decides nothing.

mod command;
mod render;

use deed_core::Protocol;
use deed_core::command::{Ask, Command, Request};
use deed_core::id::{ActionKey, Caller, Fingerprint, RequestId};
use deed_core::reply::{Refusal, Reply};
use deed_core::text::{Owner, Principal};
use deed_core::time::{Span, Timestamp};
use deed_model::ledger::Ledger;
use uuid::Uuid;

use super::engine::{self, BASE, Call, Engine};
use super::script::ActionScript;
use super::told::Told;
pub use command::digest;

/// Everybody's principal: stories are played on loopback.
const LOCAL: &str = "local";

/// The core with what it is told to remember.
#[derive(Debug)]
pub struct Memory {
    protocol: Protocol,
    now: Timestamp,
    ledger: Ledger,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            protocol: Protocol::default(),
            now: BASE,
            ledger: Ledger::default(),
        }
    }
}

impl Memory {
    /// Judges a command and keeps what follows.
    fn judge(&mut self, command: &Command) -> Result<Reply, Refusal> {
        let remembered = self.ledger.recall(command);
        let row = self.ledger.row(&command.key);
        let judgement = self.protocol.decide(row, &remembered, command, self.now);
        self.ledger.keep(&command.key, &judgement);
        if let Some((other, external_id)) = judgement.contests {
            let contest = Command {
                key: other,
                request: command.request.clone(),
                ask: Ask::Contest {
                    by: command.key.action_id.clone(),
                    external_id,
                },
            };
            self.judge(&contest).ok();
        }
        judgement.reply
    }

    fn key_of(&self, call: &Call<'_>) -> Result<Option<ActionKey>, command::Invalid> {
        match call.ask {
            engine::Ask::Observe { via: Some(via), .. } => Ok(self
                .ledger
                .proven_by(&call.action.namespace, &call.action.tool, via)
                .cloned()),
            _ => command::key(call.action).map(Some),
        }
    }

    fn command(&self, call: &Call<'_>) -> Result<Option<Command>, command::Invalid> {
        let Some(key) = self.key_of(call)? else {
            return Ok(None);
        };
        // An operator is known by its principal, not by a name that it gives itself.
        let name = match call.ask {
            engine::Ask::Decide { .. } => LOCAL,
            _ => call.who,
        };
        let owner = Owner::new(name).map_err(|_| command::Invalid::new("owner"))?;
        let principal = Principal::new(LOCAL).map_err(|_| command::Invalid::new("principal"))?;
        let ask = command::ask(call)?;
        let said = format!("{key:?} {owner:?} {ask:?}");
        Ok(Some(Command {
            key,
            request: Request {
                id: RequestId(call.request),
                fingerprint: Fingerprint(Uuid::new_v5(&Uuid::NAMESPACE_OID, said.as_bytes()).into_bytes()),
                caller: Caller { owner, principal },
            },
            ask,
        }))
    }
}

impl Engine for Memory {
    async fn at(&mut self, time: Span) -> anyhow::Result<()> {
        self.now = BASE.plus(time);
        Ok(())
    }

    async fn commits_take(&mut self, _: Span) -> anyhow::Result<()> {
        // The core commits nothing: whatever happens to its judgement later cannot have a part in it.
        Ok(())
    }

    async fn call(&mut self, call: &Call<'_>) -> anyhow::Result<Told> {
        let now = self.now;
        let command = match self.command(call) {
            Ok(Some(command)) => command,
            Ok(None) => return Ok(render::refusal(&Refusal::ActionNotFound)),
            Err(invalid) => return Ok(invalid.told()),
        };
        Ok(match self.judge(&command) {
            Ok(reply) => render::reply(&command.ask, &reply, now),
            Err(refusal) => render::refusal(&refusal),
        })
    }

    async fn look(&mut self, action: &ActionScript) -> anyhow::Result<Option<Told>> {
        let row = command::key(action).ok().and_then(|key| self.ledger.row(&key));
        row.map(|row| render::action(&self.protocol, row, self.now))
            .transpose()
    }

    async fn history(&mut self, action: &ActionScript) -> anyhow::Result<Vec<Told>> {
        let key = command::key(action).ok();
        let events = key.as_ref().map_or(&[][..], |key| self.ledger.history(key));
        Ok(events.iter().map(render::event).collect())
    }
}
