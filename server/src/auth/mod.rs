//! Who may do what: principals, their roles per namespace, and how each proves who it is.
//!
//! It owns the answer to two questions: who is calling, and may that caller do this there. It knows neither tonic nor
//! SQL: the edges hand over what a caller presented, and tell it what was answered. It decides nothing about actions:
//! that an owner speaks under its own token only is the core's rule.

mod caller;
pub mod certificate;
mod current;
mod doors;
mod file;
pub mod jwt;
mod keeper;
mod policy;
pub mod refresh;
mod role;
pub mod tls;
pub mod token;

#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;

pub use caller::{Caller, Presented, Scope};
pub use doors::{Doors, DoorsError};
pub use file::{FileError, load};
pub use keeper::Keeper;
pub use policy::{Member, Policy};
pub use role::{Right, Rights, Role};

/// Why a caller is not let in, or not let do something.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// Nothing was presented.
    #[error("the call carries no credentials; send a bearer token, or connect with a client certificate")]
    CredentialsMissing,
    /// Something was presented that proves nothing here. What exactly is wrong with it is in the server's log only.
    #[error("the credentials are not accepted: unknown, expired, or made for somebody else")]
    CredentialsRefused,
    /// It is known who calls; it may not do this. The same whether or not what it asked for exists.
    // SUBTLE: says nothing about the action, not even its id: whoever may not see a namespace cannot learn from refusals
    // what is in it (B20).
    #[error(
        "this caller has no role that allows it to {right} here; roles are given in the server's auth file"
    )]
    RoleMissing {
        /// What it wanted.
        right: Right,
    },
}
