//! The destination of the explorer: as unpleasant as its promises allow, and the only one who knows what really happened.

use std::collections::BTreeMap;

use factum_core::evidence::{AnswerClass, CancelAnswer, LookupAnswer, PollAnswer, Receipt};
use factum_core::promise::{
    Authority, CancelPromise, CompletionPromise, Consequence, KeyPromise, LookupBy, LookupPromise,
    ProcessingMax, Retention,
};
use factum_core::{ActionId, Epoch, Promises, Span, Timestamp};

use super::dice::Dice;

/// How long the destination works on a request at the most, counted into the arrival of each.
pub(super) const PROCESSING: Span = Span::from_secs(2);
/// How long an effect stays out of sight of a lookup.
pub(super) const LAG: Span = Span::from_secs(10);
const DAY: Span = Span::from_secs(86_400);

/// What a destination offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Key,
    ShortKeySerial,
    Lookup,
    KeyAndLookup,
    Partial,
    CancelForGood,
    CancelWhileKnown,
    Queued,
    Harmless,
    Nothing,
}

impl Kind {
    pub(super) const ALL: [Self; 10] = [
        Self::Key,
        Self::ShortKeySerial,
        Self::Lookup,
        Self::KeyAndLookup,
        Self::Partial,
        Self::CancelForGood,
        Self::CancelWhileKnown,
        Self::Queued,
        Self::Harmless,
        Self::Nothing,
    ];

    fn floor(self) -> Option<Span> {
        match self {
            Self::Key | Self::Queued => Some(DAY),
            Self::ShortKeySerial | Self::KeyAndLookup => Some(Span::from_secs(300)),
            Self::CancelForGood
            | Self::CancelWhileKnown
            | Self::Lookup
            | Self::Partial
            | Self::Harmless
            | Self::Nothing => None,
        }
    }

    /// Whether a cancel finds what was made under a key.
    fn cancels(self) -> bool {
        matches!(self, Self::CancelForGood | Self::CancelWhileKnown)
    }

    pub(super) fn promises(self, irreversible: bool) -> Promises {
        let consequence = match (self, irreversible) {
            (Self::Harmless, _) => Consequence::Harmless,
            (_, true) => Consequence::Irreversible,
            (_, false) => Consequence::Costly,
        };
        let lookup = match self {
            Self::Lookup | Self::KeyAndLookup => Some(Authority::Authoritative),
            Self::Partial => Some(Authority::Partial),
            Self::Key
            | Self::ShortKeySerial
            | Self::CancelForGood
            | Self::CancelWhileKnown
            | Self::Queued
            | Self::Harmless
            | Self::Nothing => None,
        };
        Promises {
            key: self.floor().map(|floor| KeyPromise {
                retention: Retention::Floor(floor),
                concurrent_repeat_stated: self != Self::ShortKeySerial,
                stores_errors: false,
                scope_includes_credential: false,
                scope_includes_place: false,
                sets_again: false,
                wait_min: Span::ZERO,
            }),
            lookup: lookup.map(|authority| LookupPromise {
                authority,
                lag: LAG,
                by: LookupBy::Reference,
            }),
            cancel: self.cancels().then_some(CancelPromise {
                refuses_later_arrivals: self == Self::CancelForGood,
                retention: Retention::Floor(DAY),
            }),
            completion: (self == Self::Queued).then_some(CompletionPromise {
                poll: true,
                callback: false,
            }),
            processing_max: ProcessingMax::Stated(PROCESSING),
            path_is_direct: true,
            ..Promises::none(consequence)
        }
    }
}

/// What arrived under one key, and what came of it.
#[derive(Clone, Debug)]
struct Under {
    first: Timestamp,
    class: AnswerClass,
    receipt: Option<Receipt>,
}

/// One effect.
#[derive(Clone, Debug)]
struct Effect {
    receipt: Receipt,
    epoch: Epoch,
    at: Timestamp,
    undone: bool,
}

/// Work that was accepted and is not done.
#[derive(Clone, Debug)]
struct Work {
    action: ActionId,
    epoch: Epoch,
    done_at: Timestamp,
    fails: bool,
}

/// The destination.
pub(super) struct Place {
    pub(super) kind: Kind,
    keys: BTreeMap<(ActionId, Epoch), Under>,
    barred: Vec<(ActionId, Epoch)>,
    effects: BTreeMap<ActionId, Vec<Effect>>,
    queue: BTreeMap<String, Work>,
    made: u32,
}

impl Place {
    pub(super) fn new(kind: Kind) -> Self {
        Self {
            kind,
            keys: BTreeMap::new(),
            barred: Vec::new(),
            effects: BTreeMap::new(),
            queue: BTreeMap::new(),
            made: 0,
        }
    }

    /// Effects that exist.
    pub(super) fn count(&self, action: ActionId) -> usize {
        let effects = self.effects.get(&action).into_iter().flatten();
        effects.filter(|effect| !effect.undone).count()
    }

    /// Whether work is queued that may still become an effect.
    pub(super) fn working(&self, action: ActionId, now: Timestamp) -> bool {
        self.queue
            .values()
            .any(|work| work.action == action && work.done_at > now)
    }

