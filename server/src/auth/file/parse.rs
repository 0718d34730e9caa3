//! From the text of an auth file to its meaning. Names every mistake by its line; quotes no value that could be a secret.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use deed_core::text::{Namespace, Principal, TextError};
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use unicode_normalization::is_nfc;

use super::{Member, Policy};
use crate::auth::certificate::CertificateName;
use crate::auth::jwt::Settings;
use crate::auth::token::TokenHash;
use crate::auth::{Rights, Role};
use crate::config::length;

/// What clocks differ by that are set by a network.
const LEEWAY: Duration = Duration::from_secs(30);

/// Beyond this it is no difference of clocks but a longer life for expired tokens.
const MAX_LEEWAY: Duration = Duration::from_secs(300);

/// Roles under this name hold in every namespace.
const EVERYWHERE: &str = "*";

/// Names that history uses for what nobody outside has done: the server's own, and callers that nobody asked who they are.
const RESERVED: [&str; 2] = ["deed", "local"];

/// A mistake, at a byte of the text.
#[derive(Debug)]
pub struct Mistake {
    /// Where.
    pub at: usize,
    /// What.
    pub what: String,
}

/// An auth file that was understood. The JWKS is still to be read.
#[derive(Debug)]
pub struct Draft {
    /// Who may do what.
    pub policy: Policy,
    /// The JWKS by the name that the file gives it, and the rest about JWTs.
    pub jwt: Option<(PathBuf, Settings)>,
}

type Parsed<T> = Result<T, Mistake>;
type Value<'i> = Spanned<DeValue<'i>>;

fn mistake<T>(at: usize, what: impl Into<String>) -> Parsed<T> {
    Err(Mistake {
        at,
        what: what.into(),
    })
}

/// Understands the text of an auth file.
pub fn parse(text: &str) -> Parsed<Draft> {
    let root = DeTable::parse(text).map_err(|error| Mistake {
        at: error.span().map_or(0, |span| span.start),
        what: format!("this is no TOML: {}", error.message()),
    })?;
    let root = Fields::of(root.get_ref(), 0, "the file", &["principal", "jwt"])?;
    let jwt = root.get("jwt").map(jwt).transpose()?;
    let mut policy = Policy::default();
    let mut names = HashSet::new();
    for value in root.list("principal")? {
        let (at, added) = principal(value, &mut policy, jwt.is_some())?;
        if !names.insert(added.clone()) {
            return mistake(at, format!("the principal {added:?} is there a second time"));
        }
    }
    Ok(Draft { policy, jwt })
}

fn jwt(value: &Value<'_>) -> Parsed<(PathBuf, Settings)> {
    let fields = Fields::in_table(value, "[jwt]", &["keys", "issuer", "audience", "leeway"])?;
    let leeway = match fields.get("leeway") {
        None => LEEWAY,
        Some(value) => match length::parse(text(value, "leeway")?) {
            Ok(leeway) if leeway <= MAX_LEEWAY => leeway,
            Ok(_) => {
                return mistake(
                    value.span().start,
                    "leeway is longer than 5m, which no clocks differ by",
                );
            }
            Err(why) => return mistake(value.span().start, format!("leeway {why}")),
        },
    };
    let settings = Settings {
        issuer: fields.text("issuer")?.to_owned(),
        audience: fields.text("audience")?.to_owned(),
        leeway,
    };
    Ok((PathBuf::from(fields.text("keys")?), settings))
}

/// Adds one principal; its name and where it stands.
fn principal(value: &Value<'_>, policy: &mut Policy, jwt: bool) -> Parsed<(usize, Principal)> {
    let known = ["name", "tokens", "certificates", "subjects", "roles"];
    let fields = Fields::in_table(value, "[[principal]]", &known)?;
    let named = fields.required("name")?;
    let at = named.span().start;
    let name = key(text(named, "name")?, Principal::new, at, "name")?;
    if RESERVED.contains(&name.as_str()) {
        return mistake(
            at,
            format!("the name {name:?} is Deed's own in its history; take another"),
        );
    }
    let member = Arc::new(roles(&fields, name.clone())?);
    let no_token = "this is no hash of a token; `deed-server token` makes a token and prints its line";
    let no_name = "this is no name of a certificate: write dns:HOST or uri:SCHEME:...";
    let no_subject = "a subject needs a text, and the section [jwt] that says whose word counts";
    let subject = |text: &str| (jwt && !text.is_empty()).then(|| text.to_owned());
    let Policy {
        tokens,
        certificates,
        subjects,
        ..
    } = policy;
    let proofs = proofs(&fields, "tokens", TokenHash::parse, no_token, |hash| {
        tokens.add(hash, &member)
    })? + proofs(&fields, "certificates", CertificateName::parse, no_name, |name| {
        certificates.insert(name, Arc::clone(&member)).is_none()
    })? + proofs(&fields, "subjects", subject, no_subject, |subject| {
        subjects.insert(subject, Arc::clone(&member)).is_none()
    })?;
    if proofs == 0 {
        return mistake(
            at,
            format!("{name:?} can prove itself by nothing: give it tokens, certificates or subjects"),
        );
    }
    Ok((at, name))
}

