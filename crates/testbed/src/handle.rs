//! Starting, steering and stopping a testbed, and reading its ledger from the same process.
//!
//! Dropping the [`Handle`] stops the testbed too, only later: [`Handle::shutdown`] waits until it has stopped.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use factum_faults::FaultPlan;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

use crate::callbacks;
use crate::config::{Config, Settings};
use crate::counts::{self, Counts, Filter};
use crate::error::Error;
use crate::ledger::{Ledger, Row};
use crate::serve;
use crate::shared::Shared;
use crate::world::World;

/// The testbed. It exists to be started.
#[derive(Debug)]
pub struct Testbed;

impl Testbed {
    /// Reads the ledger, opens the sockets and serves until the handle is shut down or dropped.
    ///
    /// # Errors
    /// An address that is not loopback or is taken, a ledger that cannot be read or is in use.
    pub async fn start(config: Config) -> Result<Handle, Error> {
        let listener = bind(config.listen).await?;
        let addr = local(&listener, config.listen)?;
        let admin = match config.admin_listen {
            Some(address) => Some(bind(address).await?),
            None => None,
        };
        let admin_addr = match (&admin, config.admin_listen) {
            (Some(listener), Some(address)) => local(listener, address)?,
            (_, _) => addr,
        };
        let ledger = match &config.ledger {
            Some(path) => Ledger::open(path)?,
            None => Ledger::in_memory(),
        };
        let world = World::new(ledger, config.settings.clone(), config.stand_ins.clone());
        let reports = match &config.callbacks {
            Some(to) => Some(callbacks::Reporter::new(to)?),
            None => None,
        };
        let (notices, noticed) = mpsc::unbounded_channel();
        let notices = reports.as_ref().map(|_| notices);
        let shared = Arc::new(Shared::new(world, &config, notices));
        let (stop, stopped) = watch::channel(false);
        let (door, doors) = mpsc::channel(1);
        let mut tasks = vec![
            tokio::spawn(land(shared.clone(), stopped.clone())),
            tokio::spawn(accept(
                shared.clone(),
                Some(listener),
                addr,
                doors,
                stopped.clone(),
                false,
            )),
        ];
        if let Some(reports) = reports {
            let shared = shared.clone();
            tasks.push(tokio::spawn(reports.run(shared, noticed, stopped.clone())));
        }
        if let Some(admin) = admin {
            // The sender is gone at once: the administration's door cannot be shut.
            let (_, doors) = mpsc::channel(1);
            tasks.push(tokio::spawn(accept(
                shared.clone(),
                Some(admin),
                admin_addr,
                doors,
                stopped,
                true,
            )));
        }
        Ok(Handle {
            addr,
            admin_addr,
            shared,
            stop,
            door,
            tasks,
        })
    }
}

async fn bind(address: SocketAddr) -> Result<TcpListener, Error> {
    if !address.ip().is_loopback() {
        return Err(Error::NotLoopback(address));
    }
    TcpListener::bind(address)
        .await
        .map_err(|source| Error::Listen { address, source })
}

fn local(listener: &TcpListener, address: SocketAddr) -> Result<SocketAddr, Error> {
    listener
        .local_addr()
        .map_err(|source| Error::Listen { address, source })
}

/// Asks the accepting task to open or shut its door, and where to say that it is done.
type DoorCall = (bool, oneshot::Sender<io::Result<()>>);

/// How long to wait before accepting again after it went wrong.
const ACCEPT_RETRY: Duration = Duration::from_millis(10);

