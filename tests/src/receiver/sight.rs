//! What a lookup sees: the ledger through the receiver's read lag.

use std::collections::BTreeMap;

use super::ledger::{Application, Entry};
use super::messages::{IN_RIGHT_PLACE, JobStatus, LookupAnswer, LookupRequest, SeenEffect, SeenJob};
use super::world::{Outcome, World};

impl World {
    /// One look at the ledger, as of now.
    pub(super) fn see(&self, lookup: &LookupRequest) -> Outcome<LookupAnswer> {
        let business_id = &lookup.business_id;
        let mut state = self.lock();
        if let Some(token) = lookup.fencing_token
            && let Err((status, body)) = self.show_token(&mut state, business_id, token)
        {
            return Outcome::Error(status, body);
        }
        let now_ms = self.now_ms();
        let of_kind = |kind: &str| lookup.kind.as_deref().is_none_or(|asked| asked == kind);
        let mut applications = state.ledger.of(business_id);
        let hidden_from_lookups = applications
            .iter()
            .any(|application| application.hidden_lookups > 0);
        applications.retain(|application| of_kind(&application.kind) && application.visible_at(now_ms));

        let jobs = state.ledger.jobs.iter().filter(|job| {
            job.request.business_id == *business_id
                && of_kind(&job.request.kind)
                && job.status != JobStatus::Queued
        });
        let shown = |external_id: &str| applications.iter().any(|seen| seen.external_id == external_id);
        let jobs = jobs
            .map(|job| {
                // A job whose effect is still hidden is shown as under way: the lag covers both alike.
                let hidden = job.status == JobStatus::Done && !shown(&job.external_id);
                let status = if hidden { JobStatus::Pending } else { job.status };
                SeenJob {
                    external_id: job.external_id.clone(),
                    kind: job.request.kind.clone(),
                    status,
                }
            })
            .collect();

        let facts = facts(lookup, &applications);
        if hidden_from_lookups {
            self.record(
                &mut state,
                Entry::HiddenFromLookup {
                    business_id: business_id.clone(),
                },
            );
        }
        let effects = applications.into_iter().map(SeenEffect::from).collect();
        Outcome::Answer(LookupAnswer {
            business_id: business_id.clone(),
            effects,
            jobs,
            facts,
        })
    }
}

fn facts(lookup: &LookupRequest, visible: &[Application]) -> BTreeMap<String, bool> {
    let asked = lookup
        .facts
        .iter()
        .flat_map(|names| names.split(','))
        .filter(|name| !name.is_empty());
    let mut facts: BTreeMap<String, bool> = asked.map(|name| (name.to_owned(), false)).collect();
    facts.extend(
        visible
            .iter()
            .flat_map(|application| &application.parts)
            .map(|part| (part.clone(), true)),
    );
    let in_right_place = !visible.is_empty() && visible.iter().all(|application| application.in_right_place);
    facts.insert(IN_RIGHT_PLACE.to_owned(), in_right_place);
    facts
}

impl From<Application> for SeenEffect {
    fn from(application: Application) -> Self {
        Self {
            external_id: application.external_id,
            kind: application.kind,
            parts: application.parts,
            place: application.place,
            in_right_place: application.in_right_place,
            applied_at_ms: application.applied_at_ms,
        }
    }
}
