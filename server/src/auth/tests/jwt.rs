//! JSON Web Tokens: what holds, and what does not.

use std::time::Duration;

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use crate::auth::testing::{AUDIENCE, ISSUER, Signer, Written, base64url, bearer, claims, jwks, namespace};
use crate::auth::{Error, Keeper, Right, jwt};

const LEEWAY: u64 = 30;

/// Trusts these keys; `order-service` is the principal `orders`, a worker of `shop`.
fn keeper(keys: &[Value]) -> Keeper {
    let written = Written::new(&format!(
        "[[principal]]\nname = \"orders\"\nsubjects = [\"order-service\"]\nroles = {{ shop = [\"worker\"] }}\n\
         [jwt]\nkeys = \"jwks.json\"\nissuer = \"{ISSUER}\"\naudience = \"{AUDIENCE}\"\nleeway = \"{LEEWAY}s\"\n"
    ));
    written.write("jwks.json", &jwks(keys));
    written.keeper()
}

fn with(field: &str, value: Value) -> Value {
    let mut changed = claims("order-service");
    changed[field] = value;
    changed
}

fn without(field: &str) -> Value {
    let mut changed = claims("order-service");
    changed.as_object_mut().unwrap().remove(field);
    changed
}

#[test]
fn each_allowed_algorithm_proves_the_principal_of_its_subject() {
    let signers = [
        Signer::new(Algorithm::RS256, "rsa"),
        Signer::new(Algorithm::ES256, "ec"),
        Signer::new(Algorithm::EdDSA, "ed"),
    ];
    let keeper = keeper(&signers.each_ref().map(Signer::jwk));
    for signer in &signers {
        let caller = keeper
            .admit(bearer(&signer.sign(&claims("order-service"))))
            .unwrap();
        assert_eq!(caller.principal().as_str(), "orders");
        assert!(caller.may(Right::Work, &namespace("shop")).is_ok());
        assert!(caller.may(Right::Work, &namespace("bank")).is_err());
    }
}

#[test]
fn the_audience_may_be_a_list_that_names_this_service() {
    let signer = Signer::new(Algorithm::ES256, "ec");
    let keeper = keeper(&[signer.jwk()]);
    assert!(
        keeper
            .admit(bearer(&signer.sign(&with("aud", json!(["other", AUDIENCE])))))
            .is_ok()
    );
}

#[test]
fn claims_that_do_not_hold_are_refused() {
    let signer = Signer::new(Algorithm::ES256, "ec");
    let keeper = keeper(&[signer.jwk()]);
    let now = jwt::now();
    for wrong in [
        with("iss", json!("https://other.example")),
        with("iss", json!([ISSUER, "https://other.example"])),
        with("aud", json!("billing")),
        with("aud", json!([])),
        with("exp", json!(now - LEEWAY - 5)),
        with("exp", json!("never")),
        with("exp", json!(-1)),
        with("nbf", json!(now + LEEWAY + 5)),
        with("sub", json!("somebody-else")),
        with("sub", json!("orders")),
        with("sub", json!(7)),
        without("iss"),
        without("aud"),
        without("exp"),
        without("sub"),
    ] {
        let told = keeper
            .admit(bearer(&signer.sign(&wrong)))
            .map(|caller| caller.principal().clone());
        assert_eq!(told.unwrap_err(), Error::CredentialsRefused, "{wrong}");
    }
}

#[test]
fn clocks_may_differ_by_the_leeway_and_no_more() {
    let signer = Signer::new(Algorithm::ES256, "ec");
    let keeper = keeper(&[signer.jwk()]);
    let now = jwt::now();
    for within in [
        with("exp", json!(now - LEEWAY + 5)),
        with("nbf", json!(now + LEEWAY - 5)),
    ] {
        assert!(keeper.admit(bearer(&signer.sign(&within))).is_ok(), "{within}");
    }
}

