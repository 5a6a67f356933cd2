//! What a stand-in does with an effect request: what its contract promises, and no more.
//!
//! As with the five kinds, every change is a row first. What stays under which key, and what can be found, follows from the
//! rows; the answer to a repeat is written again from the first request and its outcome.

mod answers;

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use factum_contract::HttpRequest;
use factum_contract::far_side::{Concurrent, OtherContent, Replays, Said, Wanted};
use factum_faults::Fault;

use super::{Arrival, Delivery, World, blank, micros};
use crate::answer::Answer;
use crate::ledger::{Event, Kind, Mode, Row, Sent};
use crate::stand_in::{Lie, Script, StandIn};

/// What follows from the rows of stand-ins.
#[derive(Debug, Default)]
pub(super) struct Stands {
    /// Keys by their space.
    keys: HashMap<String, Held>,
    /// How many keys each operation has got.
    keys_of: HashMap<Kind, usize>,
    /// Conditions that an effect has used up.
    conditions: HashSet<String>,
    /// Requests that came over the wire, by the text that effects are counted by.
    tries: HashMap<(Kind, String), u64>,
    /// Effects and queued work, in their order.
    pub(super) shown: HashMap<Kind, Vec<u64>>,
    /// Keys that were cancelled.
    cancelled: HashSet<(Kind, String)>,
}

/// What is known of a key.
#[derive(Debug)]
struct Held {
    /// Its number among the keys of its operation.
    number: usize,
    since: i64,
    ended: i64,
    /// The row of the first request.
    first: u64,
    /// The row that holds the outcome; none while it still runs.
    outcome: Option<u64>,
}

/// The code of a row that waits for the first request under its key.
const WAITS: &str = "waits";

impl Stands {
    pub(super) fn apply(&mut self, row: &Row, first: Option<&Row>) {
        let (Kind::StandIn(_), Some(sent)) = (row.kind, &row.sent) else {
            if let (Kind::StandIn(_), Event::Cancelled, Some(key)) = (row.kind, row.event, &row.key)
            {
                self.cancelled.insert((row.kind, key.clone()));
            }
            return;
        };
        if row.wire {
            let tries = self.tries.entry((row.kind, row.business.clone()));
            *tries.or_default() += 1;
        }
        let of_work = first.is_some_and(|first| first.event == Event::Queued);
        if matches!(row.event, Event::Effect | Event::Queued) {
            self.shown.entry(row.kind).or_default().push(row.seq);
            self.conditions
                .extend(sent.condition.clone().filter(|_| !of_work));
        }
        let Some(space) = sent.space.clone().filter(|_| !of_work) else {
            return;
        };
        if row.event == Event::Begun && row.code.as_deref() != Some(WAITS) {
            let number = self.keys_of.entry(row.kind).or_default();
            *number += 1;
            let held = Held {
                number: *number,
                since: row.at,
                ended: row.at,
                first: row.seq,
                outcome: None,
            };
            self.keys.insert(space, held);
        } else if let Some(held) = self.keys.get_mut(&space)
            && first.is_some_and(|first| first.seq == held.first)
            && row.event != Event::Replayed
        {
            if sent.stored {
                (held.outcome, held.ended) = (Some(row.seq), row.at);
            } else {
                self.keys.remove(&space);
            }
        }
    }
}

/// A stand-in and the request that it has to do with.
struct Case {
    stand: Arc<StandIn>,
    request: HttpRequest,
    wanted: Wanted,
}

impl World {
    /// The kinds that are stood in for.
    pub(crate) fn stand_ins(&self) -> Vec<Kind> {
        self.stands
            .iter()
            .filter_map(|stand| stand.kind())
            .collect()
    }

    /// The stand-in of a kind.
    pub(crate) fn stand(&self, kind: Kind) -> Option<Arc<StandIn>> {
        self.stands
            .iter()
            .find(|stand| stand.kind() == Some(kind))
            .cloned()
    }

