//! The base table, through the client's `perform` against the receiver: its ledger is what is counted.

use std::time::Duration;

use anyhow::{Context, ensure};
use deed_client::{BlockedReason, Outcome, Receipt, Retry, Settled, State, WaitReason, seconds};
use deed_proto::v1;
use deed_tests::receiver::{Admission, AnswerFault, Dials, Fault, IN_RIGHT_PLACE, LookupFault, Mode, Queued};
use deed_tests::support::adapter;

use crate::ms;
use crate::shop::{ORDER, Shop, charge, quick};

fn confirmed(outcome: Outcome) -> anyhow::Result<Settled> {
    match outcome {
        Outcome::Settled(settled) if settled.state == State::Confirmed => Ok(settled),
        other => anyhow::bail!("not confirmed: {other:?}"),
    }
}

/// The kinds of evidence in an action's history, in order, each with the state after it.
fn evidence(events: &[v1::Event]) -> Vec<(&'static str, v1::State)> {
    use v1::event::Detail;
    use v1::observation::Verdict;
    use v1::receipt::Kind;
    let name = |event: &v1::Event| match event.detail.as_ref()? {
        Detail::Receipt(receipt) => Some(match receipt.kind.as_ref()? {
            Kind::Completed(_) => "completed",
            Kind::Accepted(_) => "accepted",
            Kind::Rejected(_) => "rejected",
            Kind::NotApplied(_) => "not applied",
            Kind::NotSent(_) => "not sent",
            Kind::Unknown(_) => "unknown",
        }),
        Detail::Observation(observation) => Some(match observation.verdict.as_ref()? {
            Verdict::Confirmed(_) => "seen",
            Verdict::NotFound(_) => "absent",
            Verdict::Pending(_) => "pending",
            Verdict::Failed(_) => "failed",
            Verdict::Partial(_) => "partial",
            Verdict::Unknown(_) => "unclear",
        }),
        Detail::Decision(_) => None,
    };
    let named = events
        .iter()
        .filter_map(|event| Some((name(event)?, event.state())));
    named.collect()
}

#[tokio::test]
async fn a02_an_effect_whose_answer_was_lost_is_looked_up_and_settled_without_a_second_effect()
-> anyhow::Result<()> {
    let shop = Shop::open().await?;
    shop.receiver.fault(ORDER, [Fault::answer(AnswerFault::Dropped)]);
    let clerk = shop.clerk()?;
    let settled = confirmed(clerk.charge(ORDER, quick()).await?)?;
    ensure!(settled.external_id == shop.one_effect(ORDER)?.external_id);
    ensure!(clerk.sends() == 1 && clerk.lookups() == 1);
    let history = evidence(&shop.events(ORDER).await?);
    ensure!(
        history == [("unknown", v1::State::Unknown), ("seen", v1::State::Confirmed)],
        "{history:?}"
    );
    Ok(())
}

#[tokio::test]
async fn a02_a_send_that_outlives_its_timeout_is_cut_off_and_its_late_effect_is_found() -> anyhow::Result<()>
{
    let shop = Shop::open().await?;
    // Applied half a second after the worker has given up, within the settle window.
    shop.receiver.fault(ORDER, [Fault::apply_after(800)]);
    let contract = quick()
        .verified(seconds(2))
        .send_timeout(ms(300))
        .lease(ms(500))
        .retry(Retry::default().backoff(ms(50), 1.5, ms(200)));
    let clerk = shop.clerk()?;
    let settled = confirmed(clerk.charge(ORDER, contract).await?)?;
    ensure!(settled.external_id == shop.one_effect(ORDER)?.external_id);
    ensure!(clerk.sends() == 1, "sent {} times", clerk.sends());
    Ok(())
}

