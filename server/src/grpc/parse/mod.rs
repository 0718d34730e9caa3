//! The one parser of what strangers send: messages in, commands out that are valid by construction.
//!
//! Every field is bounded and checked here, once, and what is wrong with it is said with the field's path. Whether a
//! valid call is a good idea is not asked here: the core decides.

pub mod batch;
pub mod calls;
pub mod contract;
pub mod decisions;
pub mod evidence;
pub mod number;
pub mod page;
pub mod query;
pub mod renew;
pub mod request;
pub mod spec;
pub mod text;
pub mod time;

#[cfg(test)]
mod tests;

/// Why a message was refused: the field's path and what is wrong with it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{field} {reason}")]
pub struct Invalid {
    /// Such as `specification.contract.lease`.
    pub field: String,
    /// What is wrong, and what would be right; reads on after the field's name.
    pub reason: String,
}

impl Invalid {
    /// A reason without its field yet; [`At::at`] adds it.
    pub fn because(reason: impl Into<String>) -> Self {
        Self {
            field: String::new(),
            reason: reason.into(),
        }
    }

    /// A required field that was not sent.
    pub fn missing() -> Self {
        Self::because("is required")
    }
}

/// Puts the path in front of an error on its way out, so that the good case pays nothing for it.
pub trait At {
    /// The error happened in this field.
    fn at(self, field: &str) -> Self;

    /// The error happened in this entry of a repeated field.
    fn at_entry(self, field: &str, index: usize) -> Self;
}

impl<T> At for Result<T, Invalid> {
    fn at(self, field: &str) -> Self {
        self.map_err(|mut invalid| {
            invalid.field = match invalid.field.as_str() {
                "" => field.to_owned(),
                inner => format!("{field}.{inner}"),
            };
            invalid
        })
    }

    fn at_entry(self, field: &str, index: usize) -> Self {
        self.at(&format!("{field}[{index}]"))
    }
}

/// A message that must be there.
pub fn required<T>(message: Option<T>, field: &str) -> Result<T, Invalid> {
    message.ok_or_else(Invalid::missing).at(field)
}
