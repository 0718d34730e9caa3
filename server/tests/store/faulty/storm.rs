//! Many callers on few actions while statements fail by the dice. Callers repeat what they got no answer to, at either
//! committer, as workers do; some give up early and repeat, some repeat what they had heard.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Mutex;
use std::time::Duration;

use deed_core::action::State;
use deed_core::command::{Ask, Command};
use deed_core::event::Event;
use deed_core::id::{ActionKey, Token, Version};
use deed_core::reply::Reply;
use deed_core::spec::Specification;
use deed_core::text::Namespace;
use deed_core::time::{Span, Timestamp};
use futures::future::join_all;

use super::agree::agree;
use super::answer::{Asked, Heard, granted};
use super::dials::{Dials, Entry, Fate, Odds, Statement};
use super::stage::Stage;
use super::tally::{Tally, name};
use crate::fixture::key;
use crate::random::{Dice, Known, any, specification};

/// Each is one call, with all its repeats.
const ROUNDS: usize = 10_000;

/// More than there are actions at one time, so that they meet.
const CALLERS: usize = 64;

/// Actions at one time.
const ACTIONS: usize = 32;

/// Calls about one action before another takes its place: most have been settled by then.
const CALLS: usize = 50;

/// As many calls as share a transaction, and its fate, at most.
const BATCH: usize = 16;

/// One in four transactions fails, so that a call that is told of each failure is repeated, and heard in the end.
const ODDS: Odds = Odds { read: 6, write: 20 };

/// The least that any statement must have met of any fate.
const ENOUGH: usize = 100;

/// The least that a call by any name must have met of any fate.
const ENOUGH_BY_NAME: usize = 10;

/// The least number of calls whose grant was told again, and of those that were told only by a repeat.
const TOLD_AGAIN: usize = 30;

/// One action that is played with now.
struct Scene {
    key: ActionKey,
    spec: Specification,
    tokens: Vec<Token>,
    version: Version,
    calls: usize,
}

impl Scene {
    /// Two actions share a namespace, so that they can contest an external id.
    fn new(number: usize, dice: &mut Dice) -> Self {
        let key = ActionKey {
            namespace: Namespace::new(format!("pair-{}", number / 2)).unwrap(),
            ..key(&format!("action-{number}"))
        };
        Self {
            key,
            spec: specification(dice),
            tokens: Vec::new(),
            version: Version(0),
            calls: 0,
        }
    }

    /// What a caller learns from an answer.
    fn learn(&mut self, heard: &Heard) {
        let Heard::Told(judged) = heard else { return };
        if let Some((granted, _)) = granted(&judged.reply) {
            self.tokens.push(granted.token);
        }
        if let Reply::Step(answer) = &judged.reply {
            self.version = self.version.max(answer.version);
        }
    }
}

/// The actions that are played with now.
struct Scenes {
    now: Vec<Scene>,
    begun: usize,
}

impl Scenes {
    fn new(dice: &mut Dice) -> Self {
        Self {
            now: (0..ACTIONS).map(|number| Scene::new(number, dice)).collect(),
            begun: ACTIONS,
        }
    }

    fn command(&mut self, dice: &mut Dice) -> Command {
        let at = dice.below(self.now.len());
        if self.now[at].calls == CALLS {
            self.now[at] = Scene::new(self.begun, dice);
            self.begun += 1;
        }
        let scene = &mut self.now[at];
        scene.calls += 1;
        let known = Known {
            tokens: scene.tokens.clone(),
            version: scene.version,
        };
        let mut command = any(dice, scene.key.action_id.as_str(), &scene.spec, &known);
        command.key = scene.key.clone();
        command
    }

    fn learn(&mut self, key: &ActionKey, heard: &Heard) {
        if let Some(scene) = self.now.iter_mut().find(|scene| scene.key == *key) {
            scene.learn(heard);
        }
    }
}

/// One call and its repeats, until it is heard.
async fn round(stage: &Stage, scenes: &Mutex<Scenes>, dice: &mut Dice) -> Asked {
    if dice.below(40) == 0 {
        stage
            .pass(Span::from_millis(dice.pick(&[300, 1_000, 5_000, 31_000, 61_000])))
            .await;
    }
    let command = scenes.lock().unwrap().command(dice);
    let mut asked = Asked {
        command,
        heard: Vec::new(),
    };
    loop {
        let asking = stage.ask(dice.pick(&Stage::COMMITTERS), &asked.command);
        let heard = match dice.below(20) {
            0 => {
                let patience = Duration::from_micros(dice.pick(&[0, 500, 2_000, 5_000]));
                tokio::time::timeout(patience, asking)
                    .await
                    .unwrap_or(Heard::Nothing)
            }
            _ => asking.await,
        };
        scenes.lock().unwrap().learn(&asked.command.key, &heard);
        let over = match &heard {
            Heard::Nothing => false,
            // Nothing remembers a refusal: its repeat would be another call.
            Heard::Refused(_) => true,
            // Networks repeat what was answered, too.
            Heard::Told(_) => dice.below(3) > 0,
        };
        asked.heard.push(heard);
        if over {
            return asked;
        }
        assert!(asked.heard.len() < Stage::TRIES, "never heard: {asked:?}");
    }
}

async fn caller(stage: &Stage, scenes: &Mutex<Scenes>, seed: u64) -> Vec<Asked> {
    let mut dice = Dice(seed);
    let mut all = Vec::new();
    for _ in 0..ROUNDS.div_ceil(CALLERS) {
        all.push(round(stage, scenes, &mut dice).await);
    }
    all
}