#[tokio::test]
async fn a03_a_first_lookup_that_misses_the_effect_proves_nothing_before_the_settle_window_has_passed()
-> anyhow::Result<()> {
    let shop = Shop::open().await?;
    let hidden = Fault::hide_from_lookups(1).and_answer(AnswerFault::Dropped);
    shop.receiver.fault(ORDER, [hidden]);
    let clerk = shop.clerk()?;
    let settled = confirmed(clerk.charge(ORDER, quick().verified(ms(800))).await?)?;
    ensure!(settled.external_id == shop.one_effect(ORDER)?.external_id);
    ensure!(clerk.sends() == 1 && clerk.lookups() == 2);
    let history = evidence(&shop.events(ORDER).await?);
    let expected = [
        ("unknown", v1::State::Unknown),
        ("absent", v1::State::Unknown),
        ("seen", v1::State::Confirmed),
    ];
    ensure!(history == expected, "{history:?}");
    Ok(())
}

#[tokio::test]
async fn a05_of_two_workers_one_acts_and_the_other_gets_the_stored_result() -> anyhow::Result<()> {
    let shop = Shop::open().await?;
    shop.receiver.dial(Dials {
        every: Fault::apply_after(100),
        ..Dials::default()
    });
    let (first, second) = (shop.clerk()?, shop.clerk()?);
    // Held is asked for again when the lease may have ended: a short lease, renewed by its holder.
    let contract = || quick().lease(ms(600));
    let orders: Vec<String> = (0..10).map(|n| format!("order-{n}")).collect();
    let races = orders.iter().map(|order| async {
        let both = tokio::try_join!(first.charge(order, contract()), second.charge(order, contract()))?;
        let (one, other) = (confirmed(both.0)?, confirmed(both.1)?);
        ensure!(
            one.external_id == other.external_id && one.result == other.result && one.result.is_some(),
            "{one:?} {other:?}"
        );
        ensure!(one.external_id == shop.one_effect(order)?.external_id);
        Ok(())
    });
    futures::future::try_join_all(races).await?;
    ensure!(first.sends() + second.sends() == 10);
    Ok(())
}

#[tokio::test]
async fn a07_a_repeat_of_what_is_done_gets_the_same_id_and_result_and_does_nothing() -> anyhow::Result<()> {
    let shop = Shop::open().await?;
    let clerk = shop.clerk()?;
    let first = confirmed(clerk.charge(ORDER, quick()).await?)?;
    let again = shop.clerk()?;
    let second = confirmed(again.charge(ORDER, quick()).await?)?;
    ensure!(first == second, "{first:?} {second:?}");
    ensure!(first.result.as_deref() == Some(b"applied charge".as_slice()));
    ensure!(first.external_id == shop.one_effect(ORDER)?.external_id);
    ensure!((again.sends(), again.lookups()) == (0, 0));
    Ok(())
}

#[tokio::test]
async fn a08_a_receivers_limit_is_waited_for_and_the_attempt_counts() -> anyhow::Result<()> {
    let shop = Shop::open().await?;
    let limited = Fault::admission(Admission::RateLimited { retry_after_ms: 700 });
    shop.receiver.fault(ORDER, [limited]);
    let clerk = shop.clerk()?;
    confirmed(clerk.charge(ORDER, quick()).await?)?;
    shop.one_effect(ORDER)?;
    let action = shop.action(ORDER).await?;
    ensure!((action.attempts, action.attempts_counted) == (2, 2), "{action:?}");
    let granted: Vec<_> = shop
        .events(ORDER)
        .await?
        .into_iter()
        .filter(|event| event.kind() == v1::EventKind::Granted || event.kind() == v1::EventKind::Reported)
        .filter_map(|event| event.at)
        .map(|at| Duration::new(at.seconds.unsigned_abs(), at.nanos.unsigned_abs()))
        .collect();
    let [_first, limited_at, second, _done] = granted[..] else {
        anyhow::bail!("not two attempts: {granted:?}")
    };
    ensure!(second - limited_at >= ms(700), "{:?}", second - limited_at);
    Ok(())
}

