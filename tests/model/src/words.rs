//! Makes commands of the core out of what is said in a world.

use std::collections::BTreeMap;

use anyhow::Context;
use deed_core::command::{Ask, Command, Decision, Request, Resolution, Then};
use deed_core::contract::Contract;
use deed_core::evidence::{NotSentReason, Observation, Receipt, Seen, Verdict};
use deed_core::id::{ActionKey, Caller, Fingerprint, RequestId, Token, Version};
use deed_core::spec::{ExpectedEffect, InputHash, Specification};
use deed_core::text::{
    ActionId, Description, ExternalId, FactName, HashScheme, Namespace, Note, Owner, Principal, Tool,
};
use deed_core::time::{Span, Timestamp};
use uuid::Uuid;

use super::receiver::{Outcome, Sees};
use super::said::{Said, Told};
use super::setting::{Habit, Setting, Word};

/// Everything that commands are made of.
#[derive(Clone, Debug)]
pub struct Words {
    /// The action.
    pub key: ActionKey,
    /// What it is.
    pub spec: Specification,
    /// Another action, that has named every effect first.
    pub rival: Option<ActionKey>,
    /// What the receiver calls its effects.
    pub ids: Vec<ExternalId>,
    callers: Vec<Caller>,
    proof: Note,
    begins: bool,
    reports_with_spec: bool,
}

impl Words {
    /// For this world.
    pub fn new(setting: &Setting) -> anyhow::Result<Self> {
        let fact = |number: u8| FactName::new(format!("part_{number}")).context("a fact's name");
        let spec = Specification::new(
            Tool::new("charge_card")?,
            InputHash {
                scheme: HashScheme::new("raw-sha256")?,
                digest: [7; 32],
            },
            ExpectedEffect {
                description: Description::new("the card is charged once")?,
                facts: (0..setting.facts).map(fact).collect::<anyhow::Result<_>>()?,
            },
            Contract::new(setting.terms)?,
            Vec::new(),
        )?;
        let caller = |name: &str| {
            anyhow::Ok(Caller {
                owner: Owner::new(name)?,
                principal: Principal::new(name)?,
            })
        };
        let id = |number: usize| ExternalId::new(format!("E{number}")).context("an external id");
        Ok(Self {
            key: ActionKey {
                namespace: Namespace::new("shop")?,
                action_id: ActionId::new("order-1")?,
            },
            spec,
            callers: ["w1", "w2", "operator", "witness", "patient"]
                .into_iter()
                .map(caller)
                .collect::<anyhow::Result<_>>()?,
            rival: setting
                .has(Habit::Contested)
                .then(|| {
                    anyhow::Ok(ActionKey {
                        namespace: Namespace::new("shop")?,
                        action_id: ActionId::new("order-2")?,
                    })
                })
                .transpose()?,
            ids: (0..8).map(id).collect::<anyhow::Result<_>>()?,
            proof: Note::new("looked at the receiver")?,
            begins: !setting.has(Habit::BeginApart),
            reports_with_spec: setting.failovers > 0,
        })
    }

    /// The request id of a caller's call of this number.
    pub fn request(&self, speaker: u8, call: u8) -> RequestId {
        RequestId(Uuid::from_u128(
            (u128::from(speaker) << 8) | u128::from(call) | 1 << 64,
        ))
    }

    /// The command. `call` tells the caller's calls apart; a repeat has the same number.
    pub fn command(&self, speaker: u8, call: u8, said: Said, version: Version) -> Command {
        let id = self.request(speaker, call);
        Command {
            key: self.key.clone(),
            request: Request {
                id,
                fingerprint: Fingerprint(id.0.into_bytes()),
                caller: self.callers[usize::from(speaker)].clone(),
            },
            ask: self.ask(said, version),
        }
    }

