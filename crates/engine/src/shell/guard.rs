//! One bad action must not end the loop: what breaks off is logged, and the action is looked at again later.

use std::collections::HashMap;

use factum_store::Admission;
use factum_transport::Clock;
use tokio::task::Id;

use super::Shared;
use crate::driver::gate::{Guest, Heard};
use crate::driver::{Command, Driver, Event, FirstMark};

/// One bad action must not end the loop: a panic in a decision is logged, and the others go on.
pub(super) fn handle(driver: &mut Driver, event: Event, shared: &Shared) -> Vec<Command> {
    let now = shared.clock.now();
    let about = event.action();
    let handled =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| driver.handle(event, now)));
    handled.unwrap_or_else(|_| {
        tracing::error!(action = ?about, "a decision broke off; the action is looked at again later");
        about.map_or_else(Vec::new, |action| driver.handle(Event::Broken(action), now))
    })
}

/// The first mark, where it may join its submission's commit. Where that decision breaks off, the mark is made later.
pub(super) fn first_mark(
    driver: &mut Driver,
    admission: &Admission,
    shared: &Shared,
) -> Option<FirstMark> {
    let (action, now) = (&admission.action, shared.clock.now());
    // What is known already, as after a restore, is decided on once it is durable; and what the submission was let in under is what
    // its mark has to rest on.
    let under_another = admission.under.is_some() && admission.under != driver.edition();
    if !admission.facts.is_empty() || under_another {
        return None;
    }
    let marked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        driver.first_mark(action, now)
    }));
    marked.unwrap_or_else(|_| {
        tracing::error!(action = %action.intent.action, "a decision broke off; the first mark is made later");
        None
    })
}

/// What became of a task: its event, or that it broke off.
pub(super) fn ended_event(
    ended: Result<(Id, Event), tokio::task::JoinError>,
    owners: &mut HashMap<Id, Guest>,
) -> Event {
    match ended {
        Ok((id, event)) => {
            owners.remove(&id);
            event
        }
        Err(error) => match owners.remove(&error.id()) {
            Some(Guest::Action(action)) => {
                tracing::error!(%action, %error, "carrying out a command broke off; the action is looked at again");
                Event::Broken(action)
            }
            Some(Guest::Feed(feed)) => {
                tracing::error!(destination = %feed.destination, %error, "reading the events there broke off; it is tried again");
                let heard = Heard::NotBegun;
                Event::FeedRead { feed, heard }
            }
            None => Event::Woke,
        },
    }
}
