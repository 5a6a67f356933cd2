//! What each command does to the file. Every one checks before it writes, so that a refusal leaves nothing behind.

use factum_core::{ActionId, Span, Timestamp};

use super::fault::{failed, is_primary_key, while_doing};
use super::kept;
use super::notices;
use super::purge;
use super::register;
use super::reports::OnFile;
use super::row::{self, Standing, damaged};
use super::twins;
use super::writer::Work;
use crate::record::{Admission, Admitted, Claimed, Committed, NextRow, Record, Recorded, Restore};
use crate::register::Change;
use crate::report::Name;
use crate::seal::Seals;
use crate::shared::Fence;
use crate::texts::{ActionTexts, Penned, sealed_change};
use crate::{StoreError, matching, shared};

pub(super) const ADMITTING: &str = "recording an action";
pub(super) const CLAIMING: &str = "claiming an action";
pub(super) const RECORDING: &str = "recording evidence";
pub(super) const COMMITTING: &str = "committing a decision";
pub(super) const RESTORING: &str = "declaring a restore";
pub(super) const RELEASING: &str = "releasing a restore";
pub(super) const SETTING: &str = "changing a setting";
pub(super) const NAMING: &str = "naming an action";
pub(super) const KEEPING: &str = "keeping a contract";

/// A submission, with its confidential texts as they are written.
pub(super) struct Prepared {
    admission: Admission,
    texts: ActionTexts,
    facts: Penned,
    entries: Vec<Change>,
}

impl Prepared {
    /// Seals them: in the submitting task, not in the one thread that writes.
    pub(super) fn of(seals: &Seals, admission: Admission) -> Self {
        let id = admission.action.intent.action;
        let entries = admission.entries.iter();
        Self {
            texts: ActionTexts::of(seals, &admission.action),
            facts: Penned::of(seals, id, admission.facts.clone()),
            entries: entries.map(|change| sealed_change(seals, change)).collect(),
            admission,
        }
    }
}

/// Records a new action, or joins the one that its identity names.
pub(super) fn admit(work: &mut Work, prepared: Prepared) -> Result<Admitted, StoreError> {
    let Prepared {
        admission,
        texts,
        facts,
        entries,
    } = prepared;
    shared::sound(&admission)?;
    let sql = |error: rusqlite::Error| {
        if is_primary_key(&error) {
            shared::id_taken()
        } else {
            failed(ADMITTING, &error)
        }
    };
    if let Some(answer) = purge::answer(work, &admission)? {
        return Ok(answer);
    }
    if is_stale(work, &admission)? {
        // A repeat joins whatever has changed since.
        let known = row::find(&work.conn, admission.action.identity_hash).map_err(sql)?;
        return known.map_or(Ok(Admitted::Stale), |_| join(work, &admission));
    }
    if let Some(held_off) = twins::before(work, &admission)? {
        return Ok(held_off);
    }
    if !row::insert_action(&work.conn, &work.sums, &admission.action, &texts).map_err(sql)? {
        return join(work, &admission);
    }
    let now = work.now();
    let (guard, digest) = (admission.twins, crate::twins::digest(&admission.action));
    let (wish, mut names) = (admission.claim_for, admission.names.clone());
    names.extend(matching::names_of(&admission.facts));
    let (mut record, evidence, news) = shared::admitted(admission, now);
    record.overtaken = row::is_overtaken(&work.conn, &record.action).map_err(sql)?;
    let id = record.id();
    work.touch(id);
    let (conn, sums) = (&work.conn, &work.sums);
    record.chain = Some(sums.chains.begin(&record.action));
    let links = sums.chains.lengthen(&mut record, &evidence, &facts.hashes);
    row::insert_standing(conn, sums, &Standing::of(&record)).map_err(sql)?;
    row::insert_log(conn, sums, id, (&evidence, &facts.texts, &links)).map_err(sql)?;
    notices::of_action(work, &record, &news, now).map_err(sql)?;
    work.keep(record.clone());
    twins::name(work, guard, (digest, id))?;
    if !entries.is_empty() {
        register::make(work, &entries, now)?;
    }
    if name_it(work, &record, names, ADMITTING)? {
        let record = held(work, id, ADMITTING)?;
        return Ok(Admitted::Created(Box::new(record), None));
    }
    let claim = wish.and_then(|(_, lease)| work.claims.take(&record, lease, now).ok());
    Ok(Admitted::Created(Box::new(record), claim))
}

