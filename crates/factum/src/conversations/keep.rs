//! How it is kept what was told, in the register: an entry for each action of a conversation, and one for the correction that is
//! due about it, changed together.

use factum_core::ActionId;
use factum_core::statement::StatementKey;
use factum_engine::{About, Code, Problem};
use factum_store::{Change, Entry, EntryKey, Kind, Record, Registered};

use super::told::{Due, Log, Now};
use super::{Conversations, Place};

/// How often a change is made anew because somebody else was faster.
const TRIES: usize = 16;

/// The label of corrections that are due.
pub(super) const DUE: &str = factum_store::notice::CORRECTION_DUE;
/// The label of those that are not any more.
const OVER: &str = "over";

/// What a conversation was told about an action, and the version of the correction that is due.
pub(crate) struct Kept {
    pub(super) log: Log,
    pub(super) correction: Option<u64>,
}

impl Conversations<'_> {
    pub(super) async fn kept(&self, place: Place<'_>, record: &Record) -> Result<Kept, Problem> {
        belongs(place, record)?;
        let store = self.engine.store();
        let told = store.entry(place.key(Kind::Told)).await?;
        let correction = store.entry(place.key(Kind::Correction)).await?;
        Ok(Kept {
            log: Log::of(told.as_ref())?,
            correction: due_version(correction.as_ref()),
        })
    }

    /// Changes what was told, and with it, in one transaction, which correction is due. Nothing is written where nothing changes.
    pub(super) async fn change(
        &self,
        place: Place<'_>,
        why: &str,
        mut edit: impl FnMut(&mut Log, &Record, &Now) -> Result<bool, Problem>,
    ) -> Result<(Record, Kept), Problem> {
        let store = self.engine.store();
        for _ in 0..TRIES {
            // What was told is read before the status: evidence that comes after it is noticed by its own change.
            let told = store.entry(place.key(Kind::Told)).await?;
            let correction = store.entry(place.key(Kind::Correction)).await?;
            let record = self.engine.load(place.action).await?;
            belongs(place, &record)?;
            let (status, next) = self.engine.assess(&record);
            let due_now = due_version(correction.as_ref());
            let now = Now::of(StatementKey::of(&status, &next), &status, due_now);
            let mut log = Log::of(told.as_ref())?;
            let mut changes = Vec::new();
            if edit(&mut log, &record, &now)? {
                changes.push(place.put(
                    Kind::Told,
                    told.as_ref(),
                    log.text(),
                    place.conversation,
                    why,
                ));
            }
            let due = log.due(&now);
            let (change, correction) = place.follow(correction.as_ref(), due.as_ref(), &now, why);
            let newly_due = change.is_some() && due.is_some();
            changes.extend(change);
            if changes.is_empty() || store.change(changes).await? != Registered::Stale {
                if newly_due {
                    self.engine.announce_that(&record, About::CorrectionDue);
                }
                return Ok((record, Kept { log, correction }));
            }
        }
        let rule = "others kept changing what this conversation was told";
        Err(Problem::new(Code::StoreUnavailable, "", rule, "try again"))
    }
}

impl Place<'_> {
    fn key(&self, kind: Kind) -> EntryKey {
        EntryKey::new(
            kind,
            self.tenant,
            format!("{} {}", self.action, self.conversation),
        )
    }

    fn put(
        &self,
        kind: Kind,
        entry: Option<&Entry>,
        body: String,
        label: &str,
        why: &str,
    ) -> Change {
        Change {
            key: self.key(kind),
            expected: entry.map_or(0, |entry| entry.version),
            body,
            label: Some(label.to_owned()),
            due: None,
            by: "factum".to_owned(),
            why: why.to_owned(),
        }
    }

    /// What to write so that the kept correction is the one that is due, and its version then.
    fn follow(
        &self,
        entry: Option<&Entry>,
        due: Option<&Due<'_>>,
        now: &Now,
        why: &str,
    ) -> (Option<Change>, Option<u64>) {
        let stands = entry.filter(|entry| entry.label.as_deref() == Some(DUE));
        let next = entry.map_or(1, |entry| entry.version + 1);
        match (due, stands) {
            (None, None) => (None, None),
            (None, Some(entry)) => (
                Some(self.put(Kind::Correction, Some(entry), entry.body.clone(), OVER, why)),
                None,
            ),
            (Some(due), stands) => {
                let body = due.text(now);
                if let Some(entry) = stands.filter(|entry| entry.body == body) {
                    return (None, Some(entry.version));
                }
                (
                    Some(self.put(Kind::Correction, entry, body, DUE, why)),
                    Some(next),
                )
            }
        }
    }
}

fn due_version(entry: Option<&Entry>) -> Option<u64> {
    entry
        .filter(|entry| entry.label.as_deref() == Some(DUE))
        .map(|entry| entry.version)
}

/// Another tenant's action is answered like one that there is not.
fn belongs(place: Place<'_>, record: &Record) -> Result<(), Problem> {
    if record.action.scope.tenant == place.tenant {
        Ok(())
    } else {
        Err(Problem::unknown_action(place.action))
    }
}

/// The action and the conversation that an entry is about.
pub(super) fn named(id: &str) -> Result<(ActionId, &str), Problem> {
    let parts = id.split_once(' ');
    let read = parts.and_then(|(action, conversation)| Some((action.parse().ok()?, conversation)));
    read.ok_or_else(|| {
        let rule = format!("an entry of what was told is called {id:?}");
        Problem::new(Code::StoreDamaged, "", rule, "run `factum doctor`")
    })
}
