//! The engine inside this command, for as long as the command runs: where nobody serves the store.
//!
//! Unless it is asked to carry out, it sends nothing ([`Held`]): looking at an engine that stands still must not start it.

use std::sync::Arc;
use std::time::Duration;

use factum::conversations::{Conversations, CorrectionFilter};
use factum::seal_keys::Custody;
use factum::signing::SigningKeys;
use factum::statements::Audience;
use factum::teller::Teller;
use factum::view::{EvidenceView, NextView, rfc3339};
use factum::{
    ActionId, Cancelled, Code, Config, DEFAULT_PRINCIPAL, DEFAULT_TENANT, Engine, Filter, Problem,
    Record, Restore, Submission, setup,
};
use factum_core::Span;
use factum_engine::Options;
use factum_store::Store;
use factum_store::sqlite::{Opened, Options as SqliteOptions, SqliteStore, StoreKeys};
use factum_transport::{HttpTransport, Transport};
use serde_json::{Value, json};

use crate::access::{ListQuery, Ruled};
use crate::failure::Failure;
use crate::held::{Held, PAUSED};
use crate::place::Place;

/// How many statuses one page of a listing holds.
const PAGE: usize = 500;
/// A start with the wall clock this far behind the store's last stamp is not trusted (R11).
pub(crate) const CLOCK_BEHIND_MAX: Span = Span::from_secs(30);

/// An engine in this process.
pub(crate) struct Local {
    engine: Engine,
    store: Arc<SqliteStore>,
    teller: Teller,
    config: Config,
    signing: SigningKeys,
    /// It carries out what is due.
    pub(crate) carries: bool,
}

/// Opens the store that the configuration names; its lock is held from then on.
pub(crate) fn open_store(place: &Place) -> Result<(Opened, factum_engine::Keys, Custody), Failure> {
    let path = place.store()?;
    let home = place.home()?;
    home.create()?;
    let keys = home.keys(&path)?;
    let custody = Custody::of(&home, place.config.store.seal)?;
    let options = SqliteOptions {
        seals: custody.seals(),
        ..SqliteOptions::new(&path, StoreKeys(keys.checksum()))
    };
    Ok((SqliteStore::open(options)?, keys, custody))
}

impl Local {
    /// Opens the store and starts the engine: held, unless it shall carry out what is due.
    pub(crate) async fn open(place: &Place, carries: bool) -> Result<Self, Failure> {
        let teller = Teller::of(&place.config)?;
        let catalogue = setup::catalogue(&place.config)?;
        let destinations = setup::destinations(&place.config, &catalogue)?;
        let (opened, keys, custody) = open_store(place)?;
        custody.settle(&opened.store).await?;
        let store = Arc::new(opened.store);
        let seen: Arc<dyn Store> = if carries {
            store.clone()
        } else {
            Arc::new(Held(store.clone()))
        };
        let limits = &place.config.limits;
        let options = Options {
            store: seen,
            transport: Box::new(|clock| Arc::new(HttpTransport::new(clock)) as Arc<dyn Transport>),
            keys,
            destinations,
            unsettled_max: limits.unsettled_max,
            held_max: limits.held_max,
            former_workers_gone_at: Some(opened.former_workers_gone_at),
            restore_grace: limits.restore_grace.0,
            retention: factum::retention::of(&place.config),
            clock_in_doubt: opened.clock_behind > CLOCK_BEHIND_MAX,
        };
        let engine = Engine::start(options).await?;
        Ok(Self {
            engine,
            store,
            teller,
            config: place.config.clone(),
            signing: SigningKeys::of(&place.home()?),
            carries,
        })
    }

    /// The engine itself.
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Ends the engine: lets what is in flight end, within the configured bound.
    pub(crate) async fn close(self) -> Result<(), Failure> {
        self.engine
            .shutdown(self.config.server.shutdown.duration())
            .await;
        Ok(self.store.close().await?)
    }

    /// Records a submission, or joins.
    pub(crate) async fn submit(&self, body: &[u8], wait: Duration) -> Result<Value, Failure> {
        let text = std::str::from_utf8(body).map_err(|error| {
            let rule = format!("it is not UTF-8 from byte {} on", error.valid_up_to());
            Problem::new(
                Code::MalformedJson,
                "",
                rule,
                "send JSON in UTF-8 (RFC 8259)",
            )
        })?;
        let submission = Submission::from_json(text)?;
        let submitted = self
            .engine
            .submit(submission, DEFAULT_TENANT, DEFAULT_PRINCIPAL)
            .await?;
        let record = if wait.is_zero() {
            *submitted.record
        } else {
            self.engine.wait(submitted.record.id(), wait).await?
        };
        Ok(self.view(&record, !submitted.created, Audience::Customer))
    }

