//! Actions that nobody works on: in the queue for their time, due and in line to be claimed, at a destination's gate, held back by
//! an operator, or with their claim on its way back to the store. Each action stands in one of these places, is held, or rests
//! for good.
//!
//! Who is due is claimed in turns: of each tenant one, and of each of its destinations one, so that nobody waits for the end of
//! another's backlog. At a gate principals take turns, and every second place goes to whoever may not be sent much longer.

use std::collections::{BTreeMap, BTreeSet};

use factum_core::{ActionId, Span, Timestamp};

use super::held::Held;
use super::turns::{Line, Serve, Turns};
use super::{Command, Driver};
use crate::destination::tenant_of;

/// How long before its window closes an action is preferred at a gate: some lengths of the slowest request, and short against
/// the windows of most destinations, so that in a long backlog with windows of a day nobody is preferred for all of it.
const CLOSES_SOON: Span = Span::from_secs(600);

/// Everything that waits.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    places: BTreeMap<ActionId, Place>,
    /// For their time.
    queue: Line,
    /// Due: lines by destination, and those by tenant.
    ready: Turns<Turns<Line>>,
    /// By destination.
    gates: BTreeMap<String, AtGate>,
    /// Called from a gate, and not begun yet: a place is kept for each. With the time at which it first asked.
    called: BTreeMap<String, BTreeMap<ActionId, Timestamp>>,
    /// Those of the called that are not claimed yet. They go before whoever is merely due, because their place stands empty.
    coming: BTreeSet<ActionId>,
    /// Their claim is on its way back. Before it has arrived a new claim would find the action busy.
    releasing: BTreeMap<ActionId, (String, After)>,
}

/// Where one action waits.
#[derive(Clone, Debug)]
struct Place {
    destination: String,
    stands: Stands,
}

#[derive(Clone, Debug)]
enum Stands {
    /// In the queue, for this time.
    Queued(Timestamp),
    /// In line to be claimed, since this time.
    Ready(Timestamp),
    /// At its destination's gate.
    AtGate(Asks),
    /// Called from there, and about to be claimed.
    Coming,
    /// Its send is due, and an operator holds it back.
    HeldBack,
}

/// How an action that waits stands, for people.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stood {
    /// In the queue, until then.
    Until(Timestamp),
    /// In line to be claimed, since then.
    Due(Timestamp),
    /// At its destination's gate, or called from there, since then.
    AtGate(Timestamp),
    /// Held back by an operator.
    HeldBack,
}

/// What an action asks for at a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asks {
    /// Since when.
    pub(super) since: Timestamp,
    /// For whom.
    pub(super) principal: String,
    /// What it asks for may not begin later; never, where there is no such end.
    pub(super) closes: Timestamp,
}

/// Who waits at one gate.
#[derive(Debug, Default)]
struct AtGate {
    /// By principal.
    turns: Turns<Line>,
    /// The same whose time ends, by its end.
    closing: Line,
    /// The next place goes to whoever is in turn, after one that closed soon.
    turn: bool,
    /// Nobody is let in before.
    opens: Option<Timestamp>,
}

/// Where an action goes once its claim is back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// Into the queue, for this time.
    Queue(Timestamp),
    /// To its destination's gate.
    AtGate(Asks),
    /// Held back until an operator lets sends go on.
    HeldBack,
    /// Nowhere: nothing more is due.
    Rest,
}

impl AtGate {
    fn insert(&mut self, action: ActionId, asks: &Asks) {
        self.turns
            .line(&asks.principal)
            .insert((asks.since, action));
        if asks.closes < Timestamp::NEVER {
            self.closing.insert((asks.closes, action));
        }
    }

    fn remove(&mut self, action: ActionId, asks: &Asks) {
        self.turns
            .within(&asks.principal, |line| line.remove(&(asks.since, action)));
        self.closing.remove(&(asks.closes, action));
    }

    /// Who is to be let in next.
    fn next(&mut self, now: Timestamp) -> Option<ActionId> {
        let soon = self.closing.first().copied();
        let soon = soon.filter(|(closes, _)| *closes <= now + CLOSES_SOON && !self.turn);
        self.turn = soon.is_some();
        let served = soon.or_else(|| self.turns.serve());
        served.map(|(_, action)| action)
    }

