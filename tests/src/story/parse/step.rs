//! `at TIME WHO CALL … -> ANSWER`, and `from TIME to TIME every SPAN WHO CALL … -> ANSWER`.

use anyhow::{Context, bail, ensure};
use deed_core::action::Flag;
use deed_core::time::Span;
use uuid::Uuid;

use super::args::{Args, span};
use super::words::Word;
use super::{Cast, evidence, expect};
use crate::story::script::{Decided, Resolution, Says, Step, TokenName, Verb};

/// The name space of the request ids of stories.
const REQUESTS: Uuid = Uuid::from_u128(0x0b5e_8a52_64f1_4f0e_8d3a_5a8e_f6a1_c3d7);

/// The request id of this name in this story: the same in every run, and of the version that random ones have.
pub fn request_id(story: &str, name: &str) -> Uuid {
    let digest = Uuid::new_v5(&REQUESTS, format!("{story} {name}").as_bytes());
    uuid::Builder::from_random_bytes(digest.into_bytes()).into_uuid()
}

impl Cast {
    pub fn step(&mut self, number: usize, mut words: Vec<Word>) -> anyhow::Result<Vec<Says>> {
        ensure!(!words.is_empty(), "the time is missing");
        let time = words.remove(0);
        let Word::Bare(time) = time else {
            bail!("the time comes first")
        };
        let step = self.step_at(span(&time)?, &format!("line {number}"), words)?;
        Ok(vec![Says::Step(Box::new(step))])
    }

    /// The same call again and again, each under a request id of its own.
    pub fn steps(&mut self, number: usize, mut words: Vec<Word>) -> anyhow::Result<Vec<Says>> {
        let head: Vec<Word> = words.drain(..words.len().min(5)).collect();
        let [
            Word::Bare(first),
            Word::Bare(to),
            Word::Bare(last),
            Word::Bare(every),
            Word::Bare(pause),
        ] = &head[..]
        else {
            bail!("from TIME to TIME every SPAN");
        };
        ensure!(to == "to" && every == "every", "from TIME to TIME every SPAN");
        let (mut at, last, pause) = (span(first)?, span(last)?, span(pause)?);
        ensure!(!pause.empty(), "every 0 never ends");
        let mut steps = Vec::new();
        while at <= last {
            let name = format!("line {number} at {at}");
            steps.push(Says::Step(Box::new(self.step_at(at, &name, words.clone())?)));
            at = at.plus(pause);
        }
        Ok(steps)
    }

    fn step_at(&mut self, at: Span, name: &str, mut words: Vec<Word>) -> anyhow::Result<Step> {
        let arrow = words
            .iter()
            .position(|word| *word == Word::Arrow)
            .context("no answer is expected: -> is missing")?;
        let answer = words.split_off(arrow + 1);
        words.pop();
        let action = self.named(&mut words)?;
        let mut args = Args::new(words)?;
        let who = args.next("who calls")?;
        let request = args.value("req").unwrap_or_else(|| name.to_owned());
        let verb = verb(&mut args)?;
        args.finish()?;
        Ok(Step {
            at,
            who,
            action,
            request: request_id(&self.name, &request),
            verb,
            expect: expect::answer(answer)?,
        })
    }
}

fn verb(args: &mut Args) -> anyhow::Result<Verb> {
    let verb = args.next("the call")?;
    Ok(match verb.as_str() {
        "plan" => Verb::Plan,
        "claim" => Verb::Claim {
            begin: args.flag("begin"),
        },
        "begin" => Verb::Begin(token(args)?),
        "report" => Verb::Report {
            token: token(args)?,
            then: evidence::then(args)?,
            specified: args.flag("specified"),
            receipt: evidence::receipt(args)?,
        },
        "verify" => Verb::Verify {
            token: token(args)?,
            then: evidence::then(args)?,
            observation: evidence::observation(args)?,
        },
        "renew" => Verb::Renew(token(args)?),
        "release" => Verb::Release(token(args)?),
        "observe" => Verb::Observe {
            via: args.value("via"),
            observation: evidence::observation(args)?,
        },
        other => Verb::Decide {
            version: args.value("version"),
            note: args.value("note").unwrap_or_default(),
            decision: decision(other, args)?,
        },
    })
}

fn decision(verb: &str, args: &mut Args) -> anyhow::Result<Decided> {
    Ok(match verb {
        "approve" => Decided::Approve,
        "deny" => Decided::Deny,
        "assign" => Decided::Assign(args.next("who")?),
        "resolve" => Decided::Resolve {
            resolution: match args.next("what happened")?.as_str() {
                "confirmed" => Resolution::Confirmed(args.value("ext")),
                "absent" => Resolution::Absent,
                "rejected" => Resolution::Rejected,
                "compensated" => Resolution::Compensated(args.value("by").unwrap_or_default()),
                "abandoned" => Resolution::Abandoned,
                other => bail!("{other:?} resolves nothing"),
            },
            proof: args.value("proof").unwrap_or_default(),
        },
        "reopen" => Decided::Reopen {
            new_key: args.flag("new_key"),
            proof: args.value("proof").unwrap_or_default(),
        },
        "acknowledge" => Decided::Acknowledge(match args.next("the flag")?.as_str() {
            "duplicate_suspected" => Flag::DuplicateSuspected,
            "contradicted" => Flag::Contradicted,
            "ungated" => Flag::Ungated,
            other => bail!("{other:?} is no flag"),
        }),
        other => bail!("{other:?} is no call"),
    })
}

/// `t1`, `clock:10`, `none`, `9007199254740993`.
fn token(args: &mut Args) -> anyhow::Result<TokenName> {
    let text = args.next("the token")?;
    if text == "none" {
        return Ok(TokenName::Number(0));
    }
    if let Some(time) = text.strip_prefix("clock:") {
        return Ok(TokenName::Clock(span(time)?));
    }
    Ok(match text.parse() {
        Ok(number) => TokenName::Number(number),
        Err(_) => TokenName::Given(text),
    })
}
