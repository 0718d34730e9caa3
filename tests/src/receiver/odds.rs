//! Faults by chance: the probabilities, how large a random fault is, and the draw.
//!
//! A draw depends on the seed, the business id and the number of the request for that id, on nothing else: the same
//! seed gives every id the same faults however its workers race.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::dials::{Admission, AnswerFault, Dials, Fault, JobEnd, LookupFault};
use super::messages::EffectRequest;

/// Where a misplaced effect lands.
pub const WRONG_PLACE: &str = "elsewhere";

/// Probabilities from 0 to 1; all 0 by default. Of the faults that exclude each other the first named wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Odds {
    pub refuse: f64,
    pub rate_limit: f64,
    pub maintenance: f64,
    pub drop_before: f64,
    pub crash: f64,
    pub drop_answer: f64,
    pub error_body: f64,
    pub answer_late: f64,
    pub apply_late: f64,
    pub hide: f64,
    /// Half of the parts, rounded up; a request for one part is spared.
    pub part_only: f64,
    pub wrong_place: f64,
    pub job_failure: f64,
    /// Among the admissions it comes last: a request that is refused for another reason meets no conflict.
    pub conflict: f64,
    pub lookup_drop: f64,
    pub lookup_maintenance: f64,
    pub lookup_late: f64,
}

/// How large random faults are, in milliseconds. The defaults are small enough for a test to sit through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Magnitudes {
    pub retry_after_ms: u64,
    pub answer_late_ms: u64,
    pub apply_late_ms: u64,
    pub hide_ms: u64,
}

impl Default for Magnitudes {
    fn default() -> Self {
        Self {
            retry_after_ms: 100,
            answer_late_ms: 500,
            apply_late_ms: 200,
            hide_ms: 200,
        }
    }
}

/// Chooses what request number `nth` (from 1) for its business id meets.
pub fn draw_fault(dials: &Dials, request: &EffectRequest, nth: u64) -> Fault {
    let Odds {
        refuse,
        rate_limit,
        maintenance,
        drop_before,
        crash,
        drop_answer,
        error_body,
        answer_late,
        ..
    } = dials.odds;
    let Magnitudes {
        retry_after_ms,
        answer_late_ms,
        apply_late_ms,
        hide_ms,
    } = dials.magnitudes;
    let mut chance = Chance::new(dials.seed, "effect", &request.business_id, nth);
    let mut fault = dials.every.clone();

    let admissions = [
        (refuse, Admission::Refused),
        (rate_limit, Admission::RateLimited { retry_after_ms }),
        (maintenance, Admission::Maintenance { retry_after_ms }),
        (drop_before, Admission::Dropped),
    ];
    if let Some(admission) = chance.first(admissions) {
        fault.admission = admission;
    }
    let answers = [
        (crash, AnswerFault::Crash),
        (drop_answer, AnswerFault::Dropped),
        (error_body, AnswerFault::ErrorBody),
        (
            answer_late,
            AnswerFault::Late {
                after_ms: answer_late_ms,
            },
        ),
    ];
    if let Some(answer) = chance.first(answers) {
        fault.answer = answer;
    }
    if chance.hits(dials.odds.apply_late) {
        fault.apply_after_ms = apply_late_ms;
    }
    if chance.hits(dials.odds.hide) {
        fault.hide_ms = hide_ms;
    }
    let mut parts = request.asked_parts();
    if chance.hits(dials.odds.part_only) && parts.len() > 1 {
        parts.truncate(parts.len().div_ceil(2));
        fault.only_parts = Some(parts);
    }
    if chance.hits(dials.odds.wrong_place) {
        fault.place = Some(WRONG_PLACE.to_owned());
    }
    if chance.hits(dials.odds.job_failure) {
        fault.job = JobEnd::Failed;
    }
    // Drawn last, so that the seeds of runs without it keep their faults.
    if chance.hits(dials.odds.conflict) && fault.admission == Admission::Admitted {
        fault.admission = Admission::Conflict;
    }
    fault
}

/// Chooses what lookup number `nth` (from 1) for its business id meets.
pub fn draw_lookup_fault(dials: &Dials, business_id: &str, nth: u64) -> LookupFault {
    let Magnitudes {
        retry_after_ms,
        answer_late_ms,
        ..
    } = dials.magnitudes;
    Chance::new(dials.seed, "lookup", business_id, nth)
        .first([
            (dials.odds.lookup_drop, LookupFault::Dropped),
            (
                dials.odds.lookup_maintenance,
                LookupFault::Maintenance { retry_after_ms },
            ),
            (
                dials.odds.lookup_late,
                LookupFault::Late {
                    after_ms: answer_late_ms,
                },
            ),
        ])
        .unwrap_or(dials.every_lookup)
}

/// One request's own stream of chance.
struct Chance(StdRng);

impl Chance {
    fn new(seed: u64, what: &str, business_id: &str, nth: u64) -> Self {
        let name = format!("{seed}/{what}/{nth}/{business_id}");
        let mut state = [0; 32];
        state[..16].copy_from_slice(Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()).as_bytes());
        Self(StdRng::from_seed(state))
    }

    fn hits(&mut self, probability: f64) -> bool {
        self.0.random::<f64>() < probability
    }

    /// The first that hits.
    // SUBTLE: every candidate draws, also after a hit, so that turning one dial leaves the draws of the others alone.
    fn first<T, const N: usize>(&mut self, candidates: [(f64, T); N]) -> Option<T> {
        let mut hit = None;
        for (probability, candidate) in candidates {
            if self.hits(probability) && hit.is_none() {
                hit = Some(candidate);
            }
        }
        hit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dials(seed: u64, drop_answer: f64) -> Dials {
        Dials {
            seed,
            odds: Odds {
                drop_answer,
                hide: 0.5,
                ..Odds::default()
            },
            ..Dials::default()
        }
    }

    fn faults(dials: &Dials) -> Vec<Fault> {
        (1..=200)
            .map(|nth| draw_fault(dials, &EffectRequest::new("order-1", "charge", &[]), nth))
            .collect()
    }

    #[test]
    fn one_seed_gives_the_same_faults_again_and_another_seed_gives_others() {
        assert_eq!(faults(&dials(7, 0.5)), faults(&dials(7, 0.5)));
        assert_ne!(faults(&dials(7, 0.5)), faults(&dials(8, 0.5)));
    }

    #[test]
    fn turning_one_dial_leaves_the_draws_of_the_others_alone() {
        let hidden = |drop_answer| -> Vec<u64> {
            faults(&dials(7, drop_answer))
                .iter()
                .map(|fault| fault.hide_ms)
                .collect()
        };
        assert_eq!(hidden(0.0), hidden(0.9));
    }

    #[test]
    fn faults_come_about_as_often_as_the_odds_say() {
        let dropped = faults(&dials(7, 0.5))
            .iter()
            .filter(|fault| fault.answer == AnswerFault::Dropped)
            .count();
        assert!(
            (70..=130).contains(&dropped),
            "{dropped} of 200 at odds of one half"
        );
    }
}
