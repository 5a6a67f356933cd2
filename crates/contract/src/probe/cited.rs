//! Whether the reports that a contract cites stand behind what they are cited for. Who reads the files is the caller's to say.

use super::{Report, ReportError};
use crate::claims::Origin;
use crate::contract::Contract;
use crate::finding::{Complaint, Finding};

impl Contract {
    /// What is wrong with the reports that it cites by a file's name (one that ends in `.toml`). `file` and `text` are the
    /// contract's own; `report` gives the text of a report by its name as it is cited.
    #[must_use]
    pub fn check_reports(
        &self,
        file: &str,
        text: &str,
        report: &dyn Fn(&str) -> Option<String>,
    ) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (about, source) in self.sources() {
            let Origin::Report(name) = &source.origin else {
                continue;
            };
            if !name.ends_with(".toml") {
                continue;
            }
            let complaint = match report(name) {
                None => Some(missing(name)),
                Some(report) => match Report::parse(name, &report) {
                    Err(finding) => {
                        findings.push(*finding);
                        None
                    }
                    Ok(report) => report.stands_behind(self, about).err().map(unsupported),
                },
            };
            if let Some(complaint) = complaint {
                let span = text.find(name.as_str()).map(|at| at..at + name.len());
                let member = format!("{about}/source/report");
                findings.push(Finding::at(
                    file,
                    text,
                    span.unwrap_or(0..0),
                    member,
                    complaint,
                ));
            }
        }
        findings.dedup();
        findings
    }
}

fn missing(name: &str) -> Complaint {
    let message = format!("cites {name}, which is not there");
    let remedy = "put the report beside the contract, or cite it by another name";
    Complaint::error("report_missing", message, remedy)
}

fn unsupported(error: ReportError) -> Complaint {
    let remedy = match error {
        ReportError::Other(_) => "cite a report about this operation",
        ReportError::Contradicts(_) => "correct what is claimed, or leave it out",
        ReportError::Silent => "cite it for what held, or probe again",
    };
    Complaint::error("report_unsupported", error.to_string(), remedy)
}
