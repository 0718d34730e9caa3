//! Rules that are taken out one at a time.

use deed_core::contract::{EffectClass, OnPartial, Terms, Verification};

use super::{Trap, plain, rule, world};
use crate::claims::Broken;
use crate::rule::Rule;
use crate::setting::{Habit, Setting, Tick, Word, ticks};
use crate::terms::{asynchronous, by_lookup, deduplicated, serialized};
use crate::world::Claim;

/// All of them.
pub fn all() -> Vec<Trap> {
    [attempts(), leases(), lookups(), requests()].concat()
}

/// Rules about what speaks for an attempt.
fn attempts() -> Vec<Trap> {
    let mut keyed = deduplicated(3);
    keyed.retry.max_attempts = 3;
    let mut failing = asynchronous();
    failing.retry.max_attempts = 3;
    let one = Claim::OneEffect;
    let ungated = world(
        serialized(),
        4,
        [1, 1],
        &[Habit::BeginApart, Habit::ConfessesFirst, Habit::GoesOn],
    );
    vec![
        rule(
            "",
            "a lapse after begin is nothing",
            Rule::LapseIsNothing,
            one,
            plain(3),
        ),
        rule(
            "C1",
            "\"nothing was done\" speaks for every attempt",
            Rule::ReceiptSpeaksForAll,
            one,
            world(keyed, 5, [2, 1], &[Habit::Busy]),
        ),
        rule(
            "C2",
            "\"the job failed\" speaks for any attempt",
            Rule::FailureSpeaksForAny,
            one,
            world(failing, 2, [2, 1], &[Habit::JobsFail, Habit::Witnesses]),
        ),
        rule(
            "C12",
            "an absence outweighs a receipt",
            Rule::AbsenceOutweighsReceipts,
            Claim::Step(Broken::ProofIgnored),
            hiding(5),
        ),
        rule(
            "C14",
            "an external id proves any number of actions",
            Rule::ProofsAreShared,
            Claim::Step(Broken::ProofShared),
            Setting {
                decisions: 1,
                words: &[Word::Confirmed],
                ..world(serialized(), 3, [1, 1], &[Habit::Contested, Habit::GoesOn])
            },
        ),
        rule(
            "C19",
            "a send without begin is no attempt",
            Rule::UngatedIsNoAttempt,
            one,
            ungated,
        ),
        rule(
            "C21",
            "a late COMPLETED is only filed",
            Rule::LateCompletedIsFiled,
            Claim::Step(Broken::ProofIgnored),
            Setting {
                habits: &[Habit::BeginApart, Habit::GoesOn],
                ..hiding(5)
            },
        ),
    ]
}

/// The receiver hides what it has done for longer than it says.
fn hiding(horizon: Tick) -> Setting {
    Setting {
        hides: 9,
        ..world(by_lookup(), horizon, [1, 1], &[Habit::GoesOn])
    }
}

/// Rules about how long somebody may act.
fn leases() -> Vec<Trap> {
    let one = Claim::OneEffect;
    let mut keyed = deduplicated(4);
    keyed.lease = ticks(2);
    let long = Terms {
        lease: ticks(2),
        ..serialized()
    };
    vec![
        rule(
            "C3",
            "a lease counts from its answer",
            Rule::LeaseFromTheAnswer,
            one,
            Setting {
                commit_wait: 3,
                ..plain(4)
            },
        ),
        rule(
            "C7",
            "an operator's word is taken at any time",
            Rule::OperatorAtAnyTime,
            one,
            Setting {
                decisions: 1,
                words: &[Word::Absent],
                ..plain(3)
            },
        ),
        rule(
            "C11",
            "a re-send's lease outlives the receiver's window",
            Rule::ResendsOutliveTheWindow,
            one,
            world(keyed, 6, [1, 1], &[Habit::Renews]),
        ),
        rule(
            "C16",
            "a renewal moves the version",
            Rule::RenewalsMoveTheVersion,
            Claim::Step(Broken::RenewalRefusesDecision),
            Setting {
                decisions: 1,
                words: &[Word::Abandoned],
                ..world(long, 3, [1, 1], &[Habit::Renews, Habit::DecidesLater])
            },
        ),
    ]
}

/// Rules about when absence counts.
fn lookups() -> Vec<Trap> {
    let one = Claim::OneEffect;
    let sending = Terms {
        send_timeout: ticks(3),
        verification: Verification::Postcondition {
            settle_window: ticks(0),
            effect_deadline: ticks(2),
        },
        ..serialized()
    };
    let long = Terms {
        lease: ticks(2),
        ..serialized()
    };
    let halves = Terms {
        effect_class: EffectClass::Reversible,
        on_partial: OnPartial::Resume,
        ..serialized()
    };
    vec![
        rule(
            "B29",
            "a lookup counts whenever it was granted",
            Rule::EarlyLookupCounts,
            one,
            plain(4),
        ),
        rule(
            "C5",
            "a repeated absence counts when it arrives",
            Rule::RepeatedAbsenceCounts,
            one,
            world(serialized(), 4, [2, 1], &[]),
        ),
        rule(
            "C8",
            "a part counts whenever it was seen",
            Rule::EarlyLookupCounts,
            one,
            Setting {
                facts: 2,
                ..world(halves, 4, [1, 1], &[Habit::GoesOn])
            },
        ),
        rule(
            "C13",
            "a send is over with its lease",
            Rule::SendTimeoutIgnored,
            one,
            Setting {
                allowed_step: 1,
                ..world(sending, 5, [1, 1], &[Habit::GoesOn])
            },
        ),
        rule(
            "C17",
            "what was accepted is done at once",
            Rule::EffectDeadlineIgnored,
            one,
            world(asynchronous(), 5, [1, 1], &[Habit::GoesOn]),
        ),
        rule(
            "C18",
            "\"I do not know\" ends the send",
            Rule::ToldLeaseEndForgotten,
            one,
            world(long, 4, [1, 1], &[Habit::GoesOn, Habit::Despairs]),
        ),
    ]
}

/// Rules about repeats and failovers.
fn requests() -> Vec<Trap> {
    let cut = |horizon| Setting {
        failovers: 1,
        ..world(serialized(), horizon, [1, 1], &[Habit::CutOff, Habit::GoesOn])
    };
    let lazy = Setting {
        habits: &[Habit::CutOff, Habit::LazyStandby],
        ..cut(3)
    };
    vec![
        rule(
            "C4, C20",
            "what was read back is told at once",
            Rule::ReadBackIsTold,
            Claim::Step(Broken::GrantUnknown),
            cut(3),
        ),
        rule(
            "C4, C20",
            "what was read back is told at once",
            Rule::ReadBackIsTold,
            Claim::Step(Broken::AcknowledgedLost),
            cut(3),
        ),
        rule(
            "C9",
            "the first answer is given again as it was",
            Rule::AnswersAreReplayed,
            Claim::OneEffect,
            plain(4),
        ),
        rule(
            "C15",
            "request ids are forgotten",
            Rule::RequestsAreForgotten,
            Claim::Step(Broken::AnswerChanged),
            plain(3),
        ),
        rule(
            "C10",
            "evidence under a lost token is refused",
            Rule::UnknownTokensAreRefused,
            Claim::Step(Broken::EvidenceLost),
            lazy,
        ),
    ]
}
