//! Which crate may depend on which. The table is the design's; a new arrow is a decision, not a line in a manifest.

use std::collections::BTreeSet;

use crate::manifests::{self, Manifest, built_with};
use crate::tree::report;

/// Crate, and what it may depend on. `cli` is the composition root and may depend on all.
const ARROWS: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("faults", &[]),
    ("contract", &["core"]),
    ("store", &["core"]),
    ("transport", &["core", "contract"]),
    ("engine", &["core", "contract", "store", "transport"]),
    // The library puts the engine together and hands its parts on, so it names what the engine is made of.
    (
        "factum",
        &["core", "contract", "store", "transport", "engine"],
    ),
    ("server", &["factum"]),
    ("testbed", &["faults", "contract"]),
    // The driver of the engine and the memory store only; see the test below.
    ("sim", &["core", "contract", "engine", "store", "faults"]),
];

/// What tests may depend on beside their crate's own arrows.
const FOR_TESTS: &[&str] = &["faults", "testbed", "server", "factum", "store"];

/// The composition root.
const ROOT: &str = "cli";

fn package(folder: &str) -> String {
    if folder == "factum" {
        "factum".to_owned()
    } else {
        format!("factum-{folder}")
    }
}

fn allowed(folder: &str) -> Option<BTreeSet<String>> {
    let (_, targets) = ARROWS.iter().find(|(name, _)| *name == folder)?;
    Some(targets.iter().map(|target| package(target)).collect())
}

/// Dependencies on crates of ours that no arrow allows.
fn wrong_arrows(crates: &[Manifest]) -> Vec<String> {
    let ours: BTreeSet<&str> = crates.iter().map(Manifest::name).collect();
    let mut wrong = Vec::new();
    for manifest in crates {
        let (place, folder) = manifest.folder.split_once('/').expect("a place and a name");
        if place == "crates" && folder == ROOT {
            continue;
        }
        let allowed = match place {
            // An example is an application: it uses the library.
            "examples" => BTreeSet::from(["factum".to_owned()]),
            _ => match allowed(folder) {
                Some(allowed) => allowed,
                None => {
                    wrong.push(format!("{folder} has no row in the table of arrows"));
                    continue;
                }
            },
        };
        let mut tests: BTreeSet<String> = allowed.clone();
        if !allowed.is_empty() {
            tests.extend(FOR_TESTS.iter().map(|name| package(name)));
        }
        let sections = [
            ("dependencies", &allowed),
            ("build-dependencies", &allowed),
            ("dev-dependencies", &tests),
        ];
        for (kind, allowed) in sections {
            let named = manifest.dependencies(kind);
            let bad = named
                .iter()
                .filter(|name| ours.contains(name.as_str()) && !allowed.contains(*name));
            wrong.extend(bad.map(|name| format!("{folder} → {name} ({kind})")));
        }
    }
    wrong
}

#[test]
fn crates_depend_along_the_arrows_only() {
    report(
        "dependencies that the design does not allow",
        &wrong_arrows(&manifests::all()),
    );
}

#[test]
fn a_wrong_arrow_is_found() {
    let manifest = |folder: &str, text: &str| Manifest {
        folder: folder.to_owned(),
        table: text.parse().expect("TOML"),
    };
    let crates = [
        manifest("crates/core", "package.name = \"factum-core\""),
        manifest("crates/testbed", "package.name = \"factum-testbed\""),
        manifest(
            "crates/store",
            "package.name = \"factum-store\"\n[target.'cfg(unix)'.dependencies]\nbed = { package = \"factum-testbed\" }\n\
             [dev-dependencies]\nfactum-testbed.workspace = true",
        ),
        manifest("crates/console", "package.name = \"factum-console\""),
    ];
    let expected = [
        "store → factum-testbed (dependencies)",
        "console has no row in the table of arrows",
    ];
    assert_eq!(wrong_arrows(&crates), expected);
}

