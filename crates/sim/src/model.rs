//! The exhaustive model: breadth first over every world that a small setting can reach. Every decision, permission and state
//! is the core's; nothing of it is modelled again.
//!
//! A [`Setup`] says what is told to the core, what the destination really does and how much may go wrong; [`explore`] visits
//! everything that can follow. Read `world` for what there is, `moves` for what can happen, `laws` for what must hold.
//!
//! Residuals that are beyond any engine are excused by name and only as far as they were given: a person's wrong or early
//! verdict, a send that somebody ordered, a person's own hand, a repeat that the contract calls harmless, a proxy that doubles
//! what no key tells apart. A pause longer than its margin is not explored.

mod callers;
mod cases;
pub mod catalogue;
mod destination;
mod few;
mod fingerprint;
mod laws;
mod logs;
pub mod mistakes;
mod moves;
mod people;
mod report;
mod search;
mod setup;
mod twins;
mod worker;
mod world;

pub use self::cases::{Case, Cases};
pub use self::report::{Report, explore_all};
pub use self::search::{Counterexample, Found, explore};
pub use self::setup::{Offer, Setup};
