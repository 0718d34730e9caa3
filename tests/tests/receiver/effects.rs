//! Faults of the effect: late, hidden, partial, misplaced, twice.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use deed_tests::receiver::{
    AnswerFault, Application, Applied, Call, Dials, Fault, IN_RIGHT_PLACE, LookupRequest, Magnitudes, Odds,
    Seen, WRONG_PLACE,
};
use tokio::time::timeout;

use crate::{FOREVER_MS, ORDER, PATIENCE, charge, done, look, receiver, seen};

#[tokio::test]
async fn a_late_commit_lands_after_its_client_has_given_up() -> anyhow::Result<()> {
    let (receiver, client) = receiver(Dials::default()).await?;
    receiver.fault(ORDER, [Fault::apply_after(FOREVER_MS)]);
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.apply(&charge()).await }
    });
    timeout(PATIENCE, receiver.until_requested(ORDER, 1)).await?;
    call.abort();
    assert!(call.await.is_err_and(|error| error.is_cancelled()));
    assert!(receiver.ledger().is_empty());
    assert!(seen(&client).await?.effects.is_empty());
    receiver.release(ORDER);
    timeout(PATIENCE, receiver.until_applied(ORDER, 1)).await?;
    Ok(())
}

#[tokio::test]
async fn a_late_commit_lands_by_itself_when_its_time_has_come() -> anyhow::Result<()> {
    let (receiver, client) = receiver(Dials::default()).await?;
    receiver.fault(ORDER, [Fault::apply_after(50)]);
    let begun = std::time::Instant::now();
    done(client.apply(&charge()).await)?;
    assert!(begun.elapsed() >= Duration::from_millis(50));
    assert_eq!(receiver.effects(ORDER).len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_hidden_effect_is_in_the_ledger_and_lookups_miss_it_until_it_is_shown() -> anyhow::Result<()> {
    let (receiver, client) = receiver(Dials::default()).await?;
    receiver.fault(ORDER, [Fault::hide_for(FOREVER_MS)]);
    done(client.apply(&charge()).await)?;
    assert_eq!(receiver.effects(ORDER).len(), 1);
    assert!(seen(&client).await?.effects.is_empty());
    receiver.release(ORDER);
    assert_eq!(seen(&client).await?.effects.len(), 1);
    Ok(())
}

#[tokio::test]
async fn read_lag_ends_by_itself() -> anyhow::Result<()> {
    let (receiver, client) = receiver(Dials::default()).await?;
    receiver.fault(ORDER, [Fault::hide_for(300)]);
    done(client.apply(&charge()).await)?;
    let hidden_until = UNIX_EPOCH + Duration::from_millis(receiver.ledger()[0].hidden_until_ms);
    let look_until_shown = async {
        while seen(&client).await?.effects.is_empty() {
            tokio::task::yield_now().await;
        }
        anyhow::Ok(())
    };
    timeout(PATIENCE, look_until_shown).await??;
    assert!(SystemTime::now() >= hidden_until);
    Ok(())
}

#[tokio::test]
async fn an_effect_hidden_from_two_lookups_is_seen_by_the_third() -> anyhow::Result<()> {
    let (receiver, client) = receiver(Dials::default()).await?;
    receiver.fault(ORDER, [Fault::hide_from_lookups(2)]);
    done(client.apply(&charge()).await)?;
    for expected in [0, 0, 1] {
        assert_eq!(seen(&client).await?.effects.len(), expected);
    }
    Ok(())
}

#[tokio::test]
async fn a_partial_effect_shows_which_facts_hold() -> anyhow::Result<()> {
    let (receiver, client) = receiver(Dials::default()).await?;
    receiver.fault(
        ORDER,
        [Fault::only(&["row_exists"]).and_answer(AnswerFault::Dropped)],
    );
    client.apply(&charge()).await;
    let look = LookupRequest {
        facts: Some("row_exists,mail_sent".to_owned()),
        ..look()
    };
    let Call::Answered(Seen::Found(found)) = client.look_up(&look).await else {
        anyhow::bail!("not answered")
    };
    assert_eq!(found.facts.get("row_exists"), Some(&true));
    assert_eq!(found.facts.get("mail_sent"), Some(&false));
    assert_eq!(found.facts.get(IN_RIGHT_PLACE), Some(&true));
    Ok(())
}

#[tokio::test]
async fn the_missing_part_applied_later_is_no_duplicate_and_the_whole_applied_again_is() -> anyhow::Result<()>
{
    let (receiver, client) = receiver(Dials::default()).await?;
    receiver.fault(ORDER, [Fault::only(&["row_exists"])]);
    done(client.apply(&charge()).await)?;
    let mut rest = charge();
    rest.parts = vec!["mail_sent".to_owned()];
    done(client.apply(&rest).await)?;
    assert_eq!(receiver.summary().duplicates, 0);
    done(client.apply(&charge()).await)?;
    let summary = client.summary().await?;
    assert_eq!(
        (summary.applications, summary.business_ids, summary.duplicates),
        (3, 1, 1)
    );
    assert!(summary.duplicated_ids.contains(ORDER));
    Ok(())
}

#[tokio::test]
async fn another_kind_of_effect_for_the_same_business_id_is_no_duplicate() -> anyhow::Result<()> {
    let (receiver, client) = receiver(Dials::default()).await?;
    done(client.apply(&charge()).await)?;
    let mut refund = charge();
    refund.kind = "refund".to_owned();
    done(client.apply(&refund).await)?;
    assert_eq!(receiver.summary().duplicates, 0);
    let look = LookupRequest {
        kind: Some("refund".to_owned()),
        ..look()
    };
    let Call::Answered(Seen::Found(found)) = client.look_up(&look).await else {
        anyhow::bail!("not answered")
    };
    let kinds: Vec<&str> = found.effects.iter().map(|effect| effect.kind.as_str()).collect();
    assert_eq!(kinds, ["refund"]);
    Ok(())
}

#[tokio::test]
async fn a_misplaced_effect_is_seen_where_it_is_and_told_to_be_wrong() -> anyhow::Result<()> {
    let (receiver, client) = receiver(Dials::default()).await?;
    receiver.fault(ORDER, [Fault::misplace("project-b")]);
    done(client.apply(&charge()).await)?;
    let found = seen(&client).await?;
    assert_eq!(found.effects[0].place, "project-b");
    assert_eq!(found.facts.get(IN_RIGHT_PLACE), Some(&false));
    assert_eq!(receiver.summary().misplaced, 1);
    Ok(())
}

#[tokio::test]
async fn every_fault_of_the_effect_can_come_by_chance() -> anyhow::Result<()> {
    let odds = Odds {
        apply_late: 1.0,
        hide: 1.0,
        part_only: 1.0,
        wrong_place: 1.0,
        ..Odds::default()
    };
    let magnitudes = Magnitudes {
        apply_late_ms: 1,
        hide_ms: FOREVER_MS,
        ..Magnitudes::default()
    };
    let (receiver, client) = receiver(Dials {
        odds,
        magnitudes,
        ..Dials::default()
    })
    .await?;
    let call = client.apply(&charge()).await;
    assert!(
        matches!(&call, Call::Answered(Applied::Done { applied, .. }) if *applied == ["row_exists"]),
        "{call:?}"
    );
    let [
        Application {
            place,
            hidden_until_ms,
            applied_at_ms,
            ..
        },
    ] = &receiver.ledger()[..]
    else {
        anyhow::bail!("not one application")
    };
    assert_eq!(place, WRONG_PLACE);
    assert_eq!(hidden_until_ms - applied_at_ms, FOREVER_MS);
    Ok(())
}

#[tokio::test]
async fn a_reset_forgets_the_ledger_and_what_was_under_way_does_not_land() -> anyhow::Result<()> {
    let (receiver, client) = receiver(Dials::default()).await?;
    done(client.apply(&charge()).await)?;
    receiver.fault(ORDER, [Fault::apply_after(FOREVER_MS)]);
    let late = tokio::spawn({
        let client = client.clone();
        async move { client.apply(&charge()).await }
    });
    timeout(PATIENCE, receiver.until_requested(ORDER, 2)).await?;
    client.reset().await?;
    client.release(ORDER).await?;
    let call = timeout(PATIENCE, late).await??;
    assert!(matches!(call, Call::Unknown { .. }), "{call:?}");
    assert!(receiver.ledger().is_empty());
    Ok(())
}
