//! Evidence that comes late, early, twice or by another way, on a real server.

use anyhow::{Context, ensure};
use deed_client::{Contract, Observation, Receipt, Retry, Seen, seconds};
use deed_proto::v1;
use deed_tests::support::server::Options;
use deed_tests::support::work::{Told, Work, Worker, request_id};
use tonic::Code;

use crate::shop::{CLOCK_STEP, ORDER, Shop, charge, quick};
use crate::{Field, length, ms, serialized, within};

async fn counter() -> anyhow::Result<Field> {
    Field::with(Options::default().with(&CLOCK_STEP)).await
}

/// Tries again so soon that only what the test is about is waited for.
fn impatient(contract: Contract) -> Contract {
    contract.retry(Retry::default().backoff(ms(1), 1.0, ms(1)))
}

/// Claims until it is told something else than to wait.
async fn once_due(worker: &Worker, work: &Work) -> anyhow::Result<v1::Answer> {
    let claiming = async {
        loop {
            let answer = worker.claim(work).await?;
            match answer.wait() {
                Ok(wait) => tokio::time::sleep(length(wait.retry_after)).await,
                Err(_) => return anyhow::Ok(answer),
            }
        }
    };
    within("the wait", claiming).await?
}

#[tokio::test]
async fn b26_after_proof_nothing_that_arrives_changes_the_state_and_all_of_it_is_kept() -> anyhow::Result<()>
{
    let field = counter().await?;
    let (w1, w2) = (field.worker("w1")?, field.worker("w2")?);
    for (id, late) in [
        ("not-found", Observation::not_found()),
        ("unknown", Observation::unknown("nothing to see")),
    ] {
        let work = Work::new(id, &impatient(serialized()));
        let first = w1.claim_begun(&work).await?.execute()?.fencing_token;
        let gave_up = Receipt::unknown("timed out").ended();
        w1.report(&work, first, &gave_up).await?;
        let lookup = w2.claim(&work).await?.verify_effect()?.fencing_token;
        let proof = Receipt::completed(format!("ch-{id}"));
        w1.report(&work, first, &proof).await?.settled()?;
        let told = w2.verify(&work, lookup, &late, v1::Then::BegunGrant).await?;
        ensure!(told.settled()?.external_id == format!("ch-{id}"));
        let refusal = Receipt::rejected("declined");
        w1.report(&work, first, &refusal).await?.settled()?;
        let events = w1.screen().events(&work).await?;
        let evidence = events.iter().filter(|event| event.detail.is_some()).count();
        ensure!(evidence == 4, "{events:#?}");
        ensure!(w1.screen().action(&work).await?.state() == v1::State::Confirmed);
    }
    Ok(())
}

#[tokio::test]
async fn b27_a_result_under_a_lost_lease_is_kept_and_settles_the_action() -> anyhow::Result<()> {
    let field = counter().await?;
    let (w1, w2) = (field.worker("w1")?, field.worker("w2")?);
    let work = Work::new("order-1", &impatient(serialized().lease(ms(300))));
    let lost = w1.claim_begun(&work).await?.execute()?.fencing_token;
    let lookup = async {
        loop {
            match w2.claim(&work).await?.verify_effect() {
                Ok(lookup) => return anyhow::Ok(lookup),
                Err(_held) => tokio::time::sleep(ms(50)).await,
            }
        }
    };
    let lookup = within("the lapse", lookup).await??.fencing_token;
    let unclear = Observation::unknown("the receiver is down");
    w2.verify(&work, lookup, &unclear, v1::Then::Nothing).await?;
    let late = Receipt::completed("ch-X").with_result("late");
    let settled = w1.report(&work, lost, &late).await?.settled()?;
    ensure!(settled.external_id == "ch-X");
    let told = w2.claim(&work).await?.settled()?;
    ensure!(told.external_id == "ch-X" && told.result.as_deref() == Some(b"late".as_slice()));
    ensure!(w1.screen().action(&work).await?.attempts == 1);
    Ok(())
}

