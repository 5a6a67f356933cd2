//! Rows as values: the only place where columns are named, checked and read.

use std::sync::Arc;

use factum_core::{
    ActionId, Evidence, EvidenceId, Fingerprint, IdentityHash, Known, State, Timestamp,
};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::chain::{Link, RawRecord};
use crate::encoding::{Fixed, read_head};
use crate::record::{NextRow, Record, Restore};
use crate::seal::Seals;
use crate::texts::{ActionTexts, opened_fact, opened_fact_text};
use crate::{StoreError, StoreErrorKind};

/// What is wrong with a row, for people.
type Damage = String;

/// The lane of an action, as its column is typed.
pub(super) fn lane(id: ActionId) -> i16 {
    i16::from(id.lane().0)
}

pub(super) fn uuid(id: ActionId) -> Uuid {
    Uuid::from_bytes(id.to_bytes())
}

pub(super) fn action_id(uuid: Uuid) -> ActionId {
    ActionId::from_bytes(uuid.into_bytes())
}

/// The database's integers are signed; counts and versions never come near the end of them.
pub(super) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(super) fn count(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The error for a damaged action.
pub(super) fn damaged(doing: &'static str, id: ActionId, how: String) -> StoreError {
    let what = format!("action {id}");
    StoreError::new(doing, StoreErrorKind::Corrupt { what, how })
}

/// A column, or what is wrong with it.
fn column<'a, T: tokio_postgres::types::FromSql<'a>>(
    row: &'a Row,
    name: &str,
) -> Result<T, Damage> {
    row.try_get(name)
        .map_err(|error| format!("its column `{name}` cannot be read: {error}"))
}

fn bytes<const N: usize>(row: &Row, name: &str) -> Result<[u8; N], Damage> {
    column::<&[u8]>(row, name)?
        .try_into()
        .map_err(|_| format!("its column `{name}` does not have {N} bytes"))
}

/// One action with everything that is known about it, as both of its reading statements give it.
pub(super) fn record(doing: &'static str, seals: &Seals, row: &Row) -> Result<Record, StoreError> {
    let id = row
        .try_get("id")
        .map(action_id)
        .map_err(|error| StoreError::new(doing, StoreErrorKind::Database(error.to_string())))?;
    read(id, seals, row).map_err(|how| damaged(doing, id, how))
}

fn read(id: ActionId, seals: &Seals, row: &Row) -> Result<Record, Damage> {
    let written = ActionTexts {
        params: column(row, "params")?,
        payload: column(row, "payload")?,
        head: column(row, "head")?,
    };
    let texts = written.open(seals, id)?;
    let fixed = Fixed {
        id,
        identity: IdentityHash(bytes(row, "identity")?),
        fingerprint: Fingerprint(bytes(row, "fingerprint")?),
        contract: bytes(row, "contract")?,
        params: texts.params,
        payload: texts.payload,
    };
    let action = read_head(seals.form(), &texts.head, fixed)?;
    let evidence = log(id, seals, row)?;
    let records: i64 = column(row, "records")?;
    if count(evidence.len()) != records {
        let found = evidence.len();
        return Err(format!(
            "it has {found} records of evidence where {records} were written"
        ));
    }
    let state: &str = column(row, "state")?;
    State::from_name(state).ok_or_else(|| format!("`{state}` is no state"))?;
    Ok(Record {
        known: Known::fold(&evidence),
        overtaken: false,
        action: Arc::new(action),
        version: u64::try_from(column::<i64>(row, "version")?)
            .map_err(|_| "its version is negative".to_owned())?,
        next: NextRow {
            step: column(row, "next_step")?,
            at: column::<Option<i64>>(row, "next_at")?.map(Timestamp::from_micros),
            why: column(row, "next_why")?,
        },
        chain: link(row, "chain")?,
    })
}

/// A link of a chain; none in rows of an earlier version.
fn link(row: &Row, name: &str) -> Result<Option<Link>, Damage> {
    let written: Option<&[u8]> = column(row, name)?;
    written
        .map(|written| written.try_into())
        .transpose()
        .map_err(|_| format!("its column `{name}` does not have 32 bytes"))
}

fn log(id: ActionId, seals: &Seals, row: &Row) -> Result<Vec<Evidence>, Damage> {
    let nos: Option<Vec<i64>> = column(row, "nos")?;
    let ats: Option<Vec<i64>> = column(row, "ats")?;
    let facts: Option<Vec<String>> = column(row, "facts")?;
    let (Some(nos), Some(ats), Some(facts)) = (nos, ats, facts) else {
        return Ok(Vec::new());
    };
    let rows = nos.into_iter().zip(ats).zip(facts);
    rows.map(|((no, at), fact)| evidence((id, seals), no, at, fact))
        .collect()
}

fn evidence(
    (id, seals): (ActionId, &Seals),
    no: i64,
    at: i64,
    fact: String,
) -> Result<Evidence, Damage> {
    let of = |how: String| format!("record {no} of its evidence {how}");
    Ok(Evidence {
        id: EvidenceId(u64::try_from(no).map_err(|_| of("has a negative number".to_owned()))?),
        at: Timestamp::from_micros(at),
        fact: opened_fact(seals, id, fact).map_err(of)?,
    })
}

/// The log of an action, where its row holds that too.
pub(super) fn log_of(
    doing: &'static str,
    id: ActionId,
    seals: &Seals,
    row: &Row,
) -> Result<Vec<Evidence>, StoreError> {
    log(id, seals, row).map_err(|how| damaged(doing, id, how))
}

/// A row of the log alone.
pub(super) fn one_evidence(
    doing: &'static str,
    id: ActionId,
    seals: &Seals,
    row: &Row,
) -> Result<Evidence, StoreError> {
    let read = || {
        let (no, at) = (column(row, "no")?, column(row, "at")?);
        evidence((id, seals), no, at, column(row, "fact")?)
    };
    read().map_err(|how| damaged(doing, id, how))
}

/// A row of the log as it is written, opened and not understood yet.
pub(super) fn raw(
    doing: &'static str,
    id: ActionId,
    seals: &Seals,
    row: &Row,
) -> Result<RawRecord, StoreError> {
    let read = || {
        let no: i64 = column(row, "no")?;
        let of = |how: String| format!("record {no} of its evidence {how}");
        let text = opened_fact_text(seals, id, column(row, "fact")?).map_err(of)?;
        Ok(RawRecord {
            no: u64::try_from(no).map_err(|_| of("has a negative number".to_owned()))?,
            at: column(row, "at")?,
            kind: column(row, "kind")?,
            text,
            link: link(row, "chain")?,
        })
    };
    read().map_err(|how: Damage| damaged(doing, id, how))
}

/// The row of a restore.
pub(super) fn restore(row: &Row) -> Restore {
    let by: Option<String> = row.get("released_by");
    let at: Option<i64> = row.get("released_at");
    Restore {
        copy_until: Timestamp::from_micros(row.get("copy_until")),
        at: Timestamp::from_micros(row.get("at")),
        released: by.zip(at.map(Timestamp::from_micros)),
    }
}
