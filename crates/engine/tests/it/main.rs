//! The driver over the memory store, under a virtual clock: two workers, pauses, lost answers. No tokio, no sockets.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod explorer;
mod forgotten;
mod operators;
mod workers;
mod world;
