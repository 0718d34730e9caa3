//! A caller that was let in. It is asked before every single thing that it wants.

use std::sync::Arc;

use deed_core::text::{Namespace, Principal};
use secrecy::SecretString;

use super::{Error, Keeper, Member, Policy, Right};

/// What a caller showed at the door.
#[derive(Clone, Debug, Default)]
pub struct Presented {
    /// A token or a JWT, without the word `Bearer`.
    pub bearer: Option<SecretString>,
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
    member: Arc<Member>,
    presented: Presented,
}

impl Caller {
    pub(super) fn new(
        keeper: Keeper,
        policy: Arc<Policy>,
        member: Arc<Member>,
        presented: Presented,
    ) -> Self {
        Self {
            keeper,
            policy,
            member,
            presented,
        }
    }

    /// Who it is.
    pub fn principal(&self) -> &Principal {
        &self.member.name
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
    // SUBTLE: a stream may live for hours. Asked only when it was opened, a caller whose token was taken back would go on
    // until it hangs up.
    fn now(&self) -> Result<Arc<Member>, Error> {
        let policy = self.keeper.policy();
        if Arc::ptr_eq(&policy, &self.policy) {
            return Ok(Arc::clone(&self.member));
        }
        let member = policy.authenticate(&self.presented)?;
        if member.name == self.member.name {
            Ok(member)
        } else {
            Err(Error::CredentialsRefused)
        }
    }
}
