//! The database's clock, asked for at most once a second and extended in between (R11). No statement reads a clock.
//!
//! The local anchor is taken before the question, so that the extension is late rather than early. Elapsed time is the larger of
//! the monotonic clock and the wall clock, which goes on in suspend.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use factum_core::Timestamp;

/// For how long an answer of the database is extended.
const FRESH: Duration = Duration::from_secs(1);

/// An answer that took longer than this is not extended: the extension would run ahead of the database by as much, and take a
/// lease for over before it is.
const PROMPT: Duration = Duration::from_millis(250);

/// Local readings of both clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Local {
    monotonic: Instant,
    wall: SystemTime,
}

impl Local {
    pub(super) fn take() -> Self {
        Self {
            monotonic: Instant::now(),
            wall: SystemTime::now(),
        }
    }

    pub(super) fn elapsed(self) -> Duration {
        let wall = self.wall.elapsed().unwrap_or_default();
        self.monotonic.elapsed().max(wall)
    }
}

/// The database's time, between two questions.
#[derive(Debug, Default)]
pub(super) struct Anchored {
    anchor: Mutex<Option<(Local, i64)>>,
    last: AtomicI64,
}

impl Anchored {
    /// The time, if the last answer is fresh.
    pub(super) fn now(&self) -> Option<Timestamp> {
        let anchor = *self.anchor.lock().unwrap_or_else(PoisonError::into_inner);
        let (local, answered) = anchor?;
        let elapsed = local.elapsed();
        (elapsed < FRESH).then(|| {
            let elapsed = i64::try_from(elapsed.as_micros()).unwrap_or(i64::MAX);
            self.risen(answered.saturating_add(elapsed))
        })
    }

    /// Anchors to an answer that was asked for after `local`, and never runs back.
    pub(super) fn anchor(&self, local: Local, micros: i64) -> Timestamp {
        let prompt = local.elapsed() < PROMPT;
        *self.anchor.lock().unwrap_or_else(PoisonError::into_inner) =
            prompt.then_some((local, micros));
        self.risen(micros)
    }

    fn risen(&self, micros: i64) -> Timestamp {
        Timestamp::from_micros(self.last.fetch_max(micros, Ordering::AcqRel).max(micros))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_database_whose_clock_runs_behind_does_not_take_the_store_with_it() {
        let clock = Anchored::default();
        assert_eq!(clock.now(), None, "nobody was asked yet");
        assert_eq!(
            clock.anchor(Local::take(), 900),
            Timestamp::from_micros(900)
        );
        assert!(clock.now() >= Some(Timestamp::from_micros(900)));
        assert!(clock.anchor(Local::take(), 100) >= Timestamp::from_micros(900));
    }

    #[test]
    fn an_answer_that_was_slow_is_used_once_and_not_extended() {
        let clock = Anchored::default();
        let mut asked = Local::take();
        asked.monotonic -= PROMPT;
        assert_eq!(clock.anchor(asked, 900), Timestamp::from_micros(900));
        assert_eq!(clock.now(), None, "the database is asked again");
    }
}
