//! Plays a story: resolves its names, makes its calls, holds the answers against the expectations.

use std::collections::BTreeMap;

use anyhow::{Context, bail, ensure};
use deed_core::time::Span;
use uuid::Uuid;

use super::engine::{Ask, BASE, Call, Decision, Engine};
use super::parse::request_id;
use super::script::{
    ActionScript, Comparison, Decided, Expectation, HistoryWord, Says, Step, Story, TokenName, Verb,
};
use super::told::{Kind, Told, kind};

/// Everything that was told, line by line, histories included.
pub type Transcript = Vec<(String, Vec<Told>)>;

/// Plays the whole story. The error names the line, what was expected and all that was told instead.
pub async fn play(story: &Story, engine: &mut impl Engine) -> anyhow::Result<Transcript> {
    let mut stage = Stage {
        story,
        names: BTreeMap::new(),
        highest: BTreeMap::new(),
        transcript: Vec::new(),
    };
    engine.commits_take(Span::ZERO).await?;
    for line in &story.lines {
        let played = match &line.says {
            Says::Step(step) => stage.step(step, engine).await,
            Says::CommitsTake(time) => engine.commits_take(*time).await.map(|()| Vec::new()),
            Says::State { action, expect } => stage.state(action, expect, engine).await,
            Says::History { action, words } => stage.history(action, words, engine).await,
            Says::Nothing { action } => stage.nothing(action, engine).await,
        };
        let told = played.with_context(|| format!("line {}: {}", line.number, line.text))?;
        stage
            .transcript
            .push((format!("{}: {}", line.number, line.text), told));
    }
    // Whatever the story looked at: the whole of every action is part of what two engines are compared by.
    for action in stage.actions() {
        let mut told: Vec<Told> = engine.look(&action).await?.into_iter().collect();
        told.extend(engine.history(&action).await?);
        stage
            .transcript
            .push((format!("at the end: {}", action.id), told));
    }
    Ok(stage.transcript)
}

struct Stage<'a> {
    story: &'a Story,
    /// Tokens and versions by the names that the story gave them.
    names: BTreeMap<String, u64>,
    /// The highest token that each action has given.
    highest: BTreeMap<(String, String), u64>,
    transcript: Transcript,
}

