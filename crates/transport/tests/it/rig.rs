//! The rig: a permission, clocks that can be moved, and a server whose handler decides how it misbehaves.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use factum_contract::http::{HttpAnswer, HttpRequest};
use factum_core::evidence::Phase;
use factum_core::promise::Consequence;
use factum_core::retry::Backoff;
use factum_core::{
    ActionId, Bound, Conditions, Evidence, Intent, Known, Lane, Limits, Permission, Preference,
    Promises, Span, Timestamp, WorkerNonce, permit,
};
use factum_transport::{Clock, Ended, HttpTransport, Target, Transport};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Where every test's time begins.
pub(crate) const START: Timestamp = Timestamp::from_micros(1_000_000_000);

/// Stands still unless it is moved.
#[derive(Default)]
pub(crate) struct HandClock(AtomicI64);

impl HandClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn advance(&self, span: Span) {
        self.0.fetch_add(span.as_micros(), Ordering::SeqCst);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        START + Span::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// Runs a function at each reading, with the reading's number from 1, and adds what it returns to the start.
///
/// A send on a fresh connection reads the clock when it begins (1), before it hands the request over (2), and at each write
/// of the request (3 and up).
pub(crate) struct ScriptClock<F>(AtomicUsize, F);

pub(crate) const HAND_OVER: usize = 2;
pub(crate) const FIRST_WRITE: usize = 3;

impl<F: Fn(usize) -> Span + Send + Sync> ScriptClock<F> {
    pub(crate) fn new(script: F) -> Arc<Self> {
        Arc::new(Self(AtomicUsize::new(0), script))
    }
}

impl<F: Fn(usize) -> Span + Send + Sync> Clock for ScriptClock<F> {
    fn now(&self) -> Timestamp {
        START + (self.1)(self.0.fetch_add(1, Ordering::SeqCst) + 1)
    }
}

/// The limits that a permission carries.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    pub(crate) send_wait: Span,
    pub(crate) write: Span,
    pub(crate) answer: Span,
}

/// Long enough that no test which does not mean to reach a limit reaches it.
pub(crate) const AMPLE: Times = Times {
    send_wait: Span::from_secs(60),
    write: Span::from_secs(60),
    answer: Span::from_secs(60),
};

/// A permission to send, valid for `times.send_wait` from the start.
pub(crate) fn permission(times: Times) -> Permission {
    let intent = Intent {
        action: ActionId::new(START, Lane(7), 7),
        submitted_at: START,
        intent_at: None,
        not_before: None,
        deadline: None,
        approved_until: None,
        finish: false,
        preference: Preference::Ask,
        limits: Limits {
            send_wait: times.send_wait,
            answer_wait: times.answer,
            bound: Bound {
                write_limit: times.write,
                linger: Span::from_secs(5),
                pause_margin: Span::from_secs(30),
                skew: Span::ZERO,
            },
            backoff: Backoff {
                base: Span::from_secs(1),
                cap: Span::from_secs(1),
            },
            ..Limits::default()
        },
        promises: Promises::none(Consequence::Costly),
    };
    let known = Known::fold(std::iter::empty::<&Evidence>());
    let conditions = Conditions {
        now: START,
        current: &intent.promises,
        restore_released: true,
        clock_in_doubt: false,
        account_in_doubt: false,
        place_changed: false,
        credential_changed: false,
        subject_overtaken: false,
    };
    let leave = permit(&intent, &known, &conditions).expect("a first send is due");
    let (_, marked) = leave.mark(WorkerNonce(1));
    marked.durable()
}

pub(crate) fn post(path: &str, body: impl Into<Vec<u8>>) -> HttpRequest {
    HttpRequest {
        method: "POST".to_owned(),
        path_and_query: path.to_owned(),
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: body.into(),
    }
}

pub(crate) fn target(addr: SocketAddr) -> Target {
    Target::parse(&format!("http://{addr}"), false).expect("a loopback address is a target")
}

pub(crate) fn transport() -> HttpTransport {
    HttpTransport::new(HandClock::new())
}

/// One ordinary send with ample time.
pub(crate) async fn send(to: &Server, request: HttpRequest) -> Ended {
    transport()
        .send(permission(AMPLE), &target(to.addr), request, false)
        .await
}

/// Fails the test with what came instead.
pub(crate) fn answered(ended: Ended) -> HttpAnswer {
    match ended {
        Ended::Answered { answer, .. } => answer,
        Ended::NotSent { .. } | Ended::Lost { .. } => panic!("no answer: {ended:?}"),
    }
}

pub(crate) fn assert_not_sent(ended: &Ended, at: Phase) {
    match ended {
        Ended::NotSent { phase, .. } => assert_eq!(*phase, at, "{ended:?}"),
        Ended::Lost { .. } | Ended::Answered { .. } => panic!("not proven: {ended:?}"),
    }
}

