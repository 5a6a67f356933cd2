//! Links between documents lead somewhere, and the book leaves no page out.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::tree::{self, File, report};

/// The targets of inline links, code left out.
fn targets(text: &str) -> Vec<&str> {
    let mut fenced = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced || line.starts_with("    ") && !line.trim_start().starts_with(['-', '*']) {
            continue;
        }
        // Every second piece between back-ticks is code.
        for piece in line.split('`').step_by(2) {
            let parts = piece.split("](").skip(1);
            found.extend(parts.filter_map(|part| part.split(')').next()));
        }
        // A link whose text is code is cut apart by the back-ticks; its end begins a piece.
        for piece in line.split('`').skip(2).step_by(2) {
            let end = piece
                .strip_prefix("](")
                .and_then(|rest| rest.split(')').next());
            found.extend(end.filter(|target| !found.contains(target)));
        }
    }
    found
}

fn is_local(target: &str) -> bool {
    !(target.starts_with('#') || target.contains("://") || target.starts_with("mailto:"))
}

/// Where a link of a file leads, from the root.
fn resolve(file: &str, target: &str) -> PathBuf {
    let target = target.split('#').next().unwrap_or_default();
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    let mut path = PathBuf::new();
    for part in folder.join(target).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => path.push(part),
        }
    }
    path
}

fn documents() -> Vec<File> {
    tree::files(|path| path.ends_with(".md"))
}

#[test]
fn every_link_between_documents_resolves() {
    let root = tree::root();
    let mut dead = Vec::new();
    for file in documents() {
        for target in targets(&file.text)
            .into_iter()
            .filter(|target| is_local(target))
        {
            if !root.join(resolve(&file.path, target)).exists() {
                dead.push(format!("{} → {target}", file.path));
            }
        }
    }
    report("links that lead nowhere", &dead);
}

#[test]
fn every_page_is_in_the_summary() {
    let summary = tree::read("docs/SUMMARY.md");
    let listed: BTreeSet<PathBuf> = targets(&summary)
        .iter()
        .map(|target| resolve("docs/SUMMARY.md", target))
        .collect();
    let missing: Vec<String> = documents()
        .into_iter()
        .map(|file| file.path)
        .filter(|path| path.starts_with("docs/") && path != "docs/SUMMARY.md")
        .filter(|path| !listed.contains(Path::new(path)))
        .collect();
    report("pages that docs/SUMMARY.md does not list", &missing);
}

#[test]
fn links_are_told_from_code() {
    let text = "see [a](b.md) and `x](no)` and [`c`](d.md#e)\n```\n[f](g)\n```\n";
    assert_eq!(targets(text), ["b.md", "d.md#e"]);
    assert_eq!(
        resolve("docs/errors/F1.md", "../laws.md#x"),
        Path::new("docs/laws.md")
    );
}
