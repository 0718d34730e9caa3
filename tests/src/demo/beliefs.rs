//! What Deed believes at the end: every action of the demo as `ListActions` shows it.
//!
//! Owns the question and what is told of undecided actions. It asks like any screen does, over gRPC.

use std::collections::HashMap;

use anyhow::Context;
use deed_proto::v1::{Action, State};

use super::guarded::NAMESPACE;
use super::tally::Word;
use crate::support::standing::{list, next, reason, state};

/// So many undecided actions are explained, and one more line says how many are left; more would push the table off the
/// screen.
const EXPLAINED: usize = 9;

/// Deed's side of the tally.
#[derive(Debug)]
pub struct Beliefs {
    /// By invoice id.
    pub words: HashMap<String, Word>,
    /// One line for each undecided action, and one that says how many were left out.
    pub explanations: Vec<String>,
}

/// Asks the server for everything it knows of the demo.
pub async fn ask(url: String) -> anyhow::Result<Beliefs> {
    let actions = list(url, NAMESPACE)
        .await
        .context("Deed does not say how its actions stand")?;
    let mut words = HashMap::new();
    let mut explanations = Vec::new();
    let mut undecided = 0_usize;
    for action in &actions {
        let action_id = action.key.as_ref().map_or("", |key| key.action_id.as_str());
        let invoice_id = action_id.split('/').next().unwrap_or(action_id);
        let word = match action.state() {
            State::Confirmed => Word::Done,
            State::Rejected | State::Abandoned => Word::NotDone,
            State::Unspecified
            | State::AwaitingApproval
            | State::Planned
            | State::Sent
            | State::Accepted
            | State::Partial
            | State::Unknown
            | State::NotFound => Word::Undecided,
        };
        words.insert(invoice_id.to_owned(), word);
        if word == Word::Undecided {
            undecided += 1;
            if undecided <= EXPLAINED {
                explanations.push(explain(action_id, action));
            }
        }
    }
    if undecided > EXPLAINED {
        explanations.push(format!("and {} more", undecided - EXPLAINED));
    }
    Ok(Beliefs { words, explanations })
}

fn explain(action_id: &str, action: &Action) -> String {
    let mut line = format!("{action_id}: {}", state(action));
    let reason = reason(action);
    if !reason.is_empty() {
        line.push_str(&format!(", {reason}"));
    }
    format!("{line}; next step: {}", next(action))
}
