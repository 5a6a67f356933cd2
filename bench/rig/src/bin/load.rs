//! Load over HTTP, on one thread so that it takes one core at most: C connections share N requests, each with a key of its own.
//!
//! Closed loop: a connection sends its next request when the last one was answered. Open loop (`--rate`): each request has an instant
//! at which it is due, and its latency counts from there, also when no connection was free: a system that stalls cannot hide it.
//! How long the system itself took, from the first byte, stands beside it. Prints one line of JSON.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
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
    /// Where to; may be repeated, and connections are spread over all.
    #[arg(long = "url", required = true)]
    urls: Vec<String>,
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
    /// The body. `{key}`, `{payload}` and, with `--spread`, `{part}` are replaced.
    #[arg(long, default_value = r#"{"key":"{key}","payload":"{payload}"}"#)]
    body: String,
    /// Requests go round so many parts: `{part}` is the request's number modulo this.
    #[arg(long, default_value_t = 1)]
    spread: u64,
    /// Bytes of payload in each body.
    #[arg(long, default_value_t = 256)]
    payload: usize,
    /// A header, as `name: value`; may be repeated.
    #[arg(long = "header")]
    headers: Vec<String>,
    /// A file of tokens, one a line: each part shows its own, in place of an `authorization` header.
    #[arg(long)]
    tokens: Option<PathBuf>,
}

struct Plan {
    targets: Vec<Target>,
    headers: Vec<(String, String)>,
    /// One for each part, or none.
    tokens: Vec<String>,
    body: String,
    prefix: String,
    count: u64,
    spread: u64,
    every: Option<Duration>,
    began: Instant,
    next: Cell<u64>,
    seen: RefCell<Seen>,
}

struct Seen {
    /// Microseconds from when it was due until the whole answer was read, of requests that were accepted.
    latency: Histogram<u64>,
    /// The same from when it was sent: without the wait for a free connection.
    service: Histogram<u64>,
    /// Microseconds from when it was sent until the whole refusal was read.
    refusal: Histogram<u64>,
    refused: u64,
    lost: u64,
    first_refusal: Option<String>,
}

/// In which no request takes longer than ten minutes.
fn microseconds() -> Result<Histogram<u64>> {
    Ok(Histogram::new_with_bounds(1, 600_000_000, 3)?)
}

fn note(into: &mut Histogram<u64>, since: Instant) -> Result<()> {
    let micros = u64::try_from(since.elapsed().as_micros())?;
    into.saturating_record(micros.max(1));
    Ok(())
}

impl Seen {
    fn new() -> Result<Self> {
        Ok(Self {
            latency: microseconds()?,
            service: microseconds()?,
            refusal: microseconds()?,
            refused: 0,
            lost: 0,
            first_refusal: None,
        })
    }

    fn count(
        &mut self,
        answer: hyper::Result<(StatusCode, Bytes)>,
        due: Instant,
        sent: Instant,
    ) -> Result<()> {
        match answer {
            Ok((status, _)) if status.is_success() => {
                note(&mut self.latency, due)?;
                note(&mut self.service, sent)?;
            }
            Ok((status, body)) => {
                self.refused += 1;
                note(&mut self.refusal, sent)?;
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
                .map(|number| tokio::task::spawn_local(connection(Rc::clone(&plan), number)))
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
        if options.spread == 0 {
            bail!("--spread: a number of parts above 0");
        }
        let targets = options.urls.iter().map(|url| Target::parse(url));
        Ok(Self {
            targets: targets.collect::<Result<_>>()?,
            headers: headers.collect::<Result<_>>()?,
            tokens: tokens(options.tokens.as_deref(), options.spread)?,
            body: options
                .body
                .replace("{payload}", &"x".repeat(options.payload)),
            prefix: options.prefix,
            count: options.count,
            spread: options.spread,
            every: options.rate.map(|rate| Duration::from_secs_f64(1.0 / rate)),
            began: Instant::now(),
            next: Cell::new(0),
            seen: RefCell::new(Seen::new()?),
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

    fn request(&self, number: u64, target: &Target) -> Result<Request<Full<Bytes>>> {
        let key = format!("{}-{number}", self.prefix);
        let part = number % self.spread;
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(&target.path)
            .header("host", &target.address)
            .header("content-type", "application/json")
            .header("idempotency-key", &key);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        if let Some(token) = self.tokens.get(usize::try_from(part)?) {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let body = self.body.replace("{key}", &key);
        let body = body.replace("{part}", &part.to_string());
        Ok(request.body(Full::new(Bytes::from(body)))?)
    }
}

/// The tokens of a file, one for each part.
fn tokens(file: Option<&Path>, parts: u64) -> Result<Vec<String>> {
    let Some(file) = file else {
        return Ok(Vec::new());
    };
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let tokens: Vec<String> = text.lines().map(str::to_owned).collect();
    if u64::try_from(tokens.len())? != parts {
        bail!("--tokens: {} tokens for {parts} parts", tokens.len());
    }
    Ok(tokens)
}

async fn connection(plan: Rc<Plan>, number: usize) -> Result<()> {
    let target = &plan.targets[number % plan.targets.len()];
    let mut sender = target.connect().await?;
    while let Some((number, due)) = plan.take() {
        tokio::time::sleep_until(due.into()).await;
        let sent = Instant::now();
        let answer = exchange(&mut sender, plan.request(number, target)?).await;
        if answer.is_err() {
            sender = target.connect().await?;
        }
        plan.seen.borrow_mut().count(answer, due, sent)?;
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
    let of = |one: &Histogram<u64>| {
        let at = |quantile| one.value_at_quantile(quantile);
        json!({ "p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "max": one.max() })
    };
    let line = json!({
        "count": plan.count,
        "accepted": seen.latency.len(),
        "refused": seen.refused,
        "lost": seen.lost,
        "first_refusal": seen.first_refusal,
        "seconds": seconds,
        "started_us": started_us,
        "latency_us": of(&seen.latency),
        "service_us": of(&seen.service),
        "refusal_us": of(&seen.refusal),
    });
    println!("{line}");
}