#[tokio::test]
async fn a08_out_of_attempts_it_stops_with_the_receivers_diagnosis() -> anyhow::Result<()> {
    let shop = Shop::open().await?;
    shop.receiver.dial(Dials {
        every: Fault::admission(Admission::Maintenance { retry_after_ms: 50 }),
        ..Dials::default()
    });
    let retry = Retry::default().max_attempts(2).backoff(ms(50), 1.0, ms(50));
    let clerk = shop.clerk()?;
    match clerk.charge(ORDER, quick().retry(retry)).await? {
        Outcome::Blocked(blocked) if blocked.reason == BlockedReason::AttemptsExhausted => {}
        other => anyhow::bail!("{other:?}"),
    }
    ensure!(clerk.sends() == 2 && shop.receiver.effects(ORDER).is_empty());
    let action = shop.action(ORDER).await?;
    ensure!(action.reason_detail.contains("maintenance"), "{action:?}");
    Ok(())
}

#[tokio::test]
async fn a09_an_accepted_command_is_confirmed_by_the_lookup_and_never_by_its_acceptance() -> anyhow::Result<()>
{
    let shop = Shop::open().await?;
    shop.receiver.dial(Dials {
        mode: Mode::Asynchronous {
            queued_ms: 100,
            run_ms: 300,
        },
        ..Dials::default()
    });
    let clerk = shop.clerk()?;
    let contract = quick().asynchronous(seconds(20));
    let settled = confirmed(clerk.charge(ORDER, contract).await?)?;
    ensure!(settled.evidence == v1::EvidenceKind::Confirmed, "{settled:?}");
    ensure!(settled.external_id == shop.one_effect(ORDER)?.external_id);
    ensure!(clerk.sends() == 1);
    let history = evidence(&shop.events(ORDER).await?);
    ensure!(
        history.first() == Some(&("accepted", v1::State::Accepted))
            && history.last() == Some(&("seen", v1::State::Confirmed)),
        "{history:?}"
    );
    Ok(())
}

