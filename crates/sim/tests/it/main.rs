//! The proofs, run: a fixed set of worlds and seeds in every run, the long modes from the command line.

mod mistakes;
mod model;
mod simulate;
