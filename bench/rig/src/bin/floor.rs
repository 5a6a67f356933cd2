//! The floor: the least program that does the benchmark's unit of work, to see what the work itself costs on a machine.
//!
//! One thread writes: it commits whatever has queued up as one transaction. There are no leases, no recovery, no limits, no evidence
//! and no queries. It is a ceiling for this shape of program, and no product.
//!
//! `POST /send` answers 202 when the request is durable, `POST /sync` 200 when the effect's outcome is; `GET /pending` counts what is
//! not finished.

use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, mpsc};

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use bytes::Bytes;
use clap::Parser;
use factum_bench::Target;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::client::conn::http1::SendRequest;
use rusqlite::{Connection, params};
use tokio::sync::{Mutex, mpsc as queue, oneshot};

/// How many records share a transaction at most.
const BATCH: usize = 1024;

/// How many effects are sent at once.
const SENDERS: usize = 64;

/// Accepts, sends once, records.
#[derive(Parser)]
struct Options {
    /// Where to listen, on loopback.
    #[arg(long)]
    port: u16,
    /// Where effects go.
    #[arg(long)]
    sink: String,
    /// The file to write, made anew.
    #[arg(long)]
    file: PathBuf,
}

enum Record {
    Intent {
        key: String,
        body: Bytes,
        /// Whether the key is new.
        durable: oneshot::Sender<bool>,
    },
    Outcome {
        key: String,
        durable: Option<oneshot::Sender<()>>,
    },
}

struct Effect {
    key: String,
    body: Bytes,
    /// Told when the outcome is durable.
    done: Option<oneshot::Sender<()>>,
}

struct Floor {
    records: mpsc::SyncSender<Record>,
    effects: queue::UnboundedSender<Effect>,
    pending: AtomicI64,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let options = Options::parse();
    let sink = Target::parse(&options.sink)?;
    let (records, written) = mpsc::sync_channel(65_536);
    let (effects, waiting) = queue::unbounded_channel();
    let floor = Arc::new(Floor {
        records,
        effects,
        pending: AtomicI64::new(0),
    });
    let writer = Arc::clone(&floor);
    let connection = open(&options.file)?;
    std::thread::spawn(move || write(connection, &written, &writer));
    let waiting = Arc::new(Mutex::new(waiting));
    for _ in 0..SENDERS {
        tokio::spawn(send_all(
            Arc::clone(&floor),
            Arc::clone(&waiting),
            sink.clone(),
        ));
    }
    let routes = Router::new()
        .route("/send", post(send))
        .route("/sync", post(sync))
        .route(
            "/pending",
            get(async |State(floor): State<Arc<Floor>>| {
                floor.pending.load(Ordering::Relaxed).to_string()
            }),
        )
        .with_state(floor);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", options.port)).await?;
    Ok(axum::serve(listener, routes).await?)
}

fn open(file: &PathBuf) -> Result<Connection> {
    let connection = Connection::open(file)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.execute_batch(
        "create table effect (id integer primary key, key text not null unique, body blob not null, outcome text)",
    )?;
    Ok(connection)
}

fn write(mut connection: Connection, records: &mpsc::Receiver<Record>, floor: &Floor) {
    while let Ok(first) = records.recv() {
        let mut batch = vec![first];
        batch.extend(records.try_iter().take(BATCH - 1));
        // Whoever waits for a batch that failed sees its channel closed.
        let Ok(fresh) = commit(&mut connection, &batch) else {
            continue;
        };
        for (record, fresh) in batch.into_iter().zip(fresh) {
            match record {
                // Who went away meanwhile needs no answer.
                Record::Intent { durable, .. } => {
                    let _ = durable.send(fresh);
                }
                Record::Outcome { durable, .. } => {
                    floor.pending.fetch_sub(1, Ordering::Relaxed);
                    if let Some(durable) = durable {
                        let _ = durable.send(());
                    }
                }
            }
        }
    }
}

/// Which of the records changed a row.
fn commit(connection: &mut Connection, batch: &[Record]) -> rusqlite::Result<Vec<bool>> {
    let transaction = connection.transaction()?;
    let mut changed = Vec::with_capacity(batch.len());
    {
        let mut insert = transaction
            .prepare_cached("insert or ignore into effect (key, body) values (?1, ?2)")?;
        let mut update =
            transaction.prepare_cached("update effect set outcome = '200' where key = ?1")?;
        for record in batch {
            changed.push(match record {
                Record::Intent { key, body, .. } => insert.execute(params![key, &body[..]])? == 1,
                Record::Outcome { key, .. } => update.execute([key])? == 1,
            });
        }
    }
    transaction.commit()?;
    Ok(changed)
}

async fn send_all(
    floor: Arc<Floor>,
    waiting: Arc<Mutex<queue::UnboundedReceiver<Effect>>>,
    sink: Target,
) -> Result<()> {
    let mut sender = sink.connect().await?;
    loop {
        let next = waiting.lock().await.recv().await;
        let Some(effect) = next else { return Ok(()) };
        while !post_effect(&mut sender, &sink, &effect)
            .await
            .unwrap_or(false)
        {
            sender = sink.connect().await?;
        }
        floor
            .records
            .send(Record::Outcome {
                key: effect.key,
                durable: effect.done,
            })
            .context("the writer ended")?;
    }
}

async fn post_effect(
    sender: &mut SendRequest<Full<Bytes>>,
    sink: &Target,
    effect: &Effect,
) -> Result<bool> {
    let request = Request::post(&sink.path)
        .header("host", &sink.address)
        .header("content-type", "application/json")
        .header("idempotency-key", &effect.key)
        .body(Full::new(effect.body.clone()))?;
    sender.ready().await?;
    let answer = sender.send_request(request).await?;
    let taken = answer.status().is_success();
    answer.into_body().collect().await?;
    Ok(taken)
}

async fn accept(
    floor: &Floor,
    headers: &HeaderMap,
    body: Bytes,
    done: Option<oneshot::Sender<()>>,
) -> Result<(), StatusCode> {
    let key = headers
        .get("idempotency-key")
        .and_then(|key| key.to_str().ok());
    let key = key.ok_or(StatusCode::BAD_REQUEST)?.to_owned();
    let (durable, written) = oneshot::channel();
    let intent = Record::Intent {
        key: key.clone(),
        body: body.clone(),
        durable,
    };
    let gone = StatusCode::INTERNAL_SERVER_ERROR;
    floor.records.send(intent).map_err(|_| gone)?;
    if !written.await.map_err(|_| gone)? {
        return Err(StatusCode::CONFLICT);
    }
    floor.pending.fetch_add(1, Ordering::Relaxed);
    floor
        .effects
        .send(Effect { key, body, done })
        .map_err(|_| gone)
}

async fn send(
    State(floor): State<Arc<Floor>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<StatusCode, StatusCode> {
    accept(&floor, &headers, body, None).await?;
    Ok(StatusCode::ACCEPTED)
}

async fn sync(
    State(floor): State<Arc<Floor>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<StatusCode, StatusCode> {
    let (done, finished) = oneshot::channel();
    accept(&floor, &headers, body, Some(done)).await?;
    finished
        .await
        .map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    Ok(StatusCode::OK)
}
