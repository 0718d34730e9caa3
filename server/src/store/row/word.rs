//! The words of enums without fields, as columns and documents spell them. Exhaustive: a new variant without a word does
//! not compile, and a word nobody knows does not load.

use deed_core::action::{Basis, Doubt, Ended, Flag, GrantKind, State, Stop, Word as Said};
use deed_core::contract::{ApprovalNeed, ConfirmBy, EffectClass, ExternalIdMeaning, OnPartial};
use deed_core::evidence::{NotSentReason, Seen};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serializer};

use super::stored::Stored;

/// An enum that is stored as one word.
pub trait Word: Sized {
    fn word(&self) -> &'static str;
    fn read(word: &str) -> Option<Self>;
}

macro_rules! words {
    ($($name:ident { $($variant:ident = $word:literal),* $(,)? })*) => {$(
        impl Word for $name {
            fn word(&self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            fn read(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }

        impl Stored for $name {
            fn store<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.word())
            }

            fn load<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let word = String::deserialize(from)?;
                Self::read(&word).ok_or_else(|| D::Error::custom(format!("the unknown word {word:?}")))
            }
        }
    )*};
}

words! {
    State {
        AwaitingApproval = "AWAITING_APPROVAL",
        Planned = "PLANNED",
        Sent = "SENT",
        Accepted = "ACCEPTED",
        Partial = "PARTIAL",
        Unknown = "UNKNOWN",
        NotFound = "NOT_FOUND",
        Confirmed = "CONFIRMED",
        Rejected = "REJECTED",
        Abandoned = "ABANDONED",
    }
    Doubt {
        LeaseLapsed = "LEASE_LAPSED",
        Reported = "REPORTED",
        Released = "RELEASED",
        Ungated = "UNGATED",
        EarlierAttempt = "EARLIER_ATTEMPT",
        Decided = "DECIDED",
        Contradiction = "CONTRADICTION",
    }
    Stop {
        Contradiction = "CONTRADICTION",
        EffectDeadlinePassed = "EFFECT_DEADLINE_PASSED",
    }
    GrantKind { Execute = "EXECUTE", Verify = "VERIFY" }
    Ended { Evidence = "EVIDENCE", Released = "RELEASED", Lapsed = "LAPSED", Fenced = "FENCED" }
    Said { None = "NONE", Accepted = "ACCEPTED", Completed = "COMPLETED" }
    Basis { Receipt = "RECEIPT", Observation = "OBSERVATION", Decision = "DECISION" }
    Flag {
        DuplicateSuspected = "DUPLICATE_SUSPECTED",
        Contradicted = "CONTRADICTED",
        Ungated = "UNGATED",
    }
    EffectClass { Read = "READ", Reversible = "REVERSIBLE", Irreversible = "IRREVERSIBLE" }
    ConfirmBy { Receipt = "RECEIPT", Postcondition = "POSTCONDITION" }
    ExternalIdMeaning { IdentifiesEffect = "IDENTIFIES_EFFECT", IdentifiesObject = "IDENTIFIES_OBJECT" }
    OnPartial { Stop = "STOP", Resume = "RESUME" }
    ApprovalNeed { None = "NONE", Required = "REQUIRED" }
    NotSentReason {
        LeaseNotLive = "LEASE_NOT_LIVE",
        NotConnected = "NOT_CONNECTED",
        Cancelled = "CANCELLED",
        InputUnavailable = "INPUT_UNAVAILABLE",
        ShuttingDown = "SHUTTING_DOWN",
        Other = "OTHER",
    }
    Seen { True = "TRUE", False = "FALSE", NotSeen = "NOT_SEEN" }
}
