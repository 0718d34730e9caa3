//! What tests need of the doors: auth files, an issuer of JWTs, an authority for certificates.

use std::path::PathBuf;

use deed_core::text::Namespace;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    PKCS_ECDSA_P256_SHA256, PKCS_ED25519, PKCS_RSA_SHA256, SanType, date_time_ymd,
};
use secrecy::SecretString;
use serde_json::{Value, json};

use super::token::{TokenHash, generate};
use super::{Keeper, Presented, jwt, load};

/// Writes the files into a directory of their own; the first is the auth file.
pub struct Written {
    directory: tempfile::TempDir,
}

impl Written {
    pub fn new(text: &str) -> Self {
        let written = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        written.write("auth.toml", text.as_bytes());
        written
    }

    pub fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.directory.path().join(name), bytes).unwrap();
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().join("auth.toml")
    }

    pub fn keeper(&self) -> Keeper {
        Keeper::new(load(&self.path()).0.unwrap())
    }
}

pub fn namespace(name: &str) -> Namespace {
    Namespace::new(name).unwrap()
}

pub fn bearer(token: &SecretString) -> Presented {
    Presented {
        bearer: Some(token.clone()),
        certificate: None,
    }
}

/// A token, and the principal of it with these roles.
pub fn principal(name: &str, roles: &str) -> (SecretString, String) {
    let token = generate().unwrap();
    let hash = TokenHash::of(&token);
    let text = format!("[[principal]]\nname = \"{name}\"\ntokens = [\"{hash}\"]\nroles = {roles}\n");
    (token, text)
}

/// What the tests' auth files say about JWTs.
pub const ISSUER: &str = "https://issuer.example";
pub const AUDIENCE: &str = "deed";

/// A key that signs JWTs.
pub struct Signer {
    pub algorithm: Algorithm,
    pub kid: &'static str,
    key: EncodingKey,
    jwk: Value,
}

impl Signer {
    pub fn new(algorithm: Algorithm, kid: &'static str) -> Self {
        let (key, mut jwk) = match algorithm {
            Algorithm::ES256 => {
                let pair = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
                let key = EncodingKey::from_ec_der(&pair.serialize_der());
                let jwk = Jwk::from_encoding_key(&key, algorithm).unwrap();
                (key, serde_json::to_value(jwk).unwrap())
            }
            Algorithm::RS256 => {
                let pair = KeyPair::generate_for(&PKCS_RSA_SHA256).unwrap();
                // The PKCS #1 key inside of the PKCS #8 one, whose header has 26 bytes for a key of 2048 bits.
                let key = EncodingKey::from_rsa_der(&pair.serialize_der()[26..]);
                let jwk = Jwk::from_encoding_key(&key, algorithm).unwrap();
                (key, serde_json::to_value(jwk).unwrap())
            }
            Algorithm::EdDSA => {
                let pair = KeyPair::generate_for(&PKCS_ED25519).unwrap();
                let key = EncodingKey::from_ed_der(&pair.serialize_der());
                let x = base64url(pair.public_key_raw());
                (key, json!({"kty": "OKP", "crv": "Ed25519", "x": x}))
            }
            other => panic!("{other:?} is not for tests"),
        };
        jwk["kid"] = json!(kid);
        Self {
            algorithm,
            kid,
            key,
            jwk,
        }
    }

    /// Its public half.
    pub fn jwk(&self) -> Value {
        self.jwk.clone()
    }

    /// Signs these claims.
    pub fn sign(&self, claims: &Value) -> SecretString {
        self.sign_as(Header::new(self.algorithm), claims)
    }

    /// Signs under a header that demands an understanding of `b64`.
    pub fn sign_critical(&self, claims: &Value) -> SecretString {
        let mut header = Header::new(self.algorithm);
        header.crit = Some(vec!["b64".to_owned()]);
        header.extras.insert("b64", true);
        self.sign_as(header, claims)
    }

    fn sign_as(&self, mut header: Header, claims: &Value) -> SecretString {
        header.kid = Some(self.kid.to_owned());
        SecretString::from(encode(&header, claims, &self.key).unwrap())
    }
}

/// The key set of these keys.
pub fn jwks(keys: &[Value]) -> Vec<u8> {
    json!({ "keys": keys }).to_string().into_bytes()
}

/// Claims that hold, for an hour.
pub fn claims(subject: &str) -> Value {
    json!({"sub": subject, "iss": ISSUER, "aud": AUDIENCE, "exp": jwt::now() + 3_600})
}

/// As JWTs write bytes.
pub fn base64url(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let number = group
            .iter()
            .fold(0, |number, byte| number << 8 | u32::from(*byte))
            << (8 * (3 - group.len()));
        for place in 0..=group.len() {
            let digit = number >> (18 - 6 * place) & 63;
            text.push(char::from(DIGITS[usize::try_from(digit).unwrap()]));
        }
    }
    text
}

/// A certificate authority.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its own certificate, in PEM.
    pub pem: String,
}

/// A certificate with its key, in PEM.
pub struct Issued {
    pub certificate: String,
    pub key: String,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self {
            issuer: Issuer::new(params, key),
            pem,
        }
    }

    /// For a server on the loopback.
    pub fn server(&self) -> Issued {
        let params = CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        self.issue(params, ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// For a caller of these names, `dns:` or `uri:`.
    pub fn client(&self, names: &[&str]) -> Issued {
        self.issue(named(names), ExtendedKeyUsagePurpose::ClientAuth)
    }

    /// For a caller, out of time.
    pub fn expired(&self, names: &[&str]) -> Issued {
        let mut params = named(names);
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
        self.issue(params, ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn issue(&self, mut params: CertificateParams, usage: ExtendedKeyUsagePurpose) -> Issued {
        params.extended_key_usages = vec![usage];
        let key = KeyPair::generate().unwrap();
        Issued {
            certificate: params.signed_by(&key, &self.issuer).unwrap().pem(),
            key: key.serialize_pem(),
        }
    }
}

fn named(names: &[&str]) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    let sans = names.iter().map(|name| match name.split_once(':').unwrap() {
        ("dns", name) => SanType::DnsName(name.try_into().unwrap()),
        (_, name) => SanType::URI(name.try_into().unwrap()),
    });
    params.subject_alt_names = sans.collect();
    params
}
