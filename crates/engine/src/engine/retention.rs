//! Purging what is old, erasing what somebody wants erased, and holding what must not go; what is answered about what is gone.

use factum_core::{ActionId, Evidence, Fingerprint, Span, Timestamp};
use factum_store::{
    Action, Change, Entry, EntryFilter, EntryKey, Filter, Kind, Purge, Purged, Record, Registered,
    Remains, StoreError, Take, Tombstone, intent_time,
};

use super::Engine;
use crate::clock::written;
use crate::directory::Caller;
use crate::problem::{Code, Problem};
use crate::proposal::Proposal;
use crate::retention::{Held, Holds, STANDS};

/// Actions that are looked at in one step.
const SWEPT_AT_ONCE: usize = 200;

/// Tombstones that are forgotten in one transaction.
const FORGOTTEN_AT_ONCE: usize = 500;

/// How far ahead of the store's clock a caller's may be.
const AHEAD_MAX: Span = Span::from_secs(300);

/// What one step of a sweep came to, or would come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Settled actions that were looked at.
    pub looked_at: u64,
    /// Actions whose content was taken.
    pub content: u64,
    /// Actions that were taken away.
    pub actions: u64,
    /// Identities that were forgotten.
    pub identities: u64,
    /// What would go, and is held.
    pub held: u64,
}

impl Swept {
    /// Adds what another step came to.
    pub fn add(&mut self, other: Self) {
        self.looked_at += other.looked_at;
        self.content += other.content;
        self.actions += other.actions;
        self.identities += other.identities;
        self.held += other.held;
    }

    /// Whether something was taken.
    #[must_use]
    pub fn took(&self) -> bool {
        self.content + self.actions + self.identities > 0
    }
}

/// Whose content is to be erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Of one action.
    Action(ActionId),
    /// Of all that was asked for in a conversation.
    Conversation(String),
    /// Of all that was carried out for a principal.
    Principal(String),
}

/// What became of a wish to erase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Erased {
    /// Its content is gone, or was gone before.
    pub erased: Vec<ActionId>,
    /// Not settled: it is needed, and can be erased later.
    pub unsettled: Vec<ActionId>,
    /// Held.
    pub held: Vec<ActionId>,
}

impl Engine {
    /// Takes away what is due among the next actions behind a place; gives what that came to and where the next step goes on, none
    /// behind the last action. With `dry` nothing is taken. Each step is one short transaction.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be read or written.
    pub async fn sweep(
        &self,
        after: Option<ActionId>,
        dry: bool,
    ) -> Result<(Swept, Option<ActionId>), Problem> {
        let mut swept = Swept::default();
        let Some(shortest) = self.retention.shortest() else {
            return Ok((swept, None));
        };
        let store = &self.shared.store;
        // The edition first: a hold that is made from here on makes the purge stale.
        let under = store.edition().await?;
        let holds = self.standing_holds().await?;
        let now = store.now().await?;
        let page = store.settled(after, now - shortest, SWEPT_AT_ONCE).await?;
        let (mut content, mut actions) = (Vec::new(), Vec::new());
        for (record, last) in &page.settled {
            swept.looked_at += 1;
            let Some(take) = self.retention.due(record, *last, now) else {
                continue;
            };
            if holds.hold(record) {
                swept.held += 1;
                continue;
            }
            let note = "content purged: it was kept for as long as is configured";
            let wish = purge_of(record, take, note.to_owned());
            match take {
                Take::Content => content.push(wish),
                Take::Action => actions.push(wish),
            }
        }
        if dry {
            swept.content = count(content.len());
            swept.actions = count(actions.len());
        } else {
            swept.content = self.purge(content, under).await?;
            swept.actions = self.purge(actions, under).await?;
        }
        Ok((swept, page.last))
    }

    async fn purge(&self, wishes: Vec<Purge>, under: u64) -> Result<u64, Problem> {
        let mut done = 0;
        for part in wishes.chunks(factum_store::PURGED_MAX) {
            match self.shared.store.purge(part.to_vec(), under).await? {
                Purged::Done(ids) => done += count(ids.len()),
                // It is decided anew at the next sweep.
                Purged::Stale => break,
            }
        }
        Ok(done)
    }

