//! Events: what has changed, told to whoever follows. A cursor names a place in the one feed of the store; whoever goes on from it
//! misses nothing and hears nothing of another tenant.
//!
//! An event says how its action stood at that change. Its next step and its words are those of the moment at which it is read.

mod digest;
pub(crate) mod follow;
pub(crate) mod show;

use std::fmt;
use std::str::FromStr;

use factum_core::Timestamp;
use factum_engine::{Caller, Code, Problem};
use factum_store::{Notice, Notices};
use serde::Serialize;
use tokio::sync::watch;

pub use factum_store::Topic;

use crate::Factum;
use crate::conversations::CorrectionView;
use crate::statements::Reader;
use crate::view::StatusView;

/// Numbers that are looked through at once.
pub(crate) const PAGE: usize = 200;

/// Pages that one call looks through at the most, where nothing in them is meant for the caller.
const PAGES: usize = 25;

/// A place in the feed: everything up to it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The number of the last notice that was read.
    pub no: u64,
    /// When the store was last restored from a copy, in microseconds: cursors from before lead nowhere any more. 0 if never.
    pub era: i64,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.era == 0 {
            write!(f, "{}", self.no)
        } else {
            write!(f, "{}-{:x}", self.no, self.era)
        }
    }
}

impl FromStr for Cursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (no, era) = text.split_once('-').unwrap_or((text, "0"));
        let digits = !no.is_empty() && no.bytes().all(|byte| byte.is_ascii_digit());
        let era = i64::from_str_radix(era, 16).map_err(|_| ())?;
        match no.parse() {
            Ok(no) if digits && era >= 0 => Ok(Self { no, era }),
            Ok(_) | Err(_) => Err(()),
        }
    }
}

/// From where somebody reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// From the oldest that is kept.
    Start,
    /// What happens from now on.
    Now,
    /// Behind a place.
    Behind(Cursor),
}

impl FromStr for From {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "start" => Ok(Self::Start),
            "now" => Ok(Self::Now),
            cursor => cursor.parse().map(Self::Behind),
        }
    }
}

/// What somebody wants to hear of. What is empty or absent matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Of these types.
    pub types: Vec<Topic>,
    /// About actions at this destination, by the tenant's own name for it.
    pub destination: Option<String>,
    /// About actions of this conversation.
    pub conversation: Option<String>,
}

/// One event as every interface shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EventView {
    /// `evt_…`: the same whenever and however often it is delivered.
    pub id: String,
    /// The place behind it.
    pub cursor: String,
    /// What it is, as in `action.succeeded`.
    #[serde(rename = "type")]
    pub topic: &'static str,
    /// When it was.
    pub timestamp: String,
    /// Whose it is.
    pub tenant: String,
    /// What it is about.
    pub data: EventData,
}

/// What an event is about.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EventData {
    /// The action, as it stood at that change; about the register's changes, as it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<StatusView>,
    /// What a conversation has to be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correction: Option<CorrectionEvent>,
    /// What waits for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewEvent>,
}

/// A correction in an event.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CorrectionEvent {
    /// In which conversation.
    pub conversation: String,
    /// The version that the event is of; a correction of a later one has an event of its own.
    pub version: u64,
    /// What has to be said, if it still has.
    pub due: Option<CorrectionView>,
}

/// What waits for a person, as it is when the event is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ReviewEvent {
    /// Actions in review.
    pub waiting: usize,
    /// Conversations whose customers wait for one of them.
    pub customers_waiting: usize,
    /// There may be more of both.
    pub more: bool,
}

/// Some events, and the place behind everything that was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct EventPage {
    /// Oldest first.
    pub events: Vec<EventView>,
    /// From where to go on.
    pub next: Cursor,
    /// Whether there is more already.
    pub more: bool,
}

impl Factum {
    /// The place that somebody reads from.
    ///
    /// # Errors
    /// [`Code::EventsForgotten`] where what comes next is not kept any more, or the place is of another store.
    pub async fn cursor(&self, from: From) -> Result<Cursor, Problem> {
        let store = self.engine().store();
        let era = self.era().await?;
        let ends = store.notices(0, 0).await?;
        let at = |no| Cursor { no, era };
        match from {
            From::Start => Ok(at(ends.forgotten)),
            From::Now => Ok(at(ends.last)),
            From::Behind(cursor) if cursor.era != era => Err(forgotten(
                "the store was restored from a copy since; numbers were given anew",
            )),
            From::Behind(cursor) if cursor.no > ends.last => {
                Err(forgotten("no event of this number was ever given here"))
            }
            From::Behind(cursor) if cursor.no < ends.forgotten => {
                Err(forgotten("what came next is not kept any more"))
            }
            From::Behind(cursor) => Ok(cursor),
        }
    }

