//! What a destination will take now: concurrency, rate, advice to wait, and a circuit that opens when nothing gets through.
//!
//! A gate only delays. It is no evidence of anything, and it never changes what an action's state is.

use std::collections::BTreeSet;

use factum_core::{ActionId, Span, Timestamp};

use super::feeds::FeedAt;
use crate::neighbours::Share;

/// How much a destination is given at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateSettings {
    /// Requests in flight at the most.
    pub in_flight_max: u32,
    /// Requests begun per second at the most, on average; zero means no limit.
    pub per_second: u32,
    /// Requests that may begin at once after a quiet time.
    pub burst: u32,
    /// Failures in a row that open the circuit; zero means never.
    pub circuit_failures: u32,
    /// How long an open circuit stays shut to all but one probe.
    pub circuit_cooldown: Span,
}

impl Default for GateSettings {
    fn default() -> Self {
        Self {
            in_flight_max: 32,
            per_second: 0,
            burst: 32,
            circuit_failures: 8,
            circuit_cooldown: Span::from_secs(15),
        }
    }
}

/// Advice keeps everybody else out no longer than this, however long it asks for; the action that was told so keeps the
/// destination's own time.
const ADVICE_MAX: Span = Span::from_secs(3_600);

/// Who asks to be let in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Guest {
    /// A request or a question about an action.
    Action(ActionId),
    /// Whoever reads a feed of events.
    Feed(FeedAt),
}

impl From<ActionId> for Guest {
    fn from(action: ActionId) -> Self {
        Self::Action(action)
    }
}

impl From<FeedAt> for Guest {
    fn from(feed: FeedAt) -> Self {
        Self::Feed(feed)
    }
}

/// The gate of one destination.
#[derive(Clone, Debug)]
pub struct Gate {
    settings: GateSettings,
    in_flight: BTreeSet<Guest>,
    /// Tokens in millionths, so that refilling keeps its remainder.
    tokens: i64,
    refilled_at: Option<Timestamp>,
    /// Of a millionth, in millionths.
    rest: i64,
    advised_until: Option<Timestamp>,
    failures: u32,
    open_until: Option<Timestamp>,
    /// This worker's part of all that.
    share: Share,
    /// A larger part that is taken from then on.
    grows: Option<(Share, Timestamp)>,
}

/// How a request went, as far as the gate is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// The destination answered.
    Answer,
    /// It answered that it wants to be left alone for a while.
    Busy(Option<Span>),
    /// Nothing came back.
    Nothing,
    /// The request never began.
    NotBegun,
}

/// Why a request has to wait, and until when to ask again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shut {
    /// As many requests are in flight as are allowed; ask again when one ends.
    Full,
    /// The rate is used up until then.
    Rate(Timestamp),
    /// The destination asked to be left alone until then.
    Advised(Timestamp),
    /// Nothing got through lately; the next probe is due then.
    Circuit(Timestamp),
}

const WHOLE: i64 = 1_000_000;

impl Gate {
    /// An open gate.
    #[must_use]
    pub fn new(settings: GateSettings) -> Self {
        Self {
            settings,
            in_flight: BTreeSet::new(),
            tokens: i64::from(settings.burst.max(1)) * WHOLE,
            refilled_at: None,
            rest: 0,
            advised_until: None,
            failures: 0,
            open_until: None,
            share: Share::WHOLE,
            grows: None,
        }
    }

    /// This worker's part, with those that live now. A smaller one counts at once, and a larger one once it has stood for as long
    /// as requests of a worker that went away may last.
    pub fn share(&mut self, share: Share, now: Timestamp, lasts: Span) {
        if share.workers >= self.share.workers {
            self.share = share;
            self.grows = None;
        } else if self.grows.is_none_or(|(grows, _)| grows != share) {
            self.grows = Some((share, now + lasts));
        }
        self.grow(now);
    }

    fn grow(&mut self, now: Timestamp) {
        if let Some((share, _)) = self.grows.filter(|(_, from)| *from <= now) {
            self.share = share;
            self.grows = None;
        }
    }

    fn in_flight_max(&self) -> usize {
        let part = self.share.part(self.settings.in_flight_max);
        usize::try_from(part).unwrap_or(usize::MAX)
    }

    /// Requests per second, in millionths; one worker's part of them.
    fn rate(&self) -> i64 {
        let rate = i64::from(self.settings.per_second).saturating_mul(WHOLE);
        (rate / i64::from(self.share.workers)).max(1)
    }

    fn burst(&self) -> i64 {
        i64::from(self.share.part(self.settings.burst.max(1))) * WHOLE
    }

