//! Searching and asking after jobs. Reads only: no row is written here.

use serde_json::{Value, json};

use crate::ledger::{Event, Kind, Mode, Row};

use super::{World, micros};

/// One search.
#[derive(Debug)]
pub(crate) struct Question<'a> {
    pub(crate) kind: Kind,
    pub(crate) mode: Mode,
    /// Only what carries this reference.
    pub(crate) reference: Option<&'a str>,
    /// Items per page.
    pub(crate) limit: usize,
    /// Only rows after this number: where the page before ended.
    pub(crate) after: u64,
}

impl World {
    /// One page: items in the order in which their rows were written.
    pub(crate) fn search(&self, question: &Question<'_>) -> Value {
        let Question {
            kind,
            mode,
            reference,
            limit,
            after,
        } = *question;
        let found = match reference {
            Some(reference) => self
                .index
                .by_reference
                .get(&(kind, mode, reference.to_owned())),
            None => self.index.findable.get(&(kind, mode)),
        };
        let mut items: Vec<(u64, Value)> = Vec::new();
        let rest = found
            .into_iter()
            .flatten()
            .copied()
            .filter(|seq| *seq > after);
        for item in rest.filter_map(|seq| Some((seq, self.item(kind, seq)?))) {
            items.push(item);
            if items.len() > limit {
                break;
            }
        }
        let more = items.len() > limit;
        items.truncate(limit);
        let cut = kind == Kind::Lagging && self.settings.truncate;
        let last = items.last().map(|(seq, _)| format!("s{seq}"));
        let next = last.filter(|_| more && !cut);
        let items: Vec<_> = items.into_iter().map(|(_, item)| item).collect();
        json!({"items": items, "next": next, "complete": !cut})
    }

    /// What a search shows of a row; none where it is not there, not there any more or not yet visible.
    fn item(&self, kind: Kind, seq: u64) -> Option<Value> {
        let row = self.ledger.row(seq)?;
        let landed = match (row.event, self.index.ended.get(&seq)) {
            (Event::Effect, _) => Some(row),
            (_, None) => None,
            (_, Some(end)) => {
                let end = self.ledger.row(*end)?;
                if end.event != Event::Effect {
                    return None;
                }
                Some(end)
            }
        };
        match (kind, landed) {
            (Kind::Lagging, None) => None,
            (Kind::Lagging, Some(effect)) => {
                let visible = effect.at.saturating_add(micros(self.settings.search_lag));
                (visible <= self.now()).then(|| shown(effect, "done"))
            }
            (_, Some(effect)) => Some(shown(effect, "done")),
            (_, None) => Some(shown(row, "queued")),
        }
    }

    /// The business reference of a job, if there is such a job at this destination.
    pub(crate) fn job_business(&self, kind: Kind, mode: Mode, job: &str) -> Option<&str> {
        let row = self.ledger.row(*self.index.jobs.get(job)?)?;
        (row.kind == kind && row.mode == mode).then_some(row.business.as_str())
    }

    /// What a destination says of a job; none where it has no such job.
    pub(crate) fn job(&self, kind: Kind, mode: Mode, job: &str) -> Option<Value> {
        self.job_business(kind, mode, job)?;
        let seq = *self.index.jobs.get(job)?;
        let row = self.ledger.row(seq)?;
        let ended = self
            .index
            .ended
            .get(&seq)
            .and_then(|end| self.ledger.row(*end));
        let (status, id, reason) = match ended {
            Some(end) if end.event == Event::Effect => ("completed", end.id.clone(), None),
            Some(end) if end.event == Event::Cancelled => {
                ("failed", None, Some("cancelled".to_owned()))
            }
            Some(end) => ("failed", None, end.code.clone()),
            None if self.now() >= middle(row) => ("working", None, None),
            None => ("queued", None, None),
        };
        Some(json!({"job": job, "status": status, "id": id, "reason": reason}))
    }
}

/// A job counts as worked on in the second half of its time, so that callers meet both words.
fn middle(row: &Row) -> i64 {
    let due = row.due.unwrap_or(row.at);
    row.at.saturating_add(due.saturating_sub(row.at) / 2)
}

fn shown(row: &Row, state: &str) -> Value {
    let id = row.id.as_ref().or(row.job.as_ref());
    json!({
        "id": id, "job": row.job, "reference": row.reference, "business": row.business, "state": state,
    })
}
