//! What single fields mean: required ones, defaults, bounds.

use deed_core::command::{Ask, Command, Then};
use deed_core::contract::Contract;
use deed_core::evidence::{Receipt, Verdict};
use deed_proto::v1;

use super::super::calls::{Call, observe};
use super::super::{Invalid, query, renew};
use super::local;
use crate::grpc::testing::sample;

fn refused<M: Call>(message: M) -> String {
    message.command(local()).unwrap_err().field
}

fn claim(change: impl FnOnce(&mut v1::ClaimRequest)) -> Result<Command, Invalid> {
    let mut message = sample::claim();
    change(&mut message);
    message.command(local())
}

pub fn contract(change: impl FnOnce(&mut v1::Contract)) -> Result<Contract, Invalid> {
    let mut message = sample::claim();
    let specification = message.specification.as_mut().unwrap();
    change(specification.contract.as_mut().unwrap());
    match message.command(local())?.ask {
        Ask::Claim { spec, .. } => Ok(spec.contract),
        other => panic!("a claim became {other:?}"),
    }
}

#[test]
fn every_required_field_is_asked_for_by_name() {
    let spec = |change: fn(&mut v1::Specification)| {
        claim(|claim| change(claim.specification.as_mut().unwrap()))
            .unwrap_err()
            .field
    };
    assert_eq!(claim(|it| it.key = None).unwrap_err().field, "key");
    assert_eq!(claim(|it| it.owner.clear()).unwrap_err().field, "owner");
    assert_eq!(claim(|it| it.request_id.clear()).unwrap_err().field, "request_id");
    assert_eq!(
        claim(|it| it.specification = None).unwrap_err().field,
        "specification"
    );
    assert_eq!(spec(|it| it.tool.clear()), "specification.tool");
    assert_eq!(spec(|it| it.input_hash = None), "specification.input_hash");
    assert_eq!(spec(|it| it.contract = None), "specification.contract");
    assert_eq!(
        contract(|it| it.effect_class = 0).unwrap_err().field,
        "specification.contract.effect_class"
    );

    let mut report = sample::report(sample::receipts().remove(0));
    report.receipt = Some(v1::Receipt::default());
    assert_eq!(refused(report.clone()), "receipt");
    report.receipt = None;
    assert_eq!(refused(report), "receipt");
    let mut verify = sample::verify(sample::observations().remove(0));
    verify.observation = None;
    assert_eq!(refused(verify), "observation");
    let mut observes = sample::observes().remove(0);
    observes.target = None;
    assert_eq!(observe(observes, local()).unwrap_err().field, "target");
    let mut resolve = sample::resolves().remove(0);
    resolve.resolution = None;
    assert_eq!(refused(resolve), "resolution");
    let mut acknowledge = sample::acknowledge();
    acknowledge.flag = 0;
    assert_eq!(refused(acknowledge), "flag");
    let mut deny = sample::deny();
    deny.version = 0;
    assert_eq!(refused(deny), "version");
}

#[test]
fn empty_blank_and_absent_ids_are_refused_but_null_is_an_ordinary_key() {
    let named = |id: &str| claim(|claim| claim.key.as_mut().unwrap().action_id = id.to_owned());
    for id in ["", " ", "\u{2003}", " a", "a "] {
        assert_eq!(named(id).unwrap_err().field, "key.action_id", "{id:?}");
    }
    assert_eq!(named("null").unwrap().key.action_id.as_str(), "null");
}

#[test]
fn key_text_in_another_normal_form_is_refused() {
    let decomposed = "cafe\u{301}";
    let named = claim(|claim| claim.key.as_mut().unwrap().action_id = decomposed.to_owned());
    let invalid = named.unwrap_err();
    assert_eq!(invalid.field, "key.action_id");
    assert!(invalid.reason.contains("NFC"), "{invalid}");
    assert!(claim(|claim| claim.key.as_mut().unwrap().action_id = "café".to_owned()).is_ok());
    assert_eq!(
        claim(|claim| claim.owner = decomposed.to_owned())
            .unwrap_err()
            .field,
        "owner"
    );
    let label = claim(|claim| claim.specification.as_mut().unwrap().labels[0].key = decomposed.to_owned());
    assert_eq!(label.unwrap_err().field, "specification.labels[0].key");
    let fact = claim(|claim| {
        let expected = claim.specification.as_mut().unwrap().expected_effect.as_mut();
        expected.unwrap().facts[1] = decomposed.to_owned();
    });
    assert_eq!(fact.unwrap_err().field, "specification.expected_effect.facts[1]");
}

