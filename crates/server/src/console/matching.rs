//! A destination's own list, laid beside what waits: which row is which action's effect, by our mark, by a reference, or by subject and
//! time. Each row is confirmed by a person; nothing is recorded by matching.

use std::collections::BTreeMap;

use askama::Template;
use factum::core::Span;
use factum::review::export::{Columns, Form as Shape, headings, rows};
use factum::review::matching::{By, Matched, Proposal};
use factum::{ActionId, Record};

use super::incident::{Asked, named};
use super::page::{Shell, wrong};
use super::plan::Item;
use super::words::title_of;
use super::{Visit, shown};
use crate::app::App;
use crate::reply::{Failure, Reply};
use crate::review::{VERDICTS_MAX, WITHIN_S};

#[derive(Template)]
#[template(path = "match.html")]
struct Page {
    shell: Shell,
    asked: Asked,
    /// The export, so that it can be matched again by other columns.
    export: String,
    columns: Vec<Column>,
    headings: Vec<String>,
    rows: usize,
    found: Vec<Found>,
    missing: Vec<Missing>,
    unclear: Vec<Unclear>,
    rows_left: usize,
    complete: bool,
    /// More were found than one form may be about.
    more: usize,
}

/// What a column is for, and which one it is.
struct Column {
    name: &'static str,
    label: &'static str,
    is: String,
}

/// A row that is an action's effect.
struct Found {
    id: String,
    title: String,
    row: usize,
    receipt: Option<String>,
    by: &'static str,
    reasons: String,
    /// What is alike may be somebody else's: such a row is chosen by hand.
    chosen: bool,
    item: String,
}

/// An action that no row belongs to.
struct Missing {
    id: String,
    title: String,
    item: String,
}

/// What cannot be told apart.
struct Unclear {
    actions: Vec<(String, String)>,
    rows: String,
    why: &'static str,
}

/// The list that a form brings, and what it says.
pub(super) async fn show(app: &App, visit: &Visit) -> Result<Reply, Failure> {
    let form = &visit.form;
    let asked = Asked::read(form);
    named(&asked)?;
    let export = form.text("file").or(form.text("export")).ok_or_else(|| {
        let remedy = "go back, and choose a file, or paste the list";
        wrong("/export", "there is no list in it", remedy)
    })?;
    let shape = Shape::guessed(export);
    let headings = headings(export, shape)?;
    let columns = columns(visit, &headings);
    let read = rows(export, shape, &columns)?;
    let incident = Asked::incident(form)?;
    let engine = app.factum().engine();
    let waiting = engine.waiting_for_people(&visit.caller, &incident).await?;
    let waiting: BTreeMap<ActionId, Record> = waiting
        .into_iter()
        .map(|record| (record.id(), record))
        .collect();
    let within = Span::from_secs(i64::try_from(WITHIN_S).unwrap_or(0));
    let matched = engine
        .match_export(&visit.caller, &incident, &read, within)
        .await?;
    let complete = form.text("complete").is_some();
    let mut found = found(&matched, &waiting)?;
    let mut missing = missing(&matched, &waiting, complete)?;
    let all = found.len() + missing.len();
    found.truncate(VERDICTS_MAX);
    missing.truncate(VERDICTS_MAX - found.len());
    shown(&Page {
        shell: visit.shell("/review"),
        more: all - found.len() - missing.len(),
        found,
        missing,
        unclear: unclear(&matched, &waiting),
        rows_left: matched.rows_left.len(),
        rows: read.len(),
        complete,
        columns: named_columns(columns),
        headings,
        export: export.to_owned(),
        asked,
    })
}

/// The columns that a person has named; those that are guessed where nobody has.
fn columns(visit: &Visit, headings: &[String]) -> Columns {
    let form = &visit.form;
    if form.text("columns").is_none() {
        return Columns::guessed(headings);
    }
    let own = |name: &str| form.text(name).map(str::to_owned);
    Columns {
        receipt: own("receipt"),
        reference: own("reference"),
        subject: own("subject"),
        at: own("at"),
    }
}

fn named_columns(columns: Columns) -> Vec<Column> {
    let column = |name, label, is: Option<String>| Column {
        name,
        label,
        is: is.unwrap_or_default(),
    };
    vec![
        column("receipt", "Their own number", columns.receipt),
        column("reference", "Somebody else's reference", columns.reference),
        column("subject", "What it is about", columns.subject),
        column("at", "When it was made", columns.at),
    ]
}

fn title(waiting: &BTreeMap<ActionId, Record>, id: ActionId) -> String {
    let title = waiting.get(&id).map(title_of);
    title.unwrap_or_else(|| id.to_string())
}

/// What is said of an action; none of one that was settled while the list was read.
fn item(
    waiting: &BTreeMap<ActionId, Record>,
    id: ActionId,
    fill: impl FnOnce(&mut Item),
) -> Option<Result<String, Failure>> {
    let mut item = Item::seen(waiting.get(&id)?);
    fill(&mut item);
    Some(item.text())
}

fn found(matched: &Matched, waiting: &BTreeMap<ActionId, Record>) -> Result<Vec<Found>, Failure> {
    let all = matched.proposals.iter().filter_map(|one: &Proposal| {
        let reasons = one.reasons.join("; ");
        let item = item(waiting, one.action, |item| {
            item.verdict = Some("happened".to_owned());
            item.receipt = one.receipt.clone();
            item.why = Some(format!("row {} of the list: {reasons}", one.row));
        })?;
        Some(item.map(|item| Found {
            id: one.action.to_string(),
            title: title(waiting, one.action),
            row: one.row,
            receipt: one.receipt.clone(),
            by: match one.by {
                By::Mark => "our mark",
                By::Reference => "reference",
                By::SubjectAndTime => "subject and time",
            },
            reasons,
            chosen: one.by != By::SubjectAndTime,
            item,
        }))
    });
    all.collect()
}

/// A row that is not there says something only where all rows are.
fn missing(
    matched: &Matched,
    waiting: &BTreeMap<ActionId, Record>,
    complete: bool,
) -> Result<Vec<Missing>, Failure> {
    let all = matched.not_found.iter().filter_map(|id| {
        let item = item(waiting, *id, |item| {
            let why = "no row of the list, which is said to be complete, belongs to it";
            item.verdict = complete.then(|| "did_not_happen".to_owned());
            item.why = complete.then(|| why.to_owned());
        })?;
        Some(item.map(|item| Missing {
            id: id.to_string(),
            title: title(waiting, *id),
            item,
        }))
    });
    all.collect()
}

fn unclear(matched: &Matched, waiting: &BTreeMap<ActionId, Record>) -> Vec<Unclear> {
    let all = matched.unclear.iter().map(|one| {
        let rows: Vec<String> = one.rows.iter().map(ToString::to_string).collect();
        Unclear {
            actions: (one.actions.iter())
                .map(|id| (id.to_string(), title(waiting, *id)))
                .collect(),
            rows: rows.join(", "),
            why: one.why,
        }
    });
    all.collect()
}
