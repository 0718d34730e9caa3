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
    /// By the step's tool and the reason.
    pub why_undecided: BTreeMap<(&'static str, String), u32>,
    pub took: Vec<Duration>,
    pub sends: u64,
    /// Sends without an answer in time that no fault explains: the machine was busy.
    pub stray_timeouts: u64,
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
            End::Undecided { step, why } => task.steps().get(*step).map(|step| (step.tool, why.clone())),
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
            *self.why_undecided.entry(why).or_default() += 1;
        }
        self.took.push(episode.took);
    }
}

fn add(share: &mut Share, hit: bool) {
    share.of += 1;
    share.hits += u32::from(hit);
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: Task = Task::RecordInvoice;

    fn applied(step: usize, parts: &[&str]) -> Application {
        Application {
            external_id: String::new(),
            business_id: TASK.business_id(42, &TASK.steps()[step]),
            kind: String::new(),
            parts: parts.iter().map(|part| (*part).to_owned()).collect(),
            place: String::new(),
            in_right_place: true,
            amount: None,
            idempotency_key: None,
            fencing_token: None,
            applied_at_ms: 0,
            hidden_until_ms: 0,
            hidden_lookups: 0,
        }
    }

    fn all() -> Vec<Application> {
        (0..3)
            .map(|step| applied(step, &TASK.steps()[step].parts))
            .collect()
    }

    fn count(ledger: &[Application], ends: &[End]) -> Tally {
        let episode = Episode {
            seed: 42,
            took: Duration::ZERO,
            ends: ends.to_vec(),
        };
        Tally::count(TASK, &[episode], ledger)
    }

    #[test]
    fn a_part_that_came_about_again_is_a_duplicate_and_a_completed_one_is_not() {
        let mut completed = all();
        completed[0] = applied(0, &["row_created"]);
        completed.push(applied(0, &["amount_stored"]));
        let tally = count(&completed, &[End::Done]);
        assert_eq!((tally.duplicated.hits, tally.succeeded.hits), (0, 1));

        completed.push(applied(0, &["row_created"]));
        let tally = count(&completed, &[End::Done]);
        assert_eq!((tally.duplicated.hits, tally.repeated_parts), (1, 1));
    }

    #[test]
    fn done_with_parts_missing_is_a_mistake_and_no_success() {
        let tally = count(&all()[..2], &[End::Done]);
        assert_eq!((tally.succeeded.hits, tally.mistaken.hits), (0, 1));
    }

    #[test]
    fn a_step_called_failed_that_has_an_effect_is_a_mistake() {
        let [effect, none] = [&all()[..1], &[]].map(|ledger| count(ledger, &[End::Failed { step: 0 }]));
        assert_eq!((effect.mistaken.hits, none.mistaken.hits), (1, 0));
    }

    #[test]
    fn doubt_counts_only_where_no_worker_is_done() {
        let doubt = End::Undecided {
            step: 2,
            why: "PARTIAL".to_owned(),
        };
        assert_eq!(count(&all(), &[doubt.clone(), End::Done]).undecided.hits, 0);
        assert_eq!(count(&all(), &[doubt]).undecided.hits, 1);
    }
}
