//! Retention here: each lane's part of a purge is one statement, fenced by the versions of its actions and by the edition.

use std::collections::BTreeMap;

use factum_core::{ActionId, Fact, Fingerprint, IdentityHash, Lane, Scope, State, Timestamp};
use tokio_postgres::Row;
use uuid::Uuid;

use super::Inner;
use super::bound::Value;
use super::pool::Does;
use super::row::{self, action_id, count, lane, signed, uuid};
use crate::purge::{
    self, Purge, Purged, Remains, ScopeRow, SettledPage, Take, Tombstone, scope_digest,
};
use crate::record::{Action, Admitted, Record, name_facts};
use crate::texts::{ActionTexts, Penned, penned_log};
use crate::{StoreError, StoreErrorKind};

const READING: &str = "looking what is settled";
const PURGING: &str = "purging";
const LATE: &str = "keeping late evidence";

/// Tries to number on behind what others write at the same time.
const ROUNDS: usize = 16;

/// A wish with the action as it stands, and the stamp of the last word about it.
type Wish = (Purge, Record, Timestamp);

/// Entries that go with an action, as columns.
#[derive(Default)]
struct Entries {
    actions: Vec<Uuid>,
    lanes: Vec<i16>,
    kinds: Vec<&'static str>,
    tenants: Vec<String>,
    ids: Vec<String>,
}

impl Entries {
    fn of(wishes: &[Wish]) -> Self {
        let mut columns = Self::default();
        for (wish, ..) in wishes {
            for key in wish.entries.iter().filter(|key| !key.kind.is_authority()) {
                columns.actions.push(uuid(wish.action));
                columns.lanes.push(i16::from(key.lane().0));
                columns.kinds.push(key.kind.word());
                columns.tenants.push(key.tenant.clone());
                columns.ids.push(key.id.clone());
            }
        }
        columns
    }
}

