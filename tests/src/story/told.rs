//! What callers and screens are told, as fields of text: the common ground on which two engines are compared.

use std::collections::BTreeMap;
use std::fmt;

use deed_core::time::{Span, Timestamp};

use super::engine::BASE;

/// What the value of a field is, so that a script can write it in its own way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A word, compared without regard to case.
    Word,
    /// Text as it is; lists are joined by commas.
    Text,
    /// `true` or `false`.
    Truth,
    /// A number.
    Number,
    /// A length of time.
    Span,
    /// A point in time, from the beginning of the story.
    Time,
    /// A fencing token: a name that the story gives.
    Token,
    /// A version: a name that the story gives.
    Version,
    /// A piece of evidence: the name of the request that brought it.
    Request,
}

/// Every field that an answer, a shown action or an event can have.
pub const FIELDS: &[(&str, Kind)] = &[
    ("absence_from", Kind::Time),
    ("assignee", Kind::Text),
    ("at", Kind::Time),
    ("attempt", Kind::Number),
    ("attempts", Kind::Number),
    ("basis", Kind::Word),
    ("begun", Kind::Truth),
    ("code", Kind::Word),
    ("counted", Kind::Number),
    ("detail", Kind::Text),
    ("due_at", Kind::Time),
    ("effect", Kind::Request),
    ("expires_at", Kind::Time),
    ("ext", Kind::Text),
    ("facts", Kind::Text),
    ("field", Kind::Text),
    ("first_sent_at", Kind::Time),
    ("flags", Kind::Word),
    ("generation", Kind::Number),
    ("guarantee", Kind::Word),
    ("inconclusive", Kind::Number),
    ("kind", Kind::Word),
    ("labels", Kind::Text),
    ("lease_left", Kind::Span),
    ("missing", Kind::Text),
    ("note", Kind::Text),
    ("outcome", Kind::Word),
    ("outward_key", Kind::Text),
    ("owner", Kind::Text),
    ("reason", Kind::Word),
    ("request", Kind::Request),
    ("resend", Kind::Truth),
    ("result", Kind::Text),
    ("retry_after", Kind::Span),
    ("safe", Kind::Truth),
    ("send_timeout", Kind::Span),
    ("sequence", Kind::Number),
    ("settled_at", Kind::Time),
    ("since", Kind::Time),
    ("state", Kind::Word),
    ("step", Kind::Text),
    ("terms_differ", Kind::Truth),
    ("token", Kind::Token),
    ("undisproved", Kind::Text),
    ("version", Kind::Version),
    ("waited", Kind::Span),
];

/// The kind of a field, if there is such a field.
pub fn kind(field: &str) -> Option<(&'static str, Kind)> {
    FIELDS.iter().copied().find(|(name, _)| *name == field)
}

/// What was told. An absent field is one that does not apply.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Told(BTreeMap<&'static str, String>);

impl Told {
    /// An answer that names its step.
    pub fn step(step: &str) -> Self {
        let mut told = Self::default();
        told.put("step", step);
        told
    }

    /// A call that could not be judged.
    pub fn error(code: &str, reason: &str) -> Self {
        let mut told = Self::step("error");
        told.put("code", code);
        told.put("reason", reason);
        told
    }

    /// Says one thing. Two different values for one field stay visible, so that no comparison can pass by them.
    pub fn put(&mut self, field: &'static str, value: impl fmt::Display) {
        let value = value.to_string();
        match self.0.get_mut(field) {
            Some(known) if *known != value => {
                known.push_str(" but also ");
                known.push_str(&value);
            }
            Some(_) => {}
            None => {
                self.0.insert(field, value);
            }
        }
    }

    /// Says it, if there is something to say.
    pub fn put_some(&mut self, field: &'static str, value: Option<impl fmt::Display>) {
        if let Some(value) = value {
            self.put(field, value);
        }
    }

    /// Says it, unless it is the empty text.
    pub fn put_text(&mut self, field: &'static str, value: &str) {
        if !value.is_empty() {
            self.put(field, value);
        }
    }

    /// A length of time.
    pub fn put_span(&mut self, field: &'static str, span: Span) {
        self.put(field, seconds(i128::from(span.micros())));
    }

    /// A point in time.
    pub fn put_time(&mut self, field: &'static str, time: Timestamp) {
        self.put(field, offset(time));
    }

    /// What was said of a field.
    pub fn value(&self, field: &str) -> Option<&str> {
        self.0.get(field).map(String::as_str)
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.value("step").or(self.value("kind")).unwrap_or("-"))?;
        for (field, value) in &self.0 {
            if *field != "step" {
                write!(f, " {field}={value:?}")?;
            }
        }
        Ok(())
    }
}

/// A name of the code in the form of the wire: `SettleWindow` is `SETTLE_WINDOW`.
pub fn capitals(name: impl fmt::Debug) -> String {
    let mut capitals = String::new();
    for (at, c) in format!("{name:?}").chars().enumerate() {
        if at > 0 && c.is_uppercase() {
            capitals.push('_');
        }
        capitals.extend(c.to_uppercase());
    }
    capitals
}

/// A point in time from the beginning of the story, in seconds.
pub fn offset(time: Timestamp) -> String {
    seconds(i128::from(time.micros()) - i128::from(BASE.micros()))
}

/// Seconds, as short as they can be written exactly.
pub fn seconds(micros: i128) -> String {
    let sign = if micros < 0 { "-" } else { "" };
    let micros = micros.unsigned_abs();
    let (whole, rest) = (micros / 1_000_000, micros % 1_000_000);
    if rest == 0 {
        return format!("{sign}{whole}");
    }
    let digits = format!("{rest:06}");
    format!("{sign}{whole}.{}", digits.trim_end_matches('0'))
}

/// A list, joined.
pub fn list<T: fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(",")
}

/// Bytes as text where they are text, else in hexadecimal digits.
pub fn bytes(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}
