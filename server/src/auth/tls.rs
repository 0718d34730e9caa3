//! What the server shows and asks for in a TLS handshake: its certificate and, with a client CA, the caller's.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, VerifierBuilderError, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};

use super::current::Current;

/// The configuration for new connections. Those that are there keep the one that they began with.
pub type Tls = Current<ServerConfig>;

/// gRPC is HTTP/2.
const ALPN: &[u8] = b"h2";

/// Whether a connection needs a client certificate where there is a client CA.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClientCertificate {
    /// Without one there is no connection.
    Required,
    /// Callers without one show a token.
    Optional,
}

/// The files, PEM all of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsFiles {
    /// The server's certificate, followed by those that lead to its root.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The roots of client certificates.
    pub client_ca: Option<(PathBuf, ClientCertificate)>,
}

/// Why TLS cannot be spoken with these files.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It is no PEM, or holds something else.
    #[error("{} holds no {wanted} in PEM", path.display())]
    NotPem {
        /// Which.
        path: PathBuf,
        /// What was looked for.
        wanted: &'static str,
    },
    /// Certificate and key are not a pair, or are of a kind that TLS does not know.
    #[error("the certificate in {} and the key in {} cannot be used together", certificate.display(), key.display())]
    Pair {
        /// The one.
        certificate: PathBuf,
        /// The other.
        key: PathBuf,
        /// Why.
        #[source]
        source: rustls::Error,
    },
    /// The client CA cannot be used.
    #[error("{} cannot be used as a client CA", path.display())]
    ClientCa {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: VerifierBuilderError,
    },
    /// One certificate of the client CA cannot be used.
    #[error("{} holds a certificate that cannot be a root", path.display())]
    Root {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: rustls::Error,
    },
}

/// The one cryptography of this program.
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

impl TlsFiles {
    /// All files.
    pub fn paths(&self) -> Vec<PathBuf> {
        let mut paths = vec![self.certificate.clone(), self.key.clone()];
        paths.extend(self.client_ca.iter().map(|(path, _)| path.clone()));
        paths
    }

    /// Reads them.
    pub fn load(&self) -> Result<ServerConfig, TlsError> {
        let chain = certificates(&self.certificate)?;
        let key = read(&self.key)?;
        let key = PrivateKeyDer::from_pem_slice(&key).map_err(|_| not_pem(&self.key, "private key"))?;
        let pair = |source| TlsError::Pair {
            certificate: self.certificate.clone(),
            key: self.key.clone(),
            source,
        };
        let builder = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(pair)?;
        let builder = match &self.client_ca {
            None => builder.with_no_client_auth(),
            Some((path, wanted)) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(path)? {
                    roots.add(certificate).map_err(|source| TlsError::Root {
                        path: path.clone(),
                        source,
                    })?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider());
                let verifier = match wanted {
                    ClientCertificate::Required => verifier,
                    ClientCertificate::Optional => verifier.allow_unauthenticated(),
                };
                builder.with_client_cert_verifier(verifier.build().map_err(|source| TlsError::ClientCa {
                    path: path.clone(),
                    source,
                })?)
            }
        };
        let mut config = builder.with_single_cert(chain, key).map_err(pair)?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        // SUBTLE: a resumed session skips the client's certificate, which may have expired since. Connections live long,
        // so resuming would save next to nothing.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(config)
    }
}

fn not_pem(path: &Path, wanted: &'static str) -> TlsError {
    TlsError::NotPem {
        path: path.to_path_buf(),
        wanted,
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|source| TlsError::Unreadable {
        path: path.to_path_buf(),
        source,
    })
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let bytes = read(path)?;
    let found: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(&bytes).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) | Err(_) => Err(not_pem(path, "certificate")),
    }
}
