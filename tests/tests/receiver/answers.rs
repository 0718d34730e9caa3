//! Faults of the answer: the effect is there, the client does not learn it.

use std::sync::Arc;
use std::time::Duration;

use deed_tests::receiver::{
    AnswerFault, Applied, Call, Dials, Doubt, Fault, LookupFault, Options, Queued, Receiver,
};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::{FOREVER_MS, ORDER, PATIENCE, charge, done, look, receiver, seen, turned_away};

#[tokio::test]
async fn a_plain_request_is_applied_once_and_answered_with_its_external_id() -> anyhow::Result<()> {
    let (receiver, client) = receiver(Dials::default()).await?;
    let external_id = done(client.apply(&charge()).await)?;
    let ledger = receiver.ledger();
    assert_eq!(ledger.len(), 1);
    assert_eq!(ledger[0].external_id, external_id);
    assert_eq!(ledger[0].parts, ["row_exists", "mail_sent"]);
    assert_eq!(ledger, client.ledger().await?);
    Ok(())
}

#[tokio::test]
async fn a_dropped_answer_is_unknown_and_the_effect_is_there() -> anyhow::Result<()> {
    let (receiver, client) = receiver(Dials::default()).await?;
    receiver.fault(ORDER, [Fault::answer(AnswerFault::Dropped)]);
    let call = client.apply(&charge()).await;
    assert!(
        matches!(
            call,
            Call::Unknown {
                reason: Doubt::ConnectionLost,
                ..
            }
        ),
        "{call:?}"
    );
    assert_eq!(receiver.effects(ORDER).len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_late_answer_runs_into_the_clients_timeout_and_the_effect_is_there() -> anyhow::Result<()> {
    let (receiver, _) = receiver(Dials::default()).await?;
    receiver.fault(ORDER, [Fault::answer(AnswerFault::Late { after_ms: FOREVER_MS })]);
    // Long enough for a busy machine to get the request across.
    let hasty = receiver.client(Duration::from_secs(1))?;
    let call = hasty.apply(&charge()).await;
    assert!(
        matches!(
            call,
            Call::Unknown {
                reason: Doubt::TimedOut,
                ..
            }
        ),
        "{call:?}"
    );
    assert_eq!(receiver.effects(ORDER).len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_late_answer_is_the_honest_one_once_it_is_released() -> anyhow::Result<()> {
    let (receiver, client) = receiver(Dials::default()).await?;
    receiver.fault(ORDER, [Fault::answer(AnswerFault::Late { after_ms: FOREVER_MS })]);
    let call = tokio::spawn(async move { client.apply(&charge()).await });
    timeout(PATIENCE, receiver.until_applied(ORDER, 1)).await?;
    assert!(!call.is_finished());
    receiver.release(ORDER);
    done(timeout(PATIENCE, call).await??)?;
    Ok(())
}

#[tokio::test]
async fn a_late_lookup_answers_what_it_saw_when_it_came() -> anyhow::Result<()> {
    let (receiver, client) = receiver(Dials::default()).await?;
    let lookups = vec![LookupFault::Late { after_ms: FOREVER_MS }];
    receiver.queue(
        ORDER,
        Queued {
            lookups,
            ..Queued::default()
        },
    );
    let looking = tokio::spawn({
        let client = client.clone();
        async move { seen(&client).await }
    });
    timeout(
        PATIENCE,
        receiver.until(|ledger| ledger.lookups.contains_key(ORDER)),
    )
    .await?;
    done(client.apply(&charge()).await)?;
    receiver.release(ORDER);
    assert!(timeout(PATIENCE, looking).await???.effects.is_empty());
    assert_eq!(seen(&client).await?.effects.len(), 1);
    Ok(())
}

#[tokio::test]
async fn an_error_behind_a_200_is_no_success_and_the_effect_is_there() -> anyhow::Result<()> {
    let (receiver, client) = receiver(Dials::default()).await?;
    receiver.fault(ORDER, [Fault::answer(AnswerFault::ErrorBody)]);
    let call = client.apply(&charge()).await;
    assert_eq!(turned_away(&call), Some((200, "internal")));
    assert!(matches!(call, Call::Answered(Applied::Failed { .. })), "{call:?}");
    assert_eq!(receiver.effects(ORDER).len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_crash_happens_after_the_effect_and_before_the_answer() -> anyhow::Result<()> {
    let crashed = Arc::new(Notify::new());
    let hook = Arc::clone(&crashed);
    let options = Options {
        crash: Arc::new(move || hook.notify_one()),
        ..Options::default()
    };
    let receiver = Receiver::start_with(options).await?;
    receiver.fault(ORDER, [Fault::answer(AnswerFault::Crash)]);
    let call = receiver.client(PATIENCE)?.apply(&charge()).await;
    assert!(
        matches!(
            call,
            Call::Unknown {
                reason: Doubt::ConnectionLost,
                ..
            }
        ),
        "{call:?}"
    );
    timeout(PATIENCE, crashed.notified()).await?;
    assert_eq!(receiver.effects(ORDER).len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_client_reads_what_is_no_answer_as_unknown() -> anyhow::Result<()> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let client = deed_tests::receiver::ReceiverClient::new(listener.local_addr()?, PATIENCE)?;
    let stranger = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await?;
        let mut request = [0; 4096];
        let _ = stream.read(&mut request).await?;
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi")
            .await
    });
    let call = client.look_up(&look()).await;
    assert!(
        matches!(
            call,
            Call::Unknown {
                reason: Doubt::Unreadable,
                ..
            }
        ),
        "{call:?}"
    );
    stranger.await??;
    Ok(())
}
