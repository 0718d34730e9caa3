//! What may happen next in a random world: workers that are honest, late, confused or gone; witnesses, operators, the
//! network's copies. Steered by what was told before, so that deep states are reached as often as shallow ones.

mod evidence;

use deed_core::action::{Flag, GrantKind, State};
use deed_core::command::{Ask, Command, Decision, Request, Resolution, Then};
use deed_core::contract::Contract;
use deed_core::evidence::Verdict;
use deed_core::id::{ActionKey, Token};
use deed_core::reply::{NextStep, Reply};
use deed_core::spec::Specification;
use deed_core::text::Owner;
use deed_core::time::Span;

use super::coverage::Coverage;
use super::openings::{Opening, any_spec};
use crate::world::*;

const WORKERS: [&str; 3] = ["w1", "w2", "w3"];

pub struct Player {
    dice: Dice,
    /// Whether little time passes: leases are live then.
    hasty: bool,
    world: World,
    keys: [ActionKey; 2],
    /// Every grant that some worker was told, in order.
    held: Vec<(ActionKey, &'static str, Token, GrantKind)>,
    /// Commands that the network may deliver again, or for the first time, late.
    sent: Vec<Command>,
    /// Whether somebody wants to read one line a step.
    tells: bool,
}

impl Player {
    pub fn new(mut dice: Dice) -> Self {
        let opening = Opening::any(&mut dice);
        let spec = any_spec(&mut dice, opening);
        let hasty = dice.percent(50);
        let mut player = Self {
            hasty,
            world: World::of(spec),
            dice,
            keys: [key("order-1"), key("order-2")],
            held: Vec::new(),
            sent: Vec::new(),
            tells: false,
        };
        player.open(opening);
        player
    }

    /// Tells every step from now on.
    pub fn telling(mut self) -> Self {
        self.tells = true;
        self.tell(|| format!("{:#?}", self.world.spec.contract));
        self
    }

    fn tell(&self, line: impl FnOnce() -> String) {
        if self.tells {
            eprintln!("{}", line());
        }
    }

    pub fn step(&mut self, coverage: &mut Coverage) {
        self.pass_time();
        let at = usize::from(self.dice.percent(15));
        self.world.turn_to(self.keys[at].clone());
        let command = self.command();
        let now = self.world.now;
        self.tell(|| {
            let Request { id, caller, .. } = &command.request;
            let ask = match &command.ask {
                Ask::Claim { begin, .. } => format!("Claim {{ begin: {begin} }}"),
                ask => format!("{ask:?}"),
            };
            format!(
                "{now:?} {} {} #{}: {ask}",
                command.key.action_id,
                caller.owner,
                id.0.as_u128()
            )
        });
        if self.dice.percent(4) {
            // Lost on its way; a copy may arrive later.
            self.sent.push(command);
            return;
        }
        let before = self
            .world
            .rows
            .get(&command.key)
            .and_then(|row| row.action.clone());
        let answered = self.world.send(&command);
        coverage.count(before.as_ref(), &command, &answered);
        self.tell(|| format!("    {:?}", answered.0));
        self.remember(&command, &answered);
        self.sent.push(command);
    }

    fn remember(&mut self, command: &Command, answered: &Answered) {
        let Ok(Reply::Step(answer)) = &answered.0 else {
            return;
        };
        let (token, kind) = match &answer.step {
            NextStep::Execute(grant) => (grant.token, GrantKind::Execute),
            NextStep::VerifyEffect(grant) => (grant.token, GrantKind::Verify),
            _ => return,
        };
        let name = command.request.caller.owner.as_str();
        let worker = WORKERS.into_iter().find(|worker| *worker == name).unwrap();
        let entry = (command.key.clone(), worker, token, kind);
        if !self.held.contains(&entry) {
            self.held.push(entry);
        }
    }

