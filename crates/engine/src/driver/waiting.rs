//! Actions that nobody works on: in the queue for their time, at a destination's gate, held back by an operator, or with their
//! claim on its way back to the store. Each action stands in one of these places, is held, or rests for good.

use std::collections::{BTreeMap, BTreeSet};

use factum_core::{ActionId, Timestamp};

use super::gate::Shut;
use super::held::Held;
use super::{Command, Driver};

/// Everything that waits.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    queue: BTreeSet<(Timestamp, ActionId)>,
    queued: BTreeMap<ActionId, (Timestamp, String)>,
    /// At a gate that is full, in the order of asking.
    at_gate: BTreeMap<String, BTreeSet<(Timestamp, ActionId)>>,
    /// Called from a gate, and not there again yet: a place is kept for each.
    called: BTreeMap<String, BTreeSet<ActionId>>,
    /// Their send is due, and an operator holds it back.
    held_back: BTreeMap<ActionId, String>,
    /// Their claim is on its way back. Before it has arrived a new claim would find the action busy.
    releasing: BTreeMap<ActionId, (String, After)>,
}

/// Where an action goes once its claim is back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// Into the queue, for this time.
    Queue(Timestamp),
    /// To its destination's gate; it asked at this time.
    AtGate(Timestamp),
    /// Held back until an operator lets sends go on.
    HeldBack,
    /// Nowhere: nothing more is due.
    Rest,
}

impl Waiting {
    /// Into the queue, from wherever it waited.
    pub(super) fn enqueue(&mut self, action: ActionId, destination: String, at: Timestamp) {
        if let Some((_, after)) = self.releasing.get_mut(&action) {
            *after = match *after {
                After::Queue(earlier) => After::Queue(earlier.min(at)),
                After::AtGate(_) | After::HeldBack | After::Rest => After::Queue(at),
            };
            return;
        }
        self.remove(action);
        self.queue.insert((at, action));
        self.queued.insert(action, (at, destination));
    }

    /// Something was heard about an action. What was read earlier does not put off what is due sooner, and takes nobody away
    /// from a gate before its time.
    pub(super) fn heard(
        &mut self,
        action: ActionId,
        destination: String,
        at: Timestamp,
        now: Timestamp,
    ) {
        let stays = match self.releasing.get(&action) {
            Some((_, After::AtGate(_) | After::HeldBack)) => true,
            Some((_, After::Queue(_) | After::Rest)) => false,
            None => self.held_back.contains_key(&action) || self.is_at_gate(action),
        };
        if stays && at > now {
            return;
        }
        let queued = self.queued.get(&action).map_or(at, |(queued, _)| *queued);
        self.enqueue(action, destination, queued.min(at));
    }

    /// The store shows an action as overdue. One that waits for an operator or a place, or whose claim is still on its way back,
    /// stays where it is.
    pub(super) fn overdue(&mut self, action: ActionId, destination: String, at: Timestamp) {
        let waits = self.releasing.contains_key(&action)
            || self.held_back.contains_key(&action)
            || self.is_at_gate(action);
        if !waits {
            let queued = self.queued.get(&action).map_or(at, |(queued, _)| *queued);
            self.enqueue(action, destination, queued.min(at));
        }
    }

    fn is_at_gate(&self, action: ActionId) -> bool {
        self.at_gate
            .values()
            .flatten()
            .any(|(_, waits)| *waits == action)
    }

    fn remove(&mut self, action: ActionId) {
        if let Some((at, _)) = self.queued.remove(&action) {
            self.queue.remove(&(at, action));
        }
        self.held_back.remove(&action);
        self.at_gate.retain(|_, waiting| {
            waiting.retain(|(_, waits)| *waits != action);
            !waiting.is_empty()
        });
    }

    /// The next action that is due.
    pub(super) fn pop_due(&mut self, now: Timestamp) -> Option<(ActionId, String)> {
        loop {
            let (at, action) = self.queue.first().copied().filter(|(at, _)| *at <= now)?;
            self.queue.remove(&(at, action));
            if let Some((_, destination)) = self.queued.remove(&action) {
                return Some((action, destination));
            }
        }
    }

