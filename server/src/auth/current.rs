//! Something that is replaced while it is in use: whoever took it goes on with what it took.

use std::sync::{Arc, PoisonError, RwLock};

/// The one in force. Clones share it.
#[derive(Debug)]
pub struct Current<T>(Arc<RwLock<Arc<T>>>);

impl<T> Clone for Current<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Current<T> {
    /// Begins with this one.
    pub fn new(first: impl Into<Arc<T>>) -> Self {
        Self(Arc::new(RwLock::new(first.into())))
    }

    /// The one in force.
    pub fn take(&self) -> Arc<T> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts another one in force.
    pub fn replace(&self, next: impl Into<Arc<T>>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = next.into();
    }
}
