//! The runs: which cells there are, many episodes at once, and the count at the end.
//!
//! Owns order and concurrency. Faults and starts are drawn from the seed; how concurrent workers race is not, and neither
//! is how long anything takes.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use futures::future::try_join_all;
use futures::{StreamExt, TryStreamExt};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::agent::Agent;
use super::scale::{ARRIVALS, Scale};
use super::setting::{Arm, Cell, Keys, Lateness, Level, Trouble};
use super::stage::Stage;
use super::tally::{Episode, Tally};
use super::task::Task;
use super::world::World;

/// Workers at once, over all episodes: most of them wait for a timeout or a settle window.
const AT_ONCE: usize = 64;

/// The first published seed.
pub const FIRST_SEED: u64 = 42;

/// What is still under way when the last agent has ended gets this much beyond its delay.
const LANDING_MARGIN: Duration = Duration::from_millis(500);

/// How much of the experiment is run. Seeds count from [`FIRST_SEED`].
#[derive(Clone, Debug)]
pub struct Scope {
    pub scale: Scale,
    pub levels: Vec<Level>,
    pub seeds: u64,
    /// How many workers at once, and the seeds of each.
    pub workers: Vec<(usize, u64)>,
    pub late_commits: Vec<(Keys, Lateness)>,
    pub late_seeds: u64,
}

impl Scope {
    /// The published 25 seeds in every cell, but for those of many workers.
    pub fn published() -> Self {
        let late = |keys| [Lateness::InWindow, Lateness::BeyondWindow].map(|lateness| (keys, lateness));
        Self {
            scale: Scale::PUBLISHED,
            levels: vec![Level::Calm, Level::Low, Level::Medium, Level::High],
            seeds: 25,
            // With so many workers the shares are near 0 or 1, and their episodes are what takes long.
            workers: vec![(2, 25), (4, 25), (8, 25), (16, 10), (32, 10)],
            late_commits: [Keys::Ignored, Keys::Honoured]
                .into_iter()
                .flat_map(late)
                .collect(),
            late_seeds: 25,
        }
    }

    /// 1,000 seeds at each level; the cells that the paper does not have get 100.
    pub fn deep() -> Self {
        Self {
            seeds: 1_000,
            workers: [2, 4, 8, 16, 32].map(|workers| (workers, 100)).to_vec(),
            late_seeds: 100,
            ..Self::published()
        }
    }
}

/// All counts.
#[derive(Debug)]
pub struct Results {
    pub scope: Scope,
    pub cells: BTreeMap<Cell, Tally>,
    pub took: Duration,
}

/// Concurrent workers meet the faults of this level.
pub const WORKERS_LEVEL: Level = Level::Medium;

impl Results {
    pub fn tally(&self, cell: &Cell) -> anyhow::Result<&Tally> {
        self.cells.get(cell).with_context(|| format!("not run: {cell}"))
    }
}

/// Runs all of it; says on standard error how far it has come.
pub async fn run(stage: &Stage, scope: &Scope) -> anyhow::Result<Results> {
    let started = Instant::now();
    let mut cells = BTreeMap::new();

    let faults = scope.levels.iter().map(|&level| (Trouble::Faults(level), 1));
    cells.extend(phase(stage, scope.scale, &crossed(faults), scope.seeds).await?);
    let contended = async {
        let mut cells = Vec::new();
        for &(workers, seeds) in &scope.workers {
            let contended = crossed([(Trouble::Faults(WORKERS_LEVEL), workers)]);
            cells.extend(phase(stage, scope.scale, &contended, seeds).await?);
        }
        anyhow::Ok(cells)
    };
    let late = scope.late_commits.iter();
    let late = crossed(late.map(|&(keys, lateness)| (Trouble::LateCommits(keys, lateness), 1)));
    // At the same time: the one waits, the other works.
    let late = phase(stage, scope.scale, &late, scope.late_seeds);
    let (contended, late) = tokio::try_join!(contended, late)?;
    cells.extend(contended);
    cells.extend(late);

    Ok(Results {
        scope: scope.clone(),
        cells,
        took: started.elapsed(),
    })
}

