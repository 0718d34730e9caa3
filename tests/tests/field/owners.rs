//! Who owns an action, and who no longer does.

use std::sync::Arc;

use anyhow::{Context, ensure};
use deed_client::{Observation, Receipt, seconds};
use deed_core::Protocol;
use deed_core::id::ActionKey;
use deed_proto::v1;
use deed_proto::v1::next_step::Kind;
use deed_proto::v1::renew_result;
use deed_server::committer::{self, Committer};
use deed_server::store::{self, Connector, Reader, migrate};
use deed_server::sweeper::{self, Upkeep};
use deed_server::{grpc, service};
use deed_tests::support::database;
use deed_tests::support::work::{NAMESPACE, Told, Work, Worker};
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tonic::{Code, Status};

use crate::refusals::reason;
use crate::{Field, deduplicated, length, ms, serialized, within};

#[tokio::test]
async fn b03_a_late_refusal_of_a_fenced_owner_is_kept_and_changes_nothing() -> anyhow::Result<()> {
    let field = Field::start().await?;
    let (w1, w2) = (field.worker("w1")?, field.worker("w2")?);
    let work = Work::new("order-1", &serialized().lease(ms(300)));
    let stalled = w1.claim_begun(&work).await?.execute()?;
    lapse(&w2, &work).await?;
    let lookup = w2.claim(&work).await?.verify_effect()?;
    ensure!(lookup.fencing_token > stalled.fencing_token);
    let seen = Observation::confirmed("ch-1");
    let then = v1::Then::Nothing;
    w2.verify(&work, lookup.fencing_token, &seen, then)
        .await?
        .settled()?;

    let late = w1
        .report(&work, stalled.fencing_token, &Receipt::rejected("card declined"))
        .await?;
    ensure!(late.settled()?.external_id == "ch-1" && late.state() == v1::State::Confirmed);
    let events = w1.screen().events(&work).await?;
    let kept = events
        .iter()
        .filter(|event| matches!(event.detail, Some(v1::event::Detail::Receipt(_))));
    let kept: Vec<_> = kept.collect();
    ensure!(
        kept.len() == 1 && kept[0].fencing_token == stalled.fencing_token && kept[0].owner == "w1",
        "{events:#?}"
    );
    Ok(())
}

/// Waits until no lease is live.
async fn lapse(worker: &Worker, work: &Work) -> anyhow::Result<()> {
    let screen = worker.screen();
    let lapsed = || async {
        let lease = screen.action(work).await?.lease;
        Ok(lease.is_none_or(|lease| length(lease.left).is_zero()))
    };
    deed_tests::support::until(seconds(10), "the lease lapses", lapsed).await
}

#[tokio::test]
async fn b04_a_late_renewal_and_a_late_begin_take_nothing_back() -> anyhow::Result<()> {
    let field = Field::start().await?;
    let (w1, w2) = (field.worker("w1")?, field.worker("w2")?);
    let work = Work::new("order-1", &serialized().lease(ms(300)));
    let stalled = w1.claim(&work).await?.execute()?;
    lapse(&w2, &work).await?;
    let longer = Work::new("order-1", &serialized().lease(ms(300)));
    let taken = w2.claim(&longer).await?.execute()?;
    let expiry = |action: v1::Action| action.lease.and_then(|lease| lease.expires_at);
    let before = expiry(w2.screen().action(&work).await?);

    let lost = w1.renew(&work, stalled.fencing_token).await?;
    ensure!(matches!(lost, renew_result::Result::Lost(_)), "{lost:?}");
    let refused = w1.begin(&work, stalled.fencing_token).await?;
    ensure!(
        !refused.safe_to_retry && refused.execute().is_err(),
        "{refused:?}"
    );
    ensure!(before == expiry(w2.screen().action(&work).await?) && before.is_some());
    ensure!(taken.fencing_token > stalled.fencing_token);
    Ok(())
}

/// Lists like the server's own, and then waits: paused between the read and the writes.
struct Paused {
    reader: Reader,
    listed: Arc<Notify>,
    proceed: Arc<Semaphore>,
}