#[test]
fn a_request_id_is_a_uuid_and_not_nil() {
    for text in ["1", "not-a-uuid", "00000000-0000-0000-0000-000000000000"] {
        assert_eq!(
            claim(|claim| claim.request_id = text.to_owned())
                .unwrap_err()
                .field,
            "request_id"
        );
    }
}

#[test]
fn a_token_is_one_that_could_have_been_issued() {
    for token in [0, 1 << 63, u64::MAX] {
        let mut begin = sample::begin();
        begin.fencing_token = token;
        assert_eq!(refused(begin), "fencing_token", "{token}");
    }
    let mut begin = sample::begin();
    begin.fencing_token = (1 << 53) + 1;
    let Ask::Begin { token } = begin.command(local()).unwrap().ask else {
        panic!()
    };
    assert_eq!(token.number(), (1 << 53) + 1);
}

#[test]
fn a_hash_has_a_known_scheme_and_the_length_of_sha_256() {
    let with = |scheme: &str, length: usize| {
        claim(|claim| {
            let hash = claim.specification.as_mut().unwrap().input_hash.as_mut().unwrap();
            *hash = v1::InputHash {
                scheme: scheme.to_owned(),
                digest: vec![1; length],
            };
        })
    };
    assert!(with("raw-sha256", 32).is_ok());
    assert_eq!(
        with("md5", 32).unwrap_err().field,
        "specification.input_hash.scheme"
    );
    for length in [0, 31, 33] {
        assert_eq!(
            with("jcs-sha256", length).unwrap_err().field,
            "specification.input_hash.digest"
        );
    }
}

#[test]
fn a_result_beyond_its_limit_is_refused_with_the_limit() {
    let completed = |bytes: usize| {
        use v1::receipt::{Completed, Kind};
        let kind = Kind::Completed(Completed {
            external_id: String::new(),
            result: Some(vec![0; bytes]),
        });
        sample::report(v1::Receipt { kind: Some(kind) }).command(local())
    };
    let invalid = completed(262_145).unwrap_err();
    assert_eq!(invalid.field, "receipt.completed.result");
    assert!(invalid.reason.contains("262144"), "{invalid}");
    let Ask::Report { receipt, .. } = completed(262_144).unwrap().ask else {
        panic!()
    };
    let Receipt::Completed { external_id, .. } = receipt else {
        panic!()
    };
    assert_eq!(external_id, None, "an empty external id is none");
}

#[test]
fn a_witness_brings_no_doubt() {
    for (index, observation) in sample::observations().into_iter().enumerate() {
        let mut message = sample::observes().remove(0);
        message.observation = Some(observation);
        let parsed = observe(message, local());
        assert_eq!(parsed.is_ok(), index < 3, "{parsed:?}");
    }
}

#[test]
fn no_list_names_anything_twice_or_is_too_long() {
    let fact = v1::FactSeen {
        name: "row_exists".to_owned(),
        seen: v1::Seen::False.into(),
    };
    let observed = |facts: Vec<v1::FactSeen>| {
        let mut observation = sample::observations().remove(3);
        observation.facts = facts;
        refused(sample::verify(observation))
    };
    assert_eq!(observed(vec![fact.clone(), fact.clone()]), "observation.facts[1]");
    assert_eq!(observed(vec![fact; 33]), "observation.facts");

    let labelled = |labels: Vec<v1::Label>| {
        claim(|claim| claim.specification.as_mut().unwrap().labels = labels)
            .unwrap_err()
            .field
    };
    let label = sample::specification().labels.remove(0);
    assert_eq!(
        labelled(vec![label.clone(), label.clone()]),
        "specification.labels"
    );
    assert_eq!(labelled(vec![label; 17]), "specification.labels");

    let mut list = sample::list();
    list.tools = vec!["t".to_owned(); 65];
    assert_eq!(query::list(list).unwrap_err().field, "tools");
}

