//! The laws, held against every intent that something happened to, after every happening; and what a run adds up to.
//!
//! Effects are counted at the destination. What the engine says is only ever compared with that.

use std::collections::BTreeMap;

use factum_contract::Contract;
use factum_contract::http::HttpRequest;
use factum_core::evidence::{PermissionKind, RequestRef};
use factum_core::{ActionId, Fact, State, WorkerNonce};
use factum_store::{Record, Store};

use super::options::Trouble;
use super::place::Op;
use super::world::{World, ready};

/// What of laws 3 to 5 does not hold an intent: somebody accepted the risk, or was wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Excused {
    Nothing,
    /// More than one effect.
    Duplicates,
    /// What is said about it, too.
    Words,
}

impl Excused {
    pub(super) fn raise(&mut self, to: Self) {
        *self = (*self).max(to);
    }
}

/// A law that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Its number; 0 for what no law speaks of.
    pub law: u8,
    /// What was seen.
    pub saw: String,
}

/// What runs add up to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Happenings.
    pub steps: u64,
    /// Actions that were recorded.
    pub actions: u64,
    /// Processes that were killed.
    pub kills: u64,
    /// Effects that exist at the end.
    pub effects: u64,
    /// More than one where nobody accepted that.
    pub duplicates: u64,
    /// Said to be done in a settled action, and not there.
    pub missing: u64,
    /// Ends in `succeeded` without an effect.
    pub false_success: u64,
    /// Ends in a failure with an effect.
    pub false_failure: u64,
    /// Acknowledged, and unknown later.
    pub lost: u64,
    /// Effect requests that were written.
    pub written: u64,
    /// How actions ended: by state, or `review`.
    pub ends: BTreeMap<String, u64>,
    /// Crash points that were died at.
    pub points: BTreeMap<&'static str, u64>,
    /// Interesting things that happened at least once.
    pub seen: BTreeMap<&'static str, u64>,
}

impl Tally {
    /// Adds another one.
    pub fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.actions += other.actions;
        self.kills += other.kills;
        self.effects += other.effects;
        self.duplicates += other.duplicates;
        self.missing += other.missing;
        self.false_success += other.false_success;
        self.false_failure += other.false_failure;
        self.lost += other.lost;
        self.written += other.written;
        for (end, count) in &other.ends {
            *self.ends.entry(end.clone()).or_default() += count;
        }
        for (point, count) in &other.points {
            *self.points.entry(point).or_default() += count;
        }
        for (mark, count) in &other.seen {
            *self.seen.entry(mark).or_default() += count;
        }
    }
}

impl World {
    pub(super) fn contract(&self, op: Op) -> std::sync::Arc<Contract> {
        let own = self.lines[op].operation.contract.as_ref();
        own.map_or_else(
            || self.lines[op].served.contract.clone(),
            |own| own.contract.clone(),
        )
    }

    /// A law does not hold. The first one is kept.
    pub(super) fn breaks(&mut self, law: u8, saw: impl FnOnce() -> String) {
        if self.broken.is_none() {
            let saw = saw();
            self.note(|_| format!("law {law}: {saw}"));
            self.broken = Some(Broken { law, saw });
        }
    }

    pub(super) fn sometimes(&mut self, mark: &'static str) {
        *self.tally.seen.entry(mark).or_default() += 1;
    }

    /// Laws 1, 6 and what R10 and R18 bar, at the instant before the first byte.
    pub(super) fn before_the_first_byte(
        &mut self,
        nonce: WorkerNonce,
        record: &Record,
        (request, kind): (RequestRef, Option<PermissionKind>),
    ) {
        let action = record.id();
        let history = ready(self.store.history(action)).unwrap_or_default();
        let marked = history
            .iter()
            .position(|evidence| marks(&evidence.fact, request, nonce));
        let Some(marked) = marked else {
            if self.stored(action).is_some() {
                self.breaks(1, || {
                    format!("{action} {request:?} is written without a durable mark")
                });
            }
            return;
        };
        if !self.written.insert((action, request, nonce)) {
            self.breaks(6, || {
                format!("{action} {request:?} is written twice under one permission")
            });
        }
        let withdrawn = |fact: &Fact| {
            matches!(
                fact,
                Fact::CancelRequested { .. } | Fact::AuthorityLost { .. }
            )
        };
        let is_attempt = matches!(request, RequestRef::Attempt(_));
        if is_attempt
            && history[..marked]
                .iter()
                .any(|evidence| withdrawn(&evidence.fact))
        {
            self.breaks(6, || {
                format!("{action} is sent although it was withdrawn before")
            });
        }
        let intent = &record.action.intent;
        if is_attempt
            && !self.options.has(Trouble::ClockSteps)
            && !intent.finish
            && intent.deadline.is_some_and(|deadline| self.now >= deadline)
        {
            self.breaks(6, || format!("{action} is sent after its deadline"));
        }
        let restore = ready(self.store.restore()).unwrap_or_default();
        if restore.is_some_and(|restore| restore.released.is_none()) {
            self.breaks(6, || {
                format!("{action} is sent before the restore is released")
            });
        }
        if let Some(kind) = kind {
            self.sometimes(kind_name(kind));
        } else {
            self.sometimes("sent: cancel by key");
        }
    }

    /// Law 7, for what was sent because the destination recognises the key: it still does.
    pub(super) fn inside_the_window(&mut self, http: &HttpRequest, op: Op, business: &str) {
        let behaves = self.lines[op].served.behaves;
        if self.place.has_forgotten(op, behaves, http, self.now) {
            self.breaks(7, || {
                format!("{business} arrives by its key, which is forgotten there")
            });
        }
    }

