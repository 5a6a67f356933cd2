//! The store's time as this process knows it between two questions to the store (R11).
//!
//! The local anchor is taken *before* the store is asked, so that the answer's way back makes our reading late rather than early
//! and a permission ends too soon rather than too late. Elapsed time is the larger of the boot-time clock, which goes on in
//! suspend, and the wall clock.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use factum_core::{Span, Timestamp};
use factum_store::{Store, StoreError};
use factum_transport::Clock;
use rustix::time::{ClockId, clock_gettime};

/// A local reading of both clocks, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalReading {
    /// Since boot, suspend included.
    pub boot: i64,
    /// The wall clock.
    pub wall: i64,
}

/// The setting of a store whose clock stepped, while no destination's time has agreed with it since: a process that starts meanwhile does
/// not know of the step, and has to doubt it all the same.
const IN_DOUBT: &str = "clock_in_doubt";

/// Whether a process that ended has left the clock in doubt.
///
/// # Errors
/// What the store says.
pub async fn was_in_doubt(store: &dyn Store) -> Result<bool, StoreError> {
    Ok(store.setting(IN_DOUBT).await?.is_some())
}

/// Writes down whether the clock is in doubt, where it has changed. `written` is what was written last.
///
/// # Errors
/// What the store says; it is tried again with the next look.
pub async fn keep_doubt(
    store: &dyn Store,
    in_doubt: bool,
    written: &AtomicBool,
) -> Result<(), StoreError> {
    if written.load(Ordering::Relaxed) == in_doubt {
        return Ok(());
    }
    let said = in_doubt.then(|| "it stepped".to_owned());
    store.set_setting(IN_DOUBT, said).await?;
    written.store(in_doubt, Ordering::Relaxed);
    Ok(())
}

/// The store's time, anchored to local clocks.
#[derive(Debug)]
pub struct AnchoredClock {
    anchor: Mutex<Anchor>,
}

#[derive(Clone, Copy, Debug)]
struct Anchor {
    store: Timestamp,
    local: LocalReading,
}

impl LocalReading {
    /// Reads both clocks.
    #[must_use]
    pub fn take() -> Self {
        Self {
            boot: micros(ClockId::Boottime),
            wall: micros(ClockId::Realtime),
        }
    }

    /// The larger of both clocks' progress since `earlier`, and by how much they disagree.
    #[must_use]
    pub fn since(self, earlier: Self) -> (Span, Span) {
        let boot = Span::from_micros(self.boot - earlier.boot);
        let wall = Span::from_micros(self.wall - earlier.wall);
        let apart =
            Span::from_micros(((self.boot - earlier.boot) - (self.wall - earlier.wall)).abs());
        (boot.max(wall), apart)
    }
}

fn micros(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec
        .saturating_mul(1_000_000)
        .saturating_add(time.tv_nsec / 1_000)
}

impl AnchoredClock {
    /// Anchored to the store's time `store`, which was asked for after `local` was read.
    #[must_use]
    pub fn new(local: LocalReading, store: Timestamp) -> Self {
        Self {
            anchor: Mutex::new(Anchor { store, local }),
        }
    }

    /// Anchors anew. Returns by how much the local clocks went apart since the last anchor: a step of the wall clock.
    pub fn anchor(&self, local: LocalReading, store: Timestamp) -> Span {
        let mut anchor = self
            .anchor
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let (_, apart) = local.since(anchor.local);
        *anchor = Anchor { store, local };
        apart
    }

    /// The store's time as these readings have it.
    pub fn read(&self, local: LocalReading) -> Timestamp {
        let anchor = *self
            .anchor
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        anchor.store + local.since(anchor.local).0
    }
}

impl Clock for AnchoredClock {
    fn now(&self) -> Timestamp {
        self.read(LocalReading::take())
    }
}

/// A step of the wall clock beyond this puts the clock in doubt, and a destination's time that is nearer ends the doubt.
pub const STEP_MAX: Span = Span::from_secs(30);

/// Whether a destination's own time ends the doubt about ours (R11). On a store that one host holds, time is that host's and never goes back: after
/// a step back it stands still, and agrees with everybody for a moment, until the wall clock has caught up. There, `local` has to agree too.
#[must_use]
pub fn confirms(theirs: Timestamp, ours: Timestamp, local: Option<LocalReading>) -> bool {
    let wall = local.map(|local| Timestamp::from_micros(local.wall));
    agrees(theirs, ours) && wall.is_none_or(|wall| agrees(theirs, wall))
}

fn agrees(theirs: Timestamp, ours: Timestamp) -> bool {
    theirs.since(ours).max(ours.since(theirs)) <= STEP_MAX
}

/// A span as the standard library has it.
#[must_use]
pub fn duration(span: Span) -> Duration {
    Duration::from_micros(span.as_micros().unsigned_abs())
}

/// An instant as every interface writes it.
#[must_use]
pub fn written(at: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(at.as_micros())
        .map_or_else(|_| format!("{} µs", at.as_micros()), |at| at.to_string())
}

/// A duration as the core has it.
#[must_use]
pub fn span(duration: Duration) -> Span {
    Span::from_micros(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(boot: i64, wall: i64) -> LocalReading {
        LocalReading { boot, wall }
    }

    #[test]
    fn the_larger_of_both_clocks_counts() {
        let store = Timestamp::from_micros(1_000_000);
        let clock = AnchoredClock::new(local(100, 5_000), store);
        assert_eq!(
            clock.read(local(300, 5_000)),
            store + Span::from_micros(200),
            "the wall clock was held back"
        );
        assert_eq!(
            clock.read(local(150, 9_000)),
            store + Span::from_micros(4_000),
            "the wall clock stepped forward"
        );
        assert_eq!(
            clock.read(local(400, 1_000)),
            store + Span::from_micros(300),
            "the wall clock stepped back"
        );
    }

    #[test]
    fn a_step_shows_when_the_clock_is_anchored_anew() {
        let clock = AnchoredClock::new(local(0, 0), Timestamp::from_micros(0));
        assert_eq!(
            clock.anchor(local(1_000, 1_010), Timestamp::from_micros(1_000)),
            Span::from_micros(10)
        );
        assert_eq!(
            clock.anchor(local(2_000, -998_990), Timestamp::from_micros(2_000)),
            Span::from_micros(1_001_000)
        );
    }

    /// The store's time stands still where the wall clock was set back: it agrees, and is about to fall behind.
    #[test]
    fn a_destination_that_agrees_just_after_a_step_back_ends_no_doubt() {
        let at = |s: i64| Timestamp::from_micros(s * 1_000_000);
        let wall = |s: i64| Some(local(0, s * 1_000_000));
        assert!(!confirms(at(1_000), at(998), wall(880)));
        assert!(confirms(at(1_000), at(998), wall(1_001)));
        assert!(
            !confirms(at(1_000), at(900), wall(1_000)),
            "the store is behind"
        );
        assert!(
            confirms(at(1_000), at(998), None),
            "the time is a database's"
        );
    }
}