    fn is_empty(&self) -> bool {
        self.turns.is_empty() && self.closing.is_empty()
    }
}

impl Waiting {
    /// Into the queue, from wherever it waited.
    pub(super) fn enqueue(&mut self, action: ActionId, destination: String, at: Timestamp) {
        self.arrived(action, &destination);
        if let Some((_, after)) = self.releasing.get_mut(&action) {
            *after = match after {
                After::Queue(earlier) => After::Queue(at.min(*earlier)),
                After::AtGate(_) | After::HeldBack | After::Rest => After::Queue(at),
            };
            return;
        }
        self.stand(action, destination, Stands::Queued(at));
    }

    /// Something was heard about an action. What was read earlier does not put off what is due sooner, and takes nobody away
    /// from a gate before its time.
    pub(super) fn heard(
        &mut self,
        action: ActionId,
        destination: String,
        at: Timestamp,
        now: Timestamp,
    ) {
        let stays = match self.releasing.get(&action) {
            Some((_, After::AtGate(_) | After::HeldBack)) => true,
            Some((_, After::Queue(_) | After::Rest)) => false,
            None => self.waits_for_others(action),
        };
        if stays && at > now {
            return;
        }
        self.due_at_the_latest(action, destination, at);
    }

    /// The store shows an action as overdue. One that waits for an operator or a place, or whose claim is still on its way back,
    /// stays where it is.
    pub(super) fn overdue(&mut self, action: ActionId, destination: String, at: Timestamp) {
        if !self.releasing.contains_key(&action) && !self.waits_for_others(action) {
            self.due_at_the_latest(action, destination, at);
        }
    }

    fn waits_for_others(&self, action: ActionId) -> bool {
        (self.places.get(&action)).is_some_and(|place| match place.stands {
            Stands::AtGate(_) | Stands::HeldBack | Stands::Coming => true,
            Stands::Queued(_) | Stands::Ready(_) => false,
        })
    }

    fn due_at_the_latest(&mut self, action: ActionId, destination: String, at: Timestamp) {
        match self.places.get(&action).map(|place| &place.stands) {
            // It is about to be looked at anyway.
            Some(Stands::Ready(_) | Stands::Coming) => {}
            Some(Stands::Queued(earlier)) => {
                let at = at.min(*earlier);
                self.enqueue(action, destination, at);
            }
            Some(Stands::AtGate(_) | Stands::HeldBack) | None => {
                self.enqueue(action, destination, at);
            }
        }
    }

    /// Takes an action out of the place that it is in.
    fn leave(&mut self, action: ActionId) {
        let Some(Place {
            destination,
            stands,
        }) = self.places.remove(&action)
        else {
            return;
        };
        match stands {
            Stands::Queued(at) => {
                self.queue.remove(&(at, action));
            }
            Stands::Ready(at) => {
                self.ready.within(tenant_of(&destination), |of_tenant| {
                    of_tenant.within(&destination, |line| line.remove(&(at, action)))
                });
            }
            Stands::AtGate(asks) => self.leave_line(action, &destination, &asks),
            Stands::Coming => {
                self.coming.remove(&action);
            }
            Stands::HeldBack => {}
        }
    }

    /// Puts an action into a place, out of the one that it was in.
    fn stand(&mut self, action: ActionId, destination: String, stands: Stands) {
        self.leave(action);
        match &stands {
            Stands::Queued(at) => {
                self.queue.insert((*at, action));
            }
            Stands::Ready(at) => {
                let of_tenant = self.ready.line(tenant_of(&destination));
                of_tenant.line(&destination).insert((*at, action));
            }
            Stands::AtGate(asks) => {
                let gate = self.gates.entry(destination.clone()).or_default();
                gate.insert(action, asks);
            }
            Stands::Coming => {
                self.coming.insert(action);
            }
            Stands::HeldBack => {}
        }
        let here = Place {
            destination,
            stands,
        };
        self.places.insert(action, here);
    }

