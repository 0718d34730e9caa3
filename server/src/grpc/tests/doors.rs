//! Who may make which call where. Every call of the API is in the table, so a call without a rule fails here.

use std::collections::BTreeSet;

use deed_proto::FILE_DESCRIPTOR_SET;
use deed_proto::v1::{self, batch_result, renew_result, session_response};
use prost::Message;
use prost_types::FileDescriptorSet;
use secrecy::SecretString;
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::auth::testing::{Written, principal};
use crate::auth::{Right, Role};
use crate::grpc::testing::guarded::{Guarded, Shows, raw};
use crate::grpc::testing::sample;
use crate::grpc::testing::server::reason;
use crate::grpc::testing::wire::{Value, leaves, spoil};

/// Each call with what it needs, its message, and a sample of it that concerns the namespace `shop` only.
fn rules() -> Vec<(&'static str, Right, &'static str, Vec<u8>)> {
    use Right::{Decide, Observe, Read, Work};
    let claim = sample::claim();
    let report = sample::report(sample::receipts().remove(0));
    let verify = sample::verify(sample::observations().remove(0));
    let batch_claim = v1::BatchClaimRequest {
        entries: vec![claim.clone()],
    };
    let batch_report = v1::BatchReportRequest {
        entries: vec![report.clone()],
    };
    let observe = sample::observes().remove(0);
    let session = v1::SessionRequest {
        correlation_id: 1,
        timeout: None,
        call: Some(v1::session_request::Call::Observe(observe.clone())),
    };
    let due = v1::ClaimDueRequest {
        namespace: "shop".to_owned(),
        tools: vec!["charge_card".to_owned()],
        owner: "worker-1".to_owned(),
        request_id: sample::request_id(),
        ..Default::default()
    };
    let watch = v1::WatchActionsRequest {
        namespace: "shop".to_owned(),
        ..Default::default()
    };
    let stats = v1::GetStatsRequest {
        namespace: "shop".to_owned(),
        ..Default::default()
    };
    let wait = v1::WaitActionRequest {
        timeout: sample::seconds(0),
        ..sample::wait()
    };
    vec![
        (
            "Ownership/Plan",
            Work,
            "PlanRequest",
            sample::plan().encode_to_vec(),
        ),
        ("Ownership/Claim", Work, "ClaimRequest", claim.encode_to_vec()),
        (
            "Ownership/Begin",
            Work,
            "BeginRequest",
            sample::begin().encode_to_vec(),
        ),
        ("Ownership/Report", Work, "ReportRequest", report.encode_to_vec()),
        ("Ownership/Verify", Work, "VerifyRequest", verify.encode_to_vec()),
        (
            "Ownership/Renew",
            Work,
            "RenewRequest",
            sample::renew().encode_to_vec(),
        ),
        (
            "Ownership/Release",
            Work,
            "ReleaseRequest",
            sample::release().encode_to_vec(),
        ),
        (
            "Ownership/Observe",
            Observe,
            "ObserveRequest",
            observe.encode_to_vec(),
        ),
        ("Ownership/ClaimDue", Work, "ClaimDueRequest", due.encode_to_vec()),
        (
            "Ownership/BatchClaim",
            Work,
            "BatchClaimRequest",
            batch_claim.encode_to_vec(),
        ),
        (
            "Ownership/BatchReport",
            Work,
            "BatchReportRequest",
            batch_report.encode_to_vec(),
        ),
        (
            "Ownership/Session",
            Observe,
            "SessionRequest",
            session.encode_to_vec(),
        ),
        (
            "Ledger/GetAction",
            Read,
            "GetActionRequest",
            sample::get().encode_to_vec(),
        ),
        (
            "Ledger/ListActions",
            Read,
            "ListActionsRequest",
            sample::list().encode_to_vec(),
        ),
        (
            "Ledger/ListEvents",
            Read,
            "ListEventsRequest",
            sample::events().encode_to_vec(),
        ),
        (
            "Ledger/WatchActions",
            Read,
            "WatchActionsRequest",
            watch.encode_to_vec(),
        ),
        (
            "Ledger/WaitAction",
            Read,
            "WaitActionRequest",
            wait.encode_to_vec(),
        ),
        ("Ledger/GetStats", Read, "GetStatsRequest", stats.encode_to_vec()),
        (
            "Operations/Approve",
            Decide,
            "ApproveRequest",
            sample::approve().encode_to_vec(),
        ),
        (
            "Operations/Deny",
            Decide,
            "DenyRequest",
            sample::deny().encode_to_vec(),
        ),
        (
            "Operations/Assign",
            Decide,
            "AssignRequest",
            sample::assign().encode_to_vec(),
        ),
        (
            "Operations/Resolve",
            Decide,
            "ResolveRequest",
            sample::resolves().remove(0).encode_to_vec(),
        ),
        (
            "Operations/Reopen",
            Decide,
            "ReopenRequest",
            sample::reopen().encode_to_vec(),
        ),
        (
            "Operations/Acknowledge",
            Decide,
            "AcknowledgeRequest",
            sample::acknowledge().encode_to_vec(),
        ),
    ]
}

