//! A caller that was let in. It is asked before every single thing that it wants.

use std::sync::Arc;

use deed_core::text::{Namespace, Principal};
use secrecy::SecretString;

use super::certificate::CertificateName;
use super::policy::Proven;
use super::{Error, Keeper, Member, Policy, Right, jwt};

/// What a caller showed at the door.
#[derive(Clone, Debug, Default)]
pub struct Presented {
    /// A token or a JWT, without the word `Bearer`.
    pub bearer: Option<SecretString>,
    /// The names of the client certificate that its connection was made with.
    pub certificate: Option<Arc<[CertificateName]>>,
}

/// Where somebody may do something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Scope {
    /// In every namespace.
    Everywhere,
    /// In these; never empty.
    Within(Vec<Namespace>),
}

/// Somebody who was let in, for one call or for one stream of calls.
#[derive(Debug)]
pub struct Caller {
    keeper: Keeper,
    policy: Arc<Policy>,
    proven: Proven,
    presented: Presented,
}

impl Caller {
    pub(super) fn new(keeper: Keeper, policy: Arc<Policy>, proven: Proven, presented: Presented) -> Self {
        Self {
            keeper,
            policy,
            proven,
            presented,
        }
    }

    /// Who it is.
    pub fn principal(&self) -> &Principal {
        &self.proven.member.name
    }

    /// Whether what it showed still proves who it is. Whoever makes many calls at once is refused as a whole where not.
    pub fn still_proven(&self) -> Result<(), Error> {
        self.now().map(drop)
    }

    /// Whether it may do this there, by the policy that is in force now.
    pub fn may(&self, right: Right, namespace: &Namespace) -> Result<(), Error> {
        if self.now()?.may(right, namespace) {
            Ok(())
        } else {
            Err(Error::RoleMissing { right })
        }
    }

    /// Where it may do this. Nowhere is a refusal.
    pub fn scope(&self, right: Right) -> Result<Scope, Error> {
        let member = self.now()?;
        if member.may_everywhere(right) {
            return Ok(Scope::Everywhere);
        }
        let namespaces = member.namespaces(right);
        if namespaces.is_empty() {
            return Err(Error::RoleMissing { right });
        }
        Ok(Scope::Within(namespaces))
    }

    /// The same caller by the policy in force.
    // SUBTLE: a stream may live for hours. Asked only when it was opened, a caller whose token was taken back or has expired
    // would go on until it hangs up.
    fn now(&self) -> Result<Arc<Member>, Error> {
        let policy = self.keeper.policy();
        if Arc::ptr_eq(&policy, &self.policy) {
            return match self.proven.until {
                Some(until) if jwt::now() > until => Err(Error::CredentialsRefused),
                Some(_) | None => Ok(Arc::clone(&self.proven.member)),
            };
        }
        let proven = policy.authenticate(&self.presented)?;
        if proven.member.name == self.proven.member.name {
            Ok(proven.member)
        } else {
            Err(Error::CredentialsRefused)
        }
    }
}
