//! Placeholder until the handlers stand.
