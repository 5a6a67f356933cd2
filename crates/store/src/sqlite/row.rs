//! Rows as values: the only place where columns are named, checked and read.

use std::sync::Arc;

use factum_core::{
    ActionId, Evidence, EvidenceId, Fingerprint, IdentityHash, Known, Lane, State, Timestamp,
};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::fault::{failed, while_doing};
use super::sums::{Sum, Sums};
use crate::chain::{Link, RawRecord};
use crate::encoding::{Fixed, read_head};
use crate::record::{Action, NextRow, Record, identity_text};
use crate::shared::Overtaker;
use crate::texts::{ActionTexts, opened_fact, opened_fact_text, sealed_fact};
use crate::{StoreError, StoreErrorKind};

const ACTION_COLUMNS: usize = 13;
const STANDING_COLUMNS: usize = 12;
const EVIDENCE_COLUMNS: usize = 9;

/// The row of `standing`.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    pub(super) id: ActionId,
    pub(super) version: u64,
    pub(super) records: u64,
    pub(super) state: State,
    pub(super) closed: bool,
    pub(super) next: NextRow,
    pub(super) destination: String,
    pub(super) chain: Option<Link>,
}

impl Standing {
    /// How a record stands.
    pub(super) fn of(record: &Record) -> Self {
        let status = record.status();
        Self {
            id: record.id(),
            version: record.version,
            records: count(record.known.len()),
            state: status.state,
            closed: status.closed.is_some(),
            next: record.next.clone(),
            destination: record.action.scope.destination.clone(),
            chain: record.chain,
        }
    }
}

/// What is wrong with a row, for people.
type Damage = String;

/// The error for a damaged action.
pub(super) fn damaged(doing: &'static str, id: ActionId, how: String) -> StoreError {
    let what = format!("action {id}");
    StoreError::new(doing, StoreErrorKind::Corrupt { what, how })
}

/// SQLite's integers are signed; counts and versions never come near the end of them.
pub(super) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A count or version as read: what is negative was never written.
pub(super) fn unsigned(row: &Row, column: usize) -> rusqlite::Result<u64> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, value))
}

pub(super) fn count(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

fn lane(id: ActionId) -> i64 {
    let Lane(lane) = id.lane();
    i64::from(lane)
}

fn text(value: &str) -> ValueRef<'_> {
    ValueRef::Text(value.as_bytes())
}

fn blob(value: &[u8]) -> ValueRef<'_> {
    ValueRef::Blob(value)
}

/// Writes the fixed row of an action; false if its identity is known already, and then nothing is written.
pub(super) fn insert_action(
    conn: &Connection,
    sums: &Sums,
    action: &Action,
    texts: &ActionTexts,
) -> rusqlite::Result<bool> {
    let id = action.intent.action;
    let bytes = id.to_bytes();
    let name = identity_text(&action.identity);
    let content = &action.content;
    let talk = content.conversation.as_ref().map(|talk| talk.id.as_str());
    let (subject, place) = subject_columns(action);
    let sum = action_sum(sums, action, texts);
    let rows = conn
        .prepare_cached(include_str!("sql/action_insert.sql"))?
        .execute(params![
            lane(id),
            bytes,
            action.identity_hash.0,
            action.fingerprint.0,
            content.contract,
            action.scope.tenant,
            name,
            talk,
            texts.params,
            texts.payload,
            texts.head,
            sum,
            subject,
            place,
        ])?;
    Ok(rows == 1)
}

/// The checksum of the fixed row of an action.
fn action_sum(sums: &Sums, action: &Action, texts: &ActionTexts) -> Sum {
    let id = action.intent.action;
    let bytes = id.to_bytes();
    let name = identity_text(&action.identity);
    let content = &action.content;
    let talk = content.conversation.as_ref().map(|talk| talk.id.as_str());
    sums.of(
        "action",
        [
            ValueRef::Integer(lane(id)),
            blob(&bytes),
            blob(&action.identity_hash.0),
            blob(&action.fingerprint.0),
            blob(&content.contract),
            text(&action.scope.tenant),
            text(&name),
            talk.map_or(ValueRef::Null, text),
            text(&texts.params),
            text(&texts.payload),
            text(&texts.head),
            ValueRef::Null,
        ],
    )
}

