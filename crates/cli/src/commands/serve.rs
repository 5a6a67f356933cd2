//! `factum serve`: the engine and its HTTP API, until it is told to stop.

use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;

use factum::config::Seal;
use factum::{Code, Config, Factum, Problem};
#[cfg(feature = "proof")]
use factum_core::mistake::{Mistake, make_everywhere};
use factum_server::{App, Doors, Tls};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Failure;
use crate::local::open_store;
use crate::out::Out;
use crate::place::Place;
use crate::{exit, place};

pub(crate) const HELP: &str = "\
The first start makes the data folder, the keys and the admin token, readable by you only. SIGTERM and ctrl-c end it in \
good order: requests in flight may end within server.shutdown. A second signal ends it at once; what was in flight is then \
maybe sent, and the next start finds out. Other machines come in by TLS, at [server.tls] listen; SIGHUP, and a new file, has \
certificate and client_ca read anew.\n\n\
Examples:\n  factum serve\n  factum serve --listen 127.0.0.1:0 --json";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Address and port; port 0 takes a free one [default: server.listen]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Listen where other machines reach it, unencrypted: behind a proxy that speaks TLS, or in a network you answer for
    #[arg(long, visible_alias = "behind-proxy")]
    allow_remote: bool,
}

pub(crate) async fn run(args: Args, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
    #[cfg(feature = "proof")]
    if let Some(mistake) = place::mistake().and_then(|name| Mistake::named(&name)) {
        make_everywhere(mistake);
    }
    let mut place = Place::read(config)?;
    let server = &mut place.config.server;
    if let Some(listen) = args.listen {
        server.listen = listen;
    }
    server.behind_proxy |= args.allow_remote;
    let (terminate, interrupt) = (
        signal_of(SignalKind::terminate())?,
        signal_of(SignalKind::interrupt())?,
    );
    // A file that may not grow further (`ulimit -f`) is no room to the store; unheard, its signal would end the process.
    let _no_room = signal_of(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?;
    let listener = match listen("listen", &place.config.server.listen).await {
        Ok(listener) => listener,
        // Most often the other server on this address holds this store too, and then that is what has to be said.
        Err(failure) => {
            return Err(open_store(&place)
                .err()
                .filter(|held| held.code() == Some(Code::StoreHeld))
                .unwrap_or(failure));
        }
    };
    let address = address_of(&listener)?;
    factum_server::check_listen(address, place.config.server.behind_proxy)?;
    let encrypted = Encrypted::open(&place.config).await?;
    read_anew_at_hangup(encrypted.as_ref().map(|encrypted| encrypted.tls.clone()))?;
    let factum = if place.is_postgres() {
        Factum::postgres(place.config.store.url.clone())
    } else {
        Factum::sqlite(place.store()?)
    };
    let factum = factum.config(place.config.clone()).start().await?;
    let home = place.home()?;
    let token = home.admin_token()?;
    let url = format!("http://{address}");
    if let Some(store) = factum.sqlite_store() {
        store.set_address(&url)?;
    }
    let tls_url = match &encrypted {
        Some(encrypted) => Some(format!("https://{}", address_of(&encrypted.listener)?)),
        None => None,
    };
    greet(&place, &url, tls_url.as_deref(), &home.token_file(), out);
    let shutdown = told_to_end(terminate, interrupt);
    let doors = match encrypted {
        Some(Encrypted {
            listener: by_tls,
            tls,
        }) => Doors::from(listener).with_tls(by_tls, tls),
        None => listener.into(),
    };
    let left = factum_server::serve(doors, App::new(factum, [token]), shutdown).await;
    if left > 0 {
        tracing::warn!(
            requests = left,
            "could not end in time; they are maybe sent, and the next start finds out"
        );
    }
    Ok(exit::code(exit::OK))
}

/// Ready at the first signal. The second one ends the process.
async fn told_to_end(mut terminate: Signal, mut interrupt: Signal) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("ending: requests in flight may end; a second signal ends at once");
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        std::process::exit(i32::from(exit::FINDINGS));
    });
}

fn signal_of(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|error| {
        Failure::other(format!("signals cannot be received: {error}"), "try again")
    })
}

/// The door for other machines.
struct Encrypted {
    listener: TcpListener,
    tls: Tls,
}

impl Encrypted {
    /// What `[server.tls]` says, where there is one.
    async fn open(config: &Config) -> Result<Option<Self>, Failure> {
        let Some(written) = &config.server.tls else {
            return Ok(None);
        };
        let tls = Tls::open(written.clone())?;
        let listener = listen("tls/listen", &written.listen).await?;
        Ok(Some(Self { listener, tls }))
    }
}

/// From here on SIGHUP has the certificate read anew. Where there is none it ends nothing either: `systemctl reload` sends it too.
fn read_anew_at_hangup(tls: Option<Tls>) -> Result<(), Failure> {
    let mut hangup = signal_of(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            match &tls {
                Some(tls) => tls.reload_and_say(),
                None => tracing::info!("SIGHUP: there is no certificate to read anew"),
            }
        }
    });
    Ok(())
}

fn address_of(listener: &TcpListener) -> Result<SocketAddr, Failure> {
    listener.local_addr().map_err(|error| {
        let rule = format!("the listening address is lost: {error}");
        Failure::other(rule, "try again")
    })
}

async fn listen(member: &str, address: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| {
        let rule = format!("cannot listen on {address}: {error}");
        Problem::new(
            Code::BadConfig,
            format!("/server/{member}"),
            rule,
            "choose a free address of this machine, or port 0",
        )
        .into()
    })
}

fn greet(place: &Place, url: &str, tls_url: Option<&str>, token_file: &Path, out: Out) {
    let token_file = token_file
        .canonicalize()
        .unwrap_or_else(|_| token_file.to_owned());
    if out.json {
        let mut told = json!({"address": url, "token_file": token_file, "pid": std::process::id()});
        if let Some(tls_url) = tls_url {
            told["tls_address"] = tls_url.into();
        }
        out.line(told);
        return;
    }
    out.line(format_args!("factum serves at {url}"));
    if let Some(tls_url) = tls_url {
        out.line(format_args!("  by TLS  {tls_url}"));
    }
    if place.config.console.enabled {
        out.line(format_args!("  console {url}/"));
    }
    if place.config.store.seal == Seal::Off {
        out.line("  WARNING content is written in clear (store.seal = \"off\"): whoever reads the store reads payloads and answers");
    }
    out.line(format_args!("  token   {}", token_file.display()));
    out.line(match place.config.destinations.keys().next() {
        Some(name) => format!("  next    factum submit {name} OPERATION --key order-77/refund --payload '{{…}}' --wait 4s"),
        None => format!("  next    factum destination add PROVIDER --name NAME --base URL   (writes {})", place::CONFIG_FILE),
    });
}
