//! What comes in from outside: its licences and where it comes from, as `deny.toml` allows. `cargo deny` knows more, and is long to
//! build; these two may not wait for who has it.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;
use toml::Table;

use crate::tree;

/// Whether a licence expression (SPDX, or the old form with a stroke) can be met by licences that are allowed.
fn is_met(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace(" WITH ", "+WITH+");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    let met = any(&words, &mut at, allowed);
    assert_eq!(at, words.len(), "{expression} is no licence expression");
    met
}

fn any(words: &[&str], at: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let mut met = all(words, at, allowed);
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        met |= all(words, at, allowed);
    }
    met
}

fn all(words: &[&str], at: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let mut met = one(words, at, allowed);
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        met &= one(words, at, allowed);
    }
    met
}

fn one(words: &[&str], at: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let word = words[*at];
    *at += 1;
    if word != "(" {
        return allowed.contains(&word.replace("+WITH+", " WITH "));
    }
    let met = any(words, at, allowed);
    assert_eq!(words.get(*at), Some(&")"), "{words:?}");
    *at += 1;
    met
}

fn texts(section: &toml::Value, member: &str) -> BTreeSet<String> {
    let list = section[member].as_array().expect("a list");
    list.iter()
        .filter_map(|text| text.as_str().map(str::to_owned))
        .collect()
}

#[test]
fn expressions_are_understood() {
    let allowed =
        BTreeSet::from(["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned));
    for (expression, met) in [
        ("MIT", true),
        ("GPL-3.0-only", false),
        ("MIT/Apache-2.0", true),
        ("MIT AND GPL-3.0-only", false),
        ("ISC AND (GPL-3.0-only OR MIT)", true),
        ("GPL-3.0-only OR ISC AND MIT", true),
        ("Apache-2.0 WITH LLVM-exception OR Apache-2.0", true),
        ("Apache-2.0", false),
    ] {
        assert_eq!(is_met(expression, &allowed), met, "{expression}");
    }
}

#[test]
fn what_comes_in_has_a_licence_and_a_source_that_are_allowed() {
    let rules: Table = std::fs::read_to_string(tree::root().join("deny.toml"))
        .expect("deny.toml is read")
        .parse()
        .expect("deny.toml is TOML");
    let (allowed, sources) = (
        texts(&rules["licenses"], "allow"),
        texts(&rules["sources"], "allow-registry"),
    );
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let told = Command::new(cargo)
        .args([
            "metadata",
            "--format-version",
            "1",
            "--locked",
            "--filter-platform",
            "x86_64-unknown-linux-gnu",
        ])
        .current_dir(tree::root())
        .output()
        .expect("cargo is there");
    let known: Value = serde_json::from_slice(&told.stdout).expect("cargo tells JSON");
    let packages = known["packages"].as_array().expect("packages");
    assert!(packages.len() > 100, "{}", packages.len());
    let mut wrong = Vec::new();
    for package in packages {
        let (name, licence) = (
            &package["name"],
            package["license"].as_str().unwrap_or_default(),
        );
        if licence.is_empty() || !is_met(licence, &allowed) {
            wrong.push(format!("{name} is under {licence:?}"));
        }
        let source = package["source"]
            .as_str()
            .map(|source| source.trim_start_matches("registry+"));
        if source.is_some_and(|source| !sources.contains(source)) {
            wrong.push(format!("{name} comes from {source:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
