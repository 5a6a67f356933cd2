//! What comes back of the driver's commands: claims, commits, the ends of requests, evidence that is recorded, and whatever
//! broke off.

use factum_core::mistake::{Mistake, made};
use factum_core::permission::Marked;
use factum_core::{ActionId, Fact, Span, Timestamp};
use factum_store::{Claim, Record};

use super::Driver;
use super::exchange::{Command, SendOut};
use super::gate::Heard;
use super::held::{self, Doing, Held};
use super::waiting::After;

/// How long an action rests that somebody still holds although its lease seems to be over.
const BUSY_REST: Span = Span::from_secs(1);

/// How long an action rests that something broke off for.
const BROKEN_REST: Span = Span::from_secs(60);

impl Driver {
    /// Somebody else has it, or it is not there: unless something was heard since that was found out.
    pub(super) fn not_claimed(
        &mut self,
        action: ActionId,
        free_at: Option<Timestamp>,
        now: Timestamp,
    ) {
        // A claim that is over by our clock and not by the store's is not asked for again and again.
        let free_at = free_at.map(|at| if at > now { at } else { now + BUSY_REST });
        let Some(claiming) = self.claiming.remove(&action) else {
            return;
        };
        self.waiting.arrived(action, &claiming.destination);
        if let Some(at) = free_at.or(claiming.look_again.then_some(now)) {
            self.waiting.enqueue(action, claiming.destination, at);
        }
    }

    pub(super) fn committed(
        &mut self,
        claim: Claim,
        record: Box<Record>,
        now: Timestamp,
        out: &mut Vec<Command>,
    ) {
        let action = record.id();
        let Some(held) = self.held.remove(&action) else {
            return;
        };
        let look_again = held.look_again;
        match held.doing {
            Doing::Marked { marked, reuse } => {
                self.write_out(Some(claim), record, (marked, reuse), look_again, out);
            }
            Doing::Deciding
            | Doing::Sending(_)
            | Doing::Asking
            | Doing::Settling(_)
            | Doing::Recording => {
                self.advance(
                    Held {
                        claim: Some(claim),
                        record,
                        doing: Doing::Deciding,
                        look_again,
                    },
                    now,
                    out,
                );
            }
        }
    }

    /// The mark is durable: the request may be written.
    pub(super) fn write_out(
        &mut self,
        claim: Option<Claim>,
        record: Box<Record>,
        (marked, reuse): (Marked, bool),
        look_again: bool,
        out: &mut Vec<Command>,
    ) {
        let permission = marked.durable();
        let doing = Doing::Sending(permission.request());
        out.push(Command::Send(Box::new(SendOut {
            record: record.clone(),
            permission,
            reuse,
        })));
        let held = Held {
            claim,
            record,
            doing,
            look_again,
        };
        self.held.insert(held.record.id(), held);
    }

    /// A refused decision is dropped and made anew; refused evidence is recorded without the claim.
    pub(super) fn not_committed(
        &mut self,
        action: ActionId,
        again: Timestamp,
        now: Timestamp,
        out: &mut Vec<Command>,
    ) {
        let Some(held) = self.held.remove(&action) else {
            return;
        };
        let destination = held.record.action.scope.destination.clone();
        match held.doing {
            Doing::Settling(_) if made(Mistake::EvidenceDroppedWhenStale) => {
                self.waiting.enqueue(action, destination, again);
            }
            Doing::Settling(facts) => self.record(action, facts, held.record, out),
            Doing::Marked { marked, reuse } if made(Mistake::DoubtfulMarkSent) => {
                self.write_out(None, held.record, (marked, reuse), held.look_again, out);
            }
            Doing::Marked { .. } => {
                // The place at the gate was taken for a request that will not be written.
                if !made(Mistake::PlaceKept) {
                    self.leave_gate(action, &destination, Heard::NotBegun, now);
                }
                self.waiting.enqueue(action, destination, again);
            }
            Doing::Deciding | Doing::Sending(_) | Doing::Asking | Doing::Recording => {
                self.waiting.enqueue(action, destination, again);
            }
        }
    }

    pub(super) fn ended(
        &mut self,
        action: ActionId,
        facts: Vec<Fact>,
        heard: Heard,
        now: Timestamp,
        out: &mut Vec<Command>,
    ) {
        let Some(held) = self.held.get_mut(&action) else {
            return;
        };
        // Kept with the action first, so that a decision that breaks off does not take the evidence with it.
        held.doing = Doing::Settling(facts.clone());
        let destination = held.record.action.scope.destination.clone();
        self.leave_gate(action, &destination, heard, now);
        let Some(held) = self.held.get(&action) else {
            return;
        };
        let next = held::next_row_after(&held.record, &facts, &self.view(&held.record, now));
        if let Some(held) = self.held.remove(&action) {
            self.commit(held, facts.clone(), next, Doing::Settling(facts), out);
        }
    }

    pub(super) fn recorded(&mut self, action: ActionId, now: Timestamp) {
        if let Some(held) = self.held.remove(&action) {
            self.waiting
                .enqueue(action, held.record.action.scope.destination.clone(), now);
        }
    }

    /// Wherever the action stood when something broke off, it is looked at again; evidence that had come in is recorded.
    pub(super) fn broken(&mut self, action: ActionId, now: Timestamp, out: &mut Vec<Command>) {
        let again = now + BROKEN_REST;
        self.released(action);
        if let Some(claiming) = self.claiming.remove(&action) {
            self.waiting.enqueue(action, claiming.destination, again);
        }
        self.not_admitted(action, Some(again), now);
        let Some(held) = self.held.remove(&action) else {
            return;
        };
        let destination = held.record.action.scope.destination.clone();
        self.leave_gate(action, &destination, Heard::NotBegun, now);
        match held.doing {
            Doing::Settling(facts) => self.record(action, facts, held.record, out),
            Doing::Deciding | Doing::Asking => {
                self.give_back(held, After::Queue(again), now, out);
            }
            Doing::Marked { .. } | Doing::Sending(_) | Doing::Recording => {
                self.waiting.enqueue(action, destination, again);
            }
        }
    }

    /// Evidence that cannot go into a commit under the claim is recorded without it.
    fn record(
        &mut self,
        action: ActionId,
        facts: Vec<Fact>,
        record: Box<Record>,
        out: &mut Vec<Command>,
    ) {
        out.push(Command::Record(action, facts));
        let held = Held {
            claim: None,
            record,
            doing: Doing::Recording,
            look_again: false,
        };
        self.held.insert(action, held);
    }

    pub(super) fn leave_gate(
        &mut self,
        action: ActionId,
        destination: &str,
        heard: Heard,
        now: Timestamp,
    ) {
        if let Some(gate) = self.gates.get_mut(destination) {
            gate.leave(action, heard, now);
        }
    }
}
