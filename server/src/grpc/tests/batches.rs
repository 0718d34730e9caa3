//! Batches: answers in the order of the request, each entry for itself.

use deed_proto::v1::batch_result::Result as Outcome;
use deed_proto::v1::{self, next_step::Kind};
use prost::Message;
use tonic::Code;
use uuid::Uuid;

use crate::grpc::testing::memory::Mood;
use crate::grpc::testing::sample;
use crate::grpc::testing::server::{Running, field, reason};

fn claim(id: &str, owner: &str) -> v1::ClaimRequest {
    let mut claim = sample::claim();
    claim.key.as_mut().unwrap().action_id = id.to_owned();
    owner.clone_into(&mut claim.owner);
    claim.request_id = Uuid::new_v4().to_string();
    claim
}

async fn claims(server: &Running, entries: Vec<v1::ClaimRequest>) -> Vec<Outcome> {
    let answer = server
        .ownership()
        .batch_claim(v1::BatchClaimRequest { entries })
        .await;
    let results = answer.unwrap().into_inner().results;
    results.into_iter().map(|result| result.result.unwrap()).collect()
}

fn kind(outcome: &Outcome) -> &Kind {
    match outcome {
        Outcome::Answer(answer) => answer.next_step.as_ref().unwrap().kind.as_ref().unwrap(),
        Outcome::Error(error) => panic!("{error:?}"),
    }
}

#[tokio::test]
async fn a_batch_is_answered_in_its_order_and_one_bad_entry_fails_alone() {
    let server = Running::start().await;
    let bad = v1::ClaimRequest {
        specification: None,
        ..claim("c", "w1")
    };
    let entries = vec![claim("b", "w1"), claim("a", "w1"), bad, claim("d", "w1")];
    let results = claims(&server, entries).await;
    assert!(server.memory.with(|stored| stored.came == ["b", "a", "d"]));
    for good in [0, 1, 3] {
        assert!(matches!(kind(&results[good]), Kind::Execute(_)));
    }
    let Outcome::Error(error) = &results[2] else {
        panic!()
    };
    let named = (error.reason.as_str(), error.metadata[0].value.as_str());
    assert_eq!(named, ("INVALID_FIELD", "entries[2].specification"));
}

#[tokio::test]
async fn one_action_twice_in_a_batch_is_two_calls_in_that_order() {
    let server = Running::start().await;
    server.memory.with(|stored| stored.mood = Mood::Stuck);
    let entries = vec![claim("a", "w1"), claim("a", "w2"), claim("b", "w3")];
    let asking = claims(&server, entries);
    let (results, ()) = tokio::join!(asking, async {
        // The other action goes along; the second call about this one has not come yet.
        server.memory.until(|stored| stored.waiting == 2).await;
        assert!(server.memory.with(|stored| stored.came == ["a", "b"]));
        server.memory.release();
    });
    assert!(matches!(kind(&results[0]), Kind::Execute(_)));
    let Kind::Held(held) = kind(&results[1]) else {
        panic!("{results:?}")
    };
    assert_eq!(held.owner, "w1");

    let Kind::Execute(execute) = kind(&results[2]) else {
        panic!("{results:?}")
    };
    let mut report = sample::report(sample::receipts().remove(0));
    report.key.as_mut().unwrap().action_id = "b".to_owned();
    report.owner = "w3".to_owned();
    report.fencing_token = execute.fencing_token;
    let batch = v1::BatchReportRequest {
        entries: vec![report.clone(), report],
    };
    let reported = server.ownership().batch_report(batch).await.unwrap().into_inner();
    for result in &reported.results {
        assert!(matches!(kind(result.result.as_ref().unwrap()), Kind::Settled(_)));
    }
}

#[tokio::test]
async fn a_row_that_somebody_holds_costs_the_other_entries_nothing() {
    let server = Running::start().await;
    server.memory.with(|stored| stored.held = Some("held".to_owned()));
    let entries = vec![claim("held", "w1"), claim("free", "w1")];
    let mut request = tonic::Request::new(v1::BatchClaimRequest { entries });
    request
        .metadata_mut()
        .insert("grpc-timeout", "400m".parse().unwrap());
    let results = server
        .ownership()
        .batch_claim(request)
        .await
        .unwrap()
        .into_inner()
        .results;
    let results: Vec<_> = results.into_iter().map(|result| result.result.unwrap()).collect();
    assert!(matches!(&results[0], Outcome::Error(late) if late.reason == "DEADLINE_EXCEEDED"));
    assert!(matches!(kind(&results[1]), Kind::Execute(_)));
}

#[tokio::test]
async fn an_empty_batch_and_one_that_is_too_large_are_refused_by_their_field() {
    let server = Running::start().await;
    let mut bulky = claim("a", "w1");
    bulky.owner = "x".repeat(5_000);
    let bulky = vec![bulky; 900];
    assert!(bulky.iter().map(Message::encoded_len).sum::<usize>() > 4 * 1024 * 1024);
    for entries in [Vec::new(), vec![claim("a", "w1"); 1_001], bulky] {
        let refused = server
            .ownership()
            .batch_claim(v1::BatchClaimRequest { entries })
            .await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument);
        assert_eq!(
            (reason(&refused).as_str(), field(&refused).as_str()),
            ("INVALID_FIELD", "entries")
        );
    }
    assert_eq!(server.memory.with(|stored| stored.judged), 0);
}
