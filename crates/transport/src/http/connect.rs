//! From a target to a socket: name resolution, connecting, socket options. Reads no proxy from anywhere.

use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use factum_core::evidence::Phase;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{Instant, timeout_at};

use super::Unsent;
use super::public::is_public;
use crate::clock::duration;
use crate::ended::Boxed;
use crate::target::Target;

/// Turns a host's name into addresses.
pub trait Resolve: Send + Sync {
    /// All addresses of `host` with `port`, in the order in which they are to be tried.
    ///
    /// # Errors
    /// What the resolver says.
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> Boxed<'a, io::Result<Vec<SocketAddr>>>;
}

/// The operating system's resolver.
pub(super) struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> Boxed<'a, io::Result<Vec<SocketAddr>>> {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
    }
}

/// What is said of an address that is not to be reached.
const NOT_PUBLIC: &str = "the host has no address of the public internet";

/// The addresses of `target`, by `until` at the latest.
pub(super) async fn addresses(
    resolver: &dyn Resolve,
    target: &Target,
    until: Instant,
) -> Result<Vec<SocketAddr>, Unsent> {
    let unsent = |detail: String| Unsent::new(Phase::Resolve, detail);
    let allowed = |address: &SocketAddr| !target.public_only || is_public(address.ip());
    if let Ok(ip) = target.host.parse::<IpAddr>() {
        let address = Some(SocketAddr::new(ip, target.port)).filter(allowed);
        return address
            .map(|address| vec![address])
            .ok_or_else(|| unsent(NOT_PUBLIC.to_owned()));
    }
    let until = until.min(Instant::now() + duration(target.limits.resolve));
    let found = timeout_at(until, resolver.resolve(&target.host, target.port))
        .await
        .map_err(|_| unsent("the host's name was not resolved in time".to_owned()))?
        .map_err(|e| unsent(format!("the host's name was not resolved: {e}")))?;
    let usable: Vec<_> = found
        .into_iter()
        .filter(|addr| target.https || target.plain_beyond_loopback || addr.ip().is_loopback())
        .collect();
    // The connection is made to one of these, so that the name cannot lead elsewhere meanwhile.
    let usable: Vec<_> = usable.into_iter().filter(allowed).collect();
    if usable.is_empty() && target.public_only {
        return Err(unsent(NOT_PUBLIC.to_owned()));
    }
    if usable.is_empty() {
        return Err(unsent(
            "the host's name has no address that may be used".to_owned(),
        ));
    }
    Ok(usable)
}

/// Connects to the first address that answers. Each gets an even share of the time that is left.
pub(super) async fn connect(
    addresses: &[SocketAddr],
    target: &Target,
    until: Instant,
    linger: Duration,
) -> Result<TcpStream, Unsent> {
    let until = until.min(Instant::now() + duration(target.limits.connect));
    let mut last = "there was no time left to connect".to_owned();
    for (at, address) in addresses.iter().enumerate() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        let others = u32::try_from(addresses.len() - at).unwrap_or(u32::MAX);
        let share = Instant::now() + left / others;
        match timeout_at(share, connect_one(*address, linger)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(e)) => last = format!("no connection: {e}"),
            Err(_) => last = "no connection in time".to_owned(),
        }
    }
    Err(Unsent::new(Phase::Connect, last))
}

async fn connect_one(address: SocketAddr, linger: Duration) -> io::Result<TcpStream> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    socket.set_nodelay(true)?;
    let stream = socket.connect(address).await?;
    // Set after connecting: before, it would bound the connection's own handshake by a number meant for the request.
    set_linger(&stream, linger)?;
    Ok(stream)
}

/// Bounds how long written bytes may wait for their acknowledgement (`linger` in R1).
pub(super) fn set_linger(stream: &TcpStream, linger: Duration) -> io::Result<()> {
    // Zero would mean the system's default, which is a quarter of an hour.
    let linger = linger.max(Duration::from_millis(1));
    #[cfg(any(target_os = "linux", target_os = "android"))]
    SockRef::from(stream).set_tcp_user_timeout(Some(linger))?;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let _ = (stream, linger);
    Ok(())
}

