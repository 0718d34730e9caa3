//! The flow by itself, poll by poll: what is read, and when.

use std::cell::Cell;
use std::future::{Pending, Ready, pending, ready};

use futures::poll;
use futures::stream::{StreamExt, iter};
use tokio_util::sync::CancellationToken;

use super::flow::MAX_BYTES_IN_FLIGHT;
use super::*;

/// Requests without end, counted as they are read.
fn requests(
    read: &Cell<usize>,
    call: Option<Call>,
) -> impl Stream<Item = Result<v1::SessionRequest, Status>> + Unpin {
    iter(1..).map(move |correlation_id| {
        read.set(read.get() + 1);
        Ok(v1::SessionRequest {
            correlation_id,
            timeout: None,
            call: call.clone(),
        })
    })
}

fn at_once(request: v1::SessionRequest) -> Ready<v1::SessionResponse> {
    ready(v1::SessionResponse {
        correlation_id: request.correlation_id,
        outcome: None,
    })
}

fn never(_: v1::SessionRequest) -> Pending<v1::SessionResponse> {
    pending()
}

/// How many requests a flow reads of calls that are never answered.
async fn read_of(call: Option<Call>) -> usize {
    let read = Cell::new(0);
    let mut flow = Flow::new(requests(&read, call), never, CancellationToken::new());
    for _ in 0..3 {
        assert!(poll!(flow.next()).is_pending());
    }
    read.get()
}

#[tokio::test]
async fn answers_that_nobody_takes_stop_the_reading() {
    let read = Cell::new(0);
    let mut flow = Flow::new(requests(&read, None), at_once, CancellationToken::new());
    for taken in 0..100 {
        assert!(flow.next().await.unwrap().is_ok());
        assert_eq!(read.get() - taken, MAX_IN_FLIGHT);
    }
}

#[tokio::test]
async fn calls_in_flight_are_bounded_by_number_by_entries_and_by_bytes() {
    assert_eq!(read_of(None).await, MAX_IN_FLIGHT);
    let batch = Call::BatchReport(v1::BatchReportRequest {
        entries: vec![v1::ReportRequest::default(); 1_000],
    });
    assert_eq!(read_of(Some(batch)).await, MAX_IN_FLIGHT.div_ceil(1_000));
    let large = Call::Release(v1::ReleaseRequest {
        owner: "x".repeat(MAX_BYTES_IN_FLIGHT / 4),
        ..v1::ReleaseRequest::default()
    });
    assert_eq!(read_of(Some(large)).await, 4);
}

#[tokio::test]
async fn a_flow_that_drains_reads_on_while_it_has_calls_in_flight_and_ends_without_them() {
    let stop = CancellationToken::new();
    stop.cancel();
    let (idle, read) = (Cell::new(0), Cell::new(0));
    let mut flow = Flow::new(requests(&idle, None), at_once, stop.clone());
    let told = flow.next().await.unwrap().unwrap().outcome;
    assert!(matches!(told, Some(Outcome::Draining(_))));
    assert!(flow.next().await.is_none());
    assert_eq!(idle.get(), 0);

    let stop = CancellationToken::new();
    let mut flow = Flow::new(requests(&read, None), never, stop.clone());
    assert!(poll!(flow.next()).is_pending());
    stop.cancel();
    assert!(flow.next().await.is_some());
    assert!(
        poll!(flow.next()).is_pending(),
        "it goes on until they are answered"
    );
}
