//! The protocol's tests: stories, tables and random worlds against the one function that decides.
//!
//! `world` remembers what a store remembers and checks every invariant after every step; the other modules only tell
//! stories. Nothing here knows SQL, a wire or a real clock.

#[cfg(test)]
mod base;
#[cfg(test)]
mod decisions;
#[cfg(test)]
mod fields;
#[cfg(test)]
mod honest;
#[cfg(test)]
mod lookups;
#[cfg(test)]
mod others;
#[cfg(test)]
mod proofs;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod reasons;
#[cfg(test)]
mod regressions;
#[cfg(test)]
mod table;
#[cfg(test)]
mod traps;
#[cfg(test)]
mod values;
#[cfg(test)]
mod world;