    fn leave_line(&mut self, action: ActionId, destination: &str, asks: &Asks) {
        if let Some(gate) = self.gates.get_mut(destination) {
            gate.remove(action, asks);
            if gate.is_empty() {
                self.gates.remove(destination);
            }
        }
    }

    /// Whoever's time has come gets into line.
    fn get_ready(&mut self, now: Timestamp) {
        while let Some((at, action)) = self.queue.first().copied().filter(|(at, _)| *at <= now) {
            self.queue.remove(&(at, action));
            let place = self.places.remove(&action);
            if let Some(Place { destination, .. }) = place {
                self.stand(action, destination, Stands::Ready(at));
            }
        }
    }

    /// The next action to be claimed.
    pub(super) fn pop_due(&mut self, now: Timestamp) -> Option<(ActionId, String)> {
        self.get_ready(now);
        loop {
            let action = match self.coming.pop_first() {
                Some(action) => action,
                None => self.ready.serve()?.1,
            };
            if let Some(place) = self.places.remove(&action) {
                return Some((action, place.destination));
            }
        }
    }

    /// When there is something to do next.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        let ready = !self.coming.is_empty() || !self.ready.is_empty();
        let at_gates = self.gates.values().flat_map(|gate| {
            let closes = gate.closing.first().map(|(closes, _)| *closes);
            [closes, gate.opens].into_iter().flatten()
        });
        let queued = self.queue.first().map(|(at, _)| *at);
        at_gates
            .chain(queued)
            .chain(ready.then_some(Timestamp::EARLIEST))
            .min()
    }

    /// Each that waits: where it goes, and how it stands.
    pub(super) fn each(&self) -> impl Iterator<Item = (&str, Stood)> {
        self.places.iter().map(|(action, place)| {
            let stood = match &place.stands {
                Stands::Queued(at) => Stood::Until(*at),
                Stands::Ready(at) => Stood::Due(*at),
                Stands::AtGate(asks) => Stood::AtGate(asks.since),
                Stands::Coming => {
                    let called = self.called.get(&place.destination);
                    let since = called.and_then(|called| called.get(action)).copied();
                    Stood::AtGate(since.unwrap_or(Timestamp::EARLIEST))
                }
                Stands::HeldBack => Stood::HeldBack,
            };
            (place.destination.as_str(), stood)
        })
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// How many claims are on their way back.
    pub(super) fn releasing(&self) -> usize {
        self.releasing.len()
    }

    /// How many were called from gates and are not claimed yet.
    pub(super) fn coming(&self) -> usize {
        self.coming.len()
    }

    /// Places that are kept at a destination's gate for those that were called.
    pub(super) fn kept(&self, destination: &str) -> usize {
        self.called.get(destination).map_or(0, BTreeMap::len)
    }

    /// Whether somebody waits at a destination's gate.
    pub(super) fn has_line(&self, destination: &str) -> bool {
        self.gates.contains_key(destination)
    }

    /// The place that is kept for an action is its own now, or free again. Since when it asked, if it was called.
    pub(super) fn arrived(&mut self, action: ActionId, destination: &str) -> Option<Timestamp> {
        let called = self.called.get_mut(destination)?;
        let since = called.remove(&action);
        if called.is_empty() {
            self.called.remove(destination);
        }
        since
    }

    /// Everything is looked at anew, at once.
    pub(super) fn look_at_all(&mut self, now: Timestamp) {
        let looks = |place: &Place| match place.stands {
            Stands::Queued(_) | Stands::Ready(_) | Stands::HeldBack => true,
            Stands::AtGate(_) | Stands::Coming => false,
        };
        let all: Vec<_> = (self.places.iter())
            .filter(|(_, place)| looks(place))
            .map(|(action, place)| (*action, place.destination.clone()))
            .collect();
        for (action, destination) in all {
            self.due_at_the_latest(action, destination, now);
        }
        for (_, after) in self.releasing.values_mut() {
            match after {
                After::HeldBack | After::Queue(_) => *after = After::Queue(now),
                After::AtGate(_) | After::Rest => {}
            }
        }
    }

    /// Those at a gate whose time is over do not wait any longer: something else becomes of them.
    fn leave_closed(&mut self, destination: &str, now: Timestamp) {
        while let Some((closes, action)) = (self.gates.get(destination))
            .and_then(|gate| gate.closing.first().copied())
            .filter(|(closes, _)| *closes <= now)
        {
            self.enqueue(action, destination.to_owned(), closes);
        }
    }

    /// Calls the next one from a gate.
    fn call(&mut self, destination: &str, now: Timestamp) -> bool {
        let next = (self.gates.get_mut(destination)).and_then(|gate| gate.next(now));
        let Some(action) = next else { return false };
        let asks = self.places.get(&action).map(|place| &place.stands);
        let since = match asks {
            Some(Stands::AtGate(asks)) => asks.since,
            Some(Stands::Queued(_) | Stands::Ready(_) | Stands::Coming | Stands::HeldBack)
            | None => now,
        };
        let called = self.called.entry(destination.to_owned()).or_default();
        called.insert(action, since);
        self.stand(action, destination.to_owned(), Stands::Coming);
        true
    }
}