    /// One action as it stands, after a wait for its rest.
    pub(crate) async fn status(&self, id: &str, wait: Duration) -> Result<Value, Failure> {
        // While sends are held, waiting would bring nothing.
        let wait = if self.carries { wait } else { Duration::ZERO };
        let record = self.engine.wait(action_id(id)?, wait).await?;
        Ok(self.view(&record, false, Audience::Customer))
    }

    /// Actions that match, newest first.
    pub(crate) async fn list(&self, query: &ListQuery) -> Result<Vec<Value>, Failure> {
        let mut filter = Filter {
            tenant: None,
            key: query.key.clone(),
            state: query.state.as_deref().map(state).transpose()?,
            next: query.next.clone(),
            destination: query.destination.clone(),
            conversation: query.conversation.clone(),
            before: query.before.as_deref().map(action_id).transpose()?,
            limit: 0,
        };
        let mut found = Vec::new();
        while found.len() < query.limit {
            filter.limit = PAGE.min(query.limit - found.len());
            let records = self.engine.list(filter.clone()).await?;
            let whole = records.len() == filter.limit;
            filter.before = records.last().map(Record::id);
            let audience = if query.next.as_deref() == Some("review") {
                Audience::Operator
            } else {
                Audience::Customer
            };
            found.extend(
                records
                    .iter()
                    .map(|record| self.view(record, false, audience)),
            );
            if !whole {
                break;
            }
        }
        Ok(found)
    }

    /// The log of an action.
    pub(crate) async fn evidence(&self, id: &str) -> Result<Value, Failure> {
        let evidence = self.engine.evidence(action_id(id)?).await?;
        let shown: Vec<EvidenceView> = evidence.iter().map(EvidenceView::of).collect();
        Ok(json!({"action": id, "evidence": shown}))
    }

    /// A signed receipt of an action.
    pub(crate) async fn receipt(&self, id: &str, with_payload: bool) -> Result<Value, Failure> {
        let id = action_id(id)?;
        let view = |record: &Record| {
            let reader = Audience::Customer.into();
            self.teller.view(&self.engine, record, false, reader)
        };
        let stands = factum::receipts::read(&self.engine, None, id, view).await?;
        self.signing.settle()?;
        let store = self.engine.store().as_ref();
        Ok(factum::receipts::issue(store, &self.signing, &stands, with_payload).await?)
    }

