//! Chaos with real processes: servers, workers, receivers, and a Postgres with a synchronous standby, all on the loopback
//! with proxies in between, while a nemesis kills, pauses and cuts off whatever it likes; then a checker reads what is
//! left.
//!
//! Owns the experiment: what the seed decides (`plan`), the fleets (`fleet`), the worker's own part (`worker`, `log`), the
//! database and its standby (`database`), what keeps processes alive (`post`), the faults (`network`, `nemesis`), the
//! order of events (`stage`), what is read afterwards (`record`, `history`), what must hold (`checker`), what is said when
//! the work does not end (`diagnosis`) and the table (`report`).
//!
//! The seed fixes what is struck, how, for how long and in which order, whom an action is offered to, and how receivers
//! misbehave. It does not fix who wins a race: processes are real, and so is time.

pub mod checker;
pub mod database;
pub mod diagnosis;
pub mod fleet;
pub mod history;
pub mod log;
pub mod nemesis;
pub mod network;
pub mod plan;
pub mod post;
pub mod record;
pub mod report;
pub mod stage;
pub mod worker;
