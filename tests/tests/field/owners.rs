//! Who owns an action, and who no longer does.

use anyhow::ensure;
use deed_client::{Observation, Receipt, seconds};
use deed_proto::v1;
use deed_proto::v1::next_step::Kind;
use deed_proto::v1::renew_result;
use deed_tests::support::work::{Told, Work, Worker};
use tonic::Code;

use crate::{Field, length, ms, serialized, within};

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
pub async fn lapse(worker: &Worker, work: &Work) -> anyhow::Result<()> {
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
