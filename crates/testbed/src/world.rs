//! The five kinds of destination: what a request does, decided under one lock and told by rows.
//!
//! Every change is a row first: decide, append, apply. What the world knows beside its rows follows from them, in the
//! running testbed and at a restart alike, so a restarted testbed cannot know less than its ledger. There is
//! no socket here, and the only clock is [`World::now`].

mod feed;
mod index;
mod questions;
mod search;
mod stand_in;

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use factum_faults::Fault;

use crate::answer::Answer;
use crate::callbacks::Notice;
use crate::config::Settings;
use crate::counts::{Counts, Filter};
use crate::ledger::{Behave, Event, Kind, Ledger, Mode, Row, Sent};
use crate::stand_in::StandIn;

use index::Index;
pub(crate) use search::Question;

/// One effect request as the application gets it.
#[derive(Debug, Clone)]
pub(crate) struct Delivery {
    pub(crate) kind: Kind,
    pub(crate) mode: Mode,
    pub(crate) key: Option<String>,
    pub(crate) business: String,
    pub(crate) reference: Option<String>,
    pub(crate) digest: String,
    pub(crate) behave: Option<Behave>,
    pub(crate) slow_ms: Option<u64>,
    pub(crate) fault: Fault,
    /// What happens to the report of its effect.
    pub(crate) callback: Option<Fault>,
    /// What arrived, at a stand-in.
    pub(crate) sent: Option<Box<Sent>>,
    /// Whether it came over the wire, not from a proxy's repeat.
    pub(crate) wire: bool,
}

/// What became of a delivery.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// It is answered.
    Answered(Answer),
    /// It is begun; the row with this number lands later, with the answer.
    Begun(u64),
}

/// All destinations and their ledger.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) settings: Settings,
    ledger: Ledger,
    /// How far the testbed's clock was moved ahead of the wall clock, in microseconds.
    ahead: i64,
    index: Index,
    stands: Vec<Arc<StandIn>>,
}

impl World {
    pub(crate) fn new(ledger: Ledger, settings: Settings, stands: Vec<StandIn>) -> World {
        let mut index = Index::default();
        for seq in 1..=ledger.rows().len() as u64 {
            index.apply(&ledger, seq);
        }
        // A clock that was moved ahead goes on from where the last row was written.
        let last = ledger.rows().last().map_or(0, |last| last.at);
        let ahead = last.saturating_sub(wall()).max(0);
        World {
            settings,
            ledger,
            ahead,
            index,
            stands: stands.into_iter().map(Arc::new).collect(),
        }
    }

    /// The testbed's clock: microseconds since 1970. It never falls behind the last row.
    pub(crate) fn now(&self) -> i64 {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let now = micros(wall).saturating_add(self.ahead);
        self.ledger
            .rows()
            .last()
            .map_or(now, |last| now.max(last.at))
    }

    /// Moves the testbed's clock ahead.
    pub(crate) fn advance(&mut self, by: Duration) {
        self.ahead = self.ahead.saturating_add(micros(by));
    }

    pub(crate) fn rows(&self, filter: &Filter) -> Vec<Row> {
        self.ledger
            .rows()
            .iter()
            .filter(|row| filter.lets_pass(row))
            .cloned()
            .collect()
    }

    pub(crate) fn row_count(&self) -> u64 {
        self.ledger.rows().len() as u64
    }

    pub(crate) fn counts(&self, filter: &Filter) -> Counts {
        let open = |seq| !self.index.ended.contains_key(&seq);
        Counts::of(self.ledger.rows(), filter, open, &self.index.cancelled_ids)
    }

    /// Forgets everything that ever happened.
    pub(crate) fn reset(&mut self) -> io::Result<()> {
        self.ledger.clear()?;
        self.index = Index::default();
        Ok(())
    }

