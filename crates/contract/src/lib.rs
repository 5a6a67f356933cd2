//! What a destination promises about an operation: parse, lint, build requests, read answers. Pure: no I/O, no clock.

pub mod http;
