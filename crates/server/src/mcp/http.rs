//! `/mcp`: the streamable HTTP transport. Each message is a request of its own, answered with JSON, or with a stream where that was asked
//! for. No session holds anything: none can run out and make a client call again.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use factum::{Caller, Code};
use serde_json::{Value, json};

use super::era::{Client, Era, Meta};
use super::headers;
use super::wire::{
    HEADER_MISMATCH, INVALID_REQUEST, METHOD_NOT_FOUND, MISSING_CAPABILITY, Message, PARSE_ERROR,
    Request, RpcError, UNSUPPORTED_VERSION, response,
};
use super::{Answer, answer, sessions};
use crate::app::{App, Shown};
use crate::incoming;
use crate::reply::{Failure, Reply, json_text, with_header};

/// Where it is.
pub(crate) const PATH: &str = "/mcp";

/// Answers one message.
pub(crate) async fn post(
    app: &App,
    caller: Caller,
    shown: &Shown,
    headers: &HeaderMap,
    mut body: Body,
) -> Result<Reply, Failure> {
    if !origin_is_ours(app, headers) {
        let rule = "the request comes from a page of another site";
        return Err(Failure::new(
            Code::Forbidden,
            "Origin",
            rule,
            "call it from a program, or set server.public_url",
        ));
    }
    let text = incoming::text(headers, &mut body, app.limits()).await?;
    let request = match Message::read(&text) {
        Ok(Message::Request(request)) => request,
        Ok(Message::Notification) => return Ok(accepted()),
        Ok(Message::Response(said)) => {
            app.questions().answered(&caller, said);
            return Ok(accepted());
        }
        Err((id, error)) => return Ok(written(&id, Err(error), Era::Legacy)),
    };
    let client = match client(headers, &request) {
        Ok(client) if client.era == Era::Legacy => Client {
            elicits: sessions::can_ask(app.factum().engine(), &caller, headers),
            ..client
        },
        Ok(client) => client,
        Err(error) => return Ok(written(&request.id, Err(error), Era::Modern)),
    };
    match answer(app, &caller, client, shown, &request).await {
        Ok(Answer::Stream(listening)) => Ok(stream(listening.begin())),
        Ok(Answer::Asking(asking)) => Ok(stream(asking.begin())),
        Ok(Answer::Result(result)) => {
            let reply = written(&request.id, Ok(result), client.era);
            let session = (request.method == "initialize")
                .then(|| sessions::begun(app.factum().engine(), &caller, &request.params));
            Ok(match session.flatten() {
                Some(name) => with_header(reply, HeaderName::from_static(sessions::HEADER), &name),
                None => reply,
            })
        }
        Err(error) => Ok(written(&request.id, Err(error), client.era)),
    }
}

/// Everything that is checked before anything is recorded.
fn client(headers: &HeaderMap, request: &Request) -> Result<Client, RpcError> {
    let client = Meta::of(&request.params)?.client()?;
    headers::check(headers, request)?;
    Ok(client)
}

fn accepted() -> Reply {
    let mut reply = Reply::new(Body::empty());
    *reply.status_mut() = StatusCode::ACCEPTED;
    reply
}

fn written(id: &Value, outcome: Result<Value, RpcError>, era: Era) -> Reply {
    let status = outcome
        .as_ref()
        .err()
        .map_or(StatusCode::OK, |error| status(error, era));
    json_text(status, response(id, outcome).to_string())
}

/// The older era says what went wrong in the message alone.
fn status(error: &RpcError, era: Era) -> StatusCode {
    match error.code {
        PARSE_ERROR | INVALID_REQUEST | HEADER_MISMATCH | MISSING_CAPABILITY
        | UNSUPPORTED_VERSION => StatusCode::BAD_REQUEST,
        METHOD_NOT_FOUND if era == Era::Modern => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}

fn stream(taken: tokio::sync::mpsc::Receiver<axum::body::Bytes>) -> Reply {
    let reply = Reply::new(Body::new(crate::events::Pieces(taken)));
    let reply = with_header(reply, header::CONTENT_TYPE, crate::events::STREAM);
    let reply = with_header(reply, header::CACHE_CONTROL, "no-store");
    // Proxies that collect answers would hold notifications back.
    with_header(reply, HeaderName::from_static("x-accel-buffering"), "no")
}

/// A page in a browser says where it comes from, and may have been led to this machine by a name of its own. Programs say nothing.
fn origin_is_ours(app: &App, headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN).map(HeaderValue::to_str) else {
        return true;
    };
    let Ok(origin) = origin else {
        return false;
    };
    let public = app.factum().config().server.public_url.as_deref();
    if public.is_some_and(|url| url.trim_end_matches('/') == origin) {
        return true;
    }
    let host = origin.split_once("://").map(|(_, rest)| rest);
    let host = host.map(|rest| match rest.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        Some(_) | None => rest,
    });
    matches!(host, Some("localhost" | "127.0.0.1" | "[::1]"))
}

/// A method of the older era that opens a stream or ends a session: there is neither.
pub(crate) fn only_post() -> Reply {
    let error = RpcError::new(
        METHOD_NOT_FOUND,
        "messages are posted here; no session has to be ended, and there is no stream without a request",
    );
    let reply = json_text(
        StatusCode::METHOD_NOT_ALLOWED,
        json!({"jsonrpc": "2.0", "error": {"code": error.code, "message": error.message}})
            .to_string(),
    );
    with_header(reply, header::ALLOW, "POST")
}