#[tokio::test]
async fn a11_a_failure_that_an_adapter_could_swallow_never_becomes_completed() -> anyhow::Result<()> {
    let shop = Shop::open().await?;
    let clerk = shop.clerk()?;
    // A 200 with an error in its body, although the effect is there.
    shop.receiver
        .fault("error-body", [Fault::answer(AnswerFault::ErrorBody)]);
    confirmed(clerk.charge("error-body", quick()).await?)?;

    // An exception, and a tool result that says so itself: after the effect, both.
    for way in ["exception", "is-error"] {
        let (client, request) = (&shop.client, charge(way));
        let performing = clerk.action(way, quick()).perform(
            |_grant| async {
                drop(client.apply(&request).await);
                match way {
                    "exception" => Err("boom"),
                    _ => Ok(Receipt::from_tool(true, "boom", || Receipt::completed("never"))),
                }
            },
            |lookup| async move { adapter::look_up(client, way, &lookup).await },
        );
        confirmed(performing.await?)?;
    }
    for way in ["error-body", "exception", "is-error"] {
        shop.one_effect(way)?;
        let history = evidence(&shop.events(way).await?);
        ensure!(
            history == [("unknown", v1::State::Unknown), ("seen", v1::State::Confirmed)],
            "{way}: {history:?}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a12_the_right_effect_in_the_wrong_place_is_never_confirmed_and_stops_for_a_person()
-> anyhow::Result<()> {
    let shop = Shop::open().await?;
    shop.receiver.fault(ORDER, [Fault::misplace("elsewhere")]);
    let clerk = shop.clerk()?;
    let contract = quick().confirm_by_postcondition();
    let action = clerk
        .action(ORDER, contract)
        .expected_effect("the card is charged", &["charge", IN_RIGHT_PLACE]);
    match clerk.perform(action, charge(ORDER)).await? {
        Outcome::Blocked(blocked) if blocked.reason == BlockedReason::Partial => {}
        other => anyhow::bail!("{other:?}"),
    }
    ensure!(!shop.one_effect(ORDER)?.in_right_place && clerk.sends() == 1);
    let history = evidence(&shop.events(ORDER).await?);
    ensure!(
        history.iter().all(|(_, state)| *state != v1::State::Confirmed),
        "{history:?}"
    );
    Ok(())
}

#[tokio::test]
async fn a13_pending_lookups_do_not_count_and_a_failed_job_is_retried() -> anyhow::Result<()> {
    let shop = Shop::open().await?;
    shop.receiver.dial(Dials {
        mode: Mode::Asynchronous {
            queued_ms: 0,
            run_ms: 1_200,
        },
        ..Dials::default()
    });
    // The first job fails; while it runs it is seen pending more often than lookups may be inconclusive.
    shop.receiver.fault(ORDER, [Fault::failing_job()]);
    let retry = Retry::default().max_verifications(2).backoff(ms(50), 1.0, ms(50));
    let contract = quick().asynchronous(seconds(20)).retry(retry);
    let clerk = shop.clerk()?;
    let (client, request) = (&shop.client, charge(ORDER));
    let performing = clerk.action(ORDER, contract).perform(
        |_grant| async {
            // Asked about at once, as an impatient receiver would have it.
            match adapter::send(client, &request).await.to_wire().kind {
                Some(v1::receipt::Kind::Accepted(accepted)) => Receipt::accepted(accepted.external_id, ms(0)),
                other => Receipt::unknown(format_args!("{other:?}")),
            }
        },
        |lookup| async move { adapter::look_up(client, ORDER, &lookup).await },
    );
    let settled = confirmed(performing.await?)?;
    ensure!(settled.external_id == shop.one_effect(ORDER)?.external_id);
    let history = evidence(&shop.events(ORDER).await?);
    let count = |name: &str| history.iter().filter(|(seen, _)| *seen == name).count();
    ensure!(count("pending") > 4 && count("failed") == 1, "{history:?}");
    ensure!(count("accepted") == 2 && shop.receiver.summary().jobs_failed == 1);
    Ok(())
}

#[tokio::test]
async fn a_lookup_that_fails_finds_nothing_out_and_is_repeated() -> anyhow::Result<()> {
    let shop = Shop::open().await?;
    let queued = Queued {
        effects: vec![Fault::answer(AnswerFault::Dropped)],
        lookups: vec![
            LookupFault::Dropped,
            LookupFault::Maintenance { retry_after_ms: 10 },
        ],
    };
    shop.receiver.queue(ORDER, queued);
    let clerk = shop.clerk()?;
    confirmed(clerk.charge(ORDER, quick()).await?)?;
    shop.one_effect(ORDER)?;
    ensure!(clerk.sends() == 1 && clerk.lookups() == 3, "{}", clerk.lookups());
    Ok(())
}

#[tokio::test]
async fn a_crash_of_the_receiver_before_the_effect_is_retried_once_absence_counts() -> anyhow::Result<()> {
    let shop = Shop::open().await?;
    shop.receiver.fault(ORDER, [Fault::admission(Admission::Dropped)]);
    let clerk = shop.clerk()?;
    let settled = confirmed(clerk.charge(ORDER, quick()).await?)?;
    ensure!(settled.external_id == shop.one_effect(ORDER)?.external_id);
    ensure!(clerk.sends() == 2);
    let history = evidence(&shop.events(ORDER).await?);
    ensure!(
        history.contains(&("absent", v1::State::NotFound)) || history.contains(&("absent", v1::State::Sent)),
        "{history:?}"
    );
    Ok(())
}

#[tokio::test]
async fn a_worker_without_patience_is_told_why_to_come_back() -> anyhow::Result<()> {
    let shop = Shop::open().await?;
    let limited = Fault::admission(Admission::RateLimited {
        retry_after_ms: 60_000,
    });
    shop.receiver.fault(ORDER, [limited]);
    let clerk = shop.clerk()?;
    let outcome = clerk.charge(ORDER, quick()).await?;
    let Outcome::Pending(deed_client::Pending::Wait {
        retry_after,
        reason,
        due_at,
    }) = outcome
    else {
        anyhow::bail!("{outcome:?}")
    };
    due_at.context("no time")?;
    ensure!(
        reason == WaitReason::Backoff && retry_after > seconds(55),
        "{reason:?} {retry_after:?}"
    );
    Ok(())
}
