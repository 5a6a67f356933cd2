//! Contract files from a path: one operation's, one provider's, or a folder of either. It reads and never writes.

use std::path::{Path, PathBuf};

use factum_contract::probe::Report;
use factum_contract::{Catalogue, Contract, Finding, Provider};

use crate::failure::Failure;

/// What came of one file.
#[derive(Debug)]
pub(super) struct Read {
    /// The operation's contract; none for a provider's file and for a probe's report.
    pub(super) outcome: Result<Option<Contract>, Vec<Finding>>,
}

const REMEDY: &str = "name a file or a folder with contracts: contracts/PROVIDER/OPERATION.toml";

/// Every contract file at a path, in the order of the paths. A provider's file is read with each of its operations, and
/// what is wrong with it is said once.
pub(super) fn read(path: &Path) -> Result<Vec<Read>, Failure> {
    let mut paths = Vec::new();
    gather(path, &mut paths).map_err(|error| unreadable(path, &error))?;
    if paths.is_empty() {
        let rule = format!("{} holds no .toml file", path.display());
        return Err(Failure::usage(rule, REMEDY));
    }
    paths.iter().map(|path| one(path, &paths)).collect()
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    let rule = format!("cannot read {}: {error}", path.display());
    if error.kind() == std::io::ErrorKind::NotFound {
        Failure::not_found(rule, REMEDY)
    } else {
        Failure::usage(rule, REMEDY)
    }
}

fn gather(path: &Path, paths: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if !std::fs::metadata(path)?.is_dir() {
        paths.push(path.to_owned());
        return Ok(());
    }
    let entries: Result<Vec<_>, _> = std::fs::read_dir(path)?.collect();
    let mut within: Vec<_> = entries?.iter().map(std::fs::DirEntry::path).collect();
    within.sort();
    for path in within {
        if path.is_dir() {
            gather(&path, paths)?;
        } else if path.extension().is_some_and(|end| end == "toml") {
            paths.push(path);
        }
    }
    Ok(())
}

fn one(path: &Path, all: &[PathBuf]) -> Result<Read, Failure> {
    let text = text_of(path)?;
    let file = path.display().to_string();
    if Report::is_meant_by(&text) {
        let outcome = Report::parse(&file, &text).map(|_| None);
        return Ok(Read {
            outcome: outcome.map_err(|finding| vec![*finding]),
        });
    }
    if is_provider(path) {
        let outcome = Provider::parse(&file, &text).map(|_| None);
        return Ok(Read { outcome });
    }
    let beside = path.with_file_name("provider.toml");
    let provider = beside.is_file().then(|| text_of(&beside)).transpose()?;
    let beside_name = beside.display().to_string();
    let given = provider
        .as_deref()
        .map(|provider| (beside_name.as_str(), provider));
    let mut outcome = Contract::parse(&file, given, &text).map(Some);
    if let Ok(Some(contract)) = &outcome {
        // The reports that it cites are read from where it stands.
        let report = |name: &str| std::fs::read_to_string(path.with_file_name(name)).ok();
        let mut wrong = contract.check_reports(&file, &text, &report);
        let has = |name: &str| {
            path.with_file_name(format!("{name}.toml")).is_file()
                || Catalogue::builtin()
                    .get(contract.provider(), name)
                    .is_some()
        };
        wrong.extend(contract.check_undone_by(&file, &text, &has));
        if !wrong.is_empty() {
            outcome = Err(wrong);
        }
    }
    if let Err(findings) = &mut outcome
        && all.contains(&beside)
    {
        findings.retain(|finding| finding.file != beside_name);
    }
    // Where only the provider's file is wrong, that is said at that file.
    if matches!(&outcome, Err(findings) if findings.is_empty()) {
        outcome = Ok(None);
    }
    Ok(Read { outcome })
}

fn text_of(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))
}

fn is_provider(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "provider.toml")
}
