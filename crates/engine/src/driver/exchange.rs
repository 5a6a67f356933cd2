//! What goes between driver and shell: events in, commands out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use factum_core::{ActionId, AttemptNo, Fact, Permission, Span, Timestamp};
use factum_store::{Claim, Due, NextRow, Record};

use super::feeds::FeedAt;
use super::gate::Heard;
use crate::directory::Directory;
use crate::neighbours::Share;

/// What happened.
#[derive(Debug)]
pub enum Event {
    /// Time passed.
    Woke,
    /// There is something to do about this action at this time: it was admitted, or found in the store.
    Due {
        /// Which.
        action: ActionId,
        /// Where it goes.
        destination: String,
        /// When.
        at: Timestamp,
    },
    /// The store shows these as due, and held by nobody.
    Overdue(Vec<Due>),
    /// Several things at once.
    All(Vec<Event>),
    /// A claim is held, and this is how the action stands.
    Claimed(Claim, Box<Record>),
    /// Somebody else holds it until then, or it is gone (`None`).
    NotClaimed(ActionId, Option<Timestamp>),
    /// A submission with its first mark is durable: see [`super::Driver::first_mark`].
    Admitted(Claim, Box<Record>),
    /// A submission with its first mark was not recorded under this id; or that is in doubt, and it has to be looked for at
    /// this time.
    NotAdmitted(ActionId, Option<Timestamp>),
    /// A commit is durable; this is the claim at its new version, and the action after it.
    Committed(Claim, Box<Record>),
    /// A commit was refused as stale, or failed: the claim is not ours any more, evidence came in between, or the store cannot
    /// write. To be looked at again at this time.
    NotCommitted(ActionId, Timestamp),
    /// A request or question ended with these facts.
    Ended {
        /// Whose it was.
        action: ActionId,
        /// What is known now.
        facts: Vec<Fact>,
        /// How the destination behaved, for its gate.
        heard: Heard,
    },
    /// Carrying out a command failed in a way that it should not have. What was marked stays maybe sent.
    Broken(ActionId),
    /// Facts that could not be committed under the claim were recorded without it.
    Recorded(ActionId),
    /// A claim was given back.
    Released(ActionId),
    /// Somebody waits for what stands in this feed, and it was not read for a while.
    FeedDue(FeedAt),
    /// Reading a feed has ended; what stood in it was heard of separately.
    FeedRead {
        /// Which.
        feed: FeedAt,
        /// How the destination behaved, for its gate.
        heard: Heard,
    },
    /// Sends are held, or allowed again, by an operator.
    Paused(bool),
    /// An operator released the restore, or a restore was declared.
    RestoreReleased(bool),
    /// What is in doubt now, all of it: the clock, and the accounts behind these destinations' credentials.
    InDoubt {
        /// The clock stepped, and no destination's time has agreed since.
        clock: bool,
        /// Destinations whose credential changed, and whose account is not confirmed.
        accounts: BTreeSet<String>,
    },
    /// The destinations whose credential changed, all of them, with the time from which the present one counts.
    Credentials(BTreeMap<String, Timestamp>),
    /// Who may do what, as of an edition of the register.
    Directory(Arc<Directory>),
    /// This worker's part of what destinations are given, among the workers that live.
    Living(Share),
    /// No new work is begun; what is in flight may end.
    Stopping,
}

impl Event {
    /// The action that it is about, if it is about one.
    #[must_use]
    pub fn action(&self) -> Option<ActionId> {
        match self {
            Self::Due { action, .. }
            | Self::NotClaimed(action, _)
            | Self::NotCommitted(action, _)
            | Self::NotAdmitted(action, _)
            | Self::Ended { action, .. }
            | Self::Broken(action)
            | Self::Released(action)
            | Self::Recorded(action) => Some(*action),
            Self::Claimed(_, record) | Self::Admitted(_, record) | Self::Committed(_, record) => {
                Some(record.id())
            }
            Self::Woke
            | Self::Overdue(_)
            | Self::All(_)
            | Self::FeedDue(_)
            | Self::FeedRead { .. }
            | Self::Paused(_)
            | Self::Living(_)
            | Self::RestoreReleased(_)
            | Self::InDoubt { .. }
            | Self::Credentials(_)
            | Self::Directory(_)
            | Self::Stopping => None,
        }
    }
}

/// What the shell is to do.
#[derive(Debug)]
pub enum Command {
    /// Claim this action.
    Claim(ActionId, Span),
    /// Commit facts and the next step under the claim.
    Commit(Box<Commit>),
    /// Write one effect request. The mark behind the permission is durable.
    Send(Box<SendOut>),
    /// Ask the destination whether the effect exists.
    LookUp(ActionId, Box<Record>),
    /// Ask the destination how the queued work of this attempt stands.
    Poll(ActionId, Box<Record>, AttemptNo),
    /// Record facts without a claim: evidence is never refused.
    Record(ActionId, Vec<Fact>),
    /// Give a claim back.
    Release(Claim),
    /// Read a feed of events on from where it was left.
    ReadFeed(FeedAt),
}

/// A commit under a claim.
#[derive(Debug)]
pub struct Commit {
    /// The hold.
    pub claim: Claim,
    /// How the action stood.
    pub record: Box<Record>,
    /// New facts.
    pub facts: Vec<Fact>,
    /// The next step.
    pub next: NextRow,
}

/// An effect request that may be written.
#[derive(Debug)]
pub struct SendOut {
    /// The action, with the mark in its evidence.
    pub record: Box<Record>,
    /// The leave to write it.
    pub permission: Permission,
    /// A pooled connection may be used.
    pub reuse: bool,
}
