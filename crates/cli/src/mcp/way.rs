//! The way to a server for a host's messages: one that is named, one that holds the store, or one of our own for as long as we run.

use std::path::PathBuf;
use std::sync::Arc;

use factum::{Builder, Code, Factum};
use factum_server::App;
use factum_server::gateway::Gateway;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, oneshot};
use tokio::task::JoinHandle;

use crate::client::Client;
use crate::failure::Failure;
use crate::local::open_store;
use crate::mcp::hold;
use crate::mcp::wrap::Wish;
use crate::place::{self, Place};

/// What is to be reached.
pub(crate) enum Source {
    /// The engine of the configuration.
    Store(Option<PathBuf>),
    /// Other servers, through a gateway.
    Gateway(Box<Wish>),
}

/// How a server is reached, and how it is found again.
pub(crate) struct Way {
    source: Source,
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
    pub(crate) async fn open(source: Source) -> Result<Self, Failure> {
        let now = Mutex::new(reach(&source).await?);
        Ok(Self { source, now })
    }

    /// The client to ask with.
    pub(crate) async fn client(&self) -> Arc<Client> {
        self.now.lock().await.client.clone()
    }

    /// Nobody was there: whoever held the store may have gone, and somebody else may serve it by now, or nobody.
    pub(crate) async fn again(&self, gone: &Arc<Client>) -> Result<Arc<Client>, Failure> {
        let mut now = self.now.lock().await;
        if Arc::ptr_eq(&now.client, gone) && now.own.is_none() {
            *now = reach(&self.source).await?;
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

async fn reach(source: &Source) -> Result<Reached, Failure> {
    let config = match source {
        Source::Store(config) => config,
        Source::Gateway(wish) => return behind(wish).await,
    };
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
    let place = Place::read(config.as_deref())?;
    match serve(&place, None).await {
        Err(held) if held.code() == Some(Code::StoreHeld) => holder(&place, held),
        served => served,
    }
}

/// The gateway that holds the store of this wish, or one of our own.
async fn behind(wish: &Wish) -> Result<Reached, Failure> {
    let place = &wish.place;
    // Looked at before the servers behind it are started: they are started once.
    match open_store(place) {
        Err(held) if held.code() == Some(Code::StoreHeld) => return holder(place, held),
        Err(failure) => return Err(failure),
        Ok(free) => drop(free),
    }
    let gateway = Gateway::start(wish.config.clone(), &hold::words()?).await?;
    match serve(place, Some(gateway)).await {
        Err(held) if held.code() == Some(Code::StoreHeld) => holder(place, held),
        served => served,
    }
}

/// The server that holds the store.
fn holder(place: &Place, held: Failure) -> Result<Reached, Failure> {
    Ok(Reached {
        client: Arc::new(place.holder(held)?),
        own: None,
    })
}

/// Serves the store on a free port of this machine; others who look for it find it there.
async fn serve(place: &Place, gateway: Option<Gateway>) -> Result<Reached, Failure> {
    let mut builder = Factum::sqlite(place.store()?).config(place.config.clone());
    if let Some(gateway) = &gateway {
        builder = gateway.carried_by(builder)?;
    }
    let factum = started(builder).await?;
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
    let client = match gateway {
        // A gateway has no token but its own: nobody else is let in.
        Some(_) => Client::new(&url, token.clone())?,
        None => Client::new(&url, place::token().unwrap_or_else(|| token.clone()))?,
    };
    let app = match gateway {
        Some(gateway) => App::gateway_of(factum, [token], gateway),
        None => App::new(factum, [token]),
    };
    let ended = tokio::spawn(factum_server::serve(listener, app, async move {
        // Told to, or whoever could tell is gone.
        let _ = stopped.await;
    }));
    Ok(Reached {
        client: Arc::new(client),
        own: Some(Own { stop, ended }),
    })
}

/// A start stays on one thread: the files that it opens on the way do.
async fn started(builder: Builder) -> Result<Factum, Failure> {
    let start = move || tokio::runtime::Handle::current().block_on(builder.start());
    match tokio::task::spawn_blocking(start).await {
        Ok(started) => Ok(started?),
        Err(error) => Err(Failure::other(
            format!("the engine did not start: {error}"),
            "see the log",
        )),
    }
}
