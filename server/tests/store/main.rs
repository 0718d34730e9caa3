//! The store against a real Postgres: what two halves of a transaction promise, and what the schema refuses.

mod fixture;
mod lists;
mod load;
mod migrations;
mod races;
mod random;
mod round_trip;
mod schema;
mod walk;
