//! The contract crate from outside: the catalogue's files, what they make of answers, what is wrong with broken ones.

mod build;
mod byte_noise;
mod bytes;
mod callbacks;
mod catalogue;
mod chain;
mod examples;
mod fuzz;
mod kinds;
mod kitchen;
mod language;
mod lint;
mod lookup;
mod operator;
mod places;
mod probe;
mod promises;
mod questions;
mod read;
mod redmine;
mod signing;
mod support;
mod testbed;
mod undo;