    async fn era(&self) -> Result<i64, Problem> {
        let restore = self.engine().store().restore().await?;
        Ok(restore.map_or(0, |restore| restore.at.as_micros()))
    }

    /// What a caller may hear, behind a place: at most `limit` events. None where there is nothing; the place goes on all the same.
    ///
    /// # Errors
    /// [`Code::EventsForgotten`], or [`Problem`] of the store.
    pub async fn events(
        &self,
        caller: &Caller,
        filter: &EventFilter,
        after: Cursor,
        limit: usize,
        reader: Reader,
    ) -> Result<EventPage, Problem> {
        let mut page = EventPage {
            events: Vec::new(),
            next: after,
            more: true,
        };
        for _ in 0..PAGES {
            let read = self.notices(page.next.no).await?;
            if read.forgotten > page.next.no {
                return Err(forgotten("what came next is not kept any more"));
            }
            for notice in &read.notices {
                if page.events.len() == limit {
                    return Ok(page);
                }
                page.next.no = notice.no;
                let shown = self.show(caller, filter, notice, after.era, reader).await?;
                page.events.extend(shown);
            }
            page.next.no = read.through;
            page.more = read.through < read.last;
            if !page.more {
                break;
            }
        }
        Ok(page)
    }

    /// The next notices, from memory where they are new.
    pub(crate) async fn notices(&self, after: u64) -> Result<Notices, Problem> {
        match self.inner.feed.recent(after) {
            Some(recent) => Ok(recent),
            None => Ok(self.engine().store().notices(after, PAGE).await?),
        }
    }

    /// Tells that there is more: the last number that is given, as it rises.
    #[must_use]
    pub fn heard(&self) -> watch::Receiver<u64> {
        self.inner.feed.heard()
    }

    /// An event as a caller may see it; none where it is not meant for them, or not what they want.
    async fn show(
        &self,
        caller: &Caller,
        filter: &EventFilter,
        notice: &Notice,
        era: i64,
        reader: Reader,
    ) -> Result<Option<EventView>, Problem> {
        let wanted = filter.types.is_empty() || filter.types.contains(&notice.topic);
        if notice.tenant != caller.tenant || !wanted || !show::may_hear(caller, notice.topic) {
            return Ok(None);
        }
        show::Shower::new(&self.inner.engine, &self.inner.teller)
            .show(caller, filter, notice, era, reader)
            .await
    }
}

fn forgotten(rule: &str) -> Problem {
    let remedy =
        "read from=start for what is kept, or ask for the actions themselves, and go on from=now";
    Problem::new(Code::EventsForgotten, "from", rule, remedy)
}

/// The id of an event: of what it says, and not of where it stands.
pub(crate) fn event_id(notice: &Notice) -> String {
    use sha2::{Digest, Sha256};
    let mut hash = Sha256::new();
    let (version, at): (u64, Timestamp) = (notice.version, notice.at);
    for part in [&notice.tenant, notice.topic.word(), &notice.about] {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hash.update(version.to_be_bytes());
    hash.update(at.as_micros().to_be_bytes());
    let digest = hash.finalize();
    let hex: String = digest[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("evt_{hex}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_are_read_as_they_are_written() {
        for cursor in [
            Cursor { no: 0, era: 0 },
            Cursor { no: 17, era: 0 },
            Cursor {
                no: 17,
                era: 1_700_000_000_000_000,
            },
        ] {
            assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }
        for wrong in [
            "",
            "-",
            "x",
            "-1",
            "+1",
            "1-",
            "1-xyz",
            "1--5",
            "99999999999999999999",
        ] {
            assert_eq!(wrong.parse::<Cursor>(), Err(()), "{wrong:?}");
        }
        assert_eq!("start".parse(), Ok(From::Start));
        assert_eq!("now".parse(), Ok(From::Now));
    }

    #[test]
    fn an_event_keeps_its_id_and_no_other_has_it() {
        let notice = Notice {
            no: 1,
            at: Timestamp::from_micros(5),
            tenant: "acme".to_owned(),
            topic: Topic::Updated,
            about: "act".to_owned(),
            version: 2,
            records: 3,
        };
        let id = event_id(&notice);
        assert_eq!(id.len(), 36);
        // After a move it may have another number.
        let moved = Notice {
            no: 9,
            ..notice.clone()
        };
        assert_eq!(event_id(&moved), id);
        let others = [
            Notice {
                version: 3,
                ..notice.clone()
            },
            Notice {
                tenant: "acm".to_owned(),
                about: "eact".to_owned(),
                ..notice.clone()
            },
            Notice {
                topic: Topic::ReviewLeft,
                ..notice
            },
        ];
        for other in others {
            assert_ne!(event_id(&other), id);
        }
    }
}