    /// The caller is told, with 2xx, which action its identity names (laws 2, 9 and 10).
    pub(super) fn acknowledge(&mut self, n: usize, id: ActionId, record: &Record) {
        let (tenant, named) = (self.intents[n].tenant, self.ids.get(&id).copied());
        if named != Some(n) {
            self.breaks(2, || format!("b{n} is told {id}, which is another's"));
        }
        if record.action.scope.tenant != tenant {
            self.breaks(9, || {
                format!("b{n} of {tenant} is told {id}, which is another tenant's")
            });
        }
        let earlier = self.intents[n].acknowledged.replace(id);
        if earlier.is_some_and(|earlier| earlier != id) {
            self.breaks(2, || format!("b{n} is told {id}, and was told another"));
        }
        self.touched.insert(n);
    }

    /// Holds the laws against everything that something happened to.
    pub(super) fn hold_against_the_laws(&mut self) {
        self.tally.steps += 1;
        if let Some(crossed) = self.place.crossed().map(str::to_owned) {
            self.breaks(9, || crossed);
        }
        for n in std::mem::take(&mut self.touched) {
            self.hold(n);
        }
    }

    fn hold(&mut self, n: usize) {
        let count = self.place.count(&format!("b{n}"));
        let excused = self.intents[n].excused;
        if count > 1 && excused == Excused::Nothing {
            self.breaks(3, || format!("a{n} has {count} effects"));
        }
        let Some(id) = self.intents[n].acknowledged else {
            return;
        };
        let Some(record) = self.stored(id) else {
            self.breaks(10, || {
                format!("a{n} was acknowledged as {id}, and is not there")
            });
            return;
        };
        let status = record.status();
        if excused == Excused::Words {
            return;
        }
        match status.state {
            State::Succeeded if count == 0 => {
                self.breaks(4, || format!("a{n} succeeded, and nothing is there"));
            }
            State::TerminalFailure | State::Cancelled | State::Expired if count > 0 => {
                let state = status.state.name();
                self.breaks(5, || {
                    format!("a{n} is {state}, and {count} effects are there")
                });
            }
            State::Succeeded
            | State::TerminalFailure
            | State::Cancelled
            | State::Expired
            | State::Pending
            | State::Dispatching
            | State::Accepted
            | State::RetryableFailure
            | State::OutcomeUnknown => {}
        }
    }

    /// Law 8, once nothing fails any more: everything is settled or stands in review.
    pub(super) fn hold_to_the_end(&mut self) {
        for n in 0..self.intents.len() {
            self.touched.insert(n);
            if self.rests(n) {
                continue;
            }
            let stands = self.intents[n].acknowledged.and_then(|id| self.stored(id));
            let stands = stands.map(|r| (r.status().state.name(), r.next));
            self.breaks(8, || format!("a{n} waits for ever: {stands:?}"));
        }
        self.hold_against_the_laws();
        for ((action, request), _) in std::mem::take(&mut self.handed) {
            let history = ready(self.store.history(action)).unwrap_or_default();
            if !history.iter().any(|evidence| ends(&evidence.fact, request)) {
                self.breaks(8, || {
                    format!("what came back of {action} {request:?} is written nowhere")
                });
            }
        }
        self.count();
    }

    fn count(&mut self) {
        self.tally.effects = u64::try_from(self.place.total()).unwrap_or(0);
        for n in 0..self.intents.len() {
            let count = u64::try_from(self.place.count(&format!("b{n}"))).unwrap_or(0);
            let excused = self.intents[n].excused;
            if excused == Excused::Nothing {
                self.tally.duplicates += count.saturating_sub(1);
            }
            let Some(id) = self.intents[n].acknowledged else {
                continue;
            };
            let Some(record) = self.stored(id) else {
                self.tally.lost += 1;
                continue;
            };
            self.tally.actions += 1;
            let status = record.status();
            let end = if record.next.step == "review" {
                "review"
            } else {
                status.state.name()
            };
            *self.tally.ends.entry(end.to_owned()).or_default() += 1;
            if excused == Excused::Words {
                continue;
            }
            let done = status.state == State::Succeeded;
            self.tally.false_success += u64::from(done && count == 0);
            self.tally.missing += u64::from(done && count == 0);
            self.tally.false_failure += u64::from(status.state.is_final() && !done && count > 0);
        }
    }
}

fn marks(fact: &Fact, request: RequestRef, nonce: WorkerNonce) -> bool {
    match fact {
        Fact::Marked(mark) => RequestRef::Attempt(mark.attempt) == request && mark.worker == nonce,
        Fact::CancelMarked(mark) => RequestRef::Cancel(mark.no) == request && mark.worker == nonce,
        _ => false,
    }
}

/// Whether a fact says how a request ended.
fn ends(fact: &Fact, request: RequestRef) -> bool {
    match fact {
        Fact::Answered(answer) => RequestRef::Attempt(answer.attempt) == request,
        Fact::Lost(loss) => RequestRef::Attempt(loss.attempt) == request,
        Fact::NotSent { attempt, .. } => RequestRef::Attempt(*attempt) == request,
        Fact::CancelAnswered { no, .. } => RequestRef::Cancel(*no) == request,
        _ => false,
    }
}

fn kind_name(kind: PermissionKind) -> &'static str {
    use PermissionKind as Kind;
    use factum_core::evidence::Order;
    match kind {
        Kind::First => "sent: first",
        Kind::ProvenNotSent => "sent: proven not sent",
        Kind::SameKey => "sent: same key",
        Kind::ProvenAbsent => "sent: proven absent",
        Kind::Harmless => "sent: harmless",
        Kind::Ordered(Order::Preference) => "sent: by preference",
        Kind::Ordered(Order::Verdict(_)) => "sent: by a person's order",
    }
}
