//! What all connections share: the world and the draws, each behind its lock, and who waits for what.
//!
//! No lock is held across an await. Connections come in here, get a value, and go.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use factum_faults::{Draws, Fault, FaultPlan, Request};
use tokio::sync::{Notify, mpsc, oneshot, watch};

use crate::answer::Answer;
use crate::callbacks::Notice;
use crate::config::{Config, Limits};
use crate::counts::{Counts, Filter};
use crate::world::{Arrival, Delivery, World};

/// The testbed without its sockets.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    draws: Mutex<Draws>,
    /// The time of the next landing has changed.
    pub(crate) landing: Notify,
    /// The number of rows, whenever it changes.
    changed: watch::Sender<u64>,
    /// Whoever sends reports, where there are any to send.
    notices: Option<mpsc::UnboundedSender<Notice>>,
    /// The last row that was looked at for something to report.
    looked: AtomicU64,
    pub(crate) tallies: Tallies,
    pub(crate) bearer: Option<String>,
    pub(crate) limits: Limits,
}

/// What is counted without leaving a row: it says nothing about effects.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    pub(crate) lookups: AtomicU64,
    pub(crate) polls: AtomicU64,
    pub(crate) refused_connections: AtomicU64,
    pub(crate) cut_off: AtomicU64,
    pub(crate) callbacks: AtomicU64,
    pub(crate) events: AtomicU64,
}

impl Tallies {
    fn clear(&self) {
        let Tallies {
            lookups,
            polls,
            refused_connections,
            cut_off,
            callbacks,
            events,
        } = self;
        let all = [
            lookups,
            polls,
            refused_connections,
            cut_off,
            callbacks,
            events,
        ];
        for tally in all {
            tally.store(0, Ordering::Relaxed);
        }
    }
}

#[derive(Debug)]
struct State {
    world: World,
    /// Connections whose answer is not there yet, by the row that began it.
    waiting: HashMap<u64, oneshot::Sender<Answer>>,
}

/// An answer that is there, or will be.
#[derive(Debug)]
pub(crate) enum Pending {
    Ready(Answer),
    Later(oneshot::Receiver<Answer>),
}

impl Pending {
    /// The answer. Where the ledger was reset meanwhile, nobody knows any more what was asked.
    pub(crate) async fn answer(self) -> Answer {
        match self {
            Pending::Ready(answer) => answer,
            Pending::Later(answer) => answer.await.unwrap_or_else(|_| Answer::server_error(500)),
        }
    }
}

impl Shared {
    pub(crate) fn new(
        world: World,
        config: &Config,
        notices: Option<mpsc::UnboundedSender<Notice>>,
    ) -> Shared {
        Shared {
            notices,
            looked: AtomicU64::new(world.row_count()),
            state: Mutex::new(State {
                world,
                waiting: HashMap::new(),
            }),
            draws: Mutex::new(Draws::new(config.faults.clone())),
            landing: Notify::new(),
            changed: watch::Sender::new(0),
            tallies: Tallies::default(),
            bearer: config.bearer.clone(),
            limits: config.limits.clone(),
        }
    }

    pub(crate) fn draw(&self, request: &Request<'_>) -> Fault {
        lock(&self.draws).draw(request)
    }

    pub(crate) fn set_faults(&self, plan: FaultPlan) {
        *lock(&self.draws) = Draws::new(plan);
    }

    pub(crate) fn draws(&self) -> Draws {
        lock(&self.draws).clone()
    }

    /// Looks at the world.
    pub(crate) fn see<T>(&self, look: impl FnOnce(&World) -> T) -> T {
        look(&lock(&self.state).world)
    }

    /// Changes the world, and tells whoever watches the ledger or waits for a landing.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        let mut state = lock(&self.state);
        let result = change(&mut state.world);
        self.tell(&state);
        drop(state);
        self.landing.notify_one();
        result
    }

    /// Hands a delivery to its destination. The work goes on whether or not somebody waits for the answer.
    pub(crate) fn deliver(&self, delivery: &Delivery) -> io::Result<Pending> {
        let mut state = lock(&self.state);
        let arrival = state.world.arrive(delivery)?;
        let pending = match arrival {
            Arrival::Answered(answer) => Pending::Ready(answer),
            Arrival::Begun(seq) => {
                let (sender, receiver) = oneshot::channel();
                state.waiting.insert(seq, sender);
                Pending::Later(receiver)
            }
        };
        self.tell(&state);
        let waits = state.world.has_pending();
        drop(state);
        if waits {
            self.landing.notify_one();
        }
        Ok(pending)
    }

    /// Lands all that is due. Returns how long until the next landing, if one is known.
    pub(crate) fn land_due(&self) -> io::Result<Option<Duration>> {
        let mut state = lock(&self.state);
        while let Some((seq, answer)) = state.world.land_one()? {
            if let Some(waiting) = state.waiting.remove(&seq) {
                // Whoever waited may be gone; the effect has landed all the same.
                let _ = waiting.send(answer);
            }
        }
        self.tell(&state);
        Ok(state.world.lands_in())
    }

    pub(crate) fn reset(&self) -> io::Result<()> {
        let mut state = lock(&self.state);
        state.waiting.clear();
        let result = state.world.reset();
        self.tell(&state);
        self.tallies.clear();
        result
    }

    pub(crate) fn counts(&self, filter: &Filter) -> Counts {
        let mut counts = self.see(|world| world.counts(filter));
        let Tallies {
            lookups,
            polls,
            refused_connections,
            cut_off,
            callbacks,
            events,
        } = &self.tallies;
        counts.lookups = lookups.load(Ordering::Relaxed);
        counts.polls = polls.load(Ordering::Relaxed);
        counts.refused_connections = refused_connections.load(Ordering::Relaxed);
        counts.cut_off = cut_off.load(Ordering::Relaxed);
        counts.callbacks = callbacks.load(Ordering::Relaxed);
        counts.events = events.load(Ordering::Relaxed);
        counts
    }

    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Whether effects are reported to anybody, or a fault is planned for those who fetch their events.
    pub(crate) fn reports(&self) -> bool {
        self.notices.is_some() || lock(&self.draws).plan().is_of_reports()
    }

    fn report(&self, state: &State) {
        let Some(notices) = &self.notices else { return };
        let before = self.looked.swap(state.world.row_count(), Ordering::Relaxed);
        for row in state.world.rows_after(before) {
            if let Some(notice) = state.world.notice(row) {
                // Whoever sends them ends with the testbed, and nobody is left to be told.
                let _ = notices.send(notice);
            }
        }
    }

    fn tell(&self, state: &State) {
        self.report(state);
        self.changed.send_if_modified(|rows| {
            let now = state.world.row_count();
            std::mem::replace(rows, now) != now
        });
    }
}

/// A lock whose holder panicked is taken all the same: the rows are consistent after every append.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