    /// Forgets identities that are older than they are kept; gives how many. Untimed ones stay, and with `dry` all do.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be read or written.
    pub async fn sweep_identities(&self) -> Result<u64, Problem> {
        let store = &self.shared.store;
        let now = store.now().await?;
        let mut gone = 0;
        for row in store.scopes().await? {
            let scope = row.scope;
            let keep = self.retention.of(&scope.tenant, &scope.operation);
            let Some(kept) = keep.identity else { continue };
            loop {
                let some = store
                    .forget_identities(scope.clone(), now - kept, FORGOTTEN_AT_ONCE)
                    .await?;
                gone += some;
                if some < count(FORGOTTEN_AT_ONCE) {
                    break;
                }
            }
        }
        Ok(gone)
    }

    /// Gives the room of what was taken back to the disk, as far as the store can; gives how many bytes.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be written.
    pub async fn compact(&self) -> Result<u64, Problem> {
        Ok(self.shared.store.compact().await?)
    }

    /// Takes the content of somebody's settled actions; identity and evidence stay, and the log says by whom and why. What is not
    /// settled, or held, is named and left. With `dry` all is.
    ///
    /// # Errors
    /// [`Code::UnknownAction`], or [`Problem`] if the store cannot be read or written.
    pub async fn erase(
        &self,
        tenant: &str,
        whose: &Whose,
        (by, why): (&str, &str),
        dry: bool,
    ) -> Result<Erased, Problem> {
        let mut found = Erased::default();
        let mut before = None;
        loop {
            let under = self.shared.store.edition().await?;
            let holds = self.standing_holds().await?;
            let page = self.theirs(tenant, whose, before).await?;
            let mut wishes = Vec::new();
            for record in &page {
                before = Some(record.id());
                if !is_of(whose, record) {
                    continue;
                }
                if holds.hold(record) {
                    found.held.push(record.id());
                } else if record.action.content.purged_at.is_some() || dry && is_settled(record) {
                    found.erased.push(record.id());
                } else if is_settled(record) {
                    let note = format!("content erased by {by}: {why}");
                    wishes.push(purge_of(record, Take::Content, note));
                } else {
                    found.unsettled.push(record.id());
                }
            }
            for part in wishes.chunks(factum_store::PURGED_MAX) {
                self.erase_part(part, under, &mut found).await?;
            }
            if page.len() < SWEPT_AT_ONCE || matches!(whose, Whose::Action(_)) {
                return Ok(found);
            }
        }
    }

    async fn erase_part(
        &self,
        part: &[Purge],
        under: u64,
        found: &mut Erased,
    ) -> Result<(), Problem> {
        match self.shared.store.purge(part.to_vec(), under).await? {
            Purged::Done(done) => {
                let moved_on = part.iter().filter(|wish| !done.contains(&wish.action));
                found.unsettled.extend(moved_on.map(|wish| wish.action));
                found.erased.extend(done);
                Ok(())
            }
            Purged::Stale => {
                let rule =
                    "the register was changed meanwhile; what was erased before stays erased";
                Err(Problem::new(Code::StoreUnavailable, "", rule, "try again"))
            }
        }
    }

    /// A page of actions, newest first, among which are somebody's.
    async fn theirs(
        &self,
        tenant: &str,
        whose: &Whose,
        before: Option<ActionId>,
    ) -> Result<Vec<Record>, Problem> {
        if let Whose::Action(id) = whose {
            let record = self.load(*id).await?;
            if record.action.scope.tenant != tenant {
                return Err(Problem::unknown_action(*id));
            }
            return Ok(vec![record]);
        }
        let conversation = match whose {
            Whose::Conversation(id) => Some(id.clone()),
            Whose::Action(_) | Whose::Principal(_) => None,
        };
        let filter = Filter {
            tenant: Some(tenant.to_owned()),
            conversation,
            before,
            limit: SWEPT_AT_ONCE,
            ..Filter::default()
        };
        self.list(filter).await
    }

