//! What was found: how bad it is, what it is about, and what to do.

use serde_json::{Value, json};

use crate::failure::Failure;
use crate::out::Out;
use crate::render;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Ok,
    Warning,
    Error,
}

/// What was looked at, what was seen, and what to do.
pub(super) struct Finding {
    level: Level,
    about: String,
    says: String,
    remedy: String,
}

/// The findings so far.
#[derive(Default)]
pub(super) struct Report(Vec<Finding>);

impl Report {
    pub(super) fn ok(&mut self, about: &str, says: impl Into<String>) {
        self.add(Level::Ok, about, says.into(), String::new());
    }

    pub(super) fn warning(&mut self, about: &str, says: impl Into<String>, remedy: &str) {
        self.add(Level::Warning, about, says.into(), remedy.to_owned());
    }

    pub(super) fn error(&mut self, about: &str, says: impl Into<String>, remedy: &str) {
        self.add(Level::Error, about, says.into(), remedy.to_owned());
    }

    pub(super) fn failure(&mut self, about: &str, failure: &Failure) {
        let part = |name: &str| render::text(&failure.problem, name).to_owned();
        let says = match failure.code() {
            Some(code) => format!("{}: {}", code.code(), part("rule")),
            None => part("rule"),
        };
        self.add(Level::Error, about, says, part("remedy"));
    }

    fn add(&mut self, level: Level, about: &str, says: String, remedy: String) {
        self.0.push(Finding {
            level,
            about: about.to_owned(),
            says,
            remedy,
        });
    }

    pub(super) fn has_errors(&self) -> bool {
        self.0.iter().any(|finding| finding.level == Level::Error)
    }
}

pub(super) fn show(report: &Report, out: Out) {
    let word = |level: Level| match level {
        Level::Ok => "ok",
        Level::Warning => "warning",
        Level::Error => "error",
    };
    if out.json {
        let findings: Vec<Value> = report
            .0
            .iter()
            .map(|f| json!({"level": word(f.level), "about": f.about, "says": f.says, "remedy": f.remedy}))
            .collect();
        out.value(&json!({"healthy": !report.has_errors(), "findings": findings}));
        return;
    }
    for finding in &report.0 {
        out.line(format_args!(
            "{:<8} {}: {}",
            word(finding.level),
            finding.about,
            finding.says
        ));
        if !finding.remedy.is_empty() {
            out.line(format_args!("{:8}   remedy: {}", "", finding.remedy));
        }
    }
}
