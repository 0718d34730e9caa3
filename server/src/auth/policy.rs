//! One version of who may do what: principals with their roles, and what proves to be each of them.
//!
//! A policy never changes: a new version of the file is a new policy.

use std::collections::HashMap;
use std::sync::Arc;

use deed_core::text::{Namespace, Principal};
use secrecy::{ExposeSecret, SecretString};

use super::certificate::CertificateName;
use super::jwt::{self, Verifier};
use super::token::Tokens;
use super::{Error, Presented, Right, Rights, Role};

/// Who everybody is on a server that asks nobody: whoever runs on this machine is trusted as one.
const LOCAL: &str = "local";

/// A principal with what it may do.
#[derive(Debug)]
pub struct Member {
    /// Its name, as history keeps it.
    pub name: Principal,
    everywhere: Rights,
    within: HashMap<Namespace, Rights>,
}

impl Member {
    /// A principal with these rights in every namespace, and these in some.
    pub fn new(name: Principal, everywhere: Rights, within: HashMap<Namespace, Rights>) -> Self {
        Self {
            name,
            everywhere,
            within,
        }
    }

    /// Whether it may do this there.
    pub fn may(&self, right: Right, namespace: &Namespace) -> bool {
        self.everywhere.allow(right)
            || self
                .within
                .get(namespace)
                .is_some_and(|rights| rights.allow(right))
    }

    /// Whether it may do this in every namespace.
    pub fn may_everywhere(&self, right: Right) -> bool {
        self.everywhere.allow(right)
    }

    /// The namespaces in which it may do this beyond those in which it may everywhere, in the order of their names.
    pub fn namespaces(&self, right: Right) -> Vec<Namespace> {
        let allowed = self.within.iter().filter(|(_, rights)| rights.allow(right));
        let mut names: Vec<_> = allowed.map(|(namespace, _)| namespace.clone()).collect();
        names.sort();
        names
    }
}

/// A principal that was proven.
#[derive(Clone, Debug)]
pub struct Proven {
    /// Who it is.
    pub member: Arc<Member>,
    /// The second of the Unix epoch until which that holds; none where it holds until the policy says otherwise.
    pub until: Option<u64>,
}

/// One version of who may do what.
#[derive(Debug, Default)]
pub struct Policy {
    /// Who everybody is, where nobody is asked.
    anybody: Option<Arc<Member>>,
    pub(super) tokens: Tokens,
    pub(super) certificates: HashMap<CertificateName, Arc<Member>>,
    pub(super) subjects: HashMap<String, Arc<Member>>,
    pub(super) jwt: Option<Verifier>,
}

/// Why credentials are refused. For the log: the caller is told only that they are.
#[derive(Debug, thiserror::Error)]
enum Unproven {
    #[error("a bearer token that nobody has")]
    Token,
    #[error("a JWT, although no issuer is trusted")]
    NoIssuer,
    #[error(transparent)]
    Jwt(#[from] jwt::Refused),
    #[error("a JWT whose subject is no principal's")]
    Subject,
    #[error("a certificate without a name that is a principal's")]
    Certificate,
    #[error("a certificate with the names of several principals")]
    Certificates,
}

impl Policy {
    /// Everybody is `local` and may do everything: for a server that only this machine can reach.
    pub fn local() -> Self {
        let member =
            Principal::new(LOCAL).map(|name| Member::new(name, Role::Admin.rights(), HashMap::new()));
        Self {
            anybody: member.ok().map(Arc::new),
            ..Self::default()
        }
    }

    /// Who this is. A bearer token counts before a certificate; one that does not hold is never made up for by the other.
    pub fn authenticate(&self, presented: &Presented) -> Result<Proven, Error> {
        let lasting = |member: &Arc<Member>| Proven {
            member: Arc::clone(member),
            until: None,
        };
        if let Some(anybody) = &self.anybody {
            return Ok(lasting(anybody));
        }
        let proven = match (&presented.bearer, &presented.certificate) {
            (Some(bearer), _) => self.bearer(bearer),
            (None, Some(names)) => self.certificate(names).map(lasting),
            (None, None) => return Err(Error::CredentialsMissing),
        };
        proven.map_err(|why| {
            tracing::debug!(auth.refused = %why, "credentials refused");
            Error::CredentialsRefused
        })
    }

    fn bearer(&self, bearer: &SecretString) -> Result<Proven, Unproven> {
        // The parts of a JWT are joined by dots; a token of ours has none.
        if !bearer.expose_secret().contains('.') {
            let member = self.tokens.owner(bearer).ok_or(Unproven::Token)?;
            return Ok(Proven {
                member: Arc::clone(member),
                until: None,
            });
        }
        let verified = self.jwt.as_ref().ok_or(Unproven::NoIssuer)?.verify(bearer)?;
        let member = self.subjects.get(&verified.subject).ok_or(Unproven::Subject)?;
        Ok(Proven {
            member: Arc::clone(member),
            until: Some(verified.until),
        })
    }

    fn certificate(&self, names: &[CertificateName]) -> Result<&Arc<Member>, Unproven> {
        let mut members = names.iter().filter_map(|name| self.certificates.get(name));
        let first = members.next().ok_or(Unproven::Certificate)?;
        if members.all(|other| Arc::ptr_eq(first, other)) {
            Ok(first)
        } else {
            Err(Unproven::Certificates)
        }
    }
}
