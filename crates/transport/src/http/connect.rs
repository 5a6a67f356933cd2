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

/// What is said of a host that leads nowhere but into networks that it may not reach.
const INSIDE: &str = "the host leads only into networks that are not the public internet's, which an operator has to allow (allow_private)";

/// The addresses of `target`, by `until` at the latest. One of them is connected to, so that the name cannot lead elsewhere
/// meanwhile.
pub(super) async fn addresses(
    resolver: &dyn Resolve,
    target: &Target,
    until: Instant,
) -> Result<Vec<SocketAddr>, Unsent> {
    let unsent = |detail: String| Unsent::new(Phase::Resolve, detail);
    let found = if let Ok(ip) = target.host.parse::<IpAddr>() {
        vec![SocketAddr::new(ip, target.port)]
    } else {
        let until = until.min(Instant::now() + duration(target.limits.resolve));
        timeout_at(until, resolver.resolve(&target.host, target.port))
            .await
            .map_err(|_| unsent("the host's name was not resolved in time".to_owned()))?
            .map_err(|e| unsent(format!("the host's name was not resolved: {e}")))?
    };
    let plain = target.https || target.plain_beyond_loopback;
    let (mut usable, spoken) = (Vec::new(), found.len());
    let mut forbidden = 0;
    for address in found {
        if !target.may_reach(address.ip()) {
            forbidden += 1;
        } else if plain || address.ip().to_canonical().is_loopback() {
            usable.push(address);
        }
    }
    if !usable.is_empty() {
        return Ok(usable);
    }
    Err(unsent(if forbidden > 0 && forbidden == spoken {
        INSIDE.to_owned()
    } else {
        "the host's name has no address that may be used".to_owned()
    }))
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
    use crate::networks::Networks;

    /// Leads every name to these addresses.
    struct To(&'static [&'static str]);

    impl Resolve for To {
        fn resolve<'a>(&'a self, _: &'a str, port: u16) -> Boxed<'a, io::Result<Vec<SocketAddr>>> {
            let found = self.0.iter();
            let found = found.map(|address| SocketAddr::new(address.parse().unwrap(), port));
            Box::pin(std::future::ready(Ok(found.collect())))
        }
    }

    async fn found(target: &Target, names: &'static [&'static str]) -> Result<usize, String> {
        let until = Instant::now() + Duration::from_secs(5);
        let found = addresses(&To(names), target, until).await;
        found
            .map(|found| found.len())
            .map_err(|unsent| unsent.detail)
    }

    // A name may lead into the operator's network, at once or later: what it leads to is looked at before each connection.
    #[tokio::test]
    async fn a_name_leads_to_no_network_that_nobody_allowed() {
        let name = "https://hooks.example.com";
        let inside = || Err(INSIDE.to_owned());
        let none = || Err("the host's name has no address that may be used".to_owned());
        let lan = Networks::Listed(["10.0.0.0/8".parse().unwrap()].into());
        let (public, any) = (Networks::Public, Networks::Any);
        for (base, networks, leads, others, operator) in [
            (name, &public, &["1.1.1.1"][..], Ok(1), Ok(1)),
            (name, &public, &[][..], none(), none()),
            (name, &public, &["127.0.0.1"][..], inside(), inside()),
            (
                name,
                &public,
                &["10.0.0.1", "fd00::1", "::ffff:169.254.169.254"][..],
                inside(),
                inside(),
            ),
            (name, &public, &["10.0.0.1", "1.1.1.1"][..], Ok(1), Ok(1)),
            (name, &lan, &["10.0.0.1", "127.0.0.1"][..], Ok(1), Ok(1)),
            (name, &any, &["10.0.0.1", "127.0.0.1"][..], Ok(2), Ok(2)),
            (name, &any, &["169.254.169.254"][..], inside(), inside()),
            ("https://127.0.0.1", &public, &[][..], inside(), Ok(1)),
            ("https://[::1]", &public, &[][..], inside(), Ok(1)),
            ("https://169.254.169.254", &any, &[][..], inside(), Ok(1)),
            ("https://localhost", &public, &["::1"][..], inside(), Ok(1)),
            // Where even this machine's own name leads elsewhere.
            (
                "https://localhost",
                &public,
                &["10.0.0.1"][..],
                inside(),
                inside(),
            ),
            ("https://1.1.1.1", &public, &[][..], Ok(1), Ok(1)),
        ] {
            let target = Target::parse(base, false)
                .unwrap()
                .reaching(networks.clone());
            assert_eq!(found(&target, leads).await, operator, "{base} {leads:?}");
            let target = target.written_by_others();
            assert_eq!(found(&target, leads).await, others, "{base} {leads:?}");
        }
    }

    // A name that is looked up twice, once to be checked and once to be connected to, could lead elsewhere the second time.
    #[tokio::test]
    async fn a_name_that_changes_its_mind_is_asked_once_and_held_to_its_answer() {
        struct Rebinding(std::sync::atomic::AtomicUsize);
        impl Resolve for Rebinding {
            fn resolve<'a>(
                &'a self,
                _: &'a str,
                port: u16,
            ) -> Boxed<'a, io::Result<Vec<SocketAddr>>> {
                let asked = self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                let leads = if asked == 0 { "1.1.1.1" } else { "127.0.0.1" };
                let found = SocketAddr::new(leads.parse().unwrap(), port);
                Box::pin(std::future::ready(Ok(vec![found])))
            }
        }
        let target = Target::parse("https://hooks.example.com", false)
            .unwrap()
            .written_by_others();
        let resolver = Rebinding(0.into());
        let until = Instant::now() + Duration::from_secs(5);
        let first = addresses(&resolver, &target, until).await.unwrap();
        assert_eq!(first, ["1.1.1.1:443".parse().unwrap()]);
        let second = addresses(&resolver, &target, until).await.unwrap_err();
        assert_eq!(second.detail, INSIDE);
        assert_eq!(resolver.0.into_inner(), 2, "each look asks once");
    }
}