    /// An effect request arrives and is answered.
    pub(super) fn arrive(
        &mut self,
        action: ActionId,
        epoch: Epoch,
        now: Timestamp,
        dice: &mut Dice,
    ) -> (AnswerClass, Option<Receipt>, bool) {
        self.work(now);
        if self.barred.contains(&(action, epoch)) {
            let why = "withdrawn before".to_owned();
            return (AnswerClass::Rejected { stored: false, why }, None, false);
        }
        // Keys are forgotten the very instant that is allowed.
        if let Some(floor) = self.kind.floor()
            && let Some(known) = self.keys.get(&(action, epoch)).cloned()
            && now < known.first + floor
        {
            return (known.class, known.receipt, true);
        }
        let (class, receipt, stored) = match dice.below(100) {
            0..=11 => (AnswerClass::Busy, None, false),
            12..=15 => {
                let stored = self.kind.floor().is_some() && dice.chance(50);
                let why = "no".to_owned();
                (AnswerClass::Rejected { stored, why }, None, stored)
            }
            16..=23 => (AnswerClass::Unknown, None, false),
            24..=31 => {
                self.act(action, epoch, now);
                // It is done, and the answer does not say so.
                self.remember(action, epoch, now, AnswerClass::Done);
                return (AnswerClass::Unknown, None, false);
            }
            32..=75 if self.kind == Kind::Queued => {
                let object = format!("Q-{}", self.queue.len());
                let work = Work {
                    action,
                    epoch,
                    done_at: now + Span::from_secs(i64::from(dice.below(200))),
                    fails: dice.chance(30),
                };
                self.queue.insert(object.clone(), work);
                let object = Some(object);
                (AnswerClass::Accepted { object }, None, true)
            }
            _ => {
                let receipt = self.act(action, epoch, now);
                (AnswerClass::Done, Some(receipt), true)
            }
        };
        if stored {
            self.remember(action, epoch, now, class.clone());
        }
        (class, receipt, false)
    }

    fn remember(&mut self, action: ActionId, epoch: Epoch, now: Timestamp, class: AnswerClass) {
        let receipt = self.effects.get(&action).and_then(|effects| effects.last());
        let under = Under {
            first: now,
            receipt: receipt
                .filter(|_| class == AnswerClass::Done)
                .map(|effect| effect.receipt.clone()),
            class,
        };
        self.keys.insert((action, epoch), under);
    }

    fn act(&mut self, action: ActionId, epoch: Epoch, now: Timestamp) -> Receipt {
        let effects = self.effects.entry(action).or_default();
        if self.kind == Kind::Harmless && !effects.is_empty() {
            return effects[0].receipt.clone();
        }
        self.made += 1;
        let receipt = Receipt::new(format!("R-{}", self.made));
        effects.push(Effect {
            receipt: receipt.clone(),
            epoch,
            at: now,
            undone: false,
        });
        receipt
    }

    /// Queued work is done when its time comes. Says whose was done.
    pub(super) fn work(&mut self, now: Timestamp) -> Vec<ActionId> {
        let due: Vec<Work> = self
            .queue
            .values_mut()
            .filter(|work| work.done_at <= now && !work.fails)
            .map(|work| {
                let done = work.clone();
                work.done_at = Timestamp::EARLIEST;
                done
            })
            .collect();
        let mut done = Vec::new();
        for work in due.into_iter().filter(|w| w.done_at != Timestamp::EARLIEST) {
            self.act(work.action, work.epoch, now);
            done.push(work.action);
        }
        done
    }

    /// How queued work stands.
    pub(super) fn poll(&mut self, object: &str, now: Timestamp, dice: &mut Dice) -> PollAnswer {
        self.work(now);
        let Some(work) = self.queue.get(object) else {
            let why = "unknown".to_owned();
            return PollAnswer::Inconclusive { why };
        };
        if dice.chance(15) {
            let why = "the question was lost".to_owned();
            return PollAnswer::Inconclusive { why };
        }
        match (work.done_at <= now, work.fails) {
            (false, _) => PollAnswer::Working,
            (true, true) => PollAnswer::Failed {
                why: "it failed".to_owned(),
            },
            (true, false) => PollAnswer::Completed(
                self.effects
                    .get(&work.action)
                    .and_then(|effects| effects.last())
                    .map(|effect| effect.receipt.clone()),
            ),
        }
    }

    /// What a lookup finds: nothing that is younger than the lag.
    pub(super) fn look_up(
        &mut self,
        action: ActionId,
        now: Timestamp,
        dice: &mut Dice,
    ) -> LookupAnswer {
        self.work(now);
        if dice.chance(15) {
            let why = "the question was lost".to_owned();
            return LookupAnswer::Inconclusive { why };
        }
        let found: Vec<Receipt> = self
            .effects
            .get(&action)
            .into_iter()
            .flatten()
            .filter(|effect| !effect.undone && effect.at + LAG <= now)
            .map(|effect| effect.receipt.clone())
            .collect();
        if found.is_empty() {
            LookupAnswer::Absent
        } else {
            LookupAnswer::Found(found)
        }
    }

    /// Withdraws what was made under a key.
    pub(super) fn cancel(&mut self, action: ActionId, epoch: Epoch) -> CancelAnswer {
        if self.kind == Kind::CancelForGood {
            self.barred.push((action, epoch));
        }
        let effects = self.effects.entry(action).or_default();
        let mut object = None;
        for effect in effects.iter_mut().filter(|e| e.epoch == epoch && !e.undone) {
            effect.undone = true;
            object = Some(effect.receipt.reference.clone());
        }
        CancelAnswer::Confirmed { object }
    }
}
