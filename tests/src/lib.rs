//! What the tests and the demo stand on: the receiver, stories, fixtures, and the demo itself. Nothing outside of this
//! crate imports it.

pub mod demo;
pub mod evaluate;
pub mod receiver;
pub mod story;
pub mod support;
