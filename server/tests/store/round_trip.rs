//! What is written comes back as it was.

use deed_core::action::State;

use crate::fixture::{Fixture, carry, claim, completed, done, look, report};

#[tokio::test]
async fn a_claim_and_its_report_come_back_as_they_were_written() {
    let fixture = Fixture::migrated().await;
    let mut session = fixture.session();

    let claimed = done(&mut session, &claim("order-1", "w1")).await;
    assert_eq!(claimed.state, State::Sent);
    assert_eq!(look(&mut session, "order-1").await.0, Some(claimed.clone()));

    let token = claimed.grant.as_ref().unwrap().token;
    let receipt = completed("INV-1", &[0, 1, 255]);
    let settled = done(&mut session, &report("order-1", "w1", token, receipt)).await;
    assert_eq!(settled.state, State::Confirmed);
    assert_eq!(look(&mut session, "order-1").await.0, Some(settled));
}

#[tokio::test]
async fn a_repeat_finds_what_its_request_did() {
    let fixture = Fixture::migrated().await;
    let mut session = fixture.session();
    let first = claim("order-1", "w1");
    let (judged, _) = carry(&mut session, &first).await.unwrap();
    let (again, written) = carry(&mut session, &first).await.unwrap();
    assert!(again.reads_back);
    assert_eq!(written, Vec::<bool>::new());
    let token = |judgement: &deed_core::judgement::Judgement| match &judgement.reply {
        Ok(deed_core::reply::Reply::Step(answer)) => match &answer.step {
            deed_core::reply::NextStep::Execute(execute) => execute.token,
            step => panic!("{step:?}"),
        },
        reply => panic!("{reply:?}"),
    };
    assert_eq!(token(&judged), token(&again));
}
