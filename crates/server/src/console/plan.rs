//! Verdicts on many at once: first every action that is touched and what each verdict will cause, then the verdicts, one by one.
//!
//! The form carries the list itself, each row with the version that its reader saw, so that nothing else is ruled on than was shown.

use std::collections::BTreeMap;

use askama::Template;
use factum::{ActionId, Person, Problem, Record, Ruled, Ruling};
use serde::{Deserialize, Serialize};

use super::page::{Shell, wrong};
use super::review::place_of;
use super::rule::{Choice, WHY_MAX, choice, choices, wants_two};
use super::words::{Chip, title_of};
use super::{Said, Visit, done, shown};
use crate::app::App;
use crate::reply::{Failure, Reply};
use crate::review::{VERDICTS_MAX, ruling};

/// What a form says of one action.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Item {
    action: String,
    /// Its version, as its reader saw it.
    seen: u64,
    /// The form's own verdict where none is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) verdict: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) receipt: Option<String>,
    /// What this one rests on beside what all do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
}

impl Item {
    /// An action as it stands.
    pub(super) fn seen(record: &Record) -> Self {
        Self {
            action: record.id().to_string(),
            seen: record.version,
            verdict: None,
            receipt: None,
            why: None,
        }
    }

    /// As a form carries it.
    pub(super) fn text(&self) -> Result<String, Failure> {
        serde_json::to_string(self).map_err(|error| {
            tracing::error!(%error, "a row of a list cannot be written");
            unread("open the list again")
        })
    }
}

fn unread(remedy: &str) -> Failure {
    wrong("/item", "a row of the list cannot be read", remedy)
}

/// A verdict that may be given on all of a list, with what follows.
pub(super) struct Offer {
    pub(super) word: &'static str,
    pub(super) title: String,
    pub(super) causes: Vec<String>,
    pub(super) final_word: bool,
}

/// The verdicts for a list of which this is one.
pub(super) async fn offers(app: &App, record: &Record) -> Vec<Offer> {
    let place = app.factum().engine().whereabouts(record).await;
    let all = choices(record, &place, &place_of(record)).into_iter();
    all.map(|one| Offer {
        word: one.word,
        title: one.title,
        causes: one.causes,
        final_word: one.final_word,
    })
    .collect()
}

/// One verdict of the list.
struct Wish {
    item: Item,
    id: ActionId,
    word: String,
    ruling: Ruling,
    why: String,
}

impl Wish {
    /// All that a form says.
    fn all(visit: &Visit) -> Result<Vec<Self>, Failure> {
        let form = &visit.form;
        let why = form.said("why", WHY_MAX)?;
        let shared = form.text("verdict");
        let mut wishes = Vec::new();
        for text in form.all("item") {
            let item: Item =
                serde_json::from_str(text).map_err(|_| unread("open the list again"))?;
            let Some(word) = item.verdict.as_deref().or(shared) else {
                let remedy = "go back, and choose one";
                return Err(wrong("/verdict", "no verdict is chosen", remedy));
            };
            wishes.push(Self {
                id: item
                    .action
                    .parse()
                    .map_err(|_| unread("open the list again"))?,
                ruling: ruling(word, item.receipt.clone())?,
                word: word.to_owned(),
                why: match &item.why {
                    Some(own) => format!("{why}: {own}"),
                    None => why.clone(),
                },
                item,
            });
        }
        if wishes.is_empty() {
            let remedy = "go back, and choose some of the list";
            return Err(wrong("/item", "nothing is chosen", remedy));
        }
        if wishes.len() > VERDICTS_MAX {
            let remedy = "go back, and choose fewer at once";
            return Err(wrong("/item", "more are chosen than 500", remedy));
        }
        Ok(wishes)
    }
}

#[derive(Template)]
#[template(path = "plan.html")]
struct Page {
    shell: Shell,
    groups: Vec<Group>,
    count: usize,
    why: String,
    /// Some of it cannot be taken back.
    final_word: bool,
}

/// Those that one verdict is about.
struct Group {
    choice: Choice,
    destination: String,
    rows: Vec<Row>,
}

/// One action of the list, and what is said of it.
struct Row {
    id: String,
    title: String,
    chip: Chip,
    receipt: Option<String>,
    why: Option<String>,
    /// Why nothing will come of it, or not at once.
    hindrance: Option<String>,
    item: String,
}

