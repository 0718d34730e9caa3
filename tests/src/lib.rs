//! What the tests, the demo and chaos stand on: the receiver, stories, fixtures, and the two themselves. Nothing outside
//! of this crate imports it.

pub mod bench;
pub mod chaos;
pub mod demo;
pub mod evaluate;
pub mod receiver;
pub mod story;
pub mod support;
