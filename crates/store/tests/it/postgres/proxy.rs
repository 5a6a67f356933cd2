//! A proxy on loopback that cuts connections between a worker and the database: before the request arrives, or after.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What happens to the next thing that a worker says.
#[derive(Clone, Copy)]
pub(crate) enum Cut {
    Nothing = 0,
    /// It is thrown away, and the connection closed.
    Request = 1,
    /// It arrives and is carried out; the answer is thrown away, and the connection closed.
    Answer = 2,
    /// The same, and nobody gets through any more.
    Everything = 3,
}

/// What stands in place of a cut once everything is cut.
const GONE: u8 = u8::MAX;

/// The proxy, until the end of the test.
pub(crate) struct Proxy {
    address: SocketAddr,
    cut: Arc<AtomicU8>,
}

impl Proxy {
    /// In front of the server of this URL.
    pub(crate) async fn before(url: &str) -> Self {
        let server = url
            .rsplit('@')
            .next()
            .and_then(|rest| rest.split('/').next())
            .unwrap()
            .to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let cut = Arc::new(AtomicU8::new(Cut::Nothing as u8));
        let shared = Arc::clone(&cut);
        tokio::spawn(async move {
            while let Ok((worker, _)) = listener.accept().await {
                if shared.load(Ordering::SeqCst) == GONE {
                    continue;
                }
                let database = TcpStream::connect(&server).await.unwrap();
                tokio::spawn(carry(worker, database, Arc::clone(&shared)));
            }
        });
        Self { address, cut }
    }

    /// The same database, through the proxy.
    pub(crate) fn url(&self, url: &str) -> String {
        let database = url.rsplit('/').next().unwrap();
        format!("postgresql://factum@{}/{database}", self.address)
    }

    /// Cuts once.
    pub(crate) fn cut(&self, what: Cut) {
        self.cut.store(what as u8, Ordering::SeqCst);
    }

    /// Whether the cut was made.
    pub(crate) fn was_cut(&self) -> bool {
        self.cut.load(Ordering::SeqCst) == Cut::Nothing as u8
    }
}

async fn carry(mut worker: TcpStream, mut database: TcpStream, cut: Arc<AtomicU8>) {
    let (mut asked, mut answered) = (vec![0; 65_536], vec![0; 65_536]);
    let mut cutting = false;
    loop {
        tokio::select! {
            read = worker.read(&mut asked) => {
                let Ok(length @ 1..) = read else { return };
                let wish = cut.swap(Cut::Nothing as u8, Ordering::SeqCst);
                if wish == Cut::Request as u8 { return }
                cutting = wish == Cut::Answer as u8 || wish == Cut::Everything as u8;
                if wish == Cut::Everything as u8 { cut.store(GONE, Ordering::SeqCst); }
                if database.write_all(&asked[..length]).await.is_err() { return }
            }
            read = database.read(&mut answered) => {
                let Ok(length @ 1..) = read else { return };
                if cutting || worker.write_all(&answered[..length]).await.is_err() { return }
            }
        }
    }
}
