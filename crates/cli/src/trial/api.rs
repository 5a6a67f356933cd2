//! A caller of the engine's API that does not give up: while the engine is down it waits, and then asks the same again.
//!
//! That is safe for questions, and for submissions, which join.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use serde_json::Value;
use tokio::sync::watch;

use crate::client::{Call, Client, encoded, with_query};
use crate::failure::Failure;

/// How long one call is repeated at the longest.
const PATIENCE: Duration = Duration::from_secs(120);
/// Rows of one page.
const PAGE: usize = 100;

/// The caller. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Api {
    clients: watch::Receiver<Option<Arc<Client>>>,
}

impl Api {
    /// Asks whoever is reached by the client that is current.
    pub(crate) fn new(clients: watch::Receiver<Option<Arc<Client>>>) -> Self {
        Self { clients }
    }

    /// Submits the body of `POST /v1/actions`; the status that is answered.
    pub(crate) async fn submit(&self, body: &Value) -> anyhow::Result<Value> {
        let call = Call::post("/v1/actions", body.to_string()).repeatable();
        self.call(call)
            .await
            .map_err(|failure| anyhow!("a submission was refused: {}", failure.text()))
    }

    /// An action's status, after it came to rest or so many seconds passed; none if there is no such action.
    pub(crate) async fn status(&self, id: &str, wait: u64) -> anyhow::Result<Option<Value>> {
        let path = with_query(
            &format!("/v1/actions/{}", encoded(id)),
            &[("wait", (wait > 0).then(|| wait.to_string()))],
        );
        match self
            .call(Call::get(path).waiting(Duration::from_secs(wait)))
            .await
        {
            Ok(status) => Ok(Some(status)),
            Err(failure) if failure.exit == crate::exit::NOT_FOUND => Ok(None),
            Err(failure) => Err(anyhow!("a status was refused: {}", failure.text())),
        }
    }

    /// The action of this key at a destination, where it is recorded.
    pub(crate) async fn by_key(
        &self,
        destination: &str,
        key: &str,
    ) -> anyhow::Result<Option<Value>> {
        let found = self
            .list(&[("destination", destination), ("key", key)])
            .await?;
        Ok(found.into_iter().next())
    }

    /// Every action that matches, newest first.
    pub(crate) async fn list(&self, filter: &[(&str, &str)]) -> anyhow::Result<Vec<Value>> {
        let mut found = Vec::new();
        let mut before = None;
        loop {
            let mut parameters: Vec<(&str, Option<String>)> = filter
                .iter()
                .map(|(name, value)| (*name, Some((*value).to_owned())))
                .collect();
            parameters.extend([("before", before.take()), ("limit", Some(PAGE.to_string()))]);
            let call = Call::get(with_query("/v1/actions", &parameters));
            let mut page = self
                .call(call)
                .await
                .map_err(|failure| anyhow!("a listing was refused: {}", failure.text()))?;
            if let Value::Array(actions) = page["actions"].take() {
                found.extend(actions);
            }
            before = page["next_before"].as_str().map(str::to_owned);
            if before.is_none() {
                return Ok(found);
            }
        }
    }

    /// The evidence of an action, oldest first.
    pub(crate) async fn evidence(&self, id: &str) -> anyhow::Result<Vec<Value>> {
        let call = Call::get(format!("/v1/actions/{}/evidence", encoded(id)));
        let mut answer = self
            .call(call)
            .await
            .map_err(|failure| anyhow!("evidence was refused: {}", failure.text()))?;
        match answer["evidence"].take() {
            Value::Array(evidence) => Ok(evidence),
            _ => Err(anyhow!("the evidence of {id} is no list")),
        }
    }

    /// Rules about an action in review; false where it does not stand there any more.
    pub(crate) async fn rule(&self, id: &str, verdict: &Value) -> anyhow::Result<bool> {
        let call = Call::post(
            format!("/v1/review/{}/verdict", encoded(id)),
            verdict.to_string(),
        );
        match self.call(call).await {
            Ok(_) => Ok(true),
            Err(failure) if failure.exit == crate::exit::CONFLICT => Ok(false),
            Err(failure) => Err(anyhow!("a verdict was refused: {}", failure.text())),
        }
    }

    /// The path of a link that signs in at the console once, from this machine.
    pub(crate) async fn sign_in_link(&self) -> anyhow::Result<String> {
        let call = Call::post("/sign-in/link", String::new());
        let made = self.call(call).await;
        let made = made.map_err(|failure| anyhow!("a link was refused: {}", failure.text()))?;
        let path = made["path"].as_str().context("the link has no path")?;
        Ok(path.to_owned())
    }

    /// Makes a call until it is answered.
    async fn call(&self, call: Call) -> Result<Value, Failure> {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        let mut clients = self.clients.clone();
        loop {
            let client =
                match tokio::time::timeout_at(deadline, clients.wait_for(Option::is_some)).await {
                    Ok(Ok(client)) => client.clone(),
                    Ok(Err(_)) | Err(_) => None,
                };
            let Some(client) = client else {
                return Err(Failure::unavailable("the engine is down", "start it again"));
            };
            let failure = match client.json(call.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            match failure.passing() {
                // Another address is news enough to ask again at once.
                Some(after) if tokio::time::Instant::now() < deadline => {
                    drop(tokio::time::timeout(after, clients.changed()).await)
                }
                Some(_) | None => return Err(failure),
            }
        }
    }
}

/// A member that a status always has.
pub(crate) fn text<'a>(status: &'a Value, pointer: &str) -> anyhow::Result<&'a str> {
    status
        .pointer(pointer)
        .and_then(Value::as_str)
        .with_context(|| format!("a status has no {pointer}"))
}

/// Nothing more happens by itself.
pub(crate) fn rests(status: &Value) -> bool {
    matches!(status["next"]["do"].as_str(), Some("none" | "review"))
}