#[test]
fn the_key_says_which_algorithm_is_used_and_never_the_token() {
    let (ec, ed) = (
        Signer::new(Algorithm::ES256, "ec"),
        Signer::new(Algorithm::EdDSA, "ed"),
    );
    let keeper = keeper(&[ec.jwk()]);
    let claims = claims("order-service");
    let good = ec.sign(&claims);
    let body = good.expose_secret().split('.').nth(1).unwrap();
    let unsigned = |header: Value| format!("{}.{body}.", base64url(header.to_string().as_bytes()));
    // A public key taken for a shared secret.
    let mut confused = Header::new(Algorithm::HS256);
    confused.kid = Some("ec".to_owned());
    let secret = EncodingKey::from_secret(ec.jwk().to_string().as_bytes()).unwrap();
    let posing = Signer::new(Algorithm::EdDSA, "ec").sign(&claims);
    for wrong in [
        unsigned(json!({"alg": "none"})),
        unsigned(json!({"alg": "none", "kid": "ec"})),
        unsigned(json!({"alg": "ES256", "kid": "ec"})),
        encode(&confused, &claims, &secret).unwrap(),
        posing.expose_secret().to_owned(),
        ed.sign(&claims).expose_secret().to_owned(),
        Signer::new(Algorithm::ES256, "ec")
            .sign(&claims)
            .expose_secret()
            .to_owned(),
        format!("{}x", good.expose_secret()),
        "..".to_owned(),
    ] {
        let told = keeper.admit(bearer(&SecretString::from(wrong.clone())));
        assert_eq!(
            told.map(|_| ()).unwrap_err(),
            Error::CredentialsRefused,
            "{wrong}"
        );
    }
    assert!(keeper.admit(bearer(&good)).is_ok());
}

#[test]
fn a_header_that_must_be_understood_and_is_not_is_refused() {
    let signer = Signer::new(Algorithm::ES256, "ec");
    let keeper = keeper(&[signer.jwk()]);
    assert!(
        keeper
            .admit(bearer(&signer.sign_critical(&claims("order-service"))))
            .is_err()
    );
}

#[test]
fn keys_for_other_uses_are_left_out_and_keys_alike_are_refused() {
    let signer = Signer::new(Algorithm::ES256, "ec");
    let other = json!({"kty": "OKP", "crv": "X25519", "x": "AAAA", "kid": "x"});
    let mut encrypts = Signer::new(Algorithm::ES256, "enc").jwk();
    encrypts["use"] = json!("enc");
    let token = signer.sign(&claims("order-service"));
    assert!(
        keeper(&[other, encrypts.clone(), signer.jwk()])
            .admit(bearer(&token))
            .is_ok()
    );
    let settings = jwt::Settings {
        issuer: ISSUER.to_owned(),
        audience: AUDIENCE.to_owned(),
        leeway: Duration::ZERO,
    };
    let told = |keys: &[Value]| jwt::Verifier::new(settings.clone(), &jwks(keys)).map(|_| ());
    assert_eq!(told(&[encrypts]), Err(jwt::KeysError::NoKey));
    assert_eq!(
        told(&[signer.jwk(), signer.jwk()]),
        Err(jwt::KeysError::Ambiguous)
    );
    let mut nameless = signer.jwk();
    nameless.as_object_mut().unwrap().remove("kid");
    assert_eq!(told(&[nameless.clone()]), Ok(()));
    assert_eq!(
        told(&[nameless, Signer::new(Algorithm::ES256, "b").jwk()]),
        Err(jwt::KeysError::Ambiguous)
    );
}

#[test]
fn a_stream_ends_with_the_token_that_opened_it() {
    let signer = Signer::new(Algorithm::ES256, "ec");
    let keeper = keeper(&[signer.jwk()]);
    let until = jwt::now() + 1;
    let short = signer.sign(&with("exp", json!(until - LEEWAY)));
    let caller = keeper.admit(bearer(&short)).unwrap();
    while jwt::now() <= until {
        std::thread::sleep(Duration::from_millis(20));
    }
    let told = caller.may(Right::Work, &namespace("shop"));
    assert_eq!(told.unwrap_err(), Error::CredentialsRefused);
    assert!(
        keeper.admit(bearer(&short)).is_err(),
        "nor is it remembered beyond its time"
    );
}