    /// Holds something, or lets go of it: from the answer on nothing of it is purged or erased.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be written.
    pub async fn set_hold(
        &self,
        tenant: &str,
        held: &Held,
        stands: bool,
        (by, why): (&str, &str),
    ) -> Result<(), Problem> {
        let key = EntryKey::new(Kind::Hold, tenant, held.name());
        loop {
            let entry = self.shared.store.entry(key.clone()).await?;
            let is = entry.as_ref().and_then(|entry| entry.label.as_deref()) == Some(STANDS);
            if is == stands {
                return Ok(());
            }
            let change = Change {
                key: key.clone(),
                expected: entry.map_or(0, |entry| entry.version),
                body: "{\"v\":1}".to_owned(),
                label: stands.then(|| STANDS.to_owned()),
                due: None,
                by: by.to_owned(),
                why: why.to_owned(),
            };
            if self.shared.store.change(vec![change]).await? != Registered::Stale {
                return Ok(());
            }
        }
    }

    /// What is held, by tenant and name, with who held it last, when and why.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be read.
    pub async fn holds(&self) -> Result<Vec<Entry>, Problem> {
        let filter = EntryFilter {
            label: Some(STANDS.to_owned()),
            ..EntryFilter::of(Kind::Hold)
        };
        Ok(self.shared.store.entries(filter).await?)
    }

    async fn standing_holds(&self) -> Result<Holds, Problem> {
        Ok(Holds::of(&self.holds().await?))
    }

