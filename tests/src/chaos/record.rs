//! What is left after the storm: the receivers' ledgers, the workers' logs, and what Deed remembers.
//!
//! Owns the shape in which the checker reads it; judges nothing.

use std::collections::BTreeMap;

use super::fleet::Fleet;
use super::log::Line;
use super::nemesis::Diary;

/// Everything that a judgement is made from.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// By action, in the order in which they came about.
    pub effects: BTreeMap<String, Vec<Effect>>,
    /// By worker.
    pub logs: Vec<Vec<Line>>,
    /// By action, in order.
    pub history: BTreeMap<String, Vec<Event>>,
    /// By action, as Deed shows it.
    pub actions: BTreeMap<String, Standing>,
    pub diary: Diary,
    /// Processes that ended although nobody ended them.
    pub fallen: Vec<String>,
}

/// An effect in a receiver's ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    pub token: Option<u64>,
    /// From when lookups show it, in milliseconds since 1970.
    pub visible_at_ms: i64,
}

/// A row of history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    pub sequence: i64,
    /// In milliseconds since 1970.
    pub at_ms: i64,
    pub kind: String,
    pub token: Option<u64>,
    pub owner: Option<String>,
    /// Whether a call is remembered by it.
    pub called: bool,
    /// After it.
    pub state: String,
    /// Of a grant: `EXECUTE` or `VERIFY`.
    pub grant: Option<String>,
    /// The latest lease end that the holder was told.
    pub expires_at_ms: Option<i64>,
    /// Of a grant: with it, the gate was passed.
    pub begun: bool,
    /// Of evidence: the receipt's or the verdict's name.
    pub evidence: Option<String>,
    /// Of a receipt: the send is surely over.
    pub ended: bool,
    /// Of an observation: it moved the state.
    pub counted: bool,
}

/// An action as screens show it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    pub state: String,
    pub effect_id: String,
    /// Why it is as it is; empty where nothing is to be said.
    pub reason: String,
    /// What comes next, in words.
    pub next: String,
}

impl Event {
    /// Nothing is executed any more.
    pub fn settled(&self) -> bool {
        settled(&self.state)
    }

    /// Lets its holder send.
    pub fn executes(&self) -> bool {
        self.kind == "BEGUN" || self.kind == "GRANTED" && self.grant.as_deref() == Some("EXECUTE")
    }
}

impl Standing {
    pub fn decided(&self) -> bool {
        settled(&self.state)
    }
}

fn settled(state: &str) -> bool {
    ["CONFIRMED", "REJECTED", "ABANDONED"].contains(&state)
}

impl Record {
    /// The actions of one fleet that anybody has taken up.
    pub fn taken_up(&self, fleet: Fleet) -> impl Iterator<Item = &str> {
        let mut actions: Vec<&str> = self.ends().map(|(action, _, _)| action).collect();
        actions.extend(self.history.keys().map(String::as_str));
        actions.extend(self.effects.keys().map(String::as_str));
        actions.sort_unstable();
        actions.dedup();
        actions
            .into_iter()
            .filter(move |action| Fleet::of(action) == Some(fleet))
    }

    /// What workers were told, with the tokens under which Deed acknowledged evidence.
    pub fn ends(&self) -> impl Iterator<Item = (&str, &super::log::End, &[u64])> {
        self.logs.iter().flatten().filter_map(|line| match line {
            Line::Ended {
                action,
                end,
                acknowledged,
                ..
            } => Some((action.as_str(), end, acknowledged.as_slice())),
            _ => None,
        })
    }

    pub fn events(&self, action: &str) -> &[Event] {
        self.history.get(action).map(Vec::as_slice).unwrap_or_default()
    }
}
