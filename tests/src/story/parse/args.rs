//! The words of one line, taken one by one. A word that nobody takes is a mistake in the script.

use std::collections::VecDeque;

use anyhow::{Context, bail, ensure};
use deed_core::time::Span;

use super::words::Word;
use crate::story::script::Comparison;

/// What is left of a line.
pub struct Args {
    bare: VecDeque<String>,
    pairs: Vec<(String, String)>,
}

impl Args {
    /// Of the part of a line that says something, as opposed to the expected answer.
    pub fn new(words: Vec<Word>) -> anyhow::Result<Self> {
        let mut args = Self {
            bare: VecDeque::new(),
            pairs: Vec::new(),
        };
        for word in words {
            match word {
                Word::Bare(text) => args.bare.push_back(text),
                Word::Pair(key, Comparison::Equal, value) => args.pairs.push((key, value)),
                Word::Pair(key, ..) => bail!("{key} can only be set with ="),
                Word::Arrow => bail!("no answer is expected here"),
            }
        }
        Ok(args)
    }

    /// The next bare word.
    pub fn next(&mut self, what: &str) -> anyhow::Result<String> {
        self.bare
            .pop_front()
            .with_context(|| format!("{what} is missing"))
    }

    /// Whether a bare word is there.
    pub fn flag(&mut self, word: &str) -> bool {
        let at = self.bare.iter().position(|bare| bare == word);
        at.and_then(|at| self.bare.remove(at)).is_some()
    }

    /// The value of a key.
    pub fn value(&mut self, key: &str) -> Option<String> {
        let at = self.pairs.iter().position(|(name, _)| name == key)?;
        Some(self.pairs.remove(at).1)
    }

    /// All values of keys with this prefix, with what follows the prefix.
    pub fn prefixed(&mut self, prefix: &str) -> Vec<(String, String)> {
        let mut found = Vec::new();
        self.pairs.retain(|(key, value)| match key.strip_prefix(prefix) {
            Some(rest) => {
                found.push((rest.to_owned(), value.clone()));
                false
            }
            None => true,
        });
        found
    }

    /// A length of time.
    pub fn span(&mut self, key: &str) -> anyhow::Result<Option<Span>> {
        self.value(key).map(|text| span(&text)).transpose()
    }

    /// A number.
    pub fn number(&mut self, key: &str) -> anyhow::Result<Option<u32>> {
        let parse = |text: String| text.parse().with_context(|| format!("{text:?} is no number"));
        self.value(key).map(parse).transpose()
    }

    /// Nothing may be left.
    pub fn finish(self) -> anyhow::Result<()> {
        let mut left: Vec<String> = self.bare.into();
        left.extend(
            self.pairs
                .into_iter()
                .map(|(key, value)| format!("{key}={value}")),
        );
        ensure!(left.is_empty(), "{} means nothing here", left.join(", "));
        Ok(())
    }
}

/// `38.1`, `500ms`, `24h`, `24h+1`: seconds where no unit is named; parts are added.
pub fn span(text: &str) -> anyhow::Result<Span> {
    let mut sum = Span::ZERO;
    for part in text.split('+') {
        let digits = part.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit: u64 = match &part[digits.len()..] {
            "us" => 1,
            "ms" => 1_000,
            "" | "s" => 1_000_000,
            "m" => 60_000_000,
            "h" => 3_600_000_000,
            "d" => 86_400_000_000,
            other => bail!("{other:?} is no unit of time: us, ms, s, m, h, d"),
        };
        let (whole, rest) = digits.split_once('.').unwrap_or((digits, ""));
        let wrong = || format!("{text:?} is no length of time");
        let mut micros = whole.parse::<u64>().with_context(wrong)? * unit;
        if !rest.is_empty() {
            let scale = 10_u64.pow(u32::try_from(rest.len())?);
            micros += rest.parse::<u64>().with_context(wrong)? * unit / scale;
        }
        sum = sum.plus(Span::from_micros(micros));
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_have_units_and_parts() {
        for (text, micros) in [
            ("38.1", 38_100_000),
            ("500ms", 500_000),
            ("24h+1", 86_401_000_000),
            ("1.5m", 90_000_000),
            ("0", 0),
        ] {
            assert_eq!(span(text).unwrap(), Span::from_micros(micros));
        }
        assert!(span("").is_err());
        assert!(span("1x").is_err());
        assert!(span("-1").is_err());
    }
}
