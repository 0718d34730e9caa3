//! Sessions: any call on one stream, each answered for itself under its correlation id.

use std::collections::HashMap;
use std::time::Duration;

use deed_proto::v1::session_request::Call;
use deed_proto::v1::session_response::Outcome;
use deed_proto::v1::{self, next_step::Kind};
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{Code, Status, Streaming};

use crate::grpc::session::MAX_IN_FLIGHT;
use crate::grpc::testing::memory::{Mood, Stored};
use crate::grpc::testing::sample;
use crate::grpc::testing::server::{Running, field, reason};

/// A session from the caller's side.
struct Session {
    requests: mpsc::UnboundedSender<v1::SessionRequest>,
    answers: Streaming<v1::SessionResponse>,
}

impl Session {
    async fn open(server: &Running) -> Self {
        let (requests, behind) = mpsc::unbounded_channel();
        let stream = UnboundedReceiverStream::new(behind);
        let answers = server.ownership().session(stream).await.unwrap().into_inner();
        Self { requests, answers }
    }

    fn send(&self, correlation_id: u64, call: Call) {
        let request = v1::SessionRequest {
            correlation_id,
            timeout: None,
            call: Some(call),
        };
        self.requests.send(request).unwrap();
    }

    async fn next(&mut self) -> (u64, Outcome) {
        let answer = self.answers.message().await.unwrap().unwrap();
        (answer.correlation_id, answer.outcome.unwrap())
    }

    async fn error(&mut self) -> (u64, v1::EntryError) {
        match self.next().await {
            (id, Outcome::Error(error)) => (id, error),
            (id, other) => panic!("{id} is no error: {other:?}"),
        }
    }

    /// What the stream ends with.
    async fn end(mut self) -> Status {
        loop {
            match self.answers.message().await {
                Ok(Some(_)) => {}
                Ok(None) => return Status::ok(""),
                Err(status) => return status,
            }
        }
    }
}

/// Far longer than anything here takes; only a failing test waits for it.
async fn within<T>(awaited: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), awaited)
        .await
        .unwrap()
}

fn claim(id: &str) -> Call {
    let mut claim = sample::claim();
    claim.key.as_mut().unwrap().action_id = id.to_owned();
    Call::Claim(claim)
}

fn step(outcome: Outcome) -> Kind {
    match outcome {
        Outcome::Answer(answer) => answer.next_step.unwrap().kind.unwrap(),
        other => panic!("{other:?} says no next step"),
    }
}

#[tokio::test]
async fn every_call_of_a_worker_is_answered_as_if_it_had_come_alone() {
    let server = Running::start().await;
    let mut session = Session::open(&server).await;
    session.send(1, Call::Claim(sample::claim()));
    let (id, answer) = session.next().await;
    let Kind::Execute(execute) = step(answer) else {
        panic!("no grant")
    };
    assert_eq!(id, 1);

    let mut renewal = sample::renew();
    renewal.leases[0].fencing_token = execute.fencing_token;
    session.send(2, Call::Renew(renewal));
    let (_, Outcome::Renew(renewed)) = session.next().await else {
        panic!("no renewal")
    };
    let lasts = renewed.results[0].result.as_ref().unwrap();
    assert!(matches!(lasts, v1::renew_result::Result::Renewed(_)), "{lasts:?}");

    let mut report = sample::report(sample::receipts().remove(0));
    report.fencing_token = execute.fencing_token;
    session.send(3, Call::Report(report));
    assert!(matches!(step(session.next().await.1), Kind::Settled(_)));
    session.send(4, Call::Plan(sample::plan()));
    assert!(matches!(step(session.next().await.1), Kind::Settled(_)));
    session.send(5, Call::Observe(sample::observes().remove(1)));
    assert!(matches!(step(session.next().await.1), Kind::Settled(_)));
    session.send(6, Call::ClaimDue(v1::ClaimDueRequest::default()));
    let (id, error) = session.error().await;
    assert_eq!((id, error.reason.as_str()), (6, "CALL_NOT_SERVED"));

    drop(session.requests);
    assert!(
        session.answers.message().await.unwrap().is_none(),
        "it ends politely"
    );
}

