//! What one history must look like: without gaps, with tokens that only grow, and with an end that is one.

use super::super::record::Event;

/// Checks the history of one action.
pub fn check(action: &str, events: &[Event], failures: &mut Vec<String>) {
    let gap = events
        .iter()
        .zip(1..)
        .find(|(event, place)| event.sequence != *place);
    if let Some((event, place)) = gap {
        failures.push(format!(
            "{action}: history has {} where {place} belongs",
            event.sequence
        ));
    }
    let granted = events.iter().filter(|event| event.kind == "GRANTED");
    let tokens: Vec<u64> = granted.filter_map(|event| event.token).collect();
    if let Some(fall) = tokens.windows(2).find(|pair| pair[0] >= pair[1]) {
        failures.push(format!(
            "{action}: token {} was granted after {}",
            fall[1], fall[0]
        ));
    }
    let mut settled = None;
    for event in events {
        match settled {
            Some(state) if event.executes() => failures.push(format!(
                "{action}: executed under token {:?} after it was settled as {state}",
                event.token
            )),
            Some(_) => {}
            None => settled = event.settled().then_some(event.state.as_str()),
        }
    }
}