/// Every task and every arm in it.
fn crossed(settings: impl IntoIterator<Item = (Trouble, usize)>) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (trouble, workers) in settings {
        for task in Task::ALL {
            cells.extend(Arm::ALL.map(|arm| Cell {
                trouble,
                task,
                arm,
                workers,
            }));
        }
    }
    cells
}

/// Cells that run at the same time: all of them meet the same load.
async fn phase(
    stage: &Stage,
    scale: Scale,
    cells: &[Cell],
    seeds: u64,
) -> anyhow::Result<Vec<(Cell, Tally)>> {
    let (Some(first), started) = (cells.first(), Instant::now()) else {
        return Ok(Vec::new());
    };
    let mut worlds = Vec::new();
    for &cell in cells {
        worlds.push(World::start(cell, scale).await?);
    }
    let seeds: RangeInclusive<u64> = FIRST_SEED..=FIRST_SEED + seeds.saturating_sub(1);
    let mut episodes = Vec::new();
    for seed in seeds.clone() {
        for (number, world) in worlds.iter().enumerate() {
            let from = episodes.len();
            episodes.push((number, workers(stage, world, seed, from)));
        }
    }
    let total = episodes.len();
    let at_once = (AT_ONCE / first.workers).max(1);
    let done: Vec<(usize, Episode)> = futures::stream::iter(episodes)
        // A task of its own, so that the agents use all cores; not started before its turn.
        .map(|(number, workers)| async move {
            anyhow::Ok((number, tokio::spawn(episode(workers)).await??))
        })
        .buffer_unordered(at_once)
        .try_collect()
        .await?;

    // What is counted has to be there: a command may land long after everybody has turned away.
    let landing = cells.iter().map(|cell| cell.trouble.last_landing(&scale)).max();
    tokio::time::sleep(landing.unwrap_or_default() + LANDING_MARGIN).await;
    let took = started.elapsed().as_secs_f64();
    let workers = first.workers;
    eprintln!(
        "{total} episodes in {took:.1} s: {} cells, {workers} worker(s) each",
        cells.len()
    );
    let mut of: Vec<Vec<Episode>> = worlds.iter().map(|_| Vec::new()).collect();
    for (number, episode) in done {
        of[number].push(episode);
    }
    Ok(worlds
        .iter()
        .zip(&of)
        .map(|(world, episodes)| world.count(episodes, &seeds))
        .collect())
}

/// The workers of one episode, with the time after which each of them starts.
struct Workers {
    seed: u64,
    agents: Vec<(Agent, Duration)>,
}

fn workers(stage: &Stage, world: &World, seed: u64, from: usize) -> Workers {
    let mut chance = StdRng::seed_from_u64(seed);
    let agents = (0..world.cell.workers).map(|number| {
        let agent = Agent {
            cell: world.cell,
            seed,
            receiver: world.client.clone(),
            deed: stage.client(from + number),
            scale: world.scale,
            timeouts: Arc::clone(&world.timeouts),
        };
        let start = if number == 0 {
            Duration::ZERO
        } else {
            ARRIVALS.mul_f64(chance.random::<f64>())
        };
        (agent, start)
    });
    Workers {
        seed,
        agents: agents.collect(),
    }
}

async fn episode(workers: Workers) -> anyhow::Result<Episode> {
    let Workers { seed, agents } = workers;
    let started = Instant::now();
    let ends = agents.into_iter().map(|(agent, start)| async move {
        tokio::time::sleep(start).await;
        agent
            .run()
            .await
            .with_context(|| format!("{}, seed {seed}", agent.cell))
    });
    let ends = try_join_all(ends).await?;
    Ok(Episode {
        seed,
        took: started.elapsed(),
        ends,
    })
}
