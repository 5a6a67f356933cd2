//! What one incident left: everything at one destination whose requests went out in one stretch of time. A Monday morning with forty
//! questions after an outage is one such page, and not forty.

use std::collections::BTreeMap;

use askama::Template;
use factum::core::{Span, Timestamp};
use factum::view::rfc3339;
use factum::{Incident, Record};

use super::form::Form;
use super::page::{Shell, wrong};
use super::plan::{Item, Offer, offers};
use super::review::place_of;
use super::words::{Chip, When, key_of, title_of};
use super::{Visit, shown};
use crate::app::App;
use crate::reply::Failure;
use crate::reply::Reply;
use crate::review::VERDICTS_MAX;

/// Requests that lie closer together than this belong to one incident.
const GAP: Span = Span::from_secs(600);

const SECOND: Span = Span::from_secs(1);

/// So many make an incident, and so many incidents are pointed out.
const ITEMS_MIN: usize = 3;
const SHOWN_MAX: usize = 3;

/// An incident, as the queue points it out.
pub(super) struct Cluster {
    pub(super) destination: String,
    pub(super) count: usize,
    pub(super) from: Timestamp,
    pub(super) until: Timestamp,
}

impl Cluster {
    /// The address of its page.
    pub(super) fn address(&self) -> String {
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("destination", &self.destination)
            .append_pair("from", &rfc3339(self.from))
            .append_pair("until", &rfc3339(self.until))
            .finish();
        format!("/review/incident?{query}")
    }

    pub(super) fn began(&self) -> When {
        When::of(self.from)
    }

    pub(super) fn ended(&self) -> When {
        When::of(self.until)
    }
}

/// The incidents among what waits, the largest first: at one destination, with no longer pause than the gap between two requests.
pub(super) fn clusters(waiting: &[Record]) -> Vec<Cluster> {
    let mut sent: BTreeMap<String, Vec<Timestamp>> = BTreeMap::new();
    for record in waiting {
        if let Some(at) = record.known.marked_at().max() {
            sent.entry(place_of(record)).or_default().push(at);
        }
    }
    let mut found = Vec::new();
    for (destination, mut times) in sent {
        times.sort_unstable();
        for run in times.chunk_by(|earlier, later| later.since(*earlier) <= GAP) {
            if let (Some(first), Some(last), true) =
                (run.first(), run.last(), run.len() >= ITEMS_MIN)
            {
                let second = SECOND.as_micros();
                let whole = |at: &Timestamp| at.as_micros().div_euclid(second) * second;
                found.push(Cluster {
                    destination: destination.clone(),
                    count: run.len(),
                    // Fields for times know whole seconds, and the last request belongs to it.
                    from: Timestamp::from_micros(whole(first)),
                    until: Timestamp::from_micros(whole(last)) + SECOND,
                });
            }
        }
    }
    found.sort_by_key(|one| std::cmp::Reverse(one.count));
    found.truncate(SHOWN_MAX);
    found
}

#[derive(Template)]
#[template(path = "incident.html")]
struct Page {
    shell: Shell,
    asked: Asked,
    rows: Vec<Row>,
    /// All of them, also those that are not shown.
    count: usize,
    offers: Vec<Offer>,
    destinations: Vec<String>,
    /// Some of them can be asked about.
    can_ask: bool,
}

/// Which incident, as a form says it.
pub(super) struct Asked {
    pub(super) destination: String,
    pub(super) operation: String,
    pub(super) from: String,
    pub(super) until: String,
}

impl Asked {
    pub(super) fn read(form: &Form) -> Self {
        let own = |name: &str| form.text(name).unwrap_or_default().to_owned();
        Self {
            destination: own("destination"),
            operation: own("operation"),
            from: own("from"),
            until: own("until"),
        }
    }

    /// The same as the engine takes it.
    pub(super) fn incident(form: &Form) -> Result<Incident, Failure> {
        let some = |name: &str| form.text(name).map(str::to_owned);
        Ok(Incident {
            destination: some("destination"),
            operation: some("operation"),
            from: form.instant("from")?,
            until: form.instant("until")?,
        })
    }

    /// Times as a field for them has them: in UTC, without a zone, and without a fraction.
    pub(super) fn field(text: &str) -> &str {
        let text = text.strip_suffix('Z').unwrap_or(text);
        text.split_once('.').map_or(text, |(whole, _)| whole)
    }
}

/// One action of it.
struct Row {
    id: String,
    title: String,
    key: String,
    operation: String,
    chip: Chip,
    sent: Option<When>,
    taken_by: Option<String>,
    /// What a form says of it.
    item: String,
}

/// The page.
pub(super) async fn show(app: &App, visit: &Visit) -> Result<Reply, Failure> {
    let asked = Asked::read(&visit.query);
    let engine = app.factum().engine();
    let waiting = engine
        .waiting_for_people(&visit.caller, &Asked::incident(&visit.query)?)
        .await?;
    let rows = waiting.iter().take(VERDICTS_MAX).map(row);
    let rows = rows.collect::<Result<Vec<_>, Failure>>()?;
    let names = engine.destinations_of(&visit.caller.tenant);
    let names = names.map(|(name, _)| name.to_owned()).collect();
    let can_ask = |record: &Record| record.action.intent.promises.lookup.is_some();
    shown(&Page {
        shell: visit.shell("/review"),
        offers: match waiting.first() {
            Some(record) => offers(app, record).await,
            None => Vec::new(),
        },
        can_ask: waiting.iter().any(can_ask),
        count: waiting.len(),
        rows,
        destinations: names,
        asked,
    })
}

fn row(record: &Record) -> Result<Row, Failure> {
    Ok(Row {
        id: record.id().to_string(),
        title: title_of(record),
        key: key_of(record),
        operation: record.action.scope.operation.clone(),
        chip: Chip::of(record.status().state),
        sent: record.known.marked_at().max().map(When::of),
        taken_by: record.known.taken_by().map(|(_, by)| by.to_owned()),
        item: Item::seen(record).text()?,
    })
}

/// Refuses what names no destination.
pub(super) fn named(asked: &Asked) -> Result<(), Failure> {
    if asked.destination.is_empty() {
        let remedy = "go back, and choose the destination that the list is of";
        return Err(wrong("/destination", "no destination is named", remedy));
    }
    Ok(())
}
