//! A test: every member and every word that the parser knows is used by the contracts of the kitchen, and stands in the
//! language's page. What the parser asks for is noted while it reads them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::contract::Contract;
use crate::provider::Provider;

/// What was asked for: the section's name and the member's, and whether it was ever there.
#[derive(Default)]
struct Asked {
    members: BTreeMap<(String, String), bool>,
    words: BTreeSet<&'static str>,
}

thread_local! {
    static ASKED: RefCell<Asked> = RefCell::default();
}

pub(crate) fn note(path: &str, name: &str, there: bool) {
    ASKED.with_borrow_mut(|asked| {
        let section = shared(section(path), name);
        let key = (section.to_owned(), name.to_owned());
        *asked.members.entry(key).or_default() |= there;
    });
}

pub(crate) fn note_word(word: &'static str) {
    ASKED.with_borrow_mut(|asked| asked.words.insert(word));
}

/// What a section is: one form can stand under many names, and is asked for in the same way under each.
fn section(path: &str) -> &str {
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let is_name = |part: &&&str| part.parse::<usize>().is_err();
    let last = parts.iter().rfind(is_name).copied().unwrap_or_default();
    match (parts.first().copied(), last) {
        // A schema's members have names of their own.
        (Some("input"), _) if parts.len() > 1 => "schema",
        (Some("examples"), "answer" | "lookup" | "poll" | "cancel") => "given",
        (Some("examples"), "whoami" | "callback" | "event") => "given",
        (Some("examples"), "request" | "asked") => "wanted",
        (_, "claims" | "source") => "source",
        (_, "absent" | "again" | "never" | "completed" | "confirmed" | "failed" | "found") => {
            "when"
        }
        (_, "key_honoured" | "key_ignored" | "replayed" | "several" | "too_late") => "when",
        (_, "working" | "expired") => "when",
        (_, "more" | "negative" | "positive" | "queued" | "reversed" | "tests" | "body") => "json",
        (_, "after" | "at" | "in" | "object" | "receipt" | "retry_after") => "take",
        (_, "too_late_receipt") => "take",
        (_, other) => other,
    }
}

/// Members that several sections have alike.
fn shared<'a>(section: &'a str, name: &str) -> &'a str {
    match (section, name) {
        (
            "effect" | "lookup" | "poll" | "cancel" | "whoami" | "events",
            "json" | "form" | "graphql",
        ) => "request",
        (
            "key" | "reference",
            "alphabet" | "length_min" | "length_max" | "length_in" | "prefix",
        ) => "form",
        (section, _) => section,
    }
}

/// Lists files of the kitchen with their texts.
macro_rules! kitchen {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../tests/kitchen/sink/", $name)))),*]
    };
}

const PROVIDER: &str = include_str!("../tests/kitchen/sink/provider.toml");
const OPERATIONS: &[(&str, &str)] = kitchen![
    "charge.create.toml",
    "charge.refund.toml",
    "file.upload.toml",
    "issue.create.toml",
    "note.put.toml",
    "page.write.toml",
    "place.given.toml",
    "place.member.toml",
    "place.query.toml",
    "place.quoted_header.toml",
    "place.variable.toml",
    "row.add.toml",
];

fn asked() -> Asked {
    Provider::parse("provider.toml", PROVIDER).unwrap();
    for (path, text) in OPERATIONS {
        Contract::parse(path, Some(("provider.toml", PROVIDER)), text).unwrap();
    }
    ASKED.take()
}

#[test]
fn the_kitchen_uses_every_member() {
    let asked = asked();
    assert!(asked.members.len() > 200);
    let unused = asked.members.iter().filter(|(_, there)| !**there);
    let unused: Vec<_> = unused
        .map(|((section, name), _)| format!("{section}/{name}"))
        .collect();
    assert_eq!(unused, [""; 0]);
}

#[test]
fn every_member_and_word_is_in_the_page() {
    let page = include_str!("../../../docs/contracts.md");
    // Whatever stands between backticks: names alone, and examples with several.
    let code = page.split('`').skip(1).step_by(2);
    let words = code.flat_map(|code| code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
    let words: BTreeSet<&str> = words.collect();
    let asked = asked();
    let names = asked.members.keys().map(|(_, name)| name.as_str());
    let all: BTreeSet<&str> = names.chain(asked.words.iter().copied()).collect();
    let missing: Vec<_> = all.difference(&words).collect();
    assert_eq!(missing, [&""; 0]);
}
