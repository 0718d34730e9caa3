//! What strangers send: odd text, missing keys, control characters, random bytes. Nothing of it is an internal error.

use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use deed_client::{Outcome, Receipt, State, seconds};
use deed_proto::v1;
use deed_tests::support::wire::{self, Field as Encoded, Value};
use deed_tests::support::work::{NAMESPACE, Told, Work, Worker};
use prost::Message;
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use tonic::Code;

use crate::refusals::{details, field, reason};
use crate::samples::{self, calls};
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

/// Every sample of every call, about an action whose execution has begun.
async fn begun(worker: &Worker, id: &str) -> anyhow::Result<Vec<samples::Call>> {
    let work = samples::work(id);
    let token = worker.claim_begun(&work).await?.execute()?.fencing_token;
    let version = worker.screen().action(&work).await?.version;
    Ok(calls(&work, token, version))
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

/// How long bytes are thrown at the server: some thousand calls, more on a machine that is idle.
const STORM: Duration = Duration::from_secs(8);

/// What any caller may be told. `UNAVAILABLE` is not among it: the database is there all the time, so it would mean that
/// a command was let in that cannot be written.
const FAIR: [Code; 10] = [
    Code::InvalidArgument,
    Code::AlreadyExists,
    Code::NotFound,
    Code::PermissionDenied,
    Code::FailedPrecondition,
    Code::Aborted,
    Code::ResourceExhausted,
    Code::DeadlineExceeded,
    Code::OutOfRange,
    Code::Unimplemented,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_a_caller_can_send_is_an_internal_error_or_a_panic() -> anyhow::Result<()> {
    let stage = Field::start().await?;
    let storms = (0..48).map(|n| {
        let worker = stage.worker("w1");
        tokio::spawn(async move { storm(&worker?, n).await })
    });
    let mut told = std::collections::BTreeMap::<String, usize>::new();
    for stormed in futures::future::join_all(storms).await {
        for (code, count) in stormed?? {
            *told.entry(code).or_default() += count;
        }
    }
    let worker = stage.worker("w2")?;
    within("an answer", worker.claim(&Work::fresh(&deduplicated())))
        .await??
        .execute()?;
    let said = stage.server().said();
    ensure!(!said.contains("panicked") && !said.contains("ERROR"), "{said}");
    // Random bytes alone would prove little: many of the messages must get as far as the rules.
    let accepted = told.get("Ok").copied().unwrap_or_default();
    ensure!(accepted > 100 && told.len() > 4, "{told:?}");
    eprintln!("{told:?}");
    Ok(())
}

async fn storm(worker: &Worker, seed: u64) -> anyhow::Result<Vec<(String, usize)>> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut told = std::collections::BTreeMap::<String, usize>::new();
    let until = Instant::now() + STORM;
    let mut round = 0;
    while Instant::now() < until {
        round += 1;
        // Not to be met by what was made of another round's messages.
        let id = format!("order-{round}-{:032x}", rng.random::<u128>());
        let all = begun(worker, &id).await?;
        for _ in 0..40 {
            let call = &all[rng.random_range(0..all.len())];
            let sample = &call.samples[rng.random_range(0..call.samples.len())];
            let bytes = spoil(&mut rng, sample);
            // A wait that was made long is left early.
            let calling = wire::call(&worker.channel, call.method, bytes.clone());
            let Ok(answer) = tokio::time::timeout(seconds(2), calling).await else {
                *told.entry("left early".to_owned()).or_default() += 1;
                continue;
            };
            let code = match answer {
                Ok(_) => "Ok".to_owned(),
                Err(status) if FAIR.contains(&status.code()) => {
                    details(&status)?;
                    reason(&status)?
                }
                Err(status) => bail!("seed {seed}, {} {bytes:?}: {status:?}", call.method),
            };
            *told.entry(code).or_default() += 1;
        }
    }
    Ok(told.into_iter().collect())
}

/// The message with something wrong with it, mostly somewhere deep inside; sometimes unharmed.
fn spoil(rng: &mut StdRng, message: &[u8]) -> Vec<u8> {
    match rng.random_range(0..10) {
        0 => message.to_vec(),
        1 => {
            let mut noise = vec![0; rng.random_range(0..64)];
            rng.fill_bytes(&mut noise);
            noise
        }
        2 => {
            let mut flipped = message.to_vec();
            let at = rng.random_range(0..flipped.len());
            flipped[at] ^= 1 << rng.random_range(0..8);
            flipped
        }
        3 => message[..rng.random_range(0..message.len())].to_vec(),
        _ => spoil_within(rng, message),
    }
}

fn spoil_within(rng: &mut StdRng, message: &[u8]) -> Vec<u8> {
    let Some(mut fields) = wire::fields(message).filter(|fields| !fields.is_empty()) else {
        return odd_text(rng);
    };
    let at = rng.random_range(0..fields.len());
    match rng.random_range(0..8) {
        0 => drop(fields.remove(at)),
        1 => {
            let twice = fields[at].clone();
            fields.push(twice);
        }
        2 => fields[at].tag = rng.random_range(1..40),
        _ => fields[at].value = other_value(rng, &fields[at]),
    }
    wire::encode(&fields)
}

fn other_value(rng: &mut StdRng, field: &Encoded) -> Value {
    match &field.value {
        Value::Bytes(inner) => Value::Bytes(match rng.random_range(0..4) {
            0 => odd_text(rng),
            _ => spoil_within(rng, inner),
        }),
        Value::Varint(number) => Value::Varint(odd_number(rng, *number)),
        Value::Fixed64(_) => Value::Fixed64(rng.random_range(0..u64::MAX).to_le_bytes()),
        Value::Fixed32(_) => Value::Fixed32(rng.random_range(0..u32::MAX).to_le_bytes()),
    }
}

fn odd_number(rng: &mut StdRng, number: u64) -> u64 {
    let odd = [
        0,
        1,
        2,
        number.wrapping_add(1),
        number.wrapping_sub(1),
        u64::from(u32::MAX),
        u64::MAX,
        i64::MAX.unsigned_abs(),
        i64::MIN.unsigned_abs(),
        1 << 53,
        315_576_000_000,
        253_402_300_800,
    ];
    match rng.random_range(0..=odd.len()) {
        at if at < odd.len() => odd[at],
        _ => rng.random(),
    }
}

fn odd_text(rng: &mut StdRng) -> Vec<u8> {
    let odd: [&[u8]; 12] = [
        b"",
        b" ",
        b"null",
        b"\0",
        b"\xff\xfe",
        b"a\nb",
        "e\u{301}".as_bytes(),
        "\u{202e}".as_bytes(),
        "\u{10ffff}\u{fdd0}".as_bytes(),
        b"%s%n{}$1\\'\";--",
        b"{\"a\":1}",
        b"00000000-0000-0000-0000-000000000000",
    ];
    match rng.random_range(0..=odd.len()) {
        at if at < odd.len() => odd[at].to_vec(),
        _ => vec![b'x'; [127, 128, 129, 256, 257, 512, 513, 1_025, 4_097][rng.random_range(0..9)]],
    }
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