/// Whether what a submission was decided on is not so any more.
fn is_stale(work: &Work, admission: &Admission) -> Result<bool, StoreError> {
    let sql = while_doing(ADMITTING);
    let fits = register::is_under(&work.conn, admission.under).map_err(&sql)?
        && register::fit(&work.conn, &admission.entries).map_err(&sql)?;
    Ok(!fits)
}

fn join(work: &mut Work, admission: &Admission) -> Result<Admitted, StoreError> {
    let identity = admission.action.identity_hash;
    let id = row::find(&work.conn, identity).map_err(while_doing(ADMITTING))?;
    let first = match id {
        Some(id) => work.take(id, ADMITTING)?.map(|record| (id, record)),
        None => None,
    };
    let Some((id, mut first)) = first else {
        let how = "its identity is indexed, and its rows are gone".to_owned();
        return Err(damaged(ADMITTING, admission.action.intent.action, how));
    };
    if first.action.identity_hash != identity {
        let how = "its identity is not the one that it is indexed by".to_owned();
        return Err(damaged(ADMITTING, id, how));
    }
    first.overtaken =
        row::is_overtaken(&work.conn, &first.action).map_err(while_doing(ADMITTING))?;
    work.keep(first.clone());
    Ok(shared::join(first, &admission.action))
}

/// Claims an action.
pub(super) fn claim(work: &mut Work, id: ActionId, lease: Span) -> Result<Claimed, StoreError> {
    let Some(mut record) = work.take(id, CLAIMING)? else {
        return Ok(Claimed::Gone);
    };
    record.overtaken =
        row::is_overtaken(&work.conn, &record.action).map_err(while_doing(CLAIMING))?;
    work.keep(record.clone());
    let now = work.now();
    work.claims.sweep(now);
    Ok(match work.claims.take(&record, lease, now) {
        Ok(claim) => Claimed::Held(claim, Box::new(record)),
        Err(until) => Claimed::Busy(until),
    })
}

/// Adds facts, whoever holds the action.
pub(super) fn record(
    work: &mut Work,
    id: ActionId,
    facts: Penned,
) -> Result<Option<Recorded>, StoreError> {
    let Some(record) = work.take(id, RECORDING)? else {
        purge::late(work, id, facts)?;
        return Ok(None);
    };
    let now = work.now();
    if facts.facts.is_empty() {
        let unchanged = shared::nothing_recorded(&record, now);
        work.keep(record);
        return Ok(Some(unchanged));
    }
    append(
        work,
        record,
        now,
        facts,
        shared::decide_anew(now),
        RECORDING,
    )
    .map(Some)
}

/// Adds facts, if the action is still at the version that they were concluded from.
pub(super) fn record_at(
    work: &mut Work,
    id: ActionId,
    version: u64,
    facts: Penned,
) -> Result<Option<Committed>, StoreError> {
    let Some(current) = work.take(id, RECORDING)? else {
        return Ok(None);
    };
    let stale = current.version != version;
    work.keep(current);
    if stale {
        return Ok(Some(Committed::Stale));
    }
    Ok(record(work, id, facts)?.map(Committed::Durable))
}

/// Writes a decision, if the claim still holds and nothing was recorded meanwhile.
pub(super) fn commit(
    work: &mut Work,
    fence: Fence,
    facts: Penned,
    next: NextRow,
) -> Result<Committed, StoreError> {
    let now = work.now();
    if !work.claims.holds(fence.action, fence.token, now) {
        return Ok(Committed::Stale);
    }
    let Some(record) = work.take(fence.action, COMMITTING)? else {
        return Ok(Committed::Stale);
    };
    let moved = shared::rests_on_subject(&facts.facts)
        && row::is_overtaken(&work.conn, &record.action).map_err(while_doing(COMMITTING))?
            != fence.overtaken;
    let moved = moved
        || shared::rests_on_authority(&facts.facts)
            && !register::is_under(&work.conn, fence.under).map_err(while_doing(COMMITTING))?;
    if moved || record.version != fence.version {
        work.keep(record);
        return Ok(Committed::Stale);
    }
    append(work, record, now, facts, next, COMMITTING).map(Committed::Durable)
}