#[tokio::test]
async fn an_entry_that_fails_is_answered_under_its_id_and_the_stream_goes_on() {
    let server = Running::start().await;
    let mut session = Session::open(&server).await;
    session.send(1, claim(""));
    session.send(2, Call::Begin(sample::begin()));
    let nothing = v1::SessionRequest {
        correlation_id: 3,
        ..v1::SessionRequest::default()
    };
    session.requests.send(nothing).unwrap();
    let negative = v1::SessionRequest {
        correlation_id: 4,
        timeout: sample::seconds(-1),
        call: Some(claim("a")),
    };
    session.requests.send(negative).unwrap();
    let mut errors = HashMap::new();
    for _ in 0..4 {
        let (id, error) = session.error().await;
        let named = error.metadata.first().map(|label| label.value.clone());
        errors.insert(
            id,
            (Code::from(error.code), error.reason, named.unwrap_or_default()),
        );
    }
    let invalid = |field: &str| {
        (
            Code::InvalidArgument,
            "INVALID_FIELD".to_owned(),
            field.to_owned(),
        )
    };
    assert_eq!(errors[&1], invalid("key.action_id"));
    assert_eq!(errors[&2].1, "ACTION_NOT_FOUND");
    assert_eq!(errors[&3], invalid("call"));
    assert_eq!(errors[&4], invalid("timeout"));
    session.send(1, claim("a"));
    assert!(
        matches!(step(session.next().await.1), Kind::Execute(_)),
        "an id is free again"
    );
}

#[tokio::test]
async fn a_call_that_waits_holds_up_no_other_and_ends_with_its_own_time() {
    let (server, _gate) = Running::behind_a_gate(8).await;
    server.memory.with(|stored| stored.held = Some("held".to_owned()));
    let mut session = Session::open(&server).await;
    let waiting = v1::SessionRequest {
        correlation_id: 1,
        timeout: Some(prost_types::Duration {
            seconds: 0,
            nanos: 50_000_000,
        }),
        call: Some(claim("held")),
    };
    session.requests.send(waiting).unwrap();
    session.send(2, claim("free"));
    let (id, answer) = session.next().await;
    assert!(id == 2 && matches!(step(answer), Kind::Execute(_)));
    let (id, late) = session.error().await;
    assert_eq!((id, late.reason.as_str()), (1, "DEADLINE_EXCEEDED"));
    let judged = server.memory.with(|stored| stored.judged);
    let over = v1::SessionRequest {
        correlation_id: 3,
        timeout: sample::seconds(0),
        call: Some(claim("late")),
    };
    session.requests.send(over).unwrap();
    assert_eq!(session.error().await.1.reason, "DEADLINE_EXCEEDED");
    assert_eq!(
        server.memory.with(|stored| stored.judged),
        judged,
        "it was executed"
    );
}

#[tokio::test]
async fn an_id_that_nobody_could_be_answered_under_ends_the_stream_once_the_others_are_answered() {
    let server = Running::start().await;
    server.memory.with(|stored| stored.held = Some("held".to_owned()));
    for wrong in [0, 1] {
        let mut session = Session::open(&server).await;
        session.send(1, claim("held"));
        session.send(wrong, claim("b"));
        session.send(2, claim("c"));
        // Nothing after the broken entry is read; the first one is answered before the end.
        server.memory.release();
        let (id, answer) = session.next().await;
        assert!(id == 1 && matches!(step(answer), Kind::Execute(_) | Kind::Held(_)));
        let status = session.end().await;
        assert_eq!(
            (reason(&status).as_str(), field(&status).as_str()),
            ("INVALID_FIELD", "correlation_id")
        );
        server.memory.with(|stored| stored.held = Some("held".to_owned()));
    }
    let known = server.memory.with(|stored| stored.actions.len());
    assert_eq!(known, 1, "only the first claim was judged");
}

#[tokio::test]
async fn a_message_that_cannot_be_read_ends_the_stream_with_its_field() {
    let server = Running::start().await;
    let mut request = v1::SessionRequest {
        correlation_id: 1,
        timeout: None,
        call: Some(claim("a")),
    };
    let Some(Call::Claim(claim)) = &mut request.call else {
        panic!()
    };
    claim.owner = "x".repeat(2 * crate::grpc::MAX_MESSAGE_BYTES);
    let session = Session::open(&server).await;
    session.requests.send(request).unwrap();
    let status = session.end().await;
    assert_eq!(reason(&status), "MESSAGE_TOO_LARGE");
}

