//! Feeds of events: each waits for a place at its destination's gate like a question, is read, and rests until it is due again.
//! When that is, and what stands in it, is known elsewhere.

use factum_core::Timestamp;

use super::gate::{Guest, Heard};
use super::{Command, Driver};

/// A destination's feed of events, as one tenant reads it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FeedAt {
    /// For whom it is read. Cursors of two tenants have nothing to do with each other (law 9).
    pub tenant: String,
    /// Where.
    pub destination: String,
    /// Its name: see [`factum_contract::Feed`].
    pub feed: String,
}

/// How a feed stands that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// The gate has not let it in yet.
    Waits,
    /// It is being read.
    Read,
}

impl Driver {
    /// A feed is to be read. One that waits or is being read already stays as it is.
    pub(super) fn feed_due(&mut self, feed: FeedAt) {
        self.feeds.entry(feed).or_insert(Reading::Waits);
    }

    /// Reads the feeds that their gates let in. Runs after every event and before actions are called, so that a busy gate does
    /// not keep out what many of them wait for.
    pub(super) fn begin_feeds(&mut self, now: Timestamp, out: &mut Vec<Command>) {
        if self.stopping {
            return;
        }
        for (feed, reading) in &mut self.feeds {
            let waits = *reading == Reading::Waits;
            let gate = self.gates.get_mut(&feed.destination);
            let enters = |gate: &mut super::Gate| gate.enter(feed.clone(), now).is_ok();
            if waits && gate.is_none_or(enters) {
                *reading = Reading::Read;
                out.push(Command::ReadFeed(feed.clone()));
            }
        }
    }

    /// Reading a feed has ended.
    pub(super) fn feed_read(&mut self, feed: FeedAt, heard: Heard, now: Timestamp) {
        if self.feeds.remove(&feed) != Some(Reading::Read) {
            return;
        }
        if let Some(gate) = self.gates.get_mut(&feed.destination) {
            gate.leave(Guest::Feed(feed), heard, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use factum_core::{Span, WorkerNonce};

    use super::*;
    use crate::driver::gate::GateSettings;
    use crate::driver::{DestinationPolicy, DriverLimits, Event};

    fn feed(n: u32) -> FeedAt {
        FeedAt {
            tenant: "default".to_owned(),
            destination: "desk".to_owned(),
            feed: format!("feed-{n}"),
        }
    }

    fn driver(gate: GateSettings) -> Driver {
        let policy = DestinationPolicy {
            gate,
            place: None,
            account: None,
            contracts: BTreeMap::new(),
            operations: BTreeMap::new(),
            any_operation: None,
            by_workers: BTreeMap::new(),
        };
        let limits = DriverLimits {
            held_max: 8,
            claim_lease: Span::from_secs(60),
        };
        let policies = BTreeMap::from([("desk".to_owned(), policy)]);
        Driver::new(WorkerNonce(1), limits, policies, true)
    }

    fn read(commands: &[Command]) -> Vec<&str> {
        let feeds = commands.iter().filter_map(|command| match command {
            Command::ReadFeed(at) => Some(at.feed.as_str()),
            _ => None,
        });
        feeds.collect()
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(0) + Span::from_secs(seconds)
    }

    #[test]
    fn a_feed_is_read_once_at_a_time_and_only_where_its_gate_lets_it() {
        let mut driver = driver(GateSettings {
            in_flight_max: 1,
            ..GateSettings::default()
        });
        let due = |driver: &mut Driver, n| driver.handle(Event::FeedDue(feed(n)), at(0));
        assert_eq!(read(&due(&mut driver, 1)), ["feed-1"]);
        assert_eq!(read(&due(&mut driver, 1)), [""; 0], "it is being read");
        assert_eq!(read(&due(&mut driver, 2)), [""; 0], "the gate is full");
        let ended = Event::FeedRead {
            feed: feed(1),
            heard: Heard::Answer,
        };
        assert_eq!(read(&driver.handle(ended, at(1))), ["feed-2"]);
    }

    #[test]
    fn a_destination_that_wants_to_be_left_alone_is() {
        let mut driver = driver(GateSettings::default());
        driver.handle(Event::FeedDue(feed(1)), at(0));
        let ended = Event::FeedRead {
            feed: feed(1),
            heard: Heard::Busy(Some(Span::from_secs(30))),
        };
        driver.handle(ended, at(0));
        let again = driver.handle(Event::FeedDue(feed(1)), at(2));
        assert_eq!(read(&again), [""; 0]);
        assert_eq!(read(&driver.handle(Event::Woke, at(31))), ["feed-1"]);
    }

    #[test]
    fn who_stops_reads_no_more() {
        let mut driver = driver(GateSettings::default());
        driver.handle(Event::Stopping, at(0));
        let due = driver.handle(Event::FeedDue(feed(1)), at(1));
        assert_eq!(read(&due), [""; 0]);
        assert_eq!(driver.under_way(), 0);
    }
}
