//! Style and structure as tests: what may depend on what, what the sources must not contain, which pages have to exist.
//!
//! Everything here reads files, and asks cargo what the crates come from. It changes a file only where `UPDATE_DOCS=1` asks for a
//! generated page to be written anew.

mod alerts;
mod arrows;
mod bans;
mod generated;
mod licences;
mod links;
mod manifests;
mod manual;
mod packaging;
mod pages;
mod plain;
mod problems;
mod purity;
mod sql;
mod tree;
