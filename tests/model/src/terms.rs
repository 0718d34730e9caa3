//! The contracts of the worlds, with lengths that keep them small.

use deed_core::contract::{ConfirmBy, Deduplication, EffectClass, Retry, Terms, Verification};
use deed_core::time::Span;

use super::setting::ticks;

/// Nothing is known of the receiver: lease and send timeout of one tick, two attempts, one lookup that cannot tell.
pub fn cautious() -> Terms {
    Terms {
        lease: ticks(1),
        send_timeout: ticks(1),
        max_hold: ticks(3),
        retry: Retry {
            max_attempts: 2,
            initial_backoff: Span::from_millis(1),
            multiplier_thousandths: 1_000,
            max_backoff: Span::from_millis(1),
            total_budget: Span::from_hours(1),
            max_verifications: 2,
        },
        ..Terms::cautious(EffectClass::Irreversible)
    }
}

/// A lookup proves absence one tick after the send is over.
pub fn serialized() -> Terms {
    Terms {
        verification: Verification::Postcondition {
            settle_window: ticks(1),
            effect_deadline: ticks(2),
        },
        ..cautious()
    }
}

/// A receipt is not proof.
pub fn by_lookup() -> Terms {
    Terms {
        confirm_by: ConfirmBy::Postcondition,
        ..serialized()
    }
}

/// The receiver answers before the effect.
pub fn asynchronous() -> Terms {
    Terms {
        asynchronous: true,
        ..by_lookup()
    }
}

/// The receiver keeps outward keys; nothing can be looked up.
pub fn deduplicated(window: u64) -> Terms {
    Terms {
        deduplication: Deduplication::IdempotencyKey {
            window: ticks(window),
        },
        ..cautious()
    }
}

/// The receiver refuses stale and used tokens.
pub fn fenced() -> Terms {
    Terms {
        deduplication: Deduplication::FencingToken,
        ..serialized()
    }
}
