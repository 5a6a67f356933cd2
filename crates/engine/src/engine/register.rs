//! Who may do what, as it is changed: entries with who, when and why; tokens; and what is taken of a grant's limits.

use std::sync::Arc;

use factum_core::Timestamp;
use factum_store::{
    Action, Change, Entry, EntryFilter, EntryKey, EntryVersion, Kind, Registered, Store,
};

use super::Engine;
use super::submit::{Moves, no_authority};
use crate::directory::{Amount, Caller, Directory, Missing, Taken, TokenEntry, Usage};
use crate::driver::Event;
use crate::problem::{Code, Problem};

/// How often a change is made anew that somebody else was faster with.
const CHANGED_MAX: usize = 64;

/// Bytes of a token's id, and of its secret.
const ID: usize = 8;
const SECRET: usize = 32;

/// Who changes something, and why.
#[derive(Clone, Copy, Debug)]
pub struct Reason<'a> {
    /// Who.
    pub by: &'a str,
    /// Why.
    pub why: &'a str,
}

/// What was taken of a grant's limits before an action was recorded.
pub(super) struct Room {
    counters: Vec<EntryKey>,
    taken: Taken,
}

impl Engine {
    /// Who may do what, as far as it is known here.
    #[must_use]
    pub fn directory(&self) -> Arc<Directory> {
        self.shared.directory()
    }

    /// Who shows this token; nobody where it is not known or does not count any more. From memory: another worker's change counts
    /// here within a few seconds, for what is sent at once.
    #[must_use]
    pub fn caller(&self, token: &str) -> Option<Caller> {
        let (id, secret) = token.strip_prefix("fct_")?.split_once('_')?;
        let hash = self.shared.keys.token(id, secret);
        let now = self.shared.now();
        let caller = self.shared.directory().caller(id, &hash, now)?;
        self.shared.token_was_used(&caller.tenant, id, now);
        Some(caller)
    }

    /// The same for whoever has shown by other means, such as a certificate, that the token of this name is theirs.
    #[must_use]
    pub fn caller_of(&self, token: &str) -> Option<Caller> {
        let now = self.shared.now();
        let caller = self.shared.directory().caller_of(token, now)?;
        self.shared.token_was_used(&caller.tenant, token, now);
        Some(caller)
    }

    /// Entries that match, by id.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be read.
    pub async fn entries(&self, filter: EntryFilter) -> Result<Vec<Entry>, Problem> {
        Ok(self.shared.store.entries(filter).await?)
    }

    /// One entry.
    ///
    /// # Errors
    /// [`Code::UnknownName`], or [`Problem`] if the store cannot be read.
    pub async fn entry(&self, key: &EntryKey) -> Result<Entry, Problem> {
        let found = self.shared.store.entry(key.clone()).await?;
        found.ok_or_else(|| unknown_name(key))
    }

    /// All versions of an entry, oldest first.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be read.
    pub async fn entry_history(&self, key: &EntryKey) -> Result<Vec<EntryVersion>, Problem> {
        Ok(self.shared.store.entry_history(key.clone()).await?)
    }

    /// Makes an entry.
    ///
    /// # Errors
    /// [`Code::NameTaken`], or [`Problem`] if the store cannot be written.
    pub async fn add_entry(
        &self,
        key: EntryKey,
        body: String,
        reason: Reason<'_>,
    ) -> Result<Entry, Problem> {
        match self
            .register(vec![wish(key.clone(), 0, body, reason)])
            .await?
        {
            Registered::Durable { .. } => self.entry(&key).await,
            Registered::Stale => {
                let rule = format!("a {} {:?} is registered already", key.kind.word(), key.id);
                let remedy = "use another name, or change the one that is there";
                Err(Problem::new(Code::NameTaken, "/name", rule, remedy))
            }
        }
    }

