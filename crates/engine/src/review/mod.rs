//! What people are offered while they review: a destination's export, read and matched with what waits for them, and whom a verdict
//! has to convince. Pure; [`crate::Engine`] holds the calls.

pub mod export;
pub mod matching;
pub mod strong;
