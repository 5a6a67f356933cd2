//! Tests of the transport over real sockets on loopback, against servers that misbehave on purpose.

#![expect(
    clippy::unwrap_used,
    reason = "servers and helpers stop where they fail, as tests do"
)]

mod answers;
mod auth;
mod bounds;
mod byte_noise;
mod bytes;
mod cuts;
mod inside;
#[cfg(feature = "mcp")]
mod mcp;
mod phases;
mod proxy;
mod reuse;
mod rig;
mod secrets;
mod targets;
mod tls;
mod tokens;
