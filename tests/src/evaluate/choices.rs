//! What the sources do not say, decided by us, as the page lists it.

use super::scale::{ARRIVALS, BACKOFF, SENDS, Scale};
use super::setting::LATE_COMMITS;

/// One choice an entry.
pub fn ours(scale: &Scale) -> Vec<String> {
    let ms = |length: std::time::Duration| format!("{} ms", length.as_millis());
    vec![
        format!(
            "**Scale.** A second here stands for some 40 s outside. An effect takes {}, an agent waits {} for an answer, an \
             effect that is hidden is hidden for {}, and the next send after a refusal waits {} (Deed) or not at all (the \
             other arms). Shares depend on the order of these lengths, hardly on the lengths.",
            ms(scale.service),
            ms(scale.answer_timeout),
            ms(scale.hidden),
            ms(BACKOFF),
        ),
        "**Independence.** Every send draws its four faults independently of each other, of other sends and of other steps. \
         Faults combine (an effect may be partial, hidden, and its answer lost), but for the conflict, which leaves no \
         effect that another fault could strike. The second send of a step draws anew."
            .to_owned(),
        "**Same faults for all arms.** The n-th request for a step of an episode meets the same fault in every arm and, where \
         it is struck at a level, at every higher level too. Arms are compared on the same luck; levels are not \
         independent of each other."
            .to_owned(),
        format!(
            "**Calls per episode.** A task is three tool calls, one after the other, each with one effect and each sent at most \
             {SENDS} times (one retry). An agent stops at the first step that does not end as done. Lookups are not limited \
             in the Deed arm; the wrapper looks once after each send that had no good answer."
        ),
        format!(
            "**Timeout after dispatch.** The effect comes about, the answer comes {} later, which is too late.",
            ms(scale.answer_late)
        ),
        "**Delayed visibility.** Lookups miss the whole effect for the stated time; sends do not notice. Alone it does nothing, \
         since nobody looks after a good answer."
            .to_owned(),
        "**Partial success.** Every effect has two parts; the fault leaves out the second, and the answer says so honestly. \
         The blind arm repeats the whole step. The wrapper completes what it sees to be missing. Deed completes it where \
         the step can be taken back (`on_partial: RESUME`) and stops for a person where it cannot."
            .to_owned(),
        "**Which steps cannot be taken back.** `send_welcome` and `append_record`; the other four are declared `REVERSIBLE`."
            .to_owned(),
        "**Stale conflict.** The receiver answers that the record has changed since it was read, and does nothing. All arms \
         read the record anew and send again; none takes it for an effect."
            .to_owned(),
        "**What a duplicate is.** A part that is in the receiver's ledger more than once when everything has landed. All three \
         steps count, also `set_active` and `set_recorded`: setting a state twice sends its event twice. The share is of \
         episodes with at least one duplicate. (With three sends that count, a blind retry after a timeout alone doubles \
         1 − (1 − p)³ of the episodes: 14, 49 and 73 % at the three levels, which is near what is reported.)"
            .to_owned(),
        "**How success is judged.** The agent says that the task is done, and the ledger has every part of every step; \
         duplicates are counted apart. *Undecided*: the agent ends without knowing, or leaves the rest to a person. \
         *Mistaken*: it says done while something is missing, or says that a step has no effect while it has one."
            .to_owned(),
        "**The wrapper in its favour.** It looks after its last send too, repairs partial work, and among several workers looks \
         before its first send; the paper asks for none of that. It trusts the first absence, as it is described."
            .to_owned(),
        format!(
            "**What Deed is told.** The receiver's settle window is {}, its lease {}, at most {SENDS} attempts. Without keys that \
             is the guarantee `SERIALIZED`, with keys `DEDUPLICATED` (looked up all the same). The server runs with \
             `--max-clock-step 10ms`.",
            ms(scale.settle_window),
            ms(scale.lease),
        ),
        format!(
            "**Workers.** They share the action ids, as copies of one message would, and start within {} of each other. The \
             time of an episode ends with its last worker; a Deed worker that finds an action held asks again at growing \
             intervals.",
            ms(ARRIVALS)
        ),
        format!(
            "**Late commits.** {:.0} % of the sends come about late and nothing else happens to them: {} after the send, which is \
             after the timeout but within the settle window, or {} after it, of which Deed was not told. All arms send the \
             same key with every attempt at a step, which is more than most SDKs do by themselves.",
            LATE_COMMITS * 100.0,
            ms(scale.commit_in_window),
            ms(scale.commit_beyond_window),
        ),
    ]
}