impl Upkeep for Paused {
    async fn lapsed(&self, limit: u32) -> Result<Vec<ActionKey>, store::Error> {
        let keys = self.reader.lapsed(limit).await?;
        self.listed.notify_one();
        if let Ok(permit) = self.proceed.acquire().await {
            permit.forget();
        }
        Ok(keys)
    }

    async fn prepare_days(&self) -> Result<(), store::Error> {
        self.reader.prepare_days().await
    }
}

#[tokio::test]
async fn b05_a_sweeper_that_was_paused_between_its_read_and_its_writes_changes_nothing() -> anyhow::Result<()>
{
    // A server without a sweeper, so that this one is the only one.
    let database = database().await;
    let store = store::Database::parse(&database.url)?;
    migrate(&store).await?;
    let reader = Reader::new(store.clone());
    let connect = Arc::new(Connector::new(store));
    let protocol = Protocol::default();
    let committer = Arc::new(Committer::start(connect, protocol, committer::Options::default()));
    let stop = CancellationToken::new();
    let _stops = stop.clone().drop_guard();
    let gate = Arc::new(service::Gate::new(Arc::clone(&committer)));
    let edge = grpc::Edge::new(gate, Arc::new(reader.clone()), protocol, stop.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    tokio::spawn(grpc::serve(edge, listener, stop.clone()));

    let (w1, w2) = (Worker::at(&url, "w1")?, Worker::at(&url, "w2")?);
    let contract = serialized().lease(ms(1_500));
    let completed = Work::new("completed", &contract);
    let taken_over = Work::new("taken-over", &contract);
    let unbegun = Work::new("unbegun", &contract);
    let token = w1.claim_begun(&completed).await?.execute()?.fencing_token;
    w1.claim_begun(&taken_over).await?.execute()?;
    w1.claim(&unbegun).await?.execute()?;
    for work in [&completed, &taken_over, &unbegun] {
        lapse(&w2, work).await?;
    }

    let (listed, proceed) = (Arc::new(Notify::new()), Arc::new(Semaphore::new(0)));
    let paused = Paused {
        reader: reader.clone(),
        listed: Arc::clone(&listed),
        proceed: Arc::clone(&proceed),
    };
    ensure!(reader.lapsed(10).await?.len() >= 2, "nothing has lapsed");
    tokio::spawn(sweeper::run(paused, committer, stop.clone()));
    within("the sweeper's list", listed.notified()).await?;

    w1.report(&completed, token, &Receipt::completed("ch-1"))
        .await?
        .settled()?;
    w2.claim(&taken_over).await?.verify_effect()?;
    w2.claim(&unbegun).await?.execute()?;
    let screen = w2.screen();
    let mut before = Vec::new();
    for work in [&completed, &taken_over, &unbegun] {
        before.push((still(screen.action(work).await?), screen.events(work).await?));
    }

    proceed.add_permits(1);
    // The next list is read once every command of this sweep has been judged.
    within("the sweep", listed.notified()).await?;
    for (work, before) in [&completed, &taken_over, &unbegun].into_iter().zip(before) {
        let after = (still(screen.action(work).await?), screen.events(work).await?);
        ensure!(after == before, "{}: {before:?} {after:?}", work.id());
    }
    Ok(())
}

/// Without what changes by the mere passing of time.
fn still(mut action: v1::Action) -> v1::Action {
    action.next_step = None;
    if let Some(lease) = &mut action.lease {
        lease.left = None;
    }
    action
}

/// Nothing of the stored action is in it.
fn discloses_nothing(refused: &Status) -> anyhow::Result<()> {
    ensure!(
        (refused.code(), reason(refused)?.as_str()) == (Code::AlreadyExists, "INPUT_MISMATCH"),
        "{refused:?}"
    );
    let told = format!("{refused:?}");
    for secret in ["ch-secret", "the stored result", "w1"] {
        ensure!(!told.contains(secret), "{told}");
    }
    Ok(())
}

#[tokio::test]
async fn b16_another_input_or_tool_never_gets_an_answer_about_the_stored_action() -> anyhow::Result<()> {
    let field = Field::start().await?;
    let (w1, w2) = (field.worker("w1")?, field.worker("w2")?);
    let work = Work::new("order-1", &deduplicated());
    let others = [work.clone().with_input(1), work.clone().with_tool("refund_card")];
    let token = w1.claim_begun(&work).await?.execute()?.fencing_token;
    for other in &others {
        discloses_nothing(&w2.claim(other).await.err().context("held")?)?;
    }
    let receipt = Receipt::completed("ch-secret").with_result("the stored result");
    w1.report(&work, token, &receipt).await?.settled()?;
    for other in &others {
        discloses_nothing(&w2.claim(other).await.err().context("settled")?)?;
        discloses_nothing(&w2.plan(other).await.err().context("planned")?)?;
    }
    ensure!(w2.claim(&work).await?.settled()?.external_id == "ch-secret");
    Ok(())
}

#[tokio::test]
async fn b16_of_two_first_claims_with_different_inputs_at_one_instant_exactly_one_is_granted()
-> anyhow::Result<()> {
    let field = Field::with_servers(2).await?;
    let w1 = Worker::at(&field.servers[0].url(), "w1")?;
    let w2 = Worker::at(&field.servers[1].url(), "w2")?;
    let contract = deduplicated();
    for round in 0..100 {
        let work = Work::new(&format!("round-{round}"), &contract);
        let other = match round % 2 {
            0 => work.clone().with_input(1),
            _ => work.clone().with_tool("refund_card"),
        };
        let refused = match tokio::join!(w1.claim(&work), w2.claim(&other)) {
            (Ok(granted), Err(refused)) | (Err(refused), Ok(granted)) => {
                granted.execute()?;
                refused
            }
            both => anyhow::bail!("round {round}: {both:?}"),
        };
        discloses_nothing(&refused)?;
    }
    Ok(())
}

#[tokio::test]
async fn b20_one_action_id_in_two_namespaces_is_two_actions_that_see_nothing_of_each_other()
-> anyhow::Result<()> {
    let field = Field::start().await?;
    let worker = field.worker("w1")?;
    let contract = deduplicated();
    let east = Work::new("order-1", &contract).in_namespace("east");
    let west = Work::new("order-1", &contract).in_namespace("west").with_input(1);
    let granted = worker.claim_begun(&east).await?.execute()?;
    let other = worker.claim_begun(&west).await?.execute()?;
    ensure!(granted.outward_key != other.outward_key);

    // One external id proves one action *of a namespace*.
    let receipt = Receipt::completed("ch-1").with_result("east's");
    worker
        .report(&east, granted.fencing_token, &receipt)
        .await?
        .settled()?;
    let screen = worker.screen();
    ensure!(screen.action(&west).await?.state() == v1::State::Sent);
    ensure!(
        screen
            .events(&west)
            .await?
            .iter()
            .all(|event| event.detail.is_none())
    );
    let receipt = Receipt::completed("ch-1").with_result("west's");
    let settled = worker
        .report(&west, other.fencing_token, &receipt)
        .await?
        .settled()?;
    ensure!(settled.result.as_deref() == Some(b"west's".as_slice()));

    let of_east = v1::ListActionsRequest {
        namespace: "east".to_owned(),
        ..v1::ListActionsRequest::default()
    };
    let listed = screen.ledger().list_actions(of_east).await?.into_inner().actions;
    ensure!(listed.len() == 1 && listed[0].key == Some(east.key.clone()));
    // A witness of one namespace finds nothing of the other's by external id, nor anybody in a third one.
    let forged = v1::observe_request::External {
        namespace: NAMESPACE.to_owned(),
        tool: east.specification.tool.clone(),
        external_id: "ch-1".to_owned(),
    };
    let target = v1::observe_request::Target::External(forged);
    let refused = worker.observe_at(target, &Observation::confirmed("ch-1")).await;
    ensure!(refused.is_err_and(|status| status.code() == Code::NotFound));
    Ok(())
}

#[tokio::test]
async fn b23_a_tool_that_outlives_its_clients_patience_keeps_its_lease_and_the_second_caller_gets_its_result()
-> anyhow::Result<()> {
    use crate::shop::{ORDER, Shop, quick};
    use deed_tests::receiver::{AnswerFault, Fault};

    let shop = Shop::open().await?;
    let late = AnswerFault::Late { after_ms: 2_500 };
    shop.receiver.fault(ORDER, [Fault::answer(late)]);
    let contract = quick().lease(ms(900)).send_timeout(seconds(10));
    let clerk = shop.clerk()?;
    let first = {
        let (clerk, contract) = (clerk.clone(), contract.clone());
        tokio::spawn(async move { clerk.charge(ORDER, contract).await })
    };
    within("the effect", shop.receiver.until_applied(ORDER, 1)).await?;
    // Past the lease as it was granted.
    tokio::time::sleep(ms(1_300)).await;
    let impatient = shop.clerk()?;
    let action = impatient.action(ORDER, contract.clone()).patience(ms(0));
    let held = impatient.perform(action, crate::shop::charge(ORDER)).await?;
    let deed_client::Outcome::Pending(deed_client::Pending::Held { owner, .. }) = held else {
        anyhow::bail!("{held:?}")
    };
    ensure!(owner == clerk.deed.owner());
    let second = impatient.charge(ORDER, contract).await?;
    let first = within("the first call", first).await???;
    ensure!(first == second && first.confirmed(), "{first:?} {second:?}");
    ensure!(impatient.sends() == 0 && clerk.sends() == 1);
    shop.one_effect(ORDER)?;
    Ok(())
}

#[tokio::test]
async fn b23_a_worker_that_gives_up_leaves_a_lookup_and_never_a_second_send() -> anyhow::Result<()> {
    let field = Field::start().await?;
    let (w1, w2) = (field.worker("w1")?, field.worker("w2")?);
    let contract = serialized().lease(ms(400));
    for ends in ["reports", "releases", "lapses"] {
        let work = Work::new(ends, &contract);
        let token = w1.claim_begun(&work).await?.execute()?.fencing_token;
        match ends {
            "reports" => {
                let gave_up = Receipt::unknown("timed out");
                w1.report(&work, token, &gave_up).await?;
            }
            "releases" => {
                w1.release(&work, token).await?;
            }
            _ => lapse(&w2, &work).await?,
        }
        let next = w2.claim(&work).await?;
        let lookup = next.verify_effect()?;
        ensure!(
            lookup.fencing_token > token && !next.safe_to_retry,
            "{ends}: {lookup:?}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn b42_a_restarted_worker_of_the_same_name_is_a_stranger_to_its_old_lease() -> anyhow::Result<()> {
    let field = Field::start().await?;
    let work = Work::new("order-1", &serialized().lease(ms(1_500)));
    let token = field
        .worker("pod-0")?
        .claim(&work)
        .await?
        .execute()?
        .fencing_token;
    let again = field.worker("pod-0")?;
    // One entry that cannot be judged; the call itself goes on for the others.
    let refused = again.renew(&work, 0).await?;
    let renew_result::Result::Error(error) = refused else {
        anyhow::bail!("renewed without a token: {refused:?}")
    };
    let field = error.metadata.iter().find(|label| label.key == "field");
    ensure!(error.code == i32::from(Code::InvalidArgument), "{error:?}");
    ensure!(
        field.is_some_and(|field| field.value.ends_with("fencing_token")),
        "{error:?}"
    );
    let answer = again.claim(&work).await?;
    ensure!(answer.held()?.owner == "pod-0");
    lapse(&again, &work).await?;
    let answer = again.claim(&work).await?;
    match answer.next_step.and_then(|step| step.kind) {
        Some(Kind::Execute(granted)) => ensure!(granted.fencing_token > token),
        other => anyhow::bail!("{other:?}"),
    }
    Ok(())
}
