//! B46: what is too large is refused by name on a connection that stays usable; what is large is paged by bytes.

use std::collections::BTreeSet;

use anyhow::{Context, ensure};
use deed_client::{Deed, Receipt};
use deed_proto::v1;
use deed_tests::support::work::{NAMESPACE, Told, Work};
use prost::Message;
use tonic::Code;

use crate::refusals::{details, field};
use crate::{Field, deduplicated};

/// What a page may weigh, by the API's own documents.
const PAGE_BYTES: usize = 1024 * 1024;

fn evidence(bytes: usize) -> v1::Receipt {
    let kind = v1::receipt::Kind::Completed(v1::receipt::Completed {
        external_id: "ch-1".to_owned(),
        result: Some(vec![7; bytes]),
    });
    v1::Receipt { kind: Some(kind) }
}

#[tokio::test]
async fn b46_evidence_of_5_mib_is_refused_with_the_limit_and_the_connection_stays_usable()
-> anyhow::Result<()> {
    let stage = Field::start().await?;
    let worker = stage.worker("w1")?;
    let work = Work::new("order-1", &deduplicated());
    let token = worker.claim_begun(&work).await?.execute()?.fencing_token;
    let mut request = worker.report_request(&work, token, &Receipt::completed("ch-1"));
    for (bytes, named, limit) in [
        (5 * 1024 * 1024, "receipt.completed.result", "262144"),
        (256 * 1024 + 1, "receipt.completed.result", "262144"),
        (9 * 1024 * 1024, "", "8388608"),
    ] {
        request.receipt = Some(evidence(bytes));
        let refused = worker.send_report(request.clone()).await;
        let refused = refused.err().context("taken")?;
        ensure!(refused.code() == Code::InvalidArgument, "{refused:?}");
        ensure!(refused.message().contains(limit), "{refused:?}");
        details(&refused)?;
        ensure!(named.is_empty() || field(&refused)? == named, "{refused:?}");
    }

    // The client hands the verdict back instead of repeating it.
    let deed = Deed::builder()
        .namespace(NAMESPACE)
        .owner("w1")
        .connect(&stage.server().url())?;
    request.receipt = Some(evidence(5 * 1024 * 1024));
    let refused = deed
        .calls()
        .report(request.clone())
        .await
        .err()
        .context("taken")?;
    ensure!(refused.reason() == Some("INVALID_FIELD"), "{refused:?}");

    request.receipt = Some(evidence(256 * 1024));
    let settled = worker.send_report(request).await?.settled()?;
    ensure!(settled.result.context("no result")?.len() == 256 * 1024);
    Ok(())
}

/// The largest action that there can be.
fn largest(action_id: &str) -> Work {
    let mut work = Work::new(action_id, &deduplicated());
    "n".repeat(128).clone_into(&mut work.key.namespace);
    "t".repeat(128).clone_into(&mut work.specification.tool);
    let label = |n: usize| v1::Label {
        key: format!("{n:064}"),
        value: "v".repeat(256),
    };
    work.specification.labels = (0..16).map(label).collect();
    work.specification.expected_effect = Some(v1::ExpectedEffect {
        description: "d".repeat(1_024),
        facts: (0..32).map(|n| format!("{n:0128}")).collect(),
    });
    work
}

#[tokio::test]
async fn b46_a_list_of_the_largest_rows_comes_in_pages_bounded_in_bytes_with_every_row_once()
-> anyhow::Result<()> {
    const ROWS: i32 = 1_000;
    let stage = Field::start().await?;
    let mut worker = stage.worker(&"o".repeat(256))?;
    let template = largest(&"a".repeat(512));
    let token = worker.claim_begun(&template).await?.execute()?.fencing_token;
    let doubt = Receipt::unknown("r".repeat(4_096));
    worker.report(&template, token, &doubt).await?;
    let client = stage.psql().await?;
    let columns: String = client
        .query_one(
            "SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns \
             WHERE table_name = 'actions' AND is_generated = 'NEVER' AND column_name <> 'action_id'",
            &[],
        )
        .await?
        .get(0);
    let copy = format!(
        "INSERT INTO actions (action_id, {columns}) \
         SELECT lpad(n::text, 512, 'b'), {columns} FROM actions, generate_series(2, $1) AS n"
    );
    client.execute(&copy, &[&ROWS]).await?;

    worker.owner = "reader".to_owned();
    for order_by in [v1::ActionOrder::CreatedDesc, v1::ActionOrder::StateSinceAsc] {
        let mut request = v1::ListActionsRequest {
            page_size: 1_000,
            order_by: order_by.into(),
            ..v1::ListActionsRequest::default()
        };
        let mut seen = BTreeSet::new();
        loop {
            // A default client: it takes 4 MiB.
            let page = worker
                .screen()
                .ledger()
                .list_actions(request.clone())
                .await?
                .into_inner();
            ensure!(page.encoded_len() <= PAGE_BYTES, "{} bytes", page.encoded_len());
            ensure!(!page.actions.is_empty());
            for action in page.actions {
                let key = action.key.context("no key")?;
                ensure!(seen.insert(key.action_id.clone()), "{} twice", key.action_id);
            }
            if page.next_page_token.is_empty() {
                break;
            }
            request.page_token = page.next_page_token;
        }
        ensure!(seen.len() == usize::try_from(ROWS)?, "{} rows", seen.len());
    }
    Ok(())
}

#[tokio::test]
async fn b46_a_history_of_the_largest_evidence_comes_in_pages_bounded_in_bytes() -> anyhow::Result<()> {
    let stage = Field::start().await?;
    let worker = stage.worker("w1")?;
    let work = Work::new("order-1", &deduplicated());
    let token = worker.claim_begun(&work).await?.execute()?.fencing_token;
    for _ in 0..24 {
        let mut request = worker.report_request(&work, token, &Receipt::completed("ch-1"));
        request.receipt = Some(evidence(256 * 1024));
        worker.send_report(request).await?.settled()?;
    }
    let mut request = v1::ListEventsRequest {
        key: Some(work.key.clone()),
        page_size: 1_000,
        page_token: String::new(),
    };
    let mut sequences = Vec::new();
    loop {
        let page = worker
            .screen()
            .ledger()
            .list_events(request.clone())
            .await?
            .into_inner();
        ensure!(page.encoded_len() <= PAGE_BYTES, "{} bytes", page.encoded_len());
        sequences.extend(page.events.iter().map(|event| event.sequence));
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    ensure!(sequences == (1..=25).collect::<Vec<_>>(), "{sequences:?}");
    Ok(())
}
