//! The queue: what needs a person now, the gravest first, among those what has the least time left, then what waits longest.

use std::collections::BTreeMap;

use askama::Template;
use factum::core::{Step, Timestamp};
use factum::{ActionId, Incident, Record};

use super::incident::{Asked, Cluster, clusters};
use super::known::question;
use super::page::{Shell, wrong};
use super::words::{When, clock, length};
use super::{Said, Visit, done, shown};
use crate::app::App;
use crate::reply::{Failure, Reply};
use crate::review::urgency;

/// Items of a page.
const ITEMS_MAX: usize = 50;

#[derive(Template)]
#[template(path = "review.html")]
struct Page {
    shell: Shell,
    items: Vec<Item>,
    /// More wait than are shown.
    waiting: usize,
    /// This very page.
    here: String,
    /// More wait than were looked at.
    more: bool,
    /// What hangs together, while everything is shown.
    incidents: Vec<Cluster>,
    /// How many come before these, and the addresses of the pages beside this one.
    before: usize,
    earlier: Option<String>,
    later: Option<String>,
    places: Vec<Place>,
    destination: String,
}

/// What waits at one destination.
struct Place {
    name: String,
    count: usize,
    here: bool,
}

/// One item.
struct Item {
    id: String,
    question: String,
    why: String,
    consequence: &'static str,
    destination: String,
    operation: String,
    since: When,
    waits: String,
    /// Until when sending under the same key could still settle it.
    window: Option<Window>,
    taken_by: Option<String>,
    mine: bool,
    /// Who has proposed a verdict that waits for a second person, and which.
    proposed: Option<String>,
    late: bool,
}

/// Time that runs out.
pub(super) struct Window {
    pub(super) until: When,
    pub(super) clock: String,
    /// None once it is over.
    pub(super) left: Option<String>,
    /// Less than an hour.
    pub(super) short: bool,
}

impl Window {
    pub(super) fn of(until: Timestamp, now: Timestamp) -> Self {
        let left = until.since(now);
        let open = until > now;
        Self {
            until: When::of(until),
            clock: clock(until),
            left: open.then(|| length(left)),
            short: open && left.as_micros() < 3_600 * 1_000_000,
        }
    }
}

/// The page.
pub(super) async fn queue(app: &App, visit: &Visit) -> Result<Reply, Failure> {
    let destination = visit.query.text("destination").unwrap_or_default();
    let engine = app.factum().engine();
    let (all, more) = engine
        .newest_waiting(&visit.caller, &Incident::default())
        .await?;
    let incidents = clusters(&all);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for record in &all {
        *counts.entry(place_of(record)).or_default() += 1;
    }
    let mut found: Vec<Record> = all
        .into_iter()
        .filter(|record| destination.is_empty() || place_of(record) == destination)
        .collect();
    let waiting = found.len();
    found.sort_by_cached_key(|record| urgency(app, record));
    let page: usize = visit
        .query
        .text("page")
        .and_then(|text| text.parse().ok())
        .unwrap_or(1);
    let last = waiting.div_ceil(ITEMS_MAX).max(1);
    let page = page.clamp(1, last);
    let before = (page - 1) * ITEMS_MAX;
    let at = |page: usize| format!("/review?{}", visit.query.with("page", &page.to_string()));
    let mut items = Vec::with_capacity(ITEMS_MAX);
    for record in found.iter().skip(before).take(ITEMS_MAX) {
        items.push(item(app, visit, record).await?);
    }
    shown(&Page {
        shell: visit.shell("/review"),
        items,
        waiting,
        here: at(page),
        more,
        incidents,
        before,
        earlier: (page > 1).then(|| at(page - 1)),
        later: (page < last).then(|| at(page + 1)),
        places: counts
            .into_iter()
            .map(|(name, count)| Place {
                here: name == destination,
                name,
                count,
            })
            .collect(),
        destination: destination.to_owned(),
    })
}

pub(super) fn place_of(record: &Record) -> String {
    let scope = &record.action.scope;
    factum::destination::own_name(&scope.tenant, &scope.destination).to_owned()
}

/// Since when a person is needed: since a record says so, or else since the last request that nobody knows the end of.
fn needed_since(record: &Record) -> Timestamp {
    let opened = record.known.waits_for_a_person_since();
    let since = opened.or(record.known.marked_at().max());
    since.unwrap_or(record.action.intent.submitted_at)
}

async fn item(app: &App, visit: &Visit, record: &Record) -> Result<Item, Failure> {
    let engine = app.factum().engine();
    let now = engine.now();
    let (status, next) = engine.assess(record);
    let since = needed_since(record);
    let place = engine.whereabouts(record).await;
    let destination = place_of(record);
    let proposed = engine.proposed_verdict(record).await?;
    let taken_by = record.known.taken_by().map(|(_, by)| by.to_owned());
    let view = app
        .factum()
        .view(record, false, factum::statements::Audience::Operator);
    Ok(Item {
        id: record.id().to_string(),
        question: question(record, &status, &place, &destination),
        why: match next.step {
            Step::Review(why) => why.sentence().to_owned(),
            _ => next.why.to_string(),
        },
        consequence: record.action.intent.promises.consequence.name(),
        operation: record.action.scope.operation.clone(),
        since: When::of(since),
        waits: length(now.since(since)),
        window: engine
            .window_ends(record)
            .map(|until| Window::of(until, now)),
        mine: taken_by.as_deref() == Some(&visit.caller.principal),
        taken_by,
        proposed: proposed
            .map(|one| format!("{} proposes: {}", one.by, one.verdict.replace('_', " "))),
        late: view.contact.is_some_and(|contact| contact.late),
        destination,
    })
}

/// Has the destination asked once more about some, or about all that are shown.
pub(super) async fn check_many(app: &App, visit: &Visit) -> Result<Reply, Failure> {
    let mut ids = Vec::new();
    for text in visit.form.all("action") {
        let id: ActionId = text
            .parse()
            .map_err(|_| wrong("/action", "it names no action", "open the queue again"))?;
        ids.push(id);
    }
    if visit.form.text("all").is_some() {
        let incident = Asked::incident(&visit.form)?;
        let engine = app.factum().engine();
        let waiting = engine.waiting_for_people(&visit.caller, &incident).await?;
        ids = waiting.iter().map(Record::id).collect();
    }
    if ids.is_empty() {
        let remedy = "go back, and choose some of the queue";
        return Err(wrong("/action", "nothing is chosen", remedy));
    }
    let (factum, caller) = (app.factum().clone(), visit.caller.clone());
    app.to_its_end(async move {
        for id in ids {
            let engine = factum.engine();
            engine.load_for(&caller, id).await?;
            // Of one that cannot be asked about, its page says why.
            let _ = engine.check_again(id, &caller.principal).await;
        }
        Ok(())
    })
    .await?;
    Ok(done("/review", Said::AskedSome))
}
