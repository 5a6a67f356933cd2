//! The files of the repository, as a clone has them.

use std::fs;
use std::path::{Path, PathBuf};

/// What holds no sources: build results, the repository's own data (a file in a second work tree), what a run leaves.
const SKIPPED: [&str; 5] = [
    "target",
    ".git",
    "factum-data",
    "node_modules",
    "__pycache__",
];

/// One file, with its path from the root, written with slashes.
pub(crate) struct File {
    /// As in `crates/core/src/lib.rs`.
    pub(crate) path: String,
    /// Its whole text.
    pub(crate) text: String,
}

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .nth(2)
        .expect("the crate lies two folders below the root")
        .to_owned()
}

/// Every text file whose path passes, sorted by path. What is not UTF-8 is no text.
pub(crate) fn files(wanted: impl Fn(&str) -> bool) -> Vec<File> {
    let mut found = Vec::new();
    collect(&root(), "", &wanted, &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn collect(folder: &Path, at: &str, wanted: &impl Fn(&str) -> bool, found: &mut Vec<File>) {
    let entries = fs::read_dir(folder).expect("a folder of the repository can be read");
    for entry in entries {
        let entry = entry.expect("an entry of the repository can be read");
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if at.is_empty() {
            name.clone()
        } else {
            format!("{at}/{name}")
        };
        let kind = entry.file_type().expect("an entry has a type");
        if SKIPPED.contains(&name.as_str()) {
            continue;
        }
        if kind.is_dir() {
            collect(&entry.path(), &path, wanted, found);
        } else if kind.is_file()
            && wanted(&path)
            && let Ok(text) = fs::read_to_string(entry.path())
        {
            found.push(File { path, text });
        }
    }
}

/// The Rust sources.
pub(crate) fn rust() -> Vec<File> {
    let found = files(|path| path.ends_with(".rs"));
    assert!(found.len() > 50, "the sources are found");
    found
}

/// One file that has to exist.
pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(root().join(path))
        .unwrap_or_else(|error| panic!("{path} cannot be read: {error}"))
}

/// Fails with everything that was found, so that one run shows all of it.
#[track_caller]
pub(crate) fn report(what: &str, found: &[String]) {
    assert!(found.is_empty(), "{what}:\n  {}", found.join("\n  "));
}