/// Adds facts, and what had waited for a name in them.
fn append(
    work: &mut Work,
    record: Record,
    now: Timestamp,
    facts: Penned,
    next: NextRow,
    doing: &'static str,
) -> Result<Recorded, StoreError> {
    let names = matching::names_of(&facts.facts);
    if names.is_empty() {
        return append_only(work, record, now, facts, next, doing);
    }
    let id = record.id();
    let mut recorded = append_only(work, record, now, facts, next, doing)?;
    let record = held(work, id, doing)?;
    if name_it(work, &record, names, doing)? {
        recorded.behind = Some(Box::new(held(work, id, doing)?));
    }
    Ok(recorded)
}

/// From now on an action is known by these names; gives whether a report had waited for one of them.
fn name_it(
    work: &mut Work,
    record: &Record,
    names: Vec<Name>,
    doing: &'static str,
) -> Result<bool, StoreError> {
    let shelf = &mut OnFile { work, doing };
    matching::name_action(shelf, record.id(), matching::place(record), names)
}

/// The record of an action that was just written.
pub(super) fn held(
    work: &mut Work,
    id: ActionId,
    doing: &'static str,
) -> Result<Record, StoreError> {
    let Some(record) = work.take(id, doing)? else {
        let how = "it is gone since it was written".to_owned();
        return Err(damaged(doing, id, how));
    };
    work.keep(record.clone());
    Ok(record)
}

/// Adds names by which reports find an action.
pub(super) fn know(work: &mut Work, id: ActionId, names: Vec<Name>) -> Result<bool, StoreError> {
    let Some(record) = work.take(id, NAMING)? else {
        return Ok(false);
    };
    work.keep(record.clone());
    work.write();
    name_it(work, &record, names, NAMING)
}

pub(super) fn append_only(
    work: &mut Work,
    mut record: Record,
    now: Timestamp,
    facts: Penned,
    next: NextRow,
    doing: &'static str,
) -> Result<Recorded, StoreError> {
    let id = record.id();
    work.touch(id);
    let Penned {
        facts,
        texts,
        hashes,
    } = facts;
    let (recorded, evidence, news) = shared::append(&mut record, now, facts, next);
    let sql = while_doing(doing);
    let (conn, sums) = (&work.conn, &work.sums);
    let links = sums.chains.lengthen(&mut record, &evidence, &hashes);
    if !row::update_standing(conn, sums, &Standing::of(&record)).map_err(&sql)? {
        let how = "the row of how it stands was changed by another hand".to_owned();
        return Err(damaged(doing, id, how));
    }
    row::insert_log(conn, sums, id, (&evidence, &texts, &links)).map_err(&sql)?;
    notices::of_action(work, &record, &news, now).map_err(&sql)?;
    work.keep(record);
    Ok(recorded)
}

/// Keeps the text of a contract.
pub(super) fn keep_contract(
    work: &mut Work,
    digest: [u8; 32],
    text: &str,
) -> Result<(), StoreError> {
    if kept::keep_contract(&work.conn, &work.sums, digest, text).map_err(while_doing(KEEPING))? {
        work.write();
    }
    Ok(())
}

/// Sets or removes a setting.
pub(super) fn put_setting(
    work: &mut Work,
    name: &str,
    value: Option<&str>,
) -> Result<(), StoreError> {
    work.write();
    kept::put_setting(&work.conn, &work.sums, name, value).map_err(while_doing(SETTING))
}

/// Declares that the store came from a copy.
pub(super) fn declare_restored(
    work: &mut Work,
    copy_until: Option<Timestamp>,
) -> Result<Restore, StoreError> {
    let sql = while_doing(RESTORING);
    let now = work.now();
    let earlier = kept::restore(&work.conn, &work.sums, RESTORING)?;
    let until = copy_until.unwrap_or(work.stamp_at_open);
    let restore = shared::restored_again(earlier.as_ref(), until, now);
    work.write();
    kept::put_restore(&work.conn, &work.sums, &restore).map_err(&sql)?;
    Ok(restore)
}

/// Allows effect requests again.
pub(super) fn release_restore(work: &mut Work, by: String) -> Result<Option<Restore>, StoreError> {
    let sql = while_doing(RELEASING);
    let Some(mut restore) = kept::restore(&work.conn, &work.sums, RELEASING)? else {
        return Ok(None);
    };
    if restore.released.is_none() {
        restore.released = Some((by, work.now()));
        work.write();
        kept::put_restore(&work.conn, &work.sums, &restore).map_err(&sql)?;
    }
    Ok(Some(restore))
}
