//! What strangers send: too much, not UTF-8, not a message, not a call. B46 and B50.

use deed_proto::v1;
use prost::Message;
use tonic::Code;

use crate::grpc::testing::sample;
use crate::grpc::testing::server::{Running, details, field, reason};
use crate::grpc::testing::wire::{Kind, Value, leaves, spoil};

fn completed(bytes: usize) -> v1::ReportRequest {
    use v1::receipt::{Completed, Kind};
    let kind = Kind::Completed(Completed {
        external_id: String::new(),
        result: Some(vec![7; bytes]),
    });
    sample::report(v1::Receipt { kind: Some(kind) })
}

#[tokio::test]
async fn b46_evidence_of_5_mib_gets_an_error_with_the_limit_and_the_connection_stays_usable() {
    let server = Running::start().await;
    let mut client = server.ownership();
    let refused = client.report(completed(5 * 1024 * 1024)).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert_eq!(field(&refused), "receipt.completed.result");
    assert!(refused.message().contains("262144"), "{refused}");
    client.claim(sample::claim()).await.unwrap();
}

#[tokio::test]
async fn b46_a_message_beyond_the_servers_limit_names_it_and_the_connection_stays_usable() {
    let server = Running::start().await;
    let mut client = server.ownership();
    for _ in 0..3 {
        let refused = client.report(completed(9 * 1024 * 1024)).await.unwrap_err();
        assert_eq!(
            (refused.code(), reason(&refused).as_str()),
            (Code::InvalidArgument, "MESSAGE_TOO_LARGE"),
            "{refused:?}"
        );
        assert_eq!(
            details(&refused).error_info().unwrap().metadata["limit_bytes"],
            "8388608"
        );
    }
    client.claim(sample::claim()).await.unwrap();
}

/// The calls with text, each with samples that reach every field.
fn calls() -> Vec<(&'static str, &'static str, Vec<Vec<u8>>)> {
    fn all<M: Message>(messages: Vec<M>) -> Vec<Vec<u8>> {
        messages.iter().map(Message::encode_to_vec).collect()
    }
    let reports = sample::receipts().into_iter().map(sample::report).collect();
    let verifies = sample::observations().into_iter().map(sample::verify).collect();
    vec![
        ("Ownership/Plan", "PlanRequest", all(vec![sample::plan()])),
        ("Ownership/Claim", "ClaimRequest", all(vec![sample::claim()])),
        ("Ownership/Begin", "BeginRequest", all(vec![sample::begin()])),
        (
            "Ownership/Report",
            "ReportRequest",
            all::<v1::ReportRequest>(reports),
        ),
        (
            "Ownership/Verify",
            "VerifyRequest",
            all::<v1::VerifyRequest>(verifies),
        ),
        ("Ownership/Renew", "RenewRequest", all(vec![sample::renew()])),
        (
            "Ownership/Release",
            "ReleaseRequest",
            all(vec![sample::release()]),
        ),
        ("Ownership/Observe", "ObserveRequest", all(sample::observes())),
        (
            "Operations/Approve",
            "ApproveRequest",
            all(vec![sample::approve()]),
        ),
        ("Operations/Deny", "DenyRequest", all(vec![sample::deny()])),
        ("Operations/Assign", "AssignRequest", all(vec![sample::assign()])),
        ("Operations/Resolve", "ResolveRequest", all(sample::resolves())),
        ("Operations/Reopen", "ReopenRequest", all(vec![sample::reopen()])),
        (
            "Operations/Acknowledge",
            "AcknowledgeRequest",
            all(vec![sample::acknowledge()]),
        ),
        ("Ledger/GetAction", "GetActionRequest", all(vec![sample::get()])),
        (
            "Ledger/ListActions",
            "ListActionsRequest",
            all(vec![sample::list()]),
        ),
        (
            "Ledger/ListEvents",
            "ListEventsRequest",
            all(vec![sample::events()]),
        ),
        (
            "Ledger/WaitAction",
            "WaitActionRequest",
            all(vec![sample::wait()]),
        ),
    ]
}

#[tokio::test]
async fn b50_invalid_utf_8_in_any_text_field_is_refused_by_name() {
    let server = Running::start().await;
    let mut fields = 0;
    for (call, message, samples) in calls() {
        for leaf in leaves(message).iter().filter(|leaf| leaf.kind == Kind::Text) {
            for sample in &samples {
                let bytes = spoil(sample, &leaf.steps, Value::Bytes(b"a\xff\xfe"));
                let refused = server.raw(&format!("/deed.v1.{call}"), bytes).await.unwrap_err();
                assert_eq!(refused.code(), Code::InvalidArgument, "{call} {}", leaf.path());
                assert_eq!(field(&refused), leaf.path(), "{call}: {refused}");
            }
            fields += 1;
        }
    }
    assert!(fields > 80, "only {fields} fields were tried");
    server.ownership().claim(sample::claim()).await.unwrap();
}

#[tokio::test]
async fn b50_control_characters_cross_the_wire_and_are_refused_by_name() {
    let server = Running::start().await;
    let mut claim = sample::claim();
    claim.owner = "worker\0".to_owned();
    let refused = server.ownership().claim(claim).await.unwrap_err();
    assert_eq!(
        (refused.code(), field(&refused).as_str()),
        (Code::InvalidArgument, "owner")
    );
}

#[tokio::test]
async fn bytes_that_are_no_message_are_never_an_internal_error() {
    let server = Running::start().await;
    let deep = vec![0x0b; 4_096];
    let cases = [
        vec![0xff; 64],
        vec![0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f],
        vec![0x07],
        vec![0x00, 0x00],
        deep,
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
    ];
    for bytes in cases {
        for (call, _, _) in calls() {
            let refused = server
                .raw(&format!("/deed.v1.{call}"), bytes.clone())
                .await
                .unwrap_err();
            assert_eq!(
                refused.code(),
                Code::InvalidArgument,
                "{call} {bytes:?}: {refused}"
            );
            reason(&refused);
        }
    }
}

#[tokio::test]
async fn an_empty_message_names_what_is_missing() {
    let server = Running::start().await;
    for (call, _, _) in calls()
        .into_iter()
        .filter(|(call, ..)| *call != "Ledger/ListActions")
    {
        let refused = server
            .raw(&format!("/deed.v1.{call}"), Vec::new())
            .await
            .unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{call}");
        assert_eq!(reason(&refused), "INVALID_FIELD", "{call}");
    }
}

#[tokio::test]
async fn a_compressed_message_is_refused_with_what_is_wrong() {
    let server = Running::start().await;
    let mut request = tonic::Request::new(sample::claim());
    request
        .metadata_mut()
        .insert("grpc-encoding", "gzip".parse().unwrap());
    let refused = server.ownership().claim(request).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unimplemented);
    assert_eq!(reason(&refused), "ENCODING_NOT_SUPPORTED");
    assert!(refused.message().contains("gzip"), "{refused}");
}

#[tokio::test]
async fn a_call_that_nobody_knows_is_unimplemented_with_details() {
    let server = Running::start().await;
    for path in ["/deed.v1.Ownership/Seize", "/deed.v2.Ownership/Claim", "/x"] {
        let unknown = server.raw(path, Vec::new()).await.unwrap_err();
        assert_eq!(unknown.code(), Code::Unimplemented, "{path}");
        assert_eq!(reason(&unknown), "CALL_UNKNOWN");
    }
}