    /// Lets a request of this guest begin, or says why it has to wait.
    ///
    /// # Errors
    /// [`Shut`] with the time to ask again.
    pub fn enter(&mut self, guest: impl Into<Guest>, now: Timestamp) -> Result<(), Shut> {
        self.refill(now);
        if let Some(until) = self.advised_until.filter(|until| *until > now) {
            return Err(Shut::Advised(until));
        }
        if let Some(until) = self.open_until {
            if until > now {
                return Err(Shut::Circuit(until));
            }
            // Half open: this request is the probe, the others wait another round.
            self.open_until = Some(now + self.settings.circuit_cooldown);
        }
        if self.in_flight.len() >= self.in_flight_max() {
            return Err(Shut::Full);
        }
        if self.settings.per_second > 0 {
            if self.tokens < WHOLE {
                return Err(Shut::Rate(self.refilled(now)));
            }
            self.tokens -= WHOLE;
        }
        self.in_flight.insert(guest.into());
        Ok(())
    }

    /// How many may come in now, or when to ask again where nobody may, however few are in flight.
    ///
    /// # Errors
    /// The time to ask again.
    pub fn room(&mut self, now: Timestamp) -> Result<usize, Timestamp> {
        self.refill(now);
        let shut = [self.advised_until, self.open_until];
        if let Some(until) = shut
            .into_iter()
            .flatten()
            .filter(|until| *until > now)
            .max()
        {
            return Err(until);
        }
        // After an open circuit one goes ahead.
        let probes = self.open_until.map_or(usize::MAX, |_| 1);
        let places = self.places().min(probes);
        if self.settings.per_second == 0 || places == 0 {
            return Ok(places);
        }
        match usize::try_from(self.tokens / WHOLE).unwrap_or(0) {
            0 => Err(self.refilled(now)),
            tokens => Ok(places.min(tokens)),
        }
    }

    /// When the next request may begin for its rate.
    fn refilled(&self, now: Timestamp) -> Timestamp {
        // Tokens and the rate are in millionths, and so is a second.
        let missing = i128::from(WHOLE - self.tokens) * i128::from(WHOLE);
        let wait = missing / i128::from(self.rate()) + 1;
        now + Span::from_micros(i64::try_from(wait).unwrap_or(i64::MAX))
    }

    /// The request of this guest ended.
    pub fn leave(&mut self, guest: impl Into<Guest>, heard: Heard, now: Timestamp) {
        self.in_flight.remove(&guest.into());
        match heard {
            Heard::Answer => {
                self.failures = 0;
                self.open_until = None;
            }
            Heard::Busy(advised) => {
                self.failures = 0;
                self.open_until = None;
                let until = now + advised.unwrap_or(Span::ZERO).min(ADVICE_MAX);
                self.advised_until = self.advised_until.max(Some(until));
            }
            Heard::Nothing => {
                self.failures += 1;
                if self.settings.circuit_failures > 0
                    && self.failures >= self.settings.circuit_failures
                {
                    self.open_until = Some(now + self.settings.circuit_cooldown);
                }
            }
            Heard::NotBegun => {}
        }
    }

    /// How many requests are in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// How many more requests may be in flight.
    #[must_use]
    pub fn places(&self) -> usize {
        self.in_flight_max().saturating_sub(self.in_flight.len())
    }

