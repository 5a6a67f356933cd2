//! Messages of one's own: `messages = "FOLDER"` with `de.ftl` for everybody and `TENANT/de.ftl` for one tenant.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use factum_engine::{Code, Problem};
use fluent_bundle::FluentResource;

use super::check::{self, Finding, Variables};
use super::locale::Locale;

/// The messages of one file, shared by whoever says them.
pub(super) type Messages = Arc<FluentResource>;

/// What a folder says instead of the messages that come with the program.
#[derive(Default)]
pub(super) struct Own {
    /// To everybody.
    pub(super) everybody: Vec<(Locale, Messages)>,
    /// To one tenant.
    pub(super) tenants: BTreeMap<String, Vec<(Locale, Messages)>>,
}

/// Reads a folder.
///
/// # Errors
/// F1040 if it cannot be read, F1042 with every finding of every file.
pub(super) fn read(folder: &Path) -> Result<Own, Problem> {
    let known = check::known();
    let (mut own, mut findings) = (Own::default(), Vec::new());
    for path in listed(folder)? {
        if path.is_dir() {
            let messages = files(&path, listed(&path)?, &known, &mut findings)?;
            let tenant = path.file_name().unwrap_or_default();
            own.tenants
                .insert(tenant.to_string_lossy().into_owned(), messages);
        } else {
            own.everybody
                .extend(files(folder, vec![path], &known, &mut findings)?);
        }
    }
    if findings.is_empty() {
        return Ok(own);
    }
    let all: Vec<String> = findings.iter().map(ToString::to_string).collect();
    let remedy = "correct the messages; see the positions and the remedies";
    Err(Problem::new(
        Code::BadMessages,
        "/messages",
        all.join("\n"),
        remedy,
    ))
}

fn files(
    folder: &Path,
    paths: Vec<PathBuf>,
    known: &Variables,
    findings: &mut Vec<Finding>,
) -> Result<Vec<(Locale, Messages)>, Problem> {
    let mut messages = Vec::new();
    for path in paths {
        let file = path.display().to_string();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let locale = Locale::ALL.into_iter().find(|l| *l.tag() == *stem);
        let is_messages = path.extension().is_some_and(|extension| extension == "ftl");
        let Some(locale) = locale.filter(|_| is_messages && path.is_file()) else {
            let tags: Vec<String> = Locale::ALL
                .iter()
                .map(|l| format!("{}.ftl", l.tag()))
                .collect();
            findings.push(Finding {
                file,
                line: 1,
                rule: format!(
                    "a file of messages in {} is named by its locale",
                    folder.display()
                ),
                remedy: format!("name it one of: {}", tags.join(", ")),
            });
            continue;
        };
        let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&path, &error))?;
        match check::read(&file, &text, locale, known) {
            Ok(resource) => messages.push((locale, Arc::new(resource))),
            Err(wrong) => findings.extend(wrong),
        }
    }
    Ok(messages)
}

fn listed(folder: &Path) -> Result<Vec<PathBuf>, Problem> {
    let entries = std::fs::read_dir(folder).and_then(|entries| {
        entries
            .map(|entry| Ok(entry?.path()))
            .collect::<Result<Vec<_>, _>>()
    });
    let mut paths = entries.map_err(|error| unreadable(folder, &error))?;
    paths.sort();
    Ok(paths)
}

fn unreadable(path: &Path, error: &std::io::Error) -> Problem {
    let rule = format!("cannot read {}: {error}", path.display());
    let remedy = "name a folder with messages, or leave it out";
    Problem::new(Code::BadConfig, "/messages", rule, remedy)
}
