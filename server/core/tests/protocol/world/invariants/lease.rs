//! Tokens grow, and at most one lease is live (I1, I2).

use deed_core::action::{Action, Grant};
use deed_core::command::{Ask, Decision};
use deed_core::event::{Event, What};
use deed_core::id::Token;

use super::Arrival;

pub fn tokens(arrival: &Arrival<'_>, after: &Action, history: &[Event]) {
    let before = arrival.before.map_or(Token::new(1), |before| Some(before.token));
    assert!(Some(after.token) >= before, "tokens only grow");
    let granted = arrival
        .judgement
        .events
        .iter()
        .filter(|event| matches!(event.what, What::Granted { .. }));
    for event in granted {
        let token = event.token.expect("a grant has a token");
        assert!(
            arrival.before.is_none_or(|before| token > before.token),
            "a grant outgrows all tokens"
        );
        assert_eq!(token, after.token);
        assert!(
            history.iter().all(|past| past.token != Some(token)),
            "one grant, one token"
        );
    }
    let decided = matches!(
        arrival.command.ask,
        Ask::Decide {
            decision: Decision::Approve { .. }
                | Decision::Deny
                | Decision::Resolve { .. }
                | Decision::Reopen { .. },
            ..
        }
    );
    if decided && arrival.remembered.request.is_none() {
        assert!(
            arrival.before.is_some_and(|before| after.token > before.token),
            "a decision moves the token"
        );
        assert!(
            after.live_grant(arrival.now).is_none(),
            "a decision takes the lease"
        );
    }
}

pub fn leases(arrival: &Arrival<'_>, after: &Action) {
    let now = arrival.now;
    let Some(before) = arrival.before else { return };
    let ended = |held: &&Grant| {
        after
            .live_grant(now)
            .is_none_or(|grant| grant.token != held.token)
    };
    if let Some(held) = before.live_grant(now).filter(ended) {
        let over = arrival.judgement.events.iter().any(|event| {
            let ends = matches!(
                event.what,
                What::Fenced { .. } | What::Released { .. } | What::Reported { .. } | What::Observed { .. }
            );
            ends && event.token == Some(held.token)
        });
        assert!(over, "a live lease ends by its holder, or fenced in writing");
    }
    if let (Some(old), Some(new)) = (&before.grant, &after.grant)
        && old.token == new.token
    {
        assert!(new.expires_at >= old.expires_at, "a lease is never shortened");
        assert!(!new.live(now) || old.live(now), "a lapsed lease is never revived");
        let lapses = old.ended.is_none() && !old.live(now);
        let lapsed =
            |event: &Event| matches!(event.what, What::Lapsed { .. }) && event.token == Some(old.token);
        assert_eq!(
            arrival.judgement.events.iter().any(lapsed),
            lapses,
            "a lapse is written down once"
        );
        assert!(new.begun_at.is_none() || old.begun_at.is_none() || new.begun_at == old.begun_at);
    }
    if let Some(grant) = after.live_grant(now) {
        assert!(grant.expires_at <= grant.hold_until, "renewals end at max_hold");
        assert!(grant.hold_until <= grant.granted_at.plus(after.spec.contract.max_hold));
    }
}
