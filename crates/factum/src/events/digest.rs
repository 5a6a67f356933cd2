//! What waits for a person, announced to reviewers: when there is something new, and no more often than they want.

use std::collections::BTreeMap;

use factum_core::{Span, Timestamp};
use factum_engine::{Engine, Problem};
use factum_store::{Change, EntryKey, Filter, Kind, Record};

use crate::teller::Teller;

/// Actions that are looked through at once.
const PAGE: usize = 200;

/// Announces to each tenant's reviewers what waits, where something came in since they were last told.
pub(super) async fn announce(
    engine: &Engine,
    _teller: &Teller,
    every: Span,
) -> Result<(), Problem> {
    for (tenant, (waiting, newest)) in waiting(engine).await? {
        let key = EntryKey::new(Kind::Digest, tenant, "review");
        let entry = engine.store().entry(key.clone()).await?;
        let told = entry.as_ref().map(|entry| entry.changed.at);
        let is_new = told.is_none_or(|told| newest > told);
        if !is_new || told.is_some_and(|told| engine.now() < told + every) {
            continue;
        }
        let change = Change {
            key,
            expected: entry.map_or(0, |entry| entry.version),
            body: format!("{{\"v\":1,\"waiting\":{waiting}}}"),
            label: None,
            due: None,
            by: "factum".to_owned(),
            why: "something waits for a person".to_owned(),
        };
        // Of several workers one says so.
        engine.store().change(vec![change]).await?;
    }
    Ok(())
}

/// How much waits in each tenant, and since when the newest of it.
async fn waiting(engine: &Engine) -> Result<BTreeMap<String, (usize, Timestamp)>, Problem> {
    let (mut found, mut before) = (BTreeMap::new(), None);
    loop {
        let filter = Filter {
            next: Some("review".to_owned()),
            before,
            limit: PAGE,
            ..Filter::default()
        };
        let records = engine.list(filter).await?;
        for record in &records {
            let since = record.known.waits_for_a_person_since();
            let Some(since) = since else { continue };
            let of_tenant = found.entry(record.action.scope.tenant.clone());
            let (count, newest) = of_tenant.or_insert((0, since));
            *count += 1;
            *newest = since.max(*newest);
        }
        before = records.last().map(Record::id);
        if records.len() < PAGE {
            return Ok(found);
        }
    }
}
