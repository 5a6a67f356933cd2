//! How a command reaches the engine: a server over HTTP, or the store itself where nobody serves it.
//!
//! Every command is written once, over statuses as JSON. A file that a server holds is never opened: then the server is asked,
//! at the address that its lock names.

use std::path::Path;
use std::time::Duration;

use factum::core::evidence::Receipt;
use factum::{Code, Ruling};
use serde_json::{Value, json};

use crate::client::{Call, Client, encoded, with_query};
use crate::commands::review_many::list_path;
use crate::failure::Failure;
use crate::local::Local;
use crate::place::{self, Place};

/// The longest wait that one call asks a server for.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// The longest page that one call asks a server for.
const PAGE: usize = 100;

/// The way to the engine.
pub(crate) enum Access {
    /// Over HTTP.
    Remote(Client),
    /// In this process.
    Local(Box<Local>),
}

/// What a command is going to do with the store, should nobody serve it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Look and decide: nothing is sent.
    Look,
    /// Record: nothing is sent, and the store may be made.
    Record,
    /// Record and carry out for as long as the command waits.
    CarryOut,
}

/// Which actions to list.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListQuery {
    pub(crate) key: Option<String>,
    pub(crate) state: Option<String>,
    pub(crate) destination: Option<String>,
    pub(crate) conversation: Option<String>,
    pub(crate) next: Option<String>,
    pub(crate) before: Option<String>,
    pub(crate) limit: usize,
}

/// What a person says about an action.
#[derive(Clone, Debug)]
pub(crate) struct Ruled {
    pub(crate) verdict: VerdictWord,
    pub(crate) by: String,
    pub(crate) why: String,
    pub(crate) receipt: Option<String>,
}

/// The words of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum VerdictWord {
    /// The effect exists.
    Happened,
    /// It does not.
    DidNotHappen,
    /// Send it again, at the risk of a second effect.
    SendAgain,
    /// Nobody can find out; the search ends.
    CannotBeKnown,
}

impl VerdictWord {
    /// The word itself.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Happened => "happened",
            Self::DidNotHappen => "did_not_happen",
            Self::SendAgain => "send_again",
            Self::CannotBeKnown => "cannot_be_known",
        }
    }
}

impl Ruled {
    /// As the core has it.
    pub(crate) fn ruling(&self) -> Ruling {
        match self.verdict {
            VerdictWord::Happened => Ruling::Happened {
                receipt: self.receipt.clone().map(Receipt::new),
            },
            VerdictWord::DidNotHappen => Ruling::DidNotHappen,
            VerdictWord::SendAgain => Ruling::SendAgain,
            VerdictWord::CannotBeKnown => Ruling::CannotBeKnown,
        }
    }

    fn body(&self) -> Value {
        let mut body = json!({"verdict": self.verdict.name(), "by": self.by, "why": self.why});
        if let Some(receipt) = &self.receipt {
            body["receipt"] = receipt.as_str().into();
        }
        body
    }
}

impl Access {
    /// Finds the way: `FACTUM_URL`, else the server that holds the store, else the store itself.
    pub(crate) async fn open(config: Option<&Path>, purpose: Purpose) -> Result<Self, Failure> {
        if let Some(url) = place::url() {
            let token = place::token().ok_or_else(|| {
                Failure::usage(
                    "FACTUM_URL is set and FACTUM_TOKEN is not",
                    "set FACTUM_TOKEN to the server's token",
                )
            })?;
            let client = Client::new(&url, token)
                .map_err(|failure| failure.about("FACTUM_URL, FACTUM_TOKEN"))?;
            return Ok(Self::Remote(client));
        }
        let place = Place::read(config)?;
        let store = place.store()?;
        let may_make = purpose != Purpose::Look && !place.config.destinations.is_empty();
        if !store.exists() && !may_make {
            let rule = format!(
                "there is no store at {}, and FACTUM_URL names no server",
                store.display()
            );
            return Err(Failure::unavailable(
                rule,
                "run `factum serve` here, or set FACTUM_URL and FACTUM_TOKEN",
            ));
        }
        match Local::open(&place, purpose == Purpose::CarryOut).await {
            Ok(local) => Ok(Self::Local(Box::new(local))),
            Err(held) if held.code() == Some(Code::StoreHeld) => {
                Ok(Self::Remote(place.holder(held)?))
            }
            Err(failure) => Err(failure),
        }
    }

