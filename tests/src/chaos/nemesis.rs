//! The nemesis: three hands that strike at once, each from a bag of its own that the seed has shuffled.
//!
//! Owns what is struck, when and how often, and counts it. How a blow is carried out is `post`'s, `network`'s and
//! `database`'s part.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use tokio::time::{Instant, sleep};

use super::database::Database;
use super::fleet::LEASE;
use super::log::now_ms;
use super::network::{Link, SLOWEST, cut, trouble};
use super::plan::{LEAST_PATIENCE, PATIENCE, Wishes};
use super::post::{Blow, Post};
use crate::support::proxy::Weather;

/// Between two blows of the hand that strikes processes, on average; each kind comes up every fourth time.
const PROCESS_PAUSE: Duration = Duration::from_millis(1_100);

/// Between two blows of the hand that strikes the network.
const NETWORK_PAUSE: Duration = Duration::from_millis(900);

/// Between two blows of the hand that strikes the database: most of its time goes into the blows themselves.
const DATABASE_PAUSE: Duration = Duration::from_millis(400);

/// How long the standby hears nothing before the primary dies, at most: long enough for repeats of calls whose commit
/// waits, and shorter than what makes either side give the other up.
const SILENCE: Duration = Duration::from_millis(1_500);

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    WorkerKilled,
    WorkerPaused,
    ServerKilled,
    ServerPaused,
    ConnectionsCut,
    BlackHole,
    Delay,
    AnswersLost,
    SessionsTerminated,
    PostgresRestarted,
    PrimaryKilled,
}

impl Fault {
    pub const ALL: [Self; 11] = [
        Self::WorkerKilled,
        Self::WorkerPaused,
        Self::ServerKilled,
        Self::ServerPaused,
        Self::ConnectionsCut,
        Self::BlackHole,
        Self::Delay,
        Self::AnswersLost,
        Self::SessionsTerminated,
        Self::PostgresRestarted,
        Self::PrimaryKilled,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Self::WorkerKilled => "workers killed",
            Self::WorkerPaused => "workers paused beyond their lease",
            Self::ServerKilled => "servers killed",
            Self::ServerPaused => "servers paused beyond a lease",
            Self::ConnectionsCut => "connections cut",
            Self::BlackHole => "connections black-holed",
            Self::Delay => "connections delayed",
            Self::AnswersLost => "answers lost, effects kept",
            Self::SessionsTerminated => "database sessions terminated",
            Self::PostgresRestarted => "Postgres restarted at once",
            Self::PrimaryKilled => "primary killed, standby promoted",
        }
    }
}

const PROCESSES: [Fault; 4] = [
    Fault::WorkerKilled,
    Fault::WorkerPaused,
    Fault::ServerKilled,
    Fault::ServerPaused,
];
const NETWORK: [Fault; 4] = [
    Fault::ConnectionsCut,
    Fault::BlackHole,
    Fault::Delay,
    Fault::AnswersLost,
];
const DATABASE: [Fault; 3] = [
    Fault::SessionsTerminated,
    Fault::PostgresRestarted,
    Fault::PrimaryKilled,
];

/// What was done so far.
#[derive(Debug, Default)]
pub struct Done(Mutex<Diary>);

#[derive(Clone, Debug, Default)]
pub struct Diary {
    pub injected: BTreeMap<Fault, usize>,
    /// When the database was struck, and by what, in milliseconds since 1970.
    pub database: Vec<(i64, Fault)>,
}

impl Done {
    fn count(&self, fault: Fault) {
        *self.lock().injected.entry(fault).or_default() += 1;
    }

    pub fn diary(&self) -> Diary {
        self.lock().clone()
    }

    fn fewest(&self) -> usize {
        let diary = self.lock();
        let counts = Fault::ALL.map(|fault| diary.injected.get(&fault).copied().unwrap_or_default());
        counts.into_iter().min().unwrap_or_default()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Diary> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When the storm is over.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    wishes: Wishes,
}

impl Clock {
    pub fn start(wishes: Wishes) -> Self {
        Self {
            start: Instant::now(),
            wishes,
        }
    }

    /// After the wished length, once every kind was injected often enough; after a multiple of it and a minute in any case.
    fn over(&self, done: &Done) -> bool {
        let passed = self.start.elapsed();
        let enough = done.fewest() >= self.wishes.floor();
        passed >= self.wishes.length && (enough || passed >= self.wishes.length * PATIENCE + LEAST_PATIENCE)
    }
}

/// Kinds in random order, each as often as the others.
struct Bag {
    kinds: Vec<Fault>,
    left: Vec<Fault>,
}

impl Bag {
    fn of(kinds: &[Fault]) -> Self {
        Self {
            kinds: kinds.to_vec(),
            left: Vec::new(),
        }
    }

