//! The fleets: one for each guarantee, with the contract and the receiver that belong to it, and one that retries blindly.
//!
//! Owns the numbers that make a guarantee's premise true, and whom an action is offered to.

use std::time::Duration;

use deed_client::{Contract, Retry, minutes};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::plan::WORKERS;
use crate::receiver::{Dials, EffectRequest, Fault, Fencing, Idempotency, Magnitudes, Odds, StoredRefusals};

/// The namespace of all actions.
pub const NAMESPACE: &str = "chaos";

/// Shorter than every pause that the nemesis makes.
pub const LEASE: Duration = Duration::from_millis(1_000);

/// The receiver client's own timeout,
pub const ANSWER_TIMEOUT: Duration = Duration::from_millis(400);

/// and what the contract promises: a timeout is then an honest receipt and not a cut-off.
pub const SEND_TIMEOUT: Duration = Duration::from_millis(500);

/// A receiver is late by `LATE` and hides for `HIDDEN`, and the network is slow by `SLOWEST`;
/// a busy machine gets the rest.
pub const SETTLE_WINDOW: Duration = Duration::from_millis(1_200);

/// The servers' `--max-clock-step`. All clocks here are one, so a small one will do.
pub const CLOCK_STEP: Duration = Duration::from_millis(250);

/// Beyond [`ANSWER_TIMEOUT`], so that a late effect is always a lost answer too, and a lookup right after it sees nothing.
const LATE: Duration = Duration::from_millis(500);
const HIDDEN: Duration = Duration::from_millis(250);

/// What a receiver needs when nothing goes wrong: long enough for a kill to come in between.
const WORK: Duration = Duration::from_millis(8);

/// The second worker comes to an action at most this much later than the first.
const LATER: Duration = Duration::from_millis(100);

/// The receivers' rate limit passes within this.
const RETRY_AFTER: Duration = Duration::from_millis(60);

/// Whoever works under one guarantee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fleet {
    Deduplicated,
    Fenced,
    Serialized,
    AtMostOnce,
    /// Without Deed: the control.
    Blind,
}

/// How a receiver treats keys and tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conduct {
    /// Ignores both.
    Plain,
    /// Honours idempotency keys.
    Keyed,
    /// Refuses stale tokens, also after a lookup.
    Fenced,
}

impl Conduct {
    pub const ALL: [Self; 3] = [Self::Plain, Self::Keyed, Self::Fenced];

    /// How it behaves and misbehaves.
    pub fn dials(self, seed: u64) -> Dials {
        let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let dials = Dials {
            seed,
            every: Fault::apply_after(ms(WORK)),
            odds: Odds {
                rate_limit: 0.03,
                drop_before: 0.03,
                drop_answer: 0.06,
                apply_late: 0.06,
                hide: 0.1,
                lookup_drop: 0.03,
                ..Odds::default()
            },
            magnitudes: Magnitudes {
                retry_after_ms: ms(RETRY_AFTER),
                apply_late_ms: ms(LATE),
                hide_ms: ms(HIDDEN),
                ..Magnitudes::default()
            },
            ..Dials::default()
        };
        match self {
            Self::Plain => dials,
            Self::Keyed => Dials {
                idempotency: Idempotency::Honoured {
                    retention_ms: ms(WINDOW * 2),
                    refusals: StoredRefusals::Forgotten,
                },
                ..dials
            },
            // SUBTLE: hides nothing. A lookup that raises the floor has to see everything that came in below it; with a
            // read lag, an effect that lands just before the lookup is missed, and the retry doubles it.
            Self::Fenced => Dials {
                fencing: Fencing::EffectsAndLookups,
                odds: Odds {
                    hide: 0.0,
                    ..dials.odds
                },
                ..dials
            },
        }
    }
}

/// The deduplication window, far beyond any run.
const WINDOW: Duration = minutes(30);

