//! Reads a script. What it does not know it refuses, so that no expectation is ever passed over.

mod args;
mod contract;
mod evidence;
mod expect;
mod step;
mod words;

use std::collections::BTreeMap;

use anyhow::{Context, bail, ensure};
use deed_core::contract::Terms;

use super::script::{ActionScript, Line, Says, Story};
use args::{Args, span};
pub use step::request_id;
use words::{Word, words};

/// Reads a whole script. `name` becomes the namespace of its actions and makes its request ids its own.
pub fn parse(name: &str, text: &str) -> anyhow::Result<Story> {
    let mut cast = Cast::new(name);
    let mut lines = Vec::new();
    for (number, text) in joined(text) {
        let says = cast
            .line(number, &text)
            .with_context(|| format!("{name}, line {number}: {text}"))?;
        lines.extend(says.into_iter().map(|says| Line {
            number,
            text: text.clone(),
            says,
        }));
    }
    let title = text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix('#'))
        .with_context(|| format!("{name}: the first line is a comment that says what it is about"))?;
    Ok(Story {
        name: name.to_owned(),
        title: title.trim().to_owned(),
        lines,
    })
}

/// Lines with their numbers; an indented line goes on with the one before it.
fn joined(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let more = line.starts_with(char::is_whitespace) && !line.trim().is_empty();
        match lines.last_mut().filter(|_| more) {
            Some((_, last)) => {
                last.push(' ');
                last.push_str(line.trim());
            }
            None => lines.push((at + 1, line.trim_end().to_owned())),
        }
    }
    lines.retain(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines
}

/// What the script has declared so far.
struct Cast {
    name: String,
    terms: Option<Terms>,
    actions: BTreeMap<String, ActionScript>,
    /// The action that is meant where none is named: the first one.
    lead: Option<String>,
}

impl Cast {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            terms: None,
            actions: BTreeMap::new(),
            lead: None,
        }
    }

    fn line(&mut self, number: usize, text: &str) -> anyhow::Result<Vec<Says>> {
        let mut words = words(text)?;
        let Word::Bare(head) = words.remove(0) else {
            bail!("a line begins with contract, action, commits, at, from, state, history or nothing");
        };
        match head.as_str() {
            "contract" => {
                let mut args = Args::new(words)?;
                self.terms = Some(contract::terms(&mut args)?);
                args.finish()?;
                Ok(Vec::new())
            }
            "action" => {
                self.declare(words)?;
                Ok(Vec::new())
            }
            "commits" => {
                let mut args = Args::new(words)?;
                ensure!(args.next("take")? == "take", "commits take SPAN");
                let takes = span(&args.next("how long")?)?;
                args.finish()?;
                Ok(vec![Says::CommitsTake(takes)])
            }
            "at" => self.step(number, words),
            "from" => self.steps(number, words),
            "state" => {
                let action = self.named(&mut words)?;
                let expect = expect::state(words)?;
                Ok(vec![Says::State { action, expect }])
            }
            "history" => {
                let action = self.named(&mut words)?;
                let words = expect::history(words)?;
                Ok(vec![Says::History { action, words }])
            }
            "nothing" => {
                let action = self.named(&mut words)?;
                Args::new(words)?.finish()?;
                Ok(vec![Says::Nothing { action }])
            }
            other => bail!("{other:?} means nothing at the beginning of a line"),
        }
    }

    /// `action NAME id=… tool=… input=… facts=a,b label_run=…`: under the contract that was said last.
    fn declare(&mut self, words: Vec<Word>) -> anyhow::Result<()> {
        let mut args = Args::new(words)?;
        let name = args.next("the action's name in this story")?;
        let facts = args.value("facts").unwrap_or_default();
        let action = ActionScript {
            namespace: args.value("namespace").unwrap_or_else(|| self.name.clone()),
            id: args.value("id").unwrap_or_else(|| name.clone()),
            tool: args.value("tool").unwrap_or_else(|| "tool".to_owned()),
            input: args.value("input").unwrap_or_else(|| "input".to_owned()),
            description: args.value("description").unwrap_or_default(),
            facts: facts
                .split(',')
                .filter(|fact| !fact.is_empty())
                .map(str::to_owned)
                .collect(),
            labels: args.prefixed("label_"),
            terms: self.terms.context("no contract was said before")?,
        };
        args.finish()?;
        self.lead.get_or_insert_with(|| name.clone());
        self.actions.insert(name, action);
        Ok(())
    }

    /// The action of `on=NAME`, or the first one. A story that declares none has one called `a`.
    fn named(&mut self, words: &mut Vec<Word>) -> anyhow::Result<ActionScript> {
        let at = words
            .iter()
            .position(|word| matches!(word, Word::Pair(key, ..) if key == "on"));
        let named = match at.map(|at| words.remove(at)) {
            Some(Word::Pair(_, _, name)) => Some(name),
            Some(Word::Bare(_) | Word::Arrow) | None => None,
        };
        if self.lead.is_none() {
            self.declare(vec![Word::Bare("a".to_owned())])?;
        }
        let name = named
            .or_else(|| self.lead.clone())
            .context("there is no action")?;
        self.actions
            .get(&name)
            .cloned()
            .with_context(|| format!("there is no action {name:?}"))
    }
}
