//! What fails, and what callers are told.

use std::time::{Duration, Instant};

use deed_core::command::Ask;
use deed_core::reply::{BlockReason, NextStep};

use super::fake::{Fake, Fault};
use super::help::{LONG, PATIENCE, call, claim, committer, execute, key, repeat, report, send, step};
use crate::service::{Error, Judge};

#[tokio::test]
async fn b35_serialisation_failures_and_deadlocks_are_absorbed() {
    let fake = Fake::new();
    let committer = committer(&fake, |_| {});
    fake.script([Fault::Refused, Fault::Refused]);
    execute(committer.judge(claim("twice")).await);
    assert_eq!(fake.committed().len(), 1);
}

#[tokio::test]
async fn b35_failures_beyond_the_patience_are_unavailable_and_change_nothing() {
    for fault in [Fault::Refused, Fault::Away, Fault::LostBeforeCommit] {
        let fake = Fake::new();
        let committer = committer(&fake, |_| {});
        fake.always(Some(fault));
        let calls: Vec<_> = (0..20)
            .map(|n| send(&committer, claim(&format!("a-{n}"))))
            .collect();
        for call in calls {
            let told = call.await.unwrap();
            assert!(
                matches!(told, Err(Error::StoreUnavailable { .. })),
                "{fault:?}: {told:?}"
            );
        }
        assert!(fake.committed().is_empty());
        fake.always(None);
        execute(committer.judge(claim("a-0")).await);
    }
}

#[tokio::test]
async fn whoever_arrives_while_the_database_is_away_is_told_at_once() {
    let fake = Fake::new();
    let committer = committer(&fake, |options| options.patience = PATIENCE * 4);
    fake.always(Some(Fault::Away));
    assert!(committer.judge(claim("first")).await.is_err());
    let arrived = Instant::now();
    assert!(committer.judge(claim("second")).await.is_err());
    assert!(arrived.elapsed() < PATIENCE, "{:?}", arrived.elapsed());
}

#[tokio::test]
async fn a_caller_with_little_time_is_told_before_it_is_over() {
    let fake = Fake::new();
    let committer = committer(&fake, |options| options.patience = LONG);
    fake.always(Some(Fault::Away));
    let mut hasty = claim("hasty");
    hasty.deadline = Instant::now() + Duration::from_millis(300);
    let deadline = hasty.deadline;
    let told = committer.judge(hasty).await;
    assert!(matches!(told, Err(Error::StoreUnavailable { .. })), "{told:?}");
    assert!(Instant::now() < deadline);
}

#[tokio::test]
async fn a_command_that_breaks_a_constraint_fails_alone() {
    let fake = Fake::new();
    let committer = committer(&fake, |_| {});
    fake.flow(false);
    let first = send(&committer, claim("first"));
    fake.reads(1).await;
    let poisoned = key("batch-7");
    fake.poison(&poisoned);
    let calls: Vec<_> = (0..16)
        .map(|n| (n, send(&committer, claim(&format!("batch-{n}")))))
        .collect();
    tokio::task::yield_now().await;
    fake.flow(true);
    execute(first.await.unwrap());
    for (n, call) in calls {
        let told = call.await.unwrap();
        if n == 7 {
            assert!(matches!(told, Err(Error::StoreUnavailable { .. })), "{told:?}");
        } else {
            execute(told);
        }
    }
    assert!(fake.row(&poisoned).is_none());
}

#[tokio::test]
async fn a_batch_that_is_refused_once_is_written_in_halves() {
    let fake = Fake::new();
    let committer = committer(&fake, |_| {});
    fake.script([Fault::None, Fault::Refused]);
    fake.flow(false);
    let first = send(&committer, claim("first"));
    fake.reads(1).await;
    let calls: Vec<_> = (0..10)
        .map(|n| send(&committer, claim(&format!("batch-{n}"))))
        .collect();
    tokio::task::yield_now().await;
    fake.flow(true);
    execute(first.await.unwrap());
    for call in calls {
        execute(call.await.unwrap());
    }
    let sizes: Vec<_> = fake.committed().iter().map(|one| one.written).collect();
    assert_eq!(sizes, [1, 5, 5]);
}

#[tokio::test]
async fn a_row_that_is_refused_again_and_again_holds_up_no_lane() {
    let fake = Fake::new();
    let committer = committer(&fake, |options| options.patience = LONG);
    fake.contend(&key("contended"));
    let mut contended = send(&committer, claim("contended"));
    fake.reads(2).await;
    let asked = Instant::now();
    for n in 0..20 {
        execute(committer.judge(claim(&format!("free-{n}"))).await);
    }
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
    assert!(futures::FutureExt::now_or_never(&mut contended).is_none());
}

#[tokio::test]
async fn two_actions_that_name_one_effect_in_one_batch_are_told_apart_and_both_are_flagged() {
    let fake = Fake::new();
    let committer = committer(&fake, |_| {});
    let one = execute(committer.judge(claim("one")).await).token;
    let two = execute(committer.judge(claim("two")).await).token;
    fake.flow(false);
    let busy = send(&committer, claim("busy"));
    fake.reads(3).await;
    let reports = [
        send(&committer, report("one", one, "ch_1")),
        send(&committer, report("two", two, "ch_1")),
    ];
    tokio::task::yield_now().await;
    fake.flow(true);
    execute(busy.await.unwrap());
    let mut told = Vec::new();
    for report in reports {
        told.push(step(report.await.unwrap()));
    }
    let settled = told
        .iter()
        .filter(|step| matches!(step, NextStep::Settled(_)))
        .count();
    let blocked = |step: &&NextStep| {
        matches!(
            step,
            NextStep::Blocked {
                reason: BlockReason::Contradiction,
                ..
            }
        )
    };
    assert_eq!((settled, told.iter().filter(blocked).count()), (1, 1), "{told:?}");
    for action_id in ["one", "two"] {
        let row = fake.row(&key(action_id)).unwrap();
        assert!(row.flags.contradicted, "{action_id}");
    }
}

#[tokio::test]
async fn an_indeterminate_commit_gets_one_answer_after_a_synchronous_commit() {
    let fake = Fake::new();
    let committer = committer(&fake, |_| {});
    fake.script([Fault::LostAfterCommit]);
    let call = claim("once");
    let first = execute(committer.judge(repeat(&call)).await);
    assert_eq!(fake.row(&key("once")).unwrap().token, first.token);
    assert_eq!(execute(committer.judge(call).await).token, first.token);
    let commits: Vec<_> = fake
        .committed()
        .iter()
        .map(|one| (one.written, one.synchronous))
        .collect();
    // Written and not told; read back under a synchronous commit of nothing; the caller's own repeat likewise.
    assert_eq!(commits, [(1, false), (0, true), (0, true)]);
}

#[tokio::test]
async fn a_renewal_whose_commit_was_in_doubt_is_told_only_after_a_synchronous_commit() {
    let fake = Fake::new();
    let committer = committer(&fake, |_| {});
    let token = execute(committer.judge(claim("mine")).await).token;
    fake.script([Fault::LostAfterCommit]);
    committer.judge(call("mine", Ask::Renew { token })).await.unwrap();
    assert!(fake.committed().last().unwrap().synchronous);
}

#[tokio::test]
async fn a_command_that_the_database_never_lets_through_is_given_up() {
    let fake = Fake::new();
    let committer = committer(&fake, |_| {});
    fake.always(Some(Fault::Guarded));
    let told = committer.judge(claim("guarded")).await;
    assert!(matches!(told, Err(Error::StoreUnavailable { .. })), "{told:?}");
    fake.always(None);
    execute(committer.judge(claim("guarded")).await);
}
