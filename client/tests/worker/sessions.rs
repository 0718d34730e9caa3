//! The session: one stream for the calls of a process, never in anybody's way.

use std::collections::HashSet;
use std::future::ready;
use std::time::Duration;

use deed_client::{CallError, Deed, Receipt, v1};
use deed_proto::v1::session_request::Call;
use deed_proto::v1::session_response::Outcome;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tonic::Code;

use crate::fake::{Fake, Reply};
use crate::opened::Opened;
use crate::renewals::holding;
use crate::steps::{charge, execute, lasting, renewed, settled};

/// Far longer than anything here takes; only a failing test waits for it.
async fn within<T>(awaited: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(10), awaited)
        .await
        .unwrap()
}

fn claim(id: &str) -> v1::ClaimRequest {
    v1::ClaimRequest {
        key: Some(v1::ActionKey {
            namespace: "default".to_owned(),
            action_id: id.to_owned(),
        }),
        ..v1::ClaimRequest::default()
    }
}

type Claimed = JoinHandle<Result<v1::ClaimResponse, CallError>>;

fn claiming(deed: &Deed, id: &str) -> Claimed {
    let (deed, claim) = (deed.clone(), claim(id));
    tokio::spawn(async move { deed.calls().claim(claim).await })
}

/// Claims until one comes on the session, which is then answered no more.
async fn on_session(deed: &Deed, session: &mut Opened, id: &str) -> (Claimed, v1::SessionRequest) {
    let claims = async {
        loop {
            let mut claimed = claiming(deed, id);
            tokio::select! {
                request = session.next() => return (claimed, request.unwrap()),
                alone = &mut claimed => drop(alone.unwrap().unwrap()),
            }
        }
    };
    within(claims).await
}

/// A client with a session, and the first call on it.
async fn opened(
    deed: &Deed,
    sessions: &mut UnboundedReceiver<Opened>,
) -> (Opened, Claimed, v1::SessionRequest) {
    claiming(deed, "first").await.unwrap().unwrap();
    let mut session = within(sessions.recv()).await.unwrap();
    let (claimed, request) = on_session(deed, &mut session, "a").await;
    (session, claimed, request)
}

fn the_claim(request: &v1::SessionRequest) -> &v1::ClaimRequest {
    match &request.call {
        Some(Call::Claim(claim)) => claim,
        other => panic!("{other:?} is no claim"),
    }
}

#[tokio::test]
async fn clones_share_one_stream_and_its_answers_come_in_any_order() {
    let (fake, mut sessions) = Fake::with_sessions().await;
    let deed = fake.deed();
    let (mut session, first, one) = opened(&deed, &mut sessions).await;
    let second = claiming(&deed.clone(), "b");
    let two = within(session.next()).await.unwrap();
    assert_eq!(the_claim(&two).key.as_ref().unwrap().action_id, "b");
    let ids = HashSet::from([0, one.correlation_id, two.correlation_id]);
    assert_eq!(ids.len(), 3, "each has an id of its own");
    assert!(two.timeout.unwrap().seconds <= 2, "the server is told the time");

    session.answer(two).await;
    within(second).await.unwrap().unwrap();
    let error = v1::EntryError {
        code: Code::AlreadyExists.into(),
        reason: "INPUT_MISMATCH".to_owned(),
        ..v1::EntryError::default()
    };
    session.tell(one.correlation_id, Outcome::Error(error));
    let refused = within(first).await.unwrap().unwrap_err();
    assert_eq!(refused.reason(), Some("INPUT_MISMATCH"));
    assert_eq!(fake.sessions(), 1);
}

#[tokio::test]
async fn an_action_is_performed_over_the_session() {
    let (fake, mut sessions) = Fake::with_sessions().await;
    let deed = fake.deed();
    let (session, claimed, request) = opened(&deed, &mut sessions).await;
    fake.step("Claim", settled("X"));
    session.answer(request).await;
    within(claimed).await.unwrap().unwrap();
    let serving = tokio::spawn(session.serve());
    fake.step("Claim", execute(7));
    let outcome = charge(&deed, "b").perform_without_verify(|_| ready(Receipt::completed("X")));
    assert!(outcome.await.unwrap().confirmed());
    drop(deed);
    within(serving).await.unwrap();
}

