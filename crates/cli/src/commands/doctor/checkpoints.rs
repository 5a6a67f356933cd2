//! Whether signed checkpoints are kept, and whether the newest one is as new as it should be.

use std::path::Path;

use factum::checkpoints;
use factum::parse_instant;
use factum::signing::SigningKeys;
use factum_core::Span;
use factum_store::system_clock;

use super::report::Report;
use crate::failure::Failure;
use crate::place::Place;

const ABOUT: &str = "checkpoints";

/// So much later than at its time a checkpoint may come.
const LATE: Span = Span::from_secs(300);

pub(super) fn look(place: &Place, report: &mut Report) {
    let Some(folder) = &place.config.checkpoints.folder else {
        let says = "none are kept: what is removed from the store with all its traces is not found (docs/tamper.md)";
        report.ok(ABOUT, says);
        return;
    };
    if let Err(failure) = newest(place, folder, report) {
        report.failure(ABOUT, &failure);
    }
}

fn newest(place: &Place, folder: &Path, report: &mut Report) -> Result<(), Failure> {
    let remedy = "a server makes them: see its log, and whether it may write the folder";
    let Some((number, file)) = checkpoints::newest(folder)? else {
        let says = format!("there is none in {} yet", folder.display());
        report.warning(ABOUT, says, remedy);
        return Ok(());
    };
    let keys = SigningKeys::of(&place.home()?).published()?;
    let checked = checkpoints::read(&file, &keys)?;
    let at = parse_instant("/at", &checked.checkpoint.at)?;
    let every = place.config.checkpoints.every.0;
    if system_clock()().since(at) > every + LATE {
        let says = format!(
            "the newest one, number {number}, is of {}; one was due since",
            checked.checkpoint.at
        );
        report.warning(ABOUT, says, remedy);
    } else {
        let says = format!("number {number} is of {}", checked.checkpoint.at);
        report.ok(ABOUT, says);
    }
    Ok(())
}
