//! Workers that keep the worker's half of the protocol, on a network that loses, delays, repeats and reorders whatever
//! they say and hear, before a receiver that keeps its contract.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use deed_core::action::State;
use deed_core::command::{Ask, Command, Decision, Resolution, Then};
use deed_core::contract::{Deduplication, Terms};
use deed_core::evidence::{Receipt, Verdict};
use deed_core::id::{OutwardKey, Token};
use deed_core::reply::{NextStep, Reply};
use deed_core::time::{Span, Timestamp};

use super::receiver::{Outcome, Receiver};
use crate::world::*;

const WORKERS: [&str; 3] = ["w1", "w2", "w3"];

/// What is going to happen.
enum Happening {
    /// A worker thinks of the action.
    Poll(&'static str),
    /// A call arrives.
    Deliver(Box<Command>),
    /// An answer arrives.
    Hear(&'static str, Box<Answered>),
    /// The first byte leaves.
    Start(&'static str, Token, OutwardKey),
    /// It reaches the receiver.
    Land(&'static str, Token, OutwardKey),
    /// The call returns.
    Return(&'static str, Token, Outcome),
    /// A lookup reads the receiver.
    Look(&'static str, Token),
    /// Somebody without a lease looks: a webhook, or an operator.
    Glance,
}

pub struct Play {
    pub world: World,
    pub receiver: Receiver,
    dice: Dice,
    terms: Terms,
    /// Whether workers may freeze between begin and the first byte.
    freezing: bool,
    due: BTreeMap<u64, Happening>,
    queue: BinaryHeap<Reverse<(Timestamp, u64)>>,
    next: u64,
    /// Tokens under which somebody has decided to send: one begin, one send.
    sending: BTreeSet<Token>,
    /// Until when the holder may start, as it was told.
    leases: BTreeMap<Token, Timestamp>,
}

impl Play {
    pub fn new(mut dice: Dice, terms: Terms, lag: Span, freezing: bool) -> Self {
        let world = World::new(terms);
        let queue = match terms.verification {
            deed_core::contract::Verification::Postcondition { effect_deadline, .. } => effect_deadline,
            deed_core::contract::Verification::None => Span::ZERO,
        };
        let receiver = Receiver::new(terms.deduplication, terms.asynchronous, lag, queue);
        let first = dice.within(secs(3));
        let mut play = Self {
            world,
            receiver,
            dice,
            terms,
            freezing,
            due: BTreeMap::new(),
            queue: BinaryHeap::new(),
            next: 0,
            sending: BTreeSet::new(),
            leases: BTreeMap::new(),
        };
        for worker in WORKERS {
            play.after(first, Happening::Poll(worker));
        }
        play.after(secs(5), Happening::Glance);
        play
    }

    fn after(&mut self, span: Span, happening: Happening) {
        let at = self.world.now.plus(span);
        self.queue.push(Reverse((at, self.next)));
        self.due.insert(self.next, happening);
        self.next += 1;
    }

    /// The next thing that happens.
    pub fn step(&mut self) {
        let Some(Reverse((at, id))) = self.queue.pop() else {
            return;
        };
        self.world.now = self.world.now.max(at);
        let Some(happening) = self.due.remove(&id) else {
            return;
        };
        match happening {
            Happening::Poll(worker) => self.poll(worker),
            Happening::Deliver(command) => self.deliver(*command),
            Happening::Hear(worker, answered) => self.hear(worker, &answered),
            Happening::Start(worker, token, key) => {
                let travels = self.dice.within(self.terms.send_timeout);
                self.after(travels, Happening::Land(worker, token, key));
            }
            Happening::Land(worker, token, key) => {
                let outcome = self.receiver.land(self.world.now, token, &key, &mut self.dice);
                self.after(Span::ZERO, Happening::Return(worker, token, outcome));
            }
            Happening::Return(worker, token, outcome) => self.returned(worker, token, outcome),
            Happening::Look(worker, token) => self.looked(worker, token),
            Happening::Glance => self.glance(),
        }
    }

    fn poll(&mut self, worker: &'static str) {
        let begin = self.dice.percent(60);
        let ask = self.world.claim_ask(begin);
        self.say(worker, ask);
        let pause = Span::from_millis(500).plus(self.dice.within(secs(30)));
        self.after(pause, Happening::Poll(worker));
    }

    /// A call leaves: it may be lost, late and doubled. Its repeats carry the same request id.
    fn say(&mut self, worker: &'static str, ask: Ask) {
        let command = self.world.command(worker, ask);
        for _ in 0..3 {
            if self.dice.percent(40) {
                let delay = self.delay();
                self.after(delay, Happening::Deliver(Box::new(command.clone())));
            }
        }
    }

    fn delay(&mut self) -> Span {
        match self.dice.below(10) {
            0..6 => self.dice.within(Span::from_millis(300)),
            6..9 => self.dice.within(secs(12)),
            _ => self.dice.within(secs(200)),
        }
    }

    fn deliver(&mut self, command: Command) {
        let answered = self.world.send(&command);
        let speaker = command.request.caller.owner.as_str();
        let Some(worker) = WORKERS.into_iter().find(|worker| *worker == speaker) else {
            return;
        };
        if let (Ask::Renew { token }, Ok(Reply::Renewed { expires_at, .. })) = (&command.ask, &answered.0) {
            self.leases.insert(*token, *expires_at);
        }
        if self.dice.percent(80) {
            let delay = self.dice.within(secs(2));
            self.after(delay, Happening::Hear(worker, Box::new(answered)));
        }
    }

    fn hear(&mut self, worker: &'static str, answered: &Answered) {
        let Ok(Reply::Step(answer)) = &answered.0 else {
            return;
        };
        match &answer.step {
            NextStep::Execute(grant) if grant.begun => {
                let lease = self.leases.entry(grant.token).or_insert(grant.expires_at);
                *lease = (*lease).max(grant.expires_at);
                if self.sending.insert(grant.token) {
                    self.plan_send(worker, grant.token, grant.outward_key.clone());
                }
            }
            NextStep::Execute(grant) => {
                if self.dice.percent(10) {
                    self.say(worker, Ask::Release { token: grant.token });
                } else {
                    self.say(worker, Ask::Begin { token: grant.token });
                }
            }
            NextStep::VerifyEffect(grant) => {
                // A lookup may well be read after its lease has lapsed.
                let pause = self.dice.within(secs(8));
                self.after(pause, Happening::Look(worker, grant.token));
            }
            _ => {}
        }
    }

    /// The holder starts within the lease that it was told, or not at all.
    fn plan_send(&mut self, worker: &'static str, token: Token, key: OutwardKey) {
        if self.dice.percent(20) {
            self.say(worker, Ask::Renew { token });
        }
        if self.dice.percent(10) {
            // Another thread has given up already and says so, truly: it does not know.
            self.report(worker, token, unknown());
        }
        let left = self.leases[&token].since(self.world.now);
        if self.freezing && self.dice.percent(30) {
            let frozen = self.dice.within(secs(300));
            self.after(frozen, Happening::Start(worker, token, key));
        } else if left.empty() || self.dice.percent(10) {
            self.report(worker, token, not_sent());
        } else if self.dice.percent(85) {
            let pause = Span::from_micros(self.dice.below(left.micros()));
            self.after(pause, Happening::Start(worker, token, key));
        }
        // Otherwise the process dies here.
    }

    fn report(&mut self, worker: &'static str, token: Token, receipt: Receipt) {
        let then = self.then();
        let ask = Ask::Report {
            token,
            receipt,
            then,
            spec: None,
        };
        self.say(worker, ask);
    }

    fn then(&mut self) -> Then {
        *self.dice.pick(&[Then::Nothing, Then::Grant, Then::BegunGrant])
    }

    fn returned(&mut self, worker: &'static str, token: Token, outcome: Outcome) {
        let lost = self.dice.percent(40);
        let receipt = match outcome {
            _ if lost => unknown_ended(),
            Outcome::Lost => unknown_ended(),
            Outcome::Refused if self.dice.percent(20) => rejected("refused"),
            Outcome::Refused => not_applied(self.dice.below(3)),
            Outcome::Done(id) => Receipt::Completed {
                external_id: Some(id),
                result: None,
            },
            Outcome::Taken(id) => Receipt::Accepted {
                external_id: Some(id),
                retry_after: secs(self.dice.below(10)),
            },
        };
        self.report(worker, token, receipt);
    }

    fn looked(&mut self, worker: &'static str, token: Token) {
        let verdict = self.receiver.look(self.world.now, Some(token));
        let observation = if self.dice.percent(10) {
            unclear()
        } else {
            found(verdict)
        };
        let then = self.then();
        let ask = Ask::Verify {
            token,
            observation,
            then,
        };
        self.say(worker, ask);
    }

    /// A webhook tells what is to be seen; an operator believes what he sees, and the rules say when he may.
    fn glance(&mut self) {
        let verdict = self.receiver.look(self.world.now, None);
        let known = self.world.rows.contains_key(&self.world.key);
        let told = match &verdict {
            Verdict::Confirmed { .. } | Verdict::Failed { .. } => self.dice.percent(20),
            _ => false,
        };
        if told {
            let ask = Ask::Observe {
                observation: found(verdict.clone()),
            };
            let command = self.world.command("witness", ask);
            let delay = self.delay();
            self.after(delay, Happening::Deliver(Box::new(command)));
        }
        if known && self.dice.percent(20) {
            self.world.sweep();
        }
        // An operator's word raises no floor at the receiver, so where workers freeze nobody says "absent".
        let fenced = self.terms.deduplication == Deduplication::FencingToken;
        if known && !fenced && verdict == Verdict::NotFound && self.dice.percent(15) {
            let decision = if self.dice.percent(70) {
                Decision::Resolve {
                    resolution: Resolution::Absent,
                    proof: Some(note("looked it up")),
                }
            } else {
                Decision::Reopen {
                    new_key: self.dice.percent(50),
                    proof: Some(note("looked it up")),
                }
            };
            self.world.decide(decision);
        }
        let pause = self.dice.within(secs(40));
        self.after(pause, Happening::Glance);
    }

    pub fn state(&self) -> Option<State> {
        let row = self.world.rows.get(&self.world.key)?;
        row.action.as_ref().map(|action| action.state)
    }
}