#[tokio::test]
async fn b28_acceptance_is_no_effect_and_the_lookup_is_told_what_to_ask_about() -> anyhow::Result<()> {
    let field = counter().await?;
    let (w1, w2) = (field.worker("w1")?, field.worker("w2")?);
    let work = Work::new("order-1", &impatient(serialized().asynchronous(seconds(60))));
    let token = w1.claim_begun(&work).await?.execute()?.fencing_token;
    w2.claim(&work).await?.held()?;
    let accepted = w1
        .report(&work, token, &Receipt::accepted("job-J1", ms(500)))
        .await?;
    ensure!(accepted.state() == v1::State::Accepted && !accepted.safe_to_retry);
    w2.claim(&work).await?.wait()?;
    let lookup = once_due(&w2, &work).await?.verify_effect()?;
    ensure!(lookup.external_id == "job-J1", "{lookup:?}");
    let seen = Observation::confirmed("job-J1");
    let settled = w2
        .verify(&work, lookup.fencing_token, &seen, v1::Then::Nothing)
        .await?
        .settled()?;
    ensure!(settled.evidence() == v1::EvidenceKind::Confirmed);
    Ok(())
}

#[tokio::test]
async fn b29_an_early_absence_waits_for_the_quiet_time_and_a_counted_one_grants_the_retry_in_its_answer()
-> anyhow::Result<()> {
    let field = counter().await?;
    let (w1, w2) = (field.worker("w1")?, field.worker("w2")?);
    let work = Work::new(
        "order-1",
        &impatient(Contract::serialized(ms(1_000)).lease(ms(300))),
    );
    let sent = w1.claim_begun(&work).await?.execute()?.fencing_token;
    let lookup = async {
        loop {
            match w2.claim(&work).await?.verify_effect() {
                Ok(lookup) => return anyhow::Ok(lookup),
                Err(_held) => tokio::time::sleep(ms(50)).await,
            }
        }
    };
    let early = within("the lapse", lookup).await??;
    let absent = Observation::not_found();
    let told = w2
        .verify(&work, early.fencing_token, &absent, v1::Then::BegunGrant)
        .await?;
    ensure!(told.wait()?.reason() == v1::WaitReason::SettleWindow);
    ensure!(told.state() == v1::State::Unknown && !told.safe_to_retry);
    let again = w2.claim(&work).await?;
    ensure!(again.wait()?.reason() == v1::WaitReason::SettleWindow);

    let quiet = once_due(&w2, &work).await?.verify_effect()?;
    let retry = w2
        .verify(&work, quiet.fencing_token, &absent, v1::Then::BegunGrant)
        .await?;
    let granted = retry.execute()?;
    ensure!(granted.begun && granted.attempt == 2 && granted.fencing_token > sent);
    ensure!(retry.safe_to_retry);
    w1.claim(&work).await?.held()?;
    Ok(())
}

#[tokio::test]
async fn b30_partial_work_is_blocked_with_what_is_missing_until_an_operator_decides() -> anyhow::Result<()> {
    let field = counter().await?;
    let worker = field.worker("w1")?;
    let screen = worker.screen();
    let facts = ["row_exists", "mail_published"];
    for decision in ["confirmed", "absent"] {
        let contract = impatient(serialized().confirm_by_postcondition());
        let work = Work::new(decision, &contract).with_facts(&facts);
        let token = worker.claim_begun(&work).await?.execute()?.fencing_token;
        let over = Receipt::unknown("timed out").ended();
        worker.report(&work, token, &over).await?;
        // The first lookup may come before absence counts; the next one does not.
        let blocked = loop {
            let lookup = once_due(&worker, &work).await?.verify_effect()?;
            ensure!(lookup.facts == facts);
            let partial = Observation::partial()
                .fact("row_exists", Seen::True)
                .fact("mail_published", Seen::False);
            let told = worker.verify(&work, lookup.fencing_token, &partial, v1::Then::BegunGrant);
            let told = told.await?;
            if told.wait().is_err() {
                break told;
            }
        };
        let stop = blocked.blocked()?;
        ensure!(stop.reason() == v1::BlockedReason::Partial && stop.detail.contains("mail_published"));
        ensure!(worker.claim(&work).await?.blocked()?.reason() == v1::BlockedReason::Partial);

        let resolution = match decision {
            "confirmed" => v1::resolve_request::Resolution::Confirmed(v1::resolve_request::Confirmed {
                external_id: String::new(),
            }),
            _ => v1::resolve_request::Resolution::Absent(v1::resolve_request::Absent {}),
        };
        let request = v1::ResolveRequest {
            key: Some(work.key.clone()),
            request_id: request_id(),
            version: screen.action(&work).await?.version,
            note: "mended by hand".to_owned(),
            proof_reference: "ticket 17".to_owned(),
            resolution: Some(resolution),
        };
        screen.operations().resolve(request).await?;
        let next = worker.claim(&work).await?;
        match decision {
            "confirmed" => ensure!(next.settled()?.state() == v1::State::Confirmed),
            _ => ensure!(next.execute()?.attempt == 2),
        }
    }
    Ok(())
}