/// Writes the confidential texts of an action anew: its content was taken out, or another key seals.
pub(super) fn rewrite_action(
    conn: &Connection,
    sums: &Sums,
    action: &Action,
) -> rusqlite::Result<()> {
    let id = action.intent.action;
    let texts = ActionTexts::of(&sums.seals, action);
    let sum = action_sum(sums, action, &texts);
    conn.prepare_cached(include_str!("sql/action_empty.sql"))?
        .execute(params![
            lane(id),
            id.to_bytes(),
            texts.params,
            texts.payload,
            texts.head,
            sum
        ])?;
    Ok(())
}

/// The subject and its place, by which later actions on it are found. They stand outside the checksum, and repeat what is
/// inside it.
fn subject_columns(action: &Action) -> (Option<&str>, Option<&str>) {
    let subject = action.content.subject.as_deref();
    let place = subject.map(|_| action.scope.destination.as_str());
    (subject, place)
}

/// Whether a later action on the subject of this one exists.
pub(super) fn is_overtaken(conn: &Connection, action: &Action) -> rusqlite::Result<bool> {
    let Some(wanted) = Overtaker::of(action) else {
        return Ok(false);
    };
    conn.prepare_cached(include_str!("sql/action_overtaken.sql"))?
        .exists(params![
            wanted.tenant,
            wanted.destination,
            wanted.subject,
            wanted.from.to_bytes(),
            wanted.but.to_bytes(),
        ])
}

fn standing_sum(sums: &Sums, row: &Standing) -> Sum {
    sums.of(
        "standing",
        [
            ValueRef::Integer(lane(row.id)),
            blob(&row.id.to_bytes()),
            ValueRef::Integer(signed(row.version)),
            ValueRef::Integer(signed(row.records)),
            text(row.state.name()),
            ValueRef::Integer(i64::from(row.closed)),
            text(&row.next.step),
            row.next
                .at
                .map_or(ValueRef::Null, |at| ValueRef::Integer(at.as_micros())),
            text(&row.next.why),
            text(&row.destination),
            row.chain.as_ref().map_or(ValueRef::Null, |link| blob(link)),
        ],
    )
}

/// Writes how a new action stands.
pub(super) fn insert_standing(
    conn: &Connection,
    sums: &Sums,
    row: &Standing,
) -> rusqlite::Result<()> {
    conn.prepare_cached(include_str!("sql/standing_insert.sql"))?
        .execute(params![
            lane(row.id),
            row.id.to_bytes(),
            signed(row.version),
            signed(row.records),
            row.state.name(),
            row.closed,
            row.next.step,
            row.next.at.map(Timestamp::as_micros),
            row.next.why,
            row.destination,
            standing_sum(sums, row),
            row.chain,
        ])?;
    Ok(())
}

/// Rewrites how an action stands; false if the row is not at the version before.
pub(super) fn update_standing(
    conn: &Connection,
    sums: &Sums,
    row: &Standing,
) -> rusqlite::Result<bool> {
    let rows = conn
        .prepare_cached(include_str!("sql/standing_update.sql"))?
        .execute(params![
            lane(row.id),
            row.id.to_bytes(),
            signed(row.version),
            signed(row.records),
            row.state.name(),
            row.closed,
            row.next.step,
            row.next.at.map(Timestamp::as_micros),
            row.next.why,
            standing_sum(sums, row),
            signed(row.version) - 1,
            row.chain,
        ])?;
    Ok(rows == 1)
}

