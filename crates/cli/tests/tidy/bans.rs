//! What no source file may contain, and what each has to begin with.

use crate::manifests;
use crate::plain::{code, uncommented, words};
use crate::tree::{self, File, report};

/// Files aim at 400 lines. Past this they are named in the output.
const LINES_WARNED: usize = 600;
/// Past this they fail, unless excused below with a reason.
const LINES_MAX: usize = 1_000;
/// Path and reason.
const LONG_FOR_A_REASON: &[(&str, &str)] = &[];

fn is_test(path: &str) -> bool {
    path.contains("/tests/")
}

#[test]
fn every_file_says_what_it_is() {
    let silent: Vec<String> = tree::rust()
        .into_iter()
        .filter(|file| !is_test(&file.path) && !file.text.starts_with("//!"))
        .map(|file| file.path)
        .collect();
    report("files that do not open with `//!`", &silent);
}

#[test]
fn files_stay_short_enough_to_hold_in_mind() {
    let mut long = Vec::new();
    for file in tree::rust() {
        let lines = file.text.lines().count();
        let excused = LONG_FOR_A_REASON.iter().any(|(path, _)| *path == file.path);
        if lines > LINES_MAX && !excused {
            long.push(format!("{}: {lines} lines", file.path));
        } else if lines > LINES_WARNED {
            eprintln!("getting long: {}: {lines} lines", file.path);
        }
    }
    report("files that are too long", &long);
    for (path, _) in LONG_FOR_A_REASON {
        assert!(
            tree::read(path).lines().count() > LINES_MAX,
            "{path} needs no excuse any more"
        );
    }
}

/// What a source must not contain.
fn banned(file: &File) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in code(&file.text).lines().enumerate() {
        let mut bad = |what: &str| found.push(format!("{}:{}: {what}", file.path, number + 1));
        let tight: String = line.split_whitespace().collect();
        if tight.contains("todo!(") || tight.contains("unimplemented!(") {
            bad("a part that is missing");
        }
        if tight.contains("#[allow(") || tight.contains("#![allow(") {
            bad("`allow`: use `expect` with a reason, which ends when the cause does");
        }
        if tight.contains("#[ignore]") {
            bad("an ignored test without a reason");
        }
    }
    for (number, line) in file.text.lines().enumerate() {
        let unfinished = words(line).find(|word| UNFINISHED.contains(word));
        if let Some(word) = unfinished.filter(|_| !file.path.ends_with("tidy/bans.rs")) {
            found.push(format!("{}:{}: {word}", file.path, number + 1));
        }
    }
    found
}

/// Words for what somebody meant to do.
const UNFINISHED: &[&str] = &["TODO", "FIXME", "XXX", "HACK"];

#[test]
fn nothing_is_left_for_later() {
    let found: Vec<String> = tree::rust().iter().flat_map(banned).collect();
    report("not allowed in a source", &found);
}

#[test]
fn what_is_not_allowed_is_found() {
    let text = "#[allow(dead_code)]\nfn f() { todo!() } // FIXME\n#[ignore]\n// #[allow(x)]\n";
    let file = File {
        path: "x.rs".to_owned(),
        text: text.to_owned(),
    };
    assert_eq!(banned(&file).len(), 4);
}

/// Paths of somebody's machine, put together here so that this file does not contain them.
const MACHINE: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/fa", "rm"),
    concat!("/home", "/"),
    concat!("/tmp/tar", "get"),
];

/// Hosts that packages come from: which one is the machine's business.
const HOSTS: &[&str] = &[
    concat!("index.", "crates.io"),
    concat!("static.", "crates.io"),
    concat!("pypi", ".org"),
    concat!("files.python", "hosted.org"),
    concat!("registry.", "npmjs.org"),
    concat!("proxy.", "golang.org"),
    concat!("deb.", "debian.org"),
];

/// A path counts where it begins; `/v1/…` in an address of ours does not.
fn names_machine(line: &str) -> Option<&'static str> {
    let begins = |at: usize| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && !".}~_-".contains(c))
    };
    let path = MACHINE
        .iter()
        .find(|path| line.match_indices(**path).any(|(at, _)| begins(at)));
    let host = HOSTS.iter().find(|host| line.contains(**host));
    path.or(host).copied()
}

#[test]
fn no_file_names_a_machine_or_a_registry() {
    let mut found = Vec::new();
    for file in tree::files(|path| path != "Cargo.lock") {
        let named = file.text.lines().enumerate().filter_map(|(number, line)| {
            let bad = names_machine(line)?;
            Some(format!("{}:{}: {bad}", file.path, number + 1))
        });
        found.extend(named);
    }
    report("paths of a machine and hosts of registries", &found);
    let configs = tree::files(|path| path.starts_with(".cargo/"));
    assert!(
        configs.is_empty(),
        "settings of cargo belong to the machine"
    );
}

#[test]
fn a_machine_path_is_told_from_an_address() {
    assert!(names_machine(concat!("see /wo", "rk/notes")).is_some());
    assert!(names_machine(concat!("POST /v1/wo", "rk/claim")).is_none());
    assert!(names_machine(concat!("https://index.", "crates.io/")).is_some());
}

#[test]
fn every_locked_package_comes_from_the_public_registry() {
    let foreign: Vec<String> = manifests::packages()
        .iter()
        .filter(|package| {
            let source = package.get("source").and_then(toml::Value::as_str);
            source.is_some_and(|source| {
                source != "registry+https://github.com/rust-lang/crates.io-index"
            })
        })
        .map(|package| package["name"].to_string())
        .collect();
    report("packages from elsewhere", &foreign);
}

#[test]
fn laws_and_rules_that_are_cited_have_an_entry() {
    let (laws, rules) = (tree::read("docs/laws.md"), tree::read("docs/rules.md"));
    let mut unknown = Vec::new();
    for file in tree::rust() {
        let comments = comments(&file.text);
        let rule_names = words(&comments).filter(|word| {
            let digits = word.strip_prefix('R').unwrap_or("");
            (1..=2).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
        });
        let missing = rule_names.filter(|rule| !rules.contains(&format!("\n| {rule} ")));
        unknown.extend(missing.map(|rule| format!("{}: {rule}", file.path)));
        let cited = comments.split("law ").skip(1).filter_map(|rest| {
            let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
            (!number.is_empty()).then_some(number)
        });
        let missing = cited.filter(|number| !laws.contains(&format!("\n| {number} |")));
        unknown.extend(missing.map(|number| format!("{}: law {number}", file.path)));
    }
    report("cited, and not in docs/rules.md or docs/laws.md", &unknown);
}

/// What is left when the code is taken away: the comments.
fn comments(source: &str) -> String {
    let code = uncommented(source);
    let pairs = source.chars().zip(code.chars());
    pairs
        .map(|(all, code)| if all == code && all != '\n' { ' ' } else { all })
        .collect()
}

#[test]
fn comments_are_told_from_code() {
    assert_eq!(
        words(&comments("let R99 = 1; // by R5 (law 4)\n")).collect::<Vec<_>>(),
        ["by", "R5", "law", "4"]
    );
}