    /// Deep states first: dice alone come to them too seldom.
    fn open(&mut self, opening: Opening) {
        let worker = WORKERS[0];
        if opening == Opening::Nothing {
            return;
        }
        let begin = opening != Opening::Unbegun;
        let claimed = self.world.claim_ask(begin);
        let Some(token) = self.act(worker, claimed) else {
            return;
        };
        let ended = |receipt| Ask::Report {
            token,
            receipt,
            then: Then::Nothing,
            spec: None,
        };
        match opening {
            Opening::Nothing | Opening::Unbegun | Opening::Sent => {}
            Opening::Accepted => {
                self.act(worker, ended(accepted("J1", 1)));
            }
            Opening::Unknown | Opening::NotFound | Opening::Partial => {
                self.act(worker, ended(unknown_ended()));
            }
        }
        if matches!(opening, Opening::NotFound | Opening::Partial) {
            self.world.now = self.world.now.plus(secs(330));
            let claimed = self.world.claim_ask(true);
            let Some(token) = self.act(worker, claimed) else {
                return;
            };
            let verdict = if opening == Opening::Partial {
                Verdict::Partial
            } else {
                Verdict::NotFound
            };
            let observation = self.fitting(verdict, 0);
            let then = Then::Nothing;
            let found = Ask::Verify {
                token,
                observation,
                then,
            };
            self.act(worker, found);
        }
    }

    /// A call of the opening, and the token of the grant that it got.
    fn act(&mut self, worker: &'static str, ask: Ask) -> Option<Token> {
        let command = self.world.command(worker, ask);
        let answered = self.world.send(&command);
        self.remember(&command, &answered);
        self.sent.push(command);
        self.held.last().map(|held| held.2)
    }

    fn pass_time(&mut self) {
        if self.hasty && self.dice.percent(90) {
            self.world.now = self.world.now.plus(Span::from_millis(self.dice.below(150)));
            return;
        }
        let millis = match self.dice.below(100) {
            0..40 => self.dice.below(400),
            40..70 => self.dice.below(4_000),
            70..88 => self.dice.below(20_000),
            88..97 => self.dice.below(120_000),
            97..99 => self.dice.below(3_600_000),
            _ => self.dice.below(40 * 3_600_000),
        };
        self.world.now = self.world.now.plus(Span::from_millis(millis));
    }

    fn command(&mut self) -> Command {
        if self.dice.percent(8) && !self.sent.is_empty() {
            // A copy: rather of something recent.
            let recent = self.sent.len().saturating_sub(6);
            let from = if self.dice.percent(70) { recent } else { 0 };
            let mut copy = self.dice.pick(&self.sent[from..]).clone();
            if self.dice.percent(10) {
                // A request id that comes back with other content, or from somebody else.
                copy.request.caller = caller(WORKERS[usize::try_from(self.dice.below(3)).unwrap()]);
                copy.request.fingerprint.0[0] ^= 1;
            }
            return copy;
        }
        let worker = *self.dice.pick(&WORKERS);
        let (who, ask) = match self.dice.below(100) {
            0..3 => (worker, self.plan()),
            3..30 => (worker, self.claim()),
            30..80 => self.under_a_grant(worker),
            80..86 => ("witness", self.observe()),
            86..88 => ("sweeper", Ask::Sweep),
            _ => ("operator", self.decide()),
        };
        self.world.command(who, ask)
    }

    fn any_spec_of_the_call(&mut self) -> Box<Specification> {
        let mut spec = self.world.spec.clone();
        if self.dice.percent(2) {
            spec.input = input(9);
        } else if self.dice.percent(2) {
            spec.contract = Contract::new(at_most_once()).unwrap();
        }
        Box::new(spec)
    }

    fn plan(&mut self) -> Ask {
        let spec = self.any_spec_of_the_call();
        Ask::Plan { spec }
    }

    fn claim(&mut self) -> Ask {
        let spec = self.any_spec_of_the_call();
        let begin = self.dice.percent(60);
        Ask::Claim { spec, begin }
    }

