//! What callers get: answers, views, renewals, errors.

use std::time::Duration;

use deed_core::time::Span;
use deed_proto::v1::{self, next_step::Kind};
use tonic::Code;

use crate::grpc::testing::memory::Mood;
use crate::grpc::testing::sample;
use crate::grpc::testing::server::{Running, details, field, reason};

fn execute(answer: Option<v1::Answer>) -> v1::Execute {
    match answer.unwrap().next_step.unwrap().kind.unwrap() {
        Kind::Execute(execute) => execute,
        other => panic!("expected a grant to execute, got {other:?}"),
    }
}

async fn claimed(server: &Running) -> v1::Execute {
    let response = server.ownership().claim(sample::claim()).await.unwrap();
    execute(response.into_inner().answer)
}

fn report(token: u64) -> v1::ReportRequest {
    let mut report = sample::report(sample::receipts().remove(0));
    report.fencing_token = token;
    report
}

#[tokio::test]
async fn a_claim_is_granted_reported_and_settled() {
    let server = Running::start().await;
    server.memory.with(|stored| stored.waited = Span::from_millis(40));
    let grant = claimed(&server).await;
    assert!(grant.begun && grant.fencing_token > 0 && grant.outward_key.len() == 32);
    assert_eq!(grant.waited.unwrap().nanos, 40_000_000);
    assert_eq!(grant.lease_left, sample::seconds(30));
    assert_eq!(grant.guarantee(), v1::Guarantee::Deduplicated);

    let answer = server
        .ownership()
        .report(report(grant.fencing_token))
        .await
        .unwrap();
    let answer = answer.into_inner().answer.unwrap();
    assert!(!answer.safe_to_retry);
    let Some(Kind::Settled(settled)) = answer.next_step.unwrap().kind else {
        panic!("not settled")
    };
    assert_eq!(
        (settled.state(), settled.external_id.as_str()),
        (v1::State::Confirmed, "ch_1")
    );
    assert_eq!(settled.result.as_deref(), Some(b"{}".as_slice()));
    assert_eq!(settled.outcome(), v1::Outcome::EffectProven);
    assert_eq!(settled.evidence(), v1::EvidenceKind::Completed);
    assert_eq!(settled.effect_id, sample::request_id());
}

#[tokio::test]
async fn the_ledger_shows_the_action_and_its_whole_story() {
    let server = Running::start().await;
    let grant = claimed(&server).await;
    let seen = server
        .ledger()
        .get_action(sample::get())
        .await
        .unwrap()
        .into_inner();
    assert_eq!(seen.state(), v1::State::Sent);
    assert_eq!(seen.contract, Some(sample::contract()));
    assert_eq!(seen.labels, sample::specification().labels);
    assert_eq!(seen.lease.as_ref().unwrap().owner, "worker-1");
    assert_eq!(seen.undisproved[0].owner, "worker-1");
    assert!(seen.absence_counts_from.is_some());
    assert!(matches!(seen.next_step.unwrap().kind, Some(Kind::Held(_))));

    server
        .ownership()
        .report(report(grant.fencing_token))
        .await
        .unwrap();
    let events = server
        .ledger()
        .list_events(sample::events())
        .await
        .unwrap()
        .into_inner();
    let kinds: Vec<_> = events.events.iter().map(v1::Event::kind).collect();
    assert_eq!(kinds, [v1::EventKind::Granted, v1::EventKind::Reported]);
    let last = events.events.last().unwrap();
    assert_eq!(
        (last.owner.as_str(), last.principal.as_str()),
        ("worker-1", "local")
    );
    assert_eq!(last.fencing_token, grant.fencing_token);
    assert!(matches!(last.detail, Some(v1::event::Detail::Receipt(_))));
}

#[tokio::test]
async fn renewals_answer_in_order_and_each_for_itself() {
    let server = Running::start().await;
    let grant = claimed(&server).await;
    let mut message = sample::renew();
    let mut good = message.leases.remove(0);
    good.fencing_token = grant.fencing_token;
    let mut unknown = good.clone();
    unknown.key.as_mut().unwrap().action_id = "nobody".to_owned();
    message.leases = vec![v1::RenewEntry::default(), good, unknown];
    let results = server
        .ownership()
        .renew(message)
        .await
        .unwrap()
        .into_inner()
        .results;
    let results: Vec<_> = results.into_iter().map(|result| result.result.unwrap()).collect();
    use v1::renew_result::Result as Kind;
    let [
        Kind::Error(malformed),
        Kind::Renewed(renewed),
        Kind::Error(unknown),
    ] = &results[..]
    else {
        panic!("{results:?}")
    };
    assert_eq!(
        (malformed.code, malformed.reason.as_str()),
        (i32::from(Code::InvalidArgument), "INVALID_FIELD")
    );
    assert_eq!(malformed.metadata[0].value, "leases[0].key");
    assert_eq!(renewed.lease_left, sample::seconds(30));
    assert_eq!(
        (unknown.code, unknown.reason.as_str()),
        (i32::from(Code::NotFound), "ACTION_NOT_FOUND")
    );
}

#[tokio::test]
async fn a_row_that_somebody_holds_costs_the_other_leases_of_a_renewal_nothing() {
    let server = Running::start().await;
    let grant = claimed(&server).await;
    server.memory.with(|stored| stored.held = Some("held".to_owned()));
    let mut message = sample::renew();
    message.leases[0].fencing_token = grant.fencing_token;
    let mut held = message.leases[0].clone();
    held.key.as_mut().unwrap().action_id = "held".to_owned();
    message.leases.push(held);
    let mut request = tonic::Request::new(message);
    request.set_timeout(Duration::from_millis(500));
    let answer = server.ownership().renew(request).await.unwrap().into_inner();
    let results: Vec<_> = answer
        .results
        .into_iter()
        .map(|result| result.result.unwrap())
        .collect();
    use v1::renew_result::Result as Kind;
    let [Kind::Renewed(_), Kind::Error(late)] = &results[..] else {
        panic!("{results:?}")
    };
    assert_eq!(late.reason, "DEADLINE_EXCEEDED");
}

