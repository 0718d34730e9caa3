//! Servers and databases that end in the middle of work: nothing is lost, nothing is doubled, and the history tells it all.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use deed_client::{Contract, Observation, Receipt, Retry, State, seconds};
use deed_proto::v1;
use deed_server::postgres::{self, Cluster, Port};
use deed_tests::receiver::{AnswerFault, Fault, Receiver};
use deed_tests::support::server::{Options, Server};
use deed_tests::support::until;
use deed_tests::support::work::{Told, Work, Worker, request_id};
use nix::sys::signal::Signal;
use tonic::Code;

use crate::refusals::{reason, retry_after};
use crate::shop::{CLOCK_STEP, Clerk, Shop, quick};
use crate::{Field, PATIENCE, deduplicated, length, ms, serialized, within};

/// A stop takes so long at most, whatever is open.
const STOP: Duration = Duration::from_secs(10);

impl Shop {
    /// Ends the server by this signal and starts another one on the same port.
    async fn replace_server(&mut self, signal: Signal) -> anyhow::Result<()> {
        let server = &mut self.field.servers[0];
        let address = server.address;
        let told = Instant::now();
        server.signal(signal)?;
        server.ended().await?;
        ensure!(told.elapsed() < STOP, "it took {:?} to end", told.elapsed());
        let options = Options::default().with(&CLOCK_STEP).on(address);
        self.field.servers[0] = Server::start_with(&self.field.database.url, options).await?;
        Ok(())
    }

    /// What the receiver's ledger and Deed's history say about one order.
    async fn accounts_agree(&self, order: &str) -> anyhow::Result<()> {
        let effect = self.one_effect(order)?;
        let action = self.action(order).await?;
        ensure!(action.state() == v1::State::Confirmed, "{order}: {action:?}");
        ensure!(action.flags.is_empty(), "{order}: {:?}", action.flags);
        ensure!(action.external_id == effect.external_id, "{order}: {action:?}");
        let events = self.events(order).await?;
        let sequences: Vec<_> = events.iter().map(|event| event.sequence).collect();
        ensure!(sequences == (1..=events.len() as u64).collect::<Vec<_>>());
        let sent = effect.fencing_token.context("it was sent without a token")?.0;
        let begun: BTreeSet<u64> = events
            .iter()
            .filter(|event| event.attempt > 0 && event.state() == v1::State::Sent)
            .map(|event| event.fencing_token)
            .collect();
        ensure!(begun.contains(&sent), "{order}: {sent} is not in {events:#?}");
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_killed_and_stopped_under_load_lose_nothing_and_double_nothing() -> anyhow::Result<()> {
    const ORDERS: usize = 80;
    let mut shop = Shop::open().await?;
    let orders: Vec<String> = (0..ORDERS).map(|n| format!("order-{n}")).collect();
    for (n, order) in orders.iter().enumerate() {
        // Slow enough that each end of the server comes in the middle of many sends; some answers are lost as well.
        let answer = match n % 4 {
            0 => AnswerFault::Dropped,
            _ => AnswerFault::Honest,
        };
        shop.receiver
            .fault(order, [Fault::apply_after(30).and_answer(answer)]);
    }
    let url = shop.field.server().url();
    // Every order is offered to two of four workers, each of which has a few in hand.
    let workers = (0..4).map(|n| {
        let offers: Vec<String> = orders
            .iter()
            .enumerate()
            .filter(|(order, _)| order % 4 == n || (order + 1) % 4 == n)
            .map(|(_, order)| order.clone())
            .collect();
        let clerk = Clerk::at(&url, shop.client.clone());
        tokio::spawn(async move { work_off(&clerk?, offers).await })
    });
    let workers: Vec<_> = workers.collect();
    for (effects, signal) in [
        (ORDERS / 5, Signal::SIGKILL),
        (ORDERS / 2, Signal::SIGTERM),
        (ORDERS * 3 / 4, Signal::SIGKILL),
    ] {
        let enough = shop.receiver.until(|ledger| ledger.applications.len() >= effects);
        within("the load", enough).await?;
        shop.replace_server(signal).await?;
    }
    for worker in workers {
        within("the work", worker).await???;
    }
    for order in &orders {
        shop.accounts_agree(order).await?;
    }
    ensure!(shop.receiver.summary().duplicates == 0 && shop.receiver.ledger().len() == ORDERS);
    ensure!(!shop.field.server().said().contains("panicked"));
    Ok(())
}

async fn work_off(clerk: &Clerk, offers: Vec<String>) -> anyhow::Result<()> {
    use futures::stream::{self, TryStreamExt};
    let contract = || quick().lease(ms(1_500)).send_timeout(ms(500));
    stream::iter(offers.into_iter().map(anyhow::Ok))
        .try_for_each_concurrent(4, |order| async move {
            let outcome = clerk.charge(&order, contract()).await?;
            let settled = outcome.settled();
            ensure!(
                settled.is_some_and(|settled| settled.state == State::Confirmed),
                "{order}: {outcome:?}"
            );
            Ok(())
        })
        .await
}

#[tokio::test]
async fn a_stopped_database_is_unavailable_with_the_time_to_come_back_and_then_all_is_normal()
-> anyhow::Result<()> {
    // Root's Postgres runs as somebody else, who has to reach its directory.
    let parent = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o711))
        .tempdir()?;
    let place = || postgres::Options::kept(parent.path().join("data"));
    let cluster = Cluster::start(place()).await?;
    cluster.create_database("deed").await?;
    let port = Port::Fixed(cluster.port());
    let server = Server::start(&cluster.url("deed")).await?;
    let receiver = Receiver::start().await?;
    let clerk = Clerk::at(&server.url(), receiver.client(PATIENCE)?)?;
    let worker = Worker::at(&server.url(), "w1")?;
    let known = Work::new("known", &deduplicated());
    let token = worker.claim_begun(&known).await?.execute()?.fencing_token;

