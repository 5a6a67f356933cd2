//! Whose turn it is at a destination's gate: a place that becomes free is always offered to somebody who wants it (law 8).

use std::collections::BTreeSet;

use factum_core::{ActionId, Timestamp};

use super::gate::{Heard, Shut};
use super::held::Held;
use super::{Command, Driver};

impl Driver {
    pub(super) fn wait_at_gate(
        &mut self,
        held: Held,
        destination: String,
        shut: Shut,
        now: Timestamp,
        out: &mut Vec<Command>,
    ) {
        let action = held.record.id();
        if let Some(claim) = held.claim {
            out.push(Command::Release(claim));
        }
        match shut {
            Shut::Full => {
                // Somebody is inside, and lets the next one in on leaving.
                self.let_in.remove(&action);
                self.at_gate
                    .entry(destination)
                    .or_default()
                    .insert((now, action));
            }
            Shut::Rate(until) | Shut::Advised(until) | Shut::Circuit(until) => {
                self.enqueue(action, destination, until);
            }
        }
    }

    /// A place at the gate is free: the one that has waited longest asks again.
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
        self.let_next_in(destination, now);
    }

    fn let_next_in(&mut self, destination: &str, now: Timestamp) {
        let next = self
            .at_gate
            .get_mut(destination)
            .and_then(BTreeSet::pop_first);
        if let Some((_, waiting)) = next {
            self.enqueue(waiting, destination.to_owned(), now);
            self.let_in.insert(waiting);
        }
    }

    /// An action that was let in has no use for its place (its deadline passed, somebody else holds it): the next one gets
    /// it. Otherwise those who wait would wait for somebody to leave who never entered.
    pub(super) fn make_way(&mut self, action: ActionId, destination: &str, now: Timestamp) {
        if self.let_in.remove(&action) {
            self.let_next_in(destination, now);
        }
    }
}
