//! Questions to a person at the client's side, in the older era: the call's answer is a stream, on which we ask; the person's answer is
//! posted as a message of its own, and the stream ends with the call's result. What the newer era puts into a repeat of the call is put into
//! it here, so that both decide in one place.
//!
//! A question lives in this process, and no longer than somebody waits for its answer: what is not answered stays as it was.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use factum::Caller;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::time::{Instant, timeout};

use super::ask::{HOLDS, QUESTION};
use super::era::{Client, Era};
use super::sessions::random_name;
use super::wire::{Request, Response, RpcError, response};
use super::{Answer, answer};
use crate::app::{App, Shown};

/// A stream says so often that it lives.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// It is looked so often whether the token still counts.
const CHECK_EVERY: Duration = Duration::from_secs(1);
/// A reader that takes nothing for so long is let go.
const PATIENCE: Duration = Duration::from_secs(30);

/// The questions that wait for an answer, by their names.
#[derive(Default)]
pub(crate) struct Questions(Mutex<BTreeMap<String, Waiting>>);

struct Waiting {
    tenant: String,
    principal: String,
    says: oneshot::Sender<Value>,
}

/// A call that is answered once a person was asked.
pub(crate) struct Asking {
    app: App,
    caller: Caller,
    shown: Shown,
    client: Client,
    request: Request,
    /// The result that asks.
    question: Value,
    _slot: OwnedSemaphorePermit,
}

/// The client has gone, or does not count any more.
struct Gone;

impl Questions {
    /// Asks a client of this caller: the question's name, and where its answer comes.
    fn ask(&self, caller: &Caller) -> Option<(String, oneshot::Receiver<Value>)> {
        let name = format!("question/{}", random_name().ok()?);
        let (says, heard) = oneshot::channel();
        let waiting = Waiting {
            tenant: caller.tenant.clone(),
            principal: caller.principal.clone(),
            says,
        };
        self.waiting().insert(name.clone(), waiting);
        Some((name, heard))
    }

    /// A client answers. What nobody has asked this caller is let go.
    pub(crate) fn answered(&self, caller: &Caller, said: Response) {
        let mut waiting = self.waiting();
        let Some(name) = said.id.as_str() else {
            return;
        };
        let theirs =
            |one: &Waiting| one.tenant == caller.tenant && one.principal == caller.principal;
        if waiting.get(name).is_some_and(theirs)
            && let Some(one) = waiting.remove(name)
        {
            // Whoever asked may have gone.
            let _ = one.says.send(said.result);
        }
    }

