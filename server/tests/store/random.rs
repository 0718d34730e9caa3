//! Random commands of every kind, from a seed.

use std::collections::BTreeMap;

use deed_core::action::Flag;
use deed_core::command::{Ask, Command, Decision, Resolution, Then};
use deed_core::contract::{
    ApprovalNeed, ConfirmBy, Contract, Deduplication, EffectClass, ExternalIdMeaning, OnPartial, Terms,
    Verification,
};
use deed_core::evidence::{NotSentReason, Observation, Receipt, Seen, Verdict};
use deed_core::id::{Token, Version};
use deed_core::spec::{ExpectedEffect, InputHash, Label, Specification};
use deed_core::text::{
    ActionId, Description, ExternalId, FactName, HashScheme, LabelKey, LabelValue, Note, Owner, Tool,
};
use deed_core::time::Span;

use crate::fixture::{command, external};

/// SplitMix64: small, and the same everywhere.
#[derive(Debug)]
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, sides: usize) -> usize {
        usize::try_from(self.roll() % u64::try_from(sides).unwrap()).unwrap()
    }

    pub fn coin(&mut self) -> bool {
        self.below(2) == 0
    }

    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}

/// What a command can refer to.
pub struct Known {
    pub tokens: Vec<Token>,
    pub version: Version,
}

const FACTS: [&str; 2] = ["row_exists", "mail_published"];

fn note(dice: &mut Dice) -> Note {
    Note::new(dice.pick(&[
        "",
        "429",
        "two\nlines\tand \"quotes\"",
        "'; DROP TABLE actions; --",
        "\u{202e}abc\u{1f980}",
    ]))
    .unwrap()
}

fn an_external(dice: &mut Dice) -> Option<ExternalId> {
    let ids = ["INV-1", "INV-2", "\u{00e9}", "a b"];
    if dice.below(3) == 0 {
        None
    } else {
        Some(external(dice.pick(&ids)))
    }
}

fn bytes(dice: &mut Dice) -> Option<Vec<u8>> {
    dice.pick(&[
        None,
        Some(Vec::new()),
        Some(vec![0, 255, 0]),
        Some(vec![7; 4_000]),
    ])
}

pub fn specification(dice: &mut Dice) -> Specification {
    let verification = Verification::Postcondition {
        settle_window: Span::from_millis(dice.pick(&[0, 500])),
        effect_deadline: Span::from_secs(dice.pick(&[1, 60])),
    };
    let window = Span::from_hours(1);
    let class = [
        EffectClass::Read,
        EffectClass::Reversible,
        EffectClass::Irreversible,
    ];
    loop {
        let asynchronous = dice.below(4) == 0;
        let terms = Terms {
            effect_class: dice.pick(&class),
            asynchronous,
            deduplication: dice.pick(&[
                Deduplication::None,
                Deduplication::FencingToken,
                Deduplication::IdempotencyKey { window },
            ]),
            confirm_by: dice.pick(&[ConfirmBy::Receipt, ConfirmBy::Postcondition]),
            verification: dice.pick(&[Verification::None, verification, verification]),
            external_id: dice.pick(&[
                ExternalIdMeaning::IdentifiesEffect,
                ExternalIdMeaning::IdentifiesObject,
            ]),
            on_partial: dice.pick(&[OnPartial::Stop, OnPartial::Resume]),
            approval: dice.pick(&[ApprovalNeed::None, ApprovalNeed::None, ApprovalNeed::Required]),
            ..Terms::cautious(EffectClass::Read)
        };
        let facts = FACTS[..dice.pick(&[0, 1, 2, 2, 2])]
            .iter()
            .map(|fact| FactName::new(*fact).unwrap())
            .collect();
        let labels = ["run", "step"][..dice.below(3)].iter().map(|key| Label {
            key: LabelKey::new(*key).unwrap(),
            value: LabelValue::new(note(dice).as_str()).unwrap(),
        });
        let labels = labels.collect();
        let Ok(contract) = Contract::new(terms) else {
            continue;
        };
        let expected = ExpectedEffect {
            description: Description::new(note(dice).as_str()).unwrap(),
            facts,
        };
        let input = InputHash {
            scheme: HashScheme::new("raw-sha256").unwrap(),
            digest: [u8::try_from(dice.below(256)).unwrap(); 32],
        };
        if let Ok(spec) = Specification::new(
            Tool::new("create_invoice").unwrap(),
            input,
            expected,
            contract,
            labels,
        ) {
            return spec;
        }
    }
}

