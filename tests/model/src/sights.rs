//! What a world must be able to show: a claim that holds because nothing ever happens proves nothing.

use deed_core::action::{Action, State as Known};
use deed_core::event::{Event, What};
use deed_core::reply::{BlockReason, NextStep};

use super::deed::Deed;
use super::setting::small;
use super::state::State;

/// Something that sometimes holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Sight {
    /// The action is in this state.
    Known(Known),
    /// A person is needed, for this reason.
    Blocked(BlockReason),
    /// One worker's lease follows another's.
    TakenOver,
    /// An execution on top of one that may have left an effect, where that is harmless.
    Resent,
    /// An execution of what was missing of a partial effect.
    Resumed,
    /// A second execution after an absence that counts.
    Retried,
    /// Evidence under a token that had been overtaken, or had lapsed.
    LateEvidence,
    /// The standby was promoted and did not have everything.
    FailedOver,
}

/// Every sight that some world must show.
pub const ALL: [Sight; 24] = [
    Sight::Known(Known::AwaitingApproval),
    Sight::Known(Known::Planned),
    Sight::Known(Known::Sent),
    Sight::Known(Known::Accepted),
    Sight::Known(Known::Partial),
    Sight::Known(Known::Unknown),
    Sight::Known(Known::NotFound),
    Sight::Known(Known::Confirmed),
    Sight::Known(Known::Rejected),
    Sight::Known(Known::Abandoned),
    Sight::Blocked(BlockReason::Unverifiable),
    Sight::Blocked(BlockReason::Partial),
    Sight::Blocked(BlockReason::VerificationsExhausted),
    Sight::Blocked(BlockReason::AttemptsExhausted),
    Sight::Blocked(BlockReason::BudgetExhausted),
    Sight::Blocked(BlockReason::DeduplicationWindowPassed),
    Sight::Blocked(BlockReason::EffectDeadlinePassed),
    Sight::Blocked(BlockReason::Contradiction),
    Sight::TakenOver,
    Sight::Resent,
    Sight::Resumed,
    Sight::Retried,
    Sight::LateEvidence,
    Sight::FailedOver,
];

impl Sight {
    /// Its place among all of them.
    pub fn number(self) -> usize {
        ALL.iter().position(|sight| *sight == self).unwrap_or(ALL.len())
    }

    /// Whether this moment shows it.
    pub fn shown(self, deed: &Deed, state: &State) -> bool {
        let store = &state.primary;
        let Some(row) = deed.row(store) else { return false };
        let history = || store.ledger.history(&deed.words.key);
        match self {
            Self::Known(known) => row.state == known,
            Self::Blocked(reason) => {
                let answer = deed.look(store, state.database_time());
                answer.is_some_and(
                    |answer| matches!(answer.step, NextStep::Blocked { reason: told, .. } if told == reason),
                )
            }
            Self::TakenOver => taken_over(history()),
            Self::Resent => sending(row) && row.grant.as_ref().is_some_and(|grant| grant.resend),
            Self::Resumed => {
                sending(row) && row.grant.as_ref().is_some_and(|grant| !grant.resumes.is_empty())
            }
            Self::Retried => sending(row) && row.attempts > 1 && row.undisproved.len() == 1,
            Self::LateEvidence => history()
                .iter()
                .any(|event| matches!(event.what, What::Reported { late: true, .. })),
            Self::FailedOver => state.failovers == 0 && *store == state.standby && lost(deed, state),
        }
    }
}

fn sending(row: &Action) -> bool {
    row.state == Known::Sent
}

fn taken_over(history: &[Event]) -> bool {
    let granted = |event: &&Event| matches!(event.what, What::Granted { .. });
    let holders = history
        .iter()
        .filter(granted)
        .filter_map(|event| event.by.as_ref());
    holders
        .clone()
        .zip(holders.skip(1))
        .any(|(first, second)| first != second)
}

/// Whether a call that had been written is not remembered any more.
fn lost(deed: &Deed, state: &State) -> bool {
    let mut workers = state.workers.iter().enumerate();
    workers.any(|(at, worker)| {
        (0..worker.calls.len()).any(|call| !deed.remembers(&state.primary, small(at), small(call)))
    })
}