impl Driver {
    /// Gives a claim back; once it has arrived, the action waits where `after` says. What was heard about it since it was read
    /// is looked at first.
    pub(super) fn give_back(
        &mut self,
        held: Held,
        after: After,
        now: Timestamp,
        out: &mut Vec<Command>,
    ) {
        let action = held.record.id();
        let destination = held.record.action.scope.destination.clone();
        self.waiting.arrived(action, &destination);
        let after = if held.look_again {
            After::Queue(now)
        } else {
            after
        };
        match held.claim {
            Some(claim) => {
                self.waiting.releasing.insert(action, (destination, after));
                out.push(Command::Release(claim));
            }
            None => self.wait_as(action, destination, after),
        }
    }

    /// A claim is back in the store.
    pub(super) fn released(&mut self, action: ActionId) {
        if let Some((destination, after)) = self.waiting.releasing.remove(&action) {
            self.wait_as(action, destination, after);
        }
    }

    fn wait_as(&mut self, action: ActionId, destination: String, after: After) {
        let waiting = &mut self.waiting;
        match after {
            After::Queue(at) => waiting.enqueue(action, destination, at),
            After::AtGate(asks) => waiting.stand(action, destination, Stands::AtGate(asks)),
            After::HeldBack => waiting.stand(action, destination, Stands::HeldBack),
            After::Rest => {}
        }
    }

    /// Lets an action in, unless others came first.
    ///
    /// # Errors
    /// Since when it asks.
    pub(super) fn enter_gate(
        &mut self,
        action: ActionId,
        destination: &str,
        now: Timestamp,
    ) -> Result<(), Timestamp> {
        let called = self.waiting.arrived(action, destination);
        let crowds = self.crowds(destination);
        let (waits, kept) = (
            self.waiting.has_line(destination),
            self.waiting.kept(destination),
        );
        let Some(gate) = self.gates.get_mut(destination) else {
            return Ok(());
        };
        let others_first = waits || (kept > 0 && gate.room(now).is_ok_and(|room| room <= kept));
        if called.is_none() && (others_first || crowds) {
            return Err(now);
        }
        gate.enter(action, now).map_err(|_| called.unwrap_or(now))
    }

    /// Calls as many from each gate as there are places, whose turn it is first. Runs after every event, so that no place stays
    /// free while somebody waits for it, whatever became of those who were called before.
    pub(super) fn call_from_gates(&mut self, now: Timestamp) {
        let destinations: Vec<String> = self.waiting.gates.keys().cloned().collect();
        for destination in destinations {
            self.waiting.leave_closed(&destination, now);
            let room =
                (self.gates.get_mut(&destination)).map_or(Ok(usize::MAX), |gate| gate.room(now));
            if let Some(line) = self.waiting.gates.get_mut(&destination) {
                line.opens = room.err();
            }
            let kept = self.waiting.kept(&destination);
            for _ in kept..room.unwrap_or(0) {
                if self.crowds(&destination) || !self.waiting.call(&destination, now) {
                    break;
                }
            }
        }
    }
}