    /// A call under a grant: usually the present one, by its holder.
    fn under_a_grant(&mut self, worker: &'static str) -> (&'static str, Ask) {
        let mine: Vec<_> = self
            .held
            .iter()
            .filter(|held| held.0 == self.world.key)
            .cloned()
            .collect();
        let Some((_, holder, token, kind)) = mine.last().cloned() else {
            let ask = if self.dice.percent(85) {
                self.claim()
            } else {
                self.stray()
            };
            return (worker, ask);
        };
        if self.dice.percent(3) {
            return (worker, self.stray());
        }
        let (holder, token, kind) = if self.dice.percent(25) {
            let (_, holder, token, kind) = self.dice.pick(&mine).clone();
            (holder, token, kind)
        } else {
            (holder, token, kind)
        };
        // Now and then somebody speaks under a grant that is not his.
        let who = if self.dice.percent(2) { worker } else { holder };
        let ask = match (kind, self.dice.below(100)) {
            (_, 0..10) => Ask::Renew { token },
            (_, 10..16) => Ask::Release { token },
            (GrantKind::Execute, 16..34) => Ask::Begin { token },
            (GrantKind::Execute, 34..97) | (GrantKind::Verify, 97..) => self.report(token),
            (GrantKind::Execute, _) | (GrantKind::Verify, _) => self.verify(token),
        };
        (who, ask)
    }

    /// A call under a token that this database may never have known.
    fn stray(&mut self) -> Ask {
        let reach = self.world.now.millis();
        let number = match self.dice.below(4) {
            0 => 7,
            1 => reach + 3_600_000,
            2 => reach.saturating_sub(5_000),
            _ => reach + 30_000,
        };
        let token = Token::new(number).unwrap();
        match self.dice.below(12) {
            0 => Ask::Begin { token },
            1 => Ask::Renew { token },
            2 => Ask::Release { token },
            3..5 => self.verify(token),
            _ => {
                let spec = self.dice.percent(50).then(|| self.any_spec_of_the_call());
                let receipt = self.receipt();
                let then = self.then();
                Ask::Report {
                    token,
                    receipt,
                    then,
                    spec,
                }
            }
        }
    }

    fn then(&mut self) -> Then {
        *self.dice.pick(&[Then::Nothing, Then::Grant, Then::BegunGrant])
    }

    fn decide(&mut self) -> Ask {
        let row = self
            .world
            .rows
            .get(&self.world.key)
            .and_then(|row| row.action.as_ref());
        let awaits = row.is_some_and(|action| action.state == State::AwaitingApproval);
        let mut version = row.map_or(deed_core::id::Version(1), |action| action.version);
        if self.dice.percent(5) {
            version.0 += 1;
        }
        let proof = self.dice.percent(85).then(|| note("ticket 12"));
        let decision =
            match self.dice.below(100) {
                _ if awaits && self.dice.percent(70) => Decision::Approve {
                    input: input(if self.dice.percent(10) { 9 } else { 1 }),
                },
                0..6 => approve(),
                6..12 => Decision::Deny,
                12..17 => Decision::Assign {
                    assignee: Some(Owner::new("ann").unwrap()),
                },
                17..24 => acknowledge(*self.dice.pick(&[
                    Flag::DuplicateSuspected,
                    Flag::Contradicted,
                    Flag::Ungated,
                ])),
                24..60 => Decision::Resolve {
                    resolution: self.resolution(),
                    proof,
                },
                _ => Decision::Reopen {
                    new_key: self.dice.percent(30),
                    proof,
                },
            };
        Ask::Decide {
            version,
            note: note("as seen"),
            decision,
        }
    }

    fn resolution(&mut self) -> Resolution {
        match self.dice.below(10) {
            0 => Resolution::Confirmed {
                external_id: self.id(),
            },
            1..7 => Resolution::Absent,
            7 => Resolution::Rejected,
            8 => Resolution::Abandoned,
            _ => Resolution::Compensated {
                by: key("order-9").action_id,
            },
        }
    }
}