    /// Changes an entry into what `change` makes of it; where it makes nothing, it stays.
    ///
    /// # Errors
    /// [`Code::UnknownName`], what `change` says, or [`Problem`] if the store cannot be written.
    pub async fn change_entry(
        &self,
        key: &EntryKey,
        reason: Reason<'_>,
        change: impl Fn(&Entry) -> Result<Option<String>, Problem>,
    ) -> Result<Entry, Problem> {
        for _ in 0..CHANGED_MAX {
            let entry = self.entry(key).await?;
            let Some(body) = change(&entry)? else {
                return Ok(entry);
            };
            let wish = wish(key.clone(), entry.version, body, reason);
            if self.register(vec![wish]).await? != Registered::Stale {
                return self.entry(key).await;
            }
        }
        Err(changes_all_the_time())
    }

    /// Makes a token: its id, and what its holder shows. That is told here, and never again.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be written.
    pub async fn add_token(
        &self,
        tenant: &str,
        make: impl FnOnce(String) -> TokenEntry,
        reason: Reason<'_>,
    ) -> Result<(Entry, String), Problem> {
        let (id, secret) = (random_hex(ID)?, random_hex(SECRET)?);
        let hash = blake3::Hash::from_bytes(self.shared.keys.token(&id, &secret));
        let body = make(hash.to_hex().to_string()).text();
        let key = EntryKey::new(Kind::Token, tenant, id.clone());
        let entry = self.add_entry(key, body, reason).await?;
        Ok((entry, format!("fct_{id}_{secret}")))
    }

    /// Makes a token in place of another one, which counts for some time longer: until then both do.
    ///
    /// # Errors
    /// [`Code::UnknownName`], [`Code::DoesNotApply`] where it was revoked, or [`Problem`] if the store cannot be written.
    pub async fn rotate_token(
        &self,
        key: &EntryKey,
        old_until: Timestamp,
        reason: Reason<'_>,
    ) -> Result<(Entry, String), Problem> {
        let old = token_of(&self.entry(key).await?)?;
        if old.standing != crate::directory::Standing::Active || old.replaced_by.is_some() {
            let rule = "the token does not count any more, or was replaced already";
            let remedy = "make a new one";
            return Err(Problem::new(Code::DoesNotApply, "", rule, remedy));
        }
        let fresh = old.clone();
        let made = self
            .add_token(&key.tenant, |hash| TokenEntry { hash, ..fresh }, reason)
            .await?;
        let until = old_until.as_micros();
        let named = made.0.key.id.clone();
        self.change_entry(key, reason, |entry| {
            let token = token_of(entry)?;
            let until = Some(token.until.map_or(until, |earlier| earlier.min(until)));
            let replaced_by = Some(named.clone());
            let token = TokenEntry {
                until,
                replaced_by,
                ..token
            };
            Ok(Some(token.text()))
        })
        .await?;
        Ok(made)
    }

    /// When tokens were used last, as far as it was written down: once an hour at the most.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be read.
    pub async fn token_used(&self, key: &EntryKey) -> Result<Option<Timestamp>, Problem> {
        let used = crate::authority::used_key(&key.tenant, &key.id);
        let entry = self.shared.store.entry(used).await?;
        Ok(entry.map(|entry| entry.changed.at))
    }

    /// Reads anew what was changed, and tells the driver.
    pub(super) async fn refresh_directory(&self) -> Result<(), Problem> {
        self.shared.refresh().await?;
        self.tell(Event::Directory(self.shared.directory())).await;
        Ok(())
    }

    pub(super) async fn register(&self, changes: Vec<Change>) -> Result<Registered, Problem> {
        let registered = self.shared.store.change(changes).await?;
        // From here on nothing is let in, or sent, that rests on what was changed.
        self.refresh_directory().await?;
        Ok(registered)
    }

