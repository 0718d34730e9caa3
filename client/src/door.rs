//! What a client shows at the server's door, and by what it knows the server: a bearer token, a client certificate, a CA.
//!
//! Owns that a token is never printed and never sent where it could be read on the way. Who it belongs to is the server's
//! business.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use secrecy::{ExposeSecret, SecretString};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};
use tonic::{Request, Status};

use crate::deed::Builder;
use crate::error::Error;
use crate::locked;

/// How often a token file is looked at while calls are made: often enough for a token that is exchanged some time before it
/// expires, rarely enough to cost nothing.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What to show and whom to trust.
#[derive(Clone, Debug, Default)]
pub(crate) struct Door {
    ca: Option<PathBuf>,
    identity: Option<Pair>,
    token: Option<Source>,
}

#[derive(Clone, Debug)]
struct Pair {
    certificate: PathBuf,
    key: PathBuf,
}

/// Where the token is.
#[derive(Clone, Debug)]
enum Source {
    Given(SecretString),
    File(PathBuf),
}

impl Builder {
    /// PEM file of the roots by which an `https` server is known. Default: those of this machine.
    pub fn ca_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.door.ca = Some(path.into());
        self
    }

    /// PEM files of the certificate that an `https` server is shown, and of its key. They are read again whenever a
    /// connection has failed, so that a renewed certificate is found.
    pub fn client_certificate(mut self, certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        let (certificate, key) = (certificate.into(), key.into());
        self.door.identity = Some(Pair { certificate, key });
        self
    }

    /// The bearer token that every call shows. Sent only over `https`, or to this machine.
    pub fn token(mut self, token: impl Into<SecretString>) -> Self {
        self.door.token = Some(Source::Given(token.into()));
        self
    }

    /// As [`Builder::token`], from a file that is looked at again every second: for tokens that expire. While it cannot be
    /// read, the last token is shown.
    pub fn token_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.door.token = Some(Source::File(path.into()));
        self
    }

    /// Takes from the environment what was not set before: `DEED_CA_FILE`, `DEED_CLIENT_CERTIFICATE` with
    /// `DEED_CLIENT_KEY`, and `DEED_TOKEN_FILE` or else `DEED_TOKEN`.
    pub fn credentials_from_env(self) -> Self {
        self.credentials_from(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn credentials_from(mut self, variable: impl Fn(&str) -> Option<String>) -> Self {
        let path = |name: &str| variable(name).map(PathBuf::from);
        let Door { ca, identity, token } = &mut self.door;
        *ca = ca.take().or_else(|| path("DEED_CA_FILE"));
        let pair = path("DEED_CLIENT_CERTIFICATE").zip(path("DEED_CLIENT_KEY"));
        let named = pair.map(|(certificate, key)| Pair { certificate, key });
        *identity = identity.take().or(named);
        let file = path("DEED_TOKEN_FILE").map(Source::File);
        let given = || variable("DEED_TOKEN").map(|token| Source::Given(token.into()));
        *token = token.take().or(file).or_else(given);
        self
    }
}

impl Door {
    /// The endpoint with TLS where its address says so. Refuses to show anything in plain text that is not for this machine.
    pub fn endpoint(&self, url: &str, endpoint: Endpoint) -> Result<Endpoint, Error> {
        let scheme = endpoint.uri().scheme_str();
        let host = endpoint.uri().host();
        match (scheme, host) {
            (Some("https"), Some(_)) => {
                let secured = endpoint.tls_config(self.tls()?);
                secured.map_err(|source| Error::Certificates {
                    url: url.to_owned(),
                    source,
                })
            }
            (Some("http"), Some(host)) => {
                let shown = match (&self.identity, &self.ca, &self.token) {
                    (Some(_), _, _) => "a client certificate",
                    (None, Some(_), _) => "a CA",
                    (None, None, Some(_)) if !this_machine(host) => "a token",
                    (None, None, _) => return Ok(endpoint),
                };
                Err(Error::PlainText {
                    url: url.to_owned(),
                    shown,
                })
            }
            (_, _) => Err(Error::Address {
                url: url.to_owned(),
                source: None,
            }),
        }
    }

    fn tls(&self) -> Result<ClientTlsConfig, Error> {
        let mut tls = match &self.ca {
            Some(path) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(read(path, "a CA")?)),
            None => ClientTlsConfig::new().with_native_roots(),
        };
        if let Some(Pair { certificate, key }) = &self.identity {
            let (certificate, key) = (
                read(certificate, "a client certificate")?,
                read(key, "a private key")?,
            );
            tls = tls.identity(Identity::from_pem(certificate, key));
        }
        Ok(tls)
    }

    /// What every call shows.
    pub fn bearer(&self) -> Result<Bearer, Error> {
        Ok(Bearer(match &self.token {
            None => None,
            Some(Source::Given(token)) => {
                let header = header(token.expose_secret()).ok_or(Error::Token)?;
                Some(Arc::new(Token::Given(header)))
            }
            Some(Source::File(path)) => {
                let header = look(path)?;
                let seen = Mutex::new(Seen {
                    at: Instant::now(),
                    header,
                    readable: true,
                });
                let path = path.clone();
                Some(Arc::new(Token::File { path, seen }))
            }
        }))
    }
}

