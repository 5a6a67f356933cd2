//! The plan from outside: grammar, determinism, counting.

mod draws;
mod grammar;
