//! Where an endpoint has got to: a place in the feed, what is tried again beside it, and the last deliveries.

use factum_core::{Span, Timestamp};
use factum_engine::{Code, Problem};
use factum_store::{Change, Entry, EntryKey};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The version of the encoding.
const VERSION: u32 = 1;

/// Events that wait to be tried again at the most; then nothing new is posted before one of them is through.
pub(super) const ASIDE_MAX: usize = 100;

/// Deliveries that are remembered.
const LOG_MAX: usize = 50;

/// What is remembered of an error.
const ERROR_MAX: usize = 300;

/// Pauses between the tries of one event: some three days in all. A tenth more or less is drawn, so that not all come back at once.
const SCHEDULE_S: [i64; 10] = [
    5,
    30,
    5 * 60,
    30 * 60,
    2 * 3_600,
    5 * 3_600,
    10 * 3_600,
    14 * 3_600,
    20 * 3_600,
    24 * 3_600,
];

/// The longest pause of a whole endpoint after failures in a row.
const PAUSE_MAX_S: i64 = 300;

/// Where an endpoint has got to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeliveryState {
    v: u32,
    /// Everything up to this number is delivered, given up, or put aside.
    pub cursor: u64,
    /// Which worker posts, and until when nobody else does, in microseconds.
    pub(super) holder: Option<(u64, i64)>,
    /// Nothing new is posted before, in microseconds.
    pub(super) pause_until: i64,
    /// Failures in a row.
    pub failures: u32,
    /// What is tried again.
    pub(super) aside: Vec<Aside>,
    /// The last deliveries, newest last.
    pub log: Vec<Delivered>,
}

/// An event that is tried again beside the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Aside {
    /// Its number.
    pub(super) no: u64,
    /// How often it was tried.
    pub(super) tries: u32,
    /// When it is tried next, in microseconds.
    pub(super) at: i64,
}

/// What became of a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Answered with 2xx.
    Delivered,
    /// It will be tried again.
    Retry,
    /// It was tried for as long as the schedule says.
    GivenUp,
    /// It was not kept any more when its turn came.
    Missed,
}

/// One try, as it is remembered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delivered {
    /// The event's id; empty where it is not known any more.
    pub event: String,
    /// Its number.
    pub no: u64,
    /// Its type.
    #[serde(rename = "type")]
    pub topic: String,
    /// When, in microseconds.
    pub at: i64,
    /// Which try it was.
    pub tries: u32,
    /// What became of it.
    pub outcome: Outcome,
    /// The status that came back.
    pub status: Option<u16>,
    /// Why it failed.
    pub error: Option<String>,
    /// When it is tried again, in microseconds.
    pub next: Option<i64>,
}

impl Aside {
    /// To be posted once more, now.
    pub(super) fn again(no: u64, now: Timestamp) -> Self {
        Self {
            no,
            tries: 0,
            at: now.as_micros(),
        }
    }
}

impl DeliveryState {
    pub(super) fn at(cursor: u64) -> Self {
        Self {
            v: VERSION,
            cursor,
            holder: None,
            pause_until: 0,
            failures: 0,
            aside: Vec::new(),
            log: Vec::new(),
        }
    }

    /// Of its entry; at the beginning where there is none.
    pub(super) fn of(entry: Option<&Entry>) -> Result<Self, Problem> {
        match entry {
            Some(entry) => read(&entry.body, |state: &Self| state.v, VERSION),
            None => Ok(Self::at(0)),
        }
    }

    pub(super) fn text(&self) -> String {
        // Texts and numbers can always be written.
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(super) fn change(&self, key: EntryKey, expected: u64, by: &str, why: &str) -> Change {
        Change {
            key,
            expected,
            body: self.text(),
            label: None,
            due: None,
            by: by.to_owned(),
            why: why.to_owned(),
        }
    }

    /// The feed was begun anew.
    pub(super) fn begin_anew(&mut self) {
        self.cursor = 0;
        self.aside.clear();
    }

    /// Events that are tried again.
    #[must_use]
    pub fn retrying(&self) -> usize {
        self.aside.len()
    }

    /// Puts an event aside; false where there is no room.
    pub(super) fn put_aside(&mut self, event: Aside) -> bool {
        if let Some(known) = self.aside.iter_mut().find(|known| known.no == event.no) {
            known.at = known.at.min(event.at);
            return true;
        }
        let room = self.aside.len() < ASIDE_MAX;
        if room {
            self.aside.push(event);
        }
        room
    }

    /// The event whose time to be tried again has come first.
    pub(super) fn due(&self, now: Timestamp) -> Option<&Aside> {
        let due = self.aside.iter().filter(|one| one.at <= now.as_micros());
        due.min_by_key(|one| (one.at, one.no))
    }

    /// Whether something new may be posted.
    pub(super) fn goes_on(&self, now: Timestamp) -> bool {
        self.pause_until <= now.as_micros() && self.aside.len() < ASIDE_MAX
    }

    /// Keeps what became of a try. `draw` is between 0 and 1.
    pub(super) fn tried(&mut self, mut line: Delivered, now: Timestamp, draw: f64) {
        if let Some(error) = &mut line.error
            && let Some((cut, _)) = error.char_indices().nth(ERROR_MAX)
        {
            error.truncate(cut);
        }
        self.aside.retain(|one| one.no != line.no);
        self.cursor = self.cursor.max(line.no);
        if line.outcome == Outcome::Retry {
            let at = usize::try_from(line.tries).unwrap_or(usize::MAX);
            match SCHEDULE_S.get(at.saturating_sub(1)) {
                Some(pause) => {
                    let next = now + spread(Span::from_secs(*pause), draw);
                    line.next = Some(next.as_micros());
                    self.aside.push(Aside {
                        no: line.no,
                        tries: line.tries,
                        at: next.as_micros(),
                    });
                }
                None => line.outcome = Outcome::GivenUp,
            }
        }
        match line.outcome {
            Outcome::Delivered => {
                self.failures = 0;
                self.pause_until = 0;
            }
            Outcome::Retry | Outcome::GivenUp => {
                self.failures = self.failures.saturating_add(1);
                let pause = 5_i64.saturating_mul(1 << (self.failures - 1).min(6));
                let pause = Span::from_secs(pause.min(PAUSE_MAX_S));
                self.pause_until = (now + spread(pause, draw)).as_micros();
            }
            Outcome::Missed => {}
        }
        self.log.push(line);
        let old = self.log.len().saturating_sub(LOG_MAX);
        self.log.drain(..old);
    }
}

/// A tenth more or less.
fn spread(pause: Span, draw: f64) -> Span {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "a day in microseconds is far within a double"
    )]
    let micros = (pause.as_micros() as f64 * (0.9 + 0.2 * draw)) as i64;
    Span::from_micros(micros)
}

