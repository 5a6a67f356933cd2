//! What a stand-in answers to questions: lookups, polls, cancels by key, who-am-I. Only a cancel writes a row.

use std::io;

use factum_contract::far_side::{Item, Page, Paging, Progress, Question};

use super::{World, empty, micros};
use crate::answer::Answer;
use crate::ledger::{Event, Kind, Mode, Row};
use crate::stand_in::{Lie, StandIn};

/// One item before it is shown.
struct Shown {
    mark: Option<String>,
    name: Option<String>,
    queued: bool,
}

impl World {
    /// A page of a stand-in's lookup.
    pub(crate) fn stand_in_lookup(&self, stand: &StandIn, question: &Question) -> Answer {
        let far = stand.far();
        let all = self.findable_at(stand, question);
        let (size, before) = match (far.paging(), question.cursor.as_deref()) {
            (Paging::One, _) => (usize::MAX, 0),
            (Paging::Counted(size), cursor) => {
                (size, cursor.and_then(|c| c.parse().ok()).unwrap_or(0))
            }
            (Paging::Numbered(size, first), cursor) => {
                let page: usize = cursor.and_then(|c| c.parse().ok()).unwrap_or(first);
                (size, page.saturating_sub(first).saturating_mul(size))
            }
            (Paging::AfterItem(size), cursor) => {
                let at = cursor.and_then(|cursor| {
                    all.iter()
                        .position(|item| item.name.as_deref() == Some(cursor))
                });
                (size, at.map_or(0, |at| at + 1))
            }
        };
        let items: Vec<Item<'_>> = all
            .iter()
            .skip(before)
            .take(size)
            .map(|item| Item {
                mark: item.mark.as_deref(),
                name: item.name.as_deref(),
                queued: item.queued,
            })
            .collect();
        let page = Page {
            items: &items,
            before,
            total: all.len(),
            mark: question.mark.as_deref(),
            cursor: question.cursor.as_deref(),
        };
        let answer = far.show(&page).map(Answer::from);
        answer.unwrap_or_else(|| Answer::error(404, "not_found", "there is nothing to show"))
    }

    /// What the lookup finds, in the order in which it landed.
    fn findable_at(&self, stand: &StandIn, question: &Question) -> Vec<Shown> {
        let far = stand.far();
        let now = self.now();
        let (mut lag, stays) = far.shown_after();
        if stand.lies(Lie::LaggingStrongLookup) {
            lag = lag.max(micros(self.settings.search_lag));
        }
        let Some(kind) = stand.kind() else {
            return Vec::new();
        };
        let seqs = self.index.stands.shown.get(&kind).into_iter().flatten();
        let rows = seqs.filter_map(|seq| self.ledger.row(*seq));
        let mut found = Vec::new();
        let mut effects = 0_u64;
        for row in rows {
            let queued = row.event == Event::Queued;
            if queued && (self.index.ended.contains_key(&row.seq) || !far.shows_queued()) {
                continue;
            }
            effects += u64::from(!queued);
            let left_out = stand.lies(Lie::IncompleteLookup) && effects % 2 == 1;
            let gone = row
                .id
                .as_ref()
                .is_some_and(|id| self.index.cancelled_ids.contains(id));
            let visible = now >= row.at.saturating_add(lag)
                && stays.is_none_or(|stays| now < row.at.saturating_add(stays))
                && question.since.is_none_or(|since| row.at >= since);
            let mark = if far.looks_by_key() {
                &row.key
            } else {
                &row.reference
            };
            let asked = question.mark.is_none() || *mark == question.mark;
            if left_out || gone || !visible || !asked || !self.agrees(stand, row, question) {
                continue;
            }
            found.push(Shown {
                mark: mark.clone(),
                name: row.id.clone().or_else(|| row.job.clone()),
                queued,
            });
        }
        found.truncate(far.result_cap().unwrap_or(usize::MAX));
        found
    }

    /// Whether what the question names beside the mark is the same in the effect's request.
    fn agrees(&self, stand: &StandIn, row: &Row, question: &Question) -> bool {
        let Some(sent) = row.sent.as_deref().filter(|_| !question.params.is_empty()) else {
            return true;
        };
        let (_, wanted) = stand.understood(sent);
        let same = |(name, value): (&String, &String)| {
            wanted.params.get(name).is_none_or(|own| own == value)
        };
        question.params.iter().all(same)
    }

    /// What became of a stand-in's queued work.
    pub(crate) fn stand_in_poll(&self, stand: &StandIn, object: &str) -> Answer {
        let far = stand.far();
        let unknown = || Answer::error(404, "not_found", "there is no such work");
        let kind = stand.kind();
        let work = self
            .index
            .jobs
            .get(object)
            .and_then(|seq| self.ledger.row(*seq));
        let work = work.filter(|row| Some(row.kind) == kind);
        let (progress, receipt) = match work {
            None => {
                let rows = self.ledger.rows().iter();
                let mut effects =
                    rows.filter(|row| row.event == Event::Effect && Some(row.kind) == kind);
                match effects.find(|row| row.id.as_deref() == Some(object)) {
                    Some(row) => (Progress::Completed, row.id.clone()),
                    None => return unknown(),
                }
            }
            Some(work) => {
                let ended = self.index.ended.get(&work.seq);
                match ended.and_then(|seq| self.ledger.row(*seq)) {
                    None => (Progress::Working, None),
                    Some(end) if end.event == Event::Effect => {
                        (Progress::Completed, end.id.clone())
                    }
                    Some(_) => (Progress::Failed, None),
                }
            }
        };
        let answer = far.report_progress(progress, object, receipt.as_deref());
        answer.map_or_else(unknown, Answer::from)
    }

    /// Cancels what a stand-in has under a key.
    pub(crate) fn stand_in_cancel(&mut self, stand: &StandIn, key: &str) -> io::Result<Answer> {
        let Some(kind) = stand.kind() else {
            return Ok(Answer::server_error(500));
        };
        let mut ids = Vec::new();
        for mode in Mode::ALL {
            let scope = (kind, *mode, key.to_owned());
            for seq in self.index.named.get(&scope).into_iter().flatten() {
                let Some(row) = self.ledger.row(*seq) else {
                    continue;
                };
                match row.event {
                    Event::Effect => ids.extend(row.id.clone()),
                    _ if !self.index.ended.contains_key(seq) => ids.extend(row.job.clone()),
                    _ => {}
                }
            }
        }
        let named = ids.first().cloned();
        if !stand.lies(Lie::CancelDoesNothing) {
            let row = Row {
                key: Some(key.to_owned()),
                ids,
                ..empty(Event::Cancelled, kind, Mode::Sync, self.now())
            };
            self.write(row)?;
        }
        let answer = stand.far().confirm_cancel(named.as_deref());
        Ok(answer.map_or_else(|| Answer::server_error(500), Answer::from))
    }

    /// Whom a stand-in takes the caller for.
    pub(crate) fn stand_in_account(stand: &StandIn) -> Answer {
        let answer = stand.far().name_account("stand-in");
        answer.map_or_else(|| Answer::server_error(500), Answer::from)
    }

    /// The text that faults are drawn by for a question: stable where the names of work are not.
    pub(crate) fn stand_in_work(&self, kind: Kind, object: &str) -> Option<&str> {
        let row = self
            .index
            .jobs
            .get(object)
            .and_then(|seq| self.ledger.row(*seq))?;
        (row.kind == kind).then_some(row.business.as_str())
    }
}
