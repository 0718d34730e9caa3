//! What counts as proof, what it allows, and what a new version of a file changes for those who are in already.

mod file;
mod jwt;
mod refresh;
