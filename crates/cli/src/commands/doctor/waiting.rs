//! What waits in a store that nobody serves: for a person, or longer than it should.

use factum_core::Timestamp;
use factum_store::sqlite::Opened;
use factum_store::{Filter, Store};

use super::report::Report;
use super::served::overdue_for;
use crate::failure::Failure;

/// No more than this are counted.
const COUNTED_MAX: usize = 500;

/// Looks at the queue and at what waits for people.
pub(super) async fn look(opened: &Opened, report: &mut Report) -> Result<(), Failure> {
    let now = opened.store.now().await?;
    if let Some(first) = opened.store.due(None, 1).await?.first() {
        overdue_for(seconds(first.at, now), report);
    }
    let review = Filter {
        next: Some("review".to_owned()),
        limit: COUNTED_MAX,
        ..Filter::default()
    };
    let waits = opened.store.list(review).await?;
    let since = waits
        .iter()
        .filter_map(|record| record.known.waits_for_a_person_since());
    if let Some(since) = since.min() {
        let more = if waits.len() == COUNTED_MAX {
            " or more"
        } else {
            ""
        };
        let (count, hours) = (waits.len(), seconds(since, now) / 3_600);
        let says = format!("{count}{more} actions wait for a person, the longest for {hours} h");
        let remedy =
            "factum review lists them; what a destination's export can clear: factum review match";
        report.warning("review", says, remedy);
    }
    Ok(())
}

fn seconds(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.since(from).as_micros()).unwrap_or(0) / 1_000_000
}
