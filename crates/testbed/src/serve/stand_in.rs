//! Requests to stand-ins: recognised by their contracts, hit by faults like any other, counted in the same ledger.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use factum_contract::HttpRequest;
use factum_contract::far_side::{Asked, Said, Wanted};
use factum_faults::{Class, Fault, Request};

use crate::answer::Answer;
use crate::ledger::{Kind, Mode};
use crate::shared::Shared;
use crate::stand_in::{Script, StandIn};
use crate::wire::{Head, Trouble, Wire};
use crate::world::{Delivery, World};

use super::play::{Then, busy, give, unanswered};
use super::{act, callback_fault, digest, is_authorized, reported_first};

/// The stand-ins whose path a request has; none where it is somebody else's.
pub(super) fn takes(shared: &Shared, head: &Head) -> Option<Vec<Arc<StandIn>>> {
    let stands = shared.see(|world| world.stands_at(&head.method, &head.target));
    (!stands.is_empty()).then_some(stands)
}

/// One request and its answer.
pub(super) async fn request(
    shared: &Shared,
    wire: &mut Wire,
    head: &Head,
    stands: &[Arc<StandIn>],
) -> Result<Then, Trouble> {
    let request = HttpRequest {
        method: head.method.clone(),
        path_and_query: head.target.clone(),
        headers: head.headers.clone(),
        body: wire.body(head).await?,
    };
    let Some((stand, kind, asked)) = recognised(stands, &request) else {
        let message = "no contract knows this request: its path is known, its content is another";
        let answer = Answer::error(404, "not_found", message);
        return give(shared, wire, &answer, Fault::None, head.keep_alive).await;
    };
    match asked {
        Asked::Effect(wanted) => {
            let delivery = delivery(&stand, kind, &request, &wanted);
            effect(shared, wire, head, delivery).await
        }
        asked => question(shared, wire, head, (&stand, kind), &asked).await,
    }
}

/// Whose request it is: of several the one whose contract finds more of its own in it.
fn recognised(
    stands: &[Arc<StandIn>],
    request: &HttpRequest,
) -> Option<(Arc<StandIn>, Kind, Asked)> {
    let found = stands.iter().filter_map(|stand| {
        let asked = stand.far().recognise(request)?;
        Some((stand.clone(), stand.kind()?, asked))
    });
    found.max_by_key(|(_, _, asked)| match asked {
        Asked::Effect(wanted) => wanted.score,
        Asked::Cancel(_) => 2,
        Asked::Lookup(_) | Asked::Poll(_) | Asked::WhoAmI => 1,
    })
}

fn delivery(stand: &StandIn, kind: Kind, request: &HttpRequest, wanted: &Wanted) -> Delivery {
    let sent = stand.sent(request, wanted);
    let asked = Script::of(&sent, false).is_some_and(Script::queues);
    let far = stand.far();
    let queued = far.knows(Said::Accepted) && (asked || !far.knows(Said::Done));
    let content = || digest(format!("{} {}", sent.target, sent.body).as_bytes());
    let named = wanted.reference.clone().or_else(|| wanted.key.clone());
    Delivery {
        kind,
        mode: if queued { Mode::Queued } else { Mode::Sync },
        key: wanted.key.clone(),
        business: named.unwrap_or_else(content),
        reference: wanted.reference.clone(),
        digest: digest(&request.body),
        behave: None,
        slow_ms: None,
        fault: Fault::None,
        callback: None,
        sent: Some(Box::new(sent)),
        wire: true,
    }
}

async fn effect(
    shared: &Shared,
    wire: &mut Wire,
    head: &Head,
    mut delivery: Delivery,
) -> Result<Then, Trouble> {
    let fault = shared.draw(&Request {
        class: Class::Effect,
        method: &head.method,
        path: &head.target,
        reference: &delivery.business,
    });
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

/// A question, or a cancel by key.
async fn question(
    shared: &Shared,
    wire: &mut Wire,
    head: &Head,
    (stand, kind): (&StandIn, Kind),
    asked: &Asked,
) -> Result<Then, Trouble> {
    let (class, reference) = match asked {
        Asked::Lookup(question) => (Class::Lookup, question.mark.clone().unwrap_or_default()),
        Asked::Poll(question) => {
            let object = question.object.as_deref().unwrap_or_default();
            let work = shared.see(|world| world.stand_in_work(kind, object).map(str::to_owned));
            (Class::Poll, work.unwrap_or_else(|| object.to_owned()))
        }
        Asked::Cancel(question) => (Class::Cancel, question.mark.clone().unwrap_or_default()),
        Asked::Effect(_) | Asked::WhoAmI => (Class::Other, head.target.clone()),
    };
    let fault = shared.draw(&Request {
        class,
        method: &head.method,
        path: &head.target,
        reference: &reference,
    });
    let answer = match fault {
        Fault::Refuse | Fault::CloseUnread | Fault::HangInAccept { .. } | Fault::CloseAfterRead => {
            return Ok(unanswered(fault).await);
        }
        Fault::Reject4xx { code } => Answer::error(code, "refused", "the request is refused"),
        Fault::BusyBefore { code } => busy(shared, code),
        _ if !is_authorized(shared, head) => {
            Answer::error(401, "unauthorized", "the bearer token is missing or wrong")
        }
        _ => told(shared, stand, asked)?,
    };
    if matches!(fault, Fault::DelayedCommit { .. }) {
        return Ok(Then::Close);
    }
    give(shared, wire, &answer, fault, head.keep_alive).await
}

/// The true answer.
fn told(shared: &Shared, stand: &StandIn, asked: &Asked) -> io::Result<Answer> {
    Ok(match asked {
        Asked::Lookup(question) => {
            shared.tallies.lookups.fetch_add(1, Ordering::Relaxed);
            shared.see(|world| world.stand_in_lookup(stand, question))
        }
        Asked::Poll(question) => {
            shared.tallies.polls.fetch_add(1, Ordering::Relaxed);
            let object = question.object.as_deref().unwrap_or_default();
            shared.see(|world| world.stand_in_poll(stand, object))
        }
        Asked::Cancel(question) => {
            let key = question.mark.as_deref().unwrap_or_default();
            shared.change(|world| world.stand_in_cancel(stand, key))?
        }
        Asked::WhoAmI | Asked::Effect(_) => World::stand_in_account(stand),
    })
}