impl Inner {
    /// The settled actions among the next ones. Damaged ones are left out.
    pub(super) async fn settled(
        &self,
        after: Option<ActionId>,
        made_before: Timestamp,
        limit: usize,
    ) -> Result<SettledPage, StoreError> {
        let end = ActionId::new(made_before, Lane(0), 0).first_of_its_millisecond();
        let (after_lane, after_id) = after.map_or((-1, Uuid::nil()), |id| (lane(id), uuid(id)));
        let values: [Value<'_>; 4] = [&after_lane, &after_id, &uuid(end), &count(limit)];
        let sql = include_str!("sql/settled_page.sql");
        let rows = (self.connections)
            .rows(READING, Does::Reads, sql, &values)
            .await?;
        let mut page = SettledPage::default();
        for found in &rows {
            let id = action_id(found.get(0));
            page.last = Some(id);
            if !found.get::<_, bool>(1) {
                continue;
            }
            match self.whole(id).await {
                Ok(found) => page.settled.extend(found),
                Err(error) if matches!(error.kind, StoreErrorKind::Corrupt { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(page)
    }

    async fn whole(&self, id: ActionId) -> Result<Option<(Record, Timestamp)>, StoreError> {
        let Some(record) = self.read(READING, id).await? else {
            return Ok(None);
        };
        let evidence = self.history(id).await?;
        let last = purge::last_word(&evidence, &record);
        Ok(Some((record, last)))
    }

    /// Takes away what may be taken, lane by lane.
    pub(super) async fn purge(&self, wishes: Vec<Purge>, under: u64) -> Result<Purged, StoreError> {
        let mut parts: BTreeMap<(i16, Take), Vec<Wish>> = BTreeMap::new();
        for wish in purge::taken_up(wishes) {
            let Some((record, last)) = self.whole(wish.action).await? else {
                continue;
            };
            if purge::fits(&wish, &record) {
                let part = parts.entry((lane(wish.action), wish.take)).or_default();
                part.push((wish, record, last));
            }
        }
        let mut done = Vec::new();
        for ((lane, take), part) in parts {
            let now = self.now(PURGING).await?;
            let taken = match take {
                Take::Content => self.empty(lane, &part, under, now).await?,
                Take::Action => self.take_away(lane, &part, under, now).await?,
            };
            match taken {
                Some(ids) => done.extend(ids),
                // Lanes before this one were done under the edition: what is left is decided anew.
                None if done.is_empty() => return Ok(Purged::Stale),
                None => break,
            }
        }
        for id in &done {
            drop(self.kept(*id));
        }
        Ok(Purged::Done(done))
    }

    async fn empty(
        &self,
        lane: i16,
        part: &[Wish],
        under: u64,
        now: Timestamp,
    ) -> Result<Option<Vec<ActionId>>, StoreError> {
        let heads: Vec<String> = part
            .iter()
            .map(|(_, record, _)| {
                let emptied = purge::without_content(&record.action, now);
                ActionTexts::of(&self.seals, &emptied).head
            })
            .collect();
        let numbers: Vec<i64> = part
            .iter()
            .map(|(_, record, _)| signed(record.known.next_id().0))
            .collect();
        let (mut facts, mut links) = (Vec::new(), Vec::new());
        for (wish, record, _) in part {
            let note = name_facts(&record.known, now, vec![purge::noted(wish)]);
            let log = penned_log(&self.seals, wish.action, &note);
            let lengthened = self
                .chains
                .lengthen(&mut record.clone(), &note, &log.hashes);
            links.extend(lengthened.into_iter().map(|link| link.map(Vec::from)));
            facts.extend(log.texts);
        }
        let (ids, versions) = names(part);
        let entries = Entries::of(part);
        let values: [Value<'_>; 14] = [
            &lane,
            &signed(under),
            &ids,
            &versions,
            &heads,
            &numbers,
            &facts,
            &now.as_micros(),
            &entries.actions,
            &entries.lanes,
            &entries.kinds,
            &entries.tenants,
            &entries.ids,
            &links,
        ];
        let sql = include_str!("sql/purge_content.sql");
        self.taken(sql, &values).await
    }

    async fn take_away(
        &self,
        lane: i16,
        part: &[Wish],
        under: u64,
        now: Timestamp,
    ) -> Result<Option<Vec<ActionId>>, StoreError> {
        fn all<T>(part: &[Wish], of: impl Fn(&Action) -> T) -> Vec<T> {
            part.iter()
                .map(|(_, record, _)| of(&record.action))
                .collect()
        }
        let stones: Vec<Tombstone> = part
            .iter()
            .map(|(_, record, last)| Tombstone::of(record, *last, now))
            .collect();
        let (ids, versions) = names(part);
        let entries = Entries::of(part);
        let values: [Value<'_>; 21] = [
            &lane,
            &signed(under),
            &ids,
            &versions,
            &all(part, |action| action.identity_hash.0.to_vec()),
            &all(part, |action| action.fingerprint.0.to_vec()),
            &stones
                .iter()
                .map(|one| one.digest.to_vec())
                .collect::<Vec<_>>(),
            &all(part, |action| scope_digest(&action.scope).to_vec()),
            &stones
                .iter()
                .map(|one| one.state.name())
                .collect::<Vec<_>>(),
            &stones
                .iter()
                .map(|one| one.intent_at.map(Timestamp::as_micros))
                .collect::<Vec<_>>(),
            &stones
                .iter()
                .map(|one| one.settled_at.as_micros())
                .collect::<Vec<_>>(),
            &all(part, |action| action.scope.tenant.clone()),
            &all(part, |action| action.scope.principal.clone()),
            &all(part, |action| action.scope.destination.clone()),
            &all(part, |action| action.scope.operation.clone()),
            &now.as_micros(),
            &entries.actions,
            &entries.lanes,
            &entries.kinds,
            &entries.tenants,
            &entries.ids,
        ];
        let sql = include_str!("sql/purge_action.sql");
        self.taken(sql, &values).await
    }

    /// Those that a statement has taken something of; none where the register is at another edition. Repeating it after a lost
    /// answer takes nothing more: each is at another version by then, and is counted at the next look.
    async fn taken(
        &self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Option<Vec<ActionId>>, StoreError> {
        let rows = (self.connections)
            .rows(PURGING, Does::Reads, sql, values)
            .await?;
        let fits = rows.first().is_some_and(|row| row.get(0));
        let ids = rows.iter().filter_map(|row| row.get::<_, Option<Uuid>>(1));
        Ok(fits.then(|| ids.map(action_id).collect()))
    }

    /// The tombstone of an identity.
    pub(super) async fn tombstone(
        &self,
        doing: &'static str,
        identity: IdentityHash,
    ) -> Result<Option<Tombstone>, StoreError> {
        let values: [Value<'_>; 2] = [&i16::from(identity.lane().0), &identity.0.as_slice()];
        let sql = include_str!("sql/tombstone_find.sql");
        let rows = (self.connections)
            .rows(doing, Does::Reads, sql, &values)
            .await?;
        rows.first().map(|row| stone(doing, row)).transpose()
    }

    /// What an identity comes to that another action has taken than those that are recorded.
    pub(super) async fn gone_or_reserved(
        &self,
        doing: &'static str,
        submitted: &Action,
        named: ActionId,
    ) -> Result<Admitted, StoreError> {
        if let Some(stone) = self.tombstone(doing, submitted.identity_hash).await? {
            return Ok(Admitted::Gone(Box::new(stone)));
        }
        Ok(Admitted::Reserved(self.reserved(named).await?))
    }

    /// What is left of an action that was taken away.
    pub(super) async fn remains(&self, id: ActionId) -> Result<Option<Remains>, StoreError> {
        const DOING: &str = "reading what is left of an action";
        let values: [Value<'_>; 2] = [&lane(id), &uuid(id)];
        let sql = include_str!("sql/tombstone_read.sql");
        let rows = (self.connections)
            .rows(DOING, Does::Reads, sql, &values)
            .await?;
        let Some(found) = rows.first() else {
            return Ok(None);
        };
        let tombstone = stone(DOING, found)?;
        let sql = include_str!("sql/late_read.sql");
        let rows = (self.connections)
            .rows(DOING, Does::Reads, sql, &values)
            .await?;
        let late = rows
            .iter()
            .map(|found| row::one_evidence(DOING, id, &self.seals, found));
        Ok(Some(Remains {
            tombstone,
            late: late.collect::<Result<_, _>>()?,
        }))
    }

    /// Keeps what came after an action was taken away.
    pub(super) async fn late(&self, id: ActionId, facts: &[Fact]) -> Result<(), StoreError> {
        let now = self.now(LATE).await?;
        let kinds: Vec<&str> = facts.iter().map(Fact::kind).collect();
        let texts = Penned::of(&self.seals, id, facts.to_vec()).texts;
        let values: [Value<'_>; 5] = [&lane(id), &uuid(id), &now.as_micros(), &kinds, &texts];
        let sql = include_str!("sql/late_insert.sql");
        for _ in 0..ROUNDS {
            let kept = (self.connections)
                .rows(LATE, Does::Writes, sql, &values)
                .await;
            match kept {
                Err(unanswered) if unanswered.is_unique => {}
                kept => return kept.map(|_| ()).map_err(Into::into),
            }
        }
        let text = "others write to what is left of this action all the time".to_owned();
        Err(StoreError::new(LATE, StoreErrorKind::Unavailable(text)))
    }

    /// The scopes of which something was taken away.
    pub(super) async fn scopes(&self) -> Result<Vec<ScopeRow>, StoreError> {
        let sql = include_str!("sql/scope_list.sql");
        let rows = (self.connections)
            .rows(READING, Does::Reads, sql, &[])
            .await?;
        Ok(rows.iter().map(scope_row).collect())
    }

    /// Forgets tombstones of a scope, and raises its watermark.
    pub(super) async fn forget_identities(
        &self,
        scope: Scope,
        before: Timestamp,
        limit: usize,
    ) -> Result<u64, StoreError> {
        let digest = scope_digest(&scope);
        let values: [Value<'_>; 4] = [
            &i16::from(digest[0]),
            &digest.as_slice(),
            &before.as_micros(),
            &count(limit),
        ];
        let sql = include_str!("sql/identity_forget.sql");
        let rows = (self.connections)
            .rows(PURGING, Does::Writes, sql, &values)
            .await?;
        let gone: i64 = rows.first().map_or(0, |row| row.get(0));
        Ok(u64::try_from(gone).unwrap_or_default())
    }
}

fn names(part: &[Wish]) -> (Vec<Uuid>, Vec<i64>) {
    let named = |(wish, ..): &Wish| (uuid(wish.action), signed(wish.version));
    part.iter().map(named).unzip()
}

/// A row of `tombstone` with its scope.
pub(super) fn stone(doing: &'static str, row: &Row) -> Result<Tombstone, StoreError> {
    let action = action_id(row.get(1));
    let damaged = |how: &str| row::damaged(doing, action, how.to_owned());
    let bytes = |index: usize| {
        let read: Result<[u8; 32], _> = row.get::<_, &[u8]>(index).try_into();
        read.map_err(|_| damaged("its tombstone is not what was written"))
    };
    let state = State::from_name(row.get(3));
    Ok(Tombstone {
        action,
        identity: IdentityHash(bytes(0)?),
        fingerprint: Fingerprint(bytes(2)?),
        digest: bytes(11)?,
        scope: scope(row, 7),
        state: state.ok_or_else(|| damaged("its tombstone names no state"))?,
        intent_at: row.get::<_, Option<i64>>(4).map(Timestamp::from_micros),
        settled_at: Timestamp::from_micros(row.get(5)),
        purged_at: Timestamp::from_micros(row.get(6)),
    })
}

fn scope(row: &Row, from: usize) -> Scope {
    Scope {
        tenant: row.get(from),
        principal: row.get(from + 1),
        destination: row.get(from + 2),
        operation: row.get(from + 3),
    }
}

pub(super) fn scope_row(row: &Row) -> ScopeRow {
    ScopeRow {
        scope: scope(row, 0),
        forgotten_before: row.get::<_, Option<i64>>(4).map(Timestamp::from_micros),
    }
}
