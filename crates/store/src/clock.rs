//! The store's clock: never earlier than anything that it has stamped (R11). It never sleeps and never judges a step.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use factum_core::Timestamp;

/// Reads the wall clock. Tests and the simulator hand in their own.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The machine's wall clock, in microseconds UTC.
#[must_use]
pub fn system_clock() -> Clock {
    Arc::new(|| {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    })
}

/// `now = max(wall, last reading)`: two readings never run backwards, whatever the wall clock does.
pub(crate) struct RisingClock {
    wall: Clock,
    last: AtomicI64,
}

impl RisingClock {
    /// A clock that stands at `last` at the least.
    pub(crate) fn new(wall: Clock, last: Timestamp) -> Self {
        Self {
            wall,
            last: AtomicI64::new(last.as_micros()),
        }
    }

    /// The store's time.
    pub(crate) fn now(&self) -> Timestamp {
        let wall = (self.wall)().as_micros();
        let before = self.last.fetch_max(wall, Ordering::AcqRel);
        Timestamp::from_micros(before.max(wall))
    }

    /// The last reading that was handed out, without reading the wall clock.
    pub(crate) fn last(&self) -> Timestamp {
        Timestamp::from_micros(self.last.load(Ordering::Acquire))
    }

    /// What the wall clock shows, whether or not it runs behind.
    #[cfg(feature = "sqlite")]
    pub(crate) fn wall(&self) -> Timestamp {
        (self.wall)()
    }

    /// The same wall clock, for a store that continues from a copy.
    pub(crate) fn wall_clock(&self) -> Clock {
        Arc::clone(&self.wall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_clock_that_steps_back_does_not_take_the_store_with_it() {
        let wall = Arc::new(AtomicI64::new(500));
        let reading = Arc::clone(&wall);
        let clock = RisingClock::new(
            Arc::new(move || Timestamp::from_micros(reading.load(Ordering::Acquire))),
            Timestamp::from_micros(700),
        );
        assert_eq!(
            clock.now(),
            Timestamp::from_micros(700),
            "the last stamp of a former process counts"
        );
        wall.store(900, Ordering::Release);
        assert_eq!(clock.now(), Timestamp::from_micros(900));
        wall.store(100, Ordering::Release);
        assert_eq!(clock.now(), Timestamp::from_micros(900));
        assert_eq!(clock.last(), Timestamp::from_micros(900));
    }
}
