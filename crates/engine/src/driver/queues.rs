//! How the driver's queues stand, by destination: for people and gauges. Nothing is decided by it.

use std::collections::BTreeMap;

use factum_core::Timestamp;

use super::Driver;
use super::gate::Gate;
use super::waiting::Stood;

/// What waits at one destination, and what its gate lets through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Actions that wait for their time.
    pub resting: usize,
    /// Actions that are due, and not begun yet.
    pub due: usize,
    /// Actions at the gate: they may go once there is a place.
    pub at_gate: usize,
    /// Sends that an operator holds back.
    pub held_back: usize,
    /// Since when the longest of those that are due, or at the gate, waits.
    pub since: Option<Timestamp>,
    /// Requests and questions that are in flight there.
    pub in_flight: usize,
    /// Nothing gets through lately, and the next probe is not due yet.
    pub circuit_open: bool,
}

impl Driver {
    /// How the queues stand, of every configured destination, and of others where something waits.
    #[must_use]
    pub fn queues(&self, now: Timestamp) -> BTreeMap<String, Queue> {
        let gated = self.gates.iter().map(|(name, gate)| {
            let queue = Queue {
                in_flight: gate.in_flight(),
                circuit_open: is_open(gate, now),
                ..Queue::default()
            };
            (name.clone(), queue)
        });
        let mut queues: BTreeMap<String, Queue> = gated.collect();
        for (destination, stood) in self.waiting.each() {
            let queue = queues.entry(destination.to_owned()).or_default();
            let since = match stood {
                Stood::Until(at) if at > now => {
                    queue.resting += 1;
                    continue;
                }
                Stood::Until(since) | Stood::Due(since) => {
                    queue.due += 1;
                    since
                }
                Stood::AtGate(since) => {
                    queue.at_gate += 1;
                    since
                }
                Stood::HeldBack => {
                    queue.held_back += 1;
                    continue;
                }
            };
            // What is to be looked at at once, whenever that was, says nothing about how long it waits.
            if since > Timestamp::EARLIEST {
                queue.since = Some(queue.since.map_or(since, |first| first.min(since)));
            }
        }
        queues
    }
}

fn is_open(gate: &Gate, now: Timestamp) -> bool {
    gate.circuit_open_until(now).is_some()
}
