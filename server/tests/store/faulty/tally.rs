//! Counts what was tested: which call met which fate at which statement. A run that met too little proves nothing.

use std::collections::{BTreeMap, HashMap};

use deed_core::command::Ask;
use deed_core::id::RequestId;

use super::answer::Asked;
use super::dials::{Entry, Fate, Statement};

/// The call's name.
pub fn name(ask: &Ask) -> &'static str {
    match ask {
        Ask::Plan { .. } => "Plan",
        Ask::Claim { .. } => "Claim",
        Ask::Begin { .. } => "Begin",
        Ask::Report { .. } => "Report",
        Ask::Verify { .. } => "Verify",
        Ask::Renew { .. } => "Renew",
        Ask::Release { .. } => "Release",
        Ask::Observe { .. } => "Observe",
        Ask::Sweep => "Sweep",
        Ask::Contest { .. } => "Contest",
        Ask::Decide { .. } => "Decide",
    }
}

/// Calls by name, statement and fate.
pub struct Tally(BTreeMap<(&'static str, Statement, Fate), usize>);

impl Tally {
    pub fn of(asked: &[Asked], journal: &[Entry]) -> Self {
        let names: HashMap<RequestId, &'static str> = asked
            .iter()
            .map(|asked| (asked.command.request.id, name(&asked.command.ask)))
            .collect();
        let mut counts = BTreeMap::new();
        for entry in journal {
            // The committer's own follow-ups are nobody's call.
            for name in entry.requests.iter().filter_map(|request| names.get(request)) {
                *counts.entry((*name, entry.statement, entry.fate)).or_default() += 1;
            }
        }
        Self(counts)
    }

    /// How often any call met this.
    pub fn met(&self, statement: Statement, fate: Fate) -> usize {
        let of_it = self
            .0
            .iter()
            .filter(|((_, at, was), _)| (*at, *was) == (statement, fate));
        of_it.map(|(_, count)| count).sum()
    }

    /// How often this call met this fate, at any statement.
    pub fn met_by(&self, name: &str, fate: Fate) -> usize {
        let of_it = self
            .0
            .iter()
            .filter(|((call, _, was), _)| (*call, *was) == (name, fate));
        of_it.map(|(_, count)| count).sum()
    }
}
