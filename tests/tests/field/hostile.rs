//! What strangers send: odd text, missing keys, control characters. `storm` throws what is worse.

use anyhow::{Context, bail, ensure};
use deed_client::{Outcome, Receipt, State};
use deed_proto::v1;
use deed_tests::support::wire;
use deed_tests::support::work::{NAMESPACE, Told, Work};
use prost::Message;
use tonic::Code;

use crate::refusals::field;
use crate::samples::{self, begun};
use crate::shop::{Shop, charge, named, quick};
use crate::{Field, deduplicated, within};

#[tokio::test]
async fn b15_a_missing_key_is_refused_by_name_and_the_text_null_is_an_ordinary_key() -> anyhow::Result<()> {
    let stage = Field::start().await?;
    let worker = stage.worker("w1")?;
    for missing in ["", " ", "\t", "\u{a0}"] {
        let refused = worker.claim(&Work::new(missing, &deduplicated())).await;
        let refused = refused.err().with_context(|| format!("{missing:?} was taken"))?;
        ensure!(refused.code() == Code::InvalidArgument, "{refused:?}");
        ensure!(field(&refused)? == "key.action_id", "{refused:?}");
    }
    let mut absent = worker.claim_request(&Work::new("x", &deduplicated()), false);
    absent.key = None;
    let refused = worker.send_claim(absent).await.err().context("taken")?;
    ensure!(refused.code() == Code::InvalidArgument && field(&refused)? == "key");
    worker
        .claim(&Work::new("null", &deduplicated()))
        .await?
        .execute()?;

    let rows = stage.psql().await?;
    let rows = rows.query("SELECT action_id FROM actions", &[]).await?;
    let rows: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    ensure!(rows == ["null"], "{rows:?}");
    Ok(())
}

#[tokio::test]
async fn a15_odd_text_is_recorded_as_it_is_and_inert_everywhere() -> anyhow::Result<()> {
    let odd = [
        "tepm mail com",
        "'; DROP TABLE actions; --",
        "<script>alert(1)</script>",
        "\u{202e}evil\u{202c}\u{200f}",
        "{{7*7}} ${jndi:ldap://x} %s %n {} $1",
        "../../etc/passwd\\x00",
        "ünïcödé 漢字 🦀",
    ];
    let shop = Shop::open().await?;
    let clerk = shop.clerk()?;
    for text in odd {
        let action = clerk.action(text, quick()).label("odd", text);
        let action = action.expected_effect(text, &[]);
        let outcome = clerk.perform(action, charge(text)).await?;
        ensure!(outcome.confirmed(), "{text:?}: {outcome:?}");
        shop.one_effect(text)?;
        let stored = shop.action(text).await?;
        let label = stored.labels.first().map(|label| label.value.as_str());
        let key = stored.key.context("no key")?;
        ensure!(key.action_id == text && label == Some(text), "{key:?} {label:?}");
        ensure!(
            stored
                .expected_effect
                .is_some_and(|effect| effect.description == text)
        );
        let listed = v1::ListActionsRequest {
            action_id_prefix: text.to_owned(),
            labels: vec![v1::Label {
                key: "odd".to_owned(),
                value: text.to_owned(),
            }],
            ..v1::ListActionsRequest::default()
        };
        let listed = shop.screen()?.ledger().list_actions(listed).await?.into_inner();
        ensure!(
            listed.actions.len() == 1,
            "{text:?} is listed {} times",
            listed.actions.len()
        );

        // As a reason, under another action.
        let refused = format!("refused: {text}");
        let request = clerk.action(&refused, quick());
        let outcome = request
            .perform_without_verify(|_grant| async { Receipt::rejected(text) })
            .await?;
        let Outcome::Settled(settled) = outcome else {
            bail!("{text:?}: {outcome:?}")
        };
        ensure!(
            settled.state == State::Rejected && settled.note == text,
            "{settled:?}"
        );
    }
    let rows = shop.field.psql().await?;
    let count: i64 = rows.query_one("SELECT count(*) FROM actions", &[]).await?.get(0);
    ensure!(usize::try_from(count)? == 2 * odd.len(), "{count} rows");
    Ok(())
}

#[tokio::test]
async fn b50_nul_control_characters_and_invalid_utf_8_are_refused_by_name_in_every_text_field()
-> anyhow::Result<()> {
    let stage = Field::start().await?;
    let worker = stage.worker("w1")?;
    let odd = [b"a\0b".as_slice(), b"a\x1bb", b"\x7f", b"a\xff\xfe"];
    for call in begun(&worker, "order-1").await? {
        for place in wire::text_fields(call.message)? {
            let reaching = call
                .samples
                .iter()
                .filter(|sample| wire::put(sample, &place.tags, b"").is_some());
            let reaching: Vec<_> = reaching.collect();
            ensure!(!reaching.is_empty(), "no sample has {}", place.name);
            for (sample, text) in reaching
                .into_iter()
                .flat_map(|sample| odd.map(|text| (sample, text)))
            {
                let bytes = wire::put(sample, &place.tags, text).context("it reached")?;
                let what = format!("{} {} {text:?}", call.method, place.name);
                let (code, named) = match wire::call(&worker.channel, call.method, bytes).await {
                    Err(refused) => (refused.code(), field(&refused)?),
                    // Each lease is judged apart: one that cannot be does not cost the others theirs.
                    Ok(answer) => of_entry(&answer).with_context(|| format!("{what} was taken"))?,
                };
                ensure!(
                    code == Code::InvalidArgument && plain(&named) == place.name,
                    "{what}: {code:?} {named}"
                );
            }
        }
    }
    let events = worker.screen().events(&samples::work("order-1")).await?;
    ensure!(events.len() == 1, "something was taken: {events:?}");
    within("an answer", worker.claim(&Work::fresh(&deduplicated())))
        .await??
        .execute()?;
    Ok(())
}

/// Code and field of the error in the only entry of a renewal's answer.
fn of_entry(answer: &[u8]) -> anyhow::Result<(Code, String)> {
    let renewed = v1::RenewResponse::decode(answer)?;
    match renewed
        .results
        .into_iter()
        .next()
        .and_then(|result| result.result)
    {
        Some(v1::renew_result::Result::Error(error)) => {
            let field = error.metadata.into_iter().find(|label| label.key == "field");
            Ok((
                Code::from_i32(error.code),
                field.context("no field is named")?.value,
            ))
        }
        other => bail!("no error: {other:?}"),
    }
}

/// A field's name without the places in lists.
fn plain(field: &str) -> String {
    let mut name = String::new();
    let mut within = false;
    for c in field.chars() {
        match c {
            '[' => within = true,
            ']' => within = false,
            c if !within => name.push(c),
            _ => {}
        }
    }
    name
}

#[tokio::test]
async fn a_listing_by_odd_text_finds_only_what_begins_with_it() -> anyhow::Result<()> {
    let stage = Field::start().await?;
    let worker = stage.worker("w1")?;
    for id in ["100%", "100x", "a_b", "axb", "a\\b"] {
        worker.plan(&named(id)).await?;
    }
    for (prefix, found) in [("100%", 1), ("a_", 1), ("a\\", 1), ("%", 0), ("100", 2)] {
        let listed = v1::ListActionsRequest {
            namespace: NAMESPACE.to_owned(),
            action_id_prefix: prefix.to_owned(),
            ..v1::ListActionsRequest::default()
        };
        let listed = worker.screen().ledger().list_actions(listed).await?.into_inner();
        ensure!(
            listed.actions.len() == found,
            "{prefix}: {}",
            listed.actions.len()
        );
    }
    Ok(())
}
