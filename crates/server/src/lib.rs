//! How it is reached: the HTTP API.
//!
//! [`App`] holds a running engine and the tokens that open it; [`serve`] answers on a listener until it is told to stop, and
//! [`router`] is the same without one. Every call stands in one table, from which the router, the accepted query parameters
//! and the OpenAPI document ([`openapi::document`]) are made.
//!
//! Nothing is decided here about an action: this crate reads requests, hands them to the library and writes down what it
//! answers. It logs neither payloads nor tokens. Read `call.rs` first, then `run.rs`.

mod actions;
mod admin;
mod app;
mod call;
mod callbacks;
mod console;
mod conversations;
mod destinations;
mod edge;
mod event;
mod events;
mod headers;
mod health;
mod incoming;
mod limits;
mod mcp;
mod metrics;
pub mod openapi;
mod peers;
mod proposals;
mod query;
mod rates;
mod register;
mod reply;
mod retention;
mod review;
mod run;
pub mod schema;
mod serve;
mod signed;
mod tls;
mod webhooks;
mod work;

pub use app::App;
pub use limits::{Limits, Rate};
pub use mcp::gateway;
pub use run::router;
pub use serve::{Doors, check_listen, serve};
pub use tls::Tls;
pub use work::OUTCOMES as WORK_OUTCOMES;