/// Accepts connections while the door is open.
async fn accept(
    shared: Arc<Shared>,
    mut listener: Option<TcpListener>,
    addr: SocketAddr,
    mut doors: mpsc::Receiver<DoorCall>,
    mut stopped: watch::Receiver<bool>,
    admin_only: bool,
) {
    let places = Arc::new(Semaphore::new(shared.limits.connections_max));
    let mut connections = JoinSet::new();
    loop {
        let next = async {
            let place = places.clone().acquire_owned().await;
            match &listener {
                Some(listener) => match listener.accept().await {
                    Ok((stream, _)) => Some((stream, place)),
                    Err(_) => {
                        // Gone before it was accepted, or too many files are open: do not spin.
                        sleep(ACCEPT_RETRY).await;
                        None
                    }
                },
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // Any change is the stop, and so is the end of the handle.
            _ = stopped.changed() => break,
            Some((open, done)) = doors.recv() => {
                let result = match (open, listener.take()) {
                    (false, _) => Ok(()),
                    (true, Some(same)) => { listener = Some(same); Ok(()) }
                    (true, None) => TcpListener::bind(addr).await.map(|fresh| listener = Some(fresh)),
                };
                // Whoever asked may have given up waiting.
                let _ = done.send(result);
            }
            Some(_) = connections.join_next() => {}
            accepted = next => {
                let Some((stream, place)) = accepted else { continue };
                let shared = shared.clone();
                connections.spawn(async move {
                    let _place = place;
                    serve::connection(shared, stream, admin_only).await;
                });
            }
        }
    }
    connections.shutdown().await;
}

/// How long to wait for a landing when none is known; a new one wakes the task.
const NO_LANDING: Duration = Duration::from_secs(3600);
/// How long to wait before the ledger is tried again after it could not be written.
const LEDGER_RETRY: Duration = Duration::from_secs(1);

/// Lands what is due, when it is due.
async fn land(shared: Arc<Shared>, mut stopped: watch::Receiver<bool>) {
    loop {
        let wait = match shared.land_due() {
            Ok(next) => next.unwrap_or(NO_LANDING),
            Err(_) => LEDGER_RETRY,
        };
        tokio::select! {
            _ = stopped.changed() => return,
            () = shared.landing.notified() => {}
            () = sleep(wait) => {}
        }
    }
}

/// A running testbed.
#[derive(Debug)]
pub struct Handle {
    addr: SocketAddr,
    admin_addr: SocketAddr,
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
    door: mpsc::Sender<DoorCall>,
    tasks: Vec<JoinHandle<()>>,
}

impl Handle {
    /// Where the destinations listen.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The address of the destinations as a URL without a slash at its end.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Where the administration listens, out of reach of faults; the destinations' address if it was not asked for.
    pub fn admin_addr(&self) -> SocketAddr {
        self.admin_addr
    }

    /// [`Handle::admin_addr`] as a URL without a slash at its end.
    pub fn admin_url(&self) -> String {
        format!("http://{}", self.admin_addr)
    }

    /// The ledger, to read from. It stays readable after the testbed has stopped.
    pub fn ledger(&self) -> LedgerView {
        LedgerView {
            shared: self.shared.clone(),
        }
    }

    /// Puts another plan into force; its counters start at nothing.
    pub fn set_faults(&self, plan: FaultPlan) {
        self.shared.set_faults(plan);
    }

    /// How many requests each rule of the plan has matched and how often it fired.
    pub fn fault_counts(&self) -> Vec<(u64, u64)> {
        self.shared.draws().counts()
    }

    /// Changes how the destinations behave from now on.
    pub fn change_settings(&self, change: impl FnOnce(&mut Settings)) {
        self.shared.change(|world| change(&mut world.settings));
    }

    /// Moves the testbed's clock ahead: keys age, lags pass, what is due lands.
    pub fn advance(&self, by: Duration) {
        self.shared.change(|world| world.advance(by));
    }

    /// Stops listening, so that callers get a real "connection refused". Connections that are open stay open.
    pub async fn shut_door(&self) {
        // Shutting cannot fail, and a testbed that has stopped is shut.
        let _ = self.call_door(false).await;
    }

    /// Listens again on the same port.
    ///
    /// # Errors
    /// Somebody else has taken the port meanwhile.
    pub async fn open_door(&self) -> Result<(), Error> {
        let opened = self.call_door(true).await;
        opened.map_err(|source| Error::Listen {
            address: self.addr,
            source,
        })
    }

    async fn call_door(&self, open: bool) -> io::Result<()> {
        let (done, answer) = oneshot::channel();
        let gone = || io::Error::from(io::ErrorKind::NotConnected);
        self.door.send((open, done)).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// Stops: ends all connections, lands nothing more, lets go of the ledger's file.
    pub async fn shutdown(self) {
        self.stop.send_replace(true);
        for task in self.tasks {
            // A task that panicked has stopped too.
            let _ = task.await;
        }
        self.shared.change(World::close);
    }
}

/// The ledger of a testbed, to read from. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LedgerView {
    shared: Arc<Shared>,
}

impl LedgerView {
    /// The rows that pass the filter, in their order.
    pub fn rows(&self, filter: &Filter) -> Vec<Row> {
        self.shared.see(|world| world.rows(filter))
    }

    /// What they add up to.
    pub fn counts(&self, filter: &Filter) -> Counts {
        self.shared.counts(filter)
    }

    /// A plain-text table for people.
    pub fn table(&self) -> String {
        counts::table(&self.shared.see(World::stand_ins), |filter| {
            self.shared.counts(filter)
        })
    }

    /// Waits until what passes the filter adds up to something that `enough` accepts. It looks once, then again
    /// whenever a row is written.
    pub async fn wait_until(&self, filter: &Filter, enough: impl Fn(&Counts) -> bool) -> Counts {
        let mut changed = self.shared.watch();
        loop {
            changed.mark_unchanged();
            let counts = self.counts(filter);
            if enough(&counts) {
                return counts;
            }
            if changed.changed().await.is_err() {
                return counts;
            }
        }
    }

    /// Forgets everything that ever happened.
    ///
    /// # Errors
    /// The file cannot be emptied.
    pub fn reset(&self) -> io::Result<()> {
        self.shared.reset()
    }
}