    /// The server, for what only a running one does; `why` says what that is.
    pub(crate) async fn server(config: Option<&Path>, why: &str) -> Result<Client, Failure> {
        match Self::open(config, Purpose::Look).await? {
            Self::Remote(client) => Ok(client),
            local @ Self::Local(_) => {
                local.close().await?;
                Err(Failure::unavailable(
                    format!("nobody serves this store, and {why}"),
                    "run `factum serve` here, or set FACTUM_URL and FACTUM_TOKEN",
                ))
            }
        }
    }

    /// Nobody serves: nothing is sent unless this command does it.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self, Self::Local(_))
    }

    /// Ends what was opened.
    pub(crate) async fn close(self) -> Result<(), Failure> {
        match self {
            Self::Remote(_) => Ok(()),
            Self::Local(local) => local.close().await,
        }
    }

    /// Records a submission, or joins; then waits for its rest for so long.
    pub(crate) async fn submit(&self, body: &[u8], wait: Duration) -> Result<Value, Failure> {
        match self {
            Self::Local(local) => local.submit(body, wait).await,
            Self::Remote(client) => {
                let asked = wait.min(WAIT_MAX);
                let mut call = Call::post("/v1/actions", body.to_vec())
                    .repeatable()
                    .waiting(asked);
                if !asked.is_zero() {
                    call = call.header("prefer", format!("wait={}", whole_seconds(asked)));
                }
                let submitted = client.json(call).await?;
                if wait <= WAIT_MAX || rests(&submitted) {
                    return Ok(submitted);
                }
                let joined = submitted["joined"].clone();
                let mut status = self
                    .status(
                        submitted["id"].as_str().unwrap_or_default(),
                        wait - WAIT_MAX,
                    )
                    .await?;
                status["joined"] = joined;
                Ok(status)
            }
        }
    }

    /// One action as it stands, after a wait for its rest.
    pub(crate) async fn status(&self, id: &str, wait: Duration) -> Result<Value, Failure> {
        let client = match self {
            Self::Local(local) => return local.status(id, wait).await,
            Self::Remote(client) => client,
        };
        let mut left = wait;
        loop {
            let asked = left.min(WAIT_MAX);
            let seconds = (!asked.is_zero()).then(|| whole_seconds(asked));
            let path = with_query(
                &format!("/v1/actions/{}", encoded(id)),
                &[("wait", seconds)],
            );
            let status = client.json(Call::get(path).waiting(asked)).await?;
            left = left.saturating_sub(asked);
            if left.is_zero() || rests(&status) {
                return Ok(status);
            }
        }
    }

    /// Actions that match, newest first.
    pub(crate) async fn list(&self, query: &ListQuery) -> Result<Vec<Value>, Failure> {
        let client = match self {
            Self::Local(local) => return local.list(query).await,
            Self::Remote(client) => client,
        };
        let mut found = Vec::new();
        let mut before = query.before.clone();
        while found.len() < query.limit {
            let limit = PAGE.min(query.limit - found.len());
            let path = with_query(
                "/v1/actions",
                &[
                    ("key", query.key.clone()),
                    ("state", query.state.clone()),
                    ("destination", query.destination.clone()),
                    ("conversation", query.conversation.clone()),
                    ("next", query.next.clone()),
                    ("before", before),
                    ("limit", Some(limit.to_string())),
                ],
            );
            let mut page = client.json(Call::get(path)).await?;
            found.extend(taken(&mut page, "actions"));
            before = page["next_before"].as_str().map(str::to_owned);
            if before.is_none() {
                break;
            }
        }
        Ok(found)
    }

    /// The log of an action: `{"action", "evidence"}`.
    pub(crate) async fn evidence(&self, id: &str) -> Result<Value, Failure> {
        match self {
            Self::Local(local) => local.evidence(id).await,
            Self::Remote(client) => {
                client
                    .json(Call::get(format!("/v1/actions/{}/evidence", encoded(id))))
                    .await
            }
        }
    }

    /// A signed receipt of an action.
    pub(crate) async fn receipt(&self, id: &str, with_payload: bool) -> Result<Value, Failure> {
        match self {
            Self::Local(local) => local.receipt(id, with_payload).await,
            Self::Remote(client) => {
                let path = format!("/v1/actions/{}/receipt", encoded(id));
                let content = with_payload.then(|| "included".to_owned());
                client
                    .json(Call::get(with_query(&path, &[("content", content)])))
                    .await
            }
        }
    }

    /// Stops sends: `{"cancel", "action"}`.
    pub(crate) async fn cancel(&self, id: &str, by: &str, why: &str) -> Result<Value, Failure> {
        match self {
            Self::Local(local) => local.cancel(id, by, why).await,
            Self::Remote(client) => {
                let body = json!({"by": by, "why": why}).to_string();
                client
                    .json(Call::post(
                        format!("/v1/actions/{}/cancel", encoded(id)),
                        body,
                    ))
                    .await
            }
        }
    }

    /// What destinations reported by themselves, newest first.
    pub(crate) async fn callbacks(
        &self,
        unmatched: bool,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<Value>, Failure> {
        match self {
            Self::Local(local) => local.callbacks(unmatched, before, limit).await,
            Self::Remote(client) => {
                let path = with_query(
                    "/v1/callbacks",
                    &[
                        ("unmatched", unmatched.then(|| "true".to_owned())),
                        ("before", before.map(|no| no.to_string())),
                        ("limit", Some(limit.to_string())),
                    ],
                );
                Ok(taken(&mut client.json(Call::get(path)).await?, "callbacks"))
            }
        }
    }

    /// A conversation, as staff see it: nothing counts as told by it.
    pub(crate) async fn conversation(&self, id: &str) -> Result<Value, Failure> {
        match self {
            Self::Local(local) => local.conversation(id).await,
            Self::Remote(client) => {
                let path = format!("/v1/conversations/{}?audience=operator", encoded(id));
                client.json(Call::get(path)).await
            }
        }
    }

    /// Keeps what a conversation was told, or that a correction was passed on: `what` is `told` or `acknowledge`.
    pub(crate) async fn told(&self, id: &str, what: &str, body: &Value) -> Result<Value, Failure> {
        match self {
            Self::Local(_) => Err(Failure::unavailable(
                "what a conversation is told is kept by a running server, which notices what contradicts it",
                "run `factum serve` here, or set FACTUM_URL and FACTUM_TOKEN",
            )),
            Self::Remote(client) => {
                let path = format!("/v1/conversations/{}/{what}", encoded(id));
                client.json(Call::post(path, body.to_string())).await
            }
        }
    }

    /// Corrections that are due: `{"corrections", "next_after"}`.
    pub(crate) async fn corrections(
        &self,
        conversation: Option<&str>,
        limit: u16,
    ) -> Result<Value, Failure> {
        match self {
            Self::Local(local) => local.corrections(conversation, limit).await,
            Self::Remote(client) => {
                let path = with_query(
                    "/v1/corrections",
                    &[
                        ("conversation", conversation.map(str::to_owned)),
                        ("limit", Some(limit.to_string())),
                    ],
                );
                client.json(Call::get(path)).await
            }
        }
    }

    /// Where a destination's callbacks come to: `{"path", "can_be_checked"}`, or null.
    pub(crate) async fn callback(&self, destination: &str) -> Result<Value, Failure> {
        match self {
            Self::Local(local) => Ok(local.callback(destination)),
            Self::Remote(client) => {
                let path = format!("/v1/destinations/{}", encoded(destination));
                Ok(client.json(Call::get(path)).await?["callback"].take())
            }
        }
    }

    /// What waits for a person, newest first.
    pub(crate) async fn review(
        &self,
        limit: u16,
        order: Option<&str>,
        destination: Option<&str>,
    ) -> Result<Vec<Value>, Failure> {
        match self {
            Self::Local(local) => {
                local
                    .list(&ListQuery {
                        next: Some("review".to_owned()),
                        destination: destination.map(str::to_owned),
                        limit: usize::from(limit),
                        ..ListQuery::default()
                    })
                    .await
            }
            Self::Remote(client) => {
                let path = list_path(limit, order, destination);
                Ok(taken(&mut client.json(Call::get(path)).await?, "items"))
            }
        }
    }

    /// Records a verdict; the status after it.
    pub(crate) async fn rule(&self, id: &str, ruled: &Ruled) -> Result<Value, Failure> {
        match self {
            Self::Local(local) => local.rule(id, ruled).await,
            Self::Remote(client) => {
                let path = format!("/v1/review/{}/verdict", encoded(id));
                client
                    .json(Call::post(path, ruled.body().to_string()))
                    .await
            }
        }
    }

    /// Asks the destination once more; the status after it.
    pub(crate) async fn check_again(&self, id: &str, by: &str) -> Result<Value, Failure> {
        match self {
            Self::Local(local) => local.check_again(id, by).await,
            Self::Remote(client) => {
                let path = format!("/v1/review/{}/check-again", encoded(id));
                client
                    .json(Call::post(path, json!({"by": by}).to_string()))
                    .await
            }
        }
    }

    /// How the engine is doing: `{"paused_by", "restore", "counts", "unsettled"}`.
    pub(crate) async fn state(&self) -> Result<Value, Failure> {
        match self {
            Self::Local(local) => local.state().await,
            Self::Remote(client) => client.json(Call::get("/v1/admin/state")).await,
        }
    }

    /// What would be sent if nothing held it, soonest first: `{"actions", "complete"}`.
    pub(crate) async fn would_send(&self, limit: usize) -> Result<Value, Failure> {
        match self {
            Self::Local(local) => local.would_send(limit).await,
            Self::Remote(client) => {
                client
                    .json(Call::get(with_query(
                        "/v1/admin/would-send",
                        &[("limit", Some(limit.to_string()))],
                    )))
                    .await
            }
        }
    }

    /// Holds all sends, or lets them go on.
    pub(crate) async fn pause(&self, pause: bool, by: &str) -> Result<Value, Failure> {
        match self {
            Self::Local(local) => local.pause(pause.then_some(by)).await,
            Self::Remote(client) => {
                let path = if pause {
                    "/v1/admin/pause"
                } else {
                    "/v1/admin/resume"
                };
                client
                    .json(Call::post(path, json!({"by": by}).to_string()))
                    .await?;
                self.state().await
            }
        }
    }

    /// Declares that the store came from a copy.
    pub(crate) async fn after_restore(
        &self,
        copy_until: Option<&str>,
        by: &str,
    ) -> Result<Value, Failure> {
        match self {
            Self::Local(local) => local.after_restore(copy_until).await,
            Self::Remote(client) => {
                let mut body = json!({"by": by});
                if let Some(until) = copy_until {
                    body["copy_until"] = until.into();
                }
                client
                    .json(Call::post("/v1/admin/after-restore", body.to_string()))
                    .await?;
                self.state().await
            }
        }
    }

    /// Lets effect requests go on after a restore.
    pub(crate) async fn release(&self, by: &str) -> Result<Value, Failure> {
        match self {
            Self::Local(local) => local.release(by).await,
            Self::Remote(client) => {
                client
                    .json(Call::post(
                        "/v1/admin/release",
                        json!({"by": by}).to_string(),
                    ))
                    .await?;
                self.state().await
            }
        }
    }
}

/// Nothing more will happen to it by itself.
pub(crate) fn rests(status: &Value) -> bool {
    matches!(status["next"]["do"].as_str(), Some("none" | "review"))
}

fn taken(page: &mut Value, member: &str) -> Vec<Value> {
    match page[member].take() {
        Value::Array(items) => items,
        _ => Vec::new(),
    }
}

/// As a server reads it: never less than was asked for.
fn whole_seconds(wait: Duration) -> String {
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).to_string()
}
