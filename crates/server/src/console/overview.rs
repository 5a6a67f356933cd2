//! Now: what is under way, what nobody knows, and the last day hour by hour. All of it of one tenant.

use askama::Template;
use factum::conversations::CorrectionFilter;
use factum::core::{Span, State, Timestamp};
use factum::statements::Audience;
use factum::{Filter, Incident, Record};

use super::health::{Together, health};
use super::page::Shell;
use super::words::Chip;
use super::{Visit, shown};
use crate::actions::page;
use crate::app::App;
use crate::call::Call;
use crate::reply::{Failure, Reply};
use crate::run::allowed;

/// Rows of one state that are looked at; more are counted as "and more".
const LOOKED_AT: usize = 1_000;
/// The hours that are drawn.
const HOURS: i64 = 24;
const HOUR: Span = Span::from_secs(3_600);

#[derive(Template)]
#[template(path = "overview.html")]
struct Page {
    shell: Shell,
    person: Option<Number>,
    corrections: Option<usize>,
    states: Vec<StateRow>,
    days: Vec<Multiple>,
    /// How destinations do, for whoever may see all of the tenant's.
    health: Option<Together>,
    partial: bool,
}

/// What waits for a person.
struct Number {
    count: usize,
    /// Windows that close within the hour.
    closing: usize,
}

/// How many actions stand in a state that is not final.
struct StateRow {
    chip: Chip,
    name: &'static str,
    count: usize,
    more: bool,
}

/// One bar of a drawing.
pub(super) struct Bar {
    pub(super) label: String,
    pub(super) count: usize,
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) height: usize,
}

/// One of several small drawings with the same scale.
struct Multiple {
    title: &'static str,
    tone: &'static str,
    total: usize,
    bars: Vec<Bar>,
}

/// Heights of drawings, in pixels.
const TALL: usize = 64;

/// Bars for counts, on a scale that reaches to `most`.
pub(super) fn bars(counts: &[(String, usize)], most: usize, width: usize) -> Vec<Bar> {
    let scale = most.max(1);
    let numbered = counts.iter().enumerate();
    numbered
        .map(|(place, (label, count))| {
            // Whatever there is can be seen.
            let height = (count * TALL / scale).max(usize::from(*count > 0) * 2);
            Bar {
                label: label.clone(),
                count: *count,
                x: place * width,
                y: TALL - height,
                height,
            }
        })
        .collect()
}

/// The page.
pub(super) async fn show(app: &App, visit: &Visit) -> Result<Reply, Failure> {
    let engine = app.factum().engine();
    let now = engine.now();
    let (mut states, mut partial) = (Vec::new(), false);
    for state in State::ALL.into_iter().filter(|state| !state.is_final()) {
        let filter = Filter {
            state: Some(state),
            limit: LOOKED_AT,
            ..Filter::default()
        };
        let found = page(app, &visit.caller, filter).await?;
        let more = found.next_before.is_some();
        partial |= more;
        states.push(StateRow {
            chip: Chip::of(state),
            name: state.name(),
            count: found.records.len(),
            more,
        });
    }
    let newest = Filter {
        limit: LOOKED_AT,
        ..Filter::default()
    };
    let newest = page(app, &visit.caller, newest).await?;
    partial |= newest.next_before.is_some();
    shown(&Page {
        shell: visit.shell("/overview"),
        person: waiting(app, visit, now).await?,
        corrections: corrections(app, visit).await?,
        days: last_day(&newest.records, now),
        health: health(app, visit).await?,
        states,
        partial,
    })
}

async fn waiting(app: &App, visit: &Visit, now: Timestamp) -> Result<Option<Number>, Failure> {
    if allowed(&visit.caller, Call::Review.need()).is_err() {
        return Ok(None);
    }
    let engine = app.factum().engine();
    let all = engine
        .waiting_for_people(&visit.caller, &Incident::default())
        .await?;
    let closes = |record: &&Record| {
        let until = engine.window_ends(record);
        until.is_some_and(|until| until > now && until < now + HOUR)
    };
    Ok(Some(Number {
        count: all.len(),
        closing: all.iter().filter(closes).count(),
    }))
}

async fn corrections(app: &App, visit: &Visit) -> Result<Option<usize>, Failure> {
    if allowed(&visit.caller, Call::Corrections.need()).is_err() {
        return Ok(None);
    }
    let filter = CorrectionFilter {
        conversation: None,
        after: None,
        limit: LOOKED_AT,
    };
    let due = app
        .factum()
        .corrections(&visit.caller.tenant, filter, Audience::Operator);
    Ok(Some(due.await?.len()))
}

/// What was recorded in each of the last hours, by what became of it.
fn last_day(newest: &[Record], now: Timestamp) -> Vec<Multiple> {
    type Belongs = fn(&Record) -> bool;
    let kinds: [(&str, &str, Belongs); 4] = [
        ("recorded", "grey", |_| true),
        ("done", "green", |record| {
            record.status().state == State::Succeeded
        }),
        ("not done", "red", |record| {
            let state = record.status().state;
            state.is_final() && state != State::Succeeded
        }),
        ("still unknown", "magenta", |record| {
            record.status().state == State::OutcomeUnknown
        }),
    ];
    let hour_of = |record: &Record| {
        let age = now.since(record.action.intent.submitted_at).as_micros();
        let hours = age / HOUR.as_micros();
        usize::try_from(HOURS - 1 - hours).ok()
    };
    let hours = usize::try_from(HOURS).unwrap_or(0);
    let mut most = 0;
    let counted = kinds.map(|(title, tone, belongs)| {
        let mut counts = vec![0; hours];
        for record in newest.iter().filter(|record| belongs(record)) {
            if let Some(count) = hour_of(record).and_then(|hour| counts.get_mut(hour)) {
                *count += 1;
            }
        }
        most = most.max(counts.iter().copied().max().unwrap_or(0));
        (title, tone, counts)
    });
    let drawn = counted.into_iter().map(|(title, tone, counts)| {
        let total = counts.iter().sum();
        let labelled: Vec<(String, usize)> = counts
            .into_iter()
            .enumerate()
            .map(|(place, count)| (format!("{} h ago", hours - 1 - place), count))
            .collect();
        Multiple {
            title,
            tone,
            total,
            bars: bars(&labelled, most, 10),
        }
    });
    drawn.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_there_is_can_be_seen() {
        let counts = [
            ("a".to_owned(), 0),
            ("b".to_owned(), 1),
            ("c".to_owned(), 1_000),
        ];
        let heights: Vec<usize> = bars(&counts, 1_000, 10)
            .iter()
            .map(|bar| bar.height)
            .collect();
        assert_eq!(heights, [0, 2, TALL]);
        assert_eq!(bars(&counts[..1], 0, 10)[0].height, 0);
    }
}
