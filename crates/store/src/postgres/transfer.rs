//! The whole database out of one moment, while its workers go on; and an export into an empty one, in one transaction.
//!
//! A store that is taken out of use is fenced: a worker that stood still meanwhile can write no mark any more.

mod graves;

use std::io::Write;

use factum_core::{Evidence, Span, Timestamp, WorkerNonce};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, IsolationLevel, Row, Statement, Transaction};
use uuid::Uuid;

use super::register::{entry, lane as entry_lane, version};
use super::reports::{hashes, kept};
use super::row::{self, action_id, lane, restore, signed, uuid};
use super::{Inner, PostgresStore, StoreKeys, fault};
use crate::effect::effect_check;
use crate::encoding::hex;
use crate::record::{IMPORTED_AT, RETIRED, Record, identity_text};
use crate::register::{Entry, EntryVersion, Kind};
use crate::report::KeptReport;
use crate::seal::Seals;
use crate::texts::{ActionTexts, penned_log, sealed_body, sealed_report};
use crate::transfer::{
    ActionLine, Counts, EntryLine, Import, Line, Newest, RestoreLine, TwinLine, Twins, Writer,
    bytes, check_empty, check_in_use, is_moved, kept_report, refused, report_line,
};
use crate::{StoreError, StoreErrorKind, identity_digest, matching, shared};

const EXPORTING: &str = "exporting the store";
const IMPORTING: &str = "importing a store";

/// Whoever opens the store, until its own worker says that it lives.
const SOMEBODY: WorkerNonce = WorkerNonce(0);
/// For how long.
const OPENS_WITHIN: Span = Span::from_secs(30);

/// Rows that are fetched at once.
const PAGE: i32 = 200;

type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

impl PostgresStore {
    /// Refuses a store that was moved. Says first that somebody is here: who takes the store out of use sees that, or this sees
    /// what that one has written.
    pub(super) async fn check_in_use(&self) -> Result<(), StoreError> {
        self.inner.beat(SOMEBODY, OPENS_WITHIN).await?;
        check_in_use(self.inner.setting(RETIRED.to_owned()).await?)
    }

    /// Writes everything of one moment, while workers go on. With a name, the store is taken out of use in the same transaction: no
    /// worker may live, nothing may wait in the outbox, and nothing opens it for work afterwards.
    ///
    /// # Errors
    /// `Unsuitable` if it is in use and shall be taken out of it, `Corrupt` for a row that cannot be read, or what the disk says.
    pub async fn export(
        &self,
        keys: &StoreKeys,
        retire: Option<&str>,
        out: &mut (dyn Write + Send),
    ) -> Result<Counts, StoreError> {
        let now = self.inner.ask_now(EXPORTING).await?;
        let mut connection = self.inner.connections.one(EXPORTING).await?;
        let client: &mut Client = &mut connection;
        let transaction = client
            .build_transaction()
            .isolation_level(IsolationLevel::RepeatableRead)
            .start()
            .await
            .map_err(read)?;
        unhurried(&transaction).await?;
        if let Some(by) = retire {
            take_out_of_use(&transaction, by, now).await?;
        }
        let settings = include_str!("sql/export_settings.sql");
        let settings = transaction.query(settings, &[]).await.map_err(read)?;
        let retired = settings.iter().any(|row| row.get::<_, &str>(0) == RETIRED);
        let mut writer = Writer::begin(out, keys, retired)?;
        let contracts = include_str!("sql/export_contracts.sql");
        for row in transaction.query(contracts, &[]).await.map_err(read)? {
            let (digest, text) = (hex(row.get(0)), row.get(1));
            writer.line(&Line::Contract { digest, text })?;
        }
        for row in settings {
            let (name, value): (String, String) = (row.get(0), row.get(1));
            if is_moved(&name) {
                writer.line(&Line::Setting { name, value })?;
            }
        }
        rest(&self.inner.seals, &transaction, &mut writer).await?;
        let counts = writer.end()?;
        transaction.commit().await.map_err(read)?;
        Ok(counts)
    }

