//! What the ledger says about the episodes of one cell, and how far the agents' beliefs agree with it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::agent::End;
use super::interval::Share;
use super::task::Task;
use crate::receiver::Application;

/// One seed in one cell, as its agents saw it.
#[derive(Clone, Debug)]
pub struct Episode {
    pub seed: u64,
    /// From the start of the first worker to the end of the last.
    pub took: Duration,
    /// One for each worker.
    pub ends: Vec<End>,
}

/// Counts of one cell. Every share is of its episodes.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Some part came about more than once.
    pub duplicated: Share,
    /// A worker says that the task is done, and every part is there.
    pub succeeded: Share,
    /// As above, and every part is there once.
    pub once: Share,
    /// No worker says done, and one does not know or leaves the rest to a person.
    pub undecided: Share,
    /// A worker says done while parts are missing, or says that a step has no effect while it has.
    pub mistaken: Share,
    /// Parts that came about again, in all episodes.
    pub repeated_parts: usize,
    pub why_undecided: BTreeMap<String, u32>,
    pub took: Vec<Duration>,
}

impl Tally {
    /// Holds the episodes against the whole ledger of their cell.
    pub fn count(task: Task, episodes: &[Episode], ledger: &[Application]) -> Self {
        let mut parts: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for application in ledger {
            let names = application.parts.iter().map(String::as_str);
            parts.entry(&application.business_id).or_default().extend(names);
        }
        let mut tally = Self::default();
        for episode in episodes {
            tally.add(task, episode, &parts);
        }
        tally
    }

    fn add(&mut self, task: Task, episode: &Episode, ledger: &BTreeMap<&str, Vec<&str>>) {
        let steps: Vec<&[&str]> = task
            .steps()
            .iter()
            .map(|step| {
                let applied = ledger.get(task.business_id(episode.seed, step).as_str());
                applied.map(Vec::as_slice).unwrap_or_default()
            })
            .collect();
        let distinct = |applied: &[&str]| applied.iter().collect::<BTreeSet<_>>().len();
        let repeated: usize = steps
            .iter()
            .map(|applied| applied.len() - distinct(applied))
            .sum();
        let complete = steps
            .iter()
            .zip(task.steps())
            .all(|(applied, step)| distinct(applied) == step.parts.len());
        let done = episode.ends.contains(&End::Done);
        let undecided = episode.ends.iter().find_map(|end| match end {
            End::Undecided { why, .. } => Some(why),
            End::Done | End::Failed { .. } => None,
        });
        let mistaken = episode.ends.iter().any(|end| match end {
            End::Done => !complete,
            End::Failed { step } => steps.get(*step).is_some_and(|applied| !applied.is_empty()),
            End::Undecided { .. } => false,
        });

        add(&mut self.duplicated, repeated > 0);
        add(&mut self.succeeded, done && complete);
        add(&mut self.once, done && complete && repeated == 0);
        add(&mut self.undecided, !done && undecided.is_some());
        add(&mut self.mistaken, mistaken);
        self.repeated_parts += repeated;
        if let Some(why) = undecided.filter(|_| !done) {
            *self.why_undecided.entry(why.clone()).or_default() += 1;
        }
        self.took.push(episode.took);
    }
}

fn add(share: &mut Share, hit: bool) {
    share.of += 1;
    share.hits += u32::from(hit);
}
