//! Who is signed in at the console. A session is opened with a token, and gives what that token gives for as long as it counts: each
//! request asks the directory anew, so that a token's end is its sessions' end.
//!
//! What the browser shows is random; the register keeps a keyed hash of it, so that a copy of the store lets nobody in.

use factum_core::{Span, Timestamp};
use factum_store::{Change, Entry, EntryKey, Kind, Registered};
use serde::{Deserialize, Serialize};

use super::Engine;
use super::register::random_hex;
use crate::directory::DEFAULT_TENANT;
use crate::problem::{Code, Problem};

/// The version that is written.
const VERSION: u32 = 1;

/// Bytes of a session's id, of its secret, and of what its forms carry.
const ID: usize = 8;
const SECRET: usize = 32;
const FORM: usize = 16;

/// Somebody counts as just seen for this long: it is not written down with each request.
const SEEN_FOR: Span = Span::from_secs(60);

/// With what a session was opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Holder {
    /// The token of this id.
    Token(String),
    /// An identity provider's word.
    Person {
        /// The provider.
        issuer: String,
        /// Its own name for them.
        subject: String,
        /// What they are called here.
        name: String,
        /// The groups that they were in when they signed in.
        groups: Vec<String>,
    },
    /// The installation's own token, as [`Engine::fingerprint_of`] names it: another one ends the session.
    Installation(String),
}

/// For how long sessions last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lasts {
    /// Without anybody doing anything.
    pub idle: Span,
    /// In all.
    pub whole: Span,
}

/// Somebody who is signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its name in the register.
    pub id: String,
    /// Which tenant it looks at: the holder's own, but for whoever runs the installation.
    pub tenant: String,
    /// With what it was opened.
    pub holder: Holder,
    /// What its forms carry, and no other session's do.
    pub form: String,
    /// When it was opened.
    pub opened_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SessionEntry {
    v: u32,
    hash: String,
    holder: Holder,
    form: String,
    opened_at: i64,
    seen_at: i64,
    over: bool,
}

impl SessionEntry {
    fn stands(&self, now: Timestamp, lasts: Lasts) -> bool {
        let opened = Timestamp::from_micros(self.opened_at);
        let seen = Timestamp::from_micros(self.seen_at);
        !self.over && now < opened + lasts.whole && now < seen + lasts.idle
    }

    fn text(&self) -> Result<String, Problem> {
        serde_json::to_string(self).map_err(|error| damaged(&error.to_string()))
    }

    fn read(entry: &Entry) -> Result<Self, Problem> {
        let read: Self =
            serde_json::from_str(&entry.body).map_err(|error| damaged(&error.to_string()))?;
        if read.v == VERSION {
            return Ok(read);
        }
        let version = read.v;
        Err(damaged(&format!(
            "its encoding has version {version}, and this program reads version {VERSION}"
        )))
    }
}

impl Engine {
    /// What names a token that stands in no register, without telling it.
    #[must_use]
    pub fn fingerprint_of(&self, token: &str) -> String {
        blake3::Hash::from_bytes(self.shared.keys.token("installation", token))
            .to_hex()
            .to_string()
    }

    /// Opens a session that looks at a tenant; gives what its browser shows from then on. That is told here, and never again.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be written.
    pub async fn open_session(
        &self,
        holder: Holder,
        tenant: &str,
        by: &str,
        why: &str,
    ) -> Result<(Session, String), Problem> {
        let (id, secret, form) = (random_hex(ID)?, random_hex(SECRET)?, random_hex(FORM)?);
        let now = self.now();
        let entry = SessionEntry {
            v: VERSION,
            hash: self.session_hash(&id, &secret),
            holder: holder.clone(),
            form: form.clone(),
            opened_at: now.as_micros(),
            seen_at: now.as_micros(),
            over: false,
        };
        let change = Change {
            key: key(&id),
            expected: 0,
            body: entry.text()?,
            label: Some(tenant.to_owned()),
            due: None,
            by: by.to_owned(),
            why: why.to_owned(),
        };
        self.shared.store.change(vec![change]).await?;
        let session = Session {
            id: id.clone(),
            tenant: tenant.to_owned(),
            holder,
            form,
            opened_at: now,
        };
        Ok((session, format!("{id}_{secret}")))
    }

    /// The session that a browser shows; none where it is not known, or over. Whoever shows it was seen now.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be read.
    pub async fn session(&self, shown: &str, lasts: Lasts) -> Result<Option<Session>, Problem> {
        let Some((id, secret)) = shown.split_once('_') else {
            return Ok(None);
        };
        let Some(entry) = self.shared.store.entry(key(id)).await? else {
            return Ok(None);
        };
        let kept = SessionEntry::read(&entry)?;
        let now = self.now();
        let known = blake3::Hash::from_hex(&kept.hash).map_err(|why| damaged(&why.to_string()))?;
        // Hashes are compared by a type that does so in constant time.
        if known != self.shared.keys.token(id, secret) || !kept.stands(now, lasts) {
            return Ok(None);
        }
        let session = Session {
            id: id.to_owned(),
            tenant: entry.label.clone().unwrap_or_default(),
            holder: kept.holder.clone(),
            form: kept.form.clone(),
            opened_at: Timestamp::from_micros(kept.opened_at),
        };
        if now.since(Timestamp::from_micros(kept.seen_at)) >= SEEN_FOR {
            let seen = SessionEntry {
                seen_at: now.as_micros(),
                ..kept
            };
            // Another request of theirs may have been faster; then that one has written it.
            self.put_session(&entry, &seen, &entry.changed.why).await?;
        }
        Ok(Some(session))
    }

    /// Ends a session. One that is over stays so.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be written.
    pub async fn close_session(&self, id: &str, why: &str) -> Result<(), Problem> {
        loop {
            let Some(entry) = self.shared.store.entry(key(id)).await? else {
                return Ok(());
            };
            let kept = SessionEntry::read(&entry)?;
            if kept.over {
                return Ok(());
            }
            let over = SessionEntry { over: true, ..kept };
            if self.put_session(&entry, &over, why).await? != Registered::Stale {
                return Ok(());
            }
        }
    }

    async fn put_session(
        &self,
        entry: &Entry,
        body: &SessionEntry,
        why: &str,
    ) -> Result<Registered, Problem> {
        let change = Change {
            key: entry.key.clone(),
            expected: entry.version,
            body: body.text()?,
            label: entry.label.clone(),
            due: None,
            by: entry.changed.by.clone(),
            why: why.to_owned(),
        };
        Ok(self.shared.store.change(vec![change]).await?)
    }

    fn session_hash(&self, id: &str, secret: &str) -> String {
        blake3::Hash::from_bytes(self.shared.keys.token(id, secret))
            .to_hex()
            .to_string()
    }
}

/// Whoever shows a session names no tenant, so all of them lie under the installation's; the label says whose each is.
fn key(id: &str) -> EntryKey {
    EntryKey::new(Kind::Session, DEFAULT_TENANT, id)
}

fn damaged(why: &str) -> Problem {
    let rule = format!("a session of the console cannot be read: {why}");
    Problem::new(Code::StoreDamaged, "", rule, "run `factum doctor`")
}
