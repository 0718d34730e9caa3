//! The auth file: what it means, and that every mistake is named by its line.

use deed_core::text::Namespace;
use jsonwebtoken::Algorithm;
use secrecy::SecretString;

use crate::auth::testing::{Signer, Written, bearer, claims, jwks, namespace, principal};
use crate::auth::token::{TokenHash, generate};
use crate::auth::{Caller, Error, Presented, Right, Scope, load};

/// What a broken file is refused with.
fn refused(written: &Written) -> String {
    let error = load(&written.path()).0.unwrap_err();
    let told = error.to_string();
    let path = written.path().display().to_string();
    told.strip_prefix(&path).unwrap_or(&told).to_owned()
}

fn allowed(caller: &Caller, namespace: &Namespace) -> Vec<Right> {
    let may = |right: &Right| caller.may(*right, namespace).is_ok();
    Right::ALL.into_iter().filter(may).collect()
}

#[test]
fn a_principal_may_do_in_each_namespace_what_its_roles_there_say() {
    let (token, text) = principal(
        "w1",
        r#"{ shop = ["worker"], bank = ["viewer", "operator"], "*" = ["witness"] }"#,
    );
    let caller = Written::new(&text).keeper().admit(bearer(&token)).unwrap();
    assert_eq!(caller.principal().as_str(), "w1");
    let may = |name: &str| allowed(&caller, &namespace(name));
    assert_eq!(may("shop"), [Right::Work, Right::Observe, Right::Read]);
    assert_eq!(may("bank"), [Right::Observe, Right::Read, Right::Decide]);
    assert_eq!(may("elsewhere"), [Right::Observe]);
    assert_eq!(
        may("*"),
        [Right::Observe],
        "the name of all namespaces is no namespace"
    );
    let readable = Scope::Within(vec![namespace("bank"), namespace("shop")]);
    assert_eq!(caller.scope(Right::Read).unwrap(), readable);
    assert_eq!(caller.scope(Right::Observe).unwrap(), Scope::Everywhere);
}