/// Whether nobody but this machine hears what is said to this host.
fn this_machine(host: &str) -> bool {
    let plain = host.trim_start_matches('[').trim_end_matches(']');
    let address = plain.parse::<std::net::IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

fn read(path: &Path, what: &'static str) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|source| unusable(path, what, Some(source)))
}

fn unusable(path: &Path, what: &'static str, source: Option<io::Error>) -> Error {
    Error::File {
        path: path.to_path_buf(),
        what,
        source,
    }
}

/// A header that no log shows and no proxy keeps in its tables.
type Header = MetadataValue<Ascii>;

fn header(token: &str) -> Option<Header> {
    let plain = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    let mut header: Header = plain.then(|| format!("Bearer {token}").parse().ok())??;
    header.set_sensitive(true);
    Some(header)
}

fn look(path: &Path) -> Result<Header, Error> {
    let bytes = read(path, "a token")?;
    let text = std::str::from_utf8(&bytes).ok();
    text.and_then(|text| header(text.trim()))
        .ok_or_else(|| unusable(path, "a token", None))
}

/// Puts the token into every call.
#[derive(Clone, Debug)]
pub(crate) struct Bearer(Option<Arc<Token>>);

#[derive(Debug)]
enum Token {
    Given(Header),
    File { path: PathBuf, seen: Mutex<Seen> },
}

#[derive(Debug)]
struct Seen {
    at: Instant,
    header: Header,
    readable: bool,
}

impl Token {
    fn header(&self) -> Header {
        let (path, seen) = match self {
            Self::Given(header) => return header.clone(),
            Self::File { path, seen } => (path, seen),
        };
        let mut seen = locked(seen);
        if seen.at.elapsed() >= LOOK_AGAIN {
            seen.look_again(path);
        }
        seen.header.clone()
    }
}

impl Seen {
    fn look_again(&mut self, path: &Path) {
        self.at = Instant::now();
        match look(path) {
            Ok(header) => {
                self.header = header;
                self.readable = true;
            }
            Err(error) if self.readable => {
                self.readable = false;
                tracing::warn!(%error, "the token file cannot be used any more; the last token is shown");
            }
            Err(_) => {}
        }
    }
}

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            request.metadata_mut().insert("authorization", token.header());
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deed::Deed;

    fn refused(builder: Builder, url: &str) -> Error {
        builder.connect(url).map(|_| ()).unwrap_err()
    }

    #[tokio::test]
    async fn a_token_in_plain_text_is_for_this_machine_only() {
        for url in [
            "http://127.0.0.1:1",
            "http://localhost:1",
            "http://[::1]:1",
            "http://127.8.9.1:1",
        ] {
            assert!(Deed::builder().token("t").connect(url).is_ok(), "{url}");
        }
        let lookalikes = [
            "http://localhost.example:1",
            "http://127.0.0.1.example:1",
            "http://10.0.0.1:1",
        ];
        for url in lookalikes.iter().chain(&["http://[::ffff:127.0.0.1]:1"]) {
            let refused = refused(Deed::builder().token("t"), url);
            assert!(matches!(refused, Error::PlainText { .. }), "{url}: {refused}");
        }
        assert!(Deed::builder().connect("http://10.0.0.1:1").is_ok());
    }

    #[tokio::test]
    async fn certificates_for_an_address_without_tls_are_a_mistake() {
        let here = "http://127.0.0.1:1";
        let refused = [
            refused(Deed::builder().ca_file("ca.pem"), here),
            refused(Deed::builder().client_certificate("c.pem", "k.pem"), here),
        ];
        assert!(
            refused
                .iter()
                .all(|error| matches!(error, Error::PlainText { .. })),
            "{refused:?}"
        );
    }

    #[tokio::test]
    async fn files_that_cannot_be_used_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("token");
        let https = "https://127.0.0.1:1";
        for builder in [
            Deed::builder().ca_file(&file),
            Deed::builder().client_certificate(&file, &file),
            Deed::builder().token_file(&file),
        ] {
            assert!(refused(builder, https).to_string().contains("token"));
        }
        for wrong in ["", "two words", "line\nline", "\u{1}"] {
            std::fs::write(&file, wrong).unwrap();
            assert!(matches!(
                refused(Deed::builder().token_file(&file), https),
                Error::File { .. }
            ));
            assert!(matches!(
                refused(Deed::builder().token(wrong), https),
                Error::Token
            ));
        }
    }

    #[tokio::test]
    async fn a_token_is_in_no_debug_output_and_no_error() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "canary").unwrap();
        for builder in [Deed::builder().token("canary"), Deed::builder().token_file(&file)] {
            let bearer = builder.door.bearer().unwrap();
            let deed = builder.clone().connect("http://127.0.0.1:1").unwrap();
            let refused = refused(builder.clone(), "http://10.0.0.1:1");
            let told = format!("{builder:?} {bearer:?} {deed:?} {refused} {refused:?}");
            assert!(!told.contains("canary"), "{told}");
        }
    }

    #[test]
    fn a_token_file_is_looked_at_again_and_a_broken_one_changes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("token");
        std::fs::write(&file, "first\n").unwrap();
        let bearer = Deed::builder().token_file(&file).door.bearer().unwrap();
        let shown = |wait: bool| {
            let Some(Token::File { seen, .. }) = bearer.0.as_deref() else {
                panic!()
            };
            if wait {
                let at = &mut locked(seen).at;
                *at = at.checked_sub(LOOK_AGAIN).unwrap();
            }
            let request = bearer.clone().call(Request::new(())).unwrap();
            request
                .metadata()
                .get("authorization")
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        };
        assert_eq!(shown(false), "Bearer first");
        std::fs::write(&file, "second").unwrap();
        assert_eq!(
            (shown(false), shown(true)),
            ("Bearer first".to_owned(), "Bearer second".to_owned())
        );
        std::fs::write(&file, "").unwrap();
        assert_eq!(shown(true), "Bearer second");
        std::fs::remove_file(&file).unwrap();
        assert_eq!(shown(true), "Bearer second");
        std::fs::write(&file, "third").unwrap();
        assert_eq!(shown(true), "Bearer third");
    }

    #[test]
    fn the_environment_fills_what_was_not_set() {
        let variables = |name: &str| Some(format!("/{name}"));
        let door = Deed::builder().ca_file("/mine").credentials_from(variables).door;
        assert_eq!(door.ca, Some(PathBuf::from("/mine")));
        assert_eq!(door.identity.unwrap().key, PathBuf::from("/DEED_CLIENT_KEY"));
        assert!(matches!(door.token, Some(Source::File(path)) if path.ends_with("DEED_TOKEN_FILE")));
        let only_token = |name: &str| (name == "DEED_TOKEN").then(|| "secret".to_owned());
        let door = Deed::builder().credentials_from(only_token).door;
        assert!(matches!(door.token, Some(Source::Given(_))) && door.identity.is_none());
    }
}
