//! The proofs, run.

mod mistakes;
mod model;
