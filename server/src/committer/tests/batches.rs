//! What goes into one transaction.

use deed_core::reply::NextStep;

use super::fake::Fake;
use super::help::{claim, committer, execute, key, repeat, send, step};
use crate::service::{Judge, Watch};

#[tokio::test]
async fn what_gathers_while_a_transaction_runs_goes_into_the_next_one() {
    let fake = Fake::new();
    let committer = committer(&fake, |_| {});
    fake.flow(false);
    let first = send(&committer, claim("first"));
    fake.reads(1).await;
    let more: Vec<_> = (0..20)
        .map(|n| send(&committer, claim(&format!("more-{n:02}"))))
        .collect();
    tokio::task::yield_now().await;
    fake.flow(true);
    execute(first.await.unwrap());
    for call in more {
        execute(call.await.unwrap());
    }
    let sizes: Vec<_> = fake.committed().iter().map(|one| one.written).collect();
    assert_eq!(sizes, [1, 20]);
}

#[tokio::test]
async fn a_batch_is_bounded_in_commands_and_in_bytes() {
    for (batch, batch_bytes) in [(4, usize::MAX), (usize::MAX, 4_300)] {
        let fake = Fake::new();
        let committer = committer(&fake, |options| {
            (options.batch, options.batch_bytes) = (batch, batch_bytes);
        });
        fake.flow(false);
        let first = send(&committer, claim("first"));
        fake.reads(1).await;
        let more: Vec<_> = (0..10)
            .map(|n| send(&committer, claim(&format!("more-{n}"))))
            .collect();
        tokio::task::yield_now().await;
        fake.flow(true);
        execute(first.await.unwrap());
        for call in more {
            execute(call.await.unwrap());
        }
        let sizes: Vec<_> = fake.committed().iter().map(|one| one.written).collect();
        assert_eq!(sizes, [1, 4, 4, 2]);
    }
}

#[tokio::test]
async fn commands_for_one_action_take_turns_and_one_of_them_gets_the_grant() {
    let fake = Fake::new();
    let committer = committer(&fake, |_| {});
    let calls: Vec<_> = (0..50).map(|_| send(&committer, claim("hot"))).collect();
    let mut granted = 0;
    for call in calls {
        match step(call.await.unwrap()) {
            NextStep::Execute(_) => granted += 1,
            NextStep::Held { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(granted, 1);
    assert!(fake.committed().iter().all(|one| one.read.len() == 1));
}

#[tokio::test]
async fn a_row_that_somebody_inserts_in_between_is_judged_again() {
    let fake = Fake::new();
    let committer = committer(&fake, |_| {});
    let theirs = claim("raced");
    let holder = committer.judge(repeat(&theirs)).await;
    let token = execute(holder).token;
    let taken = fake.row(&key("raced")).unwrap();
    let fake = Fake::new();
    let committer = super::help::committer(&fake, |_| {});
    fake.intrude(taken);
    let neighbour = send(&committer, claim("neighbour"));
    match step(committer.judge(claim("raced")).await) {
        NextStep::Held { .. } => {}
        other => panic!("{other:?}"),
    }
    execute(neighbour.await.unwrap());
    assert_eq!(fake.row(&key("raced")).unwrap().token, token);
}

#[tokio::test]
async fn a_repeat_gets_the_same_grant_after_a_synchronous_commit() {
    let fake = Fake::new();
    let committer = committer(&fake, |_| {});
    let call = claim("lost-answer");
    let first = execute(committer.judge(repeat(&call)).await);
    let second = execute(committer.judge(call).await);
    assert_eq!((first.token, first.expires_at), (second.token, second.expires_at));
    let synchronous: Vec<_> = fake
        .committed()
        .iter()
        .map(|one| (one.written, one.synchronous))
        .collect();
    assert_eq!(synchronous, [(1, false), (0, true)]);
}

#[tokio::test]
async fn waiters_are_told_of_what_was_committed() {
    let fake = Fake::new();
    let committer = committer(&fake, |_| {});
    let watched = key("watched");
    let mut waiter = committer.watch(&watched);
    let other = committer.watch(&watched);
    drop(other);
    execute(committer.judge(claim("watched")).await);
    waiter.changed().await;
    // An answer that changes nothing tells nobody.
    let held = step(committer.judge(claim("watched")).await);
    assert!(matches!(held, NextStep::Held { .. }));
    assert!(futures::FutureExt::now_or_never(waiter.changed()).is_none());
}
