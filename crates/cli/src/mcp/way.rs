//! The way to a server for a host's messages: one that is named, one that holds the store, or one of our own for as long as we run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use factum::{Code, Config, Factum};
use factum_server::App;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, oneshot};
use tokio::task::JoinHandle;

use crate::client::Client;
use crate::failure::Failure;
use crate::place::{self, Place};

/// How a server is reached, and how it is found again.
pub(crate) struct Way {
    config: Option<PathBuf>,
    now: Mutex<Reached>,
}

/// A server.
struct Reached {
    client: Arc<Client>,
    /// It is ours.
    own: Option<Own>,
}

/// A server of our own.
struct Own {
    stop: oneshot::Sender<()>,
    ended: JoinHandle<usize>,
}

impl Way {
    /// Finds the way: `FACTUM_URL`, else the server that holds the store, else a server of our own.
    pub(crate) async fn open(config: Option<&Path>) -> Result<Self, Failure> {
        let config = config.map(Path::to_owned);
        let now = Mutex::new(reach(config.as_deref()).await?);
        Ok(Self { config, now })
    }

    /// The client to ask with.
    pub(crate) async fn client(&self) -> Arc<Client> {
        self.now.lock().await.client.clone()
    }

    /// Nobody was there: whoever held the store may have gone, and somebody else may serve it by now, or nobody.
    pub(crate) async fn again(&self, gone: &Arc<Client>) -> Result<Arc<Client>, Failure> {
        let mut now = self.now.lock().await;
        if Arc::ptr_eq(&now.client, gone) && now.own.is_none() {
            *now = reach(self.config.as_deref()).await?;
        }
        Ok(now.client.clone())
    }

    /// Ends a server of our own in good order.
    pub(crate) async fn close(self) {
        if let Some(own) = self.now.into_inner().own {
            // Nobody listens where it has ended already.
            let _ = own.stop.send(());
            let left = own.ended.await.unwrap_or(0);
            if left > 0 {
                tracing::warn!(
                    requests = left,
                    "could not end in time; they are maybe sent, and the next start finds out"
                );
            }
        }
    }
}

async fn reach(config: Option<&Path>) -> Result<Reached, Failure> {
    if let Some(url) = place::url() {
        let token = place::token().ok_or_else(|| {
            Failure::usage(
                "FACTUM_URL is set and FACTUM_TOKEN is not",
                "set FACTUM_TOKEN to a token of the server",
            )
        })?;
        let client = Client::new(&url, token)
            .map_err(|failure| failure.about("FACTUM_URL, FACTUM_TOKEN"))?;
        return Ok(Reached {
            client: Arc::new(client),
            own: None,
        });
    }
    let place = Place::read(config)?;
    match serve(&place).await {
        Err(held) if held.code() == Some(Code::StoreHeld) => holder(&place, held),
        served => served,
    }
}

/// The server that holds the store.
fn holder(place: &Place, held: Failure) -> Result<Reached, Failure> {
    let home = place.home()?;
    let Some(address) = place::holder_address(&home) else {
        return Err(held);
    };
    let token = match place::token() {
        Some(token) => token,
        None => std::fs::read_to_string(home.token_file())
            .map_err(|_| held)?
            .trim()
            .to_owned(),
    };
    Ok(Reached {
        client: Arc::new(Client::new(&address, token)?),
        own: None,
    })
}

/// Serves the store on a free port of this machine; others who look for it find it there.
async fn serve(place: &Place) -> Result<Reached, Failure> {
    let path = place.store()?;
    let factum = started(path, place.config.clone()).await?;
    let unbound =
        |error: std::io::Error| Failure::other(format!("no port is free: {error}"), "try again");
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(unbound)?;
    let address = listener.local_addr().map_err(unbound)?;
    let url = format!("http://{address}");
    let token = place.home()?.admin_token()?;
    if let Some(store) = factum.sqlite_store() {
        store.set_address(&url)?;
    }
    let (stop, stopped) = oneshot::channel::<()>();
    let app = App::new(factum, [token.clone()]);
    let ended = tokio::spawn(factum_server::serve(listener, app, async move {
        // Told to, or whoever could tell is gone.
        let _ = stopped.await;
    }));
    let client = Client::new(&url, place::token().unwrap_or(token))?;
    Ok(Reached {
        client: Arc::new(client),
        own: Some(Own { stop, ended }),
    })
}

/// A start stays on one thread: the files that it opens on the way do.
async fn started(path: PathBuf, config: Config) -> Result<Factum, Failure> {
    let start = move || {
        let start = Factum::sqlite(path).config(config).start();
        tokio::runtime::Handle::current().block_on(start)
    };
    match tokio::task::spawn_blocking(start).await {
        Ok(started) => Ok(started?),
        Err(error) => Err(Failure::other(
            format!("the engine did not start: {error}"),
            "see the log",
        )),
    }
}