/// Makes the close that follows discard what the kernel has not sent, and reset the connection.
pub(super) fn close_abortively(stream: &TcpStream) {
    // A socket that is already gone refuses the option, and has nothing left to discard.
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}

/// What can be seen on a socket without taking anything from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peeked {
    /// Open, and nothing has come.
    Quiet,
    /// Something has come that was not asked for.
    Spoke,
    /// The other side has closed or reset it.
    Closed,
}

/// Looks at the socket itself, because the runtime may not have been told yet.
pub(super) fn peek(stream: &TcpStream) -> Peeked {
    let mut one = [MaybeUninit::uninit()];
    match SockRef::from(stream).peek(&mut one) {
        Ok(0) => Peeked::Closed,
        Ok(_) => Peeked::Spoke,
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => Peeked::Quiet,
        Err(_) => Peeked::Closed,
    }
}

/// A socket that the connection uses while its owner keeps a hand on it: to look at it, and to close it abortively.
pub(super) struct Shared(pub(super) Arc<TcpStream>);

impl AsyncRead for Shared {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.poll_read_ready(cx))?;
            match self.0.try_read(buf.initialize_unfilled()) {
                Ok(n) => {
                    buf.advance(n);
                    return Poll::Ready(Ok(()));
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(e) => return Poll::Ready(Err(e)),
            }
        }
    }
}

impl AsyncWrite for Shared {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_with(cx, |tcp| tcp.try_write(buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_with(cx, |tcp| tcp.try_write_vectored(bufs))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from(&*self.0).shutdown(std::net::Shutdown::Write))
    }
}

impl Shared {
    fn poll_write_with(
        &self,
        cx: &mut Context<'_>,
        write: impl Fn(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(cx))?;
            match write(&self.0) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Leads every name to these addresses.
    struct To(&'static [&'static str]);

    impl Resolve for To {
        fn resolve<'a>(&'a self, _: &'a str, port: u16) -> Boxed<'a, io::Result<Vec<SocketAddr>>> {
            let found = self.0.iter();
            let found = found.map(|address| SocketAddr::new(address.parse().unwrap(), port));
            Box::pin(std::future::ready(Ok(found.collect())))
        }
    }

    async fn found(
        base: &str,
        names: &'static [&'static str],
        public: bool,
    ) -> Result<usize, String> {
        let target = Target::parse(base, false).unwrap();
        let target = if public { target.public_only() } else { target };
        let until = Instant::now() + Duration::from_secs(5);
        let found = addresses(&To(names), &target, until).await;
        found
            .map(|found| found.len())
            .map_err(|unsent| unsent.detail)
    }

    // A name may lead into the operator's network, at once or later: what it leads to is looked at before each connection.
    #[tokio::test]
    async fn who_may_reach_the_public_only_is_led_nowhere_else() {
        let name = "https://hooks.example.com";
        let inside = || Err(NOT_PUBLIC.to_owned());
        for (base, leads, wanted) in [
            (name, &["1.1.1.1"][..], Ok(1)),
            (name, &["127.0.0.1"][..], inside()),
            (
                name,
                &["10.0.0.1", "fd00::1", "::ffff:169.254.169.254"][..],
                inside(),
            ),
            (name, &["10.0.0.1", "1.1.1.1"][..], Ok(1)),
            ("https://127.0.0.1", &[][..], inside()),
            ("https://[::1]", &[][..], inside()),
            ("https://1.1.1.1", &[][..], Ok(1)),
        ] {
            assert_eq!(found(base, leads, true).await, wanted, "{base} {leads:?}");
        }
        assert_eq!(found(name, &["10.0.0.1"], false).await, Ok(1));
        assert_eq!(found("https://127.0.0.1", &[], false).await, Ok(1));
    }
}
