//! The proofs: the laws, checked in worlds that are small and complete, and in worlds that are large and drawn by chance.
//!
//! [`model`] explores, breadth first, every world that a small setting can reach, over the real core. [`simulate`] runs the
//! engine's driver over the memory store under a virtual clock, from a seed. Both count effects in the destination's own
//! ledger, and both are shown to notice deliberate mistakes ([`factum_core::mistake`]). There is no I/O, clock or task here.
//! Nothing that users build contains this crate.

pub mod elsewhere;
pub mod model;
pub mod simulate;