/// Reads a body of the register that carries its version.
pub(super) fn read<T: DeserializeOwned>(
    body: &str,
    version: impl Fn(&T) -> u32,
    known: u32,
) -> Result<T, Problem> {
    match serde_json::from_str::<T>(body) {
        Ok(read) if version(&read) == known => Ok(read),
        Ok(_) => {
            let rule = "a newer program wrote this webhook";
            Err(Problem::new(
                Code::StoreTooNew,
                "",
                rule,
                "run the newer program",
            ))
        }
        Err(error) => {
            let rule = format!("a webhook's entry cannot be read: {error}");
            Err(Problem::new(
                Code::StoreDamaged,
                "",
                rule,
                "run `factum doctor`",
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(no: u64, tries: u32, outcome: Outcome) -> Delivered {
        Delivered {
            event: format!("evt_{no}"),
            no,
            topic: "action.succeeded".to_owned(),
            at: 0,
            tries,
            outcome,
            status: None,
            error: Some("é".repeat(1_000)),
            next: None,
        }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn what_fails_is_tried_for_days_and_then_given_up() {
        let mut state = DeliveryState::at(6);
        let (mut now, mut tries) = (at(0), 0);
        loop {
            tries += 1;
            state.tried(line(7, tries, Outcome::Retry), now, 0.5);
            assert_eq!(state.cursor, 7, "the others go on");
            let Some(next) = state.aside.first().map(|one| one.at) else {
                break;
            };
            assert!(state.due(Timestamp::from_micros(next - 1)).is_none());
            now = Timestamp::from_micros(next);
            assert_eq!(
                state.due(now).map(|one| (one.no, one.tries)),
                Some((7, tries))
            );
        }
        assert_eq!(tries, 11);
        assert!(now > at(3 * 86_400) && now < at(4 * 86_400), "{now:?}");
        let last = state.log.last().unwrap();
        assert_eq!(last.outcome, Outcome::GivenUp);
        assert_eq!(last.error.as_ref().unwrap().chars().count(), ERROR_MAX);
    }

    #[test]
    fn failures_in_a_row_hold_what_is_new_back_and_a_success_lets_it_go() {
        let mut state = DeliveryState::at(0);
        for no in 1..=20 {
            state.tried(line(no, 1, Outcome::Retry), at(1_000), 0.5);
        }
        assert!(!state.goes_on(at(1_200)));
        assert!(state.goes_on(at(1_301)), "five minutes at the longest");
        state.tried(line(3, 2, Outcome::Delivered), at(1_100), 0.5);
        assert!(state.goes_on(at(1_100)));
        assert_eq!((state.retrying(), state.cursor), (19, 20));
    }

    #[test]
    fn what_is_put_aside_and_what_is_remembered_has_a_bound() {
        let mut state = DeliveryState::at(0);
        for no in 1..=ASIDE_MAX as u64 {
            assert!(state.put_aside(Aside::again(no, at(0))));
        }
        assert!(!state.put_aside(Aside::again(1_000, at(0))));
        assert!(state.put_aside(Aside::again(1, at(0))), "it is there");
        assert!(!state.goes_on(at(9)), "nothing more is put aside");
        for no in 1..=60 {
            state.tried(line(no, 1, Outcome::Delivered), at(0), 0.0);
        }
        assert_eq!(state.log.len(), LOG_MAX);
        assert_eq!(state.log[0].no, 11);
        let text = state.text();
        assert_eq!(
            read(&text, |state: &DeliveryState| state.v, VERSION),
            Ok(state)
        );
    }
}
