//! `factum doctor`: looks for what is wrong here, and says what to do about each finding. It changes nothing and sends nothing.
//!
//! Each file here looks at one thing and adds its findings to the [`report`]; an error or a warning comes with a remedy.

mod checkpoints;
mod contracts;
mod destinations;
mod disk;
mod outboxes;
mod report;
mod seals;
mod served;
mod store;
mod waiting;

use std::path::Path;
use std::process::ExitCode;

use crate::exit;
use crate::failure::Failure;
use crate::out::Out;
use crate::place::Place;
use report::Report;

pub(crate) const HELP: &str = "\
Exits with 1 if anything is an error; warnings do not count. While a server holds the store, its rows are left to that \
server; --offline leaves out the destinations' networks.\n\n\
Example:\n  factum doctor";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Do not connect to destinations
    #[arg(long)]
    offline: bool,
}

pub(crate) async fn run(args: Args, config: Option<&Path>, out: Out) -> Result<ExitCode, Failure> {
    let mut report = Report::default();
    match Place::read(config) {
        Err(failure) => report.failure("configuration", &failure),
        Ok(place) => {
            let there = if place.file.exists() {
                "is well formed"
            } else {
                "is not there; defaults hold"
            };
            report.ok("configuration", format!("{} {there}", place.file.display()));
            destinations::look(&place, args.offline, &mut report).await;
            checkpoints::look(&place, &mut report);
            if let Err(failure) = store::look(&place, &mut report).await {
                report.failure("store", &failure);
            }
        }
    }
    store::sqlite(&mut report);
    report::show(&report, out);
    Ok(exit::code(if report.has_errors() {
        exit::FINDINGS
    } else {
        exit::OK
    }))
}