    // A send is under way while the database goes, and its receipt has to wait.
    receiver.fault("order", [Fault::apply_after(3_600_000)]);
    let performing = {
        let (clerk, contract) = (clerk.clone(), Contract::serialized(seconds(1)).lease(seconds(60)));
        tokio::spawn(async move { clerk.charge("order", contract).await })
    };
    within("the send", receiver.until_requested("order", 1)).await?;
    cluster.stop().await?;
    receiver.release("order");
    let report = worker.report_request(&known, token, &Receipt::completed("ch-known"));
    let (fresh, screen) = (Work::fresh(&deduplicated()), worker.screen());
    let (claimed, reported, read) = tokio::join!(
        worker.claim(&fresh),
        worker.send_report(report.clone()),
        screen.action(&known)
    );
    for refused in [claimed.err(), reported.err(), read.err()] {
        let refused = refused.context("answered without a database")?;
        ensure!(
            (refused.code(), reason(&refused)?.as_str()) == (Code::Unavailable, "STORE_UNAVAILABLE"),
            "{refused:?}"
        );
        let after = retry_after(&refused)?;
        ensure!(after > ms(0) && after < seconds(60), "{after:?}");
    }

    let cluster = Cluster::start(place().on(port)).await?;
    ensure!(worker.send_report(report).await?.settled()?.external_id == "ch-known");
    let outcome = within("the report", performing).await???;
    ensure!(outcome.confirmed() && clerk.sends() == 1, "{outcome:?}");
    ensure!(receiver.effects("order").len() == 1);
    worker.claim(&Work::fresh(&deduplicated())).await?.execute()?;
    ensure!(!server.said().contains("panicked"), "{}", server.said());
    drop(server);
    Ok(cluster.stop().await?)
}