#[test]
fn every_crate_of_the_table_exists_under_its_name() {
    let crates = manifests::all();
    let missing: Vec<String> = ARROWS
        .iter()
        .map(|(folder, _)| *folder)
        .chain([ROOT])
        .filter(|folder| {
            !crates.iter().any(|manifest| {
                manifest.folder == format!("crates/{folder}") && manifest.name() == package(folder)
            })
        })
        .map(str::to_owned)
        .collect();
    report("crates that are missing or named otherwise", &missing);
}

#[test]
fn every_crate_keeps_the_lints_of_the_workspace() {
    let crates = manifests::all();
    let without: Vec<String> = crates
        .iter()
        .filter(|manifest| {
            let lints = manifest.table.get("lints");
            lints.and_then(|lints| lints.get("workspace")) != Some(&toml::Value::Boolean(true))
        })
        .map(|manifest| manifest.folder.clone())
        .collect();
    report("crates without `lints.workspace = true`", &without);
    let defaults = &manifests::workspace()["workspace"]["default-members"];
    assert_eq!(
        defaults.as_array().map(Vec::as_slice),
        Some(&[toml::Value::from("crates/cli")][..]),
        "`cargo run -- demo` works from the root"
    );
}

/// What a crate must not be built with, however far away.
fn forbidden_in(name: &str, forbidden: &[&str]) -> Vec<String> {
    let crates = manifests::all();
    let built = built_with(&crates, name);
    let found = forbidden.iter().filter(|bad| built.contains(**bad));
    found
        .map(|bad| format!("{name} is built with {bad}"))
        .collect()
}

#[test]
fn the_core_is_built_with_next_to_nothing() {
    let crates = manifests::all();
    let direct = |folder: &str| {
        let found = crates.iter().find(|manifest| manifest.folder == folder);
        found.expect("it exists").dependencies("dependencies")
    };
    assert_eq!(
        direct("crates/core"),
        BTreeSet::from(["thiserror".to_owned()])
    );
    assert_eq!(direct("crates/faults"), BTreeSet::new());
    let impure = [
        "serde",
        "serde_core",
        "tokio",
        "rand",
        "rand_core",
        "getrandom",
        "jiff",
        "time",
        "rusqlite",
        "hyper",
        "mio",
        "socket2",
    ];
    report("an impure core", &forbidden_in("factum-core", &impure));
}

#[test]
fn proofs_run_without_tasks_and_never_in_what_users_build() {
    let crates = manifests::all();
    let find = |folder: &str| {
        let found = crates.iter().find(|manifest| manifest.folder == folder);
        found.expect("it exists")
    };
    let direct = find("crates/sim").dependencies("dependencies");
    assert!(
        !direct.contains("tokio"),
        "the model and the simulator have their own time"
    );
    let cli = &find("crates/cli").table;
    let optional = cli["dependencies"]["factum-sim"].get("optional");
    assert_eq!(
        optional,
        Some(&toml::Value::Boolean(true)),
        "only behind the feature `proof`"
    );
    assert!(
        cli["features"].get("default").is_none(),
        "no feature is on by itself"
    );
    let turned_on: Vec<&str> = crates
        .iter()
        .filter(|manifest| !["crates/sim", "crates/core"].contains(&manifest.folder.as_str()))
        .filter(|manifest| manifest.table.to_string().contains("factum-core/proof"))
        .map(Manifest::name)
        .collect();
    assert!(
        turned_on.is_empty(),
        "mistakes are switched on by sim alone: {turned_on:?}"
    );
}

#[test]
fn a_contract_reaches_no_clock_socket_or_store() {
    let impure = [
        "tokio",
        "rand",
        "getrandom",
        "jiff",
        "rusqlite",
        "hyper",
        "mio",
        "socket2",
        "rustix",
    ];
    report(
        "an impure contract",
        &forbidden_in("factum-contract", &impure),
    );
}

#[test]
fn the_library_pulls_in_no_surface() {
    let surface = [
        "factum-server",
        "factum-testbed",
        "factum-faults",
        "axum",
        "clap",
        "indicatif",
        "comfy-table",
        "miette",
        "tracing-subscriber",
        "opentelemetry",
    ];
    report("surface in the library", &forbidden_in("factum", &surface));
}