fn evidence_sum(
    sums: &Sums,
    id: ActionId,
    (no, at, kind): (i64, i64, &str),
    (fact, link): (&str, Option<Link>),
) -> Sum {
    sums.of(
        "evidence",
        [
            ValueRef::Integer(lane(id)),
            blob(&id.to_bytes()),
            ValueRef::Integer(no),
            ValueRef::Integer(at),
            text(kind),
            text(fact),
            ValueRef::Null,
            link.as_ref().map_or(ValueRef::Null, |link| blob(link)),
        ],
    )
}

/// Seals one record of evidence anew, and gives it its link.
pub(super) fn rewrite_evidence(
    conn: &Connection,
    sums: &Sums,
    id: ActionId,
    record: &RawRecord,
) -> rusqlite::Result<()> {
    let fact = sealed_fact(&sums.seals, id, &record.text);
    let (no, link) = (signed(record.no), record.link);
    let sum = evidence_sum(sums, id, (no, record.at, &record.kind), (&fact, link));
    conn.prepare_cached(include_str!("sql/reseal_evidence.sql"))?
        .execute(params![lane(id), id.to_bytes(), no, fact, link, sum])?;
    Ok(())
}

/// Gives an action the chain that an earlier version did not make.
pub(super) fn rewrite_chain(
    conn: &Connection,
    sums: &Sums,
    id: ActionId,
    link: Link,
    doing: &'static str,
) -> Result<(), StoreError> {
    let read = read_standing(conn, sums, id).map_err(while_doing(doing))?;
    let Some(Ok(mut standing)) = read else {
        let how = "the row of how it stands cannot be read".to_owned();
        return Err(damaged(doing, id, how));
    };
    standing.chain = Some(link);
    conn.prepare_cached(include_str!("sql/reseal_standing.sql"))
        .and_then(|mut statement| {
            let sum = standing_sum(sums, &standing);
            statement.execute(params![lane(id), id.to_bytes(), link, sum])
        })
        .map_err(while_doing(doing))?;
    Ok(())
}

/// The log of one action as it is written, opened and not understood yet.
pub(super) fn read_raw(
    conn: &Connection,
    sums: &Sums,
    id: ActionId,
    doing: &'static str,
) -> Result<Vec<RawRecord>, StoreError> {
    let sql = while_doing(doing);
    let mut statement = conn
        .prepare_cached(include_str!("sql/evidence_read.sql"))
        .map_err(&sql)?;
    let mut rows = statement
        .query(params![lane(id), id.to_bytes()])
        .map_err(&sql)?;
    let mut log = Vec::new();
    while let Some(row) = rows.next().map_err(&sql)? {
        let record = raw(sums, id, row).map_err(&sql)?;
        log.push(record.map_err(|how| {
            damaged(
                doing,
                id,
                format!("record {} of its evidence {how}", log.len() + 1),
            )
        })?);
    }
    Ok(log)
}

