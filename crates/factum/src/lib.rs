//! Carry out actions in other people's systems, and always know what can be proved about each of them.
//!
//! An application records the intent before anything is sent, in its own transaction if it likes; the embedded engine sends it
//! once, keeps every attempt and every piece of evidence, says `outcome_unknown` when that is the truth, and settles it by
//! itself where the destination allows that.
//!
//! ```no_run
//! # #[cfg(feature = "sqlite")]
//! # async fn order(orders: &mut rusqlite::Connection, n: i64, body: serde_json::Value) -> Result<String, Box<dyn std::error::Error>> {
//! use std::time::Duration;
//! use factum::{Factum, Outcome};
//!
//! let factum = Factum::sqlite("factum-data/factum.db").config("factum.toml").start().await?;
//! factum.outbox("orders.db").await?; // pick up what the application records there
//!
//! let tx = orders.transaction()?;
//! tx.execute("insert into orders (n) values (?1)", [n])?;
//! let ticket = factum.action("helpdesk", "ticket.create").key(format!("order/{n}/ticket")).payload(body).submit_in(&tx)?;
//! tx.commit()?;
//!
//! let reply = match factum.wait(ticket, Duration::from_secs(4)).await? {
//!     Outcome::Done(receipt) => format!("done: {receipt:?}"),
//!     Outcome::NotDone(why) => why,
//!     Outcome::Pending(status) | Outcome::Unknown(status) => status.say().to_owned(),
//! };
//! # Ok(reply)
//! # }
//! ```
//!
//! Start with [`Factum`]; [`view::StatusView`] is what it answers, [`Outcome`] what to do with it. An application may carry an
//! operation in its own code: [`Builder::carrier`].

pub mod action;
mod approval;
pub mod callbacks;
pub mod checkpoints;
pub mod config;
pub mod contact;
pub mod conversations;
mod credentials;
pub mod events;
pub mod home;
pub mod mcp;
pub mod networks;
mod observe;
pub mod oidc;
#[cfg(feature = "sqlite")]
pub mod outbox;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod pickup;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod proposals;
pub mod receipts;
pub mod retention;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub mod seal_keys;
pub mod setup;
pub mod signing;
pub mod signs;
pub mod start;
pub mod statements;
pub mod teller;
#[cfg(feature = "mcp")]
pub mod upstream;
pub mod view;
pub mod webhooks;
pub mod workers;

/// What an engine counts and what stands in its store, for whoever shows it.
pub mod metrics {
    pub use factum_engine::driver::queues::Queue;
    pub use factum_engine::metrics::{Metrics, OTHER, OUTCOMES, Row, standing};
    pub use factum_store::meter::{Counter, Observed, Tally};
}

use std::sync::Arc;
use std::time::Duration;

pub use action::{ActionBuilder, Handle};
pub use config::Config;
use conversations::watch::Watch;
pub use factum_contract::base64;
pub use factum_core as core;
use factum_core::Timestamp;
pub use factum_core::evidence::{Receipt, Ruling};
pub use factum_core::{ActionId, Permission, ProposalId, State};
pub use factum_engine::approval::ApprovalPolicy;
pub use factum_engine::canonical;
pub use factum_engine::cloud_event;
pub use factum_engine::proposal::ProposalState;
pub use factum_engine::reading::read_object;
pub use factum_engine::submission::{ConversationRef, KEY_MAX, WHOLE_MAX};
pub use factum_engine::{
    About, Ask, ByWorkers, Caller, Cancelled, Carried, CarriedRequest, Carrier, Change, Code,
    Decision, Destination, Directory, Engine, Holder, Incident, Lasts, Listener, MANY_MAX,
    Operation, Person, Problem, ProposalFilter, ProposedVerdict, Reach, Reason, Ruled, Session,
    Submission, Whereabouts, by_word, destination, directory, review, ruling_word, token_of, work,
};
pub use factum_store::record::identity_text;
pub use factum_store::register::{Entry, EntryFilter, EntryKey, EntryVersion, Kind};
pub use factum_store::{Filter, Record, Restore};
pub use factum_transport::Boxed;
pub use start::Builder;
use statements::{Audience, Reader};
use teller::Teller;
use view::{EvidenceView, StatusView};

