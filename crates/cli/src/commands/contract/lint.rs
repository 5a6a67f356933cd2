//! `factum contract lint`: everything that is wrong with contract files, at its place, with its remedy.

use std::path::PathBuf;
use std::process::ExitCode;

use factum_contract::{Finding, Severity};
use serde_json::{Value, json};

use super::files;
use crate::exit;
use crate::failure::Failure;
use crate::out::Out;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A contract file, a provider's folder, or a folder of those
    #[arg(value_name = "PATH")]
    path: PathBuf,
}

pub(crate) fn run(args: &Args, out: Out) -> Result<ExitCode, Failure> {
    let read = files::read(&args.path)?;
    let mut findings = Vec::new();
    for file in &read {
        match &file.outcome {
            Ok(Some(contract)) => findings.extend(contract.warnings().iter().cloned()),
            Ok(None) => {}
            Err(wrong) => findings.extend(wrong.iter().cloned()),
        }
    }
    // A provider's warnings come with each of its operations.
    let mut told: Vec<Finding> = Vec::new();
    for finding in findings {
        if !told.contains(&finding) {
            told.push(finding);
        }
    }
    let count = |severity| {
        told.iter()
            .filter(|found| found.severity == severity)
            .count()
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    if out.json {
        let rows: Vec<_> = told.iter().map(row).collect();
        out.value(&json!({
            "files": read.len(), "errors": errors, "warnings": warnings, "findings": rows,
        }));
    } else {
        for finding in &told {
            out.line(format_args!("{finding}\n"));
        }
        out.line(format_args!(
            "{} files, {errors} errors, {warnings} warnings",
            read.len()
        ));
    }
    Ok(exit::code(if errors == 0 {
        exit::OK
    } else {
        exit::FINDINGS
    }))
}

/// A finding as JSON.
pub(super) fn row(finding: &Finding) -> Value {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    json!({
        "severity": severity, "file": finding.file, "line": finding.line, "column": finding.column,
        "start": finding.span.start, "end": finding.span.end,
        "member": finding.member, "rule": finding.rule, "message": finding.message, "remedy": finding.remedy,
    })
}