#[tokio::test]
async fn calls_in_flight_when_the_stream_breaks_are_repeated_under_their_request_ids() {
    let (fake, mut sessions) = Fake::with_sessions().await;
    let deed = fake.deed();
    let (mut session, first, one) = opened(&deed, &mut sessions).await;
    let second = claiming(&deed, "b");
    let two = within(session.next()).await.unwrap();
    let ids = HashSet::from([one, two].map(|request| the_claim(&request).request_id.clone()));
    let before = fake.calls("Claim").len();
    drop(session);

    // By whichever way there is: alone, or over the next stream.
    tokio::spawn(async move {
        while let Some(session) = sessions.recv().await {
            tokio::spawn(session.serve());
        }
    });
    for claimed in [first, second] {
        within(claimed).await.unwrap().unwrap();
    }
    let again = fake.claims(before + 2).await.split_off(before);
    assert_eq!(
        HashSet::from_iter(again.into_iter().map(|claim| claim.request_id)),
        ids
    );
}

#[tokio::test]
async fn a_stream_that_is_silent_is_left_by_the_calls_on_it() {
    let (fake, mut sessions) = Fake::with_sessions().await;
    let deed = fake.connect(fake.client().call_timeout(Duration::from_millis(200)));
    let (_silent, claimed, request) = opened(&deed, &mut sessions).await;
    let answered = async {
        let mut claimed = claimed;
        loop {
            tokio::select! {
                session = sessions.recv() => drop(tokio::spawn(session.unwrap().serve())),
                answered = &mut claimed => return answered.unwrap().unwrap(),
            }
        }
    };
    within(answered).await;
    let repeated = fake.calls("Claim").len();
    assert!(repeated >= 2, "it was repeated elsewhere");
    assert!(!the_claim(&request).request_id.is_empty());
}

#[tokio::test]
async fn a_server_that_drains_answers_what_it_has_and_gets_nothing_new() {
    let (fake, mut sessions) = Fake::with_sessions().await;
    let deed = fake.deed();
    let (mut session, claimed, request) = opened(&deed, &mut sessions).await;
    session.drain();
    // Once the client has read it, its calls go elsewhere.
    let other = async {
        loop {
            claiming(&deed, "b").await.unwrap().unwrap();
            if let Ok(other) = sessions.try_recv() {
                return other;
            }
        }
    };
    let _other = within(async {
        tokio::select! {
            other = other => other,
            late = async { while let Some(late) = session.next().await { session.answer(late).await; } } => {
                unreachable!("the stream ended before its call was answered: {late:?}")
            }
        }
    })
    .await;
    session.answer(request).await;
    within(claimed).await.unwrap().unwrap();
    assert!(
        within(session.next()).await.is_none(),
        "then the client closes it"
    );
}

#[tokio::test]
async fn a_client_that_goes_closes_its_stream() {
    let (fake, mut sessions) = Fake::with_sessions().await;
    let deed = fake.deed();
    let (mut session, claimed, request) = opened(&deed, &mut sessions).await;
    session.answer(request).await;
    within(claimed).await.unwrap().unwrap();
    drop(deed);
    assert!(within(session.next()).await.is_none());
}

#[tokio::test]
async fn without_sessions_calls_go_alone_and_it_is_not_asked_again_and_again() {
    let fake = Fake::start().await;
    let deed = fake.deed();
    for id in 0..20 {
        deed.calls().claim(claim(&id.to_string())).await.unwrap();
    }
    assert_eq!(fake.sessions(), 1);
    let deed = fake.connect(fake.client().unary_only());
    deed.calls().claim(claim("a")).await.unwrap();
    assert_eq!(fake.sessions(), 1, "a client that wants none asks for none");
}

#[tokio::test]
async fn b48_a_stalled_stream_stops_no_renewal() {
    const LEASE: Duration = Duration::from_millis(600);
    let (fake, mut sessions) = Fake::with_sessions().await;
    let deed = fake.deed();
    let (session, claimed, request) = opened(&deed, &mut sessions).await;
    fake.step("Claim", settled("X")).step("Claim", lasting(1, LEASE));
    session.answer(request).await;
    within(claimed).await.unwrap().unwrap();
    for _ in 0..20 {
        fake.on("Renew", Reply::Renewal(renewed(LEASE)));
    }
    let (open, gate) = watch::channel(false);
    let running = holding(&deed, "b", &gate);
    let mut session = session;
    let request = within(session.next()).await.unwrap();
    session.answer(request).await;
    // From here on nothing on the stream is answered.
    let _stalled = claiming(&deed, "c");
    fake.seen("Renew", 4).await;
    open.send(true).unwrap();
    tokio::spawn(session.serve());
    assert!(within(running).await.unwrap());
}
