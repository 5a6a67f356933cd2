//! Looks at every row: checksums, counts, chains, orphans, and SQLite's own check of its pages and indexes.

use std::path::Path;

use factum_core::ActionId;
use rusqlite::{Connection, params};

use super::fault::while_doing;
use super::readers::{Damaged, Reader};
use super::schema::{connect_copy, connect_reader, version_is_known};
use super::sums::Sums;
use super::{Options, graves, heads, kept, meta, notices, register, reports, row, twins};
use crate::head::Head;
use crate::record::Record;
use crate::verify::{Broken, Finding, Listed, Verified, follow, lost};
use crate::{StoreError, StoreErrorKind};

const DOING: &str = "verifying the store";

/// Actions that are read in one transaction, so that the log can be emptied in between.
const ROUND: i64 = 500;

/// Findings of one kind at the most.
const FINDINGS_MAX: i64 = 1_000;

/// Which file is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The store itself, whoever is at work on it meanwhile.
    Store,
    /// A copy that nobody works on. Nothing is written beside it.
    Copy,
}

/// Reads and checks every row of a file, and that all is there that a checkpoint lists; writes nothing. Takes as long as the file is
/// large.
///
/// # Errors
/// `Unsuitable` if there is no store, an older program wrote it, or the keys are not its own; what the disk says. What is not as it was
/// written is no error but a finding.
pub fn verify(
    options: &Options,
    subject: Subject,
    listed: Option<Listed>,
) -> Result<Verified, StoreError> {
    let path = &options.path;
    if !path.exists() {
        return Err(unsuitable(path, "there is no store to verify"));
    }
    let mut conn = match subject {
        Subject::Store => connect_reader(path)?,
        Subject::Copy => connect_copy(path)?,
    };
    version_is_known(&conn)?;
    let sums = Sums::new(&options.keys, &options.seals);
    let meta = meta::read(&conn).map_err(while_doing(DOING))?;
    if meta.is_none_or(|meta| meta.key_check != sums.key_check(&meta.store)) {
        let why = "it was written with other keys; bring back the folder `keys` that belongs to it";
        return Err(unsuitable(path, why));
    }
    let damaged = Damaged::default();
    let look = Look {
        sums: &sums,
        damaged: &damaged,
        listed,
        verified: Verified::default(),
    };
    look.whole(&mut conn)
}

fn unsuitable(path: &Path, why: &str) -> StoreError {
    let (path, why) = (path.display().to_string(), why.to_owned());
    StoreError::new(DOING, StoreErrorKind::Unsuitable { path, why })
}

impl Reader {
    /// Reads everything, on the connection of a store at work.
    pub(super) fn verify(&mut self) -> Result<Verified, StoreError> {
        let (conn, sums, damaged) = self.parts();
        let look = Look {
            sums,
            damaged,
            listed: None,
            verified: Verified::default(),
        };
        look.whole(conn)
    }
}

/// A look at a file.
struct Look<'a> {
    sums: &'a Sums,
    damaged: &'a Damaged,
    listed: Option<Listed>,
    verified: Verified,
}