/// The tenant until more are made.
pub const DEFAULT_TENANT: &str = "default";
/// The principal until more are made.
pub const DEFAULT_PRINCIPAL: &str = "admin";

/// How often an outbox row is looked for while somebody waits for it.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// A running engine, embedded. Cheap to clone.
#[derive(Clone)]
pub struct Factum {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Arc<Engine>,
    teller: Arc<Teller>,
    watch: Watch,
    feed: Arc<events::follow::Feed>,
    webhooks: webhooks::Webhooks,
    purger: retention::Purger,
    exporter: checkpoints::Exporter,
    signing: signing::SigningKeys,
    ways: webhooks::Ways,
    config: Config,
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    keeper: Option<seal_keys::Keeper>,
    #[cfg(feature = "sqlite")]
    pickups: std::sync::Mutex<Vec<outbox::Pickup>>,
    #[cfg(feature = "sqlite")]
    sqlite: Option<Arc<factum_store::sqlite::SqliteStore>>,
    #[cfg(feature = "postgres")]
    postgres: std::sync::Mutex<Option<postgres::Pickup>>,
}

/// What to do with an action's status.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The effect exists.
    Done(Option<view::ReceiptView>),
    /// It does not, and nothing more will be sent.
    NotDone(String),
    /// Nothing has happened so far, or it is accepted; it goes on by itself.
    Pending(Box<StatusView>),
    /// It cannot be told.
    Unknown(Box<StatusView>),
}

/// What became of a submission.
#[derive(Clone, Debug)]
pub struct Submitted {
    /// The action as it stands.
    pub status: StatusView,
    /// It was recorded by this very call.
    pub created: bool,
}

impl Factum {
    /// An engine on a SQLite file. The first start makes the file's folder, the keys and the admin token.
    #[cfg(feature = "sqlite")]
    pub fn sqlite(path: impl Into<std::path::PathBuf>) -> Builder {
        Builder::sqlite(path.into())
    }

    /// A worker on a PostgreSQL database that others may work on too, each with the same keys: `store.folder` of the
    /// configuration holds them, and is made on the first start.
    #[cfg(feature = "postgres")]
    pub fn postgres(url: impl Into<String>) -> Builder {
        Builder::postgres(url.into())
    }

    /// An engine that forgets everything when it ends: for tests.
    pub fn memory() -> Builder {
        Builder::memory()
    }