    /// Takes what an action needs of its grant's limits, unless it is known already. What was taken stays taken if this process
    /// ends before the action is recorded.
    pub(super) async fn take(
        &self,
        caller: &Caller,
        action: &Action,
        moves: &Moves,
        now: Timestamp,
    ) -> Result<Option<Room>, Problem> {
        let Some(id) = &caller.grant else {
            return Ok(None);
        };
        let directory = self.shared.directory();
        let Some(grant) = directory.grant(&caller.tenant, id) else {
            return Ok(None);
        };
        let periods = grant.limits.periods(now);
        let store = &self.shared.store;
        if periods.is_empty() || store.find(action.identity_hash).await?.is_some() {
            return Ok(None);
        }
        let number = moves.0.as_ref().map(|(number, _)| number.as_str());
        let amount = number.and_then(Amount::parse).unwrap_or_default();
        let mut room = Room {
            counters: Vec::new(),
            taken: Taken { amount },
        };
        for period in periods {
            let key = EntryKey::new(Kind::Usage, &caller.tenant, format!("grant-{id}-{period}"));
            let within = |usage: &Usage| {
                grant
                    .limits
                    .hold(&period, usage)
                    .map_err(|why| no_authority(Missing::Beyond(format!("the grant {id:?} {why}"))))
            };
            let counted = count(store.as_ref(), &key, |usage| {
                let more = usage.with(room.taken);
                within(&more).map(|()| more)
            });
            match counted.await {
                Ok(()) => room.counters.push(key),
                Err(problem) => {
                    self.give_back(Some(room)).await;
                    return Err(problem);
                }
            }
        }
        Ok(Some(room))
    }

    /// The action was not recorded. Where this fails too much stays counted, which is the safe side.
    pub(super) async fn give_back(&self, room: Option<Room>) {
        let Some(Room { counters, taken }) = room else {
            return;
        };
        for key in counters {
            let store = self.shared.store.as_ref();
            let counted = count(store, &key, |usage| Ok(usage.without(taken))).await;
            if let Err(problem) = counted {
                tracing::warn!(%problem, "what was taken of a grant's limit could not be given back");
            }
        }
    }
}

/// Changes a counter, again and again until nobody else was faster.
async fn count(
    store: &dyn Store,
    key: &EntryKey,
    change: impl Fn(&Usage) -> Result<Usage, Problem>,
) -> Result<(), Problem> {
    for _ in 0..CHANGED_MAX {
        let entry = store.entry(key.clone()).await?;
        let version = entry.as_ref().map_or(0, |entry| entry.version);
        let usage = match entry {
            Some(entry) => Usage::read(&entry.body).map_err(|why| {
                let remedy = "run `factum doctor`";
                Problem::new(Code::StoreDamaged, "", why, remedy)
            })?,
            None => Usage::default(),
        };
        let body = change(&usage)?.text();
        let reason = Reason {
            by: "factum",
            why: "counted",
        };
        let wish = wish(key.clone(), version, body, reason);
        if store.change(vec![wish]).await? != Registered::Stale {
            return Ok(());
        }
    }
    Err(changes_all_the_time())
}

fn wish(key: EntryKey, expected: u64, body: String, reason: Reason<'_>) -> Change {
    Change {
        key,
        expected,
        body,
        label: None,
        due: None,
        by: reason.by.to_owned(),
        why: reason.why.to_owned(),
    }
}

/// What a token's entry says.
///
/// # Errors
/// [`Code::StoreDamaged`] where it cannot be read.
pub fn token_of(entry: &Entry) -> Result<TokenEntry, Problem> {
    TokenEntry::read(&entry.body)
        .map_err(|why| Problem::new(Code::StoreDamaged, "", why, "run `factum doctor`"))
}

fn unknown_name(key: &EntryKey) -> Problem {
    let rule = format!("no {} {:?} is registered here", key.kind.word(), key.id);
    let remedy = format!("see `factum {} list`", key.kind.word());
    Problem::new(Code::UnknownName, "", rule, remedy)
}

fn changes_all_the_time() -> Problem {
    let rule = "others change this all the time";
    Problem::new(Code::StoreUnavailable, "", rule, "try again in a moment")
        .after(std::time::Duration::from_secs(1))
}

pub(super) fn random_hex(bytes: usize) -> Result<String, Problem> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random).map_err(|error| {
        let rule = format!("the operating system gives no random bytes: {error}");
        let remedy = "repair the operating system's random source";
        Problem::new(Code::Internal, "", rule, remedy)
    })?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}
