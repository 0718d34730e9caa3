//! The edge over real loopback connections, with the core over a map behind it.

mod calls;
mod hostile;
mod pages;
mod sessions;
mod stopping;
mod waiting;
