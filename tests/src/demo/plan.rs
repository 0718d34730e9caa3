//! What the seed decides: who is offered which invoice in which order, how the receiver misbehaves, whom a kill strikes
//! and when.
//!
//! The same seed gives both arms the same plan. It does not fix who wins a race: processes are real, and so is time.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use super::invoice::Invoice;
use crate::receiver::{Dials, Fault, Magnitudes, Odds};

/// What the receiver needs for an invoice when nothing goes wrong. Long enough for a kill, or another worker, to come in
/// between; short enough for five hundred of them.
const WORK: Duration = Duration::from_millis(8);

/// An effect that is applied late is late by this, whatever became of its caller.
pub const LATE: Duration = Duration::from_millis(150);

/// An effect that is hidden is not shown for this long after it was applied.
const HIDDEN: Duration = Duration::from_millis(150);

/// How long a worker of either arm waits for an answer: longer than [`LATE`], so that most late effects are answered.
pub const SEND_TIMEOUT: Duration = Duration::from_millis(400);

/// A late answer comes after [`SEND_TIMEOUT`], when nobody waits for it any more.
const ANSWER_LATE: Duration = Duration::from_millis(700);

/// The receiver's rate limit and maintenance pass within this.
const RETRY_AFTER: Duration = Duration::from_millis(60);

/// Both workers to whom an invoice is offered come to it at about the same time: their orders differ only within
/// stretches of this length.
const STRETCH: usize = 6;

/// The longest pause between the moment that a kill waits for and the kill: it then falls anywhere in an action.
const LONGEST_AIM: Duration = Duration::from_millis(40);

/// Whom a kill strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// A running worker, chosen by this number.
    Worker(u32),
    /// The Deed server; nobody where there is none.
    Server,
}

/// One SIGKILL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strike {
    /// Comes once this many offers are finished,
    pub after: usize,
    /// and this much later.
    pub aim: Duration,
    pub victim: Victim,
}

/// What the seed decides.
#[derive(Clone, Debug)]
pub struct Plan {
    /// By worker, in its order.
    pub offers: Vec<Vec<Invoice>>,
    /// In the order in which they come.
    pub strikes: Vec<Strike>,
    pub dials: Dials,
}

/// What the person at the keyboard decides.
#[derive(Clone, Copy, Debug)]
pub struct Wishes {
    pub seed: u64,
    /// At least 2: every invoice is offered to two of them.
    pub workers: usize,
    /// Of workers, in each arm.
    pub kills: usize,
    pub kill_server: bool,
}

impl Plan {
    pub fn draw(invoices: &[Invoice], wishes: Wishes) -> Self {
        let mut chance = StdRng::seed_from_u64(wishes.seed);
        let offers = offers(invoices, wishes.workers, &mut chance);
        let total = offers.iter().map(Vec::len).sum();
        let strikes = strikes(total, wishes, &mut chance);
        Self {
            offers,
            strikes,
            dials: dials(wishes.seed),
        }
    }

    /// How many times an invoice is offered to somebody.
    pub fn offered(&self) -> usize {
        self.offers.iter().map(Vec::len).sum()
    }
}

fn offers(invoices: &[Invoice], workers: usize, chance: &mut StdRng) -> Vec<Vec<Invoice>> {
    let mut shuffled = invoices.to_vec();
    shuffled.shuffle(chance);
    let mut offers = vec![Vec::new(); workers];
    for (index, invoice) in shuffled.into_iter().enumerate() {
        offers[index % workers].push(invoice.clone());
        offers[(index + 1) % workers].push(invoice);
    }
    for stretch in offers.iter_mut().flat_map(|list| list.chunks_mut(STRETCH)) {
        stretch.shuffle(chance);
    }
    offers
}

fn strikes(total: usize, wishes: Wishes, chance: &mut StdRng) -> Vec<Strike> {
    // Not in the last tenth: a kill that waits for an offer that has finished already would strike nobody.
    let last = (total * 9 / 10).max(1);
    let aim = |after, victim, chance: &mut StdRng| Strike {
        after,
        aim: LONGEST_AIM.mul_f64(chance.random::<f64>()),
        victim,
    };
    let mut strikes: Vec<Strike> = (0..wishes.kills)
        .map(|_| {
            let after = chance.random_range(0..last);
            let victim = Victim::Worker(chance.random());
            aim(after, victim, chance)
        })
        .collect();
    if wishes.kill_server {
        let after = chance.random_range(total * 2 / 5..=total * 3 / 5);
        strikes.push(aim(after, Victim::Server, chance));
    }
    strikes.sort_by_key(|strike| strike.after);
    strikes
}

fn dials(seed: u64) -> Dials {
    let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    Dials {
        seed,
        every: Fault::apply_after(ms(WORK)),
        odds: Odds {
            rate_limit: 0.03,
            maintenance: 0.02,
            drop_before: 0.03,
            drop_answer: 0.06,
            answer_late: 0.015,
            apply_late: 0.05,
            hide: 0.05,
            lookup_drop: 0.02,
            ..Odds::default()
        },
        magnitudes: Magnitudes {
            retry_after_ms: ms(RETRY_AFTER),
            answer_late_ms: ms(ANSWER_LATE),
            apply_late_ms: ms(LATE),
            hide_ms: ms(HIDDEN),
        },
        ..Dials::default()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::path::Path;

    use super::*;
    use crate::demo::invoice;

    fn wishes(seed: u64) -> Wishes {
        Wishes {
            seed,
            workers: 4,
            kills: 12,
            kill_server: true,
        }
    }

    fn invoices() -> Vec<Invoice> {
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/invoices.jsonl");
        invoice::read(&shipped, None).unwrap()
    }

    #[test]
    fn every_invoice_is_offered_to_two_different_workers() {
        let plan = Plan::draw(&invoices(), wishes(7));
        let mut offered: HashMap<&str, Vec<usize>> = HashMap::new();
        for (worker, list) in plan.offers.iter().enumerate() {
            for invoice in list {
                offered.entry(&invoice.invoice_id).or_default().push(worker);
            }
        }
        assert_eq!(offered.len(), 500);
        assert!(offered.values().all(|by| by.len() == 2 && by[0] != by[1]));
    }

    #[test]
    fn one_seed_gives_one_plan_and_another_seed_gives_another() {
        let draw = |seed| {
            let plan = Plan::draw(&invoices(), wishes(seed));
            (plan.offers, plan.strikes)
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7).0, draw(8).0);
        assert_ne!(draw(7).1, draw(8).1);
    }

    #[test]
    fn the_server_is_struck_once_in_the_middle_and_workers_as_often_as_wished() {
        let Plan { strikes, offers, .. } = Plan::draw(&invoices(), wishes(7));
        let total: usize = offers.iter().map(Vec::len).sum();
        assert!(strikes.is_sorted_by_key(|strike| strike.after));
        let (server, workers): (Vec<&Strike>, Vec<&Strike>) =
            strikes.iter().partition(|strike| strike.victim == Victim::Server);
        assert_eq!((server.len(), workers.len()), (1, 12));
        assert!((total / 3..total * 2 / 3).contains(&server[0].after));
    }

    #[test]
    fn what_is_late_or_hidden_is_seen_well_before_deed_believes_in_absence() {
        assert!(LATE + HIDDEN < crate::demo::guarded::SETTLE_WINDOW);
        assert!(LATE < SEND_TIMEOUT && SEND_TIMEOUT < ANSWER_LATE);
    }
}
