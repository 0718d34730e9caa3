//! What the tests of this module share: valid messages, ways to spoil them, a server in memory.

pub mod guarded;
pub mod memory;
pub mod sample;
pub mod server;
pub mod wire;
