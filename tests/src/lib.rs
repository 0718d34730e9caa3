pub mod receiver;
pub mod support;
