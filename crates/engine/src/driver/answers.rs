//! The store's answers to commands, as the events that the driver hears. Pure: whoever carries a command out, the tokio shell
//! or the simulator, brings the answer and hands the event on.

use factum_core::mistake::{Mistake, made};
use factum_core::{ActionId, Evidence, Fact, Span, Timestamp};
use factum_store::{Admitted, Claim, Claimed, Committed, Record, Recorded, StoreError};

use super::gate::Guest;
use super::{Command, Commit, Event};

/// How long the shell waits before it bothers a store again that could not write.
pub const STORE_REST: Span = Span::from_secs(1);
/// How long an action rests whose rows are damaged, or that the database has another complaint about.
pub const DAMAGE_REST: Span = Span::from_secs(60);

/// What a command is about.
#[must_use]
pub fn owner(command: &Command) -> Guest {
    Guest::Action(match command {
        Command::Claim(action, _)
        | Command::LookUp(action, _)
        | Command::Poll(action, ..)
        | Command::Record(action, _) => *action,
        Command::Commit(commit) => commit.record.id(),
        Command::Send(send) => send.record.id(),
        Command::Release(claim) => claim.action,
        Command::ReadFeed(feed) => return Guest::Feed(feed.clone()),
    })
}

/// An action is to be looked at when its next step is due.
#[must_use]
pub fn due(record: &Record, now: Timestamp) -> Event {
    due_at(record, record.next.at.unwrap_or(now))
}

/// An action is to be looked at at this time.
#[must_use]
pub fn due_at(record: &Record, at: Timestamp) -> Event {
    Event::Due {
        action: record.id(),
        destination: record.action.scope.destination.clone(),
        at,
    }
}

/// A submission that went to the store.
#[derive(Clone, Debug)]
pub struct Submitted {
    /// The id that it has if it is new.
    pub action: ActionId,
    /// Where it goes.
    pub destination: String,
    /// Its first mark went with it.
    pub marked: bool,
}

/// What became of a submission: the event for the driver, and what its caller is told.
///
/// # Errors
/// The store's own, handed on: it is in doubt whether the submission was recorded, and its caller may never come back, so
/// the event has it looked for.
pub fn admitted(
    submitted: Submitted,
    answer: Result<Admitted, StoreError>,
    now: Timestamp,
) -> (Event, Result<Admitted, StoreError>) {
    let Submitted {
        action,
        destination,
        marked,
    } = submitted;
    match answer {
        Ok(Admitted::Created(record, Some(claim))) if marked => (
            Event::Admitted(claim, record.clone()),
            Ok(Admitted::Created(record, None)),
        ),
        Ok(Admitted::Created(record, _)) => {
            // A report had waited for it, so that its mark is not written under: it is decided anew.
            let event = if marked {
                Event::NotAdmitted(action, Some(now))
            } else {
                due(&record, now)
            };
            (event, Ok(Admitted::Created(record, None)))
        }
        Ok(other) => {
            let event = if marked {
                Event::NotAdmitted(action, None)
            } else {
                Event::Woke
            };
            (event, Ok(other))
        }
        Err(error) => {
            let again = now + STORE_REST;
            let event = if marked {
                Event::NotAdmitted(action, Some(again))
            } else {
                Event::Due {
                    action,
                    destination,
                    at: again,
                }
            };
            (event, Err(error))
        }
    }
}

/// What became of a wish to claim.
#[must_use]
pub fn claimed(action: ActionId, answer: Result<Claimed, StoreError>, now: Timestamp) -> Event {
    match answer {
        Ok(Claimed::Held(claim, record)) => Event::Claimed(claim, record),
        Ok(Claimed::Busy(until)) => Event::NotClaimed(action, Some(until)),
        Ok(Claimed::Gone) => Event::NotClaimed(action, None),
        Err(_) if made(Mistake::ErrorForgets) => Event::NotClaimed(action, None),
        Err(error) => Event::NotClaimed(action, Some(now + rest_after(&error))),
    }
}

/// How long an action rests that the store could not hand out. What does not pass by itself may still be put right by
/// somebody, so the action is never given up while the process lives (law 8).
fn rest_after(error: &StoreError) -> Span {
    if error.is_passing() {
        STORE_REST
    } else {
        DAMAGE_REST
    }
}

/// What became of a commit.
#[derive(Debug)]
pub enum Wrote {
    /// It is durable.
    Durable(Event, Recorded),
    /// It is not, or nobody knows: the claim is to be given back before the driver hears of it.
    Not(Event, Claim),
}

/// What became of a commit that went to the store.
#[must_use]
pub fn wrote(commit: Commit, answer: Result<Committed, StoreError>, now: Timestamp) -> Wrote {
    let Commit {
        claim,
        mut record,
        facts,
        next,
    } = commit;
    let action = record.id();
    match answer {
        Ok(Committed::Durable(recorded)) => {
            absorb(&mut record, &recorded, facts);
            record.next = next;
            if let Some(behind) = &recorded.behind {
                // What had waited for these facts is known by now too.
                record.clone_from(behind);
            }
            let claim = claim.at_version(record.version);
            Wrote::Durable(Event::Committed(claim, record), recorded)
        }
        Ok(Committed::Stale) => Wrote::Not(Event::NotCommitted(action, now), claim),
        Err(_) => Wrote::Not(Event::NotCommitted(action, now + STORE_REST), claim),
    }
}

fn absorb(record: &mut Record, recorded: &Recorded, facts: Vec<Fact>) {
    for (id, fact) in recorded.ids.iter().zip(facts) {
        record.known.absorb(&Evidence {
            id: *id,
            at: recorded.at,
            fact,
        });
    }
    record.version = recorded.version;
}

#[cfg(test)]
mod tests {
    use super::*;
    use factum_store::StoreErrorKind;

    /// Law 8: no error of the store makes the loop forget an action.
    #[test]
    fn an_action_that_cannot_be_claimed_is_tried_again() {
        let text = || "test".to_owned();
        let (what, how) = (text(), text());
        let rests = [
            (StoreErrorKind::Unavailable(text()), STORE_REST),
            (StoreErrorKind::InDoubt(text()), STORE_REST),
            (StoreErrorKind::Full, STORE_REST),
            (StoreErrorKind::Corrupt { what, how }, DAMAGE_REST),
            (StoreErrorKind::Database(text()), DAMAGE_REST),
        ];
        for (kind, rest) in rests {
            assert_eq!(rest_after(&StoreError::new("claiming", kind)), rest);
        }
    }
}
