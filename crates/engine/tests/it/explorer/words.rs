//! Small things that the explorer says: facts of requests that ended badly, and names for its trace.

use std::fmt::Write as _;

use factum_core::evidence::{CancelAnswer, Loss, Phase, RequestRef};
use factum_core::{ActionId, Fact, Timestamp};
use factum_engine::driver::{Command, Event};
use factum_store::{NextRow, Record};

use crate::world::PLACE;

/// An action is to be looked at when its next step is due.
pub(super) fn due(record: &Record, now: Timestamp) -> Event {
    Event::Due {
        action: record.id(),
        destination: PLACE.to_owned(),
        at: record.next.at.unwrap_or(now),
    }
}

/// How a new action stands before anything was decided.
pub(super) fn first_row(at: Timestamp) -> NextRow {
    NextRow {
        step: "send".to_owned(),
        at: Some(at),
        why: "recorded and not sent yet".to_owned(),
    }
}

pub(super) fn not_sent(request: RequestRef) -> Fact {
    match request {
        RequestRef::Attempt(attempt) => Fact::NotSent {
            attempt,
            phase: Phase::Connect,
            detail: "test".to_owned(),
        },
        RequestRef::Cancel(no) => Fact::CancelAnswered {
            no,
            answer: CancelAnswer::NotSent {
                why: "test".to_owned(),
            },
        },
    }
}

pub(super) fn loss(request: RequestRef, closed_at: Timestamp) -> Fact {
    let detail = "test".to_owned();
    match request {
        RequestRef::Attempt(attempt) => Fact::Lost(Loss {
            attempt,
            phase: Phase::Head,
            wrote: 9,
            read: 0,
            closed_at: Some(closed_at),
            detail,
        }),
        RequestRef::Cancel(no) => Fact::CancelAnswered {
            no,
            answer: CancelAnswer::Unknown { why: detail },
        },
    }
}

/// Whose command it is.
pub(super) fn owner(command: &Command) -> ActionId {
    match command {
        Command::Claim(action, _)
        | Command::LookUp(action, _)
        | Command::Poll(action, ..)
        | Command::Record(action, _) => *action,
        Command::Commit(commit) => commit.record.id(),
        Command::Send(send) => send.record.id(),
        Command::Release(claim) => claim.action,
    }
}

/// The name of an enum's variant, without formatting what is in it.
pub(super) fn variant(value: &impl std::fmt::Debug) -> String {
    struct Name(String);
    impl std::fmt::Write for Name {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            let name = text.split([' ', '(']).next().unwrap_or_default();
            self.0.push_str(name);
            if name.len() == text.len() {
                Ok(())
            } else {
                Err(std::fmt::Error)
            }
        }
    }
    let mut name = Name(String::new());
    // The error is how formatting is broken off.
    let _ = write!(name, "{value:?}");
    name.0
}
