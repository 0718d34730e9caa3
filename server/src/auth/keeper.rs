//! Lets callers in by the policy that is in force.

use std::sync::Arc;

use super::current::Current;
use super::{Caller, Error, Policy, Presented};

/// Holds the policy in force. Clones share it.
#[derive(Clone, Debug)]
pub struct Keeper(Current<Policy>);

impl Keeper {
    /// Begins with this policy.
    pub fn new(policy: Policy) -> Self {
        Self(Current::new(policy))
    }

    /// The policy in force.
    pub fn policy(&self) -> Arc<Policy> {
        self.0.take()
    }

    /// Puts another policy in force: also for whoever came in under the one before.
    pub fn enact(&self, policy: Policy) {
        self.0.replace(policy);
    }

    /// Lets a caller in, by what it presents.
    pub fn admit(&self, presented: Presented) -> Result<Caller, Error> {
        let policy = self.policy();
        let proven = policy.authenticate(&presented)?;
        Ok(Caller::new(self.clone(), policy, proven, presented))
    }
}
