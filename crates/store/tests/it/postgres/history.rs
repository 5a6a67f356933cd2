//! What several connections do at once to a few actions, with connections that break at random, is written down as a history, and
//! the history is held against a model that does one thing after another.
//!
//! Each operation has an interval, from its call to its answer, in one order over all callers. What the model demands can be checked on
//! intervals: one insert an identity; of two claims on one action the later token holds; no decision under a claim after a later
//! claim was answered; each answered record has a version of its own, in an order that agrees with the intervals; no reading goes
//! back behind what was answered before it was asked. A lost answer may have happened or not, and never proves anything.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use factum_core::{ActionId, Fact, WorkerNonce};
use factum_store::postgres::{Options, PostgresStore};
use factum_store::{Admitted, Claimed, Committed, Store};

use super::{Database, KEYS, connect};
use crate::fixtures::{MINUTE, START, admission, mark, next};

/// Callers, each with connections of its own.
const CALLERS: u64 = 4;
/// What each of them does.
const STEPS: usize = 60;
/// Identities that they meet at.
const IDENTITIES: u64 = 3;

/// What was done to an action, as far as it was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Done {
    /// It was recorded by this call.
    Created,
    /// It was there.
    Joined,
    /// It was claimed, under this token.
    Claimed(u64),
    /// A decision under this token brought this version.
    Decided { token: u64, version: u64 },
    /// A decision under this token was refused.
    Refused,
    /// A fact brought this version.
    Recorded(u64),
    /// It was read at this version.
    Read(u64),
}

#[derive(Clone, Debug)]
struct Entry {
    called: u64,
    answered: u64,
    action: ActionId,
    done: Done,
}

/// The order of calls and answers.
#[derive(Default)]
struct Ticks(AtomicU64);

impl Ticks {
    fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}

/// A fixed sequence without a pattern.
struct Draws(u64);

impl Draws {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// One caller: what it did, and was told.
struct Caller {
    no: u64,
    store: PostgresStore,
    ticks: Arc<Ticks>,
    history: Vec<Entry>,
}

impl Caller {
    async fn run(mut self) -> Vec<Entry> {
        let mut draws = Draws(self.no + 1);
        for _ in 0..STEPS {
            let mut wish = admission(draws.below(IDENTITIES));
            let identity = wish.action.identity_hash;
            let called = self.ticks.next();
            // Each call makes an id of its own, as engines do: by it a call whose answer was lost knows its own row.
            wish.action.intent.action = ActionId::new(START, identity.lane(), called + 1);
            match self.store.admit(wish).await {
                Ok(Admitted::Created(record, _)) => {
                    self.saw(called, record.id(), Done::Created);
                }
                Ok(Admitted::Joined(record)) => self.saw(called, record.id(), Done::Joined),
                Ok(other) => panic!("the intent is the same: {other:?}"),
                Err(_) => {}
            }
            let Ok(Some(found)) = self.store.find(identity).await else {
                continue;
            };
            match draws.below(4) {
                0 => self.read(found.id()).await,
                1 => self.record(found.id()).await,
                _ => self.decide(found.id(), draws.below(3)).await,
            }
        }
        self.history
    }

    fn saw(&mut self, called: u64, action: ActionId, done: Done) {
        let answered = self.ticks.next();
        self.history.push(Entry {
            called,
            answered,
            action,
            done,
        });
    }

    async fn read(&mut self, id: ActionId) {
        let called = self.ticks.next();
        if let Ok(Some(record)) = self.store.load(id).await {
            self.saw(called, id, Done::Read(record.version));
        }
    }

    async fn record(&mut self, id: ActionId) {
        let called = self.ticks.next();
        let fact = Fact::Noted {
            text: format!("by {}", self.no),
        };
        if let Ok(Some(recorded)) = self.store.record(id, vec![fact]).await {
            self.saw(called, id, Done::Recorded(recorded.version));
        }
    }

