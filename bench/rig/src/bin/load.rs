//! Load over HTTP, on one thread so that it takes one core at most: C connections share N requests, each with a key of its own.
//!
//! Closed loop: a connection sends its next request when the last one was answered. Open loop (`--rate`): each request has an instant
//! at which it is due, and its latency counts from there, also when no connection was free: a system that stalls cannot hide it.
//! Prints one line of JSON.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use clap::Parser;
use factum_bench::{Target, unix_micros};
use hdrhistogram::Histogram;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::SendRequest;
use hyper::{Method, Request, StatusCode};
use serde_json::json;
use tokio::task::LocalSet;

/// Sends POST requests to an address on loopback, and measures how they are answered.
#[derive(Parser)]
struct Options {
    /// Where to.
    #[arg(long)]
    url: String,
    /// How many connections, each with one request at a time.
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// How many requests in all.
    #[arg(long)]
    count: u64,
    /// Open loop: requests due per second.
    #[arg(long)]
    rate: Option<f64>,
    /// Begins each key; the number of the request follows.
    #[arg(long)]
    prefix: String,
    /// The body. `{key}` and `{payload}` are replaced.
    #[arg(long, default_value = r#"{"key":"{key}","payload":"{payload}"}"#)]
    body: String,
    /// Bytes of payload in each body.
    #[arg(long, default_value_t = 256)]
    payload: usize,
    /// A header, as `name: value`; may be repeated.
    #[arg(long = "header")]
    headers: Vec<String>,
}

struct Plan {
    target: Target,
    headers: Vec<(String, String)>,
    /// The body's text around its keys.
    body: Vec<String>,
    prefix: String,
    count: u64,
    every: Option<Duration>,
    began: Instant,
    next: Cell<u64>,
    seen: RefCell<Seen>,
}

struct Seen {
    /// Microseconds until the whole answer was read, of requests that were accepted.
    latency: Histogram<u64>,
    refused: u64,
    lost: u64,
    first_refusal: Option<String>,
}

impl Seen {
    fn count(&mut self, answer: hyper::Result<(StatusCode, Bytes)>, due: Instant) -> Result<()> {
        match answer {
            Ok((status, _)) if status.is_success() => {
                let micros = u64::try_from(due.elapsed().as_micros())?;
                self.latency.saturating_record(micros.max(1));
            }
            Ok((status, body)) => {
                self.refused += 1;
                let said = format!("{status} {}", String::from_utf8_lossy(&body));
                self.first_refusal.get_or_insert(said);
            }
            Err(_) => self.lost += 1,
        }
        Ok(())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let options = Options::parse();
    let connections = options.connections;
    let plan = Rc::new(Plan::of(options)?);
    let started_us = unix_micros();
    LocalSet::new()
        .run_until(async {
            let tasks: Vec<_> = (0..connections)
                .map(|_| tokio::task::spawn_local(connection(Rc::clone(&plan))))
                .collect();
            for task in tasks {
                task.await??;
            }
            anyhow::Ok(())
        })
        .await?;
    report(&plan, started_us);
    Ok(())
}

impl Plan {
    fn of(options: Options) -> Result<Self> {
        let headers = options.headers.iter().map(|header| {
            let (name, value) = header
                .split_once(':')
                .with_context(|| format!("--header {header}: write it as `name: value`"))?;
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        });
        if options.rate.is_some_and(|rate| rate <= 0.0) {
            bail!("--rate: a number of requests per second above 0");
        }
        let body = options
            .body
            .replace("{payload}", &"x".repeat(options.payload));
        Ok(Self {
            target: Target::parse(&options.url)?,
            headers: headers.collect::<Result<_>>()?,
            body: body.split("{key}").map(str::to_owned).collect(),
            prefix: options.prefix,
            count: options.count,
            every: options.rate.map(|rate| Duration::from_secs_f64(1.0 / rate)),
            began: Instant::now(),
            next: Cell::new(0),
            seen: RefCell::new(Seen {
                latency: Histogram::new_with_bounds(1, 600_000_000, 3)?,
                refused: 0,
                lost: 0,
                first_refusal: None,
            }),
        })
    }

    /// The number of the next request, and when it is due; `None` when all are taken.
    fn take(&self) -> Option<(u64, Instant)> {
        let number = self.next.get();
        if number >= self.count {
            return None;
        }
        self.next.set(number + 1);
        let due = self.every.map_or_else(Instant::now, |every| {
            self.began + every.mul_f64(f64::from(u32::try_from(number).unwrap_or(u32::MAX)))
        });
        Some((number, due))
    }

    fn request(&self, number: u64) -> Result<Request<Full<Bytes>>> {
        let key = format!("{}-{number}", self.prefix);
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(&self.target.path)
            .header("host", &self.target.address)
            .header("content-type", "application/json")
            .header("idempotency-key", &key);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        Ok(request.body(Full::new(Bytes::from(self.body.join(&key))))?)
    }
}

async fn connection(plan: Rc<Plan>) -> Result<()> {
    let mut sender = plan.target.connect().await?;
    while let Some((number, due)) = plan.take() {
        tokio::time::sleep_until(due.into()).await;
        let answer = exchange(&mut sender, plan.request(number)?).await;
        if answer.is_err() {
            sender = plan.target.connect().await?;
        }
        plan.seen.borrow_mut().count(answer, due)?;
    }
    Ok(())
}

async fn exchange(
    sender: &mut SendRequest<Full<Bytes>>,
    request: Request<Full<Bytes>>,
) -> hyper::Result<(StatusCode, Bytes)> {
    sender.ready().await?;
    let answer = sender.send_request(request).await?;
    let status = answer.status();
    Ok((status, answer.into_body().collect().await?.to_bytes()))
}

#[expect(clippy::print_stdout, reason = "the line is what the program is for")]
fn report(plan: &Plan, started_us: u64) {
    let seconds = plan.began.elapsed().as_secs_f64();
    let seen = plan.seen.borrow();
    let at = |quantile| seen.latency.value_at_quantile(quantile);
    let line = json!({
        "count": plan.count,
        "accepted": seen.latency.len(),
        "refused": seen.refused,
        "lost": seen.lost,
        "first_refusal": seen.first_refusal,
        "seconds": seconds,
        "started_us": started_us,
        "latency_us": { "p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "max": seen.latency.max() },
    });
    println!("{line}");
}
