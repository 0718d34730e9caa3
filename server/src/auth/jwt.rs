//! JSON Web Tokens of one issuer: signature by a key of its JWKS, then issuer, audience and times.
//!
//! A token's principal is whoever the auth file gives its `sub` to; roles are the file's business, whatever else a token
//! claims. The key says which algorithm is used, never the token: so `none`, and a public key taken for a shared secret,
//! lead nowhere.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use super::token::TokenHash;

/// How many verified tokens are remembered, so that a signature is not checked again with every call: more than one server
/// has callers. Beyond it, memory starts anew.
const REMEMBERED: usize = 10_000;

/// What the auth file says about JWTs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The one issuer.
    pub issuer: String,
    /// This service, as the issuer names it.
    pub audience: String,
    /// By how much the clocks of the issuer and of this server may differ.
    pub leeway: Duration,
}

/// Why a key set is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum KeysError {
    /// Not a key set.
    #[error("is no JSON Web Key Set: an object whose `keys` is a list")]
    NotAKeySet,
    /// No key of it can be used.
    #[error("has no key that can be used: RSA (RS256), P-256 (ES256) or Ed25519 (EdDSA), for signatures")]
    NoKey,
    /// Two keys of one name, or several without.
    #[error("has two keys that a token cannot tell apart: give each key a `kid` of its own")]
    Ambiguous,
}

/// Why a token is refused: for the log.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refused {
    /// Its header cannot be read, or names an algorithm that nobody should use.
    #[error("a JWT whose header cannot be read or whose algorithm is not allowed")]
    Header,
    /// No key of this name.
    #[error("a JWT signed by a key that is not in the JWKS")]
    Key,
    /// Signature or claims.
    #[error("a JWT that does not hold: {0}")]
    Invalid(&'static str),
}

/// A token that holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verified {
    /// Its `sub`.
    pub subject: String,
    /// The second of the Unix epoch after which it does not hold any more, leeway included.
    pub until: u64,
}

#[derive(Deserialize)]
struct Claims {
    sub: String,
    // Read as one text, so that a list of issuers is refused.
    #[serde(rename = "iss")]
    _issuer: String,
    exp: f64,
}

/// Verifies the tokens of one issuer.
pub struct Verifier {
    settings: Settings,
    keys: Vec<Key>,
    remembered: Mutex<HashMap<TokenHash, Verified>>,
}

struct Key {
    id: Option<String>,
    algorithm: Algorithm,
    key: DecodingKey,
}

impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Verifier")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl Verifier {
    /// Takes the keys of a JWKS.
    pub fn new(settings: Settings, keys: &[u8]) -> Result<Self, KeysError> {
        let set: serde_json::Value = serde_json::from_slice(keys).map_err(|_| KeysError::NotAKeySet)?;
        let listed = set
            .get("keys")
            .and_then(|keys| keys.as_array())
            .ok_or(KeysError::NotAKeySet)?;
        // One at a time: a kind of key that nobody here knows is no reason to refuse the others.
        let keys: Vec<Key> = listed.iter().filter_map(usable).collect();
        if keys.is_empty() {
            return Err(KeysError::NoKey);
        }
        let several = keys.len() > 1;
        for (at, key) in keys.iter().enumerate() {
            if several && key.id.is_none() || keys[..at].iter().any(|other| other.id == key.id) {
                return Err(KeysError::Ambiguous);
            }
        }
        Ok(Self {
            settings,
            keys,
            remembered: Mutex::default(),
        })
    }

    /// Whose token this is.
    pub fn verify(&self, token: &SecretString) -> Result<Verified, Refused> {
        let hash = TokenHash::of(token);
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = remembered.get(&hash).filter(|known| now() <= known.until) {
            return Ok(known.clone());
        }
        remembered.remove(&hash);
        drop(remembered);
        let verified = self.check(token)?;
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if remembered.len() >= REMEMBERED {
            remembered.clear();
        }
        remembered.insert(hash, verified.clone());
        Ok(verified)
    }

    fn check(&self, token: &SecretString) -> Result<Verified, Refused> {
        let header = decode_header(token.expose_secret()).map_err(|_| Refused::Header)?;
        if header.crit.is_some() {
            return Err(Refused::Header);
        }
        let named = |key: &&Key| header.kid.is_none() || key.id == header.kid || key.id.is_none();
        let mut fitting = self.keys.iter().filter(named);
        let (Some(key), None) = (fitting.next(), fitting.next()) else {
            return Err(Refused::Key);
        };
        let mut validation = Validation::new(key.algorithm);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        validation.set_issuer(&[&self.settings.issuer]);
        validation.set_audience(&[&self.settings.audience]);
        validation.validate_nbf = true;
        validation.leeway = self.settings.leeway.as_secs();
        let token = decode::<Claims>(token.expose_secret(), &key.key, &validation)
            .map_err(|error| Refused::Invalid(reason(error.kind())))?;
        Ok(Verified {
            subject: token.claims.sub,
            until: seconds(token.claims.exp).saturating_add(validation.leeway),
        })
    }
}

/// The library's own words may quote the token.
fn reason(kind: &ErrorKind) -> &'static str {
    match kind {
        ErrorKind::InvalidSignature => "its signature is another's",
        ErrorKind::InvalidAlgorithm => "its algorithm is not its key's",
        ErrorKind::ExpiredSignature => "it has expired",
        ErrorKind::ImmatureSignature => "it is not valid yet",
        ErrorKind::InvalidIssuer => "it is from another issuer",
        ErrorKind::InvalidAudience => "it is for another audience",
        ErrorKind::MissingRequiredClaim(_) => "it lacks exp, iss, aud or sub",
        _ => "it is malformed",
    }
}

/// The second of the Unix epoch.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// A claim's time, which may have a fraction; the library has checked that it is a number in range.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast of a float saturates, and what is not a number becomes zero: expired"
)]
fn seconds(claim: f64) -> u64 {
    claim.round() as u64
}

/// A key for signatures of an allowed kind. What else a set may hold (keys for encryption, other curves, secrets) is left
/// out.
fn usable(value: &serde_json::Value) -> Option<Key> {
    let jwk: Jwk = serde_json::from_value(value.clone()).ok()?;
    let (algorithm, name) = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => (Algorithm::RS256, "RS256"),
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => {
            (Algorithm::ES256, "ES256")
        }
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
            (Algorithm::EdDSA, "EdDSA")
        }
        _ => return None,
    };
    let stated = value.get("alg").and_then(|stated| stated.as_str());
    let signs = matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature));
    if !signs || stated.is_some_and(|stated| stated != name) {
        return None;
    }
    Some(Key {
        id: jwk.common.key_id.clone(),
        algorithm,
        key: DecodingKey::from_jwk(&jwk).ok()?,
    })
}