#[test]
fn nowhere_is_a_refusal_and_not_an_empty_list() {
    let (token, text) = principal("hook", r#"{ shop = ["witness"] }"#);
    let caller = Written::new(&text).keeper().admit(bearer(&token)).unwrap();
    let refused = Error::RoleMissing { right: Right::Read };
    assert_eq!(caller.scope(Right::Read).unwrap_err(), refused);
    assert_eq!(caller.may(Right::Read, &namespace("shop")).unwrap_err(), refused);
}

#[test]
fn with_an_auth_file_nobody_is_let_in_without_proof() {
    let (_, text) = principal("w1", r#"{ shop = ["worker"] }"#);
    let keeper = Written::new(&text).keeper();
    let told = |presented| keeper.admit(presented).unwrap_err();
    assert_eq!(told(Presented::default()), Error::CredentialsMissing);
    assert_eq!(told(bearer(&generate().unwrap())), Error::CredentialsRefused);
    assert_eq!(
        told(bearer(&SecretString::from("a.b.c".to_owned()))),
        Error::CredentialsRefused
    );
    // An empty file lets in nobody, rather than everybody.
    let nobody = Written::new("").keeper();
    assert_eq!(
        nobody.admit(Presented::default()).unwrap_err(),
        Error::CredentialsMissing
    );
}

#[test]
fn every_mistake_is_named_by_its_line_and_quotes_no_value() {
    let (_, good) = principal("w1", r#"{ shop = ["worker"] }"#);
    let hash = TokenHash::of(&generate().unwrap());
    let line = |wrong: &str, line: &str| good.replace(wrong, line);
    let table: &[(String, &str, &str)] = &[
        (line("name", "nmae"), ":2:", "no such field"),
        (line("name = \"w1\"\n", ""), ":1:", "lacks name"),
        (line("\"w1\"", "\" w1\""), ":2:", "white space"),
        (line("\"w1\"", "\"e\u{301}\""), ":2:", "normal form"),
        (line("\"w1\"", "\"local\""), ":2:", "Deed's own"),
        (line("\"w1\"", "7"), ":2:", "text in quotes"),
        (line("sha256:", "canary"), ":3:", "no hash of a token"),
        (
            line("tokens = [", "tokens = \"canary\" #"),
            ":3:",
            "list in brackets",
        ),
        (line("tokens", "certificates"), ":3:", "dns:HOST"),
        (line("tokens", "subjects"), ":3:", "[jwt]"),
        (
            line("worker", "canary"),
            ":4:",
            "worker, witness, operator, viewer, admin",
        ),
        (line("[\"worker\"]", "[]"), ":4:", "no role in it"),
        (line("{ shop = [\"worker\"] }", "{}"), ":4:", "may do nothing"),
        (line("roles", "#"), ":1:", "lacks roles"),
        (line("shop", "\"a\\u0000b\""), ":4:", "control character"),
        (
            format!("{good}{good}"),
            ":7:",
            "entry of tokens is there a second time",
        ),
        (
            format!(
                "{good}[[principal]]\nname = \"w1\"\ntokens = [\"{hash}\"]\nroles = {{ a = [\"viewer\"] }}\n"
            ),
            ":6:",
            "second time",
        ),
        (format!("{good}name = \"canary\"\n"), ":5:", "no TOML"),
        (
            format!("{good}[jwt]\nissuer = \"i\"\naudience = \"a\"\n"),
            ":5:",
            "lacks keys",
        ),
        (
            format!("{good}[jwt]\nkeys = \"k\"\nissuer = \"\"\naudience = \"a\"\n"),
            ":7:",
            "issuer is empty",
        ),
        (
            format!("{good}[jwt]\nkeys = \"k\"\nissuer = \"i\"\naudience = \"a\"\nleeway = \"1h\"\n"),
            ":9:",
            "longer than 5m",
        ),
        (
            format!("{good}[jwt]\nkeys = \"k\"\nissuer = \"i\"\naudience = \"a\"\nalgorithms = []\n"),
            ":9:",
            "no such field",
        ),
        (format!("{good}[other]\n"), ":5:", "no such field"),
        (
            "[[principal]]\nname = \"w2\"\nroles = { a = [\"viewer\"] }\n".to_owned(),
            ":2:",
            "prove itself by nothing",
        ),
    ];
    for (text, place, what) in table {
        let told = refused(&Written::new(text));
        assert!(told.starts_with(place) && told.contains(what), "{told}\n{text}");
        assert!(
            !told.contains("canary") && !told.contains(&hash.to_string()[7..]),
            "{told}"
        );
    }
}

#[test]
fn a_jwks_that_is_missing_or_useless_is_named() {
    let (_, good) = principal("w1", r#"{ shop = ["worker"] }"#);
    let written = Written::new(&format!(
        "{good}[jwt]\nkeys = \"k.json\"\nissuer = \"i\"\naudience = \"a\"\n"
    ));
    assert!(refused(&written).contains("k.json"));
    for useless in [
        "",
        "[]",
        "{\"keys\": []}",
        "{\"keys\": [{\"kty\": \"oct\", \"k\": \"c2VjcmV0\"}]}",
    ] {
        written.write("k.json", useless.as_bytes());
        assert!(refused(&written).contains("k.json"), "{useless}");
    }
}

#[test]
fn the_example_of_security_md_is_an_auth_file() {
    let page = include_str!("../../../../SECURITY.md");
    let (_, after) = page.split_once("```toml\n").unwrap();
    let (example, _) = after.split_once("```").unwrap();
    let written = Written::new(example);
    let signer = Signer::new(Algorithm::EdDSA, "1");
    written.write("jwks.json", &jwks(&[signer.jwk()]));
    let caller = written
        .keeper()
        .admit(bearer(&signer.sign(&claims("billing"))))
        .unwrap();
    assert_eq!(caller.principal().as_str(), "billing-worker");
    assert_eq!(allowed(&caller, &namespace("elsewhere")), [Right::Read]);
}
