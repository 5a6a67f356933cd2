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
    if place.config.store.seal == Seal::Off {
        report.warning(
            ABOUT,
            "content is written in clear: whoever reads the store reads payloads, answers and receipts",
            "set store.seal = \"on\", or leave it out",
        );
    }
    let known = opened.store.setting(SEALED_WITH).await?;
    match custody.seals().ring().newest() {
        Some(newest) => {
            let file = factum::seal_keys::key_file(&place.home()?, newest);
            let says = format!("{} seals; keys/ has to be in every backup of the store", file.display());
            report.ok(ABOUT, says);
        }
        None if known.is_some() => report.error(
            ABOUT,
            "the store is sealed, and there is no key in keys/seal/",
            "put keys/seal/ back from a backup; without it nothing that was sealed is ever read again",
        ),
        None => report.ok(ABOUT, "there is no key yet; the next `factum serve` makes it"),
    }
    let clear = opened.store.sealed_rows(None).await?;
    if clear > 0 && place.config.store.seal == Seal::On && known.is_some() {
        report.warning(
            ABOUT,
            format!(
                "{clear} rows stand in clear; an earlier version or store.seal = \"off\" wrote them"
            ),
            "`factum serve` seals them by itself: look again once it has run",
        );
    }
    Ok(())
}