    /// What a submission has to say of its time where identities are kept for a limited time; gives from when on they are kept (R24).
    pub(super) fn horizon(
        &self,
        action: &Action,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Problem> {
        let scope = &action.scope;
        let Some(kept) = self.retention.of(&scope.tenant, &scope.operation).identity else {
            return Ok(None);
        };
        let Some(at) = intent_time(&action.identity, action.intent.intent_at) else {
            let rule = format!(
                "identities of {} are kept for {kept}, and this submission has no `intent_at` and no UUIDv7 as its key",
                scope.operation
            );
            let remedy = "send `intent_at`: when the intent was formed, the same with every repeat";
            return Err(Problem::new(
                Code::MissingIntentTime,
                "/intent_at",
                rule,
                remedy,
            ));
        };
        if at > now + AHEAD_MAX {
            let (code, member) = match action.intent.intent_at {
                Some(_) => (Code::BadTimes, "/intent_at"),
                None => (Code::BadIdentity, "/key"),
            };
            let rule = format!(
                "its intent was formed on {}, which is in the future",
                written(at)
            );
            let remedy = "set the clock of whoever makes it";
            return Err(Problem::new(code, member, rule, remedy));
        }
        Ok(Some(now - kept))
    }

    /// What came after an action was purged, or why there is nothing.
    pub(super) async fn late(
        &self,
        id: ActionId,
        problem: Problem,
    ) -> Result<Vec<Evidence>, Problem> {
        let left = self.shared.store.remains(id).await?;
        let late = left.map(|left| left.late).filter(|late| !late.is_empty());
        late.ok_or(problem)
    }

    /// The same for a caller: what they may not see, there is not.
    pub(super) async fn absent_for(
        &self,
        caller: &Caller,
        id: ActionId,
    ) -> Result<Problem, StoreError> {
        let left = self.remains_for(caller, id).await?;
        Ok(left.map_or_else(
            || Problem::unknown_action(id),
            |left| purged(&left.tombstone),
        ))
    }

    /// What is left of an action that was purged, if a caller may see it.
    async fn remains_for(
        &self,
        caller: &Caller,
        id: ActionId,
    ) -> Result<Option<Remains>, StoreError> {
        let left = self.shared.store.remains(id).await?;
        let directory = self.shared.directory();
        Ok(left.filter(|left| {
            let scope = &left.tombstone.scope;
            scope.tenant == caller.tenant && directory.acts_for(caller, &scope.principal)
        }))
    }

    /// The evidence of an action, in the order of storing, if a caller may see it; of one that was purged, what came later.
    ///
    /// # Errors
    /// [`Problem`] if there is none for them, or nothing is left of it, or the store cannot be read.
    pub async fn evidence_for(
        &self,
        caller: &Caller,
        id: ActionId,
    ) -> Result<Vec<Evidence>, Problem> {
        match self.load_for(caller, id).await {
            Ok(_) => Ok(self.shared.store.history(id).await?),
            Err(problem) if problem.code == Code::Purged => {
                let late = self.remains_for(caller, id).await?.map(|left| left.late);
                late.filter(|late| !late.is_empty()).ok_or(problem)
            }
            Err(problem) => Err(problem),
        }
    }

    /// Why there is no action of this id: it was purged, or there never was one.
    pub(super) async fn absent(&self, id: ActionId) -> Result<Problem, StoreError> {
        let left = self.shared.store.remains(id).await?;
        Ok(left.map_or_else(
            || Problem::unknown_action(id),
            |left| purged(&left.tombstone),
        ))
    }
}

fn is_settled(record: &Record) -> bool {
    record.next.step == "none" && record.status().is_settled()
}

fn is_of(whose: &Whose, record: &Record) -> bool {
    match whose {
        Whose::Action(_) | Whose::Conversation(_) => true,
        Whose::Principal(name) => record.action.scope.principal == *name,
    }
}

/// A wish at the version that was read, with the entries that hold content of the action.
fn purge_of(record: &Record, take: Take, note: String) -> Purge {
    let (tenant, id) = (&record.action.scope.tenant, record.id());
    let content = &record.action.content;
    let approved = content.approved.as_ref();
    let mut entries: Vec<EntryKey> = approved
        .map(|approved| Proposal::key(tenant, approved.proposal))
        .into_iter()
        .collect();
    if let (Take::Action, Some(talk)) = (take, &content.conversation) {
        let name = format!("{id} {}", talk.id);
        let kinds = [Kind::Told, Kind::Correction];
        entries.extend(kinds.map(|kind| EntryKey::new(kind, tenant, name.clone())));
    }
    Purge {
        action: id,
        version: record.version,
        take,
        note,
        entries,
    }
}

fn count(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

fn purged(stone: &Tombstone) -> Problem {
    let rule = format!(
        "{} ended as {} and was purged on {}; its identity stays taken",
        stone.action,
        stone.state.name(),
        written(stone.purged_at)
    );
    let remedy =
        "nothing is left of it but that; what came later is in GET /v1/actions/{id}/evidence";
    Problem::new(Code::Purged, "", rule, remedy).about(stone.action)
}

/// Only the content of an action is gone, and it is asked to do something that needs it.
pub(crate) fn content_gone(id: ActionId, at: Timestamp) -> Problem {
    let rule = format!(
        "the content of {id} was purged on {}: there is nothing to send any more",
        written(at)
    );
    let remedy = "if it has to be done now, submit it anew under another key";
    Problem::new(Code::Purged, "", rule, remedy).about(id)
}

/// The identity of a submission names an action that was purged.
pub(super) fn gone(stone: &Tombstone, submitted: Fingerprint) -> Problem {
    if stone.fingerprint == submitted {
        let remedy = "it is the same intent, and is not carried out again; for a second effect, use another key";
        return Problem {
            remedy: remedy.into(),
            ..purged(stone)
        };
    }
    let rule = format!(
        "this identity names {}, recorded earlier with another intent and purged since",
        stone.action
    );
    let remedy = "for another effect, use another key";
    Problem::new(Code::IdentityConflict, "", rule, remedy).about(stone.action)
}

/// The identity of a submission may be one that is forgotten.
pub(super) fn forgotten(before: Timestamp) -> Problem {
    let rule = format!(
        "identities of this scope from before {} are forgotten, and this one may be among them",
        written(before)
    );
    let remedy = "look at the destination whether it was done; if it has to be done now, submit it as a new intent: a new key, and \
                  `intent_at` of now";
    Problem::new(Code::IdentityExpired, "/intent_at", rule, remedy)
}
