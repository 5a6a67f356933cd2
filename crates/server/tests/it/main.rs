//! The HTTP API over loopback, as its callers see it: a running engine, a carrier whose effects are counted, and a raw client.
//!
//! Every answer that passes through [`world::World::call`] is held against the schema that the OpenAPI document gives for it.

#![expect(
    clippy::unwrap_used,
    reason = "helpers and cases stop where they fail, as tests do"
)]

mod agree;
mod approvals;
mod authority;
mod browsing;
mod callbacks;
mod cancel;
mod client;
mod compatible;
mod conforms;
mod console;
mod console_many;
mod console_settings;
mod conversations;
mod crossing;
mod document;
mod door;
mod edge;
mod events;
mod examples;
mod feed;
mod hooks;
mod malformed;
mod mcp;
mod metrics;
mod noise;
mod operate;
mod pages;
mod pattern;
mod proposals;
mod race;
mod refuse;
mod retention;
mod review;
mod reviewing;
mod situations;
mod submit;
mod tls;
mod twins;
mod wait;
mod webhooks;
mod work;
mod world;
