//! Calls and answers between workers and Deed, and what a worker does with an answer.

use super::deed::{Deed, Heard, Ruling};
use super::rule::Rule;
use super::said::{Said, Told};
use super::setting::{Habit, Setting, small};
use super::state::{Call, Doing, Load, State, Worker};
use super::steps::Reach;
use super::writing::{Standby, written};

/// A call arrives for the first time.
pub fn calls(setting: &Setting, deed: &Deed, state: &mut State, worker: usize, said: Said, reach: Reach) {
    let number = state.workers[worker].calls.len();
    let ruling = deed.judge(
        &state.primary,
        small(worker),
        small(number),
        said,
        state.database_time(),
    );
    if matches!(said, Said::Claim { .. }) && ruling.heard == Heard::Stop {
        // It may as well not have been made: it will get no grant that a later claim would not get.
        written(state, &ruling, Standby::Follows);
        return;
    }
    let acknowledged = false;
    state.workers[worker].calls.push(Call { said, acknowledged });
    commits(&mut state.workers[worker], said, small(number));
    reaches(setting, state, worker, number, &ruling, reach);
}

/// What a worker does as soon as it has made a call.
fn commits(worker: &mut Worker, said: Said, call: u8) {
    match (said, &mut worker.doing) {
        (Said::Renew(_), _) => return,
        (
            Said::Report(_, Told::Perhaps, _),
            Doing::Ready { said: told, .. } | Doing::Sending { said: told, .. },
        ) => {
            *told = true;
            return;
        }
        (Said::Report(_, Told::Perhaps, _), Doing::Granted { token, until, load }) => {
            let (token, until, load) = (*token, *until, *load);
            worker.doing = Doing::Confessing {
                call,
                token,
                until,
                load,
            };
            return;
        }
        (Said::Claim { .. }, _) => worker.claims -= 1,
        _ => {}
    }
    worker.doing = Doing::Waiting(call);
}

/// A call arrives again.
pub fn repeats(setting: &Setting, deed: &Deed, state: &mut State, worker: usize, call: usize, reach: Reach) {
    let said = state.workers[worker].calls[call].said;
    let ruling = deed.judge(
        &state.primary,
        small(worker),
        small(call),
        said,
        state.database_time(),
    );
    reaches(setting, state, worker, call, &ruling, reach);
}

/// A call is judged: what is written, and who is told.
fn reaches(setting: &Setting, state: &mut State, worker: usize, call: usize, ruling: &Ruling, reach: Reach) {
    match reach {
        Reach::Heard => {
            written(state, ruling, Standby::Follows);
            hears(setting, state, worker, call, ruling.heard);
        }
        Reach::Unheard => written(state, ruling, Standby::Follows),
        Reach::CutOff if ruling.writes => {
            written(state, ruling, Standby::Lags);
            let waits = state.workers[worker].doing == Doing::Waiting(small(call));
            if waits && setting.has(Habit::LazyStandby) {
                hears(setting, state, worker, call, ruling.heard);
            }
        }
        Reach::CutOff => {}
    }
}

/// The worker's half: it measures its lease, and acts on what it is told.
fn hears(setting: &Setting, state: &mut State, worker: usize, call: usize, heard: Heard) {
    let now = state.now;
    let worker = &mut state.workers[worker];
    let made = &mut worker.calls[call];
    made.acknowledged = setting.failovers > 0 && matches!(made.said, Said::Report(..) | Said::Verify(..));
    if let Heard::Renewed(left) = heard {
        if let Doing::Ready { until, .. } = &mut worker.doing {
            *until = (*until).max(now + left);
        }
        return;
    }
    let late = match setting.without {
        Some(Rule::LeaseFromTheAnswer) => setting.commit_wait,
        _ => 0,
    };
    if let Doing::Confessing {
        token, until, load, ..
    } = worker.doing
    {
        let said = true;
        worker.doing = Doing::Ready {
            token,
            until,
            load,
            said,
        };
        return;
    }
    worker.doing = match heard {
        Heard::Execute {
            token,
            left,
            begun,
            parts,
            generation,
        } => {
            let until = now + left + late;
            let load = Load { parts, generation };
            if begun {
                let said = false;
                Doing::Ready {
                    token,
                    until,
                    load,
                    said,
                }
            } else {
                Doing::Granted { token, until, load }
            }
        }
        Heard::Verify(token) => Doing::Looking(token),
        Heard::Renewed(_) | Heard::Stop | Heard::Refused => Doing::Idle,
    };
}