fn receipt(dice: &mut Dice) -> Receipt {
    let retry_after = Span::from_millis(dice.pick(&[0, 300]));
    match dice.below(6) {
        0 => Receipt::Completed {
            external_id: an_external(dice),
            result: bytes(dice),
        },
        1 => Receipt::Accepted {
            external_id: an_external(dice),
            retry_after,
        },
        2 => Receipt::Rejected { reason: note(dice) },
        3 => Receipt::NotApplied {
            retry_after,
            reason: note(dice),
        },
        4 => Receipt::NotSent {
            reason: dice.pick(&[NotSentReason::Cancelled, NotSentReason::Other]),
            detail: note(dice),
        },
        _ => Receipt::Unknown {
            reason: note(dice),
            ended: dice.coin(),
        },
    }
}

fn observation(dice: &mut Dice) -> Observation {
    let name = |fact: &str| FactName::new(fact).unwrap();
    if dice.below(3) == 0 {
        return Observation {
            verdict: Verdict::Partial,
            facts: BTreeMap::from([(name(FACTS[0]), Seen::True), (name(FACTS[1]), Seen::False)]),
            detail: note(dice),
        };
    }
    let facts = FACTS[..dice.below(3)]
        .iter()
        .map(|fact| (name(fact), dice.pick(&[Seen::True, Seen::False, Seen::NotSeen])))
        .collect();
    let verdict = match dice.below(6) {
        0 => Verdict::Confirmed {
            external_id: an_external(dice),
            result: bytes(dice),
        },
        1 => Verdict::NotFound,
        2 => Verdict::Pending {
            retry_after: dice.coin().then_some(Span::from_millis(200)),
        },
        3 => Verdict::Failed {
            external_id: an_external(dice),
            attempt: dice.coin().then_some(1),
            reason: note(dice),
        },
        4 => Verdict::Partial,
        _ => Verdict::Unknown { reason: note(dice) },
    };
    Observation {
        verdict,
        facts,
        detail: note(dice),
    }
}

fn decision(dice: &mut Dice, spec: &Specification) -> Decision {
    let proof = dice.coin().then(|| Note::new("ticket 7").unwrap());
    let by = ActionId::new("refund-1").unwrap();
    match dice.below(9) {
        0 => Decision::Approve {
            input: spec.input.clone(),
        },
        1 => Decision::Deny,
        2 => Decision::Assign {
            assignee: dice.coin().then(|| Owner::new("ann").unwrap()),
        },
        3 => Decision::Reopen {
            new_key: dice.coin(),
            proof,
        },
        4 => Decision::Acknowledge {
            flag: dice.pick(&[Flag::DuplicateSuspected, Flag::Contradicted, Flag::Ungated]),
        },
        _ => Decision::Resolve {
            resolution: dice.pick(&[
                Resolution::Confirmed {
                    external_id: Some(external("INV-9")),
                },
                Resolution::Absent,
                Resolution::Absent,
                Resolution::Rejected,
                Resolution::Compensated { by },
                Resolution::Abandoned,
            ]),
            proof,
        },
    }
}

/// Any command about one action.
pub fn any(dice: &mut Dice, action_id: &str, spec: &Specification, known: &Known) -> Command {
    let owner = dice.pick(&["w1", "w1", "w2"]);
    let token = match (dice.below(12), known.tokens.last()) {
        (0, _) | (_, None) => Token::new(dice.pick(&[1, 77])).unwrap(),
        (1..5, _) => dice.pick(&known.tokens),
        (_, Some(last)) => *last,
    };
    let then = dice.pick(&[Then::Nothing, Then::Grant, Then::BegunGrant]);
    let boxed = || Box::new(spec.clone());
    let ask = match dice.below(17) {
        0 => Ask::Plan { spec: boxed() },
        1..4 => Ask::Claim {
            spec: boxed(),
            begin: dice.coin(),
        },
        4 => Ask::Begin { token },
        5..8 => Ask::Report {
            token,
            receipt: receipt(dice),
            then,
            spec: dice.coin().then(boxed),
        },
        8..11 => Ask::Verify {
            token,
            observation: observation(dice),
            then,
        },
        11 => Ask::Renew { token },
        12 => Ask::Release { token },
        13 => Ask::Observe {
            observation: observation(dice),
        },
        14 => Ask::Sweep,
        15 => Ask::Contest {
            by: ActionId::new("order-2").unwrap(),
            external_id: external("INV-1"),
        },
        _ => Ask::Decide {
            version: known.version,
            note: note(dice),
            decision: decision(dice, spec),
        },
    };
    command(action_id, owner, ask)
}
