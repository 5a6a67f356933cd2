//! The library against the testbed: real HTTP, and every claim compared with the destination's own ledger.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod accounts;
mod answers;
mod authority;
mod carriers;
mod contracts;
mod conversations;
mod credentials;
mod events;
mod floods;
mod identity;
mod key_templates;
mod labs;
mod lookups;
mod outbox;
mod people;
#[cfg(feature = "postgres")]
mod postgres;
mod proxies;
mod restarts;
mod seeds;
mod support;
mod twins;
