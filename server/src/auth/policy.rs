//! One version of who may do what: principals with their roles, and what proves to be each of them.
//!
//! A policy never changes: a new version of the file is a new policy.

use std::collections::HashMap;
use std::sync::Arc;

use deed_core::text::{Namespace, Principal};

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

/// One version of who may do what.
#[derive(Debug, Default)]
pub struct Policy {
    anybody: Option<Arc<Member>>,
}

impl Policy {
    /// Everybody is `local` and may do everything: for a server that only this machine can reach.
    pub fn local() -> Self {
        let member =
            Principal::new(LOCAL).map(|name| Member::new(name, Role::Admin.rights(), HashMap::new()));
        Self {
            anybody: member.ok().map(Arc::new),
        }
    }

    /// Who this is.
    pub fn authenticate(&self, _presented: &Presented) -> Result<Arc<Member>, Error> {
        match &self.anybody {
            Some(member) => Ok(Arc::clone(member)),
            None => Err(Error::CredentialsMissing),
        }
    }
}
