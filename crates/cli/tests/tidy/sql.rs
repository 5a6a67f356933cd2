//! What no statement may do: read a clock, or compute a time. Times are bound; policy is the core's.

use crate::plain::words;
use crate::tree::{self, report};

/// Functions and words that read a clock or compute with times.
const CLOCKS: &[&str] = &[
    "now",
    "strftime",
    "datetime",
    "julianday",
    "unixepoch",
    "timediff",
    "current_timestamp",
    "current_time",
    "current_date",
    "clock_timestamp",
    "transaction_timestamp",
    "statement_timestamp",
    "localtimestamp",
    "interval",
];

/// Ends of the names of columns and parameters that hold an instant or a length of time.
const TIMES: &[&str] = &[
    "_at",
    "_until",
    "now",
    "deadline",
    "lease",
    "_micros",
    "_after",
    "not_before",
];

/// A statement without comments and the contents of strings, in lower case.
fn plain(statement: &str) -> String {
    let lines = statement
        .lines()
        .map(|line| line.split("--").next().unwrap_or_default());
    let joined = lines.collect::<Vec<_>>().join("\n");
    let unquoted = joined.split('\'').step_by(2).collect::<Vec<_>>().join("''");
    unquoted.to_lowercase()
}

fn is_time(word: &str) -> bool {
    TIMES.iter().any(|end| word.ends_with(end))
}

/// What is wrong with a statement.
fn wrong(statement: &str) -> Vec<String> {
    let plain = plain(statement);
    // A parameter may well be called `now`: what is bound is no clock.
    let unbound = plain.replace([':', '$', '@'], "bound_");
    let clocks = words(&unbound).filter(|word| CLOCKS.contains(word));
    let mut found: Vec<String> = clocks
        .map(|word| format!("reads or computes a time: {word}"))
        .collect();
    for (at, sign) in plain.match_indices(['+', '-', '*', '/']) {
        let before = words(&plain[..at]).last().unwrap_or_default();
        let after = words(&plain[at + sign.len()..]).next().unwrap_or_default();
        if is_time(before) || is_time(after) {
            found.push(format!("arithmetic on a time: {before} {sign} {after}"));
        }
    }
    found
}

/// The one statement that reads a clock, the database's: what it answers is bound everywhere else.
const THE_CLOCK: &str = "crates/store/src/postgres/sql/now.sql";

/// And the one function that an application calls: nobody else is there to tell the time, and an action's id has to sort by it.
const OF_AN_ID: &str =
    "factum.fresh_id(v_lane, (extract(epoch FROM clock_timestamp()) * 1000)::int8)";

/// Where that function is made, and made anew.
const MAKES_IDS: [&str; 2] = [
    "crates/store/src/postgres/migrations/0005_identity.sql",
    "crates/store/src/postgres/migrations/0011_seal.sql",
];

#[test]
fn statements_compute_no_times() {
    let mut found = Vec::new();
    for file in tree::files(|path| path.ends_with(".sql") && path != THE_CLOCK) {
        let text = if MAKES_IDS.contains(&file.path.as_str()) {
            file.text.replacen(OF_AN_ID, "", 1)
        } else {
            file.text
        };
        found.extend(
            wrong(&text)
                .into_iter()
                .map(|bad| format!("{}: {bad}", file.path)),
        );
    }
    report("time in statements", &found);
}

#[test]
fn the_store_has_no_clock_in_statements_written_in_code() {
    let mut found = Vec::new();
    for file in tree::files(|path| path.starts_with("crates/store/src/") && path.ends_with(".rs")) {
        let lower = file.text.to_lowercase();
        let named = [
            "strftime(",
            "current_timestamp",
            "datetime('",
            "julianday(",
            "unixepoch(",
        ];
        found.extend(
            named
                .iter()
                .filter(|name| lower.contains(**name))
                .map(|name| format!("{}: {name}", file.path)),
        );
    }
    report("time in statements", &found);
}

#[test]
fn a_clock_and_arithmetic_are_found_and_a_bound_time_is_not() {
    assert!(wrong("update action set version = version + 1 where next_at <= :now and note = 'now() - 1' -- now()").is_empty());
    assert_eq!(wrong("select strftime('%s')").len(), 1);
    assert_eq!(wrong("select now()").len(), 1);
    assert_eq!(wrong("select 1 where next_at + 30 < ?1").len(), 1);
    assert_eq!(wrong("select 1 where :now - lease_until > 0").len(), 1);
}
