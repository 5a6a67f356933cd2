//! The report of a probe: what a contract can cite as first-hand evidence. Written as TOML, read back with every error placed.

use factum_core::evidence::{CancelAnswer, PollAnswer};
use factum_core::{Span, Timestamp};
use serde::{Deserialize, Serialize};

use super::build::Mark;
use super::judge;
use super::judge::lags;
use super::run::Run;
use super::sight::Sight;
use super::{Claim, Experiment, Verdict};
use crate::contract::Contract;
use crate::date;
use crate::finding::{Complaint, Finding};

/// The form of the file.
const FORM: u32 = 1;

/// Who probed what, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunBy {
    /// The destination, by its name in the configuration.
    pub destination: String,
    /// Its base address.
    pub base: String,
    /// The account there.
    pub account: Option<String>,
    /// Who ordered it.
    pub by: String,
    /// When it began.
    pub began: Timestamp,
    /// When it ended.
    pub ended: Timestamp,
}

/// What a probe found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The form of this file: 1. Its presence is what tells a report from a contract.
    pub probe: u32,
    /// The provider whose contract was tried.
    pub provider: String,
    /// The operation.
    pub operation: String,
    /// The digest of the contract as it was then, in hex.
    pub contract: String,
    /// The destination, by its name in the configuration.
    pub destination: String,
    /// Its base address.
    pub base: String,
    /// The account there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Who ordered it.
    pub by: String,
    /// When it began (RFC 3339).
    pub began: String,
    /// When it ended.
    pub ended: String,
    /// Effect requests that were sent.
    pub requests: u32,
    /// Effects that were made, or may have been.
    pub effects: u32,
    /// Of those, withdrawn again by their keys.
    pub withdrawn: u32,
    /// How long effects took to show in the lookup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lookup: Option<Lag>,
    /// What became of each claim.
    #[serde(default)]
    pub claims: Vec<Claim>,
    /// Every answer to an effect request, as the contract reads it.
    #[serde(default)]
    pub answers: Vec<Seen>,
    /// What the probe made and left behind.
    #[serde(default)]
    pub left: Vec<Left>,
    /// What the probe made, and another operation undid.
    #[serde(default)]
    pub undone: Vec<Undone>,
    /// What was not tried.
    #[serde(default)]
    pub skipped: Vec<Skipped>,
}

/// How long effects took to show in the lookup, counted from their answer. Zero where the first read showed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lag {
    /// How many were timed.
    pub samples: u32,
    /// The shortest, in milliseconds.
    pub min_ms: u64,
    /// The one in the middle.
    pub median_ms: u64,
    /// The longest.
    pub max_ms: u64,
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seen {
    /// What was tried.
    pub experiment: Experiment,
    /// Which content was sent: `usual`, `other`, `refused` or `failing`.
    pub content: String,
    /// What came, in words.
    pub got: String,
    /// The class, where an answer came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The status, where an answer came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

/// Something that the probe made, or may have made, and that is still there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Left {
    /// Our reference in it.
    pub reference: String,
    /// The key under which it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The destination's own names for it.
    pub names: Vec<String>,
    /// Whether an answer said that it exists; otherwise it may.
    pub exists: bool,
    /// Why it is still there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// An effect of the probe that another operation undid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Undone {
    /// The destination's own name for the effect.
    pub receipt: String,
    /// The operation that undid it.
    pub by: String,
    /// Our reference in the request that undid it.
    pub reference: String,
    /// Its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// An experiment that was not tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skipped {
    /// Which.
    pub experiment: Experiment,
    /// Why.
    pub why: String,
}

/// Why a report does not stand behind a claim that cites it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// It is about something else.
    #[error("the report is about {0}")]
    Other(String),
    /// It says the contrary.
    #[error("the report says that it did not hold: {0}")]
    Contradicts(String),
    /// It says nothing of it.
    #[error("the report has no claim about it that held")]
    Silent,
}

impl Report {
    pub(super) fn of(run: &Run<'_>, by: RunBy) -> Self {
        let made = run.marks.iter().filter(|mark| mark.may_exist);
        Self {
            probe: FORM,
            provider: run.contract.provider().to_owned(),
            operation: run.contract.operation().to_owned(),
            contract: hex(&run.contract.digest()),
            destination: by.destination,
            base: by.base,
            account: by.account,
            by: by.by,
            began: date::to_rfc3339(by.began),
            ended: date::to_rfc3339(by.ended),
            requests: run.requests,
            effects: made.clone().map(Mark::effects).sum(),
            withdrawn: made.filter(|mark| mark.withdrawn).map(Mark::effects).sum(),
            lookup: lag(run),
            claims: judge::claims(run),
            answers: answers(run),
            left: left(run),
            undone: undone(run),
            skipped: run
                .planned
                .iter()
                .filter_map(|planned| {
                    let why = planned.skipped.clone()?;
                    Some(Skipped {
                        experiment: planned.experiment,
                        why,
                    })
                })
                .collect(),
        }
    }

    /// Claims with this verdict.
    pub fn with(&self, verdict: Verdict) -> impl Iterator<Item = &Claim> {
        self.claims.iter().filter(move |c| c.verdict == verdict)
    }

