//! Long polls, step by step: what wakes a waiter, and what only its next look finds. No time passes between two steps, so
//! a wait that ends with the second one was woken.

use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use deed_core::Protocol;
use deed_core::command::Command;
use deed_core::text::Principal;
use deed_proto::v1;
use futures::poll;
use tokio_util::sync::CancellationToken;

use crate::grpc::clock::Life;
use crate::grpc::edge::Edge;
use crate::grpc::parse::calls::Call as _;
use crate::grpc::parse::query;
use crate::grpc::testing::memory::Memory;
use crate::grpc::testing::sample;

const LIFE: Duration = Duration::from_secs(60);

fn local() -> Principal {
    Principal::new("local").unwrap()
}

fn claim() -> Command {
    sample::claim().command(local()).unwrap()
}

/// A planned action in an edge's memory.
async fn planned() -> (Memory, Edge<Memory, Memory>) {
    let memory = Memory::default();
    let shared = Arc::new(memory.clone());
    let edge = Edge::new(
        shared.clone(),
        shared,
        Protocol::default(),
        CancellationToken::new(),
    );
    let plan = sample::plan().command(local()).unwrap();
    edge.judge(plan, Life::lasting(LIFE)).await.unwrap();
    (memory, edge)
}

/// Waits for a change of what is there now, and answers with the version that it found.
fn wait(memory: &Memory, edge: &Edge<Memory, Memory>) -> Pin<Box<impl Future<Output = u64>>> {
    let known = memory.with(|stored| stored.actions.values().next().unwrap().0.version);
    let query = query::wait(v1::WaitActionRequest {
        until: v1::WaitUntil::Changed.into(),
        timeout: sample::seconds(30),
        known_version: known.0,
        ..sample::wait()
    });
    let (edge, query) = (edge.clone(), query.unwrap());
    Box::pin(async move {
        let answer = edge.wait(query, Life::lasting(LIFE)).await.unwrap();
        assert!(!answer.timed_out);
        answer.action.unwrap().version
    })
}

#[tokio::test]
async fn a_change_through_this_server_wakes_a_waiter_without_another_poll() {
    let (memory, edge) = planned().await;
    let mut waiting = wait(&memory, &edge);
    assert_eq!(poll!(waiting.as_mut()), Poll::Pending);
    edge.judge(claim(), Life::lasting(LIFE)).await.unwrap();
    assert_eq!(poll!(waiting), Poll::Ready(2));
    assert_eq!(memory.with(|stored| stored.looks), 2);
}

#[tokio::test]
async fn a_change_right_after_the_first_look_is_not_missed() {
    let (memory, edge) = planned().await;
    memory.with(|stored| stored.meanwhile = Some(claim()));
    assert_eq!(poll!(wait(&memory, &edge)), Poll::Ready(2));
}

#[tokio::test]
async fn a_change_through_another_server_is_found_by_the_next_look() {
    let (memory, edge) = planned().await;
    let mut waiting = wait(&memory, &edge);
    assert_eq!(poll!(waiting.as_mut()), Poll::Pending);
    memory.with(|stored| stored.actions.values_mut().next().unwrap().0.version.0 += 1);
    let found = tokio::time::timeout(LIFE, waiting).await;
    assert_eq!(found.unwrap(), 2);
}
