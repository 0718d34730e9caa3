//! From the core's words to messages. Total: whatever the core can say has a message, and nothing here can fail.

pub mod action;
pub mod contract;
pub mod event;
pub mod evidence;
pub mod step;
pub mod time;
pub mod word;
