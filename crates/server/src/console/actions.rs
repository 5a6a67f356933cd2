//! Actions: found by what is known of them, newest first.

use askama::Template;
use factum::core::State;
use factum::{ActionId, Filter, Record};

use super::page::Shell;
use super::words::{Chip, When};
use super::{Visit, moved, shown};
use crate::actions::{next_words, page, state_words};
use crate::app::App;
use crate::reply::{Failure, Reply};

/// Rows of a page.
const ROWS: usize = 50;

/// Among how many of the newest a text is looked for.
const SEARCHED_MAX: usize = 2_000;

#[derive(Template)]
#[template(path = "actions.html")]
struct Page {
    shell: Shell,
    asked: Asked,
    rows: Vec<Row>,
    states: Vec<&'static str>,
    steps: Vec<&'static str>,
    destinations: Vec<String>,
    /// The address of what comes after these.
    older: Option<String>,
    /// Anything narrows the list.
    narrowed: bool,
    /// A text was looked for among so many of the newest.
    searched: Option<usize>,
}

/// What is asked for.
struct Asked {
    text: String,
    state: String,
    next: String,
    destination: String,
}

/// An action in a list.
pub(super) struct Row {
    pub(super) id: String,
    pub(super) chip: Chip,
    pub(super) title: String,
    pub(super) destination: String,
    pub(super) operation: String,
    pub(super) key: String,
    pub(super) next: String,
    pub(super) at: When,
}

impl Row {
    pub(super) fn of(app: &App, record: &Record) -> Self {
        let view = app
            .factum()
            .view(record, false, factum::statements::Audience::Operator);
        Self {
            chip: Chip::of(record.status().state),
            title: view.summary.or(view.subject).unwrap_or_default(),
            at: When::of_text(&view.created_at),
            id: view.id,
            destination: view.destination,
            operation: view.operation,
            key: view.key,
            next: match view.next.step {
                "none" => String::new(),
                step => step.replace('_', " "),
            },
        }
    }

    fn holds(&self, text: &str) -> bool {
        let all = [&self.title, &self.key, &self.id, &self.operation];
        all.iter().any(|one| one.to_lowercase().contains(text))
    }
}

/// A page of the list.
pub(super) async fn list(app: &App, visit: &Visit) -> Result<Reply, Failure> {
    let query = &visit.query;
    let own = |name: &str| query.text(name).unwrap_or_default().to_owned();
    let asked = Asked {
        text: own("q"),
        state: own("state"),
        next: own("next"),
        destination: own("destination"),
    };
    if asked.text.parse::<ActionId>().is_ok() {
        return Ok(moved(&format!("/actions/{}", asked.text)));
    }
    let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let filter = Filter {
        state: State::from_name(&asked.state),
        next: some(&asked.next),
        destination: some(&asked.destination),
        before: query.text("before").and_then(|text| text.parse().ok()),
        limit: if asked.text.is_empty() {
            ROWS
        } else {
            SEARCHED_MAX
        },
        ..Filter::default()
    };
    let (rows, older, searched) = if asked.text.is_empty() {
        let page = page(app, &visit.caller, filter).await?;
        let rows = page
            .records
            .iter()
            .map(|record| Row::of(app, record))
            .collect();
        let older = page.next_before.map(|before| query.with("before", &before));
        (rows, older, None)
    } else {
        let (rows, searched) = found(app, visit, filter, &asked.text).await?;
        (rows, None, Some(searched))
    };
    let engine = app.factum().engine();
    let places = engine.destinations_of(&visit.caller.tenant);
    shown(&Page {
        shell: visit.shell("/actions"),
        narrowed: [&asked.text, &asked.state, &asked.next, &asked.destination]
            .iter()
            .any(|one| !one.is_empty()),
        asked,
        rows,
        states: state_words(),
        steps: next_words(),
        destinations: places.map(|(name, _)| name.to_owned()).collect(),
        older,
        searched,
    })
}

/// What a text finds: by key and by conversation among all, by summary and receipt among the newest.
async fn found(
    app: &App,
    visit: &Visit,
    filter: Filter,
    text: &str,
) -> Result<(Vec<Row>, usize), Failure> {
    let by = |key: Option<String>, conversation: Option<String>| Filter {
        key,
        conversation,
        limit: ROWS,
        ..filter.clone()
    };
    let mut hits: Vec<Record> = Vec::new();
    for filter in [
        by(Some(text.to_owned()), None),
        by(None, Some(text.to_owned())),
    ] {
        hits.extend(page(app, &visit.caller, filter).await?.records);
    }
    let newest = page(app, &visit.caller, filter).await?.records;
    let searched = newest.len();
    let wanted = text.to_lowercase();
    let receipt = |record: &Record| {
        let receipt = record.status().receipt;
        receipt.is_some_and(|receipt| receipt.reference.to_lowercase().contains(&wanted))
    };
    hits.extend(
        newest
            .into_iter()
            .filter(|record| receipt(record) || Row::of(app, record).holds(&wanted)),
    );
    hits.sort_by_key(|record| std::cmp::Reverse(record.id()));
    hits.dedup_by_key(|record| record.id());
    hits.truncate(ROWS);
    Ok((
        hits.iter().map(|record| Row::of(app, record)).collect(),
        searched,
    ))
}
