//! Lists: every row once, bounded in rows and in bytes. B46.

use std::collections::BTreeSet;

use deed_proto::v1;
use prost::Message;
use tonic::Code;

use crate::grpc::testing::sample;
use crate::grpc::testing::server::{Running, field};

async fn plan(server: &Running, number: usize, description: &str) {
    let mut plan = sample::plan();
    plan.key.as_mut().unwrap().action_id = format!("action-{number:05}");
    let specification = plan.specification.as_mut().unwrap();
    specification.expected_effect.as_mut().unwrap().description = description.to_owned();
    server.ownership().plan(plan).await.unwrap();
}

#[tokio::test]
async fn b46_pages_are_bounded_in_bytes_and_hold_every_row_once() {
    const ROWS: usize = 1_500;
    let server = Running::start().await;
    let description = "x".repeat(1_024);
    for number in 0..ROWS {
        plan(&server, number, &description).await;
    }
    let mut seen = BTreeSet::new();
    let mut request = v1::ListActionsRequest {
        page_size: 1_000,
        ..v1::ListActionsRequest::default()
    };
    let mut short = false;
    loop {
        let page = server
            .ledger()
            .list_actions(request.clone())
            .await
            .unwrap()
            .into_inner();
        assert!(page.encoded_len() < 1_200_000, "{} bytes", page.encoded_len());
        short |= page.actions.len() < 1_000 && !page.next_page_token.is_empty();
        for action in page.actions {
            assert!(seen.insert(action.key.unwrap().action_id), "a row came twice");
        }
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    assert_eq!(seen.len(), ROWS);
    assert!(short, "bytes ended no page");
}

#[tokio::test]
async fn a_page_ends_where_it_was_asked_to_and_the_last_one_has_no_token() {
    let server = Running::start().await;
    for number in 0..4 {
        plan(&server, number, "").await;
    }
    let mut request = v1::ListActionsRequest {
        page_size: 2,
        ..v1::ListActionsRequest::default()
    };
    let first = server
        .ledger()
        .list_actions(request.clone())
        .await
        .unwrap()
        .into_inner();
    assert_eq!(first.actions.len(), 2);
    request.page_token = first.next_page_token;
    request.page_size = 3;
    let last = server
        .ledger()
        .list_actions(request.clone())
        .await
        .unwrap()
        .into_inner();
    assert_eq!((last.actions.len(), last.next_page_token.as_str()), (2, ""));

    request.namespace = "another".to_owned();
    let refused = server.ledger().list_actions(request.clone()).await.unwrap_err();
    assert_eq!(
        (refused.code(), field(&refused).as_str()),
        (Code::InvalidArgument, "page_token")
    );
    request.page_token = "00ff".to_owned();
    let refused = server.ledger().list_actions(request).await.unwrap_err();
    assert_eq!(
        (refused.code(), field(&refused).as_str()),
        (Code::InvalidArgument, "page_token")
    );
}

#[tokio::test]
async fn a_history_is_paged_in_its_order() {
    let server = Running::start().await;
    let claimed = server
        .ownership()
        .claim(sample::claim())
        .await
        .unwrap()
        .into_inner();
    let Some(v1::next_step::Kind::Execute(grant)) = claimed.answer.unwrap().next_step.unwrap().kind else {
        panic!()
    };
    let mut release = sample::release();
    release.fencing_token = grant.fencing_token;
    server.ownership().release(release).await.unwrap();

    let mut request = v1::ListEventsRequest {
        page_size: 1,
        ..sample::events()
    };
    let mut told = Vec::new();
    loop {
        let page = server
            .ledger()
            .list_events(request.clone())
            .await
            .unwrap()
            .into_inner();
        told.extend(page.events.iter().map(|event| (event.sequence, event.kind())));
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    assert_eq!(told, [(1, v1::EventKind::Granted), (2, v1::EventKind::Released)]);

    let mut unknown = sample::events();
    unknown.key.as_mut().unwrap().action_id = "nobody".to_owned();
    let refused = server.ledger().list_events(unknown).await.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound);
}
