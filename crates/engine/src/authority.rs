//! What the shell knows of who may do what: read at the start, whenever the store's edition has moved on, and before a decision
//! that was refused is made anew.

use std::sync::{Arc, PoisonError};

use factum_core::{Span, Timestamp};
use factum_store::{Change, EntryFilter, EntryKey, Kind, Store, StoreError, StoreErrorKind};

use crate::directory::Directory;
use crate::driver::Event;
use crate::shell::Shared;

/// Reads who may do what. The edition first: what changes meanwhile is newer than it says, and is read again.
pub(crate) async fn load(store: &dyn Store) -> Result<Directory, StoreError> {
    let edition = store.edition().await?;
    let mut entries = Vec::new();
    for kind in Kind::ALL.into_iter().filter(|kind| kind.is_authority()) {
        entries.extend(store.entries(EntryFilter::of(kind)).await?);
    }
    Directory::of(edition, &entries).map_err(|how| {
        let what = "the register of authority".to_owned();
        let kind = StoreErrorKind::Corrupt { what, how };
        StoreError::new("reading who may do what", kind)
    })
}

/// When a token was used last in this process, and the use that was written down last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenUse {
    at: Timestamp,
    written: Option<Timestamp>,
}

impl Default for TokenUse {
    fn default() -> Self {
        Self {
            at: Timestamp::EARLIEST,
            written: None,
        }
    }
}

impl Shared {
    /// Who may do what, as far as it is known here.
    pub(crate) fn directory(&self) -> Arc<Directory> {
        self.directory
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// A token was used. It is written down later, and rarely.
    pub(crate) fn token_was_used(&self, tenant: &str, id: &str, at: Timestamp) {
        let mut used = self
            .tokens_used
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let token = (tenant.to_owned(), id.to_owned());
        used.entry(token).or_default().at = at;
    }

    /// Reads anew what another worker, or this one, has changed. Whether it had changed.
    pub(crate) async fn refresh(&self) -> Result<bool, StoreError> {
        let known = self.directory().edition();
        if self.store.edition().await? == known {
            return Ok(false);
        }
        let read = Arc::new(load(self.store.as_ref()).await?);
        let mut directory = self
            .directory
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        // Two may read at the same time: the later edition stays.
        if read.edition() >= directory.edition() {
            *directory = read;
        }
        Ok(true)
    }
}

/// The driver's event, where something has changed. What cannot be read stays as it is: a mark is not written under it.
pub(crate) async fn refreshed(shared: &Shared) -> Vec<Event> {
    match shared.refresh().await {
        Ok(true) => vec![Event::Directory(shared.directory())],
        Ok(false) => Vec::new(),
        Err(error) => {
            tracing::error!(%error, "cannot read who may do what; nothing that was decided on it is sent");
            Vec::new()
        }
    }
}

/// How exactly it is known when a token was used last.
const USE_KNOWN: Span = Span::from_secs(3_600);

/// Where it is written down when a token was used last.
pub(crate) fn used_key(tenant: &str, id: &str) -> EntryKey {
    EntryKey::new(Kind::Usage, tenant, format!("token-{id}"))
}

/// Writes down when tokens were used last, each at most once in the time within which that is known. What cannot be written is
/// given up until the token is used again: no decision rests on it.
pub(crate) async fn write_down_use(shared: &Shared) {
    let due: Vec<(String, String)> = {
        let mut used = shared
            .tokens_used
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let news = |used: &TokenUse| {
            used.written
                .is_none_or(|written| used.at >= written + USE_KNOWN)
        };
        let due = used.iter_mut().filter(|(_, used)| news(used));
        due.map(|(token, used)| {
            used.written = Some(used.at);
            token.clone()
        })
        .collect()
    };
    for (tenant, id) in due {
        if let Err(error) = write_use(shared, used_key(&tenant, &id)).await {
            tracing::debug!(%error, "when a token was used could not be written down");
        }
    }
}

async fn write_use(shared: &Shared, key: EntryKey) -> Result<(), StoreError> {
    let entry = shared.store.entry(key.clone()).await?;
    let change = Change {
        key,
        expected: entry.map_or(0, |entry| entry.version),
        body: "{\"v\":1}".to_owned(),
        label: None,
        due: None,
        by: "factum".to_owned(),
        why: "the token was used".to_owned(),
    };
    // Another worker that was faster wrote the same.
    shared.store.change(vec![change]).await.map(|_| ())
}
