//! What is kept: the configuration's words for it, the task that purges by itself, and what operators ask for by hand.
//!
//! The HTTP API and the command line ask here alike, with the same bodies, and show the same answers.

use std::sync::Arc;
use std::time::Duration;

use factum_engine::directory::DEFAULT_TENANT;
use factum_engine::retention::{Held, Keep, Retention, Rules};
use factum_engine::{Code, Engine, Erased, Problem, Swept, Whose};
use factum_store::Entry;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::ActionId;
use crate::config::{Config, KeepConfig, RetentionConfig};
use crate::view::rfc3339;

/// Between two steps of a sweep: each step is short, and others go in between.
const STEP: Duration = Duration::from_millis(100);

/// Between two sweeps.
const REST: Duration = Duration::from_secs(60);

/// How long what is kept, as the configuration says.
#[must_use]
pub fn of(config: &Config) -> Retention {
    let tenants = config.tenants.iter();
    let own = tenants.filter_map(|(name, tenant)| {
        let said = tenant.retention.as_ref()?;
        Some((name.clone(), rules(said)))
    });
    Retention {
        all: rules(&config.retention),
        tenants: own.collect(),
    }
}

fn rules(said: &RetentionConfig) -> Rules {
    let operations = said.operations.iter();
    Rules {
        keep: Keep {
            payload: said.payload.map(|wait| wait.0),
            action: said.action.map(|wait| wait.0),
            identity: said.identity.map(|wait| wait.0),
        },
        operations: operations
            .map(|(name, keep)| (name.clone(), keep_of(keep)))
            .collect(),
    }
}

fn keep_of(said: &KeepConfig) -> Keep {
    Keep {
        payload: said.payload.map(|wait| wait.0),
        action: said.action.map(|wait| wait.0),
        identity: said.identity.map(|wait| wait.0),
    }
}

/// The task that purges what is due, for as long as this lives.
pub(crate) struct Purger(Option<JoinHandle<()>>);

impl Purger {
    /// Begins; where nothing is ever purged there is no task.
    pub(crate) fn start(engine: &Arc<Engine>, retention: &Retention) -> Self {
        let purges = retention.shortest().is_some();
        Self(purges.then(|| tokio::spawn(run(engine.clone()))))
    }

    /// Ends.
    pub(crate) fn stop(&self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

impl Drop for Purger {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn run(engine: Arc<Engine>) {
    loop {
        match sweep(&engine, false, STEP).await {
            Ok(swept) if swept.took() => tracing::info!(
                content = swept.content,
                actions = swept.actions,
                identities = swept.identities,
                held = swept.held,
                "purged what was kept for long enough"
            ),
            Ok(_) => {}
            Err(problem) => tracing::warn!(%problem, "purging broke off; it is tried again"),
        }
        tokio::time::sleep(REST).await;
    }
}

/// One sweep over everything, step by step.
async fn sweep(engine: &Engine, dry: bool, pause: Duration) -> Result<Swept, Problem> {
    let (mut whole, mut after) = (Swept::default(), None);
    loop {
        let (step, last) = engine.sweep(after, dry).await?;
        whole.add(step);
        if last.is_none() {
            break;
        }
        after = last;
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
    }
    if !dry {
        whole.identities = engine.sweep_identities().await?;
        if whole.took() {
            engine.compact().await?;
        }
    }
    Ok(whole)
}

/// The body of a wish to purge.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PurgeWish {
    /// Only count.
    #[serde(default)]
    pub dry_run: Option<bool>,
}

/// The body of a wish to erase or to hold: exactly one of the things that it may be about.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TargetWish {
    /// The tenant; `default` where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// One action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// All that was asked for in a conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// To erase: all that was carried out for a principal.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// To hold: all of the tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<bool>,
    /// Why: it is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Who says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// To erase: only look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
    /// To hold: let go instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<bool>,
}

impl TargetWish {
    fn tenant(&self) -> &str {
        self.tenant.as_deref().unwrap_or(DEFAULT_TENANT)
    }

    fn why(&self) -> Result<&str, Problem> {
        let why = self.why.as_deref().map(str::trim);
        why.filter(|why| !why.is_empty()).ok_or_else(|| {
            let rule = "it is kept why this is done";
            Problem::new(Code::WrongType, "/why", rule, "say why, in a few words")
        })
    }

