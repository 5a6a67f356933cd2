//! `subscriptions/listen`: a stream of what changes about some actions. It ends with its client, with the server, or when the token counts
//! no more; nothing about an action depends on it.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::body::Bytes;
use factum::{About, ActionId, Caller};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::{Instant, timeout};
use tracing::Instrument;

use super::asked::{Asked, server_info};
use super::era::{Client, Meta};
use super::resources::ACTIONS;
use super::tasks;
use super::wire::{INTERNAL_ERROR, RpcError, notification, response};
use crate::app::{App, Shown};

/// A stream says so often that it lives.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// It is looked so often whether the token still counts.
const CHECK_EVERY: Duration = Duration::from_secs(1);
/// A reader that takes nothing for so long is let go.
const PATIENCE: Duration = Duration::from_secs(30);
/// Actions that one stream may follow.
const FOLLOWED_MAX: usize = 1_000;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Params {
    notifications: Wanted,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Wanted {
    resource_subscriptions: Vec<String>,
    task_ids: Vec<String>,
}

/// A stream that is about to begin.
pub(crate) struct Listening {
    app: App,
    caller: Caller,
    shown: Shown,
    client: Client,
    /// The id of the request, by which its notifications are known.
    id: Value,
    resources: BTreeSet<ActionId>,
    tasks: BTreeSet<ActionId>,
    _slot: OwnedSemaphorePermit,
}

/// Why a stream ends.
enum End {
    Gone,
    Over,
}

impl Listening {
    /// Takes what the client wants to hear of, as far as it may see that.
    pub(crate) async fn new(
        asked: &Asked<'_>,
        id: &Value,
        shown: &Shown,
    ) -> Result<Self, RpcError> {
        let wanted = asked.read::<Params>()?.notifications;
        if wanted.resource_subscriptions.len() + wanted.task_ids.len() > FOLLOWED_MAX {
            return Err(RpcError::params(format!(
                "one stream follows {FOLLOWED_MAX} actions at the most"
            )));
        }
        let Some(slot) = asked.app.stream_slot() else {
            let why = "as many streams are open as `events.streams_max` allows; close one, or ask again later";
            return Err(RpcError::new(INTERNAL_ERROR, why));
        };
        let uris = wanted
            .resource_subscriptions
            .iter()
            .filter_map(|uri| uri.strip_prefix(ACTIONS));
        let named = if asked.client.tasks {
            wanted.task_ids
        } else {
            Vec::new()
        };
        Ok(Self {
            app: asked.app.clone(),
            caller: asked.caller.clone(),
            shown: shown.clone(),
            client: asked.client,
            id: id.clone(),
            resources: visible(asked, uris).await,
            tasks: visible(asked, named.iter().map(String::as_str)).await,
            _slot: slot,
        })
    }

    /// Begins the stream: what comes out of it, as `text/event-stream`.
    pub(crate) fn begin(self) -> mpsc::Receiver<Bytes> {
        let (pieces, taken) = mpsc::channel(1);
        tokio::spawn(self.run(pieces).in_current_span());
        taken
    }

    async fn run(self, pieces: mpsc::Sender<Bytes>) {
        if let Err(End::Over) = self.follow(&pieces).await {
            let meta = json!({"io.modelcontextprotocol/subscriptionId": self.id, "io.modelcontextprotocol/serverInfo": server_info()});
            let end = response(
                &self.id,
                Ok(json!({"resultType": "complete", "_meta": meta})),
            );
            // Whoever went away needs no end.
            let _ = write(&pieces, &end).await;
        }
    }

    async fn follow(&self, pieces: &mpsc::Sender<Bytes>) -> Result<(), End> {
        let mut changes = self.app.factum().engine().changes();
        let agreed = json!({
            "resourceSubscriptions": self.resources.iter().map(|id| format!("{ACTIONS}{id}")).collect::<Vec<_>>(),
            "taskIds": self.tasks.iter().map(ToString::to_string).collect::<Vec<_>>(),
        });
        let begun = json!({ "notifications": agreed });
        write(
            pieces,
            &self.note("notifications/subscriptions/acknowledged", begun),
        )
        .await?;
        let mut beat = Instant::now() + HEARTBEAT;
        loop {
            tokio::select! {
                change = changes.recv() => match change {
                    Ok(change) if change.about == About::Standing => self.tell(pieces, change.action).await?,
                    Ok(_) => {}
                    // Some were missed: then each of them may have changed.
                    Err(RecvError::Lagged(_)) => self.tell_all(pieces).await?,
                    Err(RecvError::Closed) => return Err(End::Over),
                },
                () = self.app.ended() => return Err(End::Over),
                () = pieces.closed() => return Err(End::Gone),
                () = tokio::time::sleep(CHECK_EVERY) => {
                    if self.app.caller(&self.shown).as_ref() != Some(&self.caller) {
                        return Err(End::Over);
                    }
                }
            }
            if Instant::now() >= beat {
                beat = Instant::now() + HEARTBEAT;
                piece(pieces, ": still here\n\n".to_owned()).await?;
            }
        }
    }

    async fn tell_all(&self, pieces: &mpsc::Sender<Bytes>) -> Result<(), End> {
        for id in self.resources.union(&self.tasks) {
            self.tell(pieces, *id).await?;
        }
        Ok(())
    }

    async fn tell(&self, pieces: &mpsc::Sender<Bytes>, id: ActionId) -> Result<(), End> {
        if self.resources.contains(&id) {
            let updated = json!({"uri": format!("{ACTIONS}{id}")});
            write(
                pieces,
                &self.note("notifications/resources/updated", updated),
            )
            .await?;
        }
        if self.tasks.contains(&id)
            && let Ok(record) = self.app.factum().engine().load_for(&self.caller, id).await
        {
            let asked = Asked {
                app: &self.app,
                caller: &self.caller,
                client: self.client,
                meta: Meta::default(),
                params: "{}",
            };
            let task = tasks::detail(&asked, &record).await;
            write(pieces, &self.note("notifications/tasks", task)).await?;
        }
        Ok(())
    }

    fn note(&self, method: &str, mut params: Value) -> Value {
        params["_meta"] = json!({"io.modelcontextprotocol/subscriptionId": self.id});
        notification(method, &params)
    }
}

async fn visible(asked: &Asked<'_>, ids: impl Iterator<Item = &str>) -> BTreeSet<ActionId> {
    let mut found = BTreeSet::new();
    for id in ids {
        if let Ok(record) = asked.action(id).await {
            found.insert(record.id());
        }
    }
    found
}

async fn write(pieces: &mpsc::Sender<Bytes>, message: &Value) -> Result<(), End> {
    piece(pieces, format!("data: {message}\n\n")).await
}

async fn piece(pieces: &mpsc::Sender<Bytes>, text: String) -> Result<(), End> {
    match timeout(PATIENCE, pieces.send(Bytes::from(text))).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(End::Gone),
    }
}
