//! The receiver as a process: its journal, its crash, its death.

use std::path::Path;
use std::process::Stdio;

use deed_tests::receiver::{
    AnswerFault, Applied, Call, Dials, Fault, Fencing, Idempotency, Mode, Queued, ReceiverClient,
    StoredRefusals,
};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::{FOREVER_MS, ORDER, PATIENCE, charge, done, turned_away};

async fn spawn(data: &Path, dials: &Dials) -> anyhow::Result<(Child, ReceiverClient)> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_receiver"))
        .arg("--data")
        .arg(data)
        .arg("--dials")
        .arg(serde_json::to_string(dials)?)
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let stdout = child.stdout.take().ok_or_else(|| anyhow::anyhow!("no stdout"))?;
    let mut line = String::new();
    timeout(PATIENCE, BufReader::new(stdout).read_line(&mut line)).await??;
    Ok((child, ReceiverClient::new(line.trim(), PATIENCE)?))
}

fn honest() -> Dials {
    let idempotency = Idempotency::Honoured {
        retention_ms: FOREVER_MS,
        refusals: StoredRefusals::Forgotten,
    };
    Dials {
        idempotency,
        fencing: Fencing::EffectsOnly,
        ..Dials::default()
    }
}

#[tokio::test]
async fn a_dialed_crash_ends_the_process_and_its_successor_knows_effect_key_and_token() -> anyhow::Result<()>
{
    let dir = tempfile::tempdir()?;
    let data = dir.path().join("ledger");
    let (mut child, client) = spawn(&data, &honest()).await?;
    let effects = vec![Fault::answer(AnswerFault::Crash)];
    client
        .queue(
            ORDER,
            &Queued {
                effects,
                ..Queued::default()
            },
        )
        .await?;
    let call = client.apply(&charge().with_key("k1").with_token(7)).await;
    assert!(matches!(call, Call::Unknown { .. }), "{call:?}");
    assert_eq!(timeout(PATIENCE, child.wait()).await??.code(), Some(86));
    let gone = client.apply(&charge()).await;
    assert!(matches!(gone, Call::NotSent { .. }), "{gone:?}");

    let (_child, client) = spawn(&data, &honest()).await?;
    assert_eq!(client.ledger().await?.len(), 1);
    let used = client.apply(&charge().with_key("k1").with_token(7)).await;
    assert_eq!(turned_away(&used), Some((409, "used_token")));
    let again = client.apply(&charge().with_key("k1").with_token(8)).await;
    assert!(
        matches!(again, Call::Answered(Applied::Done { replayed: true, .. })),
        "{again:?}"
    );
    assert_eq!(client.summary().await?.duplicates, 0);
    Ok(())
}

#[tokio::test]
async fn a_killed_receiver_takes_up_its_jobs_and_gives_no_external_id_twice() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let data = dir.path().join("ledger");
    let slow = Dials {
        mode: Mode::Asynchronous {
            queued_ms: 0,
            run_ms: FOREVER_MS,
        },
        ..Dials::default()
    };
    let (mut child, client) = spawn(&data, &slow).await?;
    let Call::Answered(Applied::Accepted { external_id, .. }) = client.apply(&charge()).await else {
        anyhow::bail!("not accepted")
    };
    child.kill().await?;

    let (_child, client) = spawn(&data, &Dials::default()).await?;
    let mut other = charge();
    other.business_id = "order-2".to_owned();
    assert_ne!(done(client.apply(&other).await)?, external_id);
    client.release(ORDER).await?;
    let taken_up = async {
        while client.summary().await?.jobs_under_way > 0 {
            tokio::task::yield_now().await;
        }
        anyhow::Ok(())
    };
    timeout(PATIENCE, taken_up).await??;
    let ids: Vec<String> = client
        .ledger()
        .await?
        .into_iter()
        .map(|effect| effect.external_id)
        .collect();
    assert!(ids.len() == 2 && ids.contains(&external_id), "{ids:?}");
    Ok(())
}

#[tokio::test]
async fn a_line_cut_short_by_a_crash_is_dropped_and_any_other_damage_is_told() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let data = dir.path().join("ledger");
    let (mut child, client) = spawn(&data, &Dials::default()).await?;
    done(client.apply(&charge()).await)?;
    child.kill().await?;

    let whole = std::fs::read_to_string(&data)?;
    std::fs::write(&data, format!("{whole}{{\"applied\":{{\"appl"))?;
    let (mut child, client) = spawn(&data, &Dials::default()).await?;
    assert_eq!(client.ledger().await?.len(), 1);
    done(client.apply(&charge()).await)?;
    child.kill().await?;

    let (mut child, client) = spawn(&data, &Dials::default()).await?;
    assert_eq!(client.ledger().await?.len(), 2);
    child.kill().await?;

    std::fs::write(&data, format!("rubbish\n{whole}"))?;
    let output = Command::new(env!("CARGO_BIN_EXE_receiver"))
        .arg("--data")
        .arg(&data)
        .output()
        .await?;
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && message.contains("line 1"),
        "{message}"
    );
    Ok(())
}

#[tokio::test]
async fn a_reset_also_empties_the_journal() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let data = dir.path().join("ledger");
    let (mut child, client) = spawn(&data, &Dials::default()).await?;
    done(client.apply(&charge()).await)?;
    client.reset().await?;
    child.kill().await?;

    let (_child, client) = spawn(&data, &Dials::default()).await?;
    assert!(client.ledger().await?.is_empty());
    Ok(())
}