    /// Whose path this is.
    pub(crate) fn stands_at(&self, method: &str, target: &str) -> Vec<Arc<StandIn>> {
        let fits = |stand: &&Arc<StandIn>| stand.far().has_path(method, target);
        self.stands.iter().filter(fits).cloned().collect()
    }

    fn case(&self, kind: Kind, sent: Option<&Sent>) -> Option<Case> {
        let stand = self.stand(kind)?;
        let (request, wanted) = stand.understood(sent?);
        Some(Case {
            stand,
            request,
            wanted,
        })
    }

    /// Takes one effect request of a stand-in.
    pub(super) fn arrive_at_stand_in(&mut self, delivery: &Delivery) -> io::Result<Arrival> {
        let now = self.now();
        let Some(case) = self.case(delivery.kind, delivery.sent.as_deref()) else {
            // A ledger's file of another start: nobody stands here now.
            return Ok(Arrival::Answered(Answer::server_error(500)));
        };
        if let Some(answer) = self.at_its_door(&case, delivery, now)? {
            return Ok(Arrival::Answered(answer));
        }
        let mut row = blank(Event::Begun, delivery, now);
        let script = self.script(&row);
        let work = match (delivery.fault, script) {
            (Fault::DelayedCommit { ms }, _) if delivery.wire => Duration::from_millis(ms),
            (_, Some(Script::Slow)) => self.settings.slow,
            (_, _) => self.settings.work,
        };
        row.due = Some(now.saturating_add(micros(work)));
        if let Fault::Status { code } = delivery.fault
            && delivery.wire
        {
            row.status = Some(code);
        }
        match self.known(&case, &row, now) {
            Known::New => {}
            Known::Over => {
                return self.say_no(&case, delivery, "key_over", &[Said::Mismatch]);
            }
            Known::Beside => space_of(&mut row).take().into_iter().for_each(drop),
            Known::Waits(due) => {
                row.code = Some(WAITS.to_owned());
                row.due = Some(due.saturating_add(1).max(now));
            }
            Known::Running => {
                return self.say_no(&case, delivery, "key_in_progress", &[Said::InProgress]);
            }
            Known::Other => {
                return self.say_no(&case, delivery, "key_reuse", &[Said::Mismatch]);
            }
            Known::Ended(outcome) => {
                let row = blank(Event::Replayed, delivery, now);
                return self.replay(row, outcome).map(Arrival::Answered);
            }
        }
        Ok(Arrival::Begun(self.write(row)?))
    }

    /// Refuses on behalf of a fault, in the words of the contract where it has any.
    pub(super) fn refuse_at_stand_in(
        &mut self,
        delivery: &Delivery,
        status: u16,
        code: &str,
    ) -> io::Result<Answer> {
        let said = match code {
            "busy" => vec![Said::Busy],
            _ => rejections(false),
        };
        let case = self.case(delivery.kind, delivery.sent.as_deref());
        let arrival = match case {
            Some(case) => self.say_no(&case, delivery, code, &said)?,
            None => return Ok(Answer::server_error(status)),
        };
        Ok(match arrival {
            Arrival::Answered(answer) => answer,
            Arrival::Begun(_) => Answer::server_error(status),
        })
    }

    /// What is refused before the key is looked at.
    fn at_its_door(
        &mut self,
        case: &Case,
        delivery: &Delivery,
        now: i64,
    ) -> io::Result<Option<Answer>> {
        let refused = if case.stand.limited && self.is_beyond_rate(case, delivery.kind, now) {
            Some(("busy", vec![Said::Busy]))
        } else if case.wanted.key.is_some() && !case.wanted.key_fits {
            Some(("key_form", rejections(false)))
        } else {
            let key = case.wanted.key.clone().unwrap_or_default();
            let cancelled = &self.index.stands.cancelled;
            let out = case.stand.far().cancel_refuses_later()
                && !case.stand.lies(Lie::CancelDoesNothing)
                && cancelled.contains(&(delivery.kind, key));
            out.then(|| ("key_cancelled", rejections(true)))
        };
        let Some((code, said)) = refused else {
            return Ok(None);
        };
        match self.say_no(case, delivery, code, &said)? {
            Arrival::Answered(answer) => Ok(Some(answer)),
            Arrival::Begun(_) => Ok(None),
        }
    }

