//! The server of Deed: edges, service, committer and store around the core that decides.

pub mod auth;
pub mod committer;
pub mod config;
pub mod dev;
pub mod grpc;
pub mod postgres;
pub mod run;
pub mod serve;
pub mod service;
pub mod store;
pub mod sweeper;