fn by_external_id(namespace: &str, external_id: &str) -> v1::observe_request::Target {
    v1::observe_request::Target::External(v1::observe_request::External {
        namespace: namespace.to_owned(),
        tool: deed_tests::support::work::TOOL.to_owned(),
        external_id: external_id.to_owned(),
    })
}

#[tokio::test]
async fn a14_a_webhook_settles_the_action_before_and_after_the_workers_own_report() -> anyhow::Result<()> {
    use deed_tests::receiver::{AnswerFault, Fault};
    let shop = Shop::open().await?;
    let url = shop.field.server().url();
    let witness = Worker::at(&url, "webhooks")?;

    // Before: the effect is there, its answer is still on the way.
    let late = Fault::answer(AnswerFault::Late { after_ms: 600 });
    shop.receiver.fault("before", [late]);
    let clerk = shop.clerk()?;
    let performing = {
        let clerk = clerk.clone();
        tokio::spawn(async move { clerk.charge("before", quick()).await })
    };
    within("the effect", shop.receiver.until_applied("before", 1)).await?;
    let external_id = shop.one_effect("before")?.external_id;
    let work = Work::new("before", &quick());
    let seen = witness
        .observe(&work, &Observation::confirmed(&external_id))
        .await?;
    ensure!(seen.settled()?.external_id == external_id);
    let outcome = within("the worker", performing).await???;
    ensure!(
        outcome
            .settled()
            .is_some_and(|settled| settled.external_id == external_id)
    );
    let events = shop.events("before").await?;
    let states: Vec<_> = events.iter().rev().take(2).map(v1::Event::state).collect();
    ensure!(
        states == [v1::State::Confirmed, v1::State::Confirmed],
        "{events:#?}"
    );
    shop.one_effect("before")?;

    // After: nothing changes, and a redelivery neither.
    let outcome = clerk.charge("after", quick()).await?;
    let external_id = outcome.settled().context("not settled")?.external_id.clone();
    let version = shop.action("after").await?.version;
    let target = by_external_id(deed_tests::support::work::NAMESPACE, &external_id);
    for _ in 0..2 {
        let told = witness
            .observe_at(target.clone(), &Observation::confirmed(&external_id))
            .await?;
        ensure!(told.settled()?.external_id == external_id);
    }
    let after = shop.action("after").await?;
    ensure!(after.state() == v1::State::Confirmed && after.flags.is_empty() && after.version >= version);
    shop.one_effect("after")?;
    Ok(())
}

#[tokio::test]
async fn a14_a_webhook_finds_pending_work_by_its_external_id_and_a_forged_one_finds_nothing()
-> anyhow::Result<()> {
    use deed_tests::receiver::{Dials, Mode};
    let shop = Shop::open().await?;
    let mode = Mode::Asynchronous {
        queued_ms: 0,
        run_ms: 3_600_000,
    };
    shop.receiver.dial(Dials {
        mode,
        ..Dials::default()
    });
    let witness = Worker::at(&shop.field.server().url(), "webhooks")?;
    let clerk = shop.clerk()?;
    let contract = quick().asynchronous(seconds(60));
    let action = clerk.action(ORDER, contract.clone()).patience(ms(0));
    let pending = clerk.perform(action, charge(ORDER)).await?;
    ensure!(pending.settled().is_none(), "{pending:?}");
    let job = shop.action(ORDER).await?.external_id;

    let namespace = deed_tests::support::work::NAMESPACE;
    let seen = Observation::confirmed(&job);
    for forged in [
        by_external_id("elsewhere", &job),
        by_external_id(namespace, "fx-999"),
    ] {
        let refused = witness.observe_at(forged, &seen).await;
        ensure!(refused.is_err_and(|status| status.code() == Code::NotFound));
    }
    ensure!(shop.action(ORDER).await?.state() == v1::State::Accepted);

    shop.receiver.release(ORDER);
    within("the job", shop.receiver.until_applied(ORDER, 1)).await?;
    let target = by_external_id(namespace, &job);
    ensure!(witness.observe_at(target, &seen).await?.settled()?.external_id == job);
    let outcome = clerk.charge(ORDER, contract).await?;
    ensure!(outcome.confirmed() && clerk.sends() == 1);
    ensure!(shop.one_effect(ORDER)?.external_id == job);
    Ok(())
}