    /// Begins an action.
    pub fn action(&self, destination: &str, operation: &str) -> ActionBuilder<'_> {
        ActionBuilder::new(self, destination, operation)
    }

    /// Records a submission, or joins the action that its identity names.
    ///
    /// # Errors
    /// [`Problem`]; nothing was recorded then.
    pub async fn submit(&self, submission: Submission) -> Result<Submitted, Problem> {
        let submitted = self
            .submit_as(submission, DEFAULT_PRINCIPAL, Reader::default())
            .await?;
        self.handed_out(DEFAULT_TENANT, &submitted.status).await;
        Ok(submitted)
    }

    /// The same, for a principal where the submission names none, answered to a reader.
    ///
    /// # Errors
    /// [`Problem`]; nothing was recorded then.
    pub async fn submit_as(
        &self,
        submission: Submission,
        principal: &str,
        reader: Reader,
    ) -> Result<Submitted, Problem> {
        let submitted = self
            .inner
            .engine
            .submit(submission, DEFAULT_TENANT, principal)
            .await?;
        let status = self.view(&submitted.record, !submitted.created, reader);
        Ok(Submitted {
            status,
            created: submitted.created,
        })
    }

    /// The same, with the authority of a caller.
    ///
    /// # Errors
    /// [`Problem`]; nothing was recorded then.
    pub async fn submit_for(
        &self,
        submission: Submission,
        caller: &Caller,
        reader: Reader,
    ) -> Result<Submitted, Problem> {
        let submitted = self.inner.engine.submit_as(submission, caller).await?;
        let status = self.view(&submitted.record, !submitted.created, reader);
        Ok(Submitted {
            status,
            created: submitted.created,
        })
    }

    /// The same, for a caller that waits for what becomes of it, with [`Engine::wait_on`]. A submission that joined has no listener.
    ///
    /// # Errors
    /// [`Problem`]; nothing was recorded then.
    pub async fn submit_watched(
        &self,
        submission: Submission,
        caller: &Caller,
        reader: Reader,
    ) -> Result<(Submitted, Option<Listener>), Problem> {
        let submitted = self.inner.engine.submit_watched(submission, caller).await?;
        let status = self.view(&submitted.record, !submitted.created, reader);
        let created = submitted.created;
        Ok((Submitted { status, created }, submitted.watch))
    }

    /// One action as it stands.
    ///
    /// # Errors
    /// [`Problem`] if there is none, or the store cannot be read.
    pub async fn status(&self, handle: impl Into<Handle>) -> Result<StatusView, Problem> {
        Ok(self.view(&self.load(handle.into()).await?, false, Audience::default()))
    }

    /// Waits until an action is settled or a person is needed, for so long at the most, and says what to do then.
    ///
    /// # Errors
    /// [`Problem`] if there is none, or the store cannot be read.
    pub async fn wait(
        &self,
        handle: impl Into<Handle>,
        at_most: Duration,
    ) -> Result<Outcome, Problem> {
        Ok(Outcome::of(self.wait_status(handle, at_most).await?))
    }

    /// The same, answering the status.
    ///
    /// # Errors
    /// [`Problem`] if there is none, or the store cannot be read.
    pub async fn wait_status(
        &self,
        handle: impl Into<Handle>,
        at_most: Duration,
    ) -> Result<StatusView, Problem> {
        let deadline = tokio::time::Instant::now() + at_most;
        let id = self.recorded(handle.into(), deadline).await?;
        let left = deadline.saturating_duration_since(tokio::time::Instant::now());
        let record = self.inner.engine.wait(id, left).await?;
        Ok(self.view(&record, false, Audience::default()))
    }

    /// Actions that match, newest first.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be read.
    pub async fn list(&self, filter: Filter) -> Result<Vec<StatusView>, Problem> {
        let records = self.inner.engine.list(filter).await?;
        Ok(records
            .iter()
            .map(|record| self.view(record, false, Audience::default()))
            .collect())
    }

    /// What waits for a person, newest first.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be read.
    pub async fn review(&self, limit: usize) -> Result<Vec<StatusView>, Problem> {
        let filter = Filter {
            next: Some("review".to_owned()),
            limit,
            ..Filter::default()
        };
        let records = self.inner.engine.list(filter).await?;
        Ok(records
            .iter()
            .map(|record| self.view(record, false, Audience::Operator))
            .collect())
    }

    /// The evidence of an action, in the order of storing.
    ///
    /// # Errors
    /// [`Problem`] if there is none, or the store cannot be read.
    pub async fn evidence(&self, id: ActionId) -> Result<Vec<EvidenceView>, Problem> {
        Ok(self
            .inner
            .engine
            .evidence(id)
            .await?
            .iter()
            .map(EvidenceView::of)
            .collect())
    }

    /// The same for a caller; of an action that was purged, what came later.
    ///
    /// # Errors
    /// [`Problem`] if there is none for them, or nothing is left of it, or the store cannot be read.
    pub async fn evidence_for(
        &self,
        caller: &Caller,
        id: ActionId,
    ) -> Result<Vec<EvidenceView>, Problem> {
        let evidence = self.inner.engine.evidence_for(caller, id).await?;
        Ok(evidence.iter().map(EvidenceView::of).collect())
    }

    /// A signed receipt of an action for a caller, as it stands. Its content is in it only `with_payload`.
    ///
    /// # Errors
    /// [`Problem`] if there is none for them, nothing can be signed (F1160), or the store cannot be read.
    pub async fn receipt_for(
        &self,
        caller: &Caller,
        id: ActionId,
        reader: Reader,
        with_payload: bool,
    ) -> Result<serde_json::Value, Problem> {
        let keys = &self.inner.signing;
        let engine = &self.inner.engine;
        let view = |record: &Record| self.view(record, false, reader);
        let stands = receipts::read(engine, Some(caller), id, view).await?;
        receipts::issue(engine.store().as_ref(), keys, &stands, with_payload).await
    }

    /// The public keys of what was signed here.
    ///
    /// # Errors
    /// [`Problem`] if a key cannot be read.
    pub fn published_keys(&self) -> Result<signing::KeySet, Problem> {
        self.inner.signing.published()
    }

    /// Withdraws an action: no more sends. What may have been sent stays unknown until there is evidence.
    ///
    /// # Errors
    /// [`Problem`] if there is none, or the store cannot be written.
    pub async fn cancel(
        &self,
        id: ActionId,
        by: &str,
        why: &str,
    ) -> Result<(Cancelled, StatusView), Problem> {
        let (cancelled, record) = self.inner.engine.cancel(id, by, why).await?;
        Ok((cancelled, self.view(&record, false, Audience::default())))
    }

    /// Records a person's ruling.
    ///
    /// # Errors
    /// [`Code::DoesNotApply`] where nothing could follow from it.
    pub async fn rule(
        &self,
        id: ActionId,
        ruling: Ruling,
        by: &str,
        why: &str,
    ) -> Result<StatusView, Problem> {
        let record = self.inner.engine.rule(id, ruling, by, why).await?;
        Ok(self.view(&record, false, Audience::Operator))
    }

    /// Asks the destination once more.
    ///
    /// # Errors
    /// [`Code::DoesNotApply`] where the destination has no lookup, or the action is settled.
    pub async fn check_again(&self, id: ActionId, by: &str) -> Result<StatusView, Problem> {
        let record = self.inner.engine.check_again(id, by).await?;
        Ok(self.view(&record, false, Audience::Operator))
    }

    /// The engine, for what is not said here.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    /// The configuration that it runs with.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.inner.config
    }

    /// A record as every interface shows it.
    #[must_use]
    pub fn view(&self, record: &Record, joined: bool, reader: impl Into<Reader>) -> StatusView {
        let Inner { engine, teller, .. } = &*self.inner;
        teller.view(engine, record, joined, reader.into())
    }

    /// Picks up the `factum_outbox` of an application's own file from now on.
    ///
    /// # Errors
    /// [`Problem`] if the file cannot be opened, or is another one than was picked up there before.
    #[cfg(feature = "sqlite")]
    pub async fn outbox(&self, path: impl Into<std::path::PathBuf>) -> Result<(), Problem> {
        let engine = self.inner.engine.clone();
        let pickup =
            outbox::Pickup::start(engine, path.into(), DEFAULT_PRINCIPAL.to_owned()).await?;
        self.inner
            .pickups
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .push(pickup);
        Ok(())
    }

    /// Begins nothing more, and lets requests in flight end within `bound`. Answers how many could not.
    pub async fn shutdown(&self, bound: Duration) -> usize {
        self.inner.watch.stop();
        self.inner.webhooks.stop();
        self.inner.purger.stop();
        self.inner.exporter.stop();
        self.inner.feed.stop();
        #[cfg(any(feature = "sqlite", feature = "postgres"))]
        if let Some(keeper) = &self.inner.keeper {
            keeper.stop();
        }
        #[cfg(feature = "sqlite")]
        self.inner
            .pickups
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .clear();
        #[cfg(feature = "postgres")]
        self.inner
            .postgres
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .take();
        let left = self.inner.engine.shutdown(bound).await;
        #[cfg(feature = "sqlite")]
        if let Some(sqlite) = &self.inner.sqlite
            && let Err(error) = sqlite.close().await
        {
            tracing::warn!(%error, "the store could not be closed; the next start checks it");
        }
        left
    }

    /// The SQLite store, if that is where everything is written down: for checks and for the lock's address.
    #[cfg(feature = "sqlite")]
    #[must_use]
    pub fn sqlite_store(&self) -> Option<&factum_store::sqlite::SqliteStore> {
        self.inner.sqlite.as_deref()
    }

    async fn load(&self, handle: Handle) -> Result<Record, Problem> {
        match handle {
            Handle::Action(id) => self.inner.engine.load(id).await,
            Handle::Identity(_) | Handle::Reserved(_) => {
                self.find(handle).await?.ok_or_else(not_picked_up)
            }
        }
    }

    async fn find(&self, handle: Handle) -> Result<Option<Record>, Problem> {
        let store = self.inner.engine.store();
        Ok(match handle {
            Handle::Identity(identity) => store.find(identity).await?,
            Handle::Action(id) | Handle::Reserved(id) => store.load(id).await?,
        })
    }

    /// The id behind a handle; waits for an outbox row to be picked up.
    async fn recorded(
        &self,
        handle: Handle,
        deadline: tokio::time::Instant,
    ) -> Result<ActionId, Problem> {
        if let Handle::Action(id) = handle {
            return Ok(id);
        }
        let mut changes = self.inner.engine.changes();
        loop {
            if let Some(record) = self.find(handle).await? {
                return Ok(record.id());
            }
            // Another worker may pick it up, and tells nobody here.
            let look = tokio::time::Instant::now() + LOOK_AGAIN;
            let heard = tokio::time::timeout_at(deadline.min(look), changes.recv()).await;
            if heard.is_err() && look >= deadline {
                return Err(not_picked_up());
            }
        }
    }
}

