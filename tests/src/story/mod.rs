//! Stories: protocol traces as script files, played against the core and against a server.
//!
//! A story says who calls what, when, and what must be answered. Time is the story's own: the core is handed it, and a
//! server's database reads it from a table, so a story of a day takes milliseconds and every answer is exact.
//! [`parse()`] reads a script, [`play()`] plays it and holds the answers against the expectations, [`Engine`] is whatever
//! answers: [`Memory`] (the core, with rows and history kept in memory) or [`Served`] (a real server on a real Postgres,
//! over gRPC).
//!
//! The scripts are in `tests/stories`; their language is described in `tests/stories/README.md`. Nothing here judges what
//! an answer ought to be: the scripts do.

mod engine;
mod memory;
mod parse;
mod play;
mod script;
mod served;
mod told;

pub use engine::{BASE, Engine};
pub use memory::Memory;
pub use parse::parse;
pub use play::{Transcript, play};
pub use script::Story;
pub use served::Served;
pub use told::Told;
