//! Sockets: accepting, one exchange after the other, and carrying the faults out.
//!
//! What a request means is decided in the world; here it is only decided what the caller gets to see.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use factum_faults::{Class, Fault, Request};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::admin;
use crate::answer::{Answer, Body};
use crate::ledger::{Kind, Mode};
use crate::routes::{CancelBody, EffectBody, KeyFrom, Route, query};
use crate::shared::{Pending, Shared};
use crate::wire::{self, Head, Trouble, Wire};
use crate::world::{Delivery, Question};

/// Bodies up to this size are read before a fault is drawn, since they name the business reference. Of longer ones
/// nothing is read before, so that a fault can leave them unread; they are named by key or path.
const NAMED_BODY_MAX: usize = 64 * 1024;

/// Items on a page of a search when the caller does not say, and at most.
const PAGE: usize = 50;
const PAGE_MAX: usize = 200;

/// What becomes of the connection after an exchange.
#[derive(Debug, PartialEq, Eq)]
enum Then {
    Next,
    Close,
    Reset,
}

/// Serves one connection to its end.
pub(crate) async fn connection(shared: Arc<Shared>, stream: TcpStream, admin_only: bool) {
    if !admin_only {
        match shared.draw(&Request::CONNECTION) {
            Fault::Refuse | Fault::CloseUnread => return wire::reset(stream),
            Fault::HangInAccept { ms } => {
                sleep(Duration::from_millis(ms)).await;
                return wire::reset(stream);
            }
            _ => {}
        }
    }
    let mut wire = Wire::new(stream, shared.limits.clone());
    loop {
        let then = match one(&shared, &mut wire, admin_only).await {
            Ok(then) => then,
            Err(Trouble::Gone) => return,
            Err(Trouble::Answer(answer)) => {
                // The caller sees the refusal or is gone; either way the connection ends.
                let _ = wire.send(&answer, false).await;
                Then::Close
            }
        };
        match then {
            Then::Next => {}
            Then::Close => return wire.close_gently().await,
            Then::Reset => return wire.reset(),
        }
    }
}

/// One request and its answer.
async fn one(shared: &Shared, wire: &mut Wire, admin_only: bool) -> Result<Then, Trouble> {
    let Some(head) = wire.head().await? else {
        return Err(Trouble::Gone);
    };
    let route = Route::of(&head.method, &head.target);
    if admin_only && !matches!(route, Route::Admin(_)) {
        let message = "this address serves the administration only";
        return Err(Trouble::Answer(Answer::error(404, "not_found", message)));
    }
    let answer = match route {
        Route::Effect { kind, mode, key } => {
            return effect(shared, wire, &head, Effect { kind, mode, key }).await;
        }
        Route::Admin(route) => {
            let body = wire.body(&head).await?;
            admin::answer(shared, route, &head.target, &body)
        }
        Route::Search { .. } | Route::Job { .. } | Route::Cancel { .. } | Route::WhoAmI => {
            return read(shared, wire, &head, &route).await;
        }
        Route::Elsewhere => {
            wire.body(&head).await?;
            let delivery = nameless(Kind::Elsewhere, Mode::Sync, &head);
            shared.change(|world| world.elsewhere(&delivery))?;
            Answer::json(200, json!({"ok": true, "id": "elsewhere"}))
        }
        Route::Unknown => {
            wire.body(&head).await?;
            Answer::error(404, "not_found", "there is nothing at this path")
        }
    };
    give(shared, wire, &answer, Fault::None, head.keep_alive).await
}

/// An effect request's route.
struct Effect {
    kind: Kind,
    mode: Mode,
    key: KeyFrom,
}

async fn effect(
    shared: &Shared,
    wire: &mut Wire,
    head: &Head,
    route: Effect,
) -> Result<Then, Trouble> {
    let long = head.is_longer_than(NAMED_BODY_MAX);
    let (mut delivery, mut well_formed) = if long {
        (nameless(route.kind, route.mode, head), true)
    } else {
        parsed(&route, head, &wire.body(head).await?)
    };
    let fault = shared.draw(&Request {
        class: Class::Effect,
        method: &head.method,
        path: &head.target,
        reference: &delivery.business,
    });
    if long && !fault.precedes_reading() {
        (delivery, well_formed) = parsed(&route, head, &wire.body(head).await?);
    }
    delivery.fault = fault;
    let at_the_door = match fault {
        Fault::Refuse | Fault::CloseUnread | Fault::HangInAccept { .. } | Fault::CloseAfterRead => {
            shared.change(|world| world.drop_delivery(&delivery))?;
            return Ok(unanswered(fault).await);
        }
        Fault::Reject4xx { code } => Some((code, "refused")),
        Fault::BusyBefore { code } => Some((code, "busy")),
        _ if !is_authorized(shared, head) => Some((401, "unauthorized")),
        _ if !well_formed => Some((400, "malformed")),
        _ => None,
    };
    let answer = match at_the_door {
        Some((status, code)) => shared.change(|world| world.refuse(&delivery, status, code))?,
        None => match act(shared, &delivery)? {
            None => return Ok(Then::Close),
            Some(pending) => pending.answer().await,
        },
    };
    give(shared, wire, &answer, fault, head.keep_alive).await
}

/// Lets the destination act, twice where a proxy repeats. None: the connection ends before the effect lands.
fn act(shared: &Shared, delivery: &Delivery) -> io::Result<Option<Pending>> {
    let first = shared.deliver(delivery)?;
    if delivery.fault == Fault::DuplicateDelivery {
        let repeat = Delivery {
            wire: false,
            ..delivery.clone()
        };
        shared.deliver(&repeat)?;
    }
    let delayed = matches!(delivery.fault, Fault::DelayedCommit { .. });
    Ok((!delayed).then_some(first))
}