/// The number of the first record of an action's evidence that is not what was written, if there is one.
pub(super) fn first_damaged(
    conn: &Connection,
    sums: &Sums,
    id: ActionId,
) -> rusqlite::Result<Option<u64>> {
    let mut statement = conn.prepare_cached(include_str!("sql/evidence_read.sql"))?;
    let mut rows = statement.query(params![lane(id), id.to_bytes()])?;
    let mut number = 0;
    while let Some(row) = rows.next()? {
        number += 1;
        if one_evidence(sums, id, row)?.is_err() {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

fn raw(sums: &Sums, id: ActionId, row: &Row) -> rusqlite::Result<Result<RawRecord, Damage>> {
    if !sums.holds("evidence", row, EVIDENCE_COLUMNS)? {
        return Ok(Err("does not match its checksum".to_owned()));
    }
    let text = match opened_fact_text(&sums.seals, id, row.get(5)?) {
        Ok(text) => text,
        Err(how) => return Ok(Err(how)),
    };
    Ok(Ok(RawRecord {
        no: unsigned(row, 2)?,
        at: row.get(3)?,
        kind: row.get(4)?,
        text,
        link: row.get(7)?,
    }))
}

/// Writes one record of evidence.
fn insert_evidence(
    conn: &Connection,
    sums: &Sums,
    id: ActionId,
    (evidence, fact, link): (&Evidence, &str, Option<Link>),
) -> rusqlite::Result<()> {
    let kind = evidence.fact.kind();
    let (no, at) = (signed(evidence.id.0), evidence.at.as_micros());
    let bytes = id.to_bytes();
    let sum = evidence_sum(sums, id, (no, at, kind), (fact, link));
    conn.prepare_cached(include_str!("sql/evidence_insert.sql"))?
        .execute(params![lane(id), bytes, no, at, kind, fact, sum, link])?;
    Ok(())
}

/// Writes records of evidence with their texts and links, all in one order.
pub(super) fn insert_log(
    conn: &Connection,
    sums: &Sums,
    id: ActionId,
    (evidence, texts, links): (&[Evidence], &[String], &[Option<Link>]),
) -> rusqlite::Result<()> {
    for ((one, text), link) in evidence.iter().zip(texts).zip(links) {
        insert_evidence(conn, sums, id, (one, text, *link))?;
    }
    Ok(())
}

/// Reads one action with everything that is known about it, every row checked.
pub(super) fn read_record(
    conn: &Connection,
    sums: &Sums,
    id: ActionId,
    doing: &'static str,
) -> Result<Option<Record>, StoreError> {
    Ok(read_both(conn, sums, id, doing)?.map(|(record, _)| record))
}

/// The same, with the state that is written. It may differ from the record's own where another version of the core wrote
/// it: the evidence counts, and the next record or decision writes the state anew.
pub(super) fn read_both(
    conn: &Connection,
    sums: &Sums,
    id: ActionId,
    doing: &'static str,
) -> Result<Option<(Record, State)>, StoreError> {
    let action = read_action(conn, sums, id).map_err(while_doing(doing))?;
    let standing = read_standing(conn, sums, id).map_err(while_doing(doing))?;
    let (action, standing) = match (action, standing) {
        (None, None) => return Ok(None),
        (Some(action), Some(standing)) => (action, standing),
        (None, Some(_)) => (Err("its fixed row is missing".to_owned()), standing_lost()),
        (Some(_), None) => (
            Err("the row of how it stands is missing".to_owned()),
            standing_lost(),
        ),
    };
    let read = action.and_then(|action| Ok((action, standing?)));
    let (action, standing) = read.map_err(|how| damaged(doing, id, how))?;
    let evidence = read_evidence(conn, sums, id, doing)?;
    if count(evidence.len()) != standing.records {
        let how = format!(
            "it has {} records of evidence where {} were written",
            evidence.len(),
            standing.records
        );
        return Err(damaged(doing, id, how));
    }
    let record = Record {
        known: Known::fold(&evidence),
        overtaken: is_overtaken(conn, &action).map_err(while_doing(doing))?,
        action: Arc::new(action),
        version: standing.version,
        next: standing.next,
        chain: standing.chain,
    };
    Ok(Some((record, standing.state)))
}

fn standing_lost() -> Result<Standing, Damage> {
    Err("the row of how it stands is missing".to_owned())
}

fn read_action(
    conn: &Connection,
    sums: &Sums,
    id: ActionId,
) -> rusqlite::Result<Option<Result<Action, Damage>>> {
    conn.prepare_cached(include_str!("sql/action_read.sql"))?
        .query_row(params![lane(id), id.to_bytes()], |row| {
            if !sums.holds("action", row, ACTION_COLUMNS)? {
                return Ok(Err("its fixed row does not match its checksum".to_owned()));
            }
            let written = ActionTexts {
                params: row.get(8)?,
                payload: row.get(9)?,
                head: row.get(10)?,
            };
            let texts = match written.open(&sums.seals, id) {
                Ok(texts) => texts,
                Err(how) => return Ok(Err(how)),
            };
            let fixed = Fixed {
                id,
                identity: IdentityHash(row.get(2)?),
                fingerprint: Fingerprint(row.get(3)?),
                contract: row.get(4)?,
                params: texts.params,
                payload: texts.payload,
            };
            let action = read_head(sums.seals.form(), &texts.head, fixed);
            let columns: (Option<String>, Option<String>) = (row.get(13)?, row.get(14)?);
            Ok(action.and_then(|action| {
                if subject_columns(&action) == (columns.0.as_deref(), columns.1.as_deref()) {
                    Ok(action)
                } else {
                    Err("its subject is not the one that it is indexed by".to_owned())
                }
            }))
        })
        .optional()
}

fn read_standing(
    conn: &Connection,
    sums: &Sums,
    id: ActionId,
) -> rusqlite::Result<Option<Result<Standing, Damage>>> {
    conn.prepare_cached(include_str!("sql/standing_read.sql"))?
        .query_row(params![lane(id), id.to_bytes()], |row| standing(sums, row))
        .optional()
}

/// A row of `standing`, as both of its reading statements give it.
pub(super) fn standing(sums: &Sums, row: &Row) -> rusqlite::Result<Result<Standing, Damage>> {
    if !sums.holds("standing", row, STANDING_COLUMNS)? {
        return Ok(Err(
            "the row of how it stands does not match its checksum".to_owned()
        ));
    }
    let state: String = row.get(4)?;
    let Some(state) = State::from_name(&state) else {
        return Ok(Err(format!("`{state}` is no state")));
    };
    Ok(Ok(Standing {
        id: ActionId::from_bytes(row.get(1)?),
        version: unsigned(row, 2)?,
        records: unsigned(row, 3)?,
        state,
        closed: row.get(5)?,
        next: NextRow {
            step: row.get(6)?,
            at: row.get::<_, Option<i64>>(7)?.map(Timestamp::from_micros),
            why: row.get(8)?,
        },
        destination: row.get(9)?,
        chain: row.get(10)?,
    }))
}

/// The log of one action, every record checked.
pub(super) fn read_evidence(
    conn: &Connection,
    sums: &Sums,
    id: ActionId,
    doing: &'static str,
) -> Result<Vec<Evidence>, StoreError> {
    let sql = |error: rusqlite::Error| failed(doing, &error);
    let mut statement = conn
        .prepare_cached(include_str!("sql/evidence_read.sql"))
        .map_err(sql)?;
    let mut rows = statement
        .query(params![lane(id), id.to_bytes()])
        .map_err(sql)?;
    let mut evidence = Vec::new();
    while let Some(row) = rows.next().map_err(sql)? {
        let one = one_evidence(sums, id, row).map_err(sql)?;
        evidence.push(one.map_err(|how| {
            let how = format!("record {} of its evidence {how}", evidence.len() + 1);
            damaged(doing, id, how)
        })?);
    }
    Ok(evidence)
}

fn one_evidence(
    sums: &Sums,
    id: ActionId,
    row: &Row,
) -> rusqlite::Result<Result<Evidence, Damage>> {
    if !sums.holds("evidence", row, EVIDENCE_COLUMNS)? {
        return Ok(Err("does not match its checksum".to_owned()));
    }
    let (no, at): (u64, i64) = (unsigned(row, 2)?, row.get(3)?);
    let fact = opened_fact(&sums.seals, id, row.get(5)?);
    Ok(fact.map(|fact| Evidence {
        id: EvidenceId(no),
        at: Timestamp::from_micros(at),
        fact,
    }))
}

/// The action that an identity names.
pub(super) fn find(
    conn: &Connection,
    identity: IdentityHash,
) -> rusqlite::Result<Option<ActionId>> {
    conn.prepare_cached(include_str!("sql/action_find.sql"))?
        .query_row(params![identity.0], |row| row.get(0))
        .optional()
        .map(|id| id.map(ActionId::from_bytes))
}