    /// Whether more requests came within the provider's length of time than it takes.
    fn is_beyond_rate(&self, case: &Case, kind: Kind, now: i64) -> bool {
        let Some((most, per)) = case.stand.contract.provider_rules().limits.rate else {
            return false;
        };
        let provider = case.stand.contract.provider();
        let same = |row: &Row| row.kind.name().split('.').next() == Some(provider);
        let rows = self.ledger.rows().iter().rev();
        let recent = rows.take_while(|row| row.at > now.saturating_sub(per.as_micros()));
        let came = recent.filter(|row| row.wire && (row.kind == kind || same(row)));
        came.count() >= usize::try_from(most).unwrap_or(usize::MAX)
    }

    /// Refuses at the door: nothing is stored of it.
    fn say_no(
        &mut self,
        case: &Case,
        delivery: &Delivery,
        code: &str,
        said: &[Said],
    ) -> io::Result<Arrival> {
        let mut row = blank(Event::Refused, delivery, self.now());
        row.code = Some(code.to_owned());
        let answer = self.first_of(case, &row, said);
        row.status = Some(answer.status);
        self.write(row)?;
        Ok(Arrival::Answered(answer))
    }

    /// What the key of this request means.
    fn known(&self, case: &Case, row: &Row, now: i64) -> Known {
        let sent = row.sent.as_deref();
        let space = sent.and_then(|sent| sent.space.as_ref());
        let held = space.and_then(|space| self.index.stands.keys.get(space));
        let (Some(repeats), Some(held), Some(sent)) = (case.stand.repeats(), held, sent) else {
            return Known::New;
        };
        let begins = if repeats.from_completion {
            held.ended
        } else {
            held.since
        };
        let over = repeats
            .window
            .is_some_and(|window| now >= begins.saturating_add(window));
        let keys = self
            .index
            .stands
            .keys_of
            .get(&row.kind)
            .copied()
            .unwrap_or_default();
        let forgotten = repeats
            .count
            .is_some_and(|count| keys - held.number >= count);
        if (over && held.outcome.is_some()) || forgotten {
            return if repeats.refused_after {
                Known::Over
            } else {
                Known::New
            };
        }
        let first = self.ledger.row(held.first);
        let before = first.and_then(|first| first.sent.as_deref());
        if before.is_some_and(|before| before.compared != sent.compared) {
            match repeats.other_content {
                OtherContent::Refused => return Known::Other,
                OtherContent::NewEffect => return Known::New,
                OtherContent::FirstResult => {}
            }
        }
        match (held.outcome, repeats.concurrent) {
            (Some(outcome), _) => Known::Ended(outcome),
            (None, Concurrent::InProgress) => Known::Running,
            (None, Concurrent::Waits) => Known::Waits(first.and_then(|f| f.due).unwrap_or(now)),
            (None, Concurrent::Runs) => Known::Beside,
        }
    }

    /// Answers from what stays under the key.
    fn replay(&mut self, mut row: Row, outcome: u64) -> io::Result<Answer> {
        row.event = Event::Replayed;
        row.of = Some(outcome);
        let answer = self.answer_again(outcome, &row);
        self.write(row)?;
        Ok(answer)
    }

    fn script(&self, row: &Row) -> Option<Script> {
        // While it arrives it has no row yet; when it lands its own row is among those that were counted.
        let own = u64::from(row.of.is_some());
        let tries = &self.index.stands.tries;
        let tries = tries.get(&(row.kind, row.business.clone())).copied();
        let again = tries.unwrap_or_default().saturating_sub(own) > 0;
        row.sent.as_deref().and_then(|sent| Script::of(sent, again))
    }