/// The list, spelled out; or, once it is confirmed, the verdicts.
pub(super) async fn decide(app: &App, visit: &Visit) -> Result<Reply, Failure> {
    let wishes = Wish::all(visit)?;
    if visit.form.text("confirm").is_some() {
        return carried_out(app, visit, wishes).await;
    }
    let engine = app.factum().engine();
    let count = wishes.len();
    let mut groups: BTreeMap<(String, String, String), Group> = BTreeMap::new();
    for wish in wishes {
        let record = engine.load_for(&visit.caller, wish.id).await?;
        let destination = place_of(&record);
        let operation = record.action.scope.operation.clone();
        let place = engine.whereabouts(&record).await;
        let Some(choice) = choice(&wish.word, &record, &place, &destination) else {
            return Err(unread("open the list again"));
        };
        let at = (wish.word.clone(), destination.clone(), operation);
        let group = groups.entry(at).or_insert_with(|| Group {
            choice,
            destination,
            rows: Vec::new(),
        });
        group.rows.push(row(app, visit, &record, wish)?);
    }
    let groups: Vec<Group> = groups.into_values().collect();
    shown(&Page {
        shell: visit.shell("/review"),
        count,
        why: visit.form.said("why", WHY_MAX)?,
        final_word: groups.iter().any(|group| group.choice.final_word),
        groups,
    })
}

fn row(app: &App, visit: &Visit, record: &Record, wish: Wish) -> Result<Row, Failure> {
    let item = Item {
        verdict: Some(wish.word),
        ..wish.item
    };
    Ok(Row {
        id: record.id().to_string(),
        title: title_of(record),
        chip: Chip::of(record.status().state),
        hindrance: hindrance(app, visit, record, &item),
        receipt: item.receipt.clone(),
        why: item.why.clone(),
        item: item.text()?,
    })
}

fn hindrance(app: &App, visit: &Visit, record: &Record, item: &Item) -> Option<String> {
    let taken_by = record.known.taken_by().map(|(_, by)| by);
    if record.version != item.seen {
        return Some("something came to it since you saw it: it will be left as it is".to_owned());
    }
    if let Some(by) = taken_by.filter(|by| *by != visit.caller.principal) {
        return Some(format!("{by} works on it: it will be left as it is"));
    }
    wants_two(app, record).then(|| "counts once a second person says the same".to_owned())
}

#[derive(Template)]
#[template(path = "outcomes.html")]
struct Outcomes {
    shell: Shell,
    recorded: usize,
    proposed: usize,
    left: Vec<Left>,
}

/// One that was left as it is.
struct Left {
    id: String,
    code: &'static str,
    rule: String,
    remedy: String,
}

async fn carried_out(app: &App, visit: &Visit, wishes: Vec<Wish>) -> Result<Reply, Failure> {
    let (factum, caller) = (app.factum().clone(), visit.caller.clone());
    let ruled = app.to_its_end(async move {
        let mut all = Vec::with_capacity(wishes.len());
        for wish in wishes {
            let (engine, person) = (factum.engine(), Person::named(&caller.principal));
            let ruled = match engine.load_for(&caller, wish.id).await {
                Ok(_) => {
                    let seen = wish.item.seen;
                    let ruled = engine.rule_on_seen(wish.id, seen, wish.ruling, person, &wish.why);
                    ruled.await
                }
                Err(problem) => Err(problem),
            };
            all.push((wish.id, ruled));
        }
        Ok(all)
    });
    let (mut recorded, mut proposed, mut left) = (0, 0, Vec::new());
    for (id, ruled) in ruled.await? {
        match ruled {
            Ok(Ruled::Recorded(_)) => recorded += 1,
            Ok(Ruled::Proposed(..)) => proposed += 1,
            Err(problem) => left.push(left_out(id, &problem)),
        }
    }
    if left.is_empty() && proposed == 0 {
        return Ok(done("/review", Said::RuledAll));
    }
    shown(&Outcomes {
        shell: visit.shell("/review"),
        recorded,
        proposed,
        left,
    })
}

fn left_out(id: ActionId, problem: &Problem) -> Left {
    Left {
        id: id.to_string(),
        code: problem.code.code(),
        rule: problem.rule.to_string(),
        remedy: problem.remedy.to_string(),
    }
}
