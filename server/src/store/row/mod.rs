//! Rows to actions and events, and back. One place for each field: a column where SQL filters by it or a constraint guards
//! it, else a field of a JSON document.
//!
//! Reading trusts nothing: an unknown word, a missing column or a document with a field that this server does not know
//! (a newer one wrote it) makes the row [`super::Error::Corrupt`], and nobody acts on half a row.

mod action;
mod columns;
mod contract;
mod event;
mod evidence;
mod progress;
mod restore;
mod stored;
mod word;

pub use action::{FixedColumns, SeenColumns, StandingColumns};
pub use columns::{At, Damage, Parameters, Place, bigint, read, read_opt};
pub use event::{EventColumns, read_event};
pub use restore::{read_action, read_key};
pub use stored::Of;
pub use word::Word;

/// Gives types of the core the shape of their documents.
macro_rules! document {
    ($($core:ident => $document:ident),* $(,)?) => {$(
        impl Stored for $core {
            fn store<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                $document::serialize(self, to)
            }

            fn load<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $document::deserialize(from)
            }
        }
    )*};
}

use document;
