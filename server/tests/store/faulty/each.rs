//! Every call, at each of its statements, with each fate, at either committer: it happens once, and there is one answer.

use std::collections::BTreeSet;

use deed_core::command::Ask;
use deed_core::reply::{NextStep, Reply};
use deed_core::time::Span;
use futures::future::join_all;

use super::agree::agree;
use super::answer::{Asked, Heard, granted};
use super::dials::{Dials, Fate, Statement};
use super::play::{CALLS, Play};
use super::stage::Stage;
use super::tally::name;

/// One call that meets one fate at one statement, is repeated until it is heard, and once more after that.
struct Trial {
    call: &'static str,
    statement: Statement,
    fate: Fate,
    committer: usize,
    asked: Asked,
    /// The row's version before the call.
    before: u64,
}

fn trials() -> Vec<(&'static str, Statement, Fate, usize)> {
    let mut all = Vec::new();
    for call in CALLS {
        for statement in [Statement::Read, Statement::Write, Statement::Commit] {
            for fate in Fate::of(statement) {
                for committer in Stage::COMMITTERS {
                    all.push((call, statement, *fate, committer));
                }
            }
        }
    }
    // A renewal is not remembered: its repeat renews, and there is no commit of nothing.
    all.retain(|(call, statement, ..)| (*call, *statement) != ("Renew", Statement::Commit));
    all
}

impl Trial {
    async fn prepare(
        stage: &Stage,
        n: usize,
        (call, statement, fate, committer): (&'static str, Statement, Fate, usize),
    ) -> Self {
        let play = Play {
            stage,
            id: format!("{}-{n}", call.to_lowercase().replace(' ', "-")),
        };
        let command = play.prepare(call).await;
        let row = stage.row_and_history(&command.key).await;
        Self {
            call,
            statement,
            fate,
            committer,
            asked: Asked {
                command,
                heard: Vec::new(),
            },
            before: row.map_or(0, |(action, _)| action.version.0),
        }
    }

    async fn run(&mut self, stage: &Stage) {
        let command = &self.asked.command;
        // What only commits is a repeat: the first time goes as it should.
        if self.statement == Statement::Commit {
            let heard = stage.ask_until_heard(self.committer, command).await;
            self.asked.heard.push(heard);
        }
        stage.dials.script(command.request.id, self.statement, self.fate);
        let heard = stage.ask_until_heard(self.committer, command).await;
        self.asked.heard.push(heard);
        for committer in Stage::COMMITTERS {
            let heard = stage.ask_until_heard(committer, command).await;
            self.asked.heard.push(heard);
        }
    }

    async fn check(&self, stage: &Stage) {
        let Self {
            call,
            statement,
            fate,
            committer,
            asked,
            before,
        } = self;
        let what = format!("{call}, {statement:?} {fate:?} at {committer}");
        let (action, history) = stage.row_and_history(&asked.command.key).await.unwrap();
        agree(&action, &history);
        let renewed = match asked.command.ask {
            Ask::Renew { token } => BTreeSet::from([token]),
            _ => BTreeSet::new(),
        };
        asked.check(&history, &renewed);
        let gists: Vec<_> = asked.heard.iter().map(gist).collect();
        assert!(gists.iter().all(|gist| *gist == gists[0]), "{what}: {gists:?}");
        // Renewals leave no history; everything else happened, and happened once.
        let happened = if *call == "Renew" { 0 } else { 1 };
        assert_eq!(action.version.0, before + happened, "{what}: {history:#?}");
    }
}

/// The answer without what only counts down.
fn gist(heard: &Heard) -> String {
    let Heard::Told(judged) = heard else {
        panic!("not told: {heard:?}")
    };
    match &judged.reply {
        Reply::Renewed { .. } => "Renewed".to_owned(),
        Reply::Step(answer) => match (granted(&judged.reply), &answer.step) {
            (Some((granted, _)), _) => format!("{granted:?} at {:?}", answer.version),
            (None, NextStep::Settled(settled)) => format!("{settled:?}"),
            (None, NextStep::Claimable(kind)) => format!("Claimable {kind:?}"),
            (None, NextStep::Wait { reason, .. }) => format!("Wait {reason:?}"),
            (None, NextStep::Blocked { reason, .. }) => format!("Blocked {reason:?}"),
            (None, step) => panic!("unexpected: {step:?}"),
        },
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whichever_statement_of_whichever_call_fails_it_happens_once_and_there_is_one_answer() {
    let stage = Stage::set(Dials::scripted(), 1).await;
    let preparing = trials().into_iter().enumerate();
    let preparing = preparing.map(|(n, trial)| Trial::prepare(&stage, n, trial));
    let mut all = join_all(preparing).await;
    // The backoff after an attempt is over, and no lease yet.
    stage.pass(Span::from_secs(2)).await;
    // Time has decided what the sweeper writes down; the others' leases are over with it.
    let (mut sweeps, mut others): (Vec<_>, Vec<_>) = all.drain(..).partition(|trial| trial.call == "Sweep");
    join_all(others.iter_mut().map(|trial| trial.run(&stage))).await;
    stage.calm().await;
    join_all(others.iter().map(|trial| trial.check(&stage))).await;
    stage.pass(Span::from_secs(31)).await;
    join_all(sweeps.iter_mut().map(|trial| trial.run(&stage))).await;
    stage.calm().await;
    join_all(sweeps.iter().map(|trial| trial.check(&stage))).await;

    let journal = stage.dials.journal();
    for trial in others.iter().chain(&sweeps) {
        let id = trial.asked.command.request.id;
        let met = journal.iter().any(|entry| {
            (entry.statement, entry.fate) == (trial.statement, trial.fate) && entry.requests.contains(&id)
        });
        let call = name(&trial.asked.command.ask);
        assert!(
            met,
            "{call} did not meet {:?} at its {:?}",
            trial.fate, trial.statement
        );
    }
    stage.stop().await;
}