fn not_picked_up() -> Problem {
    Problem::new(
        Code::UnknownAction,
        "",
        "the outbox row is not picked up yet, or its transaction was rolled back",
        "commit the transaction, and make sure that an engine picks up the file",
    )
}

impl Outcome {
    /// What to do with a status.
    #[must_use]
    pub fn of(status: StatusView) -> Self {
        match status.happened {
            "yes" => Self::Done(status.receipt),
            "no" => Self::NotDone(status.because.unwrap_or(status.statement.say)),
            "not_yet" => Self::Pending(Box::new(status)),
            _ if status.state == "accepted" => Self::Pending(Box::new(status)),
            _ => Self::Unknown(Box::new(status)),
        }
    }
}

impl StatusView {
    /// What may be said to the customer.
    #[must_use]
    pub fn say(&self) -> &str {
        &self.statement.say
    }
}

/// A problem as RFC 9457 JSON: what the HTTP API answers, and what a refused outbox row holds.
#[must_use]
pub fn problem_json(problem: &Problem) -> serde_json::Value {
    let mut json = serde_json::json!({
        "type": format!("urn:factum:problem:{}", problem.code.slug()),
        "title": problem.code.title(),
        "status": problem.code.status(),
        "code": problem.code.code(),
        "rule": &*problem.rule,
        "remedy": &*problem.remedy,
    });
    if !problem.member.is_empty() {
        json["member"] = (&*problem.member).into();
    }
    if let Some(action) = problem.action {
        json["action"] = action.to_string().into();
    }
    if let Some(proposal) = &problem.proposal {
        json["proposal"] = proposal.to_string().into();
    }
    if let Some(after) = problem.retry_after {
        let begun = u64::from(after.subsec_nanos() > 0);
        json["retry_after"] = (after.as_secs() + begun).max(1).into();
    }
    json
}

/// An instant as the core has it, from RFC 3339 text.
///
/// # Errors
/// [`Code::WrongType`] names the member.
pub fn parse_instant(member: &str, text: &str) -> Result<Timestamp, Problem> {
    text.parse::<jiff::Timestamp>()
        .map(factum_engine::submission::instant)
        .map_err(|error| {
            let rule = format!("{text:?} is no instant: {error}");
            Problem::new(
                Code::WrongType,
                member,
                rule,
                "write it as RFC 3339, as in 2026-11-29T12:00:00Z",
            )
        })
}
