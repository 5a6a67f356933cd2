//! The command as its users have it: real processes, real files, real HTTP over loopback.
//!
//! What is true is read from the testbed's own ledger, never from the engine's tables. Every child is ended by its own id.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod access;
mod admin;
mod backup;
mod callbacks;
mod canary;
mod contract;
mod conversation;
#[cfg(feature = "failpoints")]
mod crash;
mod demo;
mod destination;
mod doctor;
mod explain;
mod fairness;
mod file;
mod gateway;
mod incidents;
mod keeping;
mod keys;
mod logs;
mod mcp;
mod moving;
mod observing;
mod pgbouncer;
mod postgres;
mod probe;
mod proposals;
mod register;
mod review;
mod reviewing;
mod seeds;
mod serve;
mod stand_in;
mod support;
mod tamper;
mod testbed;
mod tls;
mod usage;
mod webhooks;
mod work;