    /// Puts an export into this empty store, all or nothing. Where the exported store was still in use, this one stands under a
    /// restore: nothing is sent before an operator releases it (R18).
    ///
    /// # Errors
    /// `Unsuitable` if something is recorded here, a worker lives, or for what is wrong with the export; nothing was written.
    pub async fn import(&self, mut import: Import) -> Result<Counts, StoreError> {
        let now = self.inner.ask_now(IMPORTING).await?;
        let mut connection = self.inner.connections.one(IMPORTING).await?;
        let client: &mut Client = &mut connection;
        let transaction = client.transaction().await.map_err(write)?;
        unhurried(&transaction).await?;
        let lock = include_str!("sql/import_lock.sql");
        transaction.batch_execute(lock).await.map_err(write)?;
        let filled = include_str!("sql/import_filled.sql");
        let row = transaction
            .query_one(filled, &[&now.as_micros()])
            .await
            .map_err(write)?;
        check_empty(row.get(0), row.get(1), row.get(2))?;
        if row.get(3) {
            let why = "a worker is at work on it; stop it, and wait until it counts as gone (30 s)";
            return Err(refused(why.to_owned()));
        }
        let mut taking = TakingIn::begin(&self.inner, &transaction).await?;
        while let Some(line) = import.next()? {
            taking.line(&import, line).await?;
        }
        taking.newest.check(now)?;
        taking.end(import.is_retired(), now).await?;
        transaction.commit().await.map_err(write)?;
        Ok(import.counts())
    }
}

/// A whole store takes the time that it takes.
async fn unhurried(transaction: &Transaction<'_>) -> Result<(), StoreError> {
    let sql = "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0";
    transaction.batch_execute(sql).await.map_err(read)
}

async fn take_out_of_use(
    transaction: &Transaction<'_>,
    by: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let lock = include_str!("sql/retire_lock.sql");
    transaction.batch_execute(lock).await.map_err(read)?;
    let waiting = include_str!("sql/retire_waiting.sql");
    let row = transaction
        .query_one(waiting, &[&now.as_micros()])
        .await
        .map_err(read)?;
    let (workers, rows): (i64, i64) = (row.get(0), row.get(1));
    if workers > 0 {
        return Err(refused(format!(
            "{workers} workers are at work on it; stop them, and wait until they count as gone (30 s)"
        )));
    }
    if rows > 0 {
        return Err(refused(format!(
            "{rows} rows wait in its outbox, which is not moved; let a worker take them over first"
        )));
    }
    let fence = include_str!("sql/retire_fence.sql");
    transaction.batch_execute(fence).await.map_err(read)?;
    let put = include_str!("sql/setting_put.sql");
    transaction
        .execute(put, &[&RETIRED, &by])
        .await
        .map_err(read)?;
    Ok(())
}

/// The restore, the register, actions and reports.
async fn rest(
    seals: &Seals,
    transaction: &Transaction<'_>,
    writer: &mut Writer<'_>,
) -> Result<(), StoreError> {
    let sql = include_str!("sql/restore_read.sql");
    for row in transaction.query(sql, &[]).await.map_err(read)? {
        writer.line(&Line::Restore(RestoreLine::of(&restore(&row))))?;
    }
    let sql = include_str!("sql/edition_read.sql");
    let row = transaction.query_one(sql, &[]).await.map_err(read)?;
    let edition: i64 = row.get(0);
    writer.line(&Line::Edition(edition.cast_unsigned()))?;
    for kind in Kind::ALL {
        let sql = include_str!("sql/export_entries.sql");
        for row in transaction
            .query(sql, &[&kind.word()])
            .await
            .map_err(read)?
        {
            let entry = entry(seals, kind, &row)?;
            let versions = versions(transaction, seals, &entry).await?;
            writer.line(&Line::Entry(EntryLine::of(&entry, versions)))?;
        }
    }
    let sql = include_str!("sql/export_actions.sql");
    let all = transaction.bind(sql, &[]).await.map_err(read)?;
    loop {
        let rows = transaction.query_portal(&all, PAGE).await.map_err(read)?;
        for found in &rows {
            let record = row::record(EXPORTING, seals, found)?;
            let evidence = row::log_of(EXPORTING, record.id(), seals, found)?;
            let names: Option<Vec<Vec<u8>>> = found.get("names");
            let names = names.unwrap_or_default();
            let names: Vec<[u8; 32]> = names
                .into_iter()
                .filter_map(|name| name.try_into().ok())
                .collect();
            let line = ActionLine::of(&record, &evidence, &names);
            writer.line(&Line::Action(Box::new(line)))?;
        }
        if rows.is_empty() {
            break;
        }
    }
    let sql = include_str!("sql/export_twins.sql");
    for row in transaction.query(sql, &[]).await.map_err(read)? {
        writer.line(&Line::Twin(TwinLine::of(&twins(&row)?)))?;
    }
    graves::export(seals, transaction, writer).await?;
    let sql = include_str!("sql/export_reports.sql");
    for row in transaction.query(sql, &[]).await.map_err(read)? {
        let Some(kept) = kept(seals, &row) else {
            let what = format!("report {}", row.get::<_, i64>(0));
            let how = "it cannot be read".to_owned();
            let kind = StoreErrorKind::Corrupt { what, how };
            return Err(StoreError::new(EXPORTING, kind));
        };
        writer.line(&Line::Report(report_line(&kept)))?;
    }
    Ok(())
}

