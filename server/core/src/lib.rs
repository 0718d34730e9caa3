//! The protocol of Deed, pure: who may perform an action, and what is known about its effect.
//!
//! A worker calls an outside system and loses the answer. It cannot tell "it did not happen" from "it happened and I did
//! not hear". This crate decides who may act then. It reads no clock, no network and no store: [`Protocol::decide`] is
//! handed the row of one action, what history remembers of the call, the command and the time, and answers with the reply,
//! the row to write and the history to append. A reader who wants to know *why* Deed answered something reads this crate
//! alone.
//!
//! > A lapsed lease frees investigation, never execution.
//!
//! # Authority
//!
//! One row per action, locked while it is judged. Whoever holds the **lease** of the row's current **grant** may do the
//! one thing that the grant names: *execute* (one begin, one send) or *verify* (one lookup). The grant's **fencing token**
//! names it for ever: in evidence, in history, at the receiver. A token authorises; a *version* only guards the row
//! against a writer that has read an older one.
//!
//! Nobody else speaks under a token, with one exception: proof that the effect exists is taken from everybody whom the
//! edge lets in, under the speaker's own name. It is evidence like a witness's: it ends nobody's send, and gets no grant.
//!
//! An execution passes a gate, **begin**, durably and before its first byte leaves. What has not begun can be given to
//! somebody else when its lease lapses. What has begun may have left an effect, whatever became of its holder: the action
//! keeps the **attempt** as *undisproved* until evidence says that it left none and will leave none.
//!
//! # Whose clock
//!
//! The database's, read after the row is locked. A lease counts from the grant's time; its holder measures it from before
//! it asked, so a slow answer can only shorten what the holder believes. Lapse is a function of time: nobody has to write
//! it down for it to hold.
//!
//! # What may follow what
//!
//! ```text
//!  AWAITING_APPROVAL ──approve──▶ PLANNED ◀──── nothing left / nothing done ────┐
//!          │ deny, expiry            │ begin                                    │
//!          ▼                         ▼                                          │
//!      REJECTED ◀──refused────────  SENT  ──lease lapsed, "I do not know"──▶ UNKNOWN ◀──▶ ACCEPTED
//!                                    │ ▲                                     │   │            │
//!                                    │ └─begin── NOT_FOUND ◀─absence counts──┘   │            │
//!                                    │ ▲                                         ▼            │
//!                                    │ └─resume, once──────────────────────── PARTIAL         │
//!                                    ▼                                           │            │
//!                                CONFIRMED ◀───────────── proof, from anywhere ──┴────────────┘
//!
//!  An operator closes to ABANDONED or REJECTED and re-opens from there; proof turns even those into CONFIRMED.
//! ```
//!
//! # Invariants
//!
//! Code and tests cite these numbers.
//!
//! - **I1** Tokens of one action strictly grow; grants and operator decisions move them, and nothing else but evidence
//!   under a token that a failover lost.
//! - **I2** At most one live lease. A live lease keeps everyone else out, also another request of the same owner.
//! - **I3** Nobody is told to execute while an attempt is undisproved, but where it is harmless: the action only reads, the
//!   receiver deduplicates and is inside its window, or the contract resumes what is missing of a partial effect, once.
//! - **I4** What time has decided does not depend on who writes it down, or when. A lapse after *begin* is doubt; a lapse
//!   before it is nothing; a lapsed lookup is an inconclusive one.
//! - **I5** *Begin* succeeds once per grant, for the current token, within its live lease. Anything but `Execute` in the
//!   answer means: do not send.
//! - **I6** A receipt speaks for its own attempt only, whenever it comes. Every receipt and observation is appended to the
//!   history, exactly once.
//! - **I7** Absence counts only if its lookup was granted after the quiet time: when no undisproved send can be under way
//!   or invisible any more.
//! - **I8** One absence authorises at most one attempt. Accepting it and granting the retry are one transaction.
//! - **I9** A repeat of a request gets the grant that the request got, or none. No request gets two grants.
//! - **I10** Absence against something seen, in either order, is a contradiction: nobody sends until there is proof or a
//!   person decides.
//! - **I11** Positive evidence wins, and proof is final: `CONFIRMED` is never left, and its deciding evidence never changes.
//! - **I12** Where an external id identifies the effect, it proves one action.
//!
//! # Rooms
//!
//! [`command`] is what is asked, [`reply`] what is told, [`event`] what is kept for ever, [`action`] the row,
//! [`contract`] and [`spec`] what is fixed at creation, [`evidence`] receipts and observations, [`judgement`] the rest of
//! what goes in and out. The rules are in the private module `decide`: `offer` (what a claim would get), `claim` (leases),
//! `receipt`, `lookup`, `proof`, `operator`.

pub mod action;
pub mod command;
pub mod contract;
mod decide;
pub mod event;
pub mod evidence;
pub mod id;
pub mod judgement;
pub mod reply;
pub mod spec;
pub mod text;
pub mod time;

pub use decide::Protocol;