    fn ask(&self, said: Said, version: Version) -> Ask {
        // Zero is no token; it is never said, because tokens come from answers.
        let token = |number| Token::new(number).unwrap_or(Token::after(None, Timestamp::from_micros(0)));
        let then = |goes_on: bool| match (goes_on, self.begins) {
            (false, _) => Then::Nothing,
            (true, true) => Then::BegunGrant,
            (true, false) => Then::Grant,
        };
        match said {
            Said::Claim { begin } => Ask::Claim {
                spec: Box::new(self.spec.clone()),
                begin,
            },
            Said::Begin(number) => Ask::Begin { token: token(number) },
            Said::Renew(number) => Ask::Renew { token: token(number) },
            Said::Release(number) => Ask::Release { token: token(number) },
            Said::Report(number, told, goes_on) => Ask::Report {
                token: token(number),
                receipt: self.receipt(told),
                then: then(goes_on),
                spec: self.reports_with_spec.then(|| Box::new(self.spec.clone())),
            },
            Said::Verify(number, sees, goes_on) => Ask::Verify {
                token: token(number),
                observation: self.observation(sees),
                then: then(goes_on),
            },
            Said::Observe(sees) => Ask::Observe {
                observation: self.observation(sees),
            },
            Said::Decide(word, _) => Ask::Decide {
                version,
                note: self.proof.clone(),
                decision: self.decision(word),
            },
        }
    }

    /// The facts as bits; all of the effect where none is named.
    pub fn parts(&self, named: &[FactName]) -> u8 {
        let facts = &self.spec.expected.facts;
        if facts.is_empty() {
            return 1;
        }
        let bits = facts.iter().enumerate();
        let asked = bits.filter(|(_, fact)| named.is_empty() || named.contains(fact));
        asked.fold(0, |parts, (at, _)| parts | 1 << at)
    }

    fn id(&self, number: u8) -> Option<ExternalId> {
        self.ids.get(usize::from(number)).cloned()
    }

    fn receipt(&self, told: Told) -> Receipt {
        match told {
            Told::Heard(Outcome::Done(number)) => Receipt::Completed {
                external_id: self.id(number),
                result: None,
            },
            Told::Heard(Outcome::Taken(number)) => Receipt::Accepted {
                external_id: self.id(number),
                retry_after: Span::ZERO,
            },
            Told::Heard(Outcome::Nothing) => Receipt::NotApplied {
                retry_after: Span::ZERO,
                reason: Note::none(),
            },
            Told::Refused => Receipt::Rejected { reason: Note::none() },
            Told::NotSent => Receipt::NotSent {
                reason: NotSentReason::LeaseNotLive,
                detail: Note::none(),
            },
            Told::Perhaps => Receipt::Unknown {
                reason: Note::none(),
                ended: false,
            },
            Told::Heard(Outcome::Lost) | Told::Unheard => Receipt::Unknown {
                reason: Note::none(),
                ended: true,
            },
        }
    }

    fn observation(&self, sees: Sees) -> Observation {
        let facts = &self.spec.expected.facts;
        let seen = |parts: u8| -> BTreeMap<FactName, Seen> {
            let seen = |at: usize| {
                if parts >> at & 1 == 1 {
                    Seen::True
                } else {
                    Seen::False
                }
            };
            facts
                .iter()
                .enumerate()
                .map(|(at, fact)| (fact.clone(), seen(at)))
                .collect()
        };
        let (verdict, facts) = match sees {
            Sees::Effect(number) => {
                let external_id = self.id(number);
                let confirmed = Verdict::Confirmed {
                    external_id,
                    result: None,
                };
                (confirmed, seen(u8::MAX))
            }
            Sees::Nothing => (Verdict::NotFound, seen(0)),
            Sees::Part(parts) => (Verdict::Partial, seen(parts)),
            Sees::Queued => (Verdict::Pending { retry_after: None }, BTreeMap::new()),
            Sees::Failed(number) => {
                let failed = Verdict::Failed {
                    external_id: self.id(number),
                    attempt: None,
                    reason: Note::none(),
                };
                (failed, BTreeMap::new())
            }
            Sees::Unclear => (Verdict::Unknown { reason: Note::none() }, BTreeMap::new()),
        };
        Observation {
            verdict,
            facts,
            detail: Note::none(),
        }
    }

    fn decision(&self, word: Word) -> Decision {
        let resolve = |resolution| Decision::Resolve {
            resolution,
            proof: Some(self.proof.clone()),
        };
        let reopen = |new_key| Decision::Reopen {
            new_key,
            proof: Some(self.proof.clone()),
        };
        match word {
            Word::Approve => Decision::Approve {
                input: self.spec.input.clone(),
            },
            Word::Deny => Decision::Deny,
            Word::Confirmed => resolve(Resolution::Confirmed { external_id: None }),
            Word::Absent => resolve(Resolution::Absent),
            Word::Rejected => resolve(Resolution::Rejected),
            Word::Abandoned => resolve(Resolution::Abandoned),
            Word::Reopen => reopen(false),
            Word::NewKey => reopen(true),
        }
    }
}