    /// Takes one effect request.
    pub(crate) fn arrive(&mut self, delivery: &Delivery) -> io::Result<Arrival> {
        if let Kind::StandIn(_) = delivery.kind {
            return self.arrive_at_stand_in(delivery);
        }
        let now = self.now();
        if let Some(answer) = self.before_running(delivery, now)? {
            return Ok(Arrival::Answered(answer));
        }
        let delay = match (delivery.fault, delivery.behave) {
            (Fault::DelayedCommit { ms }, _) if delivery.wire => Some(Duration::from_millis(ms)),
            (_, Some(Behave::Slow)) => Some(
                delivery
                    .slow_ms
                    .map_or(self.settings.slow, Duration::from_millis),
            ),
            (_, _) => None,
        };
        let mut row = blank(Event::Begun, delivery, now);
        row.status = self.error_to_store(delivery);
        let Some(delay) = delay else {
            return Ok(Arrival::Answered(self.run(row)?));
        };
        row.due = Some(now.saturating_add(micros(delay)));
        row.behave = delivery.behave;
        Ok(Arrival::Begun(self.write(row)?))
    }

    /// What stands between a request and its work: the key that is missing, known or still running.
    fn before_running(&mut self, delivery: &Delivery, now: i64) -> io::Result<Option<Answer>> {
        if delivery.kind != Kind::Key {
            return Ok(None);
        }
        let Some(key) = delivery.key.clone() else {
            return self.refuse(delivery, 400, "key_missing").map(Some);
        };
        let window = micros(self.settings.key_retention);
        let Some(held) = self.index.keys.get(&(delivery.kind, delivery.mode, key)) else {
            return Ok(None);
        };
        if now >= held.since.saturating_add(window) {
            return Ok(None);
        }
        if held.digest != delivery.digest {
            return self.refuse(delivery, 422, "key_reuse").map(Some);
        }
        let Some(first) = held.answer else {
            return self.refuse(delivery, 409, "key_in_progress").map(Some);
        };
        let answer = self.ledger.row(first).map(Answer::of);
        let mut row = blank(Event::Replayed, delivery, now);
        row.of = Some(first);
        self.write(row)?;
        Ok(answer.map(|answer| answer.with("Idempotent-Replayed", "true")))
    }

    /// The error that `key` keeps in place of the true answer, where it is set to do so.
    fn error_to_store(&self, delivery: &Delivery) -> Option<u16> {
        match delivery.fault {
            Fault::Status { code }
                if delivery.kind == Kind::Key && delivery.wire && self.settings.replay_errors =>
            {
                Some(code)
            }
            _ => None,
        }
    }

    /// Does the work of a request: `row` brings what is known of it, the outcome is written over it.
    fn run(&mut self, mut row: Row) -> io::Result<Answer> {
        let stored_error = row.status.take();
        if self.is_cancelled(&row) {
            refused(&mut row, 409, "key_cancelled");
        } else {
            match row.behave {
                Some(Behave::Reject) => refused(&mut row, 422, "invalid"),
                Some(Behave::OkFalse) => refused(&mut row, 200, "ok_false"),
                Some(Behave::Decline) => {
                    row.event = Event::Declined;
                    row.id = Some(self.next_id("D"));
                }
                None | Some(Behave::CompleteThenFail | Behave::Slow) => {
                    row.status = stored_error;
                    self.take_effect(&mut row);
                }
            }
        }
        let seq = self.write(row)?;
        let row = self.ledger.row(seq);
        Ok(row.map_or_else(|| Answer::server_error(500), |row| self.told(row)))
    }

    fn take_effect(&self, row: &mut Row) {
        match row.mode {
            Mode::Sync => {
                row.event = Event::Effect;
                row.id = Some(self.next_id("T"));
            }
            Mode::Queued => {
                row.event = Event::Queued;
                row.job = Some(format!("J-{}", self.index.jobs.len() + 1));
                row.due = Some(row.at.saturating_add(self.queued_for(row)));
            }
        }
    }

    /// How long work stays in the queue, in microseconds: none where it is to be reported before it is answered.
    fn queued_for(&self, row: &Row) -> i64 {
        match row.callback {
            Some(Fault::CallbackBeforeAnswer { .. }) => 0,
            _ => micros(self.settings.queue_delay),
        }
    }