    fn forget(&self, name: &str) {
        self.waiting().remove(name);
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Asking {
    /// The answer to a call whose result asks. Where no stream may be opened any more it is taken for one that nobody answered.
    pub(crate) async fn answered(
        app: &App,
        (caller, client, shown): (&Caller, Client, &Shown),
        request: &Request,
        question: Value,
    ) -> Result<Answer, RpcError> {
        let Some(slot) = app.stream_slot() else {
            let unanswered = with_answer(request, &question, Value::Null)?;
            return Box::pin(answer(app, caller, client, shown, &unanswered)).await;
        };
        Ok(Answer::Asking(Box::new(Self {
            app: app.clone(),
            caller: caller.clone(),
            shown: shown.clone(),
            client,
            request: request.clone(),
            question,
            _slot: slot,
        })))
    }

    /// Begins the stream: what comes out of it, as `text/event-stream`.
    pub(crate) fn begin(self) -> mpsc::Receiver<Bytes> {
        let (pieces, taken) = mpsc::channel(1);
        tokio::spawn(async move {
            // Whoever went away has left everything as it was.
            let _ = self.run(&pieces).await;
        });
        taken
    }

    async fn run(self, pieces: &mpsc::Sender<Bytes>) -> Result<(), Gone> {
        let said = self.asked(pieces).await?;
        let result = match with_answer(&self.request, &self.question, said) {
            Ok(request) => {
                let answered = answer(&self.app, &self.caller, self.client, &self.shown, &request);
                answered.await
            }
            Err(error) => Err(error),
        };
        let result = result.and_then(|answer| match answer {
            Answer::Result(result) => Ok(result),
            // An answer that was given is never asked for again.
            Answer::Stream(_) | Answer::Asking(_) => Err(RpcError::params("it was asked already")),
        });
        write(pieces, &response(&self.request.id, result)).await
    }

    /// Asks, and waits for what the person says; null where nothing came of it.
    async fn asked(&self, pieces: &mpsc::Sender<Bytes>) -> Result<Value, Gone> {
        let questions = self.app.questions();
        let Some((name, heard)) = questions.ask(&self.caller) else {
            return Ok(Value::Null);
        };
        let mut form = self.question["inputRequests"][QUESTION].clone();
        form["jsonrpc"] = "2.0".into();
        form["id"] = name.as_str().into();
        // A form is the one kind that every version of this era has; not all know a word for it.
        if let Some(params) = form["params"].as_object_mut() {
            params.remove("mode");
        }
        let said = match write(pieces, &form).await {
            Ok(()) => self.heard(heard, pieces).await,
            Err(gone) => Err(gone),
        };
        questions.forget(&name);
        said
    }

    async fn heard(
        &self,
        mut heard: oneshot::Receiver<Value>,
        pieces: &mpsc::Sender<Bytes>,
    ) -> Result<Value, Gone> {
        let until = Instant::now() + Duration::from_micros(HOLDS.as_micros().unsigned_abs());
        let mut beat = Instant::now() + HEARTBEAT;
        loop {
            tokio::select! {
                said = &mut heard => return Ok(said.unwrap_or(Value::Null)),
                () = self.app.ended() => return Ok(Value::Null),
                () = pieces.closed() => return Err(Gone),
                () = tokio::time::sleep(CHECK_EVERY) => {
                    if self.app.caller(&self.shown).as_ref() != Some(&self.caller) {
                        return Err(Gone);
                    }
                }
            }
            if Instant::now() >= until {
                return Ok(Value::Null);
            }
            if Instant::now() >= beat {
                beat = Instant::now() + HEARTBEAT;
                piece(pieces, ": still here\n\n".to_owned()).await?;
            }
        }
    }
}

/// Whether a call's result asks a person of a client that has to be asked on a stream.
pub(crate) fn asks(client: Client, result: &Value) -> bool {
    client.era == Era::Legacy && result["resultType"] == "input_required"
}

/// The call as the newer era repeats it: with what was said, and what the question carried. Its other members stay as they were written.
fn with_answer(request: &Request, question: &Value, said: Value) -> Result<Request, RpcError> {
    let unread = |error: serde_json::Error| RpcError::params(error.to_string());
    let said = if said.is_object() {
        said
    } else {
        json!({"action": "cancel"})
    };
    let mut members: BTreeMap<String, Box<RawValue>> =
        serde_json::from_str(&request.params).map_err(unread)?;
    let own = [
        ("inputResponses", json!({ QUESTION: said })),
        ("requestState", question["requestState"].clone()),
    ];
    for (name, value) in own {
        let raw = RawValue::from_string(value.to_string()).map_err(unread)?;
        members.insert(name.to_owned(), raw);
    }
    Ok(Request {
        params: serde_json::to_string(&members).map_err(unread)?,
        ..request.clone()
    })
}

async fn write(pieces: &mpsc::Sender<Bytes>, message: &Value) -> Result<(), Gone> {
    piece(pieces, format!("data: {message}\n\n")).await
}

async fn piece(pieces: &mpsc::Sender<Bytes>, text: String) -> Result<(), Gone> {
    match timeout(PATIENCE, pieces.send(Bytes::from(text))).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(Gone),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_put_into_the_call_and_the_rest_stays_as_it_was_written() {
        let request = Request {
            id: json!(1),
            method: "tools/call".to_owned(),
            params: r#"{"name":"x","arguments":{"n":1.10},"inputResponses":{"decision":"forged"}}"#
                .to_owned(),
        };
        let question = json!({"requestState": "sealed"});
        let said = json!({"action": "accept", "content": {}});
        let rows = [
            (said.clone(), said),
            (Value::Null, json!({"action": "cancel"})),
            (json!("yes"), json!({"action": "cancel"})),
        ];
        for (given, taken) in rows {
            let repeated = with_answer(&request, &question, given).unwrap();
            assert!(
                repeated.params.contains(r#""n":1.10"#),
                "{}",
                repeated.params
            );
            let members: Value = serde_json::from_str(&repeated.params).unwrap();
            assert_eq!(members["inputResponses"], json!({ QUESTION: taken }));
            assert_eq!(members["requestState"], "sealed");
        }
    }
}
