//! What a caller heard, and whether all that it heard about one request is one answer.

use std::collections::BTreeSet;

use deed_core::action::GrantKind;
use deed_core::command::{Ask, Command};
use deed_core::event::{Event, Trace, What};
use deed_core::id::Token;
use deed_core::reply::{NextStep, Refusal, Reply};
use deed_core::time::Timestamp;
use deed_server::service::{Error, Judged};

/// What came of one try.
#[derive(Debug)]
pub enum Heard {
    Told(Judged),
    Refused(Refusal),
    /// No answer, or one that does not say what happened: to be repeated.
    Nothing,
}

impl Heard {
    pub fn of(answer: Result<Judged, Error>) -> Self {
        match answer {
            Ok(judged) => Self::Told(judged),
            Err(Error::Refused(refusal)) => Self::Refused(refusal),
            Err(
                Error::StoreUnavailable { .. }
                | Error::DeadlineExceeded
                | Error::Overloaded { .. }
                | Error::ShuttingDown,
            ) => Self::Nothing,
        }
    }
}

/// One call with all its tries, in their order.
#[derive(Debug)]
pub struct Asked {
    pub command: Command,
    pub heard: Vec<Heard>,
}

/// A grant as it was told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Granted {
    pub kind: GrantKind,
    pub token: Token,
    pub expires_at: Timestamp,
    pub begun: bool,
}

impl Asked {
    /// Every grant that it was told. The time left counts from the answer, whichever it is.
    pub fn grants(&self) -> Vec<Granted> {
        let told = self.heard.iter().filter_map(|heard| match heard {
            Heard::Told(judged) => Some(judged),
            Heard::Refused(_) | Heard::Nothing => None,
        });
        told.filter_map(|judged| {
            let (granted, left) = granted(&judged.reply)?;
            assert_eq!(left, granted.expires_at.since(judged.now), "{judged:?}");
            assert!(judged.now < granted.expires_at, "stale: {judged:?}");
            Some(granted)
        })
        .collect()
    }

    /// The latest expiry that it was told for a renewal.
    pub fn renewed_until(&self) -> Option<(Token, Timestamp)> {
        let Ask::Renew { token } = self.command.ask else {
            return None;
        };
        let told = self.heard.iter().filter_map(|heard| match heard {
            Heard::Told(Judged {
                reply: Reply::Renewed { expires_at, .. },
                ..
            }) => Some(*expires_at),
            Heard::Told(_) | Heard::Refused(_) | Heard::Nothing => None,
        });
        told.max().map(|until| (token, until))
    }

    /// Whether history must remember it once it was answered.
    fn always_remembered(&self) -> bool {
        match self.command.ask {
            Ask::Report { .. } | Ask::Verify { .. } | Ask::Observe { .. } | Ask::Decide { .. } => true,
            // These are remembered where they got or moved something.
            Ask::Plan { .. }
            | Ask::Claim { .. }
            | Ask::Begin { .. }
            | Ask::Renew { .. }
            | Ask::Release { .. }
            | Ask::Sweep
            | Ask::Contest { .. } => false,
        }
    }

    /// Holds everything that was heard against the history of its action. `renewals` are the tokens whose lease somebody
    /// asked to be renewed, with or without an answer.
    pub fn check(&self, history: &[Event], renewals: &BTreeSet<Token>) {
        let own = |event: &&Event| {
            event
                .request
                .is_some_and(|trace| trace.id == self.command.request.id)
        };
        let traces: Vec<Trace> = history
            .iter()
            .filter(own)
            .filter_map(|event| event.request)
            .collect();
        assert!(traces.len() <= 1, "{self:#?} left {traces:?}");
        let trace = traces.first();

        let refusal = self.heard.iter().find_map(|heard| match heard {
            Heard::Refused(refusal) => Some(refusal),
            Heard::Told(_) | Heard::Nothing => None,
        });
        if let (Some(refusal), Some(_)) = (refusal, trace) {
            panic!("refused ({refusal}), and yet it happened: {self:#?}");
        }
        let told = self.heard.iter().any(|heard| matches!(heard, Heard::Told(_)));
        if told && self.always_remembered() {
            assert!(trace.is_some(), "acknowledged, and lost: {self:#?}");
        }
        for told in self.grants() {
            let trace = trace.unwrap_or_else(|| panic!("a grant without history: {self:#?}"));
            assert_eq!(trace.granted, Some(told.token), "{self:#?}");
            assert_eq!(trace.begun, told.begun, "{self:#?}");
            let (kind, expires_at) = history
                .iter()
                .find_map(|event| match event.what {
                    What::Granted { kind, expires_at, .. } if event.token == Some(told.token) => {
                        Some((kind, expires_at))
                    }
                    _ => None,
                })
                .unwrap();
            assert_eq!(kind, told.kind, "{self:#?}");
            if renewals.contains(&told.token) {
                assert!(told.expires_at >= expires_at, "{self:#?}");
            } else {
                assert_eq!(told.expires_at, expires_at, "{self:#?}");
            }
        }
    }
}

/// The grant in a reply, with the time left.
pub fn granted(reply: &Reply) -> Option<(Granted, deed_core::time::Span)> {
    let Reply::Step(answer) = reply else { return None };
    match &answer.step {
        NextStep::Execute(execute) => Some((
            Granted {
                kind: GrantKind::Execute,
                token: execute.token,
                expires_at: execute.expires_at,
                begun: execute.begun,
            },
            execute.lease_left,
        )),
        NextStep::VerifyEffect(verify) => Some((
            Granted {
                kind: GrantKind::Verify,
                token: verify.token,
                expires_at: verify.expires_at,
                begun: false,
            },
            verify.lease_left,
        )),
        NextStep::Claimable(_)
        | NextStep::Wait { .. }
        | NextStep::Held { .. }
        | NextStep::Settled(_)
        | NextStep::Blocked { .. } => None,
    }
}