    /// What there is to report of a row: an effect, or work that failed.
    pub(crate) fn notice(&self, row: &Row) -> Option<Notice> {
        let done = match row.event {
            Event::Effect => true,
            Event::FailedJob => false,
            _ => return None,
        };
        // What lands synchronously at one of the five kinds has been answered, and is not reported.
        if !matches!(row.kind, Kind::StandIn(_)) && row.mode == Mode::Sync {
            return None;
        }
        let id = format!("evt_{}", row.seq);
        Some(Notice {
            stand: self.stand(row.kind),
            id,
            done,
            reference: row.reference.clone(),
            key: row.key.clone(),
            object: row.job.clone(),
            receipt: row.id.clone(),
            fault: row.callback.unwrap_or(Fault::None),
        })
    }

    /// The rows after this number.
    pub(crate) fn rows_after(&self, seq: u64) -> &[Row] {
        let from = usize::try_from(seq).unwrap_or(usize::MAX);
        self.ledger.rows().get(from..).unwrap_or_default()
    }

    /// The answer of a fresh row, with what depends on the settings.
    fn told(&self, row: &Row) -> Answer {
        let answer = Answer::of(row);
        if matches!(row.code.as_deref(), Some("key_in_progress" | "busy")) {
            return answer.with("Retry-After", self.settings.retry_after_s.to_string());
        }
        answer
    }

    fn next_id(&self, letter: &str) -> String {
        format!("{letter}-{:06}", self.index.ids + 1)
    }

    fn is_cancelled(&self, row: &Row) -> bool {
        let scope = row.key.clone().map(|key| (row.kind, row.mode, key));
        row.kind == Kind::Cancel
            && scope.is_some_and(|scope| self.index.cancelled_keys.contains(&scope))
    }

    /// Answers without doing anything, and says so in the ledger.
    pub(crate) fn refuse(
        &mut self,
        delivery: &Delivery,
        status: u16,
        code: &str,
    ) -> io::Result<Answer> {
        if let Kind::StandIn(_) = delivery.kind {
            return self.refuse_at_stand_in(delivery, status, code);
        }
        let mut row = blank(Event::Refused, delivery, self.now());
        refused(&mut row, status, code);
        let answer = self.told(&row);
        self.write(row)?;
        Ok(answer)
    }

    /// Drops a request without doing anything, and says so in the ledger.
    pub(crate) fn drop_delivery(&mut self, delivery: &Delivery) -> io::Result<()> {
        let row = blank(Event::Dropped, delivery, self.now());
        self.write(row).map(|_| ())
    }

    /// Somebody came to where redirects point.
    pub(crate) fn elsewhere(&mut self, delivery: &Delivery) -> io::Result<()> {
        let row = blank(Event::Elsewhere, delivery, self.now());
        self.write(row).map(|_| ())
    }

    /// Cancels all that stands under a key of `cancel`, and everything that may still arrive under it.
    /// Returns the ids of the effects and jobs that are cancelled, those of an earlier cancel included.
    pub(crate) fn cancel(&mut self, mode: Mode, key: &str) -> io::Result<Vec<String>> {
        let scope = (Kind::Cancel, mode, key.to_owned());
        let mut ids = Vec::new();
        for seq in self.index.named.get(&scope).into_iter().flatten() {
            let Some(row) = self.ledger.row(*seq) else {
                continue;
            };
            let ended = self
                .index
                .ended
                .get(seq)
                .and_then(|end| self.ledger.row(*end));
            match (row.event, ended.map(|end| end.event)) {
                (Event::Effect, _) => ids.extend(row.id.clone()),
                (_, None | Some(Event::Cancelled)) => ids.extend(row.job.clone()),
                // The job's effect stands under the key by itself; a failed job has nothing to cancel.
                (_, Some(_)) => {}
            }
        }
        let row = Row {
            business: String::new(),
            key: Some(key.to_owned()),
            ids: ids.clone(),
            ..empty(Event::Cancelled, Kind::Cancel, mode, self.now())
        };
        self.write(row)?;
        Ok(ids)
    }

    /// Undoes an effect of `key` by its id; false where there is none. What is undone stays undone.
    pub(crate) fn undo(&mut self, mode: Mode, id: &str) -> io::Result<bool> {
        let is_it = |row: &Row| {
            row.event == Event::Effect
                && (row.kind, row.mode) == (Kind::Key, mode)
                && row.id.as_deref() == Some(id)
        };
        let Some(business) = self.ledger.rows().iter().find(|row| is_it(row)) else {
            return Ok(false);
        };
        let business = business.business.clone();
        if !self.index.cancelled_ids.contains(id) {
            let row = Row {
                business,
                ids: vec![id.to_owned()],
                ..empty(Event::Cancelled, Kind::Key, mode, self.now())
            };
            self.write(row)?;
        }
        Ok(true)
    }