/// The same message about another namespace.
fn moved(message: &str, bytes: &[u8], namespace: &str) -> Vec<u8> {
    let all = leaves(message);
    let mut places = all
        .iter()
        .filter(|leaf| leaf.path().rsplit('.').next() == Some("namespace"));
    let sets = |steps: &[_]| spoil(bytes, steps, Value::Bytes(namespace.as_bytes()));
    match message {
        // A choice: the alternative that the sample has.
        "ObserveRequest" => sets(&places.find(|leaf| leaf.path() == "key.namespace").unwrap().steps),
        "SessionRequest" => sets(
            &places
                .find(|leaf| leaf.path() == "observe.key.namespace")
                .unwrap()
                .steps,
        ),
        _ => sets(&places.next().unwrap().steps),
    }
}

/// What became of a call: of the whole, or of its one entry.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Told {
    Answered,
    Refused(Code, String, String),
}

fn told(path: &str, answer: Result<Vec<u8>, Status>) -> Told {
    let bytes = match answer {
        Ok(bytes) => bytes,
        Err(status) => return Told::Refused(status.code(), reason(&status), status.message().to_owned()),
    };
    let entry = match path {
        "Ownership/Renew" => match v1::RenewResponse::decode(&bytes[..])
            .unwrap()
            .results
            .remove(0)
            .result
        {
            Some(renew_result::Result::Error(error)) => Some(error),
            _ => None,
        },
        "Ownership/BatchClaim" | "Ownership/BatchReport" => {
            match v1::BatchClaimResponse::decode(&bytes[..])
                .unwrap()
                .results
                .remove(0)
                .result
            {
                Some(batch_result::Result::Error(error)) => Some(error),
                _ => None,
            }
        }
        "Ownership/Session" => match v1::SessionResponse::decode(&bytes[..]).unwrap().outcome {
            Some(session_response::Outcome::Error(error)) => Some(error),
            _ => None,
        },
        _ => None,
    };
    entry.map_or(Told::Answered, |error| {
        Told::Refused(Code::from_i32(error.code), error.reason, error.message)
    })
}

impl Told {
    fn role_missing(&self) -> bool {
        matches!(self, Self::Refused(Code::PermissionDenied, reason, _) if reason == "ROLE_MISSING")
    }

    /// This server does not serve it yet. The rule holds from the day on which it does.
    fn not_served(&self) -> bool {
        matches!(self, Self::Refused(Code::Unimplemented, reason, _) if reason == "CALL_NOT_SERVED")
    }
}

async fn call(channel: &Channel, token: &SecretString, path: &str, bytes: &[u8]) -> Told {
    let full = format!("/deed.v1.{path}");
    told(
        path,
        raw(channel, &Shows::token(token), &full, bytes.to_vec()).await,
    )
}

