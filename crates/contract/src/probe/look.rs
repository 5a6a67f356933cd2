//! Reading a lookup or a poll again and again: when it showed what, in terms of when the effect was answered.

use factum_core::evidence::{LookupAnswer, PollAnswer};
use factum_core::promise::LookupBy;
use factum_core::{Span, Timestamp};

use super::plan::Wanted;
use super::sight::Looked;
use crate::contract::Contract;
use crate::http::{HttpAnswer, HttpRequest};
use crate::lookup::{LookupAsk, LookupReading};

/// Reads without a conclusive answer before one look is given up.
const INCONCLUSIVE_MAX: u32 = 10;

/// A lookup that is being read.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    pub(super) wanted: Wanted,
    /// When the effect was answered, or this began.
    landed: Timestamp,
    began: Timestamp,
    patience: Span,
    pub(super) seen: Looked,
    /// The pages so far of the read under way, and when its first was asked.
    pages: Option<(LookupReading, Timestamp, u32)>,
    inconclusive: u32,
}

/// What a reader wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Onward {
    /// The next page, or the next read after a pause.
    Page,
    Pause,
    /// It is done.
    Enough,
    /// Its patience is over.
    GivenUp,
}

/// What a lookup asks by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'a> {
    pub(super) params: &'a serde_json::Map<String, serde_json::Value>,
    pub(super) key: &'a str,
    pub(super) reference: &'a str,
    pub(super) since: Timestamp,
}

impl Subject<'_> {
    fn mark(&self, contract: &Contract) -> &str {
        match contract.lookup_by() {
            Some(LookupBy::Key) => self.key,
            Some(LookupBy::Reference) | None => self.reference,
        }
    }
}

impl Reader {
    pub(super) fn new(
        mark: usize,
        wanted: Wanted,
        landed: Option<Timestamp>,
        now: Timestamp,
        patience: Span,
    ) -> Self {
        Self {
            wanted,
            landed: landed.unwrap_or(now),
            began: now,
            patience,
            seen: Looked {
                mark,
                ..Looked::default()
            },
            pages: None,
            inconclusive: 0,
        }
    }

    /// The question for the page that is due.
    pub(super) fn question(
        &self,
        contract: &Contract,
        subject: &Subject<'_>,
    ) -> Result<HttpRequest, crate::BuildError> {
        let cursor = self
            .pages
            .as_ref()
            .and_then(|(so_far, ..)| so_far.next_page.as_deref());
        contract.lookup_question(&LookupAsk {
            params: subject.params,
            mark: subject.mark(contract),
            since: Some(subject.since),
            cursor,
        })
    }

    /// An answer to the question, asked at `asked_at`.
    pub(super) fn asked(
        &mut self,
        contract: &Contract,
        subject: &Subject<'_>,
        answer: Result<HttpAnswer, String>,
        asked_at: Timestamp,
    ) -> Onward {
        let first_asked = self.pages.as_ref().map_or(asked_at, |(_, at, _)| *at);
        let answer = match answer {
            Ok(answer) => answer,
            Err(why) => return self.read(LookupAnswer::Inconclusive { why }, first_asked),
        };
        let (cursor, count) = self.pages.as_ref().map_or((None, 0), |(so_far, _, count)| {
            (so_far.next_page.clone(), *count)
        });
        let page = contract.read_lookup_page(&answer, subject.mark(contract), cursor.as_deref());
        let joined = match self.pages.take() {
            Some((so_far, ..)) => so_far.join(page),
            None => page,
        };
        if joined.next_page.is_some() && count + 1 < contract.lookup_pages_max() {
            self.pages = Some((joined, first_asked, count + 1));
            return Onward::Page;
        }
        let answer = match (joined.next_page, joined.answer) {
            (Some(_), LookupAnswer::Absent) => LookupAnswer::Inconclusive {
                why: "there are more pages than are followed".to_owned(),
            },
            (_, answer) => answer,
        };
        self.read(answer, first_asked)
    }

    /// A whole read: what it showed, and whether that is enough.
    fn read(&mut self, answer: LookupAnswer, asked_at: Timestamp) -> Onward {
        self.pages = None;
        self.seen.reads += 1;
        let after = asked_at.since(self.landed);
        let shown = if self.seen.reads == 1 {
            Span::ZERO
        } else {
            after
        };
        self.seen.inconclusive = None;
        let done = match answer {
            LookupAnswer::Found(receipts) => {
                self.seen.shown_after.get_or_insert(shown);
                self.seen.receipts = receipts.into_iter().map(|r| r.reference).collect();
                self.wanted != Wanted::Nothing
            }
            LookupAnswer::Queued { .. } => {
                self.seen.shown_after.get_or_insert(shown);
                self.seen.queued = true;
                self.wanted != Wanted::Nothing
            }
            LookupAnswer::Absent => {
                self.seen.absent_at = Some(after);
                self.seen.receipts.clear();
                self.wanted != Wanted::Present
            }
            LookupAnswer::Inconclusive { why } => {
                self.inconclusive += 1;
                self.seen.inconclusive = Some(why);
                self.inconclusive >= INCONCLUSIVE_MAX
            }
        };
        if done {
            Onward::Enough
        } else if asked_at.since(self.began) >= self.patience {
            Onward::GivenUp
        } else {
            Onward::Pause
        }
    }

    /// How long until the lag is over, for an effect that was answered.
    pub(super) fn until(&self, lag: Span, now: Timestamp) -> Span {
        (self.landed + lag).since(now)
    }

    /// One more read after the clock was moved: patience begins anew, for one read.
    pub(super) fn once_more(&mut self, now: Timestamp) {
        self.began = now;
        self.patience = Span::ZERO;
    }
}

/// Queued work that is being followed.
#[derive(Clone, Debug)]
pub(super) struct Follower {
    pub(super) object: String,
    began: Timestamp,
    pub(super) last: Option<PollAnswer>,
}

impl Follower {
    pub(super) fn new(object: String, now: Timestamp) -> Self {
        Self {
            object,
            began: now,
            last: None,
        }
    }

    pub(super) fn asked(
        &mut self,
        contract: &Contract,
        answer: Result<HttpAnswer, String>,
        asked_at: Timestamp,
        patience: Span,
    ) -> Onward {
        let answer = match answer {
            Ok(answer) => contract.read_poll(&answer),
            Err(why) => PollAnswer::Inconclusive { why },
        };
        let ended = matches!(answer, PollAnswer::Completed(_) | PollAnswer::Failed { .. });
        self.last = Some(answer);
        if ended {
            Onward::Enough
        } else if asked_at.since(self.began) >= patience {
            Onward::GivenUp
        } else {
            Onward::Pause
        }
    }
}
