//! Rows on their way to a collector: in batches, and once each. What a collector does not take is dropped, and said in the log.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use factum::config::TracesConfig;
use factum_contract::HttpRequest;
use factum_core::{Span, Timestamp};
use factum_transport::{Asked, Clock, HttpTransport, Malformed, Target, Transport};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::Row;
use super::layer::Rows;
use super::otlp;

/// Rows in one request at the most.
const BATCH_MAX: usize = 512;
/// What is there goes out so long after the first of it came.
const LINGER: Duration = Duration::from_secs(1);
/// How long a collector may take.
const LIMIT: Span = Span::from_secs(10);
/// How long the last rows may take when the process ends.
const FAREWELL: Duration = Duration::from_secs(3);

/// Where rows go.
pub(crate) struct Collector {
    target: Target,
    service: String,
}

/// A running export.
pub(crate) struct Exporting {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

/// No permission rests on this time.
struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        factum_store::system_clock()()
    }
}

impl Collector {
    /// As it is configured; none where nothing is.
    ///
    /// # Errors
    /// The address is none that traces can be posted to.
    pub(crate) fn of(config: &TracesConfig) -> Result<Option<Self>, Malformed> {
        let Some(endpoint) = &config.endpoint else {
            return Ok(None);
        };
        Ok(Some(Self {
            target: Target::parse(endpoint, config.allow_plain_http)?,
            service: config.service.clone(),
        }))
    }

    /// Exports until told to stop.
    pub(crate) fn start(self, rows: Rows) -> Exporting {
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(self.run(rows, stopped));
        Exporting { stop, task }
    }

    async fn run(self, mut rows: Rows, mut stopped: oneshot::Receiver<()>) {
        let transport: Arc<dyn Transport> = Arc::new(HttpTransport::new(Arc::new(WallClock)));
        let mut batch = Vec::with_capacity(BATCH_MAX);
        loop {
            let ends = tokio::select! {
                got = rows.rows.recv_many(&mut batch, BATCH_MAX) => got == 0,
                _ = &mut stopped => true,
            };
            if !ends {
                gather(&mut rows, &mut batch).await;
            }
            while ends && batch.len() < BATCH_MAX {
                match rows.rows.try_recv() {
                    Ok(row) => batch.push(row),
                    Err(_) => break,
                }
            }
            self.post(transport.as_ref(), &batch).await;
            batch.clear();
            let dropped = rows.dropped.swap(0, Ordering::Relaxed);
            if dropped > 0 {
                tracing::warn!(
                    spans = dropped,
                    "the collector is too slow; spans were dropped"
                );
            }
            if ends {
                return;
            }
        }
    }

    async fn post(&self, transport: &dyn Transport, rows: &[Row]) {
        if rows.is_empty() {
            return;
        }
        let request = HttpRequest {
            method: "POST".to_owned(),
            path_and_query: "/v1/traces".to_owned(),
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: otlp::body(&self.service, rows).into_bytes(),
        };
        let why = match transport.ask(&self.target, request, LIMIT).await {
            Asked::Answered(answer) if (200..300).contains(&answer.status) => return,
            Asked::Answered(answer) => format!("it answered {}", answer.status),
            Asked::Failed { detail, .. } => detail,
        };
        tracing::warn!(
            spans = rows.len(),
            why,
            "the collector did not take spans; they are dropped"
        );
    }
}

impl Exporting {
    /// Lets what is there go out, within a bound.
    pub(crate) async fn finish(self) {
        let _ = self.stop.send(());
        // Late spans are not worth waiting for.
        let _ = timeout(FAREWELL, self.task).await;
    }
}

/// Takes what comes within a moment, so that not each span is a request.
async fn gather(rows: &mut Rows, batch: &mut Vec<Row>) {
    let more = async {
        while batch.len() < BATCH_MAX {
            match rows.rows.recv().await {
                Some(row) => batch.push(row),
                None => return,
            }
        }
    };
    let _ = timeout(LINGER, more).await;
}
