//! A lease is its principal's. Another one of the same namespace commands nothing with its token, even under its owner
//! name; what it proves is kept under its own name.

use deed_proto::v1;
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::auth::testing::{Written, principal};
use crate::grpc::testing::guarded::{Client, Guarded, Shows};
use crate::grpc::testing::sample;
use crate::grpc::testing::server::reason;

struct Pair {
    _server: Guarded,
    /// The first worker holds the lease, begun.
    holder: Client,
    other: Client,
    token: u64,
}

async fn pair() -> Pair {
    let (one, first) = principal("w1", "{ shop = [\"worker\"] }");
    let (two, second) = principal("w2", "{ shop = [\"worker\"] }");
    let server = Guarded::start(Written::new(&format!("{first}{second}")).keeper(), None).await;
    let channel: Channel = server.plain().await;
    let mut holder = Client::new(&channel, &Shows::token(&one));
    let other = Client::new(&channel, &Shows::token(&two));
    let token = holder.granted(sample::claim()).await;
    Pair {
        _server: server,
        holder,
        other,
        token,
    }
}

fn receipt(at: usize, token: u64) -> v1::ReportRequest {
    let mut report = sample::report(sample::receipts().remove(at));
    report.fencing_token = token;
    report
}

fn not_yours(status: &Status) {
    let told = (status.code(), reason(status));
    assert_eq!(told, (Code::PermissionDenied, "NOT_YOUR_GRANT".to_owned()));
}

#[tokio::test]
async fn nobody_begins_renews_releases_or_reports_with_anothers_token_though_it_knows_number_and_owner() {
    let mut pair = pair().await;
    let fencing_token = pair.token;
    let begin = v1::BeginRequest {
        fencing_token,
        ..sample::begin()
    };
    not_yours(&pair.other.ownership.begin(begin).await.unwrap_err());
    let release = v1::ReleaseRequest {
        fencing_token,
        ..sample::release()
    };
    not_yours(&pair.other.ownership.release(release).await.unwrap_err());
    let mut renew = sample::renew();
    renew.leases.truncate(1);
    renew.leases[0].fencing_token = fencing_token;
    renew.leases[0].key = sample::key();
    let mut results = pair
        .other
        .ownership
        .renew(renew.clone())
        .await
        .unwrap()
        .into_inner()
        .results;
    let Some(v1::renew_result::Result::Error(error)) = results.remove(0).result else {
        panic!()
    };
    assert_eq!(error.reason, "NOT_YOUR_GRANT");
    for (at, receipt_of) in sample::receipts().iter().enumerate() {
        if !matches!(receipt_of.kind, Some(v1::receipt::Kind::Completed(_))) {
            not_yours(
                &pair
                    .other
                    .ownership
                    .report(receipt(at, fencing_token))
                    .await
                    .unwrap_err(),
            );
        }
    }
    let mut results = pair
        .holder
        .ownership
        .renew(renew)
        .await
        .unwrap()
        .into_inner()
        .results;
    let kept = results.remove(0).result;
    assert!(
        matches!(kept, Some(v1::renew_result::Result::Renewed(_))),
        "{kept:?}"
    );
}

#[tokio::test]
async fn proof_under_anothers_token_is_kept_under_the_principal_that_brought_it() {
    let mut pair = pair().await;
    let report = v1::ReportRequest {
        then: v1::Then::BegunGrant.into(),
        ..receipt(0, pair.token)
    };
    let answer = pair
        .other
        .ownership
        .report(report)
        .await
        .unwrap()
        .into_inner()
        .answer
        .unwrap();
    assert_eq!(answer.state(), v1::State::Confirmed);
    let events = pair
        .holder
        .ledger
        .list_events(sample::events())
        .await
        .unwrap()
        .into_inner()
        .events;
    let said: Vec<_> = events
        .iter()
        .map(|event| (event.kind(), event.principal.as_str()))
        .collect();
    assert!(said.contains(&(v1::EventKind::Granted, "w1")), "{said:?}");
    assert!(said.contains(&(v1::EventKind::Reported, "w2")), "{said:?}");
}

#[tokio::test]
async fn b16_an_id_with_another_input_tells_another_principal_nothing_of_the_first() {
    let mut pair = pair().await;
    let mut other = sample::claim();
    let specification = other.specification.as_mut().unwrap();
    specification.input_hash.as_mut().unwrap().digest = vec![8; 32];
    for settled in [false, true] {
        if settled {
            pair.holder
                .ownership
                .report(receipt(0, pair.token))
                .await
                .unwrap();
        }
        let refused = pair.other.ownership.claim(other.clone()).await.unwrap_err();
        assert_eq!(
            (refused.code(), reason(&refused)),
            (Code::AlreadyExists, "INPUT_MISMATCH".to_owned())
        );
        let all = format!("{refused:?}");
        for secret in ["ch_1", "w1", "worker-1", "charge_card"] {
            assert!(!all.contains(secret), "{secret}: {all}");
        }
    }
}
