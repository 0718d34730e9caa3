//! Callers with the same key who mean something else: other inputs (B16), other namespaces (B20).

use anyhow::{Context, ensure};
use deed_client::{Observation, Receipt};
use deed_proto::v1;
use deed_tests::support::work::{NAMESPACE, Told, Work, Worker};
use tonic::{Code, Status};

use crate::refusals::reason;
use crate::{Field, deduplicated};

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
