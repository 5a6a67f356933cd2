//! The destination's own books: effects are counted here, and nowhere else.

use std::collections::BTreeMap;
use std::time::Duration;

use factum_testbed::{Filter, LedgerView};
use tokio::time::timeout;

use super::judge::Held;

/// How long the ledger may take until nothing is pending there any more.
const LANDING: Duration = Duration::from_secs(5);

/// The destination's own books, by business reference. Effects are counted once nothing is pending there any more.
pub(crate) async fn books(ledger: &LedgerView) -> BTreeMap<String, Held> {
    let all = Filter::default();
    // What is pending longer than that is told from the rows all the same: it has no effect yet.
    let _ = timeout(
        LANDING,
        ledger.wait_until(&all, |counts| counts.pending == 0),
    )
    .await;
    let counts = ledger.counts(&all);
    let mut books: BTreeMap<String, Held> = BTreeMap::new();
    for (business, effects) in counts.by_business {
        books.entry(business).or_default().effects = effects;
    }
    for (business, deliveries) in counts.deliveries_by_business {
        books.entry(business).or_default().deliveries = deliveries;
    }
    for row in ledger
        .rows(&all)
        .into_iter()
        .filter(|row| row.wire && row.lost)
    {
        books.entry(row.business).or_default().answers_lost += 1;
    }
    books
}

/// The requests that had arrived before the engine was asked for its marks: later ones may belong to later marks.
pub(crate) fn deliveries(ledger: &LedgerView) -> BTreeMap<String, u64> {
    ledger.counts(&Filter::default()).deliveries_by_business
}