    fn erases(&self) -> Result<Whose, Problem> {
        match (&self.action, &self.conversation, &self.principal, self.all) {
            (Some(id), None, None, None) => Ok(Whose::Action(action(id)?)),
            (None, Some(id), None, None) => Ok(Whose::Conversation(id.clone())),
            (None, None, Some(name), None) => Ok(Whose::Principal(name.clone())),
            _ => Err(one_of("`action`, `conversation` and `for`")),
        }
    }

    fn holds(&self) -> Result<Held, Problem> {
        match (&self.action, &self.conversation, &self.principal, self.all) {
            (Some(id), None, None, None) => Ok(Held::Action(action(id)?.to_string())),
            (None, Some(id), None, None) => Ok(Held::Conversation(id.clone())),
            (None, None, None, Some(true)) => Ok(Held::Tenant),
            _ => Err(one_of("`action`, `conversation` and `all`")),
        }
    }
}

fn action(text: &str) -> Result<ActionId, Problem> {
    text.parse().map_err(|error| {
        let rule = format!("{text:?} names no action: {error}");
        Problem::new(Code::WrongType, "/action", rule, "check the id")
    })
}

fn one_of(names: &str) -> Problem {
    let rule = format!("it is about exactly one of {names}");
    Problem::new(Code::WrongType, "", rule, "name one of them")
}

/// Purges what is due, all of it, at once; or only counts it.
///
/// # Errors
/// [`Problem`] if the store cannot be read or written.
pub async fn purge(engine: &Engine, wish: &PurgeWish) -> Result<Value, Problem> {
    let dry = wish.dry_run.unwrap_or(false);
    let swept = sweep(engine, dry, Duration::ZERO).await?;
    Ok(json!({
        "dry_run": dry,
        "settled": swept.looked_at,
        "content": swept.content,
        "actions": swept.actions,
        "identities": swept.identities,
        "held": swept.held,
    }))
}

/// Erases the content of somebody's settled actions.
///
/// # Errors
/// [`Problem`] for what is wrong with the wish, or if the store cannot be read or written.
pub async fn erase(engine: &Engine, wish: &TargetWish, by: &str) -> Result<Value, Problem> {
    let (whose, why) = (wish.erases()?, wish.why()?);
    let dry = wish.dry_run.unwrap_or(false);
    let found = engine.erase(wish.tenant(), &whose, (by, why), dry).await?;
    if !dry {
        engine.compact().await?;
        // Whose it was, and why it went, is in the evidence of each: a log is kept elsewhere, and by other rules.
        tracing::warn!(by, erased = found.erased.len(), "content was erased");
    }
    let Erased {
        erased,
        unsettled,
        held,
    } = found;
    let ids = |ids: Vec<ActionId>| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    Ok(json!({
        "dry_run": dry,
        "erased": ids(erased),
        "unsettled": ids(unsettled),
        "held": ids(held),
    }))
}

/// Holds something, or lets go of it; gives what is held then.
///
/// # Errors
/// [`Problem`] for what is wrong with the wish, or if the store cannot be read or written.
pub async fn hold(engine: &Engine, wish: &TargetWish, by: &str) -> Result<Value, Problem> {
    let stands = !wish.release.unwrap_or(false);
    let said = (by, wish.why()?);
    engine
        .set_hold(wish.tenant(), &wish.holds()?, stands, said)
        .await?;
    holds(engine).await
}

/// What is held.
///
/// # Errors
/// [`Problem`] if the store cannot be read.
pub async fn holds(engine: &Engine) -> Result<Value, Problem> {
    let held = engine.holds().await?;
    let shown: Vec<Value> = held.iter().map(held_json).collect();
    Ok(json!({"holds": shown}))
}

fn held_json(entry: &Entry) -> Value {
    let (action, conversation) = match Held::named(&entry.key.id) {
        Some(Held::Action(id)) => (Some(id), None),
        Some(Held::Conversation(id)) => (None, Some(id)),
        Some(Held::Tenant) | None => (None, None),
    };
    json!({
        "tenant": entry.key.tenant,
        "all": action.is_none() && conversation.is_none(),
        "action": action,
        "conversation": conversation,
        "by": entry.changed.by,
        "why": entry.changed.why,
        "at": rfc3339(entry.changed.at),
    })
}
