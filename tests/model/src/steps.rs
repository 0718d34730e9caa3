//! What can happen next, whoever does it. Nothing here says what follows: that is [`moves`](super::moves).
//!
//! A call that has been made and has not arrived is nothing that anybody could tell from a call that is made later: what it
//! says does not change on its way. So a call is made and arrives in one step, and what a lookup saw, which does depend on
//! when it looked, is kept by the worker until it says so. Every later arrival of the same call is a step of its own.

use super::deed::Deed;
use super::receiver::{Fate, Landing, Outcome, Sees};
use super::said::{Said, Told};
use super::setting::{Habit, Setting, Word};
use super::state::{Doing, State, Worker};

/// How far a call gets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reach {
    /// Its answer comes back.
    Heard,
    /// It is judged and written; the answer is lost.
    Unheard,
    /// It is written on the primary; its wait for the standby is cut off.
    CutOff,
}

/// One thing that happens.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// A tick of every clock.
    Tick,
    /// The database's clock steps forward.
    ClockStep,
    /// The primary dies and the standby is promoted.
    Failover,
    /// A worker's call arrives.
    Calls(usize, Said, Reach),
    /// A worker's call of this number arrives again.
    Repeats(usize, usize, Reach),
    /// A worker's process ends and is started anew.
    Crashes(usize),
    /// The first byte leaves.
    Sends(usize),
    /// A worker looks at the receiver.
    LooksUp(usize, Sees),
    /// A send lands, or is lost.
    Lands(usize, Landing),
    /// A job ends.
    Ends(usize, Fate),
    /// The operator looks at the row.
    Looks,
    /// The operator decides.
    Decides(Word),
    /// A webhook tells what is to be seen.
    Witness(Sees),
}

/// Everything that can happen next.
pub fn steps(setting: &Setting, deed: &Deed, state: &State, steps: &mut Vec<Step>) {
    time(setting, deed, state, steps);
    for (at, worker) in state.workers.iter().enumerate() {
        // Both workers are alike, so the first one may as well be the first to speak.
        if at == 0 || !state.workers[0].calls.is_empty() {
            calls(setting, at, worker, steps);
            acts(setting, state, at, worker, steps);
        }
        repeats(setting, at, worker, steps);
    }
    outside(setting, state, steps);
    operator(setting, deed, state, steps);
}

fn time(setting: &Setting, deed: &Deed, state: &State, steps: &mut Vec<Step>) {
    // Time begins with the first row: before it nothing depends on time.
    if deed.row(&state.primary).is_none() {
        return;
    }
    let due = |over_by| over_by <= state.now;
    let mut sends = state.receiver.flying.iter();
    let mut jobs = state
        .receiver
        .effects
        .iter()
        .filter(|effect| effect.fate == Fate::Queued);
    let waits = sends.any(|send| due(send.over_by)) || jobs.any(|job| due(job.at + setting.queues));
    if state.now < setting.horizon && !waits {
        steps.push(Step::Tick);
        if state.failovers > 0 && state.primary != state.standby {
            steps.push(Step::Failover);
        }
    }
    if state.clock_steps > 0 {
        steps.push(Step::ClockStep);
    }
}

fn reaches(setting: &Setting, waited_for: bool) -> impl Iterator<Item = Reach> {
    let cut_off = setting.has(Habit::CutOff);
    [
        waited_for.then_some(Reach::Heard),
        Some(Reach::Unheard),
        cut_off.then_some(Reach::CutOff),
    ]
    .into_iter()
    .flatten()
}

fn repeats(setting: &Setting, at: usize, worker: &Worker, steps: &mut Vec<Step>) {
    for (number, call) in worker.calls.iter().enumerate() {
        let waited_for = match (worker.doing, call.said) {
            (Doing::Waiting(waiting) | Doing::Confessing { call: waiting, .. }, _) => {
                usize::from(waiting) == number
            }
            (Doing::Ready { token, .. }, Said::Renew(renewed)) => token == renewed,
            _ => false,
        };
        steps.extend(reaches(setting, waited_for).map(|reach| Step::Repeats(at, number, reach)));
    }
}

