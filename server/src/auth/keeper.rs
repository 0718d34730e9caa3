//! Keeps the policy that is in force, and lets callers in by it.

use std::sync::{Arc, PoisonError, RwLock};

use super::{Caller, Error, Policy, Presented};

/// Holds the policy in force. Clones share it.
#[derive(Clone, Debug)]
pub struct Keeper(Arc<RwLock<Arc<Policy>>>);

impl Keeper {
    /// Begins with this policy.
    pub fn new(policy: Policy) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(policy))))
    }

    /// The policy in force.
    pub fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts another policy in force: also for whoever came in under the one before.
    pub fn enact(&self, policy: Policy) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policy);
    }

    /// Lets a caller in, by what it presents.
    pub fn admit(&self, presented: Presented) -> Result<Caller, Error> {
        let policy = self.policy();
        let member = policy.authenticate(&presented)?;
        Ok(Caller::new(self.clone(), policy, member, presented))
    }
}
