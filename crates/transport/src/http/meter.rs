//! Counts what passes through a stream, and keeps the gate before its first byte. Knows nothing of HTTP.
//!
//! Two meters lie over one connection: one above TLS, which sees the request and the answer and nothing else, and one below,
//! which sees every byte that the kernel took. Proof that nothing was sent needs both: rustls may report an error for a write
//! of which a first record has already left.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use factum_core::permission::Expired;
use factum_core::{Permission, Timestamp};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::clock::Clock;

/// What passed through one stream since the counts were last cleared.
#[derive(Default)]
pub(super) struct Meter {
    wrote: AtomicU64,
    read: AtomicU64,
    offered: AtomicBool,
    whole: AtomicBool,
    watch: Mutex<Option<Watch>>,
}

/// What is watched for during one exchange.
pub(super) struct Watch {
    /// The gate before the first byte; questions have none.
    pub(super) gate: Option<Gate>,
    /// Set once the whole body of the request has been handed to the stream's owner.
    pub(super) taken: Arc<AtomicBool>,
}

/// Holds the permission at the last place before the kernel (law 7).
pub(super) struct Gate {
    permission: Arc<Permission>,
    clock: Arc<dyn Clock>,
    last_write: Timestamp,
    refused: Arc<AtomicBool>,
}

/// Why the gate stayed shut.
#[derive(Debug, thiserror::Error)]
pub(super) enum Shut {
    #[error(transparent)]
    Expired(#[from] Expired),
    #[error("the write limit had passed when more of the request was to be written")]
    TooSlow,
}

impl Gate {
    /// A gate for one request; `refused` is set when it stayed shut before the first byte.
    pub(super) fn new(
        permission: Arc<Permission>,
        clock: Arc<dyn Clock>,
        refused: Arc<AtomicBool>,
    ) -> Self {
        Self {
            permission,
            clock,
            last_write: Timestamp::EARLIEST,
            refused,
        }
    }

    /// Before the first byte the permission is checked; from then on the write limit, by the store's clock, which goes on
    /// while a process is stopped.
    fn pass(&mut self, first: bool) -> Result<(), Shut> {
        let now = self.clock.now();
        if first {
            if let Err(expired) = self.permission.check(now) {
                self.refused.store(true, Ordering::Relaxed);
                return Err(expired.into());
            }
            self.last_write = now + self.permission.write_limit();
        } else if now > self.last_write {
            return Err(Shut::TooSlow);
        }
        Ok(())
    }
}

impl Meter {
    /// Clears the counts and watches the next exchange.
    pub(super) fn begin(&self, watch: Watch) {
        self.wrote.store(0, Ordering::Relaxed);
        self.read.store(0, Ordering::Relaxed);
        self.offered.store(false, Ordering::Relaxed);
        self.whole.store(false, Ordering::Relaxed);
        *self.watch.lock().unwrap_or_else(PoisonError::into_inner) = Some(watch);
    }

    /// Bytes taken for writing.
    pub(super) fn wrote(&self) -> u64 {
        self.wrote.load(Ordering::Relaxed)
    }

    /// Bytes read.
    pub(super) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Whether any byte was offered for writing and let through.
    pub(super) fn offered(&self) -> bool {
        self.offered.load(Ordering::Relaxed)
    }

    /// Whether the whole request has been written and flushed.
    pub(super) fn whole(&self) -> bool {
        self.whole.load(Ordering::Relaxed)
    }

    fn admit(&self) -> io::Result<()> {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gate) = watch.as_mut().and_then(|watch| watch.gate.as_mut()) {
            gate.pass(self.wrote() == 0).map_err(io::Error::other)?;
        }
        self.offered.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn count_written(&self, n: usize) {
        self.wrote.fetch_add(n as u64, Ordering::Relaxed);
    }

    /// The owner flushes only when it holds nothing back; with the body taken, that means that all of it is written.
    fn note_flushed(&self) {
        let watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = watch
            .as_ref()
            .is_some_and(|watch| watch.taken.load(Ordering::Relaxed));
        if taken && self.wrote() > 0 {
            self.whole.store(true, Ordering::Relaxed);
        }
    }
}

/// A stream under a meter.
pub(super) struct Metered<T> {
    io: T,
    meter: Arc<Meter>,
}

impl<T> Metered<T> {
    pub(super) fn new(io: T, meter: Arc<Meter>) -> Self {
        Self { io, meter }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Metered<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(cx, buf))?;
        let n = buf.filled().len() - before;
        self.meter.read.fetch_add(n as u64, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Metered<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.meter.admit()?;
        let n = ready!(Pin::new(&mut self.io).poll_write(cx, buf))?;
        self.meter.count_written(n);
        Poll::Ready(Ok(n))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.meter.admit()?;
        let n = ready!(Pin::new(&mut self.io).poll_write_vectored(cx, bufs))?;
        self.meter.count_written(n);
        Poll::Ready(Ok(n))
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.io).poll_flush(cx))?;
        self.meter.note_flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
