//! A store that fails: each half of a transaction happens or does not, and its caller is told or is not.

mod agree;
mod answer;
mod dials;
mod each;
mod play;
mod session;
mod stage;
mod storm;
mod tally;
