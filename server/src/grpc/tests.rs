//! The edge over real loopback connections, with the core over a map behind it.

mod admitted;
mod batches;
mod calls;
mod doors;
mod hostile;
mod owners;
mod pages;
mod sessions;
mod stopping;
mod tls;
mod waiting;
