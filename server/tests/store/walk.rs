//! Random walks: whatever the core judges, the store takes, keeps and gives back as it was.

use std::collections::{BTreeMap, BTreeSet};

use deed_core::Protocol;
use deed_core::action::{Action, GrantKind, State};
use deed_core::event::{Event, What};
use deed_core::id::{Token, Version};
use deed_core::judgement::{PastRequest, PastToken, Remembered};
use deed_core::time::Span;
use deed_server::service::ledger::Ledger;
use deed_server::store::{Busy, Reader, Row, Transact};

use crate::fixture::{Fixture, external, key, lookup, one, write};
use crate::random::{Dice, Known, any, specification};

/// What a token did, told from the events as they were handed to the store.
fn fold(events: &[Event], token: Token, action: &Action) -> Option<PastToken> {
    let of_token: Vec<_> = events.iter().filter(|event| event.token == Some(token)).collect();
    let granted = of_token.iter().find_map(|event| match event.what {
        What::Granted { kind, .. } => Some((*event, kind)),
        _ => None,
    });
    let reported = || {
        of_token
            .iter()
            .find(|event| matches!(event.what, What::Reported { .. }))
    };
    let (origin, kind) = granted.or_else(|| Some((*reported()?, GrantKind::Execute)))?;
    let told = of_token.iter().filter_map(|event| match event.what {
        What::Granted { expires_at, .. }
        | What::Lapsed { expires_at }
        | What::Released { expires_at }
        | What::Fenced { expires_at } => Some(expires_at),
        _ => None,
    });
    Some(PastToken {
        holder: origin.by.clone()?,
        kind,
        attempt: of_token.iter().find_map(|event| event.attempt),
        lease_end: told
            .max()
            .unwrap_or_else(|| origin.at.plus(action.spec.contract.lease)),
    })
}

#[tokio::test]
async fn whatever_the_core_judges_is_kept_and_comes_back() {
    let fixture = Fixture::migrated().await;
    let mut session = fixture.session();
    let reader = Reader::new(fixture.database.clone());
    let mut states = BTreeSet::new();
    let mut kinds = BTreeMap::<String, u32>::new();
    let (mut repeats, mut long) = (0, 0);
    for walk in 0..120 {
        let mut dice = Dice(walk);
        let spec = specification(&mut dice);
        let id = format!("walk-{walk}");
        let mut ahead = Span::ZERO;
        let mut stored: Option<Action> = None;
        let mut history: Vec<Event> = Vec::new();
        for _ in 0..40 {
            let mut tokens: Vec<_> = history.iter().filter_map(|event| event.token).collect();
            tokens.extend(stored.as_ref().map(|action| action.token));
            let known = Known {
                tokens,
                version: stored.as_ref().map_or(Version(0), |action| action.version),
            };
            let command = any(&mut dice, &id, &spec, &known);
            let lookup = lookup(&command);
            let reading = session
                .read(std::slice::from_ref(&lookup), Busy::Skip)
                .await
                .unwrap();
            let row = &reading.rows[0];
            let (found, remembered) = match row {
                Row::Found(action, remembered) => (Some(&**action), remembered.clone()),
                Row::Absent(remembered) => (None, remembered.clone()),
                Row::Busy => panic!("busy"),
            };
            assert_eq!(found, stored.as_ref(), "seed {walk}");
            let held = stored.as_ref().and_then(|action| action.grant.as_ref());
            let expected = lookup
                .token
                .filter(|token| held.is_none_or(|grant| grant.token != *token))
                .zip(stored.as_ref())
                .and_then(|(token, action)| fold(&history, token, action));
            assert_eq!(remembered.token, expected, "seed {walk}: {:?}", lookup.token);
            assert_eq!(
                remembered.request, None,
                "seed {walk}: a call that was never made"
            );
            // Time is the story's: the store keeps what it is given.
            let steps = [
                1,
                1,
                1,
                200,
                200,
                5_000,
                40_000,
                if dice.below(9) == 0 { 90_000_000 } else { 1 },
            ];
            ahead = ahead.plus(Span::from_millis(dice.pick(&steps)));
            let now = reading.now.plus(ahead);
            let judged = Protocol::default().decide(found, &remembered, &command, now);
            let writes: Vec<_> = judged.next.iter().map(|_| write(row, &judged)).collect();
            let written = session
                .write(&writes, judged.reads_back)
                .await
                .unwrap_or_else(|error| {
                    panic!(
                        "seed {walk}: {command:#?}\nleads to {:#?}\nwhich is refused: {error:?}",
                        judged.next
                    )
                });
            let Some(next) = judged.next else { continue };
            assert_eq!(written, [true], "seed {walk}");
            for event in &judged.events {
                let name = format!("{:?}", event.what);
                let name = name.split([' ', '{', '(']).next().unwrap().to_owned();
                *kinds.entry(name).or_default() += 1;
            }
            states.insert(next.state);
            history.extend(judged.events);
            stored = Some(*next);
        }
        let read = reader.events(&key(&id), 0, 1_000).await.unwrap();
        assert_eq!(read, history, "seed {walk}");
        for event in &history {
            let Some(trace) = &event.request else { continue };
            let mut repeat = lookup(&crate::fixture::claim(&id, "w1"));
            repeat.request = trace.id;
            let (_, remembered) = one(session.read(&[repeat], Busy::Skip).await.unwrap());
            session.write(&[], false).await.unwrap();
            let expected = PastRequest {
                fingerprint: trace.fingerprint,
                caller: event.by.clone().unwrap(),
                granted: trace.granted,
                begun: trace.begun,
            };
            assert_eq!(remembered.request, Some(expected), "seed {walk}: {event:?}");
            repeats += 1;
        }
        long += u32::from(history.iter().filter(|event| event.request.is_some()).count() > 8);
    }
    assert!(repeats > 500, "only {repeats} repeats were asked about");
    assert!(
        long > 20,
        "only {long} actions had more requests than their row lists"
    );
    assert_eq!(states.len(), State::ALL.len(), "only {states:?} were reached");
    println!("events: {kinds:?}");
    assert_eq!(kinds.len(), 12, "only {kinds:?} were recorded");
}

#[tokio::test]
async fn an_external_id_is_found_by_whoever_names_it() {
    let fixture = Fixture::migrated().await;
    let mut session = fixture.session();
    let claimed = crate::fixture::done(&mut session, &crate::fixture::claim("order-1", "w1")).await;
    let token = claimed.grant.unwrap().token;
    let receipt = crate::fixture::completed("INV-1", b"");
    crate::fixture::done(
        &mut session,
        &crate::fixture::report("order-1", "w1", token, receipt),
    )
    .await;

    let tool = crate::fixture::specification().tool;
    let reader = Reader::new(fixture.database.clone());
    let found = |id| {
        let (reader, tool) = (reader.clone(), tool.clone());
        async move {
            reader
                .find_external(&key("x").namespace, &tool, &external(id))
                .await
                .unwrap()
        }
    };
    assert_eq!(found("INV-1").await, Some(key("order-1")));
    assert_eq!(found("INV-2").await, None);

    let mut fresh = lookup(&crate::fixture::claim("order-2", "w1"));
    fresh.external_id = Some(external("INV-1"));
    let reading = session.read(&[fresh], Busy::Skip).await.unwrap();
    let Row::Absent(Remembered { external_id, .. }) = &reading.rows[0] else {
        panic!("{:?}", reading.rows)
    };
    assert_eq!(
        *external_id,
        Some(key("order-1")),
        "by the tool that the call itself names"
    );
}