#[test]
fn every_call_of_the_api_is_in_the_table() {
    let set = FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap();
    let services = set.file.iter().flat_map(|file| &file.service);
    let calls = services.flat_map(|service| {
        let path =
            |method: &prost_types::MethodDescriptorProto| format!("{}/{}", service.name(), method.name());
        service.method.iter().map(path)
    });
    let listed = rules().into_iter().map(|(path, ..)| path.to_owned());
    assert_eq!(listed.collect::<BTreeSet<_>>(), calls.collect());
}

#[tokio::test]
async fn each_role_makes_its_own_calls_in_its_own_namespace_and_no_other() {
    let people = Role::ALL.map(|role| {
        let word = role.word();
        let (own, text) = principal(word, &format!("{{ shop = [\"{word}\"] }}"));
        let (everywhere, more) = principal(
            &format!("{word}-everywhere"),
            &format!("{{ \"*\" = [\"{word}\"] }}"),
        );
        (role, own, everywhere, format!("{text}{more}"))
    });
    let text: String = people.iter().map(|(.., text)| text.as_str()).collect();
    let server = Guarded::start(Written::new(&text).keeper(), None).await;
    let channel = server.plain().await;
    for (path, right, message, bytes) in rules() {
        let elsewhere = moved(message, &bytes, "bank");
        for (role, own, everywhere, _) in &people {
            let name = format!("{path} as {role:?}");
            let work = || server.memory.with(|stored| (stored.judged, stored.looks));
            let before = work();
            let abroad = call(&channel, own, path, &elsewhere).await;
            assert!(abroad.role_missing() || abroad.not_served(), "{name}: {abroad:?}");
            assert_eq!(work(), before, "{name}: nothing is judged or looked up");
            for (told, whose) in [
                (call(&channel, own, path, &bytes).await, "at home"),
                (call(&channel, everywhere, path, &elsewhere).await, "everywhere"),
            ] {
                let allowed = role.rights().allow(right);
                assert!(
                    told.not_served() || told.role_missing() != allowed,
                    "{name} {whose}: {told:?}"
                );
                assert!(
                    !matches!(told, Told::Refused(Code::Unauthenticated, ..)),
                    "{name} {whose}: {told:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_stranger_is_refused_in_the_same_words_whether_or_not_the_id_exists() {
    let (banker, bank) = principal("banker", "{ bank = [\"worker\"] }");
    let (stranger, shop) = principal("stranger", "{ shop = [\"admin\"] }");
    let server = Guarded::start(Written::new(&format!("{bank}{shop}")).keeper(), None).await;
    let channel = server.plain().await;
    let mut words = Vec::new();
    for exists in [false, true] {
        if exists {
            let claim = moved("ClaimRequest", &sample::claim().encode_to_vec(), "bank");
            assert_eq!(
                call(&channel, &banker, "Ownership/Claim", &claim).await,
                Told::Answered
            );
        }
        let mut all = Vec::new();
        for (path, _, message, bytes) in rules() {
            all.push(call(&channel, &stranger, path, &moved(message, &bytes, "bank")).await);
        }
        words.push(all);
    }
    assert_eq!(words[0], words[1]);
}

#[tokio::test]
async fn without_credentials_or_with_wrong_ones_no_call_is_made() {
    let (token, text) = principal("w1", "{ \"*\" = [\"admin\"] }");
    let server = Guarded::start(Written::new(&text).keeper(), None).await;
    let channel = server.plain().await;
    let good = Shows::token(&token).authorization.remove(0);
    let wrong = [
        "Bearer",
        "Bearer ",
        "Bearer deed_0000000000000000000000000000000000000000000000000000000000000000",
        "Basic dzE6dzE=",
        &good.replace("Bearer ", ""),
        &format!("{good}0"),
    ]
    .map(Shows::header);
    let twice = Shows {
        authorization: vec![good.clone(), good.clone()],
    };
    for (path, _, _, bytes) in rules() {
        let full = format!("/deed.v1.{path}");
        let refused = raw(&channel, &Shows::default(), &full, bytes.clone())
            .await
            .unwrap_err();
        let told = (refused.code(), reason(&refused));
        assert_eq!(
            told,
            (Code::Unauthenticated, "CREDENTIALS_MISSING".to_owned()),
            "{path}"
        );
        for shows in wrong.iter().chain([&twice]) {
            let refused = raw(&channel, shows, &full, bytes.clone()).await.unwrap_err();
            let told = (refused.code(), reason(&refused));
            assert_eq!(
                told,
                (Code::Unauthenticated, "CREDENTIALS_REFUSED".to_owned()),
                "{path}"
            );
            assert!(!refused.message().contains("deed_"));
        }
    }
    assert_eq!(server.memory.with(|stored| (stored.judged, stored.looks)), (0, 0));
}

#[tokio::test]
async fn strangers_are_refused_before_their_message_is_read() {
    let (_, text) = principal("w1", "{ \"*\" = [\"admin\"] }");
    let server = Guarded::start(Written::new(&text).keeper(), None).await;
    let channel = server.plain().await;
    let refused = raw(
        &channel,
        &Shows::default(),
        "/deed.v1.Ownership/Claim",
        vec![0xff; 1024],
    )
    .await;
    assert_eq!(refused.unwrap_err().code(), Code::Unauthenticated);
}

#[tokio::test]
async fn health_is_open_and_reflection_and_unknown_calls_are_not() {
    let (token, text) = principal("w1", "{ shop = [\"viewer\"] }");
    let server = Guarded::start(Written::new(&text).keeper(), None).await;
    let channel = server.plain().await;
    let nobody = Shows::default();
    let health = raw(&channel, &nobody, "/grpc.health.v1.Health/Check", Vec::new())
        .await
        .unwrap();
    assert_eq!(health, [8, 1], "serving");
    for path in [
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        "/deed.v1.Ownership/Nothing",
    ] {
        let refused = raw(&channel, &nobody, path, Vec::new()).await.unwrap_err();
        assert_eq!(refused.code(), Code::Unauthenticated, "{path}");
    }
    // `list_services`.
    let question = vec![0x3a, 0x00];
    let path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
    let listed = raw(&channel, &Shows::token(&token), path, question)
        .await
        .unwrap();
    assert!(String::from_utf8_lossy(&listed).contains("deed.v1.Ownership"));
}

#[tokio::test]
async fn a_list_that_names_no_namespace_shows_those_that_its_caller_may_read() {
    let (banker, bank) = principal("banker", "{ bank = [\"worker\"], shop = [\"witness\"] }");
    let (all, admin) = principal("all", "{ \"*\" = [\"admin\"] }");
    let (hook, witness) = principal("hook", "{ \"*\" = [\"witness\"] }");
    let server = Guarded::start(Written::new(&format!("{bank}{admin}{witness}")).keeper(), None).await;
    let channel = server.plain().await;
    for namespace in ["bank", "shop", "farm"] {
        let claim = moved("ClaimRequest", &sample::claim().encode_to_vec(), namespace);
        assert_eq!(
            call(&channel, &all, "Ownership/Claim", &claim).await,
            Told::Answered
        );
    }
    let path = "/deed.v1.Ledger/ListActions";
    let seen = async |token: &SecretString| {
        let bytes = raw(&channel, &Shows::token(token), path, Vec::new()).await?;
        let page = v1::ListActionsResponse::decode(&bytes[..]).unwrap();
        let namespaces = page
            .actions
            .into_iter()
            .map(|action| action.key.unwrap().namespace);
        Ok::<_, Status>(namespaces.collect::<BTreeSet<_>>())
    };
    assert_eq!(seen(&banker).await.unwrap(), BTreeSet::from(["bank".to_owned()]));
    assert_eq!(seen(&all).await.unwrap().len(), 3);
    assert_eq!(reason(&seen(&hook).await.unwrap_err()), "ROLE_MISSING");
}
