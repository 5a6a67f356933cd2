//! The feed of events of a queued destination: what became of its work, in the order in which it is shown. Reads only.
//!
//! The faults of reports are faults of the feed: an event stands in it twice, behind the next one, later, or never, and a
//! contrary one follows it. Nobody can forge one. An event that was once shown keeps its place, and whatever is shown later
//! stands behind it.

use factum_faults::Fault;
use serde_json::{Value, json};

use crate::ledger::{Event, Kind, Mode, Row};

use super::World;

/// How long an event that stands behind the next one waits for that, in microseconds.
const HELD: i64 = 2_000_000;

/// The place of an event: when it is shown first, its row, and which of the row's events it is.
type Place = (i64, u64, u8);

impl World {
    /// A page of the events behind a cursor, and how many there are on it; none where the cursor is none of ours, or of a
    /// ledger that was forgotten.
    pub(crate) fn feed(
        &self,
        kind: Kind,
        after: Option<&str>,
        limit: usize,
    ) -> Option<(Value, usize)> {
        let behind = match after {
            Some(cursor) => Some(place(cursor).filter(|(_, seq, _)| *seq <= self.row_count())?),
            None => None,
        };
        let mut shown = self.shown(kind);
        shown.retain(|(place, ..)| behind.is_none_or(|behind| *place > behind));
        shown.truncate(limit);
        let last = shown
            .last()
            .map(|((at, seq, n), ..)| format!("{at}.{seq}.{n}"));
        let events: Vec<_> = shown
            .iter()
            .map(|((.., n), row, done)| told(row, *done, *n))
            .collect();
        let next = last.or_else(|| after.map(str::to_owned));
        let count = events.len();
        Some((json!({"events": events, "next": next}), count))
    }

    /// All events that are shown by now, in their order, with whether each says that there is an effect.
    fn shown(&self, kind: Kind) -> Vec<(Place, &Row, bool)> {
        let ends = |row: &&Row| {
            let ended = matches!(row.event, Event::Effect | Event::FailedJob);
            row.kind == kind && row.mode == Mode::Queued && ended
        };
        let rows: Vec<&Row> = self.ledger.rows().iter().filter(ends).collect();
        let mut shown = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            let done = row.event == Event::Effect;
            let next = rows.get(index + 1).map(|next| next.at.saturating_add(1));
            let at = match row.callback {
                Some(Fault::CallbackLost) => continue,
                Some(Fault::CallbackLate { ms }) => {
                    let late = i64::try_from(ms).unwrap_or(i64::MAX).saturating_mul(1_000);
                    row.at.saturating_add(late)
                }
                Some(Fault::CallbackReordered) => {
                    let held = row.at.saturating_add(HELD);
                    next.map_or(held, |next| next.min(held))
                }
                _ => row.at,
            };
            shown.push(((at, row.seq, 0), *row, done));
            match row.callback {
                Some(Fault::CallbackTwice) => shown.push(((at, row.seq, 1), *row, done)),
                Some(Fault::CallbackContradictory) => {
                    shown.push(((at, row.seq, 1), *row, !done));
                }
                _ => {}
            }
        }
        let now = self.now();
        shown.retain(|((at, ..), ..)| *at <= now);
        shown.sort_by_key(|(place, ..)| *place);
        shown
    }
}

fn place(cursor: &str) -> Option<Place> {
    let mut parts = cursor.split('.');
    let place = (
        parts.next()?.parse().ok()?,
        parts.next()?.parse().ok()?,
        parts.next()?.parse().ok()?,
    );
    parts.next().is_none().then_some(place)
}

fn told(row: &Row, done: bool, n: u8) -> Value {
    // What is shown twice has one name; what contradicts it has one of its own.
    let contrary = n > 0 && row.callback == Some(Fault::CallbackContradictory);
    let id = format!("evt_{}{}", row.seq, if contrary { "_contrary" } else { "" });
    let mut event = json!({"id": id, "reference": row.reference, "job": row.job});
    if done {
        event["type"] = "effect.completed".into();
        event["effect"] = row.id.as_deref().unwrap_or("none").into();
    } else {
        event["type"] = "effect.failed".into();
        event["reason"] = "the job failed; nothing was done".into();
    }
    event
}
