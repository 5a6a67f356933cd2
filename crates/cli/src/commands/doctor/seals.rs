//! Whether content is sealed, and whether the keys that it is sealed with are there.

use factum::config::Seal;
use factum::seal_keys::Custody;
use factum_store::Store;
use factum_store::seal::SEALED_WITH;
use factum_store::sqlite::Opened;

use super::report::Report;
use crate::failure::Failure;
use crate::place::Place;

const ABOUT: &str = "seals";

pub(super) async fn look(
    place: &Place,
    opened: &Opened,
    custody: &Custody,
    report: &mut Report,
) -> Result<(), Failure> {
    clear(place, report);
    let known = opened.store.setting(SEALED_WITH).await?;
    match custody.seals().ring().newest() {
        Some(newest) => found(place, newest, report)?,
        None if known.is_some() => report.error(
            ABOUT,
            "the store is sealed, and there is no key in keys/seal/",
            "put keys/seal/ back from a backup; without it nothing that was sealed is ever read again",
        ),
        None => report.ok(ABOUT, "there is no key yet; the next `factum serve` makes it"),
    }
    let rows = opened.store.sealed_rows(None).await?;
    if rows > 0 && place.config.store.seal == Seal::On && known.is_some() {
        report.warning(
            ABOUT,
            format!(
                "{rows} rows stand in clear; an earlier version or store.seal = \"off\" wrote them"
            ),
            "`factum serve` seals them by itself: look again once it has run",
        );
    }
    Ok(())
}

/// What can be seen of the keys while somebody else holds the store: they have to be where a backup looks for them.
pub(super) fn look_aside(place: &Place, report: &mut Report) -> Result<(), Failure> {
    clear(place, report);
    let custody = Custody::of(&place.home()?, place.config.store.seal)?;
    match custody.seals().ring().newest() {
        Some(newest) => found(place, newest, report),
        None if place.config.store.seal == Seal::On => {
            report.error(
                ABOUT,
                "there is no key in keys/seal/, and whoever holds the store seals with one",
                "put keys/seal/ back from a backup before that process ends: without it nothing that was sealed is ever read again",
            );
            Ok(())
        }
        None => Ok(()),
    }
}

fn clear(place: &Place, report: &mut Report) {
    if place.config.store.seal == Seal::Off {
        report.warning(
            ABOUT,
            "content is written in clear: whoever reads the store reads payloads, answers and receipts",
            "set store.seal = \"on\", or leave it out",
        );
    }
}

fn found(place: &Place, newest: u32, report: &mut Report) -> Result<(), Failure> {
    let file = factum::seal_keys::key_file(&place.home()?, newest);
    let says = format!(
        "{} seals; keys/ has to be in every backup of the store",
        file.display()
    );
    report.ok(ABOUT, says);
    Ok(())
}
