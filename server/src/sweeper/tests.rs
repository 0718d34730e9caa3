//! The sweeper in front of a committer whose store is in memory.

use deed_core::action::{Action, State};
use deed_core::id::ActionKey;
use deed_core::time::Span;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Upkeep, run};
use crate::committer::tests::fake::Fake;
use crate::committer::tests::help::{claim, committer, execute, key, report};
use crate::service::Judge;
use crate::store;

/// Says what it is told to say, then that nothing has lapsed.
struct Told {
    lists: tokio::sync::Mutex<mpsc::Receiver<Vec<ActionKey>>>,
    asked: mpsc::Sender<()>,
}

impl Upkeep for Told {
    async fn lapsed(&self, _limit: u32) -> Result<Vec<ActionKey>, store::Error> {
        let _ended = self.asked.send(()).await;
        Ok(self.lists.lock().await.recv().await.unwrap_or_default())
    }

    async fn prepare_days(&self) -> Result<(), store::Error> {
        Ok(())
    }
}

/// Sweeps once over `keys`, and waits until that is through.
async fn sweep(fake: &Fake, keys: &[&str], meanwhile: impl AsyncFnOnce()) {
    let committer = committer(fake, |_| {});
    let (say, lists) = mpsc::channel(1);
    let (asked, mut asking) = mpsc::channel(1);
    let upkeep = Told {
        lists: tokio::sync::Mutex::new(lists),
        asked,
    };
    let stop = CancellationToken::new();
    let sweeper = tokio::spawn(run(upkeep, committer, stop.clone()));
    asking.recv().await.unwrap();
    meanwhile().await;
    say.send(keys.iter().map(|id| key(id)).collect()).await.unwrap();
    drop(say);
    // Asked again: the first sweep is through.
    asking.recv().await.unwrap();
    stop.cancel();
    asking.close();
    sweeper.await.unwrap();
}

fn row(fake: &Fake, action_id: &str) -> Action {
    fake.row(&key(action_id)).unwrap()
}

#[tokio::test]
async fn a_lapsed_send_is_written_down_as_unknown() {
    let fake = Fake::new();
    execute(committer(&fake, |_| {}).judge(claim("lapsed")).await);
    assert_eq!(row(&fake, "lapsed").state, State::Sent);
    fake.advance(Span::from_secs(31));
    sweep(&fake, &["lapsed", "never-existed"], async || {}).await;
    assert_eq!(row(&fake, "lapsed").state, State::Unknown);
}

#[tokio::test]
async fn b05_a_sweeper_that_was_paused_overwrites_nothing() {
    let fake = Fake::new();
    let workers = committer(&fake, |_| {});
    let completed = execute(workers.judge(claim("completed")).await).token;
    execute(workers.judge(claim("held")).await);
    let held = row(&fake, "held");
    // Both looked lapsed when the sweeper read; it goes on only after one has been completed.
    sweep(&fake, &["completed", "held"], async || {
        workers
            .judge(report("completed", completed, "ch_1"))
            .await
            .unwrap();
    })
    .await;
    assert_eq!(row(&fake, "completed").state, State::Confirmed);
    assert_eq!(row(&fake, "held"), held);
}
