//! B43: a worker process that is stopped politely leaves no more behind than one that is killed.

use std::process::Stdio;

use anyhow::{Context, ensure};
use deed_client::seconds;
use deed_proto::v1;
use deed_tests::receiver::Fault;
use deed_tests::support::proxy::{Proxy, Weather};
use deed_tests::support::server::program;
use deed_tests::support::until;
use deed_tests::support::work::{Told, Worker};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::shop::{ORDER, Shop, named};
use crate::{PATIENCE, ms, within};

/// A worker process.
struct Hand {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Hand {
    fn start(shop: &Shop, server: &str, lease_ms: u64, more: &[&str]) -> anyhow::Result<Self> {
        let mut child = Command::new(program("hand")?)
            .args(["--server", server, "--action", ORDER])
            .args(["--receiver", &shop.receiver.address.to_string()])
            .args(["--lease-ms", &lease_ms.to_string()])
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdout = child.stdout.take().context("the hand has no output")?;
        let lines = BufReader::new(stdout).lines();
        Ok(Self { child, lines })
    }

    async fn says(&mut self, what: &str) -> anyhow::Result<()> {
        let line = within(what, self.lines.next_line()).await??;
        ensure!(
            line.as_deref() == Some(what),
            "it says {line:?} instead of {what}"
        );
        Ok(())
    }

    /// SIGTERM; returns once it has ended, with what it said last.
    async fn stop(mut self) -> anyhow::Result<String> {
        let id = self.child.id().context("it has ended already")?;
        kill(Pid::from_raw(i32::try_from(id)?), Signal::SIGTERM)?;
        let status = within("its end", self.child.wait()).await??;
        ensure!(status.success(), "{status}");
        let mut last = String::new();
        while let Some(line) = self.lines.next_line().await? {
            last = line;
        }
        Ok(last)
    }
}

fn next(shop: &Shop) -> anyhow::Result<Worker> {
    Worker::at(&shop.field.server().url(), "next")
}

/// What a next claimer says of the same action as the hand.
async fn claim(shop: &Shop) -> anyhow::Result<v1::Answer> {
    let mut work = named(ORDER);
    let stored = shop.action(ORDER).await?;
    work.specification.input_hash = stored.input_hash;
    Ok(next(shop)?.claim(&work).await?)
}

#[tokio::test]
async fn b43_a_stop_before_begin_releases_and_the_next_claimer_executes_at_once() -> anyhow::Result<()> {
    let shop = Shop::open().await?;
    let proxy = Proxy::start(shop.field.server().address).await?;
    // The grant is on its way for a while, and the stop comes meanwhile.
    proxy.weather_for_new(Weather::Slow(ms(300)));
    let hand = Hand::start(&shop, &proxy.url(), 60_000, &["--begin-apart"])?;
    let granted = || async { Ok(shop.action(ORDER).await.is_ok()) };
    until(PATIENCE, "the claim is committed", granted).await?;
    let last = hand.stop().await?;
    ensure!(last.contains("Stopping"), "{last}");
    let kinds: Vec<_> = shop.events(ORDER).await?.iter().map(v1::Event::kind).collect();
    ensure!(
        kinds == [v1::EventKind::Granted, v1::EventKind::Released],
        "{kinds:?}"
    );
    let answer = claim(&shop).await?;
    ensure!(answer.execute()?.attempt == 1 && answer.safe_to_retry);
    ensure!(shop.receiver.effects(ORDER).is_empty());
    Ok(())
}

#[tokio::test]
async fn b43_a_stop_in_the_middle_of_the_send_leaves_doubt_and_the_next_claimer_verifies()
-> anyhow::Result<()> {
    let shop = Shop::open().await?;
    shop.receiver.fault(ORDER, [Fault::apply_after(3_600_000)]);
    let mut hand = Hand::start(&shop, &shop.field.server().url(), 60_000, &[])?;
    hand.says("sending").await?;
    within("the request", shop.receiver.until_requested(ORDER, 1)).await?;
    let last = hand.stop().await?;
    ensure!(last.contains("Stopping"), "{last}");
    ensure!(shop.action(ORDER).await?.state() == v1::State::Unknown);
    let answer = claim(&shop).await?;
    answer.verify_effect()?;
    ensure!(!answer.safe_to_retry);

    // The effect does come, and the doubt was right.
    shop.receiver.release(ORDER);
    within("the effect", shop.receiver.until_applied(ORDER, 1)).await?;
    shop.one_effect(ORDER)?;
    Ok(())
}

#[tokio::test]
async fn b43_a_kill_in_the_middle_of_the_send_is_held_until_the_lapse_and_then_verified() -> anyhow::Result<()>
{
    let shop = Shop::open().await?;
    shop.receiver.fault(ORDER, [Fault::apply_after(3_600_000)]);
    let mut hand = Hand::start(&shop, &shop.field.server().url(), 1_500, &[])?;
    hand.says("sending").await?;
    within("the request", shop.receiver.until_requested(ORDER, 1)).await?;
    hand.child.kill().await?;
    claim(&shop).await?.held()?;
    let lapsed = || async { Ok(claim(&shop).await?.held().is_err()) };
    until(seconds(10), "the lapse", lapsed).await?;
    // The claim that found the lapse holds the lookup now.
    let events = shop.events(ORDER).await?;
    let granted: Vec<_> = events
        .iter()
        .filter(|event| event.kind() == v1::EventKind::Granted)
        .map(v1::Event::grant)
        .collect();
    ensure!(
        granted == [v1::GrantKind::Execute, v1::GrantKind::Verify],
        "{events:#?}"
    );
    Ok(())
}
