//! What stands right of the arrow, and in `state` lines. An unknown field is a mistake in the script.

use anyhow::{Context, bail, ensure};

use super::args::span;
use super::words::Word;
use crate::story::script::{Comparison, Expectation, HistoryWord};
use crate::story::told::{Kind, kind, seconds};

/// The next steps, with the field that a bare word after it gives.
const STEPS: &[(&str, Option<&str>)] = &[
    ("execute", None),
    ("verify", None),
    ("claimable", Some("kind")),
    ("wait", Some("reason")),
    ("held", Some("owner")),
    ("settled", Some("state")),
    ("blocked", Some("reason")),
    ("renewed", None),
    ("error", Some("reason")),
];

/// `execute token=t1 begun`, `wait settle_window retry_after=5`, `error INPUT_MISMATCH`; `any !safe`, where the next step
/// itself may differ.
pub fn answer(words: Vec<Word>) -> anyhow::Result<Vec<Expectation>> {
    let mut words = words.into_iter().peekable();
    let Some(Word::Bare(step)) = words.next() else {
        bail!("the answer begins with its next step, or any");
    };
    if step == "any" {
        return fields(words);
    }
    let (step, second) = STEPS
        .iter()
        .copied()
        .find(|(name, _)| *name == step)
        .with_context(|| format!("{step:?} is no next step"))?;
    let mut expect = vec![expectation("step", Comparison::Equal, step)?];
    if let (Some(field), Some(Word::Bare(_))) = (second, words.peek())
        && let Some(Word::Bare(value)) = words.next()
    {
        expect.push(expectation(field, Comparison::Equal, &value)?);
    }
    expect.extend(fields(words)?);
    Ok(expect)
}

/// `UNKNOWN reason=LEASE_LAPSED undisproved=1`.
pub fn state(words: Vec<Word>) -> anyhow::Result<Vec<Expectation>> {
    let mut words = words.into_iter();
    let Some(Word::Bare(state)) = words.next() else {
        bail!("the state is missing");
    };
    let mut expect = vec![expectation("state", Comparison::Equal, &state)?];
    expect.extend(fields(words)?);
    Ok(expect)
}

fn fields(words: impl Iterator<Item = Word>) -> anyhow::Result<Vec<Expectation>> {
    words
        .map(|word| match word {
            Word::Bare(text) => match text.strip_prefix('!') {
                Some(field) => truth(field, "false"),
                None => truth(&text, "true"),
            },
            Word::Pair(field, comparison, value) => expectation(&field, comparison, &value),
            Word::Arrow => bail!("two arrows"),
        })
        .collect()
}

fn truth(field: &str, value: &str) -> anyhow::Result<Expectation> {
    ensure!(
        kind(field).is_some_and(|(_, kind)| kind == Kind::Truth),
        "{field:?} is not true or false of anything"
    );
    expectation(field, Comparison::Equal, value)
}

/// The value in the form in which it is told.
fn expectation(field: &str, comparison: Comparison, value: &str) -> anyhow::Result<Expectation> {
    let (field, kind) = kind(field).with_context(|| format!("there is no field {field:?}"))?;
    let value = match kind {
        Kind::Word => value.to_ascii_uppercase(),
        Kind::Span | Kind::Time if value != "-" => seconds(i128::from(span(value)?.micros())),
        Kind::Number if value != "-" => value
            .parse::<u64>()
            .with_context(|| format!("{field} is a number, not {value:?}"))?
            .to_string(),
        Kind::Span
        | Kind::Time
        | Kind::Number
        | Kind::Text
        | Kind::Truth
        | Kind::Token
        | Kind::Version
        | Kind::Request => value.to_owned(),
    };
    Ok(Expectation {
        field,
        comparison,
        value,
    })
}

/// `granted@t1 begun .. observed`.
pub fn history(words: Vec<Word>) -> anyhow::Result<Vec<HistoryWord>> {
    let word = |word| match word {
        Word::Bare(text) if text == ".." => Ok(HistoryWord::Anything),
        Word::Bare(text) => Ok(match text.split_once('@') {
            Some((kind, token)) => HistoryWord::Event {
                kind: kind.to_ascii_uppercase(),
                token: Some(token.to_owned()),
            },
            None => HistoryWord::Event {
                kind: text.to_ascii_uppercase(),
                token: None,
            },
        }),
        Word::Pair(key, ..) => bail!("{key}= means nothing in a history"),
        Word::Arrow => bail!("a history is not answered"),
    };
    words.into_iter().map(word).collect()
}