    /// Lets go of the file; the rows stay readable.
    pub(crate) fn close(&mut self) {
        self.ledger.close();
    }

    pub(crate) fn has_pending(&self) -> bool {
        !self.index.pending.is_empty()
    }

    /// How long until something lands. Zero when it is overdue, none when nothing waits.
    pub(crate) fn lands_in(&self) -> Option<Duration> {
        let (due, _) = self.index.pending.first()?;
        let left = due.saturating_sub(self.now());
        Some(Duration::from_micros(u64::try_from(left).unwrap_or(0)))
    }

    /// Lands what is due first. Returns the row that it began with and its answer; none when nothing is due.
    pub(crate) fn land_one(&mut self) -> io::Result<Option<(u64, Answer)>> {
        let now = self.now();
        let Some((due, seq)) = self.index.pending.first().copied() else {
            return Ok(None);
        };
        if due > now {
            return Ok(None);
        }
        let Some(first) = self.ledger.row(seq) else {
            return Ok(None);
        };
        let mut row = Row {
            at: now,
            of: Some(seq),
            due: None,
            wire: false,
            lost: false,
            fault: None,
            ..first.clone()
        };
        match (first.event, first.kind) {
            (Event::Begun, Kind::StandIn(_)) => return Ok(Some((seq, self.run_stand_in(row)?))),
            (_, Kind::StandIn(_)) => {
                self.land_work(row)?;
                return Ok(Some((seq, Answer::server_error(500))));
            }
            (Event::Begun, _) => return Ok(Some((seq, self.run(row)?))),
            (_, _) => {}
        }
        row.status = None;
        if row.behave == Some(Behave::CompleteThenFail) {
            row.event = Event::FailedJob;
            row.code = Some("the job failed; nothing was done".to_owned());
        } else {
            row.event = Event::Effect;
            row.id = Some(self.next_id("T"));
        }
        let answer = Answer::of(&row);
        self.write(row)?;
        Ok(Some((seq, answer)))
    }

    /// Numbers the row, appends it and applies it.
    fn write(&mut self, mut row: Row) -> io::Result<u64> {
        let seq = self.row_count() + 1;
        row.seq = seq;
        self.ledger.append(row)?;
        self.index.apply(&self.ledger, seq);
        Ok(seq)
    }
}

fn refused(row: &mut Row, status: u16, code: &str) {
    row.event = Event::Refused;
    row.status = Some(status);
    row.code = Some(code.to_owned());
}

/// A row about a delivery that says nothing yet.
fn blank(event: Event, delivery: &Delivery, at: i64) -> Row {
    Row {
        business: delivery.business.clone(),
        reference: delivery.reference.clone(),
        key: delivery.key.clone(),
        digest: Some(delivery.digest.clone()),
        behave: delivery.behave,
        sent: delivery.sent.clone(),
        callback: delivery.callback,
        fault: (delivery.fault != Fault::None).then(|| delivery.fault.to_string()),
        wire: delivery.wire,
        lost: delivery.wire && delivery.fault.loses_answer(),
        ..empty(event, delivery.kind, delivery.mode, at)
    }
}

fn empty(event: Event, kind: Kind, mode: Mode, at: i64) -> Row {
    Row {
        seq: 0,
        at,
        kind,
        mode,
        event,
        id: None,
        job: None,
        business: String::new(),
        reference: None,
        key: None,
        digest: None,
        of: None,
        due: None,
        status: None,
        code: None,
        ids: Vec::new(),
        behave: None,
        fault: None,
        sent: None,
        callback: None,
        wire: false,
        lost: false,
    }
}

/// The wall clock in microseconds since 1970.
fn wall() -> i64 {
    micros(
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default(),
    )
}

/// Microseconds of a duration; the largest number where it is longer than 292 000 years.
fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}