impl Stage<'_> {
    async fn step(&mut self, step: &Step, engine: &mut impl Engine) -> anyhow::Result<Vec<Told>> {
        engine.at(step.at).await?;
        let call = Call {
            who: &step.who,
            action: &step.action,
            request: step.request,
            ask: self.ask(step, engine).await?,
        };
        let told = engine.call(&call).await?;
        self.tokens_grow(&step.action, &told)?;
        self.compare(&step.expect, &told)?;
        Ok(vec![told])
    }

    async fn ask<'a>(&self, step: &'a Step, engine: &mut impl Engine) -> anyhow::Result<Ask<'a>> {
        Ok(match &step.verb {
            Verb::Plan => Ask::Plan,
            Verb::Claim { begin } => Ask::Claim { begin: *begin },
            Verb::Begin(token) => Ask::Begin {
                token: self.token(token)?,
            },
            Verb::Report {
                token,
                receipt,
                then,
                specified,
            } => Ask::Report {
                token: self.token(token)?,
                receipt,
                then: *then,
                specified: *specified,
            },
            Verb::Verify {
                token,
                observation,
                then,
            } => Ask::Verify {
                token: self.token(token)?,
                observation,
                then: *then,
            },
            Verb::Renew(token) => Ask::Renew {
                token: self.token(token)?,
            },
            Verb::Release(token) => Ask::Release {
                token: self.token(token)?,
            },
            Verb::Observe { observation, via } => Ask::Observe {
                observation,
                via: via.as_deref(),
            },
            Verb::Decide {
                version,
                note,
                decision,
            } => Ask::Decide {
                version: match version {
                    Some(name) => self.number(name)?,
                    None => present_version(&step.action, engine).await?,
                },
                note,
                decision: decided(decision),
            },
        })
    }

    fn token(&self, name: &TokenName) -> anyhow::Result<u64> {
        match name {
            TokenName::Given(name) => self.number(name),
            TokenName::Clock(time) => Ok(BASE.plus(*time).millis()),
            TokenName::Number(number) => Ok(*number),
        }
    }

    fn number(&self, name: &str) -> anyhow::Result<u64> {
        match self.names.get(name) {
            Some(number) => Ok(*number),
            None => name
                .parse()
                .with_context(|| format!("no answer was called {name:?}")),
        }
    }

    /// I1: whatever else a story expects, the tokens of an action never go back.
    fn tokens_grow(&mut self, action: &ActionScript, told: &Told) -> anyhow::Result<()> {
        let Some(token) = told.value("token") else {
            return Ok(());
        };
        let token: u64 = token.parse()?;
        let key = (action.namespace.clone(), action.id.clone());
        let highest = self.highest.entry(key).or_default();
        ensure!(
            token >= *highest,
            "the token went back from {highest} to {token}: {told}"
        );
        *highest = token;
        Ok(())
    }

    fn compare(&mut self, expect: &[Expectation], told: &Told) -> anyhow::Result<()> {
        let mut wrong = Vec::new();
        for expectation in expect {
            if !self.holds(expectation, told)? {
                let Expectation { field, value, .. } = expectation;
                wrong.push(format!("{field} {:?} {value:?}", expectation.comparison));
            }
        }
        ensure!(wrong.is_empty(), "expected {}\n  told: {told}", wrong.join(", "));
        Ok(())
    }

    /// A name that is new is given to what was told, if that is new as well.
    fn holds(&mut self, expectation: &Expectation, told: &Told) -> anyhow::Result<bool> {
        let Some(value) = told.value(expectation.field) else {
            return Ok(expectation.value == "-");
        };
        let wanted = expectation.value.as_str();
        let named = matches!(kind(expectation.field), Some((_, Kind::Token | Kind::Version)));
        Ok(match expectation.comparison {
            Comparison::Contains => value.contains(wanted),
            Comparison::Above => value.parse::<u64>()? > self.number(wanted)?,
            Comparison::Equal if named => match self.names.get(wanted) {
                Some(known) => *known == value.parse::<u64>()?,
                None => match wanted.parse::<u64>() {
                    Ok(number) => number == value.parse::<u64>()?,
                    Err(_) => {
                        self.names.insert(wanted.to_owned(), value.parse()?);
                        true
                    }
                },
            },
            Comparison::Equal if matches!(kind(expectation.field), Some((_, Kind::Request))) => {
                let namespace = &self.story.name;
                value.parse::<Uuid>()? == request_id(namespace, wanted)
            }
            Comparison::Equal => value == wanted || value.is_empty() && wanted == "-",
        })
    }

    async fn state(
        &mut self,
        action: &ActionScript,
        expect: &[Expectation],
        engine: &mut impl Engine,
    ) -> anyhow::Result<Vec<Told>> {
        let told = engine.look(action).await?.context("there is no such action")?;
        self.compare(expect, &told)?;
        Ok(vec![told])
    }

    async fn nothing(
        &mut self,
        action: &ActionScript,
        engine: &mut impl Engine,
    ) -> anyhow::Result<Vec<Told>> {
        match engine.look(action).await? {
            None => Ok(Vec::new()),
            Some(told) => bail!("there is one: {told}"),
        }
    }

    async fn history(
        &mut self,
        action: &ActionScript,
        words: &[HistoryWord],
        engine: &mut impl Engine,
    ) -> anyhow::Result<Vec<Told>> {
        let told = engine.history(action).await?;
        let lines = || {
            told.iter()
                .map(|event| format!("\n  {event}"))
                .collect::<String>()
        };
        for (at, event) in told.iter().enumerate() {
            let sequence = (at + 1).to_string();
            ensure!(
                event.value("sequence") == Some(&sequence),
                "the history has a gap:{}",
                lines()
            );
        }
        ensure!(self.tells(words, &told), "the history tells:{}", lines());
        Ok(told)
    }

    fn tells(&self, words: &[HistoryWord], events: &[Told]) -> bool {
        match (words.split_first(), events.split_first()) {
            (None, None) => true,
            (Some((HistoryWord::Anything, rest)), _) => {
                (0..=events.len()).any(|skipped| self.tells(rest, &events[skipped..]))
            }
            (Some((HistoryWord::Event { kind, token }, words)), Some((event, events))) => {
                let token = token
                    .as_ref()
                    .map(|name| self.names.get(name).map(u64::to_string));
                let same_token = token.is_none_or(|token| token.as_deref() == event.value("token"));
                event.value("kind") == Some(kind) && same_token && self.tells(words, events)
            }
            (Some((HistoryWord::Event { .. }, _)), None) | (None, Some(_)) => false,
        }
    }

    /// Every action of the story, once.
    fn actions(&self) -> Vec<ActionScript> {
        let mut actions: BTreeMap<(String, String), ActionScript> = BTreeMap::new();
        for line in &self.story.lines {
            let action = match &line.says {
                Says::Step(step) => &step.action,
                Says::State { action, .. } | Says::History { action, .. } | Says::Nothing { action } => {
                    action
                }
                Says::CommitsTake(_) => continue,
            };
            actions
                .entry((action.namespace.clone(), action.id.clone()))
                .or_insert_with(|| action.clone());
        }
        actions.into_values().collect()
    }
}

async fn present_version(action: &ActionScript, engine: &mut impl Engine) -> anyhow::Result<u64> {
    let told = engine.look(action).await?;
    let version = told.as_ref().and_then(|told| told.value("version"));
    Ok(version.map_or(Ok(1), str::parse)?)
}

fn decided(decision: &Decided) -> Decision<'_> {
    match decision {
        Decided::Approve => Decision::Approve,
        Decided::Deny => Decision::Deny,
        Decided::Assign(assignee) if assignee == "nobody" => Decision::Assign(""),
        Decided::Assign(assignee) => Decision::Assign(assignee),
        Decided::Resolve { resolution, proof } => Decision::Resolve { resolution, proof },
        Decided::Reopen { new_key, proof } => Decision::Reopen {
            new_key: *new_key,
            proof,
        },
        Decided::Acknowledge(flag) => Decision::Acknowledge(*flag),
    }
}