    /// Until when the circuit is open, if it is.
    #[must_use]
    pub fn circuit_open_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.open_until.filter(|until| *until > now)
    }

    fn refill(&mut self, now: Timestamp) {
        self.grow(now);
        if self.settings.per_second == 0 {
            return;
        }
        let at = *self.refilled_at.get_or_insert(now);
        let since = i128::from(now.since(at).as_micros().max(0));
        // What is no whole millionth yet counts the next time: whoever asks often must not lose it.
        let whole = i128::from(WHOLE);
        let gained = since * i128::from(self.rate()) + i128::from(self.rest);
        self.rest = i64::try_from(gained % whole).unwrap_or(0);
        let gained = i64::try_from(gained / whole).unwrap_or(i64::MAX);
        self.tokens = self.tokens.saturating_add(gained).min(self.burst());
        self.refilled_at = Some(at.max(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use factum_core::Lane;

    fn action(n: u64) -> ActionId {
        ActionId::new(Timestamp::from_micros(0), Lane(0), n)
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_micros(0) + Span::from_millis(millis)
    }

    #[test]
    fn as_many_are_in_flight_as_are_allowed() {
        let mut gate = Gate::new(GateSettings {
            in_flight_max: 2,
            ..GateSettings::default()
        });
        assert_eq!(gate.enter(action(1), at(0)), Ok(()));
        assert_eq!(gate.enter(action(2), at(0)), Ok(()));
        assert_eq!(gate.enter(action(3), at(0)), Err(Shut::Full));
        gate.leave(action(1), Heard::Answer, at(1));
        assert_eq!(gate.enter(action(3), at(1)), Ok(()));
    }

    #[test]
    fn the_rate_holds_on_average_and_allows_a_burst() {
        let mut gate = Gate::new(GateSettings {
            per_second: 10,
            burst: 3,
            in_flight_max: 1_000,
            ..GateSettings::default()
        });
        let mut begun = 0;
        for n in 0..1_000u64 {
            let now = at(i64::try_from(n).unwrap());
            if gate.enter(action(n), now).is_ok() {
                begun += 1;
            }
        }
        assert_eq!(begun, 3 + 9, "a burst of three, then one each 100 ms");
    }

    #[test]
    fn advice_shuts_a_gate_for_an_hour_at_the_most() {
        let mut gate = Gate::new(GateSettings::default());
        let year = Span::from_secs(365 * 86_400);
        gate.leave(action(1), Heard::Busy(Some(year)), at(0));
        let hour = at(3_600_000);
        assert_eq!(gate.enter(action(1), at(1)), Err(Shut::Advised(hour)));
        assert_eq!(gate.enter(action(1), hour), Ok(()));
    }

    #[test]
    fn workers_divide_what_a_destination_is_given() {
        let settings = GateSettings {
            in_flight_max: 5,
            per_second: 9,
            burst: 3,
            ..GateSettings::default()
        };
        let lasts = Span::from_secs(60);
        let (mut in_flight, mut begun) = (0, 0);
        for before in 0..3 {
            let share = Share { workers: 3, before };
            let mut gate = Gate::new(settings);
            gate.share(share, at(0), lasts);
            in_flight += gate.places();
            for n in 0..=1_000u64 {
                let now = at(i64::try_from(n).unwrap());
                if gate.enter(action(n), now).is_ok() {
                    begun += 1;
                    gate.leave(action(n), Heard::Answer, now);
                }
            }
        }
        assert_eq!(in_flight, 5);
        assert!(begun <= 3 + 9, "{begun} in a second, with a burst of three");
        assert!(begun >= 3 + 6, "{begun} in a second");
    }

    #[test]
    fn a_rate_that_is_asked_for_all_the_time_is_refilled_all_the_same() {
        let micros = |n: i64| Timestamp::from_micros(n);
        let mut gate = Gate::new(GateSettings {
            per_second: 1,
            burst: 1,
            in_flight_max: 1_000,
            ..GateSettings::default()
        });
        let share = Share {
            workers: 3,
            before: 0,
        };
        gate.share(share, micros(0), Span::from_secs(60));
        assert_eq!(gate.enter(action(1), micros(0)), Ok(()));
        let again = gate.room(micros(0)).unwrap_err();
        // A worker's part of the rate is a third of a millionth in a microsecond.
        for n in 1..2_000 {
            assert!(gate.room(micros(2 * n)).is_err());
        }
        assert!(gate.room(again).is_ok(), "no later than was said first");
    }

    #[test]
    fn a_larger_part_is_taken_once_the_requests_of_the_dead_are_over() {
        let two = Share {
            workers: 2,
            before: 1,
        };
        let lasts = Span::from_secs(60);
        let mut gate = Gate::new(GateSettings {
            in_flight_max: 8,
            ..GateSettings::default()
        });
        gate.share(two, at(0), lasts);
        assert_eq!(gate.places(), 4);
        for millis in [1_000, 60_999] {
            gate.share(Share::WHOLE, at(millis), lasts);
            assert_eq!(gate.places(), 4);
        }
        gate.share(two, at(60_999), lasts);
        gate.share(Share::WHOLE, at(61_000), lasts);
        assert_eq!(gate.places(), 4, "it lived after all");
        gate.share(Share::WHOLE, at(121_000), lasts);
        assert_eq!(gate.places(), 8);
    }

    #[test]
    fn advice_is_kept_and_an_open_circuit_lets_one_probe_through() {
        let mut gate = Gate::new(GateSettings {
            circuit_failures: 2,
            circuit_cooldown: Span::from_secs(10),
            ..GateSettings::default()
        });
        gate.leave(action(1), Heard::Busy(Some(Span::from_secs(5))), at(0));
        assert_eq!(
            gate.enter(action(1), at(4_999)),
            Err(Shut::Advised(at(5_000)))
        );
        assert_eq!(gate.enter(action(1), at(5_000)), Ok(()));
        gate.leave(action(1), Heard::Nothing, at(5_000));
        gate.leave(action(1), Heard::Nothing, at(5_000));
        assert_eq!(
            gate.enter(action(2), at(6_000)),
            Err(Shut::Circuit(at(15_000)))
        );
        assert_eq!(gate.enter(action(2), at(15_000)), Ok(()), "the probe");
        assert_eq!(
            gate.enter(action(3), at(15_001)),
            Err(Shut::Circuit(at(25_000))),
            "the others wait"
        );
        gate.leave(action(2), Heard::Answer, at(15_100));
        assert_eq!(
            gate.enter(action(3), at(15_101)),
            Ok(()),
            "an answer closes the circuit"
        );
    }
}