#[test]
fn zero_means_not_said_in_a_failed_or_pending_verdict() {
    use v1::observation::{Failed, Pending, Verdict as Wire};
    let verdict = |verdict| {
        let mut observation = sample::observations().remove(0);
        observation.verdict = Some(verdict);
        let Ask::Verify {
            observation, then, ..
        } = sample::verify(observation).command(local()).unwrap().ask
        else {
            panic!()
        };
        assert_eq!(then, Then::BegunGrant);
        observation.verdict
    };
    let pending = verdict(Wire::Pending(Pending {
        retry_after: sample::seconds(0),
    }));
    assert_eq!(pending, Verdict::Pending { retry_after: None });
    let failed = verdict(Wire::Failed(Failed::default()));
    assert!(matches!(
        failed,
        Verdict::Failed {
            external_id: None,
            attempt: None,
            ..
        }
    ));
}

#[test]
fn a_fingerprint_covers_everything_but_the_request_id() {
    let print = |change: fn(&mut v1::ClaimRequest)| claim(change).unwrap().request.fingerprint;
    let same = print(|_| ());
    assert_eq!(
        same,
        print(|it| it.request_id = "11111111-1111-4111-8111-111111111111".to_owned())
    );
    assert_ne!(same, print(|it| it.begin = false));
    assert_ne!(same, print(|it| it.owner = "worker-2".to_owned()));
    let begun = sample::begin().command(local()).unwrap().request.fingerprint;
    let released = sample::release().command(local()).unwrap().request.fingerprint;
    assert_ne!(
        begun, released,
        "the same fields in another call are another call"
    );
}

#[test]
fn every_lease_of_a_renewal_is_a_command_of_its_own() {
    let mut message = sample::renew();
    let mut other = message.leases[0].clone();
    other.key.as_mut().unwrap().action_id = "other".to_owned();
    let mut spoilt = other.clone();
    spoilt.fencing_token = 0;
    message.leases = vec![message.leases[0].clone(), spoilt, other.clone(), other];
    let entries = renew::renew(message.clone(), local()).unwrap();
    let again = renew::renew(message, local()).unwrap();
    assert_eq!(entries, again, "a repeat derives the same request ids");
    let fields: Vec<_> = entries
        .iter()
        .map(|entry| entry.as_ref().map_err(|invalid| invalid.field.clone()).err())
        .collect();
    let expected = [None, Some("leases[1].fencing_token"), None, Some("leases[3]")];
    assert_eq!(fields, expected.map(|field| field.map(str::to_owned)));
    assert_ne!(
        entries[0].as_ref().unwrap().request.id,
        entries[2].as_ref().unwrap().request.id
    );
}

#[test]
fn a_renewal_has_between_one_and_a_thousand_leases() {
    let mut message = sample::renew();
    message.leases = vec![v1::RenewEntry::default(); 1_001];
    assert_eq!(
        renew::renew(message.clone(), local()).unwrap_err().field,
        "leases"
    );
    message.leases.clear();
    assert_eq!(renew::renew(message, local()).unwrap_err().field, "leases");
}

#[test]
fn a_page_has_a_size() {
    for (size, limit) in [
        (0, Some(50)),
        (1, Some(1)),
        (1_000, Some(1_000)),
        (1_001, None),
        (-1, None),
    ] {
        let mut list = sample::list();
        list.page_size = size;
        assert_eq!(query::list(list).ok().map(|query| query.limit), limit, "{size}");
    }
}

#[test]
fn waiting_for_a_change_needs_the_version_that_was_seen() {
    let mut wait = sample::wait();
    wait.known_version = 0;
    assert_eq!(query::wait(wait.clone()).unwrap_err().field, "known_version");
    wait.until = v1::WaitUntil::Settled.into();
    assert!(query::wait(wait.clone()).is_ok());
    wait.timeout = sample::seconds(61);
    assert_eq!(query::wait(wait).unwrap_err().field, "timeout");
}
