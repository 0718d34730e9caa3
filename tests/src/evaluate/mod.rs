//! The published experiment (arXiv 2608.02645) with a third arm: scripted agents whose tool calls fail in four ways, and
//! a count of the effects that came about twice.
//!
//! Owns the tasks, the arms, the runs and the page that tells their results. The faults are `receiver`'s, the rules
//! `deed-server`'s; what counts is the receiver's ledger, never what an agent believes. Everything that the sources leave
//! open is decided in [`scale`], [`task`] and [`setting`], and listed by [`page`] as our choice.

pub mod agent;
mod choices;
pub mod interval;
pub mod page;
pub mod plot;
mod published;
mod rows;
pub mod run;
pub mod scale;
pub mod setting;
pub mod stage;
pub mod tally;
pub mod task;
mod world;
