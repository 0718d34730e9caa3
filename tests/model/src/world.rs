//! A world as the checker sees it: its moments, its steps, and what is claimed of it.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use deed_core::contract::{Guarantee, OnPartial};
use stateright::{Model, Property};

use super::claims::Broken;
use super::deed::{Deed, Store};
use super::moves::follow;
use super::progress;
use super::setting::{Habit, Setting, Tick};
use super::sights::{ALL, Sight};
use super::state::State;
use super::steps::{Step, steps};

/// What is claimed of every moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim {
    /// The receiver's ledger has the effect once at most.
    OneEffect,
    /// At most one send is under way.
    OneSend,
    /// At most one attempt is undisproved; with one that resumes it, two.
    OneUndisproved,
    /// Somebody leads on.
    LeadsOn,
    /// A claim about steps.
    Step(Broken),
}

impl Claim {
    /// As the checker and the table call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OneEffect => "one effect at most",
            Self::OneSend => "one send under way at most",
            Self::OneUndisproved => "one undisproved attempt at most",
            Self::LeadsOn => "somebody leads on",
            Self::Step(Broken::TokenFell) => "tokens strictly grow",
            Self::Step(Broken::ProofUndone) => "proof is final",
            Self::Step(Broken::EvidenceLost) => "evidence is kept, once",
            Self::Step(Broken::AcknowledgedLost) => "acknowledged evidence survives a failover",
            Self::Step(Broken::AnswerChanged) => "a request has one answer",
            Self::Step(Broken::AbsenceSpentTwice) => "one absence, one attempt",
            Self::Step(Broken::ProofIgnored) => "nobody begins against proof",
            Self::Step(Broken::RenewalRefusesDecision) => "renewals refuse no decision",
            Self::Step(Broken::GrantUnknown) => "no grant is unknown after a failover",
            Self::Step(Broken::ProofShared) => "one effect proves one action",
        }
    }
}

/// A world.
pub struct World {
    /// What it is like.
    pub setting: Setting,
    /// The only claim that matters, where there is one: then others may be broken on the way.
    hunted: Option<Claim>,
    deed: Deed,
    /// Moments from which somebody is known to lead on.
    led: Mutex<HashSet<(Arc<Store>, Tick, u8)>>,
    /// Sights that have been shown, one bit each.
    shown: AtomicU32,
}

impl World {
    /// A world of this setting, to be explored for all claims or for one.
    pub fn new(setting: Setting, hunted: Option<Claim>) -> anyhow::Result<Self> {
        let deed = Deed::new(&setting)?;
        Ok(Self {
            setting,
            hunted,
            deed,
            led: Mutex::default(),
            shown: AtomicU32::new(0),
        })
    }

    /// Whether two sends under way at once would break a promise: where nobody deduplicates, nobody fences, and all pass
    /// the gate in time.
    fn one_at_a_time(&self) -> bool {
        let lawless = [
            Habit::Freezes,
            Habit::SkipsTheGate,
            Habit::ConfessesFirst,
            Habit::LazyStandby,
        ];
        let serial = matches!(
            self.setting.guarantee(),
            Some(Guarantee::Serialized | Guarantee::AtMostOnce)
        );
        serial && !lawless.into_iter().any(|habit| self.setting.has(habit))
    }

    fn one_undisproved(&self, state: &State) -> bool {
        let lawless = self.setting.guarantee() == Some(Guarantee::Deduplicated)
            || self.setting.failovers > 0
            || [Habit::SkipsTheGate, Habit::ConfessesFirst, Habit::Releases]
                .into_iter()
                .any(|habit| self.setting.has(habit));
        let most = if self.setting.terms.on_partial == OnPartial::Resume {
            2
        } else {
            1
        };
        lawless
            || self
                .deed
                .row(&state.primary)
                .is_none_or(|row| row.undisproved.len() <= most)
    }

    fn leads_on(&self, state: &State) -> bool {
        if self.deed.row(&state.primary).is_none() {
            return true;
        }
        let moment = (
            state.primary.clone(),
            state.database_time(),
            progress::truth(state),
        );
        if self
            .led
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(&moment)
        {
            return true;
        }
        let leads = progress::leads_on(&self.setting, &self.deed, state);
        if leads {
            self.led
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(moment);
        }
        leads
    }

    /// Says so once for each sight: the checker needs one example, and asks at every moment.
    fn shows(&self, sight: Sight, state: &State) -> bool {
        let bit = 1 << sight.number();
        if self.shown.load(Ordering::Relaxed) & bit != 0 || !sight.shown(&self.deed, state) {
            return false;
        }
        self.shown.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// The sights of the setting that no moment has shown.
    pub fn missing(&self) -> Vec<Sight> {
        let shown = self.shown.load(Ordering::Relaxed);
        let missing = |sight: &&Sight| shown & 1 << sight.number() == 0;
        self.setting.shows.iter().filter(missing).copied().collect()
    }
}

impl Model for World {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State::first(&self.setting, self.deed.first())]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Step>) {
        // Once a claim is broken, what follows proves nothing.
        let over = match self.hunted {
            None => state.lawless(),
            Some(Claim::Step(claim)) => state.broke(claim),
            Some(Claim::OneEffect | Claim::OneSend | Claim::OneUndisproved | Claim::LeadsOn) => false,
        };
        if !over {
            steps(&self.setting, &self.deed, state, actions);
        }
    }

    fn next_state(&self, last: &State, step: Step) -> Option<State> {
        follow(&self.setting, &self.deed, last, step)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        macro_rules! kept {
            ($($broken:ident),*) => {
                [$(Property::always(
                    Claim::Step(Broken::$broken).name(),
                    |_: &World, state: &State| !state.broke(Broken::$broken),
                )),*]
            };
        }
        macro_rules! sometimes {
            ($($at:literal),*) => {
                [$((ALL[$at], Property::sometimes(
                    concat!("sight ", $at),
                    |world: &World, state: &State| world.shows(ALL[$at], state),
                ))),*]
            };
        }
        let mut properties = vec![
            Property::always(Claim::OneEffect.name(), |_, state: &State| {
                state.receiver.times_done() <= 1
            }),
            Property::always(Claim::OneSend.name(), |world: &Self, state: &State| {
                !world.one_at_a_time() || state.sends_under_way() <= 1
            }),
            Property::always(Claim::OneUndisproved.name(), Self::one_undisproved),
            Property::always(Claim::LeadsOn.name(), Self::leads_on),
        ];
        properties.extend(kept!(
            TokenFell,
            ProofUndone,
            EvidenceLost,
            AcknowledgedLost,
            AnswerChanged,
            AbsenceSpentTwice,
            ProofIgnored,
            RenewalRefusesDecision,
            GrantUnknown,
            ProofShared
        ));
        let sights = sometimes!(
            0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23
        );
        let wanted = |(sight, _): &(Sight, Property<Self>)| self.setting.shows.contains(sight);
        if let Some(hunted) = self.hunted {
            properties.retain(|property| property.name == hunted.name());
        }
        properties.extend(sights.into_iter().filter(wanted).map(|(_, property)| property));
        properties
    }
}