    /// As a file: what [`Report::parse`] reads.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let body = toml::to_string_pretty(self).unwrap_or_default();
        format!(
            "# What a probe found. A contract cites it: source = {{ report = \"THIS FILE\", date = \"{}\" }}\n{body}",
            self.date()
        )
    }

    /// The day on which it began.
    #[must_use]
    pub fn date(&self) -> &str {
        self.began.get(..10).unwrap_or(&self.began)
    }

    /// Whether a text is meant to be a report, and not a contract.
    #[must_use]
    pub fn is_meant_by(text: &str) -> bool {
        text.lines().any(|line| {
            let after = line.strip_prefix("probe").map(str::trim_start);
            after.is_some_and(|rest| rest.starts_with('='))
        })
    }

    /// Reads a report.
    ///
    /// # Errors
    /// What is wrong with it, at its place.
    pub fn parse(file: &str, text: &str) -> Result<Self, Box<Finding>> {
        let finding = |span, message: String, remedy: &str| {
            let complaint = Complaint::error("probe_report", message, remedy);
            Box::new(Finding::at(file, text, span, String::new(), complaint))
        };
        let report: Self = toml::from_str(text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            let remedy = "leave the file as `factum contract probe` wrote it, or probe again";
            finding(span, error.message().to_owned(), remedy)
        })?;
        if report.probe != FORM {
            let message = format!("has the form {}, and {FORM} is read", report.probe);
            return Err(finding(0..0, message, "probe again with this version"));
        }
        Ok(report)
    }

    /// Whether it stands behind what is said at this path of a contract.
    ///
    /// # Errors
    /// It is about another operation, says the contrary, or says nothing of it.
    pub fn stands_behind(&self, contract: &Contract, about: &str) -> Result<(), ReportError> {
        if (self.provider.as_str(), self.operation.as_str())
            != (contract.provider(), contract.operation())
        {
            let other = format!("{}.{}", self.provider, self.operation);
            return Err(ReportError::Other(other));
        }
        let within = |claim: &&Claim| {
            let rest = claim.about.strip_prefix(about);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let mut claims = self.claims.iter().filter(within);
        if let Some(broken) = claims.clone().find(|c| c.verdict == Verdict::DidNotHold) {
            return Err(ReportError::Contradicts(broken.why.clone()));
        }
        if claims.any(|claim| claim.verdict == Verdict::Held) {
            Ok(())
        } else {
            Err(ReportError::Silent)
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn lag(run: &Run<'_>) -> Option<Lag> {
    let mut timed = run.planned.iter().zip(&run.sights);
    let (_, sights) = timed.rfind(|(planned, _)| planned.experiment == Experiment::LookupLag)?;
    let shown = lags(sights);
    let millis = |span: &Span| u64::try_from(span.as_micros() / 1_000).unwrap_or_default();
    Some(Lag {
        samples: u32::try_from(shown.len()).unwrap_or(u32::MAX),
        min_ms: shown.first().map(millis)?,
        median_ms: shown.get(shown.len() / 2).map(millis)?,
        max_ms: shown.last().map(millis)?,
    })
}

/// What neither was withdrawn nor undone.
fn left(run: &Run<'_>) -> Vec<Left> {
    let marks = run.marks.iter().enumerate();
    let left = marks.filter(|(number, mark)| {
        mark.may_exist && !mark.withdrawn && !mark.is_undone(run.undone_of(*number))
    });
    left.map(|(number, mark)| {
        let names = mark.names.receipts.iter().chain(&mark.names.objects);
        let is_undone = |name: &str| run.undone_of(number).any(|undone| undone == name);
        Left {
            reference: mark.reference.clone(),
            key: run.contract.sends_key().then(|| mark.key.clone()),
            names: names.filter(|name| !is_undone(name)).cloned().collect(),
            exists: mark.exists,
            why: Some(run.why_left(number)),
        }
    })
    .collect()
}

fn undone(run: &Run<'_>) -> Vec<Undone> {
    let by = run.undo.map_or("", Contract::operation);
    let undone = run.undid.iter().filter(|undid| undid.why_not.is_none());
    undone
        .map(|undid| Undone {
            receipt: undid.receipt.clone(),
            by: by.to_owned(),
            reference: undid.reference.clone(),
            key: undid.key.clone(),
        })
        .collect()
}

fn cancelled(answer: &CancelAnswer) -> String {
    match answer {
        CancelAnswer::Confirmed { object: None } => "confirmed".to_owned(),
        CancelAnswer::Confirmed {
            object: Some(object),
        } => format!("confirmed, of {object}"),
        CancelAnswer::TooLate { .. } => "too late".to_owned(),
        CancelAnswer::NotSent { why } => format!("not sent ({why})"),
        CancelAnswer::Unknown { why } => format!("unknown: {why}"),
    }
}

fn answers(run: &Run<'_>) -> Vec<Seen> {
    let mut answers = Vec::new();
    for (planned, sights) in run.planned.iter().zip(&run.sights) {
        for sight in sights {
            let (content, got, answered) = match sight {
                Sight::Sent { what, outcome, .. } => (*what, outcome.shown(), outcome.answered()),
                Sight::Cancelled { answer, .. } => ("cancel", cancelled(answer), None),
                Sight::Followed {
                    answer: Some(PollAnswer::Failed { why }),
                    ..
                } => ("poll", format!("failed: {why}"), None),
                Sight::Followed { .. } | Sight::Looked(_) | Sight::Waited(_) | Sight::Declined => {
                    continue;
                }
            };
            answers.push(Seen {
                experiment: planned.experiment,
                content: content.to_owned(),
                got,
                class: answered.map(|answered| answered.reading.class.name().to_owned()),
                status: answered.map(|answered| answered.status),
            });
        }
    }
    answers
}
