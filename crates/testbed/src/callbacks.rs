//! Reporting effects to whoever is named: bodies and signatures as the contracts describe them, and the faults of reports.
//!
//! One task sends them in the order in which effects landed. A report that is not taken is sent again a few times, as
//! destinations do. It counts what was taken, and knows nothing of what is done with it.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use factum_contract::far_side::{FarSide, Report, ReportOf, Reported};
use factum_contract::{Catalogue, Contract};
use factum_faults::Fault;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

use crate::config::CallbackTo;
use crate::error::Error;
use crate::shared::Shared;
use crate::stand_in::StandIn;
use crate::world::World;

/// One effect, or failed work, to be reported.
#[derive(Debug)]
pub(crate) struct Notice {
    pub(crate) stand: Option<Arc<StandIn>>,
    /// The report's own name.
    pub(crate) id: String,
    /// It is an effect; otherwise the work failed.
    pub(crate) done: bool,
    pub(crate) reference: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) object: Option<String>,
    pub(crate) receipt: Option<String>,
    pub(crate) fault: Fault,
}

/// How often a report is sent until it is taken.
const TRIES: u32 = 5;
/// Between two tries.
const RETRY: Duration = Duration::from_millis(300);
/// How long an answer to a report is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a report waits for another one to go before it.
const HELD: Duration = Duration::from_secs(2);

/// Whoever sends the reports.
pub(crate) struct Reporter {
    address: SocketAddr,
    path: String,
    secret: Vec<u8>,
    /// It holds the contract that describes the reports of the five kinds.
    catalogue: Catalogue,
    /// Reports that wait until another one has gone.
    held: VecDeque<Notice>,
}

impl Reporter {
    pub(crate) fn new(to: &CallbackTo) -> Result<Reporter, Error> {
        let wrong = || Error::CallbackUrl(to.url.clone());
        let rest = to.url.strip_prefix("http://").ok_or_else(wrong)?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let host = host.replace("localhost", "127.0.0.1");
        let address: SocketAddr = host.parse().map_err(|_| wrong())?;
        if !address.ip().is_loopback() {
            return Err(wrong());
        }
        Ok(Reporter {
            address,
            path: format!("/{path}"),
            secret: to.secret.clone(),
            catalogue: Catalogue::builtin(),
            held: VecDeque::new(),
        })
    }

    /// Sends what comes, until the testbed stops.
    pub(crate) async fn run(
        mut self,
        shared: Arc<Shared>,
        mut notices: mpsc::UnboundedReceiver<Notice>,
        mut stopped: watch::Receiver<bool>,
    ) {
        loop {
            tokio::select! {
                _ = stopped.changed() => return,
                notice = notices.recv() => match notice {
                    Some(notice) => self.take(&shared, notice).await,
                    None => return,
                },
                () = sleep(HELD), if !self.held.is_empty() => self.release(&shared).await,
            }
        }
    }

    async fn take(&mut self, shared: &Shared, notice: Notice) {
        match notice.fault {
            Fault::CallbackLost => return,
            Fault::CallbackReordered => {
                self.held.push_back(notice);
                return;
            }
            Fault::CallbackLate { ms } => sleep(Duration::from_millis(ms)).await,
            Fault::CallbackForged => self.send(shared, &notice, !notice.done, Some(FORGED)).await,
            _ => {}
        }
        self.send(shared, &notice, notice.done, None).await;
        match notice.fault {
            Fault::CallbackTwice => self.send(shared, &notice, notice.done, None).await,
            Fault::CallbackContradictory => self.send(shared, &notice, !notice.done, None).await,
            _ => {}
        }
        self.release(shared).await;
    }

    /// Sends what waited for another one to go first.
    async fn release(&mut self, shared: &Shared) {
        for notice in std::mem::take(&mut self.held) {
            self.send(shared, &notice, notice.done, None).await;
        }
    }

    /// Sends one report until it is taken; a forged one once.
    async fn send(&self, shared: &Shared, notice: &Notice, done: bool, forged: Option<&[u8]>) {
        let tries = if forged.is_some() { 1 } else { TRIES };
        let contrary = done != notice.done;
        for attempt in 0..tries {
            if attempt > 0 {
                sleep(RETRY).await;
            }
            let now = shared.see(World::now);
            let secret = forged.unwrap_or(&self.secret);
            let Some(report) = self.signed(notice, done, contrary, secret, now) else {
                return;
            };
            if self
                .post(&report)
                .await
                .is_some_and(|status| (200..300).contains(&status))
            {
                shared.tallies.callbacks.fetch_add(1, Ordering::Relaxed);
                return;
            }
        }
    }

    /// The contract that describes the report.
    fn contract<'a>(&'a self, notice: &'a Notice) -> Option<&'a Contract> {
        match &notice.stand {
            Some(stand) => Some(&stand.contract),
            None => self.catalogue.get("testbed", "neither.reported"),
        }
    }

    /// The report, signed; none where the contract describes none that says this.
    fn signed(
        &self,
        notice: &Notice,
        done: bool,
        contrary: bool,
        secret: &[u8],
        now: i64,
    ) -> Option<Report> {
        let far: FarSide<'_> = self.contract(notice)?.far_side();
        let id = if contrary {
            format!("{}_contrary", notice.id)
        } else {
            notice.id.clone()
        };
        let of = ReportOf {
            id: &id,
            reference: notice.reference.as_deref(),
            key: notice.key.as_deref(),
            object: notice.object.as_deref(),
            receipt: notice.receipt.as_deref().or(Some("none")),
        };
        let said = match done {
            true => far.report(Reported::Positive, &of),
            false => far
                .report(Reported::Negative, &of)
                .or_else(|| far.report(Reported::Reversed, &of)),
        };
        let url = format!("http://{}{}", self.address, self.path);
        far.sign(&said?, &url, &id, secret, now)
    }

    /// The status of the answer; none where there was none.
    async fn post(&self, report: &Report) -> Option<u16> {
        let exchange = async {
            let mut stream = TcpStream::connect(self.address).await.ok()?;
            let mut head = format!(
                "POST {} HTTP/1.1\r\nhost: {}\r\ncontent-length: {}\r\nconnection: close\r\n",
                self.path,
                self.address,
                report.body.len()
            );
            for (name, value) in &report.headers {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
            let mut bytes = format!("{head}\r\n").into_bytes();
            bytes.extend(&report.body);
            stream.write_all(&bytes).await.ok()?;
            let mut answer = Vec::new();
            while !answer.contains(&b'\n') && answer.len() < 4096 {
                if stream.read_buf(&mut answer).await.ok()? == 0 {
                    break;
                }
            }
            let line = String::from_utf8_lossy(&answer).into_owned();
            line.split(' ').nth(1)?.parse().ok()
        };
        timeout(PATIENCE, exchange).await.ok().flatten()
    }
}

/// The secret of whoever does not know it. As base64 it has the form that every scheme takes.
const FORGED: &[u8] = b"Zm9yZ2VkIHNlY3JldCBvZiBub2JvZHk=";