#[tokio::test]
async fn the_events_of_an_action_tell_who_did_what_when_under_which_token_and_on_what_evidence()
-> anyhow::Result<()> {
    let field = Field::with(Options::default().with(&CLOCK_STEP)).await?;
    let (w1, w2) = (field.worker("w1")?, field.worker("w2")?);
    let screen = w1.screen();
    let contract = serialized()
        .lease(ms(400))
        .retry(Retry::default().backoff(ms(1), 1.0, ms(1)));
    let work = Work::new("order-1", &contract);
    w1.plan(&work).await?.claimable()?;
    let first = w1.claim(&work).await?.execute()?.fencing_token;
    w1.begin(&work, first).await?.execute()?;
    // The sweeper writes the lapse down by itself.
    let lapsed = || async { Ok(screen.action(&work).await?.state() == v1::State::Unknown) };
    until(seconds(10), "the lapse is written down", lapsed).await?;
    let version = screen.action(&work).await?.version;
    let assign = v1::AssignRequest {
        key: Some(work.key.clone()),
        request_id: request_id(),
        version,
        note: "look at this".to_owned(),
        assignee: "alice".to_owned(),
    };
    screen.operations().assign(assign).await?;

    // The first lookup comes before its absence counts, or after: either way the last one counts.
    let mut lookups = Vec::new();
    let second = loop {
        let told = w2.claim(&work).await?;
        if let Ok(wait) = told.wait() {
            tokio::time::sleep(length(wait.retry_after)).await;
            continue;
        }
        let lookup = told.verify_effect()?.fencing_token;
        lookups.push(lookup);
        let absent = Observation::not_found().detail("no row");
        let told = w2.verify(&work, lookup, &absent, v1::Then::BegunGrant).await?;
        if let Ok(granted) = told.execute() {
            break granted.fencing_token;
        }
    };
    let done = Receipt::completed("ch-2").with_result("paid");
    w2.report(&work, second, &done).await?.settled()?;
    w1.report(&work, first, &Receipt::rejected("declined, late"))
        .await?;

    let events = screen.events(&work).await?;
    let told: Vec<_> = events
        .iter()
        .map(|event| {
            (
                event.kind(),
                event.owner.as_str(),
                event.fencing_token,
                event.state(),
            )
        })
        .collect();
    let of = |kind: v1::EventKind| told.iter().filter(move |event| event.0 == kind);
    use v1::EventKind as Kind;
    use v1::State as S;
    ensure!(told[0].0 == Kind::Planned && told[0].1 == "w1", "{told:#?}");
    ensure!(of(Kind::Granted).any(|event| *event == (Kind::Granted, "w1", first, S::Planned)));
    ensure!(of(Kind::Begun).any(|event| *event == (Kind::Begun, "w1", first, S::Sent)));
    ensure!(
        of(Kind::Lapsed).any(|event| (event.2, event.3) == (first, S::Unknown)),
        "{told:#?}"
    );
    for lookup in &lookups {
        ensure!(
            of(Kind::Granted).any(|event| (event.1, event.2) == ("w2", *lookup)),
            "{told:#?}"
        );
        ensure!(
            of(Kind::Observed).any(|event| (event.1, event.2) == ("w2", *lookup)),
            "{told:#?}"
        );
    }
    ensure!(
        of(Kind::Granted).any(|event| *event == (Kind::Granted, "w2", second, S::Sent)),
        "{told:#?}"
    );
    let reports: Vec<_> = of(Kind::Reported).collect();
    ensure!(
        reports
            == [
                &(Kind::Reported, "w2", second, S::Confirmed),
                &(Kind::Reported, "w1", first, S::Confirmed)
            ],
        "{told:#?}"
    );
    let decided = events
        .iter()
        .find(|event| event.kind() == Kind::Decided)
        .context("the assignment is missing")?;
    ensure!(decided.owner.is_empty() && !decided.principal.is_empty() && decided.note == "look at this");

    // When, in order; by whom, where somebody called; and the deciding evidence by its id.
    let times: Vec<_> = events
        .iter()
        .map(|event| event.at.map(|at| (at.seconds, at.nanos)))
        .collect();
    ensure!(times.is_sorted() && times.iter().all(Option::is_some));
    let called = events.iter().filter(|event| !event.owner.is_empty());
    for event in called.filter(|event| event.kind() != Kind::Lapsed) {
        ensure!(!event.principal.is_empty(), "{event:?}");
        // A grant that came with an answer to evidence stands right behind the event that bears the request.
        let bears = !event.request_id.is_empty() || event.kind() == Kind::Granted;
        ensure!(bears, "{event:?}");
    }
    let effect_id = screen.action(&work).await?.effect_id;
    let deciding = events.iter().find(|event| event.evidence_id == effect_id);
    let deciding = deciding.context("the deciding evidence is missing")?;
    let Some(v1::event::Detail::Receipt(receipt)) = &deciding.detail else {
        anyhow::bail!("{deciding:?}")
    };
    ensure!(deciding.fencing_token == second && *receipt == done.to_wire());
    Ok(())
}
