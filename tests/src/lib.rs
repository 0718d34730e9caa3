pub mod receiver;
pub mod story;
pub mod support;