/// How a connection ends whose request gets no answer and is not acted upon.
async fn unanswered(fault: Fault) -> Then {
    match fault {
        Fault::HangInAccept { ms } => {
            sleep(Duration::from_millis(ms)).await;
            Then::Reset
        }
        Fault::Refuse | Fault::CloseUnread => Then::Reset,
        _ => Then::Close,
    }
}

/// Requests that want no effect: searches, questions after jobs, cancels, who-am-I.
async fn read(
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
        Route::Cancel { .. } => {
            let key = serde_json::from_slice::<CancelBody>(body).map(|body| body.key);
            (Class::Cancel, key.unwrap_or_default())
        }
        _ => (Class::Other, head.target.clone()),
    }
}

/// The true answer to a request that wants no effect.
fn told(shared: &Shared, head: &Head, route: &Route, body: &[u8]) -> io::Result<Answer> {
    match route {
        Route::Search { kind, mode } => {
            shared.lookups.fetch_add(1, Ordering::Relaxed);
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
            shared.polls.fetch_add(1, Ordering::Relaxed);
            Ok(match shared.see(|world| world.job(*kind, *mode, job)) {
                Some(job) => Answer::json(200, job),
                None => Answer::error(404, "not_found", "there is no such job"),
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
        _ => Ok(Answer::json(200, json!({"account": "testbed"}))),
    }
}

/// Gives the caller as much of the answer as the fault lets through.
async fn give(
    shared: &Shared,
    wire: &mut Wire,
    answer: &Answer,
    fault: Fault,
    keep_alive: bool,
) -> Result<Then, Trouble> {
    let another = match fault {
        Fault::CloseFin => return Ok(Then::Close),
        Fault::CloseRst => return Ok(Then::Reset),
        Fault::CutHead => {
            wire.send_part_of_head(answer).await?;
            return Ok(Then::Close);
        }
        Fault::CutBody => {
            wire.send_part_of_body(answer).await?;
            return Ok(Then::Close);
        }
        Fault::LateAnswer { ms } => {
            sleep(Duration::from_millis(ms)).await;
            None
        }
        Fault::Empty2xx => Some(Answer {
            status: 200,
            headers: Vec::new(),
            body: Body::Empty,
        }),
        Fault::Garbage => Some(Answer {
            status: 200,
            headers: Vec::new(),
            body: Body::Html(PAGE_OF_NOBODY),
        }),
        Fault::Status { code } => Some(Answer::server_error(code)),
        Fault::Redirect { code } => {
            let moved = Answer {
                status: code,
                headers: Vec::new(),
                body: Body::Empty,
            };
            Some(moved.with("Location", "/elsewhere"))
        }
        Fault::TooMany429 => {
            let message = "too many requests";
            Some(Answer::error(429, "throttled", message).with("Retry-After", retry_after(shared)))
        }
        _ => None,
    };
    wire.send(another.as_ref().unwrap_or(answer), keep_alive)
        .await?;
    Ok(if keep_alive { Then::Next } else { Then::Close })
}

/// What `garbage` answers: a page that a proxy or a login wall would give.
const PAGE_OF_NOBODY: &str =
    "<html><body><h1>Welcome</h1><p>Please sign in to go on.</p></body></html>\n";

fn busy(shared: &Shared, code: u16) -> Answer {
    Answer::error(code, "busy", "too busy to take the request")
        .with("Retry-After", retry_after(shared))
}

fn retry_after(shared: &Shared) -> String {
    shared.see(|world| world.settings.retry_after_s.to_string())
}

fn is_authorized(shared: &Shared, head: &Head) -> bool {
    shared.bearer.as_ref().is_none_or(|token| {
        let given = head
            .authorization
            .as_deref()
            .and_then(|value| value.strip_prefix("Bearer "));
        given == Some(token.as_str())
    })
}

/// The delivery of a request whose body is not known: named by key or path.
fn nameless(kind: Kind, mode: Mode, head: &Head) -> Delivery {
    Delivery {
        kind,
        mode,
        key: head.key.clone(),
        business: head.key.clone().unwrap_or_else(|| head.target.clone()),
        reference: None,
        digest: digest(&[]),
        behave: None,
        slow_ms: None,
        fault: Fault::None,
        wire: kind != Kind::Elsewhere,
    }
}

/// The delivery of a request, and whether its body could be read.
fn parsed(route: &Effect, head: &Head, bytes: &[u8]) -> (Delivery, bool) {
    let mut delivery = nameless(route.kind, route.mode, head);
    delivery.digest = digest(bytes);
    let Ok(body) = serde_json::from_slice::<EffectBody>(bytes) else {
        return (delivery, false);
    };
    delivery.key = match &route.key {
        KeyFrom::Header => head.key.clone(),
        KeyFrom::Path(key) => Some(key.clone()),
        KeyFrom::Body => body.idempotency_key,
        KeyFrom::Nowhere => None,
    };
    let named = body
        .business
        .or_else(|| body.reference.clone())
        .or_else(|| delivery.key.clone());
    delivery.business = named.unwrap_or(delivery.business);
    delivery.reference = body.reference;
    delivery.behave = body.behave;
    delivery.slow_ms = body.slow_ms;
    (delivery, true)
}

/// FNV-1a 64 in hexadecimal: enough to tell two bodies of a test apart, and no more.
fn digest(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3)
    });
    format!("{hash:016x}")
}
