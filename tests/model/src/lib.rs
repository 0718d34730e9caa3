//! The protocol, explored whole: every order of events in small worlds, judged by the core itself.
//!
//! A world is one action under one contract, two workers who execute and reconcile, an operator, a witness, a receiver, a
//! network, and clocks. The model has no transition of the action of its own: whatever is written about it comes from
//! [`Protocol::decide`](deed_core::Protocol::decide) on the rows and the history that the stories keep in memory
//! ([`ledger`]). What the model does have is everybody else:
//!
//! - [`steps`] says what can happen next, [`moves`] what follows for workers, receiver and clocks, [`network`] how calls and
//!   answers travel, [`receiver`] what the outside system does and what a lookup can truly see, [`deed`] hands calls to the
//!   core, [`writing`] keeps what it rules, on a primary and a standby;
//! - calls and answers are lost, repeated and reordered at will: a call that was made once may arrive again at any time;
//!   workers stop for as long as they like, past their leases, and wake up;
//! - [`claims`], [`progress`] and [`world`] say what must *always* hold, [`sights`] what must *sometimes* be seen;
//! - [`worlds`] lists the worlds that must hold, each with exactly the premises that its guarantee needs, [`traps`] the
//!   rules ([`rule`]) and premises that are taken out one at a time, and what the checker must find then.
//!
//! What is left out: time is in ticks, so nothing here speaks about what happens within one; a world has a horizon and a
//! number of claims; the operator looks at the receiver when he decides; nobody lies.

pub mod claims;
pub mod deed;
pub mod digest;
pub mod ledger;
pub mod moves;
pub mod network;
pub mod progress;
pub mod receiver;
pub mod rule;
pub mod run;
pub mod said;
pub mod setting;
pub mod sights;
pub mod state;
pub mod steps;
pub mod terms;
pub mod traps;
pub mod words;
pub mod world;
pub mod worlds;
pub mod writing;