#[tokio::test]
async fn a_draining_server_answers_what_is_in_flight_refuses_what_is_new_and_ends_the_stream() {
    let (server, gate) = Running::behind_a_gate(8).await;
    server.memory.with(|stored| stored.held = Some("held".to_owned()));
    let mut session = Session::open(&server).await;
    session.send(1, claim("held"));
    session.send(2, claim("free"));
    assert_eq!(session.next().await.0, 2);
    gate.close();
    assert!(matches!(session.next().await, (0, Outcome::Draining(_))));
    session.send(3, claim("new"));
    let (id, refused) = session.error().await;
    assert_eq!(
        (id, Code::from(refused.code), refused.reason.as_str()),
        (3, Code::Unavailable, "SHUTTING_DOWN")
    );
    assert!(refused.retry_after.is_some());
    server.memory.release();
    let (id, answer) = session.next().await;
    assert!(id == 1 && matches!(step(answer), Kind::Execute(_)));
    assert!(session.answers.message().await.unwrap().is_none());
    let refused = server
        .ownership()
        .session(tokio_stream::empty())
        .await
        .unwrap_err();
    assert_eq!(reason(&refused), "SHUTTING_DOWN");
}

#[tokio::test]
async fn a_caller_that_vanishes_leaves_nothing_behind() {
    let server = Running::start().await;
    server.memory.with(|stored| stored.mood = Mood::Stuck);
    let session = Session::open(&server).await;
    for id in 1..=100 {
        session.send(id, claim(&format!("a-{id}")));
    }
    server.memory.until(|stored| stored.waiting == 100).await;
    drop(session);
    server.memory.until(|stored| stored.waiting == 0).await;
}

#[tokio::test]
async fn b48_a_session_that_is_held_back_leaves_room_for_a_renewal_on_its_connection() {
    let server = Running::start().await;
    server.memory.with(|stored| stored.held = Some("held".to_owned()));
    let session = Session::open(&server).await;
    // More than fits into any window, and nothing of it is read beyond what may be in flight.
    for id in 1..=20_000 {
        session.send(id, claim("held"));
    }
    let full = |stored: &Stored| stored.waiting == MAX_IN_FLIGHT;
    within(server.memory.until(full)).await;
    let mut renewal = sample::renew();
    let lease = renewal.leases.remove(0);
    for id in 0..1_000 {
        let mut lease = lease.clone();
        lease.key.as_mut().unwrap().action_id = format!("a-{id}");
        renewal.leases.push(lease);
    }
    // Again and again, until the session has sent what it can.
    for _ in 0..100 {
        let renewed = within(server.ownership().renew(renewal.clone())).await.unwrap();
        assert_eq!(renewed.into_inner().results.len(), 1_000);
    }
    drop(session);
}

#[tokio::test]
async fn one_session_with_thousands_of_calls_does_not_starve_another_with_one() {
    let (server, gate) = Running::behind_a_gate(4).await;
    server.memory.with(|stored| stored.mood = Mood::Stuck);
    let (busy, mut quiet) = (Session::open(&server).await, Session::open(&server).await);
    for id in 1..=3_000 {
        busy.send(id, claim(&format!("busy-{id}")));
    }
    // As many as a session may have in flight: four inside, the others in its line.
    let in_line = |calls: usize| {
        let gate = gate.clone();
        async move {
            while gate.waiting() != calls {
                tokio::task::yield_now().await;
            }
        }
    };
    within(in_line(MAX_IN_FLIGHT - 4)).await;
    quiet.send(1, claim("quiet"));
    within(in_line(MAX_IN_FLIGHT - 3)).await;
    server.memory.release();
    quiet.next().await;
    let place = server
        .memory
        .with(|stored| stored.came.iter().position(|id| id == "quiet"));
    // Its turn is the second; what is ready in the task of the busy session may still run before its own task does.
    assert!(
        place.unwrap() < MAX_IN_FLIGHT / 2,
        "it waited for {place:?} calls of the busy one"
    );
}
