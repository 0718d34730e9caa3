//! Who may come in, and where the server may listen for that.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};

use super::Error;
use crate::auth::tls::{ClientCertificate, TlsFiles};

/// Who may come in.
#[derive(Debug, Args)]
pub struct Doors {
    /// TOML file of principals with their roles, hashed tokens, certificate names and the issuer of JWTs; read again when
    /// it changes. Without it everybody who reaches the server is `local` and may do everything.
    #[arg(long, env = "DEED_AUTH_FILE")]
    pub auth_file: Option<PathBuf>,
    /// PEM file of the server's certificate and those that lead to its root: speak TLS. Read again when it changes, as
    /// are the other files.
    #[arg(long, env = "DEED_TLS_CERTIFICATE", requires = "tls_key")]
    pub tls_certificate: Option<PathBuf>,
    /// PEM file of the certificate's private key.
    #[arg(long, env = "DEED_TLS_KEY", requires = "tls_certificate")]
    pub tls_key: Option<PathBuf>,
    /// PEM file of the roots of client certificates: ask callers for one. Whose each is, the auth file says.
    #[arg(long, env = "DEED_TLS_CLIENT_CA", requires_all = ["tls_certificate", "auth_file"])]
    pub tls_client_ca: Option<PathBuf>,
    /// Whether a connection without a client certificate is refused at once, or may show a token instead.
    #[arg(
        long,
        env = "DEED_TLS_CLIENT_CERTIFICATE",
        value_enum,
        default_value = "required"
    )]
    pub tls_client_certificate: Wanted,
    /// Listen beyond this machine even without TLS or without an auth file: whoever is on the network reads every token,
    /// or is trusted with every action.
    #[arg(long, env = "DEED_INSECURE_LISTEN_ANYWHERE", value_parser = BoolishValueParser::new())]
    pub insecure_listen_anywhere: bool,
}

/// Whether a client certificate is needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Wanted {
    /// No connection without.
    Required,
    /// A token serves as well.
    Optional,
}

impl Doors {
    /// Refuses an address that strangers reach while one of the doors is missing.
    pub fn allow(&self, listen: SocketAddr) -> Result<(), Error> {
        match self.missing(listen) {
            Some(error) if !self.insecure_listen_anywhere => Err(error),
            Some(_) | None => Ok(()),
        }
    }

    /// Which door strangers would find open at this address.
    pub fn missing(&self, listen: SocketAddr) -> Option<Error> {
        match (self.tls_certificate.is_some(), self.auth_file.is_some()) {
            _ if listen.ip().is_loopback() => None,
            (true, true) => None,
            (false, true) => Some(Error::PlainText { listen }),
            (_, false) => Some(Error::TrustsAnybody { listen }),
        }
    }

    /// The files of TLS, if it is to be spoken.
    pub fn tls(&self) -> Option<TlsFiles> {
        let wanted = match self.tls_client_certificate {
            Wanted::Required => ClientCertificate::Required,
            Wanted::Optional => ClientCertificate::Optional,
        };
        let (certificate, key) = self.tls_certificate.clone().zip(self.tls_key.clone())?;
        Some(TlsFiles {
            certificate,
            key,
            client_ca: self.tls_client_ca.clone().map(|path| (path, wanted)),
        })
    }
}
