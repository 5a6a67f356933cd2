//! One suite of cases for every store, and what only SQLite has: files, locks, damage, kills.

#![expect(
    clippy::unwrap_used,
    reason = "the suite's helpers and cases stop where they fail, as tests do"
)]

mod actions;
mod fixtures;
mod suite;

#[cfg(feature = "postgres")]
mod growth;
#[cfg(feature = "postgres")]
mod pgbouncer;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;
