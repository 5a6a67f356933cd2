//! Connections: one exchange after the other.
//!
//! What a request means is decided in the world; here it is only decided what the caller gets to see.

mod play;
mod read;
mod stand_in;

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use factum_faults::{Class, Fault, Request};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::admin;
use crate::answer::Answer;
use crate::ledger::{Kind, Mode};
use crate::routes::{EffectBody, KeyFrom, Route};
use crate::shared::{Pending, Shared};
use crate::wire::{self, Head, Trouble, Wire};
use crate::world::{Delivery, World};

use play::{Then, give, unanswered};
use read::read;

/// Bodies up to this size are read before a fault is drawn, since they name the business reference. Of longer ones
/// nothing is read before, so that a fault can leave them unread; they are named by key or path.
const NAMED_BODY_MAX: usize = 64 * 1024;

/// Serves one connection to its end.
pub(crate) async fn connection(shared: Arc<Shared>, stream: TcpStream, admin_only: bool) {
    if !admin_only {
        let fault = shared.draw(&Request::CONNECTION);
        if fault.precedes_reading() {
            shared
                .tallies
                .refused_connections
                .fetch_add(1, Ordering::Relaxed);
            unanswered(fault).await;
            return wire::reset(stream);
        }
    }
    let mut wire = Wire::new(stream, shared.limits.clone());
    loop {
        let then = match one(&shared, &mut wire, admin_only).await {
            Ok(then) => then,
            Err(Trouble::Gone) => return,
            Err(Trouble::CutOff) => {
                shared.tallies.cut_off.fetch_add(1, Ordering::Relaxed);
                return;
            }
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
    wire.now = shared.see(World::now);
    if !admin_only && let Some(operations) = stand_in::takes(shared, &head) {
        return stand_in::request(shared, wire, &head, &operations).await;
    }
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
        Route::Search { .. }
        | Route::Job { .. }
        | Route::Feed { .. }
        | Route::Cancel { .. }
        | Route::Undo { .. }
        | Route::WhoAmI => {
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
    delivery.callback = callback_fault(shared, head, &delivery.business);
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
    reported_first(delivery.callback).await;
    give(shared, wire, &answer, fault, head.keep_alive).await
}

/// What is to happen to the report of an effect that this request may have; none where nothing is reported to anybody, and
/// nothing is to happen to events that are fetched.
fn callback_fault(shared: &Shared, head: &Head, business: &str) -> Option<Fault> {
    shared.reports().then(|| {
        shared.draw(&Request {
            class: Class::Callback,
            method: &head.method,
            path: &head.target,
            reference: business,
        })
    })
}

/// Holds an answer back whose effect is to be reported first.
async fn reported_first(fault: Option<Fault>) {
    if let Some(Fault::CallbackBeforeAnswer { ms }) = fault {
        sleep(Duration::from_millis(ms)).await;
    }
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
        callback: None,
        sent: None,
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
pub(super) fn digest(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3)
    });
    format!("{hash:016x}")
}
