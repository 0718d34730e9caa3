//! Rows that somebody else holds.

use std::time::{Duration, Instant};

use deed_core::command::Ask;

use super::fake::{Fake, Fault};
use super::help::{PATIENCE, call, claim, committer, execute, key, send};
use crate::service::{Error, Judge};

#[tokio::test]
async fn one_stuck_row_holds_up_neither_its_neighbours_nor_its_lane() {
    let fake = Fake::new();
    let committer = committer(&fake, |_| {});
    let held = fake.hold(&key("stuck"));
    let mut stuck = send(&committer, claim("stuck"));
    fake.reads(1).await;
    for n in 0..20 {
        execute(committer.judge(claim(&format!("free-{n}"))).await);
    }
    assert!(futures::FutureExt::now_or_never(&mut stuck).is_none());
    drop(held);
    execute(stuck.await.unwrap());
}

#[tokio::test]
async fn more_stuck_rows_than_workers_do_not_hold_up_one_that_is_soon_free() {
    let fake = Fake::new();
    let committer = committer(&fake, |options| options.apart = 2);
    let held: Vec<_> = (0..4).map(|n| fake.hold(&key(&format!("stuck-{n}")))).collect();
    let stuck: Vec<_> = (0..4)
        .map(|n| send(&committer, claim(&format!("stuck-{n}"))))
        .collect();
    fake.reads(3).await;
    let brief = fake.hold(&key("brief"));
    let soon = send(&committer, claim("brief"));
    drop(brief);
    execute(soon.await.unwrap());
    drop(held);
    for call in stuck {
        execute(call.await.unwrap());
    }
}

#[tokio::test]
async fn the_time_that_a_call_waited_for_a_row_is_told() {
    let fake = Fake::new();
    let committer = committer(&fake, |_| {});
    let held = fake.hold(&key("slow"));
    let waiting = send(&committer, claim("slow"));
    tokio::time::sleep(Duration::from_millis(700)).await;
    drop(held);
    let judged = waiting.await.unwrap().unwrap();
    // The fake's own wait is not counted: it is the database's to tell. The first turn of half a second is.
    assert!(judged.waited.micros() >= 500_000, "{:?}", judged.waited);
}

#[tokio::test]
async fn a_row_that_stays_stuck_costs_its_caller_the_deadline_and_nobody_else_anything() {
    let fake = Fake::new();
    let committer = committer(&fake, |_| {});
    let _held = fake.hold(&key("stuck"));
    let mut late = claim("stuck");
    late.deadline = Instant::now() + Duration::from_millis(50);
    let told = committer.judge(late).await;
    assert!(matches!(told, Err(Error::DeadlineExceeded)), "{told:?}");
    assert!(fake.row(&key("stuck")).is_none());
    execute(committer.judge(claim("free")).await);
}

#[tokio::test]
async fn renewals_pass_a_lane_that_is_full_and_slow() {
    let fake = Fake::new();
    let committer = committer(&fake, |options| (options.queue, options.apart) = (4, 1));
    let token = execute(committer.judge(claim("mine")).await).token;
    // The lane hangs in a write, its queue is full, and every worker apart waits for a stuck row.
    let _held = fake.hold(&key("stuck"));
    let _stuck = send(&committer, claim("stuck"));
    fake.reads(3).await;
    fake.flow(false);
    let load: Vec<_> = (0..4)
        .map(|n| send(&committer, claim(&format!("load-{n}"))))
        .collect();
    fake.reads(4).await;
    let refused = committer.judge(claim("one-too-many")).await;
    assert!(matches!(refused, Err(Error::Overloaded { .. })), "{refused:?}");
    let renewal = send(&committer, call("mine", Ask::Renew { token }));
    fake.reads(5).await;
    fake.flow(true);
    assert!(renewal.await.unwrap().is_ok());
    for call in load {
        execute(call.await.unwrap());
    }
}

#[tokio::test]
async fn b32_an_insert_that_somebody_holds_open_is_waited_for_beyond_the_patience_with_faults() {
    let fake = Fake::new();
    let committer = committer(&fake, |_| {});
    fake.always(Some(Fault::Inserting));
    let waiting = send(&committer, claim("raced"));
    tokio::time::sleep(PATIENCE * 2).await;
    fake.always(None);
    execute(waiting.await.unwrap());
}

#[tokio::test]
async fn a_renewal_whose_row_is_held_waits_behind_no_claim() {
    let fake = Fake::new();
    let committer = committer(&fake, |options| options.apart = 1);
    let token = execute(committer.judge(claim("mine")).await).token;
    let _stuck = fake.hold(&key("stuck"));
    let mine = fake.hold(&key("mine"));
    let renewal = send(&committer, call("mine", Ask::Renew { token }));
    fake.reads(3).await;
    // The only worker for claims begins to wait for its row just now, for half a second.
    let _waiting = send(&committer, claim("stuck"));
    fake.reads(5).await;
    let freed = Instant::now();
    drop(mine);
    assert!(renewal.await.unwrap().is_ok());
    assert!(
        freed.elapsed() < Duration::from_millis(250),
        "{:?}",
        freed.elapsed()
    );
}
