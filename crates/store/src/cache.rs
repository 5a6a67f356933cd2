//! Actions that were just read or written, so that the next decision on them reads nothing. Bounded by bytes; what falls out is
//! read again. On SQLite it holds what the open transaction holds, so a rolled-back one has to be forgotten; on PostgreSQL a
//! record is one version of many, and the statement that writes on top of it names that version.

use std::collections::BTreeMap;

use factum_core::ActionId;

use crate::record::Record;

/// Recently used records, oldest out first.
pub(crate) struct Cache {
    entries: BTreeMap<ActionId, Entry>,
    by_use: BTreeMap<u64, ActionId>,
    uses: u64,
    bytes: usize,
    bytes_max: usize,
}

struct Entry {
    used: u64,
    bytes: usize,
    record: Record,
}

impl Cache {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            entries: BTreeMap::new(),
            by_use: BTreeMap::new(),
            uses: 0,
            bytes: 0,
            bytes_max,
        }
    }

    /// Takes a record out. Whoever changes it puts it back; if the change fails, it is not held any more.
    pub(crate) fn take(&mut self, id: ActionId) -> Option<Record> {
        let entry = self.entries.remove(&id)?;
        self.by_use.remove(&entry.used);
        self.bytes -= entry.bytes;
        Some(entry.record)
    }

    /// Holds a record, in place of an earlier one.
    pub(crate) fn put(&mut self, record: Record) {
        let id = record.id();
        self.forget(id);
        let bytes = size(&record);
        if bytes > self.bytes_max {
            return;
        }
        self.uses += 1;
        self.bytes += bytes;
        self.by_use.insert(self.uses, id);
        let entry = Entry {
            used: self.uses,
            bytes,
            record,
        };
        self.entries.insert(id, entry);
        while self.bytes > self.bytes_max {
            let Some((_, oldest)) = self.by_use.pop_first() else {
                return;
            };
            self.forget(oldest);
        }
    }

    /// Lets go of a record: it is not what the file holds.
    pub(crate) fn forget(&mut self, id: ActionId) {
        drop(self.take(id));
    }
}

/// About what a record takes. Evidence is counted by the piece; captured answers are bounded by the transport.
fn size(record: &Record) -> usize {
    const FIXED: usize = 2_000;
    const PIECE: usize = 1_000;
    let content = &record.action.content;
    FIXED + content.params.len() + content.payload.len() + record.known.len() * PIECE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actions::admission;

    #[test]
    fn the_least_recently_used_falls_out() {
        let records: Vec<Record> = (0..4)
            .map(|n| crate::shared::admitted(admission(n), factum_core::Timestamp::EARLIEST).0)
            .collect();
        let ids: Vec<ActionId> = records.iter().map(Record::id).collect();
        let mut cache = Cache::new(size(&records[0]) * 3);
        for record in &records[..3] {
            cache.put(record.clone());
        }
        let first = cache.take(ids[0]).unwrap();
        cache.put(first);
        cache.put(records[3].clone());
        let held: Vec<bool> = ids.iter().map(|id| cache.take(*id).is_some()).collect();
        assert_eq!(held, [true, false, true, true]);
        assert_eq!(
            (cache.by_use.len(), cache.entries.len(), cache.bytes),
            (0, 0, 0)
        );
    }
}
