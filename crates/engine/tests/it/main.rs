//! The driver over the memory store under a virtual clock, and the engine over a store that fails. No sockets.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod authority;
mod bounds;
mod byte_noise;
mod bytes;
mod fairness;
mod faulty;
mod forgotten;
mod operators;
mod ordered;
mod proposals;
mod retries;
mod running;
mod workers;
mod world;
