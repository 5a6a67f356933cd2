//! What stands in the store at a moment: what is unknown and what waits for a person, for how long, whose window is about to close,
//! and which conversations wait for a correction. Read when somebody asks, and then kept for a while: [`Standing::look`] takes no more than a twentieth of the time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use factum_core::{ActionId, Span, State, Step, Timestamp};
use factum_store::notice::CORRECTION_DUE;
use factum_store::{EntryFilter, Filter, Kind, Record, StoreError};

use super::Metrics;
use crate::engine::Engine;

/// Upper ends of the ages that are told apart, with their words; what is older is `older`.
pub const AGES: &[(Span, &str)] = &[
    (Span::from_secs(60), "1m"),
    (Span::from_secs(600), "10m"),
    (Span::from_secs(3_600), "1h"),
    (Span::from_secs(21_600), "6h"),
    (Span::from_secs(86_400), "1d"),
    (Span::FOREVER, "older"),
];

/// A window that closes within this is about to close.
pub const CLOSES_SOON: Span = Span::from_secs(3_600);

/// Rows that are read at once.
const PAGE: usize = 500;

/// It is not looked again within this, and not within so many times as the last look took.
const REST: Duration = Duration::from_secs(5);
const REST_TIMES: u32 = 20;

/// Actions by their age, with the age of the oldest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aged {
    /// How many there are, in the order of [`AGES`].
    pub by_age: [u64; AGES.len()],
    /// The age of the oldest.
    pub oldest: Span,
}

impl Aged {
    fn add(&mut self, age: Span) {
        let place = AGES.iter().position(|(end, _)| age <= *end);
        if let Some(count) = place.and_then(|place| self.by_age.get_mut(place)) {
            *count += 1;
        }
        self.oldest = self.oldest.max(age);
    }
}

/// How actions of one operation at one destination stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stands {
    /// Those that are unknown and not closed, by the time since they were submitted.
    pub unknown: Aged,
    /// Those that wait for a person, by the time since one was first needed.
    pub review: Aged,
    /// Unknown ones that can be resolved by a repeat under their key, and within [`CLOSES_SOON`] no more.
    pub closing: u64,
    /// Corrections that nobody has passed on yet, one for each conversation.
    pub corrections: u64,
}

/// How actions stand, by destination and operation.
pub type Look = BTreeMap<(String, String), Stands>;

/// The last look, and how long it rests.
#[derive(Debug, Default)]
pub struct Standing(tokio::sync::Mutex<Option<(Instant, Duration, Arc<Look>)>>);

impl Standing {
    /// How actions stand, as of a few seconds ago at the most, unless reading it takes long: then as of twenty times as long. Who
    /// asks while it is read waits for the same answer.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn look(&self, engine: &Engine) -> Result<Arc<Look>, StoreError> {
        let mut last = self.0.lock().await;
        if let Some((at, rest, look)) = &*last
            && at.elapsed() < *rest
        {
            return Ok(look.clone());
        }
        let began = Instant::now();
        let look = Arc::new(read(engine).await?);
        let rest = REST.max(began.elapsed() * REST_TIMES);
        *last = Some((Instant::now(), rest, look.clone()));
        Ok(look)
    }
}

async fn read(engine: &Engine) -> Result<Look, StoreError> {
    let mut look = shown(engine.metrics());
    let now = engine.now();
    let unknown = Filter {
        state: Some(State::OutcomeUnknown),
        ..Filter::default()
    };
    each(engine, unknown, |record| {
        if record.status().is_settled() {
            return;
        }
        let stands = stands(&mut look, engine.metrics(), record);
        stands
            .unknown
            .add(now.since(record.action.intent.submitted_at));
        stands.closing += u64::from(closes_soon(engine, record, now));
    })
    .await?;
    let review = Filter {
        next: Some("review".to_owned()),
        ..Filter::default()
    };
    each(engine, review, |record| {
        let since = record.known.waits_for_a_person_since();
        let since = since.unwrap_or(record.action.intent.submitted_at);
        let stands = stands(&mut look, engine.metrics(), record);
        stands.review.add(now.since(since));
    })
    .await?;
    corrections(engine, &mut look).await?;
    Ok(look)
}

/// Each operation that anything was counted of, so that what there was shows as nought once it is over.
fn shown(metrics: &Metrics) -> Look {
    let used = metrics.rows().filter(|row| row.is_used());
    used.map(|row| (row.destination.clone(), row.operation.clone()))
        .map(|names| (names, Stands::default()))
        .collect()
}

/// Adds the corrections that are due. They are kept beside the actions, under an action's id and a conversation's name.
async fn corrections(engine: &Engine, look: &mut Look) -> Result<(), StoreError> {
    let mut page = EntryFilter {
        label: Some(CORRECTION_DUE.to_owned()),
        limit: PAGE,
        ..EntryFilter::of(Kind::Correction)
    };
    loop {
        let entries = engine.store().entries(page.clone()).await?;
        for entry in &entries {
            let action = entry.key.id.split(' ').next();
            let Some(action) = action.and_then(|id| id.parse::<ActionId>().ok()) else {
                continue;
            };
            // One that was purged meanwhile is nobody's to correct.
            if let Some(record) = engine.store().load(action).await? {
                stands(look, engine.metrics(), &record).corrections += 1;
            }
        }
        let last = entries.last().map(|entry| &entry.key);
        page.after = last.map(|key| (key.tenant.clone(), key.id.clone()));
        if entries.len() < PAGE {
            return Ok(());
        }
    }
}

async fn each(
    engine: &Engine,
    filter: Filter,
    mut found: impl FnMut(&Record),
) -> Result<(), StoreError> {
    let mut page = Filter {
        limit: PAGE,
        ..filter
    };
    loop {
        let records = engine.store().list(page.clone()).await?;
        records.iter().for_each(&mut found);
        page.before = records.last().map(Record::id);
        if records.len() < PAGE {
            return Ok(());
        }
    }
}

/// Under the names of its row, so that there are no more of them than rows.
fn stands<'a>(look: &'a mut Look, metrics: &Metrics, record: &Record) -> &'a mut Stands {
    let scope = &record.action.scope;
    let row = metrics.row(&scope.destination, &scope.operation);
    look.entry((row.destination.clone(), row.operation.clone()))
        .or_default()
}

fn closes_soon(engine: &Engine, record: &Record, now: Timestamp) -> bool {
    match engine.assess(record).1.step {
        Step::Send(plan) => plan.not_after <= now + CLOSES_SOON,
        Step::LookUp
        | Step::Poll { .. }
        | Step::CancelByKey { .. }
        | Step::Wait
        | Step::Review(_)
        | Step::None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_told_apart_and_the_oldest_is_kept() {
        let mut aged = Aged::default();
        for seconds in [0, 60, 61, 3_601, 90_000] {
            aged.add(Span::from_secs(seconds));
        }
        assert_eq!(aged.by_age, [2, 1, 0, 1, 0, 1]);
        assert_eq!(aged.oldest, Span::from_secs(90_000));
    }
}
