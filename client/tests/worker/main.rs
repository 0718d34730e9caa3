//! The worker's half against a scripted service: what is sent, in which order, and what is never sent.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what surprises a test's helper fails the test"
)]

mod fake;
mod guard;
mod many;
mod next_steps;
mod opened;
mod renewals;
mod repeats;
mod sessions;
mod steps;
mod stops;
