//! Fencing tokens, honoured and ignored.

use deed_tests::receiver::{
    Call, Dials, Fault, Fencing, FencingToken, LookupRequest, Receiver, ReceiverClient, Seen,
};
use tokio::time::timeout;

use crate::{FOREVER_MS, ORDER, PATIENCE, charge, done, look, receiver, turned_away};

async fn fenced(fencing: Fencing) -> anyhow::Result<(Receiver, ReceiverClient)> {
    receiver(Dials {
        fencing,
        ..Dials::default()
    })
    .await
}

fn look_with(token: u64) -> LookupRequest {
    LookupRequest {
        fencing_token: Some(FencingToken(token)),
        ..look()
    }
}

#[tokio::test]
async fn an_ignored_token_refuses_nobody() -> anyhow::Result<()> {
    let (receiver, client) = fenced(Fencing::Ignored).await?;
    done(client.apply(&charge().with_token(9)).await)?;
    done(client.apply(&charge().with_token(3)).await)?;
    assert_eq!(receiver.summary().duplicates, 1);
    Ok(())
}

#[tokio::test]
async fn a_token_below_the_floor_a_used_one_and_a_missing_one_are_refused() -> anyhow::Result<()> {
    let (receiver, client) = fenced(Fencing::EffectsOnly).await?;
    done(client.apply(&charge().with_token(9)).await)?;
    for (request, refusal) in [
        (charge().with_token(8), (412, "stale_token")),
        (charge().with_token(9), (409, "used_token")),
        (charge(), (400, "token_missing")),
    ] {
        assert_eq!(turned_away(&client.apply(&request).await), Some(refusal));
    }
    assert_eq!(receiver.effects(ORDER).len(), 1);
    done(client.apply(&charge().with_token(10)).await)?;
    Ok(())
}

#[tokio::test]
async fn a_floor_belongs_to_one_business_id() -> anyhow::Result<()> {
    let (_receiver, client) = fenced(Fencing::EffectsAndLookups).await?;
    done(client.apply(&charge().with_token(9)).await)?;
    let mut other = charge().with_token(1);
    other.business_id = "order-2".to_owned();
    done(client.apply(&other).await)?;
    Ok(())
}

#[tokio::test]
async fn a_lookup_raises_the_floor_only_where_the_dial_says_so() -> anyhow::Result<()> {
    for (fencing, applied) in [(Fencing::EffectsAndLookups, 0), (Fencing::EffectsOnly, 1)] {
        let (receiver, client) = fenced(fencing).await?;
        let looked = client.look_up(&look_with(9)).await;
        assert!(matches!(looked, Call::Answered(Seen::Found(_))), "{looked:?}");
        client.apply(&charge().with_token(8)).await;
        assert_eq!(receiver.effects(ORDER).len(), applied, "{fencing:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_lookup_with_a_stale_token_is_refused() -> anyhow::Result<()> {
    let (_receiver, client) = fenced(Fencing::EffectsAndLookups).await?;
    client.look_up(&look_with(9)).await;
    let stale = client.look_up(&look_with(8)).await;
    assert!(
        matches!(stale, Call::Answered(Seen::Refused { status: 412, .. })),
        "{stale:?}"
    );
    Ok(())
}

#[tokio::test]
async fn a_lookup_also_fences_a_command_that_has_arrived_and_not_landed() -> anyhow::Result<()> {
    let (receiver, client) = fenced(Fencing::EffectsAndLookups).await?;
    receiver.fault(ORDER, [Fault::apply_after(FOREVER_MS)]);
    let late = tokio::spawn({
        let client = client.clone();
        async move { client.apply(&charge().with_token(8)).await }
    });
    timeout(
        PATIENCE,
        receiver.until(|ledger| ledger.floors.contains_key(ORDER)),
    )
    .await?;
    client.look_up(&look_with(9)).await;
    receiver.release(ORDER);
    assert_eq!(
        turned_away(&timeout(PATIENCE, late).await??),
        Some((412, "stale_token"))
    );
    assert!(receiver.ledger().is_empty());
    Ok(())
}

#[tokio::test]
async fn tokens_beyond_two_to_the_53_stay_exact() -> anyhow::Result<()> {
    let (receiver, client) = fenced(Fencing::EffectsOnly).await?;
    let token = (1 << 53) + 1;
    done(client.apply(&charge().with_token(token)).await)?;
    assert_eq!(
        turned_away(&client.apply(&charge().with_token(token - 1)).await),
        Some((412, "stale_token"))
    );
    assert_eq!(client.ledger().await?[0].fencing_token, Some(FencingToken(token)));
    assert_eq!(receiver.effects(ORDER).len(), 1);
    Ok(())
}
