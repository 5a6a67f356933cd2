//! The first mark in the submission's own commit, where the design allows it (section 3): a commit fewer per effect.
//!
//! The place at the destination's gate is taken before the submission commits. If it then turns out to join an earlier action,
//! or is not recorded at all, the place is given back and nothing was marked.

use factum_core::permission::{first_mark_may_join, may_reuse_connection};
use factum_core::{Fact, Known, Span, Timestamp, permit};
use factum_store::{Action, Claim, NextRow, Record};

use super::gate::Heard;
use super::held::{approval_void, conditions, in_flight_row};
use super::{ActionId, Command, Driver};
use crate::directory::Directory;
use factum_core::permission::Marked;

/// A first mark that may be committed with the submission.
#[derive(Debug)]
pub struct FirstMark {
    /// The mark.
    pub fact: Fact,
    /// The next step that goes with it.
    pub next: NextRow,
    /// How long the claim is held for that the submission's commit takes.
    pub lease: Span,
}

/// A submission on its way into the store, with its first mark.
#[derive(Debug)]
pub(super) struct Admitting {
    marked: Marked,
    reuse: bool,
    destination: String,
    /// Something was heard about it meanwhile: decide again before resting.
    pub(super) look_again: bool,
}

impl Driver {
    /// The first mark for a new action, if it may be sent at once and its mark may join the submission's commit. Every answer
    /// that is not `None` is followed by [`super::Event::Admitted`] or [`super::Event::NotAdmitted`].
    pub fn first_mark(&mut self, action: &Action, now: Timestamp) -> Option<FirstMark> {
        let view = self.view_of(&action.scope, now);
        let current = view.current.filter(|_| !view.no_sends)?;
        // A worker elsewhere marks it when it begins.
        if view.by_workers.is_some() {
            return None;
        }
        if self.full() || !first_mark_may_join(&action.intent, current) {
            return None;
        }
        let lets = |directory: &Directory| directory.still_lets(action, now).is_ok();
        if !view.directory.is_none_or(lets) || approval_void(action, view.rests()).is_some() {
            return None;
        }
        let known = Known::default();
        // A first send is no repeat: it undoes nothing that it was not meant to undo, whatever its subject.
        let leave = permit(&action.intent, &known, &conditions(&view, current, None)).ok()?;
        let reuse = may_reuse_connection(&action.intent, &known, current, now);
        let (id, destination) = (action.intent.action, action.scope.destination.clone());
        // Whoever waits there came first.
        let others_first =
            self.waiting.has_line(&destination) || self.waiting.kept(&destination) > 0;
        if others_first || self.crowds(&destination) {
            return None;
        }
        self.gates.get_mut(&destination)?.enter(id, now).ok()?;
        let (fact, marked) = leave.mark(self.worker);
        self.admitting.insert(
            id,
            Admitting {
                marked,
                reuse,
                destination,
                look_again: false,
            },
        );
        Some(FirstMark {
            next: in_flight_row(&fact),
            fact,
            lease: self.limits.claim_lease,
        })
    }

    /// The submission was new, and is durable with its first mark: it may be sent.
    pub(super) fn admitted(&mut self, claim: Claim, record: Box<Record>, out: &mut Vec<Command>) {
        let action = record.id();
        let Some(admitting) = self.admitting.remove(&action) else {
            return;
        };
        let right = (admitting.marked, admitting.reuse);
        self.write_out(Some(claim), record, right, admitting.look_again, out);
    }

    /// Nothing was recorded under this id: it joined another action, was refused, or the store could not write. Where it is
    /// in doubt whether the mark became durable, whoever finds it sees *maybe sent* (R12), and it is looked for `again`: its
    /// caller may never come back.
    pub(super) fn not_admitted(
        &mut self,
        action: ActionId,
        again: Option<Timestamp>,
        now: Timestamp,
    ) {
        let Some(admitting) = self.admitting.remove(&action) else {
            return;
        };
        self.leave_gate(action, &admitting.destination, Heard::NotBegun, now);
        if let Some(again) = again.or(admitting.look_again.then_some(now)) {
            self.waiting.enqueue(action, admitting.destination, again);
        }
    }
}
