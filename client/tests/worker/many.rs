//! Many claims at once: each has its own answer, whatever becomes of the others.

use deed_client::{CallError, v1};
use tonic::Code;

use crate::fake::{Fake, Reply};
use crate::steps::{execute, refusal};

fn claims(count: usize) -> Vec<v1::ClaimRequest> {
    let claim = |id: usize| v1::ClaimRequest {
        key: Some(v1::ActionKey {
            namespace: "default".to_owned(),
            action_id: format!("a-{id}"),
        }),
        ..v1::ClaimRequest::default()
    };
    (0..count).map(claim).collect()
}

fn token(answer: &Result<v1::Answer, CallError>) -> Option<u64> {
    match answer.as_ref().ok()?.next_step.as_ref()?.kind.as_ref()? {
        v1::next_step::Kind::Execute(execute) => Some(execute.fencing_token),
        _ => None,
    }
}

#[tokio::test]
async fn an_entry_that_is_refused_costs_the_others_nothing_and_one_without_an_answer_is_repeated() {
    let fake = Fake::start().await;
    fake.step("Claim", execute(1))
        .on(
            "Claim",
            Reply::Error(refusal(Code::AlreadyExists, "INPUT_MISMATCH")),
        )
        .on(
            "Claim",
            Reply::Error(refusal(Code::ResourceExhausted, "OVERLOADED")),
        )
        .step("Claim", execute(4))
        .step("Claim", execute(3));
    let answers = fake.deed().calls().claim_many(claims(4)).await;
    let tokens: Vec<_> = answers.iter().map(token).collect();
    assert_eq!(tokens, [Some(1), None, Some(3), Some(4)]);
    assert_eq!(answers[1].as_ref().unwrap_err().reason(), Some("INPUT_MISMATCH"));
    let asked = fake.claims(5).await;
    assert_eq!(asked[2], asked[4], "the same request id and owner");
}

#[tokio::test]
async fn more_than_one_call_takes_go_in_several() {
    let fake = Fake::start().await;
    let answers = fake.deed().calls().claim_many(claims(2_500)).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 2_500);
    let asked = fake.claims(2_500).await;
    let ids = asked.iter().map(|claim| &claim.key.as_ref().unwrap().action_id);
    assert!(
        ids.eq(claims(2_500)
            .iter()
            .map(|claim| &claim.key.as_ref().unwrap().action_id))
    );
    assert!(fake.deed().calls().claim_many(Vec::new()).await.is_empty());
}
