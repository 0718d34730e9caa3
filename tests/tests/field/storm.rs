//! Valid messages with something wrong with them, and plain noise, thrown at a real server: nothing of it is an internal
//! error or a panic. The seed of a storm makes its messages; which of them meet whom is the server's chance.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use deed_client::seconds;
use deed_tests::support::wire::{self, Field as Encoded, Value};
use deed_tests::support::work::{Told, Work, Worker};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use tonic::Code;

use crate::refusals::{details, reason};
use crate::samples::begun;
use crate::{Field, deduplicated, within};

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
    let mut told = BTreeMap::<String, usize>::new();
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
    let mut told = BTreeMap::<String, usize>::new();
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