/// Adds one kind of what proves to be a principal; how many there are. `add` is false for what is somebody's already.
fn proofs<T>(
    fields: &Fields<'_, '_>,
    field: &str,
    parse: impl Fn(&str) -> Option<T>,
    wrong: &str,
    mut add: impl FnMut(T) -> bool,
) -> Parsed<usize> {
    let entries = fields.list(field)?;
    for entry in &entries {
        let at = entry.span().start;
        let Some(proof) = parse(text(entry, field)?) else {
            return mistake(at, wrong);
        };
        if !add(proof) {
            return mistake(at, format!("this entry of {field} is there a second time"));
        }
    }
    Ok(entries.len())
}

fn roles(fields: &Fields<'_, '_>, name: Principal) -> Parsed<Member> {
    let value = fields.required("roles")?;
    let DeValue::Table(table) = value.get_ref() else {
        return mistake(
            value.span().start,
            "roles must be a table: namespace = [\"role\"]",
        );
    };
    let (mut everywhere, mut within) = (Rights::default(), HashMap::new());
    for (namespace, given) in table {
        let at = namespace.span().start;
        let mut rights = Rights::default();
        for entry in list(given, "a namespace's roles")? {
            let at = entry.span().start;
            let Some(role) = Role::named(text(entry, "roles")?) else {
                let words = Role::ALL.map(Role::word).join(", ");
                return mistake(at, format!("this is no role; roles are {words}"));
            };
            rights = rights.and(role.rights());
        }
        if rights == Rights::default() {
            return mistake(at, "this namespace has no role in it");
        }
        match namespace.get_ref().as_ref() {
            EVERYWHERE => everywhere = rights,
            other => {
                let namespace = key(other, Namespace::new, at, "this namespace")?;
                within.insert(namespace, rights);
            }
        }
    }
    if table.is_empty() {
        return mistake(
            value.span().start,
            "roles is empty, so this principal may do nothing",
        );
    }
    Ok(Member::new(name, everywhere, within))
}

/// Text that names something, in the form in which callers send it.
fn key<T>(text: &str, parse: impl Fn(String) -> Result<T, TextError>, at: usize, what: &str) -> Parsed<T> {
    if !is_nfc(text) {
        return mistake(at, format!("{what} is not in Unicode normal form C"));
    }
    parse(text.to_owned()).or_else(|why| mistake(at, format!("{what} {why}")))
}

fn text<'t>(value: &'t Value<'_>, what: &str) -> Parsed<&'t str> {
    match value.get_ref() {
        DeValue::String(text) => Ok(text),
        _ => mistake(value.span().start, format!("{what} must be text in quotes")),
    }
}

fn list<'t, 'i>(value: &'t Value<'i>, what: &str) -> Parsed<Vec<&'t Value<'i>>> {
    match value.get_ref() {
        DeValue::Array(entries) => Ok(entries.iter().collect()),
        _ => mistake(value.span().start, format!("{what} must be a list in brackets")),
    }
}

/// A table all of whose fields are known.
struct Fields<'t, 'i> {
    table: &'t DeTable<'i>,
    at: usize,
    name: &'static str,
}

impl<'t, 'i> Fields<'t, 'i> {
    fn of(table: &'t DeTable<'i>, at: usize, name: &'static str, known: &[&str]) -> Parsed<Self> {
        for field in table.keys() {
            if !known.contains(&field.get_ref().as_ref()) {
                let known = known.join(", ");
                return mistake(
                    field.span().start,
                    format!("{name} has no such field; its fields are {known}"),
                );
            }
        }
        Ok(Self { table, at, name })
    }

    fn in_table(value: &'t Value<'i>, name: &'static str, known: &[&str]) -> Parsed<Self> {
        let at = value.span().start;
        match value.get_ref() {
            DeValue::Table(table) => Self::of(table, at, name, known),
            _ => mistake(at, format!("{name} must be a table")),
        }
    }

    fn get(&self, field: &str) -> Option<&'t Value<'i>> {
        self.table.get(field)
    }

    fn required(&self, field: &str) -> Parsed<&'t Value<'i>> {
        match self.get(field) {
            Some(value) => Ok(value),
            None => mistake(self.at, format!("{} lacks {field}", self.name)),
        }
    }

    fn text(&self, field: &str) -> Parsed<&'t str> {
        let value = self.required(field)?;
        match text(value, field)? {
            "" => mistake(value.span().start, format!("{field} is empty")),
            text => Ok(text),
        }
    }

    fn list(&self, field: &str) -> Parsed<Vec<&'t Value<'i>>> {
        self.get(field).map_or(Ok(Vec::new()), |value| list(value, field))
    }
}
