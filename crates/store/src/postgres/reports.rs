//! How reports and actions find each other here: in steps that are each durable before the next one looks.
//!
//! A report is written with its names before anybody looks for an action; an action's names are written with the fact that brings
//! them before anybody looks for reports. Of two that come at once at least one sees the other, and both seeing each other
//! add one fact. What a worker leaves between two steps is taken up when the store is opened, or by the report's repetition.

use std::collections::BTreeSet;

use factum_core::evidence::Callback;
use factum_core::{ActionId, Fact, Timestamp};
use tokio_postgres::Row;

use super::Inner;
use super::bound::Value;
use super::pool::Does;
use super::row::{action_id, count, lane, signed, uuid};
use crate::matching::{self, Known, REPORTS_MAX};
use crate::record::Record;
use crate::report::{Delivered, KeptReport, Name, Reading, Report, ReportFilter, ReportId, Site};
use crate::seal::Seals;
use crate::texts::{opened_report, sealed_report};
use crate::{StoreError, StoreErrorKind, shared};

const DELIVERING: &str = "keeping a report";
const NAMING: &str = "naming an action";

/// Reports that are taken up at an opening, at the most.
const LEFT_MAX: i64 = 1_000;

impl Inner {
    /// Keeps a report, and gives it to the action that it names.
    pub(super) async fn deliver(
        &self,
        report: Report,
        forget_before: Timestamp,
    ) -> Result<Delivered, StoreError> {
        let now = self.now(DELIVERING).await?;
        let Some(no) = self.insert_report(&report, now).await? else {
            return self.repeated(&report.id).await;
        };
        let before = forget_before.as_micros();
        let surplus = no - signed(REPORTS_MAX);
        let values: [Value<'_>; 3] = [&before, &surplus, &no];
        let sql = include_str!("sql/report_forget.sql");
        // Repeating it changes nothing more.
        self.connections
            .rows(DELIVERING, Does::Reads, sql, &values)
            .await?;
        let given = self.give_to_its_action(&report).await?;
        Ok(given.map_or(Delivered::Unmatched, Delivered::Matched))
    }

    /// A report that came before. If it found nothing then, it may find something now.
    async fn repeated(&self, id: &ReportId) -> Result<Delivered, StoreError> {
        let (lane, id) = place(id);
        let values: [Value<'_>; 2] = [&lane, &id];
        let sql = include_str!("sql/report_find.sql");
        let rows = self
            .connections
            .rows(DELIVERING, Does::Reads, sql, &values)
            .await?;
        let Some(kept) = rows.first().and_then(|row| kept(&self.seals, row)) else {
            return Ok(Delivered::Repeated(None));
        };
        if kept.action.is_some() {
            return Ok(Delivered::Repeated(kept.action));
        }
        let given = self.give_to_its_action(&kept.report).await?;
        Ok(given.map_or(Delivered::Repeated(None), Delivered::Matched))
    }

    /// The number of a report that is new.
    async fn insert_report(
        &self,
        report: &Report,
        at: Timestamp,
    ) -> Result<Option<i64>, StoreError> {
        let (lane, id) = place(&report.id);
        let (readings, body) = sealed_report(&self.seals, report);
        let names = hashes(matching::names_on(report));
        let site = &report.site;
        let values: [Value<'_>; 8] = [
            &lane,
            &id,
            &at.as_micros(),
            &site.tenant,
            &site.destination,
            &readings,
            &body,
            &names,
        ];
        let sql = include_str!("sql/report_insert.sql");
        // Whether it was this one or an earlier try that wrote it: what follows is the same.
        let rows = self
            .connections
            .rows(DELIVERING, Does::Reads, sql, &values)
            .await?;
        Ok(rows.first().map(|row| row.get(0)))
    }

    async fn give_to_its_action(&self, report: &Report) -> Result<Option<ActionId>, StoreError> {
        let Some((id, reading)) = self.find_for(report).await? else {
            return Ok(None);
        };
        self.give(report, id, &reading.callback).await?;
        Ok(Some(id))
    }

    /// The one action that the names of a report find, and the reading that finds it; none where they lead to two.
    async fn find_for<'a>(
        &self,
        report: &'a Report,
    ) -> Result<Option<(ActionId, &'a Reading)>, StoreError> {
        let mut found: Option<(ActionId, &Reading)> = None;
        for reading in &report.readings {
            for name in &reading.names {
                let known = Known {
                    site: report.site.clone(),
                    operation: reading.operation.clone(),
                    name: name.clone(),
                };
                for id in self.known_by(&known).await? {
                    match found {
                        Some((other, _)) if other != id => return Ok(None),
                        Some(_) => {}
                        None => found = Some((id, reading)),
                    }
                }
            }
        }
        Ok(found)
    }

    async fn known_by(&self, known: &Known) -> Result<Vec<ActionId>, StoreError> {
        let hash = known.hash();
        let values: [Value<'_>; 2] = [&i16::from(hash[0]), &hash.as_slice()];
        let sql = include_str!("sql/known_by_read.sql");
        let rows = self
            .connections
            .rows(DELIVERING, Does::Reads, sql, &values)
            .await?;
        Ok(rows.iter().map(|row| action_id(row.get(0))).collect())
    }

    /// Makes a report evidence about an action, once. It is settled last, so that one that was left in between is taken up again.
    async fn give(
        &self,
        report: &Report,
        id: ActionId,
        callback: &Callback,
    ) -> Result<(), StoreError> {
        self.add(DELIVERING, id, |record, now| {
            let fact = Fact::CalledBack(callback.clone());
            let known = record.known.has_called_back(callback);
            (!known).then(|| (vec![fact], shared::decide_anew(now)))
        })
        .await?;
        let (lane, report) = place(&report.id);
        let values: [Value<'_>; 3] = [&lane, &report, &uuid(id)];
        let sql = include_str!("sql/report_match.sql");
        // Repeating it changes nothing more.
        self.connections
            .rows(DELIVERING, Does::Reads, sql, &values)
            .await?;
        Ok(())
    }

    /// What waited for one of these names, which the action is known by already, is evidence about it. Gives whether
    /// anything did.
    pub(super) async fn look_for_reports(
        &self,
        id: ActionId,
        (site, operation): (Site, String),
        names: Vec<Name>,
    ) -> Result<bool, StoreError> {
        let mut found = false;
        for known in named(&(site, operation), &names) {
            for report in self.waiting(&known).await? {
                let Some((named, reading)) = self.find_for(&report).await? else {
                    continue;
                };
                if named == id {
                    self.give(&report, id, &reading.callback).await?;
                    found = true;
                }
            }
        }
        Ok(found)
    }

    async fn waiting(&self, known: &Known) -> Result<Vec<Report>, StoreError> {
        let hash = known.hash();
        let values: [Value<'_>; 2] = [&i16::from(hash[0]), &hash.as_slice()];
        let sql = include_str!("sql/report_waiting.sql");
        let rows = self
            .connections
            .rows(DELIVERING, Does::Reads, sql, &values)
            .await?;
        Ok(rows
            .iter()
            .filter_map(|row| kept(&self.seals, row))
            .map(|kept| kept.report)
            .collect())
    }

    /// Adds names by which reports find an action.
    pub(super) async fn know(&self, id: ActionId, names: Vec<Name>) -> Result<bool, StoreError> {
        let Some(record) = self.read(NAMING, id).await? else {
            return Ok(false);
        };
        let place = matching::place(&record);
        let hashes = hashes(named(&place, &names));
        let values: [Value<'_>; 3] = [&lane(id), &uuid(id), &hashes];
        let sql = include_str!("sql/known_by_insert.sql");
        // Repeating it changes nothing more.
        self.connections
            .rows(NAMING, Does::Reads, sql, &values)
            .await?;
        self.look_for_reports(id, place, names).await
    }

    /// Reports of a tenant, newest first; those that cannot be read are left out.
    pub(super) async fn reports(
        &self,
        filter: ReportFilter,
    ) -> Result<Vec<KeptReport>, StoreError> {
        let mut before = filter.before.map_or(i64::MAX, signed);
        let mut found = Vec::new();
        while found.len() < filter.limit {
            let wanted = filter.limit - found.len();
            let values: [Value<'_>; 4] =
                [&filter.tenant, &before, &count(wanted), &filter.unmatched];
            let sql = include_str!("sql/report_list.sql");
            let rows = self
                .connections
                .rows("listing reports", Does::Reads, sql, &values)
                .await?;
            found.extend(rows.iter().filter_map(|row| kept(&self.seals, row)));
            match rows.last() {
                Some(last) if rows.len() == wanted => before = last.get(0),
                Some(_) | None => break,
            }
        }
        Ok(found)
    }

    /// Takes up what a worker left between writing a report, or a name, and looking for the other side.
    pub(super) async fn take_up_reports(&self) -> Result<(), StoreError> {
        let sql = include_str!("sql/report_left.sql");
        let rows = self
            .connections
            .rows(DELIVERING, Does::Reads, sql, &[&LEFT_MAX])
            .await?;
        for left in rows.iter().filter_map(|row| kept(&self.seals, row)) {
            match self.give_to_its_action(&left.report).await {
                Ok(_) => {}
                // A damaged action is held, and the others go on.
                Err(error) if matches!(error.kind, StoreErrorKind::Corrupt { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Names where they count.
pub(super) fn named<'a>(
    (site, operation): &'a (Site, String),
    names: &'a [Name],
) -> impl Iterator<Item = Known> + 'a {
    names.iter().map(|name| Known {
        site: site.clone(),
        operation: operation.clone(),
        name: name.clone(),
    })
}

/// As they are indexed.
pub(super) fn hashes(names: impl Iterator<Item = Known>) -> Vec<Vec<u8>> {
    let distinct: BTreeSet<[u8; 32]> = names.map(|known| known.hash()).collect();
    distinct.into_iter().map(|hash| hash.to_vec()).collect()
}

/// The names of an action that facts bring, as they are indexed.
pub(super) fn hashes_of(record: &Record, names: &[Name]) -> Vec<Vec<u8>> {
    hashes(named(&matching::place(record), names))
}

/// Where a report lies.
fn place(id: &ReportId) -> (i16, &[u8]) {
    (i16::from(id.0[0]), id.0.as_slice())
}

/// A row of `report`; `None` if it cannot be read.
pub(super) fn kept(seals: &Seals, row: &Row) -> Option<KeptReport> {
    let action: Option<uuid::Uuid> = row.get(7);
    let id = ReportId(row.get::<_, &[u8]>(1).try_into().ok()?);
    let (readings, body) = opened_report(seals, &id, (row.get(5), row.get(6))).ok()?;
    Some(KeptReport {
        no: u64::try_from(row.get::<_, i64>(0)).ok()?,
        at: Timestamp::from_micros(row.get(2)),
        report: Report {
            id,
            site: Site {
                tenant: row.get(3),
                destination: row.get(4),
            },
            readings,
            body,
        },
        action: action.map(action_id),
    })
}
