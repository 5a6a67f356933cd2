//! Destinations: what each promises about what it can do, and what follows from it when an answer is lost.

use askama::Template;
use factum::Code;
use serde_json::Value;

use super::page::Shell;
use super::{Visit, shown};
use crate::app::App;
use crate::destinations::view;
use crate::reply::{Failure, Reply};

#[derive(Template)]
#[template(path = "destinations.html")]
struct List {
    shell: Shell,
    rows: Vec<Row>,
}

/// A destination in the list.
struct Row {
    name: String,
    provider: String,
    account: String,
    base: String,
    standing: String,
    operations: usize,
}

fn text(value: &Value, member: &str) -> String {
    value[member].as_str().unwrap_or_default().to_owned()
}

/// All of the tenant's.
pub(super) fn list(app: &App, visit: &Visit) -> Result<Reply, Failure> {
    let tenant = &visit.caller.tenant;
    let engine = app.factum().engine();
    let names = engine.destinations_of(tenant);
    let views = names.filter_map(|(name, _)| view(app, tenant, name));
    shown(&List {
        shell: visit.shell("/destinations"),
        rows: views
            .map(|view| Row {
                name: text(&view, "name"),
                provider: text(&view, "provider"),
                account: text(&view, "account"),
                base: text(&view, "base"),
                standing: text(&view, "standing"),
                operations: view["operations"]
                    .as_object()
                    .map_or(0, serde_json::Map::len),
            })
            .collect(),
    })
}

#[derive(Template)]
#[template(path = "destination.html")]
struct Page {
    shell: Shell,
    row: Row,
    operations: Vec<Operation>,
}

/// What is promised about one operation.
struct Operation {
    name: String,
    consequence: String,
    /// What happens after a lost answer, in a sentence.
    lost: String,
    facts: Vec<(&'static str, String)>,
}

/// One of them.
pub(super) fn show(app: &App, visit: &Visit) -> Result<Reply, Failure> {
    let name = visit.param("name");
    let found = view(app, &visit.caller.tenant, name).ok_or_else(|| {
        let rule = format!("no destination {name:?} is configured here");
        Failure::new(Code::UnknownDestination, "", rule, "choose one of the list")
    })?;
    let operations = found["operations"].as_object();
    shown(&Page {
        shell: visit.shell("/destinations"),
        row: Row {
            name: text(&found, "name"),
            provider: text(&found, "provider"),
            account: text(&found, "account"),
            base: text(&found, "base"),
            standing: text(&found, "standing"),
            operations: operations.map_or(0, serde_json::Map::len),
        },
        operations: operations
            .into_iter()
            .flatten()
            .map(|(name, own)| operation(name, own))
            .collect(),
    })
}

fn operation(name: &str, own: &Value) -> Operation {
    let words = |text: &str| text.replace('_', " ");
    let offers = own["offers"].as_array().into_iter().flatten();
    let offers: Vec<String> = offers.filter_map(Value::as_str).map(words).collect();
    let unknown = &own["when_unknown"];
    let some = |label: &'static str, member: &str| Some((label, own[member].as_str()?.to_owned()));
    let facts = [
        Some((
            "offers to find out by",
            if offers.is_empty() {
                "nothing".to_owned()
            } else {
                offers.join(", ")
            },
        )),
        some("knows a key for", "key_retention"),
        some("a lookup lags by up to", "lookup_lag"),
        some("works on a request for up to", "processing_max"),
        own["attempts_max"]
            .as_u64()
            .map(|max| ("attempts at the most", max.to_string())),
        some("carried by", "carried_by"),
    ];
    Operation {
        name: name.to_owned(),
        consequence: text(own, "consequence"),
        lost: lost(
            &text(unknown, "offer"),
            &text(unknown, "then"),
            &text(own, "neither"),
        ),
        facts: facts.into_iter().flatten().collect(),
    }
}

/// What the engine does about a lost answer.
fn lost(offer: &str, then: &str, neither: &str) -> String {
    let by = match offer {
        "neither" => "It offers nothing to find out by".to_owned(),
        offer => format!("By its {}", offer.replace('_', " ")),
    };
    let does = match (then, offer, neither) {
        (_, "neither", "prefer_missing") => "the search ends: rather missing than twice".to_owned(),
        (_, "neither", "prefer_duplicate") => {
            "it is sent again: rather twice than missing".to_owned()
        }
        (then, _, _) => then.replace('_', " "),
    };
    format!("{by}: {does}.")
}
