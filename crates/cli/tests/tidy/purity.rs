//! What the pure parts must not say: clocks, randomness, I/O, tasks, serialisation, maps without an order.

use crate::plain::{code, words};
use crate::tree::{self, report};

/// Ways to a clock.
const CLOCKS: &[&str] = &[
    "SystemTime",
    "Instant",
    "UNIX_EPOCH",
    "clock_gettime",
    "jiff",
    "chrono",
];
/// Ways to randomness.
const RANDOMNESS: &[&str] = &["rand", "getrandom", "thread_rng", "RandomState"];
/// Ways out of the process, and of the thread.
const OUTSIDE: &[&str] = &[
    "tokio",
    "async",
    "await",
    "hyper",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "File",
    "OpenOptions",
    "rusqlite",
    "println",
    "eprintln",
];
/// Parts of the standard library that do I/O or wait.
const STD: &[&str] = &[
    "std::fs",
    "std::net",
    "std::env",
    "std::thread",
    "std::process",
    "std::io",
    "std::sync::mpsc",
];
/// Maps whose order of iteration changes from run to run: order is behaviour.
const UNORDERED: &[&str] = &["HashMap", "HashSet"];

/// Which words of these stand in the code, with their lines.
fn said(source: &str, banned: &[&[&str]], paths: &[&str]) -> Vec<String> {
    let code = code(source);
    let mut found = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let bad_words = words(line).filter(|word| banned.iter().any(|list| list.contains(word)));
        let bad_paths = paths.iter().copied().filter(|path| line.contains(*path));
        found.extend(
            bad_words
                .chain(bad_paths)
                .map(|bad| format!("{}: {bad}", number + 1)),
        );
    }
    found
}

#[track_caller]
fn check(folder: &str, banned: &[&[&str]], paths: &[&str]) {
    let sources = tree::files(|path| path.starts_with(folder) && path.ends_with(".rs"));
    assert!(!sources.is_empty(), "{folder} has sources");
    let found: Vec<String> = sources
        .iter()
        .flat_map(|file| {
            let said = said(&file.text, banned, paths);
            said.into_iter().map(|bad| format!("{}:{bad}", file.path))
        })
        .collect();
    report(&format!("{folder} is pure, and says"), &found);
}

#[test]
fn the_core_is_pure() {
    let no_serde = &["serde", "Serialize", "Deserialize", "serde_json"][..];
    let paths = [STD, &["std::time"]].concat();
    check(
        "crates/core/src/",
        &[CLOCKS, RANDOMNESS, OUTSIDE, UNORDERED, no_serde],
        &paths,
    );
}

#[test]
fn faults_are_drawn_from_data_alone() {
    let paths = [STD, &["std::time"]].concat();
    check(
        "crates/faults/src/",
        &[CLOCKS, RANDOMNESS, OUTSIDE, UNORDERED],
        &paths,
    );
}

#[test]
fn a_contract_does_no_io() {
    check(
        "crates/contract/src/",
        &[CLOCKS, RANDOMNESS, OUTSIDE, UNORDERED],
        STD,
    );
}

#[test]
fn the_driver_of_the_engine_takes_time_and_randomness_as_data() {
    check(
        "crates/engine/src/driver/",
        &[CLOCKS, RANDOMNESS, OUTSIDE, UNORDERED],
        STD,
    );
}

#[test]
fn an_impure_line_is_found_and_a_comment_is_not() {
    let source = "// Instant\nlet at = Instant::now();\nlet s = \"tokio\";\nuse std::fs::read;\n";
    assert_eq!(
        said(source, &[CLOCKS, OUTSIDE], STD),
        ["2: Instant", "4: std::fs"]
    );
}
