//! The manifests of the workspace and the lock file, read as they are.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use crate::tree;

/// One crate of the workspace.
pub(crate) struct Manifest {
    /// Its folder below `crates` or `examples`.
    pub(crate) folder: String,
    /// The whole manifest.
    pub(crate) table: Table,
}

impl Manifest {
    /// The package's name.
    pub(crate) fn name(&self) -> &str {
        self.table["package"]["name"]
            .as_str()
            .expect("a package has a name")
    }

    /// Names of the packages in the sections of this kind, those of targets included.
    pub(crate) fn dependencies(&self, kind: &str) -> BTreeSet<String> {
        let targets = self.table.get("target").and_then(Value::as_table);
        let per_target = targets.into_iter().flat_map(Table::values);
        let sections = per_target
            .filter_map(|target| target.get(kind))
            .chain(self.table.get(kind))
            .filter_map(Value::as_table);
        sections
            .flat_map(|section| section.iter().map(|(key, value)| package(key, value)))
            .collect()
    }
}

/// A dependency may be named otherwise than its package.
fn package(key: &str, value: &Value) -> String {
    let renamed = value.get("package").and_then(Value::as_str);
    renamed.unwrap_or(key).to_owned()
}

/// Every crate of the workspace.
pub(crate) fn all() -> Vec<Manifest> {
    let places = ["crates/", "examples/"];
    let found = tree::files(|path| {
        path.ends_with("/Cargo.toml")
            && path.matches('/').count() == 2
            && places.iter().any(|place| path.starts_with(place))
    });
    found
        .into_iter()
        .map(|file| Manifest {
            folder: file.path.trim_end_matches("/Cargo.toml").to_owned(),
            table: file
                .text
                .parse()
                .unwrap_or_else(|error| panic!("{}: {error}", file.path)),
        })
        .collect()
}

/// The root manifest.
pub(crate) fn workspace() -> Table {
    tree::read("Cargo.toml")
        .parse()
        .expect("the root manifest is TOML")
}

/// What only runs while something is built. The lock file does not tell these from the rest, so they are not followed.
const BUILD_TOOLS: &[&str] = &["cc", "cmake", "pkg-config", "vcpkg"];

/// Everything that a crate of ours is built with, by name: through manifests inside the workspace, so that what only tests need
/// is left out, and through the lock file outside of it.
pub(crate) fn built_with(crates: &[Manifest], name: &str) -> BTreeSet<String> {
    let locked = lock();
    let mut found = BTreeSet::new();
    let mut open = vec![name.to_owned()];
    while let Some(next) = open.pop() {
        let ours = crates.iter().find(|manifest| manifest.name() == next);
        let needs = match ours {
            Some(manifest) => manifest.dependencies("dependencies"),
            None => locked.get(&next).cloned().unwrap_or_default(),
        };
        let linked = needs
            .into_iter()
            .filter(|need| !BUILD_TOOLS.contains(&need.as_str()));
        open.extend(linked.filter(|need| found.insert(need.clone())));
    }
    found
}

fn lock() -> BTreeMap<String, BTreeSet<String>> {
    let mut locked: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in packages() {
        let name = package["name"]
            .as_str()
            .expect("a locked package has a name");
        let needs = package.get("dependencies").and_then(Value::as_array);
        let needs = needs.into_iter().flatten().filter_map(Value::as_str);
        // `name`, `name version` or `name version (source)`: all versions of one name are taken together.
        let names = needs.filter_map(|need| need.split(' ').next().map(str::to_owned));
        locked.entry(name.to_owned()).or_default().extend(names);
    }
    locked
}

/// The packages of the lock file.
pub(crate) fn packages() -> Vec<Value> {
    let lock: Table = tree::read("Cargo.lock")
        .parse()
        .expect("the lock file is TOML");
    let packages = lock["package"].as_array().expect("a list of packages");
    packages.clone()
}