/// A row of twins.
fn twins(row: &Row) -> Result<Twins, StoreError> {
    let (digest, actions): (&[u8], Vec<Uuid>) = (row.get(0), row.get(1));
    let Ok(digest) = digest.try_into() else {
        let what = format!("the row of twins {}", hex(digest));
        let how = "its digest does not have 32 bytes".to_owned();
        let kind = StoreErrorKind::Corrupt { what, how };
        return Err(StoreError::new(EXPORTING, kind));
    };
    Ok(Twins {
        digest,
        actions: actions.into_iter().map(action_id).collect(),
    })
}

async fn versions(
    transaction: &Transaction<'_>,
    seals: &Seals,
    entry: &Entry,
) -> Result<Vec<EntryVersion>, StoreError> {
    let key = &entry.key;
    let sql = include_str!("sql/entry_history.sql");
    let values: Values<'_> = &[&entry_lane(key), &key.kind.word(), &key.tenant, &key.id];
    let rows = transaction.query(sql, values).await.map_err(read)?;
    rows.iter().map(|row| version(seals, key, row)).collect()
}

/// An import under way.
struct TakingIn<'a> {
    inner: &'a Inner,
    transaction: &'a Transaction<'a>,
    action: Statement,
    newest: Newest,
    report_no: u64,
}

impl<'a> TakingIn<'a> {
    async fn begin(inner: &'a Inner, transaction: &'a Transaction<'a>) -> Result<Self, StoreError> {
        let sql = include_str!("sql/import_action.sql");
        Ok(Self {
            inner,
            transaction,
            action: transaction.prepare(sql).await.map_err(write)?,
            newest: Newest::new(),
            report_no: 0,
        })
    }

