//! What became of the effects: the receiver's ledger against what was asked for, and with Deed also against what Deed
//! believes.
//!
//! Counts, and refuses to trust: what workers say is used for times alone.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use super::arm::Ran;
use super::invoice::Invoice;
use super::said::End;
use crate::receiver::Application;

/// What somebody who is asked "was it done?" would say of one invoice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    Done,
    /// Decided: it was not done and will not be.
    NotDone,
    Undecided,
}

/// One column of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub asked: usize,
    /// Effects in the ledger.
    pub applied: usize,
    /// Effects that the receiver brought about for an invoice after the first one.
    pub duplicated: usize,
    /// No effect, although nobody doubts it any more.
    pub lost: BTreeSet<String>,
    /// Nobody says that it is done, or that it is not.
    pub undecided: BTreeSet<String>,
    /// An effect is there that is said not to be.
    pub denied: BTreeSet<String>,
    pub median: Option<Duration>,
    pub p99: Option<Duration>,
    pub took: Duration,
    pub workers_killed: usize,
    pub servers_killed: usize,
}

impl Tally {
    /// `words` holds what is believed of each invoice; one that is missing is undecided.
    pub fn count(
        asked: &[Invoice],
        ledger: &[Application],
        words: &HashMap<String, Word>,
        ran: &Ran,
    ) -> Self {
        let mut effects: BTreeMap<&str, usize> = BTreeMap::new();
        for application in ledger {
            *effects.entry(&application.business_id).or_default() += 1;
        }
        let mut tally = Self {
            asked: asked.len(),
            applied: ledger.len(),
            duplicated: effects.values().map(|count| count - 1).sum(),
            took: ran.took,
            workers_killed: ran.workers_killed,
            servers_killed: ran.servers_killed,
            ..Self::default()
        };
        for Invoice { invoice_id, .. } in asked {
            let word = words.get(invoice_id).copied().unwrap_or(Word::Undecided);
            let there = effects.contains_key(invoice_id.as_str());
            let set = match (word, there) {
                (Word::Undecided, _) => &mut tally.undecided,
                (Word::Done | Word::NotDone, false) => &mut tally.lost,
                (Word::NotDone, true) => &mut tally.denied,
                (Word::Done, true) => continue,
            };
            set.insert(invoice_id.clone());
        }
        let acted = ran.finished.iter().filter(|finished| finished.end == End::Acted);
        let mut times: Vec<Duration> = acted.map(|finished| finished.took()).collect();
        times.sort_unstable();
        tally.median = percentile(&times, 50);
        tally.p99 = percentile(&times, 99);
        tally
    }
}

/// What the blind workers believe, all of them together.
pub fn believed(ran: &Ran) -> HashMap<String, Word> {
    let done = ran
        .finished
        .iter()
        .filter(|finished| matches!(finished.end, End::Acted | End::FoundDone));
    done.map(|finished| (finished.invoice_id.clone(), Word::Done))
        .collect()
}

/// The nearest rank.
fn percentile(sorted: &[Duration], percent: usize) -> Option<Duration> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::said::Finished;

    fn invoice(id: &str) -> Invoice {
        Invoice {
            invoice_id: id.to_owned(),
            customer: String::new(),
            amount_cents: 1,
            currency: String::new(),
            note: String::new(),
        }
    }

    fn effect(id: &str) -> Application {
        serde_json::from_value(serde_json::json!({
            "external_id": "fx", "business_id": id, "kind": "create_invoice", "parts": [], "place": "main",
            "in_right_place": true, "amount": null, "idempotency_key": null, "fencing_token": null,
            "applied_at_ms": 0, "hidden_until_ms": 0, "hidden_lookups": 0,
        }))
        .unwrap()
    }

    fn set(ids: &[&str]) -> BTreeSet<String> {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    #[test]
    fn every_invoice_is_counted_where_ledger_and_belief_put_it() {
        let asked = ["a", "b", "c", "d", "e", "f"].map(invoice);
        let ledger = ["a", "a", "a", "b", "d", "e"].map(effect);
        let words = [
            ("a", Word::Done),
            ("b", Word::Done),
            ("c", Word::Done),
            ("d", Word::NotDone),
            ("e", Word::Undecided),
        ];
        let words = words.map(|(id, word)| (id.to_owned(), word)).into();
        let tally = Tally::count(&asked, &ledger, &words, &Ran::default());
        assert_eq!((tally.asked, tally.applied, tally.duplicated), (6, 6, 2));
        assert_eq!(tally.lost, set(&["c"]));
        assert_eq!(tally.denied, set(&["d"]));
        assert_eq!(tally.undecided, set(&["e", "f"]), "f is not even known");
    }

    #[test]
    fn times_are_those_of_workers_that_did_something() {
        let finished = |end, took_us| Finished {
            invoice_id: "a".to_owned(),
            end,
            took_us,
        };
        let acted = (1..=100).map(|took| finished(End::Acted, took));
        let ran = Ran {
            finished: acted.chain([finished(End::FoundDone, 1_000_000)]).collect(),
            ..Ran::default()
        };
        let tally = Tally::count(&[], &[], &HashMap::new(), &ran);
        assert_eq!(tally.median, Some(Duration::from_micros(50)));
        assert_eq!(tally.p99, Some(Duration::from_micros(99)));
        assert_eq!(
            Tally::count(&[], &[], &HashMap::new(), &Ran::default()).median,
            None
        );
    }
}