impl Look<'_> {
    fn whole(mut self, conn: &mut Connection) -> Result<Verified, StoreError> {
        let sql = while_doing(DOING);
        self.pages(conn)?;
        let mut after = (-1, [0; 16]);
        while let Some(last) = self.round(conn, after)? {
            after = last;
        }
        self.not_met(conn, None)?;
        self.census(conn)?;
        for (text, how) in [
            (
                include_str!("sql/standing_orphans.sql"),
                "its fixed row is missing",
            ),
            (
                include_str!("sql/evidence_orphans.sql"),
                "it has evidence, and its fixed row is missing",
            ),
        ] {
            self.orphans(conn, text, how)?;
        }
        for damaged in [
            reports::damaged,
            kept::damaged,
            notices::damaged,
            twins::damaged,
            graves::damaged,
            register::all_damaged,
        ] {
            let found = damaged(conn, self.sums).map_err(&sql)?;
            self.verified.found_all(found);
        }
        Ok(self.verified)
    }

    /// SQLite's own look at pages and indexes.
    fn pages(&mut self, conn: &Connection) -> Result<(), StoreError> {
        let sql = while_doing(DOING);
        let mut statement = conn.prepare("PRAGMA integrity_check(100)").map_err(&sql)?;
        let lines = statement
            .query_map([], |row| row.get::<_, String>(0))
            .map_err(&sql)?;
        for line in lines {
            let line = line.map_err(&sql)?;
            if line != "ok" {
                self.verified.found(("the database file".to_owned(), line));
            }
        }
        Ok(())
    }

    /// Reads the next actions; gives the last of them, or `None` behind the end.
    fn round(
        &mut self,
        conn: &mut Connection,
        after: (i64, [u8; 16]),
    ) -> Result<Option<(i64, [u8; 16])>, StoreError> {
        let sql = while_doing(DOING);
        let transaction = conn.transaction().map_err(&sql)?;
        let keys: Vec<(i64, Vec<u8>)> = {
            let mut statement = transaction
                .prepare_cached(include_str!("sql/action_scan.sql"))
                .map_err(&sql)?;
            let rows = statement
                .query_map(params![after.0, after.1, ROUND], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })
                .map_err(&sql)?;
            rows.collect::<Result<_, _>>().map_err(&sql)?
        };
        let mut last = None;
        for (lane, bytes) in keys {
            self.verified.actions += 1;
            let Ok(bytes) = <[u8; 16]>::try_from(bytes) else {
                let what = format!("an action in lane {lane}");
                let how = "its id is not 16 bytes long".to_owned();
                self.verified.found((what, how));
                continue;
            };
            last = Some((lane, bytes));
            self.one(&transaction, lane, ActionId::from_bytes(bytes))?;
        }
        Ok(last)
    }

    /// One action with its evidence.
    fn one(&mut self, conn: &Connection, lane: i64, id: ActionId) -> Result<(), StoreError> {
        self.not_met(conn, Some(id))?;
        let listed = self.listed.as_mut().and_then(|listed| listed.met(id));
        let broken = match row::read_both(conn, self.sums, id, DOING) {
            Ok(Some((record, state))) => {
                self.verified.records += row::count(record.known.len());
                if record.status().state != state {
                    self.verified.outdated.push(id);
                }
                self.broken_chain(conn, &record, listed.as_ref())?
            }
            Ok(None) => {
                let how = format!("it stands in lane {lane}, which is not its own");
                Some(Broken::whole(how))
            }
            Err(error) => {
                let StoreErrorKind::Corrupt { how, .. } = error.kind else {
                    return Err(error);
                };
                super::readers::note(self.damaged, id, how.clone());
                let record = row::first_damaged(conn, self.sums, id).map_err(while_doing(DOING))?;
                Some(Broken { record, how })
            }
        };
        if let Some(broken) = broken {
            self.verified.found(Finding::of_action(id, broken));
        }
        Ok(())
    }

    fn broken_chain(
        &self,
        conn: &Connection,
        record: &Record,
        listed: Option<&Head>,
    ) -> Result<Option<Broken>, StoreError> {
        let log = row::read_raw(conn, self.sums, record.id(), DOING)?;
        Ok(follow(&self.sums.chains, record, &log, listed).err())
    }

    /// What a checkpoint lists before an action, or behind the last one, and the file does not hold: retention may have taken it.
    fn not_met(&mut self, conn: &Connection, before: Option<ActionId>) -> Result<(), StoreError> {
        while let Some(next) = self
            .listed
            .as_mut()
            .and_then(|listed| listed.not_met(before))
        {
            let head = match next {
                Ok(head) => head,
                Err(how) => {
                    self.verified.found(("the checkpoint".to_owned(), how));
                    continue;
                }
            };
            match graves::remains(conn, self.sums, head.action, DOING) {
                Ok(Some(_)) => self.verified.taken_away += 1,
                Ok(None) => {
                    let forgotten = graves::is_forgotten(conn, self.sums, head.action);
                    if forgotten.map_err(while_doing(DOING))? {
                        self.verified.forgotten += 1;
                    } else {
                        self.verified.found(lost(&head));
                    }
                }
                Err(error) => match error.kind {
                    StoreErrorKind::Corrupt { what, how } => self.verified.found((what, how)),
                    _ => return Err(error),
                },
            }
        }
        Ok(())
    }

    fn census(&mut self, conn: &Connection) -> Result<(), StoreError> {
        if let Some(listed) = &self.listed {
            let now = heads::counted(conn).map_err(while_doing(DOING))?;
            let differs = listed.differs(now);
            self.verified.found_all(differs);
        }
        Ok(())
    }

    fn orphans(&mut self, conn: &Connection, text: &str, how: &str) -> Result<(), StoreError> {
        let sql = while_doing(DOING);
        let mut statement = conn.prepare_cached(text).map_err(&sql)?;
        let ids = statement
            .query_map(params![FINDINGS_MAX], |row| row.get::<_, Vec<u8>>(0))
            .map_err(&sql)?;
        for bytes in ids {
            let bytes = bytes.map_err(&sql)?;
            match <[u8; 16]>::try_from(bytes) {
                Ok(bytes) => {
                    let id = ActionId::from_bytes(bytes);
                    let broken = Broken::whole(how);
                    self.verified.found(Finding::of_action(id, broken));
                }
                Err(_) => {
                    let what = "a row without an action".to_owned();
                    self.verified.found((what, how.to_owned()));
                }
            }
        }
        Ok(())
    }
}