    /// What destinations reported by themselves, newest first.
    pub(crate) async fn callbacks(
        &self,
        unmatched: bool,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<Value>, Failure> {
        let found =
            factum::callbacks::list(&self.engine, DEFAULT_TENANT, unmatched, before, limit).await?;
        Ok(found.iter().map(|one| json!(one)).collect())
    }

    /// Where a destination's callbacks come to.
    pub(crate) fn callback(&self, destination: &str) -> Value {
        let path = factum::callbacks::path(&self.engine, DEFAULT_TENANT, destination);
        let known = self.engine.destinations().get(destination);
        let checked = known.is_some_and(|known| !known.callback_secrets.is_empty());
        path.map_or(
            Value::Null,
            |path| json!({"path": path, "can_be_checked": checked}),
        )
    }

    /// Stops sends.
    pub(crate) async fn cancel(&self, id: &str, by: &str, why: &str) -> Result<Value, Failure> {
        let (cancelled, record) = self.engine.cancel(action_id(id)?, by, why).await?;
        let word = match cancelled {
            Cancelled::Stopped => "stopped",
            Cancelled::TooLate => "too_late",
        };
        Ok(json!({"cancel": word, "action": self.view(&record, false, Audience::Customer)}))
    }

    /// Records a verdict.
    pub(crate) async fn rule(&self, id: &str, ruled: &Ruled) -> Result<Value, Failure> {
        let record = self
            .engine
            .rule(action_id(id)?, ruled.ruling(), &ruled.by, &ruled.why)
            .await?;
        Ok(self.view(&record, false, Audience::Operator))
    }

    /// Asks for another lookup.
    pub(crate) async fn check_again(&self, id: &str, by: &str) -> Result<Value, Failure> {
        let record = self.engine.check_again(action_id(id)?, by).await?;
        Ok(self.view(&record, false, Audience::Operator))
    }

    /// Holds all sends from now on, or lets them go on once somebody serves. Written past the engine: it is held anyway.
    pub(crate) async fn pause(&self, by: Option<&str>) -> Result<Value, Failure> {
        self.store
            .set_setting(PAUSED, by.map(str::to_owned))
            .await?;
        self.state().await
    }

    /// How the engine is doing.
    pub(crate) async fn state(&self) -> Result<Value, Failure> {
        let counts = self.engine.counts().await?;
        let unsettled: u64 = counts
            .iter()
            .filter(|((_, next), _)| next != "none")
            .map(|(_, count)| count)
            .sum();
        let counts: Vec<Value> = counts
            .iter()
            .map(|((state, next), count)| json!({"state": state, "next": next, "count": count}))
            .collect();
        Ok(json!({
            "paused_by": self.store.setting(PAUSED).await?,
            "restore": self.store.restore().await?.as_ref().map(restore_json),
            "counts": counts,
            "unsettled": unsettled,
        }))
    }

    /// What would be sent if nothing held it, soonest first.
    pub(crate) async fn would_send(&self, limit: usize) -> Result<Value, Failure> {
        // The engine's own store hides what is due from it ([`Held`]); here it is read past that.
        let (found, complete) = self.engine.would_send(self.store.as_ref(), limit).await?;
        let actions: Vec<Value> = found
            .iter()
            .map(|(record, next)| {
                let mut view = self.view(record, false, Audience::Operator);
                view["next"] = json!(NextView::of(next));
                view
            })
            .collect();
        Ok(json!({"actions": actions, "complete": complete}))
    }

    /// Declares that the store came from a copy.
    pub(crate) async fn after_restore(&self, copy_until: Option<&str>) -> Result<Value, Failure> {
        let copy_until = copy_until
            .map(|text| factum::parse_instant("/copy_until", text))
            .transpose()?;
        self.engine.declare_restored(copy_until).await?;
        self.state().await
    }

    /// Lets effect requests go on after a restore.
    pub(crate) async fn release(&self, by: &str) -> Result<Value, Failure> {
        self.engine.release_restore(by).await?;
        self.state().await
    }

    /// Binds an outbox file to this store.
    pub(crate) async fn accept_outbox(&self, path: &std::path::Path) -> Result<(), Failure> {
        Ok(factum::outbox::accept(&self.engine, path).await?)
    }

    /// A conversation, as staff see it.
    pub(crate) async fn conversation(&self, id: &str) -> Result<Value, Failure> {
        let shown = self
            .conversations()
            .show(DEFAULT_TENANT, id, Audience::Operator.into())
            .await?;
        Ok(json!(shown))
    }

    /// Corrections that are due.
    pub(crate) async fn corrections(
        &self,
        conversation: Option<&str>,
        limit: u16,
    ) -> Result<Value, Failure> {
        let filter = CorrectionFilter {
            conversation: conversation.map(str::to_owned),
            after: None,
            limit: usize::from(limit),
        };
        let found = self
            .conversations()
            .corrections(DEFAULT_TENANT, filter, Audience::Operator)
            .await?;
        Ok(json!({"corrections": found, "next_after": null}))
    }

    fn conversations(&self) -> Conversations<'_> {
        Conversations::new(&self.engine, &self.teller)
    }

    fn view(&self, record: &Record, joined: bool, audience: Audience) -> Value {
        json!(
            self.teller
                .view(&self.engine, record, joined, audience.into())
        )
    }
}

fn restore_json(restore: &Restore) -> Value {
    json!({
        "copy_until": rfc3339(restore.copy_until),
        "at": rfc3339(restore.at),
        "released": restore.released.as_ref().map(|(by, at)| json!({"by": by, "at": rfc3339(*at)})),
    })
}

fn action_id(text: &str) -> Result<ActionId, Failure> {
    text.parse().map_err(|error: factum::core::id::BadId| {
        Problem::new(
            Code::UnknownAction,
            "",
            format!("{text:?} names no action: {error}"),
            "check the id",
        )
        .into()
    })
}

fn state(name: &str) -> Result<factum::State, Failure> {
    factum::State::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = factum::State::ALL
            .iter()
            .map(|state| state.name())
            .collect();
        let rule = format!("{name:?} is no state");
        Problem::new(
            Code::BadQuery,
            "state",
            rule,
            format!("use one of: {}", known.join(", ")),
        )
        .into()
    })
}
