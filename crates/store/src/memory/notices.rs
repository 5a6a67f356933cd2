//! Notices in memory: one list, numbered as it grows.

use std::collections::VecDeque;

use factum_core::Timestamp;

use crate::notice::{Notice, Notices, Topic};
use crate::record::Record;
use crate::register::Change;

#[derive(Clone, Default)]
pub(super) struct Shelf {
    kept: VecDeque<Notice>,
    /// The last number that was given.
    last: u64,
}

impl Shelf {
    /// What is news of an action as it stands.
    pub(super) fn of_action(&mut self, record: &Record, news: &[Topic], at: Timestamp) {
        for topic in news {
            self.put(Notice {
                no: 0,
                at,
                tenant: record.action.scope.tenant.clone(),
                topic: *topic,
                about: record.id().to_string(),
                version: record.version,
                records: u64::try_from(record.known.len()).unwrap_or(u64::MAX),
            });
        }
    }

    /// What is news of changes of the register.
    pub(super) fn of_changes(&mut self, changes: &[Change], at: Timestamp) {
        for change in changes {
            if let Some(topic) = Topic::of_change(change) {
                self.put(Notice {
                    no: 0,
                    at,
                    tenant: change.key.tenant.clone(),
                    topic,
                    about: change.key.id.clone(),
                    version: change.expected + 1,
                    records: 0,
                });
            }
        }
    }

    fn put(&mut self, notice: Notice) {
        self.last += 1;
        self.kept.push_back(Notice {
            no: self.last,
            ..notice
        });
    }

    pub(super) fn behind(&self, after: u64, limit: usize) -> Notices {
        let through = after.saturating_add(u64::try_from(limit).unwrap_or(u64::MAX));
        let through = through.min(self.last).max(after);
        let wanted = |notice: &&Notice| notice.no > after && notice.no <= through;
        Notices {
            notices: self.kept.iter().filter(wanted).cloned().collect(),
            through,
            forgotten: self.kept.front().map_or(self.last, |first| first.no - 1),
            last: self.last,
        }
    }

    pub(super) fn forget(&mut self, before: Timestamp, limit: usize) -> u64 {
        let mut gone = 0;
        while self.kept.len() > 1
            && usize::try_from(gone).is_ok_and(|gone| gone < limit)
            && self.kept.front().is_some_and(|first| first.at < before)
        {
            self.kept.pop_front();
            gone += 1;
        }
        gone
    }
}
