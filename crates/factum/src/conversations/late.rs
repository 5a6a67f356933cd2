//! Answers that were promised to customers and have not come.

use std::collections::BTreeSet;

use factum_core::{ActionId, Timestamp};
use factum_engine::{About, Engine, Problem};
use factum_store::{Change, EntryKey, Filter, Kind, Record, Registered};

use crate::teller::Teller;

/// Actions that are looked through at once.
const PAGE: usize = 200;

/// Promises that this process knows to be announced.
pub(super) type Known = BTreeSet<(ActionId, Timestamp)>;

/// An answer that was promised and has not come: once for each promise.
pub(super) async fn escalate(
    engine: &Engine,
    teller: &Teller,
    known: &mut Known,
) -> Result<(), Problem> {
    let now = engine.now();
    let mut before = None;
    loop {
        let filter = Filter {
            next: Some("review".to_owned()),
            before,
            limit: PAGE,
            ..Filter::default()
        };
        let records = engine.list(filter).await?;
        for record in &records {
            let scope = &record.action.scope;
            let contact = teller.contacts.of_tenant(&scope.tenant, &scope.destination);
            let by = contact.and_then(|contact| contact.promised_by(&record.known));
            let Some(by) = by.filter(|by| *by <= now) else {
                continue;
            };
            if !known.insert((record.id(), by)) {
                continue;
            }
            let id = format!("{} {}", record.id(), by.as_micros());
            let key = EntryKey::new(Kind::Escalation, scope.tenant.clone(), id);
            let change = Change {
                key,
                expected: 0,
                body: "{\"v\":1}".to_owned(),
                label: None,
                due: None,
                by: "factum".to_owned(),
                why: "the time by which an answer was promised has passed".to_owned(),
            };
            // Of several workers one says so.
            let changed = engine.store().change(vec![change]).await;
            if changed.is_err() {
                known.remove(&(record.id(), by));
            }
            if changed? != Registered::Stale {
                tracing::warn!(action = %record.id(), "an answer that was promised to a customer is late");
                engine.announce_that(record, About::AnswerLate);
            }
        }
        before = records.last().map(Record::id);
        if records.len() < PAGE {
            return Ok(());
        }
    }
}
