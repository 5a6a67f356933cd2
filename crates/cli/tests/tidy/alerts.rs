//! Alerts and the dashboard: each alert has a runbook that names it and a case that fires it, and both read only metrics that
//! docs/metrics.md lists. That those are scraped is tested with a running server.

use std::collections::BTreeSet;

use crate::tree::{self, report};

const RULES: &str = "ops/prometheus/factum.rules.yml";
const CASES: &str = "ops/prometheus/factum.rules.test.yml";
const DASHBOARD: &str = "ops/grafana/factum.json";

/// Alerts with their runbooks, in the order of the file.
fn alerts(rules: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in rules.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("- alert: ") {
            found.push((name.to_owned(), String::new()));
        } else if let (Some(page), Some(last)) = (line.strip_prefix("runbook: "), found.last_mut())
        {
            page.clone_into(&mut last.1);
        }
    }
    found
}

/// Our metrics that a text reads, by the names of their families.
fn read_by(text: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c: char| !is_name(c));
    let ours = words.filter(|word| word.starts_with("factum_"));
    let family = |word: &str| {
        let ends = ["_bucket", "_sum", "_count"];
        let end = ends.iter().find_map(|end| word.strip_suffix(end));
        end.unwrap_or(word).to_owned()
    };
    ours.map(family).collect()
}

fn listed() -> BTreeSet<String> {
    let page = tree::read("docs/metrics.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| Some(row.split_once('`')?.0.to_owned()))
        .collect()
}

#[test]
fn every_alert_has_a_runbook_that_names_it_and_a_case() {
    let found = alerts(&tree::read(RULES));
    assert!(found.len() > 10, "{found:?}");
    let cases = tree::read(CASES);
    let index = tree::read("docs/runbooks/README.md");
    let mut lacks = Vec::new();
    for (name, page) in found {
        if !page.starts_with("docs/runbooks/") || !tree::root().join(&page).exists() {
            lacks.push(format!("{name} has no runbook: {page:?}"));
        } else if !tree::read(&page).contains(&name) || !index.contains(&name) {
            lacks.push(format!("{page} or the index does not name {name}"));
        }
        let fires = format!("alertname: {name}\n        exp_alerts:");
        if !cases.contains(&fires) {
            lacks.push(format!("no case of {CASES} fires {name}"));
        }
    }
    report("alerts that lead nowhere", &lacks);
}

#[test]
fn rules_and_dashboard_read_only_metrics_that_there_are() {
    let listed = listed();
    let mut unknown = Vec::new();
    for file in [RULES, CASES, DASHBOARD] {
        let read = read_by(&tree::read(file));
        assert!(read.len() > 10, "{file} reads {read:?}");
        unknown.extend(
            read.difference(&listed)
                .map(|name| format!("{file}: {name}")),
        );
    }
    report("metrics that docs/metrics.md does not list", &unknown);
}

#[test]
fn an_alert_and_a_metric_are_found_in_a_text() {
    let rules = "  - alert: Down\n    expr: rate(factum_x_seconds_bucket[5m]) > 1\n    annotations:\n      runbook: docs/a.md\n";
    assert_eq!(alerts(rules), [("Down".to_owned(), "docs/a.md".to_owned())]);
    assert_eq!(
        read_by(rules),
        BTreeSet::from(["factum_x_seconds".to_owned()])
    );
}