#[tokio::test]
async fn a_webhook_finds_its_action_by_the_external_id() {
    let server = Running::start().await;
    let grant = claimed(&server).await;
    let mut accepted = sample::report(sample::receipts().remove(0));
    accepted.fencing_token = grant.fencing_token;
    server.ownership().report(accepted).await.unwrap();
    let mut webhook = sample::observes().remove(3);
    webhook.observation.as_mut().unwrap().facts.push(v1::FactSeen {
        name: "mail_published".to_owned(),
        seen: v1::Seen::True.into(),
    });
    let answer = server
        .ownership()
        .observe(webhook.clone())
        .await
        .unwrap()
        .into_inner();
    assert_eq!(answer.answer.unwrap().state(), v1::State::Confirmed);

    let mut forged = webhook;
    if let Some(v1::observe_request::Target::External(external)) = &mut forged.target {
        external.namespace = "elsewhere".to_owned();
    }
    let refused = server.ownership().observe(forged).await.unwrap_err();
    assert_eq!(
        (refused.code(), reason(&refused).as_str()),
        (Code::NotFound, "ACTION_NOT_FOUND")
    );
}

#[tokio::test]
async fn a_decision_answers_with_the_action_and_an_outdated_one_is_aborted() {
    let server = Running::start().await;
    let mut plan = sample::plan();
    let contract = plan.specification.as_mut().unwrap().contract.as_mut().unwrap();
    contract.approval = v1::Approval::Required.into();
    server.ownership().plan(plan).await.unwrap();
    let waiting = server
        .ledger()
        .get_action(sample::get())
        .await
        .unwrap()
        .into_inner();
    assert_eq!(waiting.state(), v1::State::AwaitingApproval);
    let Some(Kind::Wait(wait)) = waiting.next_step.unwrap().kind else {
        panic!()
    };
    assert_eq!(wait.reason(), v1::WaitReason::Approval);
    assert!(wait.due_at.is_some());

    let mut approve = sample::approve();
    approve.version = waiting.version;
    let approved = server
        .operations()
        .approve(approve.clone())
        .await
        .unwrap()
        .into_inner();
    assert_eq!(approved.state(), v1::State::Planned);
    assert_eq!(approved.approval.unwrap().approved_by, "local");
    assert!(approved.version > waiting.version);

    approve.request_id = "11111111-1111-4111-8111-111111111111".to_owned();
    let outdated = server.operations().approve(approve).await.unwrap_err();
    assert_eq!(
        (outdated.code(), reason(&outdated).as_str()),
        (Code::Aborted, "VERSION_CHANGED")
    );
}

#[tokio::test]
async fn an_error_names_its_field_in_every_form() {
    let server = Running::start().await;
    let mut claim = sample::claim();
    let contract = claim.specification.as_mut().unwrap().contract.as_mut().unwrap();
    contract.lease = sample::seconds(0);
    let refused = server.ownership().claim(claim).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert_eq!(field(&refused), "specification.contract.lease");
    let violations = &details(&refused).bad_request().unwrap().field_violations.clone();
    assert_eq!(violations[0].field, "specification.contract.lease");
    assert!(
        refused.message().starts_with("specification.contract.lease"),
        "{refused}"
    );
    assert_eq!(
        server.memory.with(|stored| stored.judged),
        0,
        "nothing was judged"
    );
}

#[tokio::test]
async fn a_store_that_is_away_says_when_to_try_again() {
    let server = Running::start().await;
    server.memory.with(|stored| stored.mood = Mood::Away);
    let away = server.ownership().claim(sample::claim()).await.unwrap_err();
    assert_eq!(
        (away.code(), reason(&away).as_str()),
        (Code::Unavailable, "STORE_UNAVAILABLE")
    );
    let retry = details(&away).retry_info().unwrap().retry_delay;
    assert_eq!(retry, Some(Duration::from_millis(250)));
}

#[tokio::test]
async fn a_deadline_that_passes_is_told_with_its_reason() {
    let server = Running::start().await;
    server.memory.with(|stored| stored.mood = Mood::Stuck);
    for allowed in ["30m", "1n", "0n"] {
        let late = server.claim_within(&sample::claim(), allowed).await;
        assert_eq!(
            (late.code(), reason(&late).as_str()),
            (Code::DeadlineExceeded, "DEADLINE_EXCEEDED"),
            "{allowed}"
        );
    }
}

#[tokio::test]
async fn a_call_that_comes_later_says_its_name() {
    let server = Running::start().await;
    let (mut ownership, mut ledger) = (server.ownership(), server.ledger());
    let answers = [
        (
            "ClaimDue",
            ownership.claim_due(v1::ClaimDueRequest::default()).await.err(),
        ),
        (
            "WatchActions",
            ledger
                .watch_actions(v1::WatchActionsRequest::default())
                .await
                .err(),
        ),
        (
            "GetStats",
            ledger.get_stats(v1::GetStatsRequest::default()).await.err(),
        ),
    ];
    for (name, answer) in answers {
        let status = answer.unwrap();
        assert_eq!(status.code(), Code::Unimplemented, "{name}");
        assert_eq!(reason(&status), "CALL_NOT_SERVED");
        assert!(status.message().contains(name), "{status}");
    }
}
