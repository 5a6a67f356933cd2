//! One connection, owned whole: hyper's two halves, the socket and the meters. Never spawns, never reconnects.
//!
//! The connection's future is polled by whoever carries a request, and is no task of its own. So it has ended exactly when it
//! has been dropped, and only then are the meters read: nobody else is left who could write a byte.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use factum_core::mistake::{Mistake, made};
use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use super::connect::{Peeked, Shared, close_abortively, peek};
use super::meter::{Gate, Meter, Metered, Watch};
use super::request::WholeBody;
use super::tls::Stream;

type Wire = TokioIo<Metered<Stream>>;

/// hyper refuses a smaller read buffer.
const BUFFER_MIN: usize = 8 * 1024;

/// Answers with more headers than this are refused by the parser.
const HEADERS_MAX: usize = 256;

/// An open connection.
pub(super) struct Line {
    pub(super) sender: SendRequest<WholeBody>,
    connection: Option<Pin<Box<Connection<Wire, WholeBody>>>>,
    above: Arc<Meter>,
    below: Arc<Meter>,
    below_base: u64,
    tls: bool,
    tcp: Arc<TcpStream>,
    orderly: bool,
}

/// What went over a connection in one exchange; final, because the connection has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    /// Bytes of the request that may have left; 0 is proof that none did.
    pub(super) wrote: u64,
    /// Bytes of an answer.
    pub(super) read: u64,
    /// Nobody else holds the stream. It cannot be otherwise; if it is, nothing is proven.
    pub(super) sealed: bool,
}

/// A connection's parts before HTTP is spoken on it.
pub(super) struct Opened {
    pub(super) stream: Stream,
    pub(super) below: Arc<Meter>,
    pub(super) tcp: Arc<TcpStream>,
}

/// A socket under its lower meter.
pub(super) fn wrap(tcp: TcpStream) -> (Arc<TcpStream>, Arc<Meter>, Metered<Shared>) {
    let tcp = Arc::new(tcp);
    let below = Arc::new(Meter::default());
    let io = Metered::new(Shared(Arc::clone(&tcp)), Arc::clone(&below));
    (tcp, below, io)
}

impl Line {
    /// Makes an HTTP/1.1 connection of an open stream. Writes nothing.
    pub(super) async fn open(opened: Opened, head_max_bytes: usize) -> Result<Self, hyper::Error> {
        let above = Arc::new(Meter::default());
        let tls = matches!(opened.stream, Stream::Tls(_));
        let io = TokioIo::new(Metered::new(opened.stream, Arc::clone(&above)));
        let (sender, connection) = http1::Builder::new()
            .max_buf_size(head_max_bytes.max(BUFFER_MIN))
            .max_headers(HEADERS_MAX)
            .handshake(io)
            .await?;
        Ok(Self {
            sender,
            connection: Some(Box::pin(connection)),
            above,
            below: opened.below,
            below_base: 0,
            tls,
            tcp: opened.tcp,
            orderly: false,
        })
    }

    /// Whether a request can be handed over, by `until` at the latest. An early close shows here.
    pub(super) async fn ready(&mut self, until: Instant) -> bool {
        let ready = async {
            if !self.poll_ready().await {
                return false;
            }
            if peek(&self.tcp) == Peeked::Spoke {
                // What came may be a session ticket, or the end of the session: let the runtime notice it, and read it.
                tokio::task::yield_now().await;
                return self.poll_ready().await;
            }
            true
        };
        timeout_at(until, ready).await.unwrap_or(false) && self.quiet()
    }

    async fn poll_ready(&mut self) -> bool {
        poll_fn(|cx| {
            if !self.poll_connection(cx) {
                return Poll::Ready(false);
            }
            self.sender.poll_ready(cx).map(|ready| ready.is_ok())
        })
        .await
    }

    /// Whether the socket itself is open and silent. Under TLS something may have come that is no answer (a session ticket).
    pub(super) fn quiet(&self) -> bool {
        match peek(&self.tcp) {
            Peeked::Quiet => true,
            Peeked::Spoke => self.tls,
            Peeked::Closed => false,
        }
    }