    /// Does the work of a request that was begun.
    pub(super) fn run_stand_in(&mut self, mut row: Row) -> io::Result<Answer> {
        let stored_error = row.status.take();
        let Some(case) = self.case(row.kind, row.sent.as_deref()) else {
            row.event = Event::Dropped;
            self.write(row)?;
            return Ok(Answer::server_error(500));
        };
        if row.code.take().is_some() {
            let space = row.sent.as_deref().and_then(|sent| sent.space.as_ref());
            let held = space.and_then(|space| self.index.stands.keys.get(space));
            if let Some(outcome) = held.and_then(|held| held.outcome) {
                let begun = row.of;
                let answer = self.replay_begun(row, outcome, begun)?;
                return Ok(answer);
            }
        }
        let repeats = case.stand.repeats();
        let stores = repeats.as_ref().map_or([false; 3], |r| {
            [
                r.stores_success,
                r.stores_refusals,
                r.stores_errors || r.poisoned,
            ]
        });
        let script = self.script(&row);
        let said = match script {
            Some(Script::Reject) => rejections(stores[1]),
            Some(Script::Decline) => [vec![Said::Declined], rejections(stores[1])].concat(),
            _ => Vec::new(),
        };
        let answer = if let Some(answer) = self.stands_in_its_way(&case, &mut row)? {
            return Ok(answer);
        } else if !said.is_empty() {
            let declined =
                script == Some(Script::Decline) && case.stand.far().knows(Said::Declined);
            row.event = if declined {
                Event::Declined
            } else {
                Event::Refused
            };
            row.code = Some(if declined { "declined" } else { "rejected" }.to_owned());
            row.id = declined.then(|| format!("D-{}", self.row_count() + 1));
            store(&mut row, stores[1]);
            self.first_of(&case, &row, &said)
        } else if script == Some(Script::Fail) {
            row.event = Event::Refused;
            row.code = Some("failed".to_owned());
            store(&mut row, stores[2]);
            Answer::server_error(500)
        } else {
            store(&mut row, stores[0] || stored_error.is_some() && stores[2]);
            row.status = stored_error.filter(|_| stores[2]);
            self.take_effect_for(&case, &mut row, script)
        };
        if row.event == Event::Refused {
            row.status = Some(answer.status);
        }
        self.write(row)?;
        Ok(answer)
    }

    /// A request that waited for the first one under its key.
    fn replay_begun(
        &mut self,
        mut row: Row,
        outcome: u64,
        begun: Option<u64>,
    ) -> io::Result<Answer> {
        let answer = self.answer_again(outcome, &row);
        // It ends the row that it began with, so that nothing is left pending.
        row.event = Event::Refused;
        row.of = begun;
        row.code = Some("replayed".to_owned());
        row.status = Some(answer.status);
        self.write(row)?;
        Ok(answer)
    }

