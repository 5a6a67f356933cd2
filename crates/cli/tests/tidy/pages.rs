//! The pages at the root: what they have to name, and how long they may be.

use factum::Config;
use factum_core::State;

use crate::manifests;
use crate::tree::{self, report};

#[test]
fn the_architecture_names_every_crate_and_stays_short() {
    let page = tree::read("ARCHITECTURE.md");
    let unnamed: Vec<String> = manifests::all()
        .into_iter()
        .map(|manifest| manifest.folder)
        .filter(|folder| !page.contains(&format!("`{folder}`")))
        .collect();
    report("crates that ARCHITECTURE.md does not name", &unnamed);
    assert!(
        page.lines().count() <= 250,
        "ARCHITECTURE.md is within 250 lines"
    );
}

#[test]
fn the_recipes_stay_short() {
    let page = tree::read("CONTRIBUTING.md");
    assert!(
        page.lines().count() <= 120,
        "CONTRIBUTING.md is within 120 lines"
    );
}

#[test]
fn the_glossary_has_every_state() {
    let page = tree::read("docs/glossary.md");
    let missing: Vec<String> = State::ALL
        .iter()
        .map(|state| state.name().to_owned())
        .filter(|name| !page.contains(&format!("\n| `{name}` |")))
        .collect();
    report("states that docs/glossary.md leaves out", &missing);
}

#[test]
fn the_page_on_configuration_is_a_configuration_and_names_the_defaults() {
    let page = tree::read("docs/configuration.md");
    let block = page.split("```toml\n").nth(1).unwrap();
    let text = block.split("```").next().unwrap();
    let written = Config::parse("docs/configuration.md", text).unwrap();
    let defaults = Config::default();
    assert_eq!(
        format!("{:?}", (&written.server, &written.store, &written.limits)),
        format!(
            "{:?}",
            (&defaults.server, &defaults.store, &defaults.limits)
        )
    );
}

/// A version's heading: `## [0.1.0] - 2026-01-31`.
fn versions(changelog: &str) -> Vec<(&str, &str)> {
    let headings = changelog
        .lines()
        .filter_map(|line| line.strip_prefix("## ["));
    headings
        .filter_map(|heading| heading.split_once(']'))
        .map(|(version, rest)| (version, rest.trim_start_matches(" - ")))
        .collect()
}

#[test]
fn the_changelog_begins_with_what_is_unreleased_and_has_this_version() {
    let page = tree::read("CHANGELOG.md");
    let versions = versions(&page);
    assert_eq!(versions.first(), Some(&("Unreleased", "")));
    let workspace = manifests::workspace();
    let current = workspace["workspace"]["package"]["version"]
        .as_str()
        .expect("a version");
    let (_, date) = versions
        .iter()
        .find(|(version, _)| *version == current)
        .expect("the workspace's version has a section");
    let shape: String = date
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    assert_eq!(shape, "0000-00-00", "a release has its date");
    let known = [
        "Added",
        "Changed",
        "Deprecated",
        "Removed",
        "Fixed",
        "Security",
    ];
    let sections = page.lines().filter_map(|line| line.strip_prefix("### "));
    let unknown: Vec<String> = sections
        .filter(|name| !known.contains(name))
        .map(str::to_owned)
        .collect();
    report("sections that Keep a Changelog does not have", &unknown);
}

#[test]
fn the_licences_are_there() {
    assert!(tree::read("LICENSE-APACHE").contains("Apache License"));
    assert!(tree::read("LICENSE-MIT").starts_with("MIT License"));
    let workspace = manifests::workspace();
    assert_eq!(
        workspace["workspace"]["package"]["license"].as_str(),
        Some("Apache-2.0 OR MIT")
    );
}