/// Phase, bytes written, bytes read and status of a loss.
pub(crate) fn lost(ended: Ended) -> (Phase, u64, u64, Option<u16>) {
    match ended {
        Ended::Lost {
            phase,
            wrote,
            read,
            status,
            closed_at,
            ..
        } => {
            assert!(closed_at.is_some(), "we closed it ourselves");
            assert!(wrote > 0, "a loss means that something may have left");
            (phase, wrote, read, status)
        }
        Ended::NotSent { .. } | Ended::Answered { .. } => panic!("not lost: {ended:?}"),
    }
}

/// A byte stream on the server's side.
pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// One accepted connection and what was read from it.
pub(crate) struct Conn<S = TcpStream> {
    pub(crate) io: S,
    /// Which connection of the server it is, from 0.
    pub(crate) number: usize,
    pub(crate) seen: Seen,
}

/// What the server read from one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) bytes: Vec<u8>,
    /// The connection was reset under the server's read.
    pub(crate) reset: bool,
}

impl Seen {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// How often a request line starts in what was read; every test's paths are told apart by it.
    pub(crate) fn requests(&self) -> usize {
        self.text().matches(" HTTP/1.1\r\n").count()
    }
}

impl<S: Io> Conn<S> {
    pub(crate) fn new(io: S, number: usize) -> Self {
        Self {
            io,
            number,
            seen: Seen::default(),
        }
    }

    /// Reads up to `max` bytes more; false at the end of the stream or a reset.
    pub(crate) async fn read_some(&mut self, max: usize) -> bool {
        let mut buf = vec![0; max];
        match self.io.read(&mut buf).await {
            Ok(0) => false,
            Ok(n) => {
                self.seen.bytes.extend_from_slice(&buf[..n]);
                true
            }
            Err(_) => {
                self.seen.reset = true;
                false
            }
        }
    }

    /// Reads exactly `n` bytes, or to the end.
    pub(crate) async fn read_exactly(&mut self, n: usize) {
        let goal = self.seen.bytes.len() + n;
        while self.seen.bytes.len() < goal && self.read_some(goal - self.seen.bytes.len()).await {}
    }

    /// Reads one whole request; false if the stream ended before it.
    pub(crate) async fn read_request(&mut self) -> bool {
        let from = self.seen.bytes.len();
        loop {
            if request_is_whole(&self.seen.bytes[from..]) {
                return true;
            }
            if !self.read_some(64 * 1024).await {
                return false;
            }
        }
    }

    /// Reads until the other side ends it.
    pub(crate) async fn read_to_end(&mut self) {
        while self.read_some(64 * 1024).await {}
    }

    pub(crate) async fn write(&mut self, bytes: impl AsRef<[u8]>) {
        // The other side may be gone by now; what it did is judged from its own report.
        let _ = self.io.write_all(bytes.as_ref()).await;
        let _ = self.io.flush().await;
    }

    pub(crate) fn close(self) -> Seen {
        self.seen
    }
}

impl Conn {
    /// Closes with a reset.
    pub(crate) fn reset(self) -> Seen {
        self.io.set_zero_linger().expect("the socket is open");
        self.seen
    }
}

fn request_is_whole(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Some((head, _)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |n| n.parse::<usize>().expect("a length is a number"));
    bytes.len() >= head.len() + 4 + length
}

pub(crate) fn ok(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A server on loopback. What each connection saw is handed out when its handler has ended.
pub(crate) struct Server {
    pub(crate) addr: SocketAddr,
    accepted: Arc<AtomicUsize>,
    seen: mpsc::UnboundedReceiver<Seen>,
    accepting: tokio::task::JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start<F, Fut>(handler: F) -> Self
    where
        F: Fn(Conn) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Seen> + Send + 'static,
    {
        Self::start_at("127.0.0.1:0", handler).await
    }

    /// At another address of this machine.
    pub(crate) async fn start_at<F, Fut>(address: &str, handler: F) -> Self
    where
        F: Fn(Conn) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Seen> + Send + 'static,
    {
        let listener = TcpListener::bind(address)
            .await
            .expect("loopback has a free port");
        let addr = listener.local_addr().expect("it is bound");
        let accepted = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&accepted);
        let (tell, seen) = mpsc::unbounded_channel();
        let accepting = tokio::spawn(async move {
            let mut handlers = JoinSet::new();
            while let Ok((io, _)) = listener.accept().await {
                let number = count.fetch_add(1, Ordering::SeqCst);
                let handling = handler(Conn::new(io, number));
                let tell = tell.clone();
                handlers.spawn(async move {
                    // The test may have ended, and nobody may listen any more.
                    let _ = tell.send(handling.await);
                });
            }
        });
        Self {
            addr,
            accepted,
            seen,
            accepting,
        }
    }

    /// What the next connection that ends has seen.
    pub(crate) async fn seen(&mut self) -> Seen {
        tokio::time::timeout(Duration::from_secs(20), self.seen.recv())
            .await
            .expect("a connection ends")
            .expect("the server runs")
    }

    /// How many connections were accepted so far.
    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// A small generator, so that a failing iteration can be named and repeated.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}