    /// What exists already keeps the request from having an effect of its own: a used condition, a name that is taken,
    /// content that is set.
    fn stands_in_its_way(&mut self, case: &Case, row: &mut Row) -> io::Result<Option<Answer>> {
        let far = case.stand.far();
        let Some(sent) = row.sent.as_deref().cloned() else {
            return Ok(None);
        };
        let spent = sent.condition.as_ref();
        let spent = spent.is_some_and(|text| self.index.stands.conditions.contains(text));
        let twin = |row: &Row| {
            far.sets()
                && row
                    .sent
                    .as_deref()
                    .is_some_and(|s| s.compared == sent.compared)
        };
        let named = |other: &Row| {
            far.key_names_object()
                && case.stand.repeats().is_none()
                && !case.stand.lies(Lie::IgnoresKey)
                && far.knows(Said::AlreadyExists)
                && other.key.is_some()
                && other.key == row.key
        };
        let shown = self.index.stands.shown.get(&row.kind).into_iter().flatten();
        let rows: Vec<&Row> = shown.filter_map(|seq| self.ledger.row(*seq)).collect();
        if let Some(twin) = rows.iter().find(|row| twin(row)).map(|row| row.seq) {
            let begun = row.of;
            return self.replay_begun(row.clone(), twin, begun).map(Some);
        }
        let taken = rows
            .iter()
            .find(|row| named(row))
            .and_then(|row| row.id.clone());
        if !spent && taken.is_none() {
            return Ok(None);
        }
        let mut refused = row.clone();
        refused.event = Event::Refused;
        refused.code = Some(if spent { "condition" } else { "exists" }.to_owned());
        refused.id = taken;
        let said = [vec![Said::AlreadyExists], rejections(false)].concat();
        let answer = self.first_of(case, &refused, &said);
        refused.status = Some(answer.status);
        self.write(refused)?;
        Ok(Some(answer))
    }

    /// The effect, or the work that is queued for it.
    fn take_effect_for(&self, case: &Case, row: &mut Row, script: Option<Script>) -> Answer {
        let number = self.row_count() + 1;
        let queued = row.mode == Mode::Queued;
        let said = if queued { Said::Accepted } else { Said::Done };
        let spoken = self.speak(case, said, number, None, false);
        let (answer, name) = match spoken {
            Some((answer, name)) => (answer, name),
            None => (Answer::server_error(500), None),
        };
        if queued {
            row.event = Event::Queued;
            row.job = Some(name.unwrap_or_else(|| format!("J-{number}")));
            row.due = Some(row.at.saturating_add(self.queued_for(row)));
            row.code = (script == Some(Script::CompleteThenFail)).then(|| "fails".to_owned());
        } else {
            row.event = Event::Effect;
            row.id = Some(name.unwrap_or_else(|| format!("S-{number}")));
        }
        match row.status {
            Some(status) => Answer::server_error(status),
            None => answer,
        }
    }

    /// Lands queued work.
    pub(super) fn land_work(&mut self, mut row: Row) -> io::Result<()> {
        row.status = None;
        let number = self.row_count() + 1;
        if row.code.take().is_some() {
            row.event = Event::FailedJob;
            row.code = Some("the work failed; nothing was done".to_owned());
        } else {
            row.event = Event::Effect;
            let job = row.job.as_deref();
            let id = self
                .stand(row.kind)
                .map(|stand| stand.far().receipt_of_work(job, number));
            row.id = id.or_else(|| Some(format!("S-{number}")));
        }
        self.write(row).map(drop)
    }
}

/// What a key means for a request that carries it.
enum Known {
    /// It is new, or forgotten.
    New,
    /// Its window is over, and the contract says that it is refused then.
    Over,
    /// The first still runs; this one runs beside it, since nothing else is promised.
    Beside,
    /// The first still runs, and is waited for until then.
    Waits(i64),
    /// The first still runs, and this one is told so.
    Running,
    /// It belongs to other content.
    Other,
    /// This row holds what became of it.
    Ended(u64),
}

/// The refusals to choose from; first the one that is stored, or not, as the contract says.
fn rejections(stored: bool) -> Vec<Said> {
    vec![
        Said::Rejected { stored },
        Said::Rejected { stored: !stored },
    ]
}

fn space_of(row: &mut Row) -> &mut Option<String> {
    &mut row.sent.get_or_insert_default().space
}

fn store(row: &mut Row, stored: bool) {
    if let Some(sent) = &mut row.sent {
        sent.stored = stored;
    }
}

/// Whether a repeat is answered with a refusal that shows that the thing exists.
fn conflicts(stand: &StandIn) -> bool {
    let repeats = stand.repeats();
    repeats.is_some_and(|repeats| repeats.replays == Replays::Conflict)
}
