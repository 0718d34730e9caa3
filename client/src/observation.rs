//! What one lookup of the postcondition found in the receiver.
//!
//! Owns the words, and the verdict that follows from declared facts. Whether an absence counts is decided by the service:
//! it knows when the lookup can have started.

use std::fmt::{self, Display};
use std::time::Duration;

use deed_proto::v1;
use v1::observation::{Confirmed, Failed, NotFound, Partial, Pending, Unknown, Verdict};

use crate::receipt::fitting;
use crate::{span, text};

/// How a declared fact was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Seen {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// The lookup could not tell.
    NotSeen,
}

impl From<bool> for Seen {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

impl From<Seen> for v1::Seen {
    fn from(seen: Seen) -> Self {
        match seen {
            Seen::True => Self::True,
            Seen::False => Self::False,
            Seen::NotSeen => Self::NotSeen,
        }
    }
}

/// What a lookup found.
#[derive(Clone, PartialEq)]
#[must_use]
pub struct Observation {
    verdict: Verdict,
    facts: Vec<v1::FactSeen>,
    detail: String,
}

impl Observation {
    fn of(verdict: Verdict) -> Self {
        Self {
            verdict,
            facts: Vec::new(),
            detail: String::new(),
        }
    }

    /// The effect is there; `external_id` is the receiver's name for it (empty: it has none).
    pub fn confirmed(external_id: impl AsRef<str>) -> Self {
        Self::of(Verdict::Confirmed(Confirmed {
            external_id: text::key(external_id.as_ref()),
            result: None,
        }))
    }

    /// The effect is not there, on a source no staler than the settle window.
    pub fn not_found() -> Self {
        Self::of(Verdict::NotFound(NotFound {}))
    }

    /// The command is under way; look again after `retry_after`.
    pub fn pending(retry_after: Duration) -> Self {
        Self::of(Verdict::Pending(Pending {
            retry_after: Some(span::to_wire(retry_after)),
        }))
    }

    /// The receiver's own final word that no effect came or will come of the work it calls `external_id`.
    pub fn failed(external_id: impl AsRef<str>, reason: impl Display) -> Self {
        Self::of(Verdict::Failed(Failed {
            external_id: text::key(external_id.as_ref()),
            attempt: 0,
            reason: text::note(&reason.to_string()),
        }))
    }

    /// The receiver's own final word that no effect came or will come of the attempt with this number.
    pub fn failed_attempt(attempt: u32, reason: impl Display) -> Self {
        Self::of(Verdict::Failed(Failed {
            external_id: String::new(),
            attempt,
            reason: text::note(&reason.to_string()),
        }))
    }

    /// Some of the effect is there and some is not; where facts are declared, say which ([`Observation::fact`]).
    pub fn partial() -> Self {
        Self::of(Verdict::Partial(Partial {}))
    }

    /// The lookup did not decide.
    pub fn unknown(reason: impl Display) -> Self {
        Self::of(Verdict::Unknown(Unknown {
            reason: text::note(&reason.to_string()),
        }))
    }

    /// One declared fact as it was seen.
    pub fn fact(mut self, name: impl AsRef<str>, seen: impl Into<Seen>) -> Self {
        self.facts.push(v1::FactSeen {
            name: text::key(name.as_ref()),
            seen: v1::Seen::from(seen.into()).into(),
        });
        self
    }

    /// What was looked at, for people.
    pub fn detail(mut self, detail: impl Display) -> Self {
        self.detail = text::note(&detail.to_string());
        self
    }

    /// Of a *confirmed*: what the lookup brought back. At most 256 KiB; a larger one is left out and logged.
    pub fn with_result(mut self, result: impl Into<Vec<u8>>) -> Self {
        let result = fitting(result.into());
        if let Verdict::Confirmed(confirmed) = &mut self.verdict {
            confirmed.result = result;
        }
        self
    }

    /// The service's name for this verdict.
    pub fn name(&self) -> &'static str {
        match &self.verdict {
            Verdict::Confirmed(_) => "CONFIRMED",
            Verdict::NotFound(_) => "NOT_FOUND",
            Verdict::Pending(_) => "PENDING",
            Verdict::Failed(_) => "FAILED",
            Verdict::Partial(_) => "PARTIAL",
            Verdict::Unknown(_) => "UNKNOWN",
        }
    }

    /// As the wire carries it.
    pub fn to_wire(&self) -> v1::Observation {
        v1::Observation {
            verdict: Some(self.verdict.clone()),
            facts: self.facts.clone(),
            detail: self.detail.clone(),
        }
    }

    /// The verdict that the facts leave: all true is *confirmed*, all false *not found*, a mix *partial*; a declared fact
    /// that was not seen leaves it open unless the mix is plain already.
    pub(crate) fn judged(declared: &[String], seen: &[(String, Seen)], external_id: &str) -> Self {
        let of = |name: &String| {
            let found = seen.iter().find(|(seen, _)| text::key(seen) == *name);
            found.map_or(Seen::NotSeen, |(_, seen)| *seen)
        };
        let any = |wanted: Seen| declared.iter().any(|name| of(name) == wanted);
        let verdict = match (any(Seen::True), any(Seen::False), any(Seen::NotSeen)) {
            (true, true, _) => Self::partial(),
            (true, false, false) => Self::confirmed(external_id),
            (false, true, false) => Self::not_found(),
            (_, _, true) | (false, false, false) => Self::unknown("not every declared fact was seen"),
        };
        declared
            .iter()
            .fold(verdict, |verdict, name| verdict.fact(name, of(name)))
    }
}

/// Shows the verdict and the facts, not the result: results are kept out of logs.
impl fmt::Debug for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(self.name())
            .field("facts", &self.facts)
            .field("detail", &self.detail)
            .finish_non_exhaustive()
    }
}

/// A lookup that failed found nothing out.
impl<E: Display> From<Result<Observation, E>> for Observation {
    fn from(result: Result<Observation, E>) -> Self {
        result.unwrap_or_else(|error| Observation::unknown(format_args!("the lookup failed: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(seen: &[(&str, Seen)]) -> &'static str {
        let declared = ["row_exists".to_owned(), "mail_published".to_owned()];
        let seen: Vec<(String, Seen)> = seen
            .iter()
            .map(|(name, seen)| ((*name).to_owned(), *seen))
            .collect();
        Observation::judged(&declared, &seen, "id").name()
    }

    #[test]
    fn the_verdict_follows_from_the_facts() {
        let (row, mail) = ("row_exists", "mail_published");
        assert_eq!(verdict(&[(row, Seen::True), (mail, Seen::True)]), "CONFIRMED");
        assert_eq!(verdict(&[(row, Seen::False), (mail, Seen::False)]), "NOT_FOUND");
        assert_eq!(verdict(&[(row, Seen::True), (mail, Seen::False)]), "PARTIAL");
        assert_eq!(verdict(&[(row, Seen::True)]), "UNKNOWN");
        assert_eq!(verdict(&[(row, Seen::False), (mail, Seen::NotSeen)]), "UNKNOWN");
    }

    #[test]
    fn a_lookup_that_failed_found_nothing_out() {
        assert_eq!(
            Observation::from(Err::<Observation, _>("timeout")).name(),
            "UNKNOWN"
        );
    }
}
