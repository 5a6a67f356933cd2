//! The destination that every system of the benchmark sends its effects to.
//!
//! `POST /effect` counts the request and its `Idempotency-Key`, `GET /stats` says what was counted, `POST /reset` forgets it.
//! `POST /hang/effect` is never answered, for destinations that stand still.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use axum::{Json, Router};
use bytes::Bytes;
use clap::Parser;
use factum_bench::unix_micros;
use serde_json::{Value, json};

/// A destination that counts.
#[derive(Parser)]
struct Options {
    /// Where to listen, on loopback.
    #[arg(long)]
    port: u16,
    /// How long each effect takes.
    #[arg(long, default_value_t = 0)]
    delay_ms: u64,
}

#[derive(Default)]
struct Seen {
    posts: u64,
    without_key: u64,
    keys: HashSet<Box<[u8]>>,
    /// When the last key came that had not been seen before.
    last_new_us: u64,
}

struct Sink {
    seen: Mutex<Seen>,
    delay: Duration,
}

impl Sink {
    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let options = Options::parse();
    let sink = Arc::new(Sink {
        seen: Mutex::default(),
        delay: Duration::from_millis(options.delay_ms),
    });
    let routes = Router::new()
        .route("/effect", post(effect))
        .route(
            "/hang/effect",
            post(async |_: Bytes| std::future::pending::<StatusCode>().await),
        )
        .route("/stats", get(stats))
        .route("/reset", post(reset))
        .with_state(sink);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", options.port)).await?;
    Ok(axum::serve(listener, routes).await?)
}

async fn effect(State(sink): State<Arc<Sink>>, headers: HeaderMap, _body: Bytes) -> Json<Value> {
    if !sink.delay.is_zero() {
        tokio::time::sleep(sink.delay).await;
    }
    let mut seen = sink.seen();
    seen.posts += 1;
    match headers.get("idempotency-key") {
        None => seen.without_key += 1,
        Some(key) => {
            if seen.keys.insert(key.as_bytes().into()) {
                seen.last_new_us = unix_micros();
            }
        }
    }
    let id = seen.posts;
    Json(json!({ "ok": true, "id": format!("e{id}") }))
}

async fn stats(State(sink): State<Arc<Sink>>) -> Json<Value> {
    let seen = sink.seen();
    Json(json!({
        "posts": seen.posts,
        "distinct": seen.keys.len(),
        "without_key": seen.without_key,
        "last_new_us": seen.last_new_us,
    }))
}

async fn reset(State(sink): State<Arc<Sink>>) -> StatusCode {
    *sink.seen() = Seen::default();
    StatusCode::NO_CONTENT
}