fn calls(setting: &Setting, at: usize, worker: &Worker, steps: &mut Vec<Step>) {
    let mut says = |said, waits| {
        steps.extend(reaches(setting, waits).map(|reach| Step::Calls(at, said, reach)));
    };
    let perhaps = |token| Said::Report(token, Told::Perhaps, false);
    let report = |token, told| Said::Report(token, told, false);
    match worker.doing {
        Doing::Idle if worker.claims > 0 => {
            let begin = !setting.has(Habit::BeginApart);
            says(Said::Claim { begin }, true);
        }
        Doing::Idle | Doing::Waiting(_) | Doing::Confessing { .. } | Doing::Looking(_) => {}
        Doing::Granted { token, .. } => {
            says(Said::Begin(token), true);
            if setting.has(Habit::Releases) {
                says(Said::Release(token), true);
                says(report(token, Told::NotSent), true);
            }
            if setting.has(Habit::ConfessesFirst) {
                says(perhaps(token), true);
            }
        }
        Doing::Ready { token, said, .. } => {
            let renewed = |call: &super::state::Call| matches!(call.said, Said::Renew(_));
            if setting.has(Habit::Renews) && !worker.calls.iter().any(renewed) {
                says(Said::Renew(token), true);
            }
            if !said {
                says(report(token, Told::NotSent), true);
                if setting.has(Habit::Despairs) {
                    says(perhaps(token), false);
                }
                if setting.has(Habit::Releases) {
                    says(Said::Release(token), true);
                }
            }
        }
        Doing::Sending { token, said } => {
            if setting.has(Habit::Despairs) && !said {
                says(perhaps(token), false);
            }
        }
        Doing::Sent { token, outcome } => {
            says(report(token, Told::Heard(outcome)), true);
            if outcome != Outcome::Lost {
                says(report(token, Told::Unheard), true);
            }
            if outcome == Outcome::Nothing && setting.has(Habit::Refuses) {
                says(report(token, Told::Refused), true);
            }
        }
        Doing::Looked { token, sees } => {
            says(Said::Verify(token, sees, false), true);
            if setting.has(Habit::GoesOn) {
                says(Said::Verify(token, sees, true), true);
            }
        }
    }
}

fn acts(setting: &Setting, state: &State, at: usize, worker: &Worker, steps: &mut Vec<Step>) {
    let starts = match worker.doing {
        Doing::Ready { until, .. } => state.now < until || setting.has(Habit::Freezes),
        Doing::Granted { until, .. } => state.now < until && setting.has(Habit::SkipsTheGate),
        _ => false,
    };
    steps.extend(starts.then_some(Step::Sends(at)));
    if let Doing::Looking(_) = worker.doing {
        let sights = state.receiver.sights(setting, state.now).into_iter();
        steps.extend(sights.map(|sees| Step::LooksUp(at, sees)));
    }
    if state.crashes > 0 && worker.doing != Doing::Idle {
        steps.push(Step::Crashes(at));
    }
}

fn outside(setting: &Setting, state: &State, steps: &mut Vec<Step>) {
    for (at, send) in state.receiver.flying.iter().enumerate() {
        steps.push(Step::Lands(at, Landing::Does(send.parts)));
        steps.push(Step::Lands(at, Landing::Lost));
        if setting.has(Habit::Busy) || setting.has(Habit::Refuses) {
            steps.push(Step::Lands(at, Landing::Turned));
        }
        if setting.has(Habit::Halves) && send.parts == setting.whole() {
            steps.push(Step::Lands(at, Landing::Does(1)));
        }
    }
    for (at, effect) in state.receiver.effects.iter().enumerate() {
        if effect.fate == Fate::Queued {
            steps.push(Step::Ends(at, Fate::Done));
            if setting.has(Habit::JobsFail) {
                steps.push(Step::Ends(at, Fate::Failed));
            }
        }
    }
    if setting.has(Habit::Witnesses) {
        let telling = |sees: &Sees| matches!(sees, Sees::Effect(_) | Sees::Failed(_));
        let seen = state
            .receiver
            .sights(setting, state.now)
            .into_iter()
            .filter(telling);
        steps.extend(seen.map(Step::Witness));
    }
}

fn operator(setting: &Setting, deed: &Deed, state: &State, steps: &mut Vec<Step>) {
    if state.decided >= setting.decisions {
        return;
    }
    let Some(row) = deed.row(&state.primary) else {
        return;
    };
    if setting.has(Habit::DecidesLater) && state.looked_at != Some((row.version.0, row.sequence)) {
        steps.push(Step::Looks);
    }
    let sights = || state.receiver.sights(setting, state.now).into_iter();
    for word in setting.words {
        let honest = match word {
            Word::Confirmed => sights().any(|sees| matches!(sees, Sees::Effect(_))),
            Word::Absent => sights().any(|sees| sees == Sees::Nothing),
            Word::Approve | Word::Deny | Word::Rejected | Word::Abandoned | Word::Reopen | Word::NewKey => {
                true
            }
        };
        steps.extend(honest.then_some(Step::Decides(*word)));
    }
}
