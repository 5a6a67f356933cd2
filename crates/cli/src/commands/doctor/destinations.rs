//! Destinations: their contracts, secrets, callbacks and keys, and whether they can be reached.

use std::collections::BTreeMap;

use factum::setup;
use factum_engine::{Destination, Reach};

use super::report::Report;
use super::{contracts, served};
use crate::commands::destination_test;
use crate::place::Place;

pub(super) async fn look(place: &Place, offline: bool, report: &mut Report) {
    let catalogue = match setup::catalogue(&place.config) {
        Ok(catalogue) => {
            report.ok("contracts", "every contract of the catalogue parses");
            catalogue
        }
        Err(problem) => return report.failure("contracts", &problem.into()),
    };
    let made = match setup::destinations(&place.config, &catalogue) {
        Ok(made) => made,
        Err(problem) => return report.failure("destinations", &problem.into()),
    };
    if made.is_empty() {
        let remedy = "add one: factum destination add PROVIDER --name NAME --base URL";
        report.warning(
            "destinations",
            "none is configured, so nothing can be submitted",
            remedy,
        );
    }
    contracts::look(&made, report);
    let bare: BTreeMap<String, String> = setup::without_auth(&place.config, &catalogue)
        .into_iter()
        .collect();
    for destination in made.values() {
        volatile_keys(destination, report);
        let Reach::Http(target) = &destination.reach else {
            continue;
        };
        let about = format!("destination {}", destination.name);
        match destination_test::secret(target).await {
            Err(rule) => {
                report.error(&about, rule, "make the secret available to the process that serves, where its reference points");
                continue;
            }
            Ok(true) => report.ok(&about, "its secret can be read"),
            Ok(false) => match bare.get(&destination.name) {
                Some(kinds) => report.warning(
                    &about,
                    format!("no auth is configured, and its provider takes: {kinds}"),
                    "write auth = { … }, unless it is a stand-in or a proxy adds the credentials",
                ),
                None => report.ok(&about, "it asks for no secret"),
            },
        }
        callbacks(destination, &about, report).await;
        if !offline {
            reach(destination, &about, report).await;
        }
    }
}

/// Callbacks are a choice: without a secret none is taken, and nothing waits for one. One that cannot be read is a mistake.
async fn callbacks(destination: &Destination, about: &str, report: &mut Report) {
    if !destination.takes_callbacks() {
        return;
    }
    if destination.callback_secrets.is_empty() {
        let mut contracts = destination
            .operations
            .values()
            .filter_map(|op| op.contract.as_ref());
        let waits = match contracts.any(|own| own.contract.feed().is_some()) {
            true => {
                "what is waited for is read from its feed of events, where an operation has one"
            }
            false => "none waited for",
        };
        report.ok(
            about,
            format!(
                "its contracts describe callbacks; without `callback = {{ secrets = [\"env:NAME\"] }}` none is taken, and {waits}"
            ),
        );
        return;
    }
    for secret in &destination.callback_secrets {
        if let Err(error) = secret.resolve(factum::core::Span::from_secs(5)).await {
            let says = format!("a callback secret cannot be read: {error}");
            let remedy = "make it available to the process that serves, where its reference points";
            report.error(about, says, remedy);
        }
    }
}

/// A key that changes from call to call makes every repeat a new effect.
fn volatile_keys(destination: &Destination, report: &mut Report) {
    for (name, operation) in &destination.operations {
        let Some(template) = &operation.key_template else {
            continue;
        };
        for part in template.volatile() {
            let about = format!("destination {}", destination.name);
            let says = format!(
                "the key of {name} is made as `{}`, and `{part}` sounds like another value on every call",
                template.text()
            );
            let remedy = "list only what names the intent: with a time or a random value in the key, a repeat is a second effect";
            report.warning(&about, says, remedy);
        }
    }
}

/// Out of reach is a warning: destinations come and go, and the engine waits for them.
async fn reach(destination: &Destination, about: &str, report: &mut Report) {
    let Reach::Http(target) = &destination.reach else {
        return;
    };
    let found = destination_test::ask(destination, target).await;
    if let Some(date) = found.date {
        served::apart(&format!("the clock of {}", destination.name), date, report);
    }
    if found.well {
        report.ok(about, found.says);
    } else {
        report.warning(about, found.says, found.remedy);
    }
}