    /// Whether it has gone idle after an answer and can take another request.
    pub(super) async fn idle(&mut self) -> bool {
        poll_fn(|cx| {
            let open = self.poll_connection(cx);
            Poll::Ready(open && self.sender.is_ready())
        })
        .await
    }

    /// Clears the counts and puts the gate before the first byte.
    pub(super) fn begin(&mut self, gate: Option<Gate>, taken: Arc<AtomicBool>) {
        self.orderly = false;
        self.below_base = self.below.wrote();
        self.above.begin(Watch { gate, taken });
    }

    /// From here until the next [`Line::begin`] there is nothing to discard when it is closed.
    pub(super) fn rest(&mut self) {
        self.orderly = true;
    }

    /// Whether the whole request has been written.
    pub(super) fn whole(&self) -> bool {
        self.above.whole()
    }

    /// Moves the connection on. False once it has ended; it is dropped then, so that whoever waits for it is told.
    pub(super) fn poll_connection(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(connection) = self.connection.as_mut() else {
            return false;
        };
        if connection.as_mut().poll(cx).is_ready() {
            self.connection = None;
        }
        self.connection.is_some()
    }

    /// Lowers or raises how long written bytes may wait for their acknowledgement.
    pub(super) fn set_linger(&self, linger: std::time::Duration) -> bool {
        super::connect::set_linger(&self.tcp, linger).is_ok()
    }

    /// Ends the connection and reads the meters, in this order. Unless it was `orderly`, what the kernel has not sent is
    /// discarded and the other side sees a reset.
    pub(super) fn close(mut self, orderly: bool) -> Counts {
        self.orderly = orderly;
        let (above, below) = (Arc::clone(&self.above), Arc::clone(&self.below));
        let base = self.below_base;
        drop(self);
        let left = below.wrote() - base;
        let wrote = if made(Mistake::BytesCountedByAnAnswer) && above.read() == 0 {
            0
        } else {
            left_us(left, above.wrote(), above.offered())
        };
        Counts {
            wrote,
            read: above.read(),
            sealed: Arc::strong_count(&above) == 1 && Arc::strong_count(&below) == 1,
        }
    }

    /// Bytes of the request taken so far; final only after [`Line::close`], unless the answer is already whole.
    pub(super) fn wrote(&self) -> u64 {
        self.above.wrote()
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // Also the way of a send whose future was dropped: what was not sent by now shall not leave later.
        self.connection = None;
        if !self.orderly {
            close_abortively(&self.tcp);
        }
    }
}

/// How many bytes of the request may have left: 0 only where none did.
///
/// `below` is what the kernel took since the request was handed over, `above` what the stream said it had taken, `offered`
/// whether it was given any. Over plain TCP the first two are equal. rustls may take bytes of which none reaches the kernel,
/// and may report an error for a write of which a first record did; and what it writes for itself is no request.
fn left_us(below: u64, above: u64, offered: bool) -> u64 {
    match (below, above, offered) {
        (0, _, _) | (_, _, false) => 0,
        (below, 0, true) => below,
        (_, above, true) => above,
    }
}

/// The flag by which a body says that it has been handed over.
pub(super) fn flag() -> Arc<AtomicBool> {
    Arc::new(AtomicBool::new(false))
}

/// Whether a flag was set.
pub(super) fn is_set(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::left_us;

    #[test]
    fn only_what_the_kernel_never_took_is_proven() {
        let rows = [
            ((0, 0, false), 0, "nothing happened"),
            ((0, 0, true), 0, "offered, refused by the kernel"),
            ((0, 300, true), 0, "taken by rustls, none of it written"),
            ((24, 0, false), 0, "an alert of rustls's own"),
            ((16_406, 0, true), 16_406, "an error after the first record"),
            ((329, 300, true), 300, "written"),
        ];
        for ((below, above, offered), left, what) in rows {
            assert_eq!(left_us(below, above, offered), left, "{what}");
        }
    }
}
