//! What follows from a step: for the workers, the receiver, the operator and the clocks by what is written here and in
//! [`network`](super::network), for the action by what [`Deed`] rules and by nothing else.

use super::claims::Broken;
use super::deed::Deed;
use super::network::{calls, repeats};
use super::receiver::{Landing, Sees, Send};
use super::said::{OPERATOR, Said, WITNESS};
use super::setting::{Habit, Setting, Word, small, whole_ticks};
use super::state::{Doing, State};
use super::steps::Step;
use super::writing::{Standby, fail_over, written};

/// The moment after the step; none, if nothing has changed.
pub fn follow(setting: &Setting, deed: &Deed, last: &State, step: Step) -> Option<State> {
    let mut state = last.clone();
    match step {
        Step::Tick => state.now += 1,
        Step::ClockStep => {
            state.ahead += 1;
            state.clock_steps -= 1;
        }
        Step::Failover => fail_over(deed, &mut state),
        Step::Calls(worker, said, reach) => calls(setting, deed, &mut state, worker, said, reach),
        Step::Repeats(worker, call, reach) => repeats(setting, deed, &mut state, worker, call, reach),
        Step::Crashes(worker) => {
            state.workers[worker].doing = Doing::Idle;
            state.crashes -= 1;
        }
        Step::Sends(worker) => sends(setting, &mut state, worker),
        Step::LooksUp(worker, sees) => {
            let token = state.workers[worker].token()?;
            state.receiver.raise_floor(setting, token);
            state.workers[worker].doing = Doing::Looked { token, sees };
        }
        Step::Lands(at, landing) => lands(setting, &mut state, at, landing),
        Step::Ends(at, fate) => {
            let job = &mut state.receiver.effects[at];
            (job.fate, job.at) = (fate, state.now);
        }
        Step::Looks => {
            let row = deed.row(&state.primary)?;
            state.looked_at = Some((row.version.0, row.sequence));
        }
        Step::Decides(word) => decides(setting, deed, &mut state, word),
        Step::Witness(sees) => {
            // Told again in a later tick, it is told under a new request id.
            let call = 2 * state.now + u8::from(matches!(sees, Sees::Effect(_)));
            let ruling = deed.judge(
                &state.primary,
                WITNESS,
                call,
                Said::Observe(sees),
                state.database_time(),
            );
            written(&mut state, &ruling, Standby::Follows);
        }
    }
    (state != *last).then_some(state)
}

fn sends(setting: &Setting, state: &mut State, worker: usize) {
    let (token, load, said) = match state.workers[worker].doing {
        Doing::Ready {
            token, load, said, ..
        } => (token, load, said),
        Doing::Granted { token, load, .. } => (token, load, true),
        _ => return,
    };
    state.workers[worker].doing = Doing::Sending { token, said };
    state.receiver.flying.push(Send {
        worker: small(worker),
        token,
        generation: load.generation,
        parts: load.parts,
        over_by: state.now + whole_ticks(setting.terms.send_timeout),
    });
    state.receiver.flying.sort_unstable();
}

fn lands(setting: &Setting, state: &mut State, at: usize, landing: Landing) {
    let send = state.receiver.flying.remove(at);
    let outcome = state.receiver.land(setting, state.now, send, landing);
    let worker = &mut state.workers[usize::from(send.worker)];
    match worker.doing {
        Doing::Sending { token, .. } if token == send.token => {
            worker.doing = Doing::Sent { token, outcome };
        }
        _ => {}
    }
}

fn decides(setting: &Setting, deed: &Deed, state: &mut State, word: Word) {
    let Some(row) = deed.row(&state.primary) else {
        return;
    };
    let current = (row.version.0, row.sequence);
    let (version, sequence) = if setting.has(Habit::DecidesLater) {
        let Some(seen) = state.looked_at else { return };
        seen
    } else {
        current
    };
    let call = state.decided;
    let said = Said::Decide(word, version);
    let ruling = deed.judge(&state.primary, OPERATOR, call, said, state.database_time());
    if version != current.0 && sequence == current.1 {
        state.breaks(Broken::RenewalRefusesDecision);
    }
    if ruling.writes {
        state.decided += 1;
        state.looked_at = None;
        written(state, &ruling, Standby::Follows);
    }
}