impl Fleet {
    pub const ALL: [Self; 5] = [
        Self::Deduplicated,
        Self::Fenced,
        Self::Serialized,
        Self::AtMostOnce,
        Self::Blind,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Self::Deduplicated => "DEDUPLICATED",
            Self::Fenced => "FENCED",
            Self::Serialized => "SERIALIZED",
            Self::AtMostOnce => "AT_MOST_ONCE",
            Self::Blind => "blind retry",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Deduplicated => "deduplicated",
            Self::Fenced => "fenced",
            Self::Serialized => "serialized",
            Self::AtMostOnce => "at-most-once",
            Self::Blind => "blind",
        }
    }

    pub fn guarded(self) -> bool {
        self != Self::Blind
    }

    pub fn conduct(self) -> Conduct {
        match self {
            Self::Deduplicated => Conduct::Keyed,
            Self::Fenced => Conduct::Fenced,
            Self::Serialized | Self::AtMostOnce | Self::Blind => Conduct::Plain,
        }
    }

    /// What its receiver can and cannot do.
    pub fn contract(self) -> Contract {
        let contract = match self {
            Self::Deduplicated => Contract::idempotency_key(WINDOW),
            Self::Fenced => Contract::fencing_token(SETTLE_WINDOW),
            Self::Serialized => Contract::serialized(SETTLE_WINDOW),
            Self::AtMostOnce | Self::Blind => Contract::at_most_once(),
        };
        // Limits that no run reaches: what is undecided at the end is so for another reason.
        let retry = Retry::default()
            .max_attempts(200)
            .max_verifications(1_000)
            .backoff(Duration::from_millis(50), 1.5, Duration::from_millis(500));
        contract.send_timeout(SEND_TIMEOUT).lease(LEASE).retry(retry)
    }

    /// Whether a lookup tells anything.
    pub fn looks_up(self) -> bool {
        matches!(self, Self::Fenced | Self::Serialized)
    }

    /// The id of action number `n`, at Deed and at the receiver.
    pub fn action(self, n: u64) -> String {
        format!("{}-{n:05}", self.word())
    }

    /// Whose action this is.
    pub fn of(action: &str) -> Option<Self> {
        let (word, _) = action.rsplit_once('-')?;
        Self::ALL.into_iter().find(|fleet| fleet.word() == word)
    }

    /// Each fleet has its own: an external id proves one action of a tool, and the receivers know nothing of each other.
    pub fn tool(self) -> &'static str {
        self.word()
    }

    pub fn effect(self, action: &str) -> EffectRequest {
        EffectRequest::new(action, self.tool(), &[])
    }

    /// The two workers, by number from 0, that action number `n` is offered to, and how much later than its time each of
    /// them comes to it: the second so little later that the first is often still at it.
    pub fn offered_to(self, seed: u64, n: u64) -> [(usize, Duration); 2] {
        let name = format!("{seed}/{}", self.action(n));
        let bytes = *Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()).as_bytes();
        let first = usize::from(bytes[0]) % WORKERS;
        let apart = 1 + usize::from(bytes[1]) % (WORKERS - 1);
        let later = LATER.mul_f64(f64::from(bytes[2]) / f64::from(u8::MAX));
        [(first, Duration::ZERO), ((first + apart) % WORKERS, later)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chaos::network::SLOWEST;

    #[test]
    fn what_is_late_hidden_and_slow_is_seen_well_before_absence_is_believed() {
        assert!(LATE + HIDDEN + SLOWEST * 2 < SETTLE_WINDOW);
        assert!(ANSWER_TIMEOUT < LATE && ANSWER_TIMEOUT < SEND_TIMEOUT && SEND_TIMEOUT < LEASE);
    }

    #[test]
    fn every_action_is_offered_to_two_different_workers_and_names_its_fleet() {
        for fleet in Fleet::ALL {
            for n in 0..100 {
                let [(first, _), (second, _)] = fleet.offered_to(7, n);
                assert!(first != second && first < WORKERS && second < WORKERS);
                assert_eq!(Fleet::of(&fleet.action(n)), Some(fleet));
            }
        }
        assert_eq!(Fleet::of("order-1"), None);
    }
}
