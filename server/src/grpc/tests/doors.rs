//! Who may make which call where. Every call of the API is in the table, so a call without a rule fails here.

mod table;

use std::collections::BTreeSet;

use deed_proto::FILE_DESCRIPTOR_SET;
use deed_proto::v1;
use prost::Message;
use prost_types::FileDescriptorSet;
use secrecy::SecretString;
use tonic::{Code, Status};

use crate::auth::Role;
use crate::auth::testing::{Written, principal};
use crate::grpc::testing::guarded::{Guarded, Shows, raw};
use crate::grpc::testing::sample;
use crate::grpc::testing::server::reason;
use table::{Told, call, moved, rules};

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
