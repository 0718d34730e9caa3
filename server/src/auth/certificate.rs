//! The names that a client certificate proves: the URIs and DNS names of its subject alternative names.
//!
//! That the certificate is genuine, in time, and signed by the client CA has been checked by the TLS handshake. The
//! subject's common name is not looked at: nothing constrains what a CA writes there.

use rustls::pki_types::CertificateDer;

/// One subject alternative name.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum CertificateName {
    /// A host name, in lower case.
    Dns(Box<str>),
    /// A URI, byte by byte: a SPIFFE id for example.
    Uri(Box<str>),
}

impl CertificateName {
    /// Reads `dns:` or `uri:` and the name.
    pub fn parse(text: &str) -> Option<Self> {
        match text.split_once(':')? {
            ("dns", name) if plain(name) => Some(Self::Dns(name.to_ascii_lowercase().into())),
            ("uri", name) if plain(name) && name.contains(':') => Some(Self::Uri(name.into())),
            _ => None,
        }
    }

    /// All names of a certificate; none where it cannot be read.
    pub fn of(certificate: &CertificateDer<'_>) -> Box<[Self]> {
        let Ok(parsed) = webpki::EndEntityCert::try_from(certificate) else {
            return Box::default();
        };
        let hosts = parsed
            .valid_dns_names()
            .map(|name| Self::Dns(name.to_ascii_lowercase().into()));
        let uris = parsed.valid_uri_names().map(|name| Self::Uri(name.into()));
        hosts.chain(uris).collect()
    }
}

/// Not empty, without space or control characters.
fn plain(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_the_file_writes_them() {
        let dns = |name: &str| Some(CertificateName::Dns(name.into()));
        assert_eq!(
            CertificateName::parse("dns:Worker.Internal"),
            dns("worker.internal")
        );
        let uri = "spiffe://shop/Worker";
        let parsed = CertificateName::parse("uri:spiffe://shop/Worker");
        assert_eq!(parsed, Some(CertificateName::Uri(uri.into())));
        for wrong in [
            "",
            "worker",
            "dns:",
            "uri:worker",
            "cn:worker",
            "dns:a b",
            "spiffe://shop/w",
        ] {
            assert_eq!(CertificateName::parse(wrong), None, "{wrong}");
        }
    }
}
