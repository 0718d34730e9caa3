//! A line, cut into words: bare ones, `key=value` pairs, and the arrow before the expected answer.

use anyhow::{Context, bail};

use crate::story::script::Comparison;

/// One word of a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Word {
    /// `claim`, `"with space"`.
    Bare(String),
    /// `key=value`; in an expected answer also `key~part` and `key>number`.
    Pair(String, Comparison, String),
    /// `->`.
    Arrow,
}

/// Cuts a line. `#` at the start of a word begins a comment; quotes keep spaces, and know `\"`, `\\`, `\n`, `\t` and
/// `\u{200f}`.
pub fn words(line: &str) -> anyhow::Result<Vec<Word>> {
    let mut words = Vec::new();
    let mut rest = line.chars().peekable();
    loop {
        while rest.next_if(|c| c.is_whitespace()).is_some() {}
        match rest.peek() {
            None | Some('#') => return Ok(words),
            Some(_) => {}
        }
        let mut text = String::new();
        let mut key = None;
        let mut quoted = false;
        while let Some(c) = rest.next_if(|c| !c.is_whitespace()) {
            match c {
                '"' => {
                    quoted = true;
                    quote(&mut rest, &mut text)?;
                }
                '=' | '~' | '>' if key.is_none() && !quoted && named(&text) => {
                    let comparison = match c {
                        '~' => Comparison::Contains,
                        '>' => Comparison::Above,
                        _ => Comparison::Equal,
                    };
                    key = Some((std::mem::take(&mut text), comparison));
                }
                _ => text.push(c),
            }
        }
        words.push(match key {
            Some((key, comparison)) => Word::Pair(key, comparison, text),
            None if text == "->" && !quoted => Word::Arrow,
            None => Word::Bare(text),
        });
    }
}

fn named(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

fn quote(rest: &mut impl Iterator<Item = char>, text: &mut String) -> anyhow::Result<()> {
    loop {
        match rest.next().context("a quote has no end")? {
            '"' => return Ok(()),
            '\\' => text.push(match rest.next().context("a quote has no end")? {
                'n' => '\n',
                't' => '\t',
                'u' => {
                    let code: String = rest
                        .by_ref()
                        .skip_while(|c| *c == '{')
                        .take_while(|c| *c != '}')
                        .collect();
                    let code = u32::from_str_radix(&code, 16)
                        .with_context(|| format!("\\u{{{code}}} is no number"))?;
                    char::from_u32(code).with_context(|| format!("\\u{{{code:x}}} is no character"))?
                }
                c @ ('"' | '\\') => c,
                c => bail!("\\{c} means nothing"),
            }),
            c => text.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bare(text: &str) -> Word {
        Word::Bare(text.to_owned())
    }

    fn pair(key: &str, comparison: Comparison, value: &str) -> Word {
        Word::Pair(key.to_owned(), comparison, value.to_owned())
    }

    #[test]
    fn a_line_is_cut_into_words() {
        let line = r#"at 38.1 W2 verify t3 note="a \"b\" = c" -> !begun token>t1 detail~"at most" # why"#;
        assert_eq!(
            words(line).unwrap(),
            [
                bare("at"),
                bare("38.1"),
                bare("W2"),
                bare("verify"),
                bare("t3"),
                pair("note", Comparison::Equal, "a \"b\" = c"),
                Word::Arrow,
                bare("!begun"),
                pair("token", Comparison::Above, "t1"),
                pair("detail", Comparison::Contains, "at most"),
            ]
        );
    }

    #[test]
    fn odd_characters_can_be_written() {
        assert_eq!(words(r#""a\u{200f}b""#).unwrap(), [bare("a\u{200f}b")]);
        assert_eq!(words(r#"id="""#).unwrap(), [pair("id", Comparison::Equal, "")]);
        assert!(words("\"open").is_err());
    }
}