    /// Claims, decides so many times, and gives back or not: a lease that is over is one that the next claim takes.
    async fn decide(&mut self, id: ActionId, times: u64) {
        let called = self.ticks.next();
        let lease = factum_core::Span::from_millis(20);
        let lease = if times == 0 { lease } else { MINUTE };
        let Ok(Claimed::Held(mut claim, _)) =
            self.store.claim(id, WorkerNonce(self.no), lease).await
        else {
            return;
        };
        self.saw(called, id, Done::Claimed(claim.token));
        for n in 0..times.max(1) {
            let called = self.ticks.next();
            let facts = match n {
                0 => vec![Fact::Noted {
                    text: "decided".to_owned(),
                }],
                _ => vec![mark(u32::try_from(claim.version).unwrap(), START)],
            };
            let next = next("wait", Some(START));
            match self.store.commit(&claim, facts, next).await {
                Ok(Committed::Durable(recorded)) => {
                    let (token, version) = (claim.token, recorded.version);
                    self.saw(called, id, Done::Decided { token, version });
                    claim = claim.at_version(version);
                }
                Ok(Committed::Stale) => {
                    self.saw(called, id, Done::Refused);
                    break;
                }
                Err(_) => break,
            }
        }
        let _ = self.store.release(claim).await;
    }
}

/// What is wrong with the history of one action.
fn faults(history: &[Entry]) -> Vec<String> {
    let mut faults = Vec::new();
    let created = history.iter().filter(|entry| entry.done == Done::Created);
    if created.count() > 1 {
        faults.push("two inserts of one identity".to_owned());
    }
    let (mut tokens, mut versions) = (BTreeSet::new(), BTreeSet::new());
    for entry in history {
        let fresh = match entry.done {
            Done::Claimed(token) => tokens.insert(token),
            Done::Decided { version, .. } | Done::Recorded(version) => versions.insert(version),
            Done::Created | Done::Joined | Done::Refused | Done::Read(_) => true,
        };
        if !fresh {
            faults.push(format!(
                "a token or a version was given out twice: {entry:?}"
            ));
        }
    }
    for earlier in history {
        for later in history
            .iter()
            .filter(|later| later.called > earlier.answered)
        {
            let wrong = match (&earlier.done, &later.done) {
                (Done::Claimed(one), Done::Claimed(other)) => other <= one,
                (Done::Claimed(one), Done::Decided { token, .. }) => token < one,
                _ => false,
            };
            let behind = version(&earlier.done)
                .zip(version(&later.done))
                .is_some_and(|(one, other)| match later.done {
                    Done::Read(_) => other < one,
                    _ => other <= one,
                });
            if wrong || behind {
                faults.push(format!("{later:?} came after {earlier:?}"));
            }
        }
    }
    faults
}

/// The version that an operation brought or saw.
fn version(done: &Done) -> Option<u64> {
    match done {
        Done::Created => Some(1),
        Done::Decided { version, .. } | Done::Recorded(version) | Done::Read(version) => {
            Some(*version)
        }
        Done::Joined | Done::Claimed(_) | Done::Refused => None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn what_happens_at_once_could_have_happened_one_after_another() {
    let database = Database::make().await;
    let ticks = Arc::new(Ticks::default());
    let mut callers = Vec::new();
    for no in 0..CALLERS {
        let options = Options {
            connections: 2,
            ..Options::new(&database.url, KEYS)
        };
        let caller = Caller {
            no,
            store: PostgresStore::open(options).await.unwrap(),
            ticks: Arc::clone(&ticks),
            history: Vec::new(),
        };
        callers.push(tokio::spawn(caller.run()));
    }
    // Connections break under whatever they carry, again and again, until everybody is done.
    let breaking = connect(&database.url).await;
    let mut draws = Draws(7);
    while callers.iter().any(|caller| !caller.is_finished()) {
        let sql = "SELECT pid FROM pg_stat_activity \
                   WHERE datname = current_database() AND application_name = 'factum' ORDER BY pid";
        let pids = breaking.query(sql, &[]).await.unwrap();
        if let Some(row) = pids.get(usize::try_from(draws.below(16)).unwrap()) {
            let pid: i32 = row.get(0);
            let end = format!("SELECT pg_terminate_backend({pid})");
            breaking.batch_execute(&end).await.unwrap();
        }
        // Some work gets done in between.
        breaking
            .batch_execute("SELECT pg_sleep(0.02)")
            .await
            .unwrap();
    }
    let mut by_action: BTreeMap<ActionId, Vec<Entry>> = BTreeMap::new();
    for caller in callers {
        for entry in caller.await.unwrap() {
            by_action.entry(entry.action).or_default().push(entry);
        }
    }
    assert_eq!(
        by_action.len(),
        usize::try_from(IDENTITIES).unwrap(),
        "one action an identity"
    );
    let store = database.open(None).await;
    for (id, history) in &by_action {
        let found = faults(history);
        assert!(found.is_empty(), "{id}: {found:#?}");
        let decided = |entry: &&Entry| matches!(entry.done, Done::Decided { .. });
        assert!(
            history.iter().filter(decided).count() > 3,
            "{id}: work was done"
        );
        // What stands is what was answered, and as many records as were written.
        let record = store.load(*id).await.unwrap().unwrap();
        let newest = history
            .iter()
            .filter_map(|entry| version(&entry.done))
            .max();
        assert!(Some(record.version) >= newest, "{id}");
        assert_eq!(
            store.history(*id).await.unwrap().len(),
            record.known.len(),
            "{id}"
        );
    }
}

// A checker that finds nothing shows nothing.
#[tokio::test]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn a_history_that_could_not_have_been_is_found() {
    let action = admission(1).action.intent.action;
    let entry = |called, answered, done| Entry {
        called,
        answered,
        action,
        done,
    };
    let decided = |token, version| Done::Decided { token, version };
    let wrong = [
        [entry(0, 2, Done::Created), entry(1, 3, Done::Created)],
        [entry(0, 2, Done::Claimed(1)), entry(1, 3, Done::Claimed(1))],
        [entry(0, 1, Done::Claimed(2)), entry(2, 3, Done::Claimed(1))],
        [entry(0, 1, Done::Claimed(2)), entry(2, 3, decided(1, 4))],
        [entry(0, 2, Done::Recorded(2)), entry(1, 3, decided(1, 2))],
        [
            entry(0, 1, Done::Recorded(3)),
            entry(2, 3, Done::Recorded(2)),
        ],
        [entry(0, 1, Done::Recorded(3)), entry(2, 3, Done::Read(2))],
        [entry(0, 1, Done::Read(3)), entry(2, 3, Done::Read(2))],
    ];
    for history in wrong {
        assert_eq!(faults(&history).len(), 1, "{history:?}");
    }
    let right = [
        [entry(0, 1, Done::Recorded(3)), entry(2, 3, Done::Read(3))],
        [entry(0, 2, Done::Recorded(3)), entry(1, 3, Done::Read(2))],
        [entry(0, 2, Done::Claimed(2)), entry(1, 3, decided(1, 4))],
    ];
    for history in right {
        assert_eq!(faults(&history), Vec::<String>::new());
    }
}
