//! Law 6, no effect request without permission: each kind is compared, at its mark, with what is so at the destination, and
//! with what people and clocks have said.

use factum_core::evidence::{Fact, Mark, Order, PermissionKind};
use factum_core::promise::Consequence;
use factum_core::{Preference, Timestamp};

use super::Broken;
use crate::model::logs::{Doubts, Log};
use crate::model::world::{Run, World};

/// An effect request is about to be marked.
pub(crate) fn marked(world: &World, act: u8, fact: &Fact, run: &Run) -> Result<(), Broken> {
    let log = world.log(act, run);
    let doubts = world.doubts(act, run);
    if doubts.held {
        return Err("law 6: an effect request before the restore was released (R18)".to_owned());
    }
    if log.unauthorised {
        return Err("law 6: an effect request without authority (R10)".to_owned());
    }
    match fact {
        Fact::Marked(mark) => {
            barred(world, &log, mark, run)?;
            by_people(&log, mark, run)?;
            grounded(world, act, mark, doubts, run)
        }
        Fact::CancelMarked(_) => past_end(world.stamp(), run).map_or(Ok(()), Err),
        _ => Ok(()),
    }
}

fn past_end(now: Timestamp, run: &Run) -> Option<Broken> {
    let told = &run.setup.told;
    let ends = [told.deadline, told.approved_until]
        .into_iter()
        .flatten()
        .min();
    ends.filter(|end| now >= *end).map(|_| {
        "law 6: an effect request after the deadline or the approval (R10, R23)".to_owned()
    })
}

/// What bars any send: the caller's withdrawal, the end of the time for it, the bound on attempts.
fn barred(world: &World, log: &Log, mark: &Mark, run: &Run) -> Result<(), Broken> {
    let told = &run.setup.told;
    if log.withdrawn {
        return Err("law 6: a send after the caller withdrew (R10)".to_owned());
    }
    if log.cancels.iter().any(|(_, epoch)| *epoch == mark.epoch) {
        return Err("law 6: a send under a version of the key that was cancelled (R5)".to_owned());
    }
    let finishing = told.finish && mark.permission == PermissionKind::SameKey;
    if let Some(broken) = past_end(world.stamp(), run).filter(|_| !finishing) {
        return Err(broken);
    }
    let by_person = matches!(mark.permission, PermissionKind::Ordered(Order::Verdict(_)));
    if log.known.attempts_marked() >= told.limits.attempts_max && !by_person {
        return Err("law 6: more attempts than are allowed (R10)".to_owned());
    }
    Ok(())
}

/// From review, and while a person works on it, only that person opens a send (R6); and each order is good for one (R15).
fn by_people(log: &Log, mark: &Mark, run: &Run) -> Result<(), Broken> {
    let order = match mark.permission {
        PermissionKind::Ordered(Order::Verdict(order)) => Some(order),
        _ => None,
    };
    if order.is_none() && log.known.taken_by().is_some() {
        return Err("law 6: a send while a person acts by hand (R6)".to_owned());
    }
    if order.is_none() && !log.known.open_review_ids().is_empty() {
        return Err("law 6: a send while a person has been asked (R6)".to_owned());
    }
    let used = |kind: &PermissionKind| order.is_some() && *kind == mark.permission;
    if log.kinds.iter().any(|(_, kind)| used(kind)) {
        return Err("law 6: one order was used for two sends (R15)".to_owned());
    }
    let by_preference = mark.permission == PermissionKind::Ordered(Order::Preference);
    if by_preference
        && !matches!(
            run.setup.told.preference,
            Preference::PreferDuplicate { .. }
        )
    {
        return Err("law 6: nobody accepted the risk of a duplicate".to_owned());
    }
    Ok(())
}

/// The reason that the permission names is so.
fn grounded(world: &World, act: u8, mark: &Mark, doubts: Doubts, run: &Run) -> Result<(), Broken> {
    let kind = mark.permission;
    match kind {
        PermissionKind::First if world.act(act).left => {
            Err("law 6: `first`, and bytes of it have left before".to_owned())
        }
        PermissionKind::ProvenNotSent | PermissionKind::ProvenAbsent
            if world.live_by_us(act) > 0 || world.may_still_land(act) =>
        {
            Err("law 6: nothing is proven, for an effect exists or may still land".to_owned())
        }
        PermissionKind::SameKey | PermissionKind::ProvenAbsent if doubts.account => {
            Err("law 6: key or absence at an account that is not confirmed (R13)".to_owned())
        }
        PermissionKind::SameKey if doubts.clock => {
            Err("law 6: the key, by a clock that stepped (R11)".to_owned())
        }
        PermissionKind::SameKey if world.log(act, run).unsupported => {
            Err("law 6: the key, which an answer has shown not to be looked at (R27)".to_owned())
        }
        PermissionKind::SameKey => replaying(world, act, mark, run),
        PermissionKind::Harmless if run.setup.current.consequence != Consequence::Harmless => {
            Err("law 6: a repeat that is not harmless".to_owned())
        }
        PermissionKind::Harmless if doubts.overtaken && !run.setup.current.condition_checked => {
            Err("law 6: a late repeat while newer work on the subject exists (R14)".to_owned())
        }
        PermissionKind::First
        | PermissionKind::ProvenNotSent
        | PermissionKind::ProvenAbsent
        | PermissionKind::Harmless
        | PermissionKind::Ordered(_) => Ok(()),
    }
}

/// A stored error answers every arrival under its key: asking for it again brings nothing (R19).
fn replaying(world: &World, act: u8, mark: &Mark, run: &Run) -> Result<(), Broken> {
    let log = world.log(act, run);
    let stores = run.setup.current.key.is_some_and(|key| key.stores_errors);
    let tried = log.unreadable.iter().any(|attempt| *attempt < mark.attempt);
    if stores && tried {
        return Err("law 6: the key only replays a stored error (R19)".to_owned());
    }
    Ok(())
}
