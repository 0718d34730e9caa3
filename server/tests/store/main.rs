//! The store against a real Postgres: what two halves of a transaction promise, and what the schema refuses.

mod fixture;
mod races;
mod round_trip;
