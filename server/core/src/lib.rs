//! The protocol of Deed, pure.
pub mod action;
pub mod command;
pub mod contract;
mod decide;
pub mod event;
pub mod evidence;
pub mod id;
pub mod judgement;
pub mod reply;
pub mod spec;
pub mod text;
pub mod time;

pub use decide::Protocol;