    /// When the next action is due.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.queue.first().map(|(at, _)| *at)
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.queued.len()
            + self.held_back.len()
            + self.at_gate.values().map(BTreeSet::len).sum::<usize>()
    }

    /// How many claims are on their way back.
    pub(super) fn releasing(&self) -> usize {
        self.releasing.len()
    }

    /// A called action has come to a decision: its place is its own, or free again.
    pub(super) fn arrived(&mut self, action: ActionId) {
        self.called.retain(|_, called| {
            called.remove(&action);
            !called.is_empty()
        });
    }

    /// Everything is looked at anew, at once.
    pub(super) fn look_at_all(&mut self, now: Timestamp) {
        let held_back = std::mem::take(&mut self.held_back);
        let queued: Vec<_> = self
            .queued
            .iter()
            .map(|(action, (_, destination))| (*action, destination.clone()))
            .collect();
        for (action, destination) in held_back.into_iter().chain(queued) {
            self.enqueue(action, destination, now);
        }
        for (_, after) in self.releasing.values_mut() {
            match after {
                After::HeldBack | After::Queue(_) => *after = After::Queue(now),
                After::AtGate(_) | After::Rest => {}
            }
        }
    }
}

impl Driver {
    /// Gives a claim back; once it has arrived, the action waits where `after` says. What was heard about it since it was read
    /// is looked at first.
    pub(super) fn give_back(
        &mut self,
        held: Held,
        after: After,
        now: Timestamp,
        out: &mut Vec<Command>,
    ) {
        let action = held.record.id();
        let destination = held.record.action.scope.destination.clone();
        let after = if held.look_again {
            After::Queue(now)
        } else {
            after
        };
        match held.claim {
            Some(claim) => {
                self.waiting.releasing.insert(action, (destination, after));
                out.push(Command::Release(claim));
            }
            None => self.wait_as(action, destination, after),
        }
    }

    /// A claim is back in the store.
    pub(super) fn released(&mut self, action: ActionId) {
        if let Some((destination, after)) = self.waiting.releasing.remove(&action) {
            self.wait_as(action, destination, after);
        }
    }

    fn wait_as(&mut self, action: ActionId, destination: String, after: After) {
        match after {
            After::Queue(at) => self.waiting.enqueue(action, destination, at),
            After::AtGate(asked) => {
                self.waiting
                    .at_gate
                    .entry(destination)
                    .or_default()
                    .insert((asked, action));
            }
            After::HeldBack => {
                self.waiting.held_back.insert(action, destination);
            }
            After::Rest => {}
        }
    }

    pub(super) fn wait_at_gate(
        &mut self,
        held: Held,
        shut: Shut,
        now: Timestamp,
        out: &mut Vec<Command>,
    ) {
        let after = match shut {
            Shut::Full => After::AtGate(now),
            Shut::Rate(until) | Shut::Advised(until) | Shut::Circuit(until) => After::Queue(until),
        };
        self.give_back(held, after, now, out);
    }

    /// Calls as many from each gate as there are places, longest waiting first. Runs after every event, so that no place stays
    /// free while somebody waits for it, whatever became of those who were called before.
    pub(super) fn call_from_gates(&mut self, now: Timestamp) {
        let destinations: Vec<String> = self.waiting.at_gate.keys().cloned().collect();
        for destination in destinations {
            let places = self
                .gates
                .get(&destination)
                .map_or(usize::MAX, |gate| gate.places());
            let kept = self
                .waiting
                .called
                .get(&destination)
                .map_or(0, BTreeSet::len);
            for _ in kept..places {
                let Some((_, action)) = self
                    .waiting
                    .at_gate
                    .get_mut(&destination)
                    .and_then(BTreeSet::pop_first)
                else {
                    break;
                };
                self.waiting
                    .called
                    .entry(destination.clone())
                    .or_default()
                    .insert(action);
                self.waiting.enqueue(action, destination.clone(), now);
            }
        }
        self.waiting
            .at_gate
            .retain(|_, waiting| !waiting.is_empty());
    }
}