    async fn line(&mut self, import: &Import, line: Line) -> Result<(), StoreError> {
        let wrong = |why: String| import.wrong(&why);
        match line {
            Line::Factum { .. } | Line::End { .. } => Ok(()),
            Line::Contract { digest, text } => {
                let digest: [u8; 32] = bytes(&digest).map_err(wrong)?;
                let sql = include_str!("sql/contract_insert.sql");
                self.execute(sql, &[&digest.as_slice(), &text]).await
            }
            Line::Setting { name, value } => {
                let sql = include_str!("sql/setting_put.sql");
                self.execute(sql, &[&name, &value]).await
            }
            Line::Restore(line) => {
                let sql = include_str!("sql/import_restore.sql");
                self.newest.see(Timestamp::from_micros(line.at));
                let values: Values<'_> = &[
                    &line.copy_until,
                    &line.at,
                    &line.released_by,
                    &line.released_at,
                ];
                self.execute(sql, values).await
            }
            Line::Edition(number) => {
                let sql = include_str!("sql/import_edition.sql");
                self.execute(sql, &[&signed(number)]).await
            }
            Line::Entry(line) => {
                let (entry, versions) = line.read().map_err(wrong)?;
                self.entry(&entry, versions).await
            }
            Line::Action(line) => {
                let (record, evidence, names) = line.read().map_err(wrong)?;
                self.action(record, &evidence, &names).await
            }
            Line::Twin(line) => {
                let row = line.read().map_err(wrong)?;
                let ids: Vec<Uuid> = row.actions.into_iter().map(uuid).collect();
                let values: Values<'_> = &[&i16::from(row.digest[0]), &row.digest.as_slice(), &ids];
                self.execute(include_str!("sql/import_twin.sql"), values)
                    .await
            }
            Line::Scope(line) => graves::import_scope(self.transaction, &line.read()).await,
            Line::Tombstone(line) => {
                let left = line.read().map_err(wrong)?;
                self.newest.see(left.tombstone.purged_at);
                graves::import(&self.inner.seals, self.transaction, &left).await
            }
            Line::Report(line) => {
                let kept = kept_report(line).map_err(wrong)?;
                self.report(&kept).await
            }
        }
    }

    async fn entry(
        &mut self,
        entry: &Entry,
        versions: Vec<EntryVersion>,
    ) -> Result<(), StoreError> {
        self.newest.see(entry.changed.at);
        let numbers: Vec<i64> = versions.iter().map(|one| signed(one.version)).collect();
        let seals = &self.inner.seals;
        let seal = |one: &EntryVersion| sealed_body(seals, &entry.key, &one.body);
        let bodies: Vec<String> = versions.iter().map(seal).collect();
        let ats: Vec<i64> = versions
            .iter()
            .map(|one| one.changed.at.as_micros())
            .collect();
        let whos: Vec<&str> = versions.iter().map(|one| one.changed.by.as_str()).collect();
        let whys: Vec<&str> = versions
            .iter()
            .map(|one| one.changed.why.as_str())
            .collect();
        let key = &entry.key;
        let values: Values<'_> = &[
            &entry_lane(key),
            &key.kind.word(),
            &key.tenant,
            &key.id,
            &entry.label,
            &entry.due.map(Timestamp::as_micros),
            &numbers,
            &bodies,
            &ats,
            &whos,
            &whys,
        ];
        self.execute(include_str!("sql/import_entry.sql"), values)
            .await
    }

    async fn action(
        &mut self,
        mut record: Record,
        evidence: &[Evidence],
        names: &[[u8; 32]],
    ) -> Result<(), StoreError> {
        let (seals, chains) = (&self.inner.seals, &self.inner.chains);
        let log = penned_log(seals, record.id(), evidence);
        record.chain = Some(chains.begin(&record.action));
        let links = chains.lengthen(&mut record, evidence, &log.hashes);
        let links: Vec<Option<Vec<u8>>> =
            links.into_iter().map(|link| link.map(Vec::from)).collect();
        let texts = ActionTexts::of(seals, &record.action);
        let check = seals
            .is_sealing()
            .then(|| effect_check(&record.action))
            .flatten();
        let (action, status, id) = (&record.action, record.status(), record.id());
        self.newest.see(action.intent.submitted_at);
        evidence.iter().for_each(|one| self.newest.see(one.at));
        let content = &action.content;
        let talk = content.conversation.as_ref().map(|talk| talk.id.as_str());
        let digest = identity_digest(&action.scope, &action.identity);
        let nos: Vec<i64> = evidence.iter().map(|one| signed(one.id.0)).collect();
        let ats: Vec<i64> = evidence.iter().map(|one| one.at.as_micros()).collect();
        let kinds: Vec<&str> = evidence.iter().map(|one| one.fact.kind()).collect();
        let names: Vec<&[u8]> = names.iter().map(<[u8; 32]>::as_slice).collect();
        let values: Values<'_> = &[
            &lane(id),
            &uuid(id),
            &action.identity_hash.0.as_slice(),
            &action.fingerprint.0.as_slice(),
            &content.contract.as_slice(),
            &action.scope.tenant,
            &identity_text(&action.identity),
            &talk,
            &texts.params,
            &texts.payload,
            &texts.head,
            &content.subject,
            &digest.as_slice(),
            &signed(record.version),
            &status.state.name(),
            &status.closed.is_some(),
            &record.next.step,
            &record.next.at.map(Timestamp::as_micros),
            &record.next.why,
            &action.scope.destination,
            &nos,
            &ats,
            &kinds,
            &log.texts,
            &names,
            &check,
            &links,
            &record.chain.map(Vec::from),
        ];
        let done = self.transaction.execute(&self.action, values).await;
        done.map(|_| ()).map_err(write)
    }

    async fn report(&mut self, kept: &KeptReport) -> Result<(), StoreError> {
        self.newest.see(kept.at);
        self.report_no = self.report_no.max(kept.no);
        let report = &kept.report;
        let (readings, body) = sealed_report(&self.inner.seals, report);
        let action: Option<Uuid> = kept.action.map(uuid);
        let values: Values<'_> = &[
            &i16::from(report.id.0[0]),
            &report.id.0.as_slice(),
            &signed(kept.no),
            &kept.at.as_micros(),
            &report.site.tenant,
            &report.site.destination,
            &readings,
            &body,
            &action,
            &hashes(matching::names_on(report)),
        ];
        self.execute(include_str!("sql/import_report.sql"), values)
            .await
    }

    async fn end(&self, retired: bool, now: Timestamp) -> Result<(), StoreError> {
        let sql = include_str!("sql/import_report_no.sql");
        let number = signed(self.report_no);
        self.transaction
            .query(sql, &[&number])
            .await
            .map_err(write)?;
        if !retired {
            let copied = shared::restored_again(None, self.newest.last(), now);
            let values: Values<'_> = &[&copied.copy_until.as_micros(), &copied.at.as_micros()];
            self.execute(include_str!("sql/restore_put.sql"), values)
                .await?;
        }
        let at = now.as_micros().to_string();
        let sql = include_str!("sql/setting_put.sql");
        self.execute(sql, &[&IMPORTED_AT, &at]).await
    }

    async fn execute(&self, sql: &str, values: Values<'_>) -> Result<(), StoreError> {
        let done = self.transaction.execute(sql, values).await;
        done.map(|_| ()).map_err(write)
    }
}

fn read(error: tokio_postgres::Error) -> StoreError {
    fault::reading(EXPORTING, &error)
}

fn write(error: tokio_postgres::Error) -> StoreError {
    fault::reading(IMPORTING, &error)
}
