//! Requests that want no effect: searches, questions after jobs, cancels, who-am-I.
//!
//! They are hit by faults like any other; a cancel acts before its answer is lost.

use std::io;
use std::sync::atomic::Ordering;

use factum_faults::{Class, Fault, Request};
use serde_json::json;

use crate::answer::Answer;
use crate::ledger::Mode;
use crate::routes::{CancelBody, Route, UndoBody, query};
use crate::shared::Shared;
use crate::wire::{Head, Trouble, Wire};
use crate::world::Question;

use super::is_authorized;
use super::play::{Then, busy, give, unanswered};

/// Items on a page of a search when the caller does not say, and at most.
const PAGE: usize = 50;
const PAGE_MAX: usize = 200;

/// One such request and its answer.
pub(super) async fn read(
    shared: &Shared,
    wire: &mut Wire,
    head: &Head,
    route: &Route,
) -> Result<Then, Trouble> {
    let body = wire.body(head).await?;
    let (class, reference) = named(shared, head, route, &body);
    let fault = shared.draw(&Request {
        class,
        method: &head.method,
        path: &head.target,
        reference: &reference,
    });
    match fault {
        Fault::Refuse | Fault::CloseUnread | Fault::HangInAccept { .. } | Fault::CloseAfterRead => {
            return Ok(unanswered(fault).await);
        }
        _ => {}
    }
    let answer = match fault {
        Fault::Reject4xx { code } => Answer::error(code, "refused", "the request is refused"),
        Fault::BusyBefore { code } => busy(shared, code),
        _ if !is_authorized(shared, head) => {
            Answer::error(401, "unauthorized", "the bearer token is missing or wrong")
        }
        _ => told(shared, head, route, &body)?,
    };
    if matches!(fault, Fault::DelayedCommit { .. }) {
        return Ok(Then::Close);
    }
    give(shared, wire, &answer, fault, head.keep_alive).await
}

/// The class and the stable name of a request that wants no effect.
fn named(shared: &Shared, head: &Head, route: &Route, body: &[u8]) -> (Class, String) {
    match route {
        Route::Search { .. } => {
            let reference = query(&head.target, "reference");
            (Class::Lookup, reference.unwrap_or_default())
        }
        Route::Job { kind, mode, job } => {
            // Job numbers depend on the order of arrival, business references do not.
            let business =
                shared.see(|world| world.job_business(*kind, *mode, job).map(str::to_owned));
            (Class::Poll, business.unwrap_or_else(|| job.clone()))
        }
        Route::Feed { kind } => (Class::Poll, format!("events/{}", kind.name())),
        Route::Cancel { .. } => {
            let key = serde_json::from_slice::<CancelBody>(body).map(|body| body.key);
            (Class::Cancel, key.unwrap_or_default())
        }
        Route::Undo { .. } => {
            let id = serde_json::from_slice::<UndoBody>(body).map(|body| body.id);
            (Class::Other, id.unwrap_or_default())
        }
        _ => (Class::Other, head.target.clone()),
    }
}

/// The true answer to a request that wants no effect.
fn told(shared: &Shared, head: &Head, route: &Route, body: &[u8]) -> io::Result<Answer> {
    match route {
        Route::Search { kind, mode } => {
            shared.tallies.lookups.fetch_add(1, Ordering::Relaxed);
            let reference = query(&head.target, "reference");
            let limit = query(&head.target, "limit").and_then(|limit| limit.parse().ok());
            let cursor = query(&head.target, "cursor");
            let after = cursor
                .as_deref()
                .map(|cursor| cursor.trim_start_matches('s').parse());
            let Ok(after) = after.unwrap_or(Ok(0)) else {
                let message = "the cursor is none of ours; take it from the member next";
                return Ok(Answer::error(400, "cursor", message));
            };
            let question = Question {
                kind: *kind,
                mode: *mode,
                reference: reference.as_deref(),
                limit: limit.unwrap_or(PAGE).clamp(1, PAGE_MAX),
                after,
            };
            Ok(Answer::json(
                200,
                shared.see(|world| world.search(&question)),
            ))
        }
        Route::Job { kind, mode, job } => {
            shared.tallies.polls.fetch_add(1, Ordering::Relaxed);
            Ok(match shared.see(|world| world.job(*kind, *mode, job)) {
                Some(job) => Answer::json(200, job),
                None => Answer::error(404, "not_found", "there is no such job"),
            })
        }
        Route::Feed { kind } => {
            let limit = query(&head.target, "limit").and_then(|limit| limit.parse().ok());
            let limit = limit.unwrap_or(PAGE).clamp(1, PAGE_MAX);
            let after = query(&head.target, "after");
            let page = shared.see(|world| world.feed(*kind, after.as_deref(), limit));
            Ok(match page {
                Some((page, count)) => {
                    let count = u64::try_from(count).unwrap_or(u64::MAX);
                    shared.tallies.events.fetch_add(count, Ordering::Relaxed);
                    Answer::json(200, page)
                }
                None => {
                    let message = "the cursor is none of ours; begin without one";
                    Answer::error(410, "cursor", message)
                }
            })
        }
        Route::Cancel { mode } => match serde_json::from_slice::<CancelBody>(body) {
            Ok(CancelBody { key }) => {
                let ids = shared.change(|world| world.cancel(*mode, &key))?;
                Ok(Answer::json(200, json!({"cancelled": true, "ids": ids})))
            }
            Err(_) => Ok(Answer::error(
                400,
                "malformed",
                "send a JSON object with the text member key",
            )),
        },
        Route::Undo { mode } => undo(shared, *mode, body),
        _ => Ok(Answer::json(200, json!({"account": "testbed"}))),
    }
}

/// Undoes an effect by its id, as often as it is asked for.
fn undo(shared: &Shared, mode: Mode, body: &[u8]) -> io::Result<Answer> {
    let Ok(UndoBody { id }) = serde_json::from_slice(body) else {
        let message = "send a JSON object with the text member id";
        return Ok(Answer::error(400, "malformed", message));
    };
    Ok(if shared.change(|world| world.undo(mode, &id))? {
        Answer::json(200, json!({"ok": true, "id": id}))
    } else {
        Answer::error(404, "not_found", "there is no such effect")
    })
}
