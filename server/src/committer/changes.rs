//! Tells waiters in this process that an action has changed. It carries no content: whoever is told reads the action.
//! What other replicas commit is not told here; a waiter must look now and then by itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deed_core::id::ActionKey;
use tokio::sync::watch;

use crate::service::Watch;

/// Who waits for what.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    waiters: Arc<Mutex<HashMap<ActionKey, watch::Sender<()>>>>,
}

/// Waits for changes of one action, from the moment it was made.
#[derive(Debug)]
pub struct Waiter {
    changes: Changes,
    key: ActionKey,
    told: watch::Receiver<()>,
}

impl Changes {
    /// Begins to wait. Read the action after this, not before, or a change in between is missed.
    #[must_use]
    pub fn wait_for(&self, key: &ActionKey) -> Waiter {
        let told = self
            .waiters()
            .entry(key.clone())
            .or_insert_with(|| watch::Sender::new(()))
            .subscribe();
        Waiter {
            changes: self.clone(),
            key: key.clone(),
            told,
        }
    }

    /// Tells everybody who waits for `key`.
    pub(super) fn tell(&self, key: &ActionKey) {
        if let Some(waiting) = self.waiters().get(key) {
            waiting.send_replace(());
        }
    }

    // A holder of this lock does nothing that panics halfway, so what a poisoned one protects is whole.
    fn waiters(&self) -> MutexGuard<'_, HashMap<ActionKey, watch::Sender<()>>> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch for Waiter {
    async fn changed(&mut self) {
        if self.told.changed().await.is_err() {
            // The sender lives for as long as a waiter does; without it nothing will ever be told.
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut waiters = self.changes.waiters();
        // This waiter is still subscribed: it is the last one if it is the only one.
        if waiters
            .get(&self.key)
            .is_some_and(|told| told.receiver_count() <= 1)
        {
            waiters.remove(&self.key);
        }
    }
}
