//! Every call, with everything that has to be there before it.

use std::collections::BTreeMap;

use deed_core::action::Flag;
use deed_core::command::{Ask, Command, Decision, Resolution, Then};
use deed_core::contract::{ApprovalNeed, Contract, Terms};
use deed_core::evidence::{Observation, Receipt, Seen, Verdict};
use deed_core::id::{Token, Version};
use deed_core::reply::Reply;
use deed_core::spec::Specification;
use deed_core::text::{ActionId, FactName, Note, Owner};
use deed_server::service::Judged;

use super::answer::{Heard, granted};
use super::stage::Stage;
use crate::fixture::{claim, command, completed, external, report, specification};

/// Every call, by its name.
pub const CALLS: [&str; 17] = [
    "Plan",
    "Claim",
    "Claim again",
    "Begin",
    "Report",
    "Verify",
    "Renew",
    "Release",
    "Observe",
    "Sweep",
    "Contest",
    "Approve",
    "Deny",
    "Assign",
    "Resolve",
    "Reopen",
    "Acknowledge",
];

fn note() -> Note {
    Note::new("ticket 7").unwrap()
}

fn observation(verdict: Verdict, seen: Seen) -> Observation {
    let facts = ["row_exists", "mail_published"].map(|fact| (FactName::new(fact).unwrap(), seen));
    Observation {
        verdict,
        facts: BTreeMap::from(facts),
        detail: note(),
    }
}

fn approved() -> Box<Specification> {
    let spec = specification();
    let terms = Terms {
        approval: ApprovalNeed::Required,
        ..*spec.contract
    };
    Box::new(Specification {
        contract: Contract::new(terms).unwrap(),
        ..spec
    })
}

/// One action, and what is known of it by those who prepare it.
pub struct Play<'a> {
    pub stage: &'a Stage,
    pub id: String,
}

impl Play<'_> {
    async fn told(&self, ask: Ask) -> Judged {
        let command = command(&self.id, "w1", ask);
        match self.stage.ask_until_heard(Stage::PATIENT, &command).await {
            Heard::Told(judged) => judged,
            other @ (Heard::Refused(_) | Heard::Nothing) => panic!("{command:?}: {other:?}"),
        }
    }

    async fn granted(&self, begin: bool) -> Token {
        let spec = Box::new(specification());
        granted(&self.told(Ask::Claim { spec, begin }).await.reply)
            .unwrap()
            .0
            .token
    }

    async fn planned(&self, spec: Box<Specification>) -> Version {
        version(&self.told(Ask::Plan { spec }).await)
    }

    async fn decided(&self, seen: Version, decision: Decision) -> Version {
        version(&self.told(decide(seen, decision)).await)
    }

    /// Everything that has to be there before the call, and the call.
    pub async fn prepare(&self, call: &str) -> Command {
        let ask = match call {
            "Plan" => Ask::Plan {
                spec: Box::new(specification()),
            },
            "Claim" => return claim(&self.id, "w1"),
            "Claim again" => {
                self.planned(Box::new(specification())).await;
                return claim(&self.id, "w1");
            }
            "Begin" => Ask::Begin {
                token: self.granted(false).await,
            },
            "Report" => {
                let token = self.granted(true).await;
                return report(&self.id, "w1", token, completed(&self.id, b"result"));
            }
            "Verify" => {
                let token = self.granted(true).await;
                let receipt = Receipt::Unknown {
                    reason: note(),
                    ended: true,
                };
                self.told(report(&self.id, "w1", token, receipt).ask).await;
                // Its absence counts, and its answer is the next grant.
                Ask::Verify {
                    token: self.granted(false).await,
                    observation: observation(Verdict::NotFound, Seen::False),
                    then: Then::BegunGrant,
                }
            }
            "Renew" => Ask::Renew {
                token: self.granted(true).await,
            },
            "Release" => Ask::Release {
                token: self.granted(true).await,
            },
            "Observe" => {
                self.granted(true).await;
                let verdict = Verdict::Confirmed {
                    external_id: Some(external(&self.id)),
                    result: None,
                };
                Ask::Observe {
                    observation: observation(verdict, Seen::True),
                }
            }
            "Sweep" => {
                self.granted(true).await;
                Ask::Sweep
            }
            "Contest" => {
                self.planned(Box::new(specification())).await;
                contest()
            }
            _ => return self.prepare_decision(call).await,
        };
        command(&self.id, "w1", ask)
    }

    async fn prepare_decision(&self, call: &str) -> Command {
        let approval = matches!(call, "Approve" | "Deny");
        let spec = if approval {
            approved()
        } else {
            Box::new(specification())
        };
        let mut seen = self.planned(spec).await;
        let abandoned = Decision::Resolve {
            resolution: Resolution::Abandoned,
            proof: None,
        };
        let decision = match call {
            "Approve" => Decision::Approve {
                input: specification().input,
            },
            "Deny" => Decision::Deny,
            "Assign" => Decision::Assign {
                assignee: Some(Owner::new("ann").unwrap()),
            },
            "Resolve" => abandoned,
            "Reopen" => {
                seen = self.decided(seen, abandoned).await;
                Decision::Reopen {
                    new_key: true,
                    proof: None,
                }
            }
            "Acknowledge" => {
                seen = version(&self.told(contest()).await);
                Decision::Acknowledge {
                    flag: Flag::Contradicted,
                }
            }
            other => panic!("{other} is no call"),
        };
        command(&self.id, "ann", decide(seen, decision))
    }
}

fn version(judged: &Judged) -> Version {
    match &judged.reply {
        Reply::Step(answer) => answer.version,
        Reply::Renewed { .. } => panic!("renewed"),
    }
}

fn decide(version: Version, decision: Decision) -> Ask {
    Ask::Decide {
        version,
        note: note(),
        decision,
    }
}

fn contest() -> Ask {
    Ask::Contest {
        by: ActionId::new("order-2").unwrap(),
        external_id: external("INV-1"),
    }
}