fn by_action(asked: Vec<Asked>) -> HashMap<ActionKey, Vec<Asked>> {
    let mut by_action: HashMap<_, Vec<_>> = HashMap::new();
    for asked in asked {
        by_action
            .entry(asked.command.key.clone())
            .or_default()
            .push(asked);
    }
    by_action
}

/// Repeats whatever history remembers once more, when nothing fails any more.
async fn repeat(stage: &Stage, key: &ActionKey, asked: &mut [Asked]) {
    let Some((_, history)) = stage.row_and_history(key).await else {
        return;
    };
    let remembered: BTreeSet<_> = history
        .iter()
        .filter_map(|event| event.request)
        .map(|trace| trace.id)
        .collect();
    for asked in asked {
        if remembered.contains(&asked.command.request.id) {
            asked.heard.push(stage.ask(Stage::PATIENT, &asked.command).await);
        }
    }
}

/// No renewal that was acknowledged is lost: the lease ended no earlier than was told.
fn renewals(asked: &[Asked], history: &[Event]) {
    let mut told: BTreeMap<Token, Timestamp> = BTreeMap::new();
    for (token, until) in asked.iter().filter_map(|asked| asked.renewed_until()) {
        let latest = told.entry(token).or_insert(until);
        *latest = until.max(*latest);
    }
    for event in history {
        use deed_core::event::What::{Fenced, Lapsed, Released};
        if let (Lapsed { expires_at } | Released { expires_at } | Fenced { expires_at }, Some(token)) =
            (&event.what, event.token)
        {
            assert!(
                told.get(&token).is_none_or(|told| expires_at >= told),
                "{event:?}, told {told:?}"
            );
        }
    }
}

/// Rule 19: what was read back is told only after a synchronous commit.
fn read_back(journal: &[Entry]) {
    let told = |entry: &&Entry| entry.statement != Statement::Read && entry.fate == Fate::DONE;
    for entry in journal.iter().filter(told) {
        assert!(entry.remembered.is_empty() || entry.synchronous, "{entry:?}");
    }
}

/// A caller heard nothing although it had happened, and its repeat was told so.
fn heard_late(asked: &[Asked], journal: &[Entry]) -> usize {
    let untold = |entry: &&Entry| {
        entry.statement == Statement::Write && matches!(entry.fate, Fate::UNTOLD | Fate::LATE)
    };
    let untold: BTreeSet<_> = journal
        .iter()
        .filter(untold)
        .flat_map(|entry| &entry.requests)
        .collect();
    let remembered: BTreeSet<_> = journal.iter().flat_map(|entry| &entry.remembered).collect();
    let late = asked.iter().filter(|asked| {
        let id = &asked.command.request.id;
        matches!(asked.heard.first(), Some(Heard::Nothing)) && untold.contains(id) && remembered.contains(id)
    });
    late.count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_and_history_agree_and_every_repeat_gets_the_one_answer_whatever_fails() {
    let stage = Stage::set(Dials::new(ODDS, 41), BATCH).await;
    let scenes = Mutex::new(Scenes::new(&mut Dice(42)));
    let callers = (0..CALLERS).map(|n| caller(&stage, &scenes, 1_000 + u64::try_from(n).unwrap()));
    let asked: Vec<Asked> = join_all(callers).await.into_iter().flatten().collect();
    stage.calm().await;
    let mut actions = by_action(asked);
    join_all(actions.iter_mut().map(|(key, asked)| repeat(&stage, key, asked))).await;
    let checked = actions.iter().map(|(key, asked)| check(&stage, key, asked));
    let states: BTreeSet<State> = join_all(checked).await.into_iter().flatten().collect();

    let journal = stage.dials.journal();
    read_back(&journal);
    let asked: Vec<Asked> = actions.into_values().flatten().collect();
    enough(&asked, &journal, states.len());
    stage.stop().await;
}

/// Holds everything that was heard about one action against its row and its history; the states that it was in.
async fn check(stage: &Stage, key: &ActionKey, asked: &[Asked]) -> BTreeSet<State> {
    let Some((action, history)) = stage.row_and_history(key).await else {
        assert!(
            asked.iter().all(|asked| asked.grants().is_empty()),
            "{key:?} is lost: {asked:#?}"
        );
        return BTreeSet::new();
    };
    agree(&action, &history);
    let renewed = asked.iter().filter_map(|asked| match asked.command.ask {
        Ask::Renew { token } => Some(token),
        _ => None,
    });
    let renewed = renewed.collect();
    asked.iter().for_each(|asked| asked.check(&history, &renewed));
    renewals(asked, &history);
    history.iter().map(|event| event.state).collect()
}

fn enough(asked: &[Asked], journal: &[Entry], states: usize) {
    let tally = Tally::of(asked, journal);
    let names: BTreeSet<_> = asked.iter().map(|asked| name(&asked.command.ask)).collect();
    let granted = asked.iter().filter(|asked| asked.grants().len() > 1).count();
    let late = heard_late(asked, journal);
    println!(
        "{} calls, {states} states, {granted} grants told again, {late} heard late",
        asked.len()
    );
    assert!(asked.len() >= ROUNDS && states == State::ALL.len() && granted > TOLD_AGAIN && late > TOLD_AGAIN);
    for statement in [Statement::Read, Statement::Write, Statement::Commit] {
        for fate in Fate::of(statement) {
            let met = tally.met(statement, *fate);
            println!("{statement:?} {fate:?}: {met}");
            assert!(met > ENOUGH, "{statement:?} met {fate:?} only {met} times");
        }
    }
    for name in names {
        for fate in Fate::of(Statement::Write) {
            let met = tally.met_by(name, *fate);
            println!("{name} {fate:?}: {met}");
            assert!(met > ENOUGH_BY_NAME, "{name} met {fate:?} only {met} times");
        }
    }
}
