//! Callers that go, queues that are full, lanes that end.

use std::time::{Duration, Instant};

use super::fake::Fake;
use super::help::{claim, committer, execute, key, send};
use crate::service::{Error, Judge};

#[tokio::test]
async fn b36_callers_that_have_gone_cost_no_transaction() {
    let fake = Fake::new();
    let committer = committer(&fake, |_| {});
    fake.flow(false);
    let first = send(&committer, claim("first"));
    fake.reads(1).await;
    let gone: Vec<_> = (0..500)
        .map(|n| send(&committer, claim(&format!("gone-{n}"))))
        .collect();
    tokio::task::yield_now().await;
    for call in &gone {
        call.abort();
    }
    for call in gone {
        assert!(call.await.unwrap_err().is_cancelled());
    }
    let last = send(&committer, claim("last"));
    fake.flow(true);
    execute(first.await.unwrap());
    execute(last.await.unwrap());
    let read: Vec<_> = fake.committed().iter().map(|one| one.read.clone()).collect();
    assert_eq!(read, [[key("first")], [key("last")]]);
}

#[tokio::test]
async fn a_call_whose_deadline_has_passed_in_the_queue_is_not_judged() {
    let fake = Fake::new();
    let committer = committer(&fake, |_| {});
    let mut late = claim("late");
    late.deadline = Instant::now();
    let told = committer.judge(late).await;
    assert!(matches!(told, Err(Error::DeadlineExceeded)), "{told:?}");
    assert!(fake.row(&key("late")).is_none());
}

#[tokio::test]
async fn a_full_queue_says_so_and_takes_calls_again_once_it_has_room() {
    let fake = Fake::new();
    let committer = committer(&fake, |options| options.queue = 2);
    fake.flow(false);
    let waiting = [send(&committer, claim("one")), send(&committer, claim("two"))];
    fake.reads(1).await;
    let told = committer.judge(claim("three")).await;
    let Err(Error::Overloaded { retry_after }) = told else {
        panic!("{told:?}")
    };
    assert!(retry_after > Duration::ZERO);
    fake.flow(true);
    for call in waiting {
        execute(call.await.unwrap());
    }
    execute(committer.judge(claim("three")).await);
}

#[tokio::test]
async fn stopping_answers_what_was_admitted() {
    let fake = Fake::new();
    let committer = committer(&fake, |_| {});
    fake.flow(false);
    let waiting: Vec<_> = (0..10)
        .map(|n| send(&committer, claim(&format!("a-{n}"))))
        .collect();
    fake.reads(1).await;
    let stopping = {
        let committer = std::sync::Arc::clone(&committer);
        tokio::spawn(async move { committer.stop().await })
    };
    tokio::task::yield_now().await;
    fake.flow(true);
    stopping.await.unwrap();
    for call in waiting {
        execute(call.await.unwrap());
    }
    let told = committer.judge(claim("too-late")).await;
    assert!(matches!(told, Err(Error::ShuttingDown)), "{told:?}");
}