    fn draw(&mut self, chance: &mut StdRng) -> Option<Fault> {
        if self.left.is_empty() {
            self.left = self.kinds.clone();
            self.left.shuffle(chance);
        }
        self.left.pop()
    }
}

/// Its own stream of chance for each hand, so that the pace of one changes nothing for the others.
fn chance(seed: u64, hand: u64) -> StdRng {
    StdRng::seed_from_u64(seed.wrapping_mul(4).wrapping_add(hand))
}

fn between(chance: &mut StdRng, least: Duration, most: Duration) -> Duration {
    least + (most - least).mul_f64(chance.random::<f64>())
}

/// Kills and pauses workers and servers.
pub async fn strike_processes(clock: Clock, workers: &[Post], servers: &[Post], done: &Done) {
    let (mut chance, mut bag) = (chance(clock.wishes.seed, 0), Bag::of(&PROCESSES));
    while !clock.over(done) {
        let Some(fault) = bag.draw(&mut chance) else {
            return;
        };
        let pause = between(&mut chance, LEASE.mul_f64(1.2), LEASE.mul_f64(2.2));
        let victim: usize = chance.random_range(0..1_000);
        let (posts, blow) = match fault {
            Fault::WorkerKilled => (workers, Blow::Kill),
            Fault::WorkerPaused => (workers, Blow::Pause(pause)),
            Fault::ServerKilled => (servers, Blow::Kill),
            _ => (servers, Blow::Pause(pause)),
        };
        // Who is down already is passed over.
        let order = (0..posts.len()).map(|step| (victim + step) % posts.len());
        if order.into_iter().any(|post| posts[post].strike(blow)) {
            done.count(fault);
        }
        let length = between(&mut chance, PROCESS_PAUSE / 2, PROCESS_PAUSE * 3 / 2);
        sleep(length).await;
    }
}

/// Cuts, silences and slows connections.
pub async fn strike_network(clock: Clock, links: &[Link<'_>], done: &Done) {
    let (mut chance, mut bag) = (chance(clock.wishes.seed, 1), Bag::of(&NETWORK));
    while !clock.over(done) {
        let Some(fault) = bag.draw(&mut chance) else {
            return;
        };
        let link = links[chance.random_range(0..links.len())];
        let length = between(&mut chance, LEASE / 3, LEASE * 3 / 2);
        let delay = between(&mut chance, SLOWEST / 3, SLOWEST);
        match fault {
            Fault::ConnectionsCut => cut(link),
            Fault::BlackHole => trouble(link, Weather::BlackHole, length).await,
            Fault::Delay => trouble(link, Weather::Slow(delay), length).await,
            _ => trouble(link, Weather::RepliesLost, length).await,
        }
        done.count(fault);
        let length = between(&mut chance, NETWORK_PAUSE / 4, NETWORK_PAUSE);
        sleep(length).await;
    }
}

/// Ends sessions, restarts the primary, kills it.
pub async fn strike_database(clock: Clock, database: &mut Database, done: &Done) -> anyhow::Result<()> {
    let (mut chance, mut bag) = (chance(clock.wishes.seed, 2), Bag::of(&DATABASE));
    while !clock.over(done) {
        let Some(fault) = bag.draw(&mut chance) else {
            return Ok(());
        };
        let length = between(&mut chance, DATABASE_PAUSE / 2, DATABASE_PAUSE * 3 / 2);
        // Every other time, so that the standby is also met in the middle of its work.
        let silence = if chance.random() {
            between(&mut chance, SILENCE / 3, SILENCE)
        } else {
            Duration::ZERO
        };
        done.lock().database.push((now_ms(), fault));
        match fault {
            Fault::PostgresRestarted => database.restart().await?,
            Fault::PrimaryKilled => {
                database.fail_over(silence).await?;
                database.follow().await?;
                database.whole().await?;
            }
            // Between two connections a server has none; it is struck when it has some again.
            _ => {
                while database.terminate().await? == 0 {
                    sleep(DATABASE_PAUSE / 8).await;
                }
            }
        }
        done.count(fault);
        sleep(length).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bag_gives_every_kind_before_it_gives_one_again_and_the_seed_fixes_the_order() {
        let draw = |seed| {
            let (mut chance, mut bag) = (chance(seed, 0), Bag::of(&PROCESSES));
            let mut drawn = || bag.draw(&mut chance).unwrap();
            [(); 40].map(|()| drawn())
        };
        for round in draw(7).chunks(PROCESSES.len()) {
            let kinds: std::collections::BTreeSet<_> = round.iter().collect();
            assert_eq!(kinds.len(), PROCESSES.len());
        }
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }
}
