//! The configured destinations: where actions can go, and what each operation promises. Never a secret, nor where one is kept.

use axum::http::StatusCode;
use factum::core::policy::{Column, after_unknown};
use factum::core::promise::{Authority, ProcessingMax, Retention};
use factum::core::{Preference, Promises};
use factum::{Code, Operation, Reach};
use serde_json::{Map, Value, json};

use crate::actions::{AFTER, LIMIT, LIMIT_PARAM};
use crate::app::App;
use crate::call::Doc;
use crate::incoming::Incoming;
use crate::reply::{Failure, Reply, json_reply};

pub(crate) const LIST: Doc = Doc {
    name: "list_destinations",
    summary: "The configured destinations, by name.",
    says: "",
    query: &[AFTER, LIMIT_PARAM],
    headers: &[],
    body: None,
    answers: &[(200, "A page of them.", "DestinationList")],
    problems: &[],
};

pub(crate) const ONE: Doc = Doc {
    name: "destination",
    summary: "One destination.",
    says: "",
    query: &[],
    headers: &[],
    body: None,
    answers: &[(200, "The destination.", "Destination")],
    problems: &[Code::UnknownDestination],
};

pub(crate) fn list(app: &App, incoming: &Incoming) -> Result<Reply, Failure> {
    let (tenant, query) = (&*incoming.caller.tenant, &incoming.query);
    let limit: usize = query.parsed("limit").unwrap_or(LIMIT);
    let after = query.text("after").unwrap_or_default();
    let all = app.factum().engine().destinations_of(tenant);
    let mut names: Vec<&str> = all
        .map(|(name, _)| name)
        .filter(|name| *name > after)
        .collect();
    names.sort_unstable();
    let more = names.len() > limit;
    names.truncate(limit);
    let next_after = names.last().filter(|_| more);
    let destinations: Vec<Value> = names
        .iter()
        .filter_map(|name| view(app, tenant, name))
        .collect();
    json_reply(
        StatusCode::OK,
        &json!({"destinations": destinations, "next_after": next_after}),
    )
}

pub(crate) fn one(app: &App, incoming: &Incoming) -> Result<Reply, Failure> {
    named(app, &incoming.caller.tenant, incoming.param("name"))
}

/// A tenant's destination by its name, or that there is none.
pub(crate) fn named(app: &App, tenant: &str, name: &str) -> Result<Reply, Failure> {
    match view(app, tenant, name) {
        Some(destination) => json_reply(StatusCode::OK, &destination),
        None => {
            let known: Vec<&str> = app
                .factum()
                .engine()
                .destinations_of(tenant)
                .map(|(name, _)| name)
                .collect();
            let remedy = if known.is_empty() {
                "add one: `factum destination add`".to_owned()
            } else {
                format!("use one of: {}", known.join(", "))
            };
            Err(Failure::new(
                Code::UnknownDestination,
                "",
                format!("no destination {name:?} is configured here"),
                remedy,
            ))
        }
    }
}

pub(crate) fn view(app: &App, tenant: &str, name: &str) -> Option<Value> {
    let destination = app.factum().engine().destination(tenant, name)?;
    let operations: Map<String, Value> = destination
        .operations
        .iter()
        .map(|(name, op)| (name.clone(), operation(op)))
        .collect();
    let any = destination.any_operation.as_ref();
    let gate = &destination.gate;
    Some(json!({
        "name": destination.own_name(),
        "provider": destination.provider,
        "account": destination.account,
        "standing": app.factum().engine().directory().destination(tenant, name).word(),
        "base": app.factum().config().destination(&destination.name)
            .filter(|_| matches!(destination.reach, Reach::Http(_))).map(|written| without_user(&written.base)),
        "callback": factum::callbacks::path(app.factum().engine(), tenant, name).map(|path| json!({
            "path": path,
            "can_be_checked": !destination.callback_secrets.is_empty(),
        })),
        "operations": operations,
        "any_operation": any.map(operation),
        "gate": {
            "in_flight_max": gate.in_flight_max,
            "per_second": gate.per_second,
            "burst": gate.burst,
            "circuit_failures": gate.circuit_failures,
            "circuit_cooldown": gate.circuit_cooldown.to_string(),
        },
    }))
}

/// An address without what may stand before its `@`.
fn without_user(base: &str) -> String {
    let Some((scheme, rest)) = base.split_once("://") else {
        return base.to_owned();
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

fn operation(own: &Operation) -> Value {
    let promises = &own.promises;
    let column = first_column(promises);
    let neither = match &own.preference {
        Preference::Ask => "ask",
        Preference::PreferMissing { .. } => "prefer_missing",
        Preference::PreferDuplicate { .. } => "prefer_duplicate",
    };
    json!({
        "consequence": promises.consequence.name(),
        "offers": offers(promises),
        "when_unknown": {"offer": column.name(), "then": after_unknown(promises.consequence, column).name()},
        "key_retention": promises.key.map(|key| retention(key.retention)),
        "lookup_lag": promises.lookup.map(|lookup| lookup.lag.to_string()),
        "processing_max": match promises.processing_max {
            ProcessingMax::Stated(span) => span.to_string(),
            ProcessingMax::Assumed(span) => format!("{span} (assumed)"),
            ProcessingMax::Unpublished => "unpublished".to_owned(),
        },
        "neither": neither,
        "finish": own.finish,
        "attempts_max": own.limits.attempts_max,
        "carried_by": if own.by_workers.is_some() { "work" } else { "factum" },
    })
}

fn retention(retention: Retention) -> String {
    match retention {
        Retention::Floor(span) => format!("at least {span}"),
        Retention::AssumedFloor(span) => format!("at least {span} (assumed)"),
        Retention::Unbounded => "for ever".to_owned(),
        Retention::Approximate(span) => format!("about {span}"),
        Retention::Unpublished => "unpublished".to_owned(),
    }
}

/// The first column of the policy table that a fresh action could use.
fn first_column(promises: &Promises) -> Column {
    let key = promises.key.and_then(|key| key.retention.floor());
    match (
        key,
        promises.lookup.map(|lookup| lookup.authority),
        promises.cancel,
    ) {
        (Some(_), _, _) => Column::KeyWithinWindow,
        (None, Some(Authority::Authoritative), _) => Column::AuthoritativeLookup,
        (None, _, Some(_)) => Column::CancelByKey,
        (None, Some(Authority::Partial), None) => Column::PartialLookup,
        (None, None, None) => Column::Neither,
    }
}

/// What a destination offers by which an unknown outcome may be settled.
fn offers(promises: &Promises) -> Vec<&'static str> {
    let lookup = promises.lookup.map(|lookup| match lookup.authority {
        Authority::Authoritative => "authoritative_lookup",
        Authority::Partial => "partial_lookup",
    });
    let completion = |wanted: bool, word: &'static str| wanted.then_some(word);
    [
        promises.key.map(|_| "key"),
        lookup,
        promises.cancel.map(|_| "cancel_by_key"),
        completion(promises.completion.is_some_and(|c| c.poll), "poll"),
        completion(promises.completion.is_some_and(|c| c.callback), "callback"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_user() {
        let cases = [
            ("https://acme.example/v2", "https://acme.example/v2"),
            (
                "https://me:secret@acme.example/v2?a@b",
                "https://acme.example/v2?a@b",
            ),
            ("https://a@b:c@acme.example", "https://acme.example"),
            ("acme", "acme"),
        ];
        for (base, shown) in cases {
            assert_eq!(without_user(base), shown);
        }
    }
}
