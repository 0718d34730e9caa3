//! Files that change: what is said then holds at once, for callers that are in already too; what is broken holds never.

use std::sync::Arc;

use jsonwebtoken::Algorithm;
use secrecy::SecretString;

use crate::auth::refresh::Files;
use crate::auth::testing::{
    AUDIENCE, Authority, ISSUER, Issued, Signer, Written, bearer, claims, jwks, namespace, principal,
};
use crate::auth::tls::{ClientCertificate, TlsFiles};
use crate::auth::{Caller, Doors, Error, Right};

fn look(doors: &mut Doors) {
    doors.files.iter_mut().for_each(Files::look);
}

fn may_work(caller: &Caller) -> Result<(), Error> {
    caller.may(Right::Work, &namespace("shop"))
}

#[test]
fn a_new_version_of_the_auth_file_holds_for_those_who_are_in_already() {
    let (token, worker) = principal("w1", r#"{ shop = ["worker"] }"#);
    let written = Written::new(&worker);
    let mut doors = Doors::open(Some(&written.path()), None).unwrap();
    let caller = doors.keeper.admit(bearer(&token)).unwrap();
    assert!(may_work(&caller).is_ok());

    written.write("auth.toml", worker.replace("\"worker\"", "\"viewer\"").as_bytes());
    assert!(may_work(&caller).is_ok(), "nobody has looked yet");
    look(&mut doors);
    assert_eq!(may_work(&caller), Err(Error::RoleMissing { right: Right::Work }));

    // The same token in other hands is another principal, whom this stream has not asked for.
    written.write("auth.toml", worker.replace("\"w1\"", "\"w2\"").as_bytes());
    look(&mut doors);
    assert_eq!(may_work(&caller), Err(Error::CredentialsRefused));

    written.write("auth.toml", b"");
    look(&mut doors);
    assert_eq!(may_work(&caller), Err(Error::CredentialsRefused));
    assert!(doors.keeper.admit(bearer(&token)).is_err());
}

#[test]
fn a_broken_new_version_changes_nothing_and_a_mended_one_does() {
    let (token, worker) = principal("w1", r#"{ shop = ["worker"] }"#);
    let (next, other) = principal("w2", r#"{ shop = ["worker"] }"#);
    let written = Written::new(&worker);
    let mut doors = Doors::open(Some(&written.path()), None).unwrap();
    for broken in [&worker[..worker.len() - 9], "\u{0}", "[[principal]]"] {
        written.write("auth.toml", broken.as_bytes());
        look(&mut doors);
        assert!(doors.keeper.admit(bearer(&token)).is_ok());
    }
    std::fs::remove_file(written.path()).unwrap();
    look(&mut doors);
    assert!(doors.keeper.admit(bearer(&token)).is_ok());
    written.write("auth.toml", format!("{worker}{other}").as_bytes());
    look(&mut doors);
    assert!(doors.keeper.admit(bearer(&token)).is_ok() && doors.keeper.admit(bearer(&next)).is_ok());
}

#[test]
fn keys_of_the_issuer_come_and_go() {
    let (old, new) = (
        Signer::new(Algorithm::ES256, "old"),
        Signer::new(Algorithm::ES256, "new"),
    );
    let written = Written::new(&format!(
        "[[principal]]\nname = \"w1\"\nsubjects = [\"s\"]\nroles = {{ shop = [\"worker\"] }}\n\
         [jwt]\nkeys = \"jwks.json\"\nissuer = \"{ISSUER}\"\naudience = \"{AUDIENCE}\"\n"
    ));
    written.write("jwks.json", &jwks(&[old.jwk()]));
    let mut doors = Doors::open(Some(&written.path()), None).unwrap();
    let (before, after) = (old.sign(&claims("s")), new.sign(&claims("s")));
    let admitted = |doors: &Doors, token: &SecretString| doors.keeper.admit(bearer(token)).is_ok();
    let caller = doors.keeper.admit(bearer(&before)).unwrap();
    assert!(!admitted(&doors, &after));

    written.write("jwks.json", b"{\"keys\": []}");
    look(&mut doors);
    assert!(admitted(&doors, &before));

    written.write("jwks.json", &jwks(&[new.jwk()]));
    look(&mut doors);
    assert!(admitted(&doors, &after) && !admitted(&doors, &before));
    assert_eq!(
        may_work(&caller),
        Err(Error::CredentialsRefused),
        "what was verified once is not remembered"
    );
}

fn write_pair(written: &Written, pair: &Issued) {
    written.write("cert.pem", pair.certificate.as_bytes());
    written.write("key.pem", pair.key.as_bytes());
}

#[test]
fn certificates_are_exchanged_as_a_pair_and_half_of_one_is_not_used() {
    let authority = Authority::new("Test CA");
    let written = Written::new("");
    let file = |name: &str| written.path().with_file_name(name);
    let tls = TlsFiles {
        certificate: file("cert.pem"),
        key: file("key.pem"),
        client_ca: Some((file("ca.pem"), ClientCertificate::Required)),
    };
    write_pair(&written, &authority.server());
    written.write("ca.pem", authority.pem.as_bytes());
    let mut doors = Doors::open(None, Some(&tls)).unwrap();
    let current = doors.tls.clone().unwrap();
    let unchanged = |doors: &mut Doors| {
        let before = current.take();
        look(doors);
        Arc::ptr_eq(&before, &current.take())
    };
    assert!(unchanged(&mut doors));
    let next = authority.server();
    written.write("cert.pem", next.certificate.as_bytes());
    assert!(unchanged(&mut doors), "the old key is not the new certificate's");
    written.write("key.pem", next.key.as_bytes());
    assert!(!unchanged(&mut doors));
    written.write(
        "ca.pem",
        b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    );
    assert!(unchanged(&mut doors));
    written.write("ca.pem", Authority::new("Other CA").pem.as_bytes());
    assert!(!unchanged(&mut doors));
}

#[test]
fn files_that_cannot_be_used_are_named_at_the_start() {
    let written = Written::new("");
    let file = |name: &str| written.path().with_file_name(name);
    let tls = TlsFiles {
        certificate: file("cert.pem"),
        key: file("key.pem"),
        client_ca: None,
    };
    let told = || tls.load().map(|_| ()).unwrap_err().to_string();
    assert!(told().contains("cert.pem"));
    let authority = Authority::new("Test CA");
    let (one, other) = (authority.server(), authority.server());
    write_pair(
        &written,
        &Issued {
            certificate: one.certificate,
            key: other.key,
        },
    );
    assert!(told().contains("cannot be used together"), "{}", told());
    written.write("key.pem", b"no key");
    assert!(told().contains("private key"), "{}", told());
    assert!(Doors::open(Some(&file("nowhere.toml")), None).is_err());
}
