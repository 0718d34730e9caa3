//! How random worlds begin: any contract that does not contradict itself, and a state that it can lead to.

use deed_core::contract::{
    ApprovalNeed, ConfirmBy, Contract, Deduplication, EffectClass, ExternalIdMeaning, OnPartial, Retry,
    Terms, Verification,
};
use deed_core::spec::Specification;
use deed_core::time::Span;

use crate::world::*;

const FACTS: [&str; 2] = ["row_exists", "mail_sent"];

/// What has happened before a world begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    Nothing,
    Unbegun,
    Sent,
    Accepted,
    Unknown,
    NotFound,
    Partial,
}

impl Opening {
    pub fn any(dice: &mut Dice) -> Self {
        match dice.below(20) {
            0..6 => Self::Nothing,
            6..8 => Self::Unbegun,
            8..11 => Self::Sent,
            11..13 => Self::Accepted,
            13..15 => Self::Unknown,
            15..17 => Self::NotFound,
            _ => Self::Partial,
        }
    }

    /// Whether these terms can lead there.
    fn fits(self, terms: &Terms) -> bool {
        let looked_up = terms.verification != Verification::None && terms.effect_class != EffectClass::Read;
        match self {
            Self::Nothing => true,
            Self::Unbegun | Self::Sent | Self::Accepted | Self::Unknown => {
                terms.approval == ApprovalNeed::None
            }
            Self::NotFound | Self::Partial => terms.approval == ApprovalNeed::None && looked_up,
        }
    }
}

/// Any contract that does not contradict itself, with short times, so that a world sees their ends.
pub fn any_spec(dice: &mut Dice, opening: Opening) -> Specification {
    loop {
        let class = *dice.pick(&[
            EffectClass::Read,
            EffectClass::Reversible,
            EffectClass::Reversible,
            EffectClass::Irreversible,
        ]);
        let window = *dice.pick(&[secs(40), secs(200), Span::from_hours(24)]);
        let verifiable = Verification::Postcondition {
            settle_window: *dice.pick(&[Span::ZERO, secs(3), secs(10)]),
            effect_deadline: *dice.pick(&[secs(20), secs(300)]),
        };
        let terms = Terms {
            effect_class: class,
            asynchronous: dice.percent(20),
            deduplication: *dice.pick(&[
                Deduplication::None,
                Deduplication::None,
                Deduplication::IdempotencyKey { window },
                Deduplication::FencingToken,
            ]),
            confirm_by: *dice.pick(&[ConfirmBy::Receipt, ConfirmBy::Postcondition]),
            verification: *dice.pick(&[Verification::None, verifiable, verifiable, verifiable]),
            external_id: *dice.pick(&[
                ExternalIdMeaning::IdentifiesEffect,
                ExternalIdMeaning::IdentifiesEffect,
                ExternalIdMeaning::IdentifiesObject,
            ]),
            retry: Retry {
                max_attempts: *dice.pick(&[2, 3, 8]),
                initial_backoff: *dice.pick(&[Span::from_millis(200), secs(1)]),
                multiplier_thousandths: 2_000,
                max_backoff: secs(8),
                total_budget: *dice.pick(&[secs(60), Span::from_hours(4), Span::from_hours(200)]),
                max_verifications: *dice.pick(&[2, 4, 10]),
            },
            send_timeout: *dice.pick(&[secs(1), secs(5)]),
            lease: *dice.pick(&[Span::from_millis(500), secs(5), secs(20)]),
            max_hold: secs(60),
            on_partial: *dice.pick(&[OnPartial::Stop, OnPartial::Resume]),
            approval: *dice.pick(&[
                ApprovalNeed::None,
                ApprovalNeed::None,
                ApprovalNeed::None,
                ApprovalNeed::Required,
            ]),
        };
        let stops = opening == Opening::Partial && terms.on_partial == OnPartial::Stop;
        if stops && dice.percent(70) || !opening.fits(&terms) {
            continue;
        }
        let facts: &[&str] = if dice.percent(60) { &FACTS } else { &[] };
        let Ok(contract) = Contract::new(terms) else {
            continue;
        };
        let plain = spec(serialized(), facts);
        let whole = Specification::new(plain.tool, plain.input, plain.expected, contract, plain.labels);
        if let Ok(whole) = whole {
            return whole;
        }
    }
}
