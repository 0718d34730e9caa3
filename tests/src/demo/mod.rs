//! The demo: worker processes race, crash and lose answers over real work, first without Deed and then with it, and the
//! receiver's ledger is counted.
//!
//! Owns the experiment: what the seed decides (`plan`), the processes (`servers`, `crew`), one arm (`arm`), the
//! two kinds of worker (`blind`, `guarded`), the count (`tally`, `beliefs`) and what is told of it (`progress`, `report`).
//! The binaries `demo` and `worker` are thin. It imports the client as anybody would, and looks into no server.

pub mod arm;
pub mod beliefs;
pub mod blind;
pub mod crew;
pub mod guarded;
pub mod invoice;
pub mod plan;
pub mod progress;
pub mod report;
pub mod said;
pub mod servers;
pub mod stage;
pub mod tally;
