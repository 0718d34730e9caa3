//! Runs worlds and traps through the checker.

use std::time::{Duration, Instant};

use stateright::{Checker, CheckerBuilder, HasDiscoveries, Model};

use super::setting::Setting;
use super::sights::Sight;
use super::traps::Trap;
use super::world::{Claim, World};

/// What came of a world.
#[derive(Debug)]
pub struct Explored {
    /// Its name.
    pub name: &'static str,
    /// Different moments.
    pub states: usize,
    /// Steps taken from them.
    pub steps: usize,
    /// The most steps from the beginning.
    pub depth: usize,
    /// How long it took.
    pub took: Duration,
    /// The claim that did not hold, with the shortest way there.
    pub broken: Option<(&'static str, Vec<String>)>,
    /// Sights that it owed.
    pub missing: Vec<Sight>,
}

/// What came of a trap.
#[derive(Debug)]
pub struct Sprung {
    /// The scenario.
    pub id: &'static str,
    /// What was believed or done.
    pub broken_by: &'static str,
    /// The claim.
    pub claim: Claim,
    /// The world with the rule.
    pub with: Explored,
    /// The world without it.
    pub without: Explored,
}

impl Sprung {
    /// Whether the claim holds with the rule, and is broken without it.
    pub fn shown(&self) -> bool {
        self.with.broken.is_none() && self.without.broken.is_some()
    }
}

/// Explores the whole world; where a claim is broken, again for the shortest way there.
pub fn explore(setting: &Setting, threads: usize) -> anyhow::Result<Explored> {
    let explored = deep_first(setting, None, threads)?;
    if explored.broken.is_none() {
        return Ok(explored);
    }
    let broken = shortest(setting, None)?.broken.or(explored.broken);
    Ok(Explored { broken, ..explored })
}

/// Explores both worlds of a trap.
pub fn spring(trap: &Trap, threads: usize) -> anyhow::Result<Sprung> {
    Ok(Sprung {
        id: trap.id,
        broken_by: trap.broken_by,
        claim: trap.claim,
        with: deep_first(&trap.with, Some(trap.claim), threads)?,
        without: shortest(&trap.without, Some(trap.claim))?,
    })
}

/// Takes the least memory.
fn deep_first(setting: &Setting, hunted: Option<Claim>, threads: usize) -> anyhow::Result<Explored> {
    let began = Instant::now();
    let checker = checker(setting, hunted)?.threads(threads).spawn_dfs().join();
    Ok(explored(&checker, began))
}

/// Finds the shortest way: level by level, and so on one thread.
fn shortest(setting: &Setting, hunted: Option<Claim>) -> anyhow::Result<Explored> {
    let began = Instant::now();
    let checker = checker(setting, hunted)?.spawn_bfs().join();
    Ok(explored(&checker, began))
}

fn checker(setting: &Setting, hunted: Option<Claim>) -> anyhow::Result<CheckerBuilder<World>> {
    let world = World::new(setting.clone(), hunted)?;
    Ok(world.checker().finish_when(HasDiscoveries::AnyFailures))
}

fn explored(checker: &impl Checker<World>, began: Instant) -> Explored {
    let world = checker.model();
    let failures = world.properties();
    let mut failures = failures
        .iter()
        .filter(|claim| claim.expectation.discovery_is_failure());
    let mut discoveries = checker.discoveries();
    let broken = failures.find_map(|claim| {
        let path = discoveries.remove(claim.name)?;
        let steps = path
            .into_actions()
            .iter()
            .map(|step| format!("{step:?}"))
            .collect();
        Some((claim.name, steps))
    });
    Explored {
        name: world.setting.name,
        states: checker.unique_state_count(),
        steps: checker.state_count(),
        depth: checker.max_depth(),
        took: began.elapsed(),
        broken,
        missing: world.missing(),
    }
}
