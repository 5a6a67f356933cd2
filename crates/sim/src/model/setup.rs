//! What one exploration explores: what the core is told, what the destination really does, how much may go wrong. Time passes
//! in ticks of ten seconds; all limits are whole ticks, set so tightly that leaving out any one of them shows.

use factum_core::promise::{
    Authority, CancelPromise, CompletionPromise, Consequence, KeyPromise, LookupBy, LookupPromise,
    ProcessingMax, Promises, Retention,
};
use factum_core::retry::Backoff;
use factum_core::{ActionId, Bound, Intent, Lane, Limits, Preference, Span, Timestamp};

/// Seconds of a tick.
const TICK: i64 = 10;
/// The pause between check and write that is guarded against, in ticks.
pub(crate) const PAUSE: u8 = 1;
/// The longest way over the network, in ticks, unless a setting says otherwise.
const LINGER: u8 = 1;
/// How long a worker waits for an answer before it closes the socket, in ticks.
pub(crate) const ANSWER_WAIT: u8 = 3;
/// The longest work on a received request, in ticks.
pub(crate) const PROCESSING: u8 = 1;
/// By how much the store's clock steps back, in ticks.
pub(crate) const STEP: u8 = 5;
/// For how long a destination keeps a key, in ticks, unless a setting says otherwise.
const FLOOR: u8 = 9;
/// How much later than it happened something is shown by a lookup, in ticks.
const LAG: u8 = 1;

/// The instant at which tick `n` begins.
pub(crate) fn tick(n: u8) -> Timestamp {
    Timestamp::from_micros(1_000_000_000_000) + ticks(n)
}

pub(crate) fn ticks(n: u8) -> Span {
    Span::from_secs(i64::from(n) * TICK)
}

/// What the destination, and the way to it, really do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Real {
    /// It recognises keys, for this many ticks after the first arrival.
    pub(crate) key: Option<u8>,
    /// A repeat while the first is running is answered "in progress"; else both run.
    pub(crate) joins_running: bool,
    /// Its lookup shows an effect, and hides a withdrawn one, this many ticks later at the latest.
    pub(crate) lag: u8,
    /// Its lookup leaves things out.
    pub(crate) partial: bool,
    /// It withdraws by key, for this many ticks after the first arrival; `None` if it always knows the key.
    pub(crate) cancel_known: Option<u8>,
    /// A cancelled key refuses later arrivals.
    pub(crate) cancel_for_good: bool,
    /// It queues work instead of doing it at once.
    pub(crate) queues: bool,
    /// It reports effects, and the end of queued work, by itself.
    pub(crate) calls_back: bool,
    /// It may answer "busy".
    pub(crate) busy: bool,
    /// Somebody else's object may be in our way.
    pub(crate) foreign: bool,
    /// Its refusals are stored under the key.
    pub(crate) stores_refusals: bool,
    /// Its errors are stored under the key, and replayed.
    pub(crate) stores_errors: bool,
    /// An answer that cannot be read shows that our key is not looked at.
    pub(crate) shows_missing: bool,
    /// Its lookup names effects otherwise than its answers do, with the other name beside it.
    pub(crate) aliases: bool,
    /// The longest way over the network, in ticks.
    pub(crate) linger: u8,
    /// Writing a request may take a tick.
    pub(crate) slow_writes: bool,
    /// The workers' clocks are a tick behind the store's.
    pub(crate) skewed: bool,
}

/// How much may go wrong, or be done by people, in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Budget {
    /// Processes that die.
    pub(crate) crashes: u8,
    /// Refusals, busy answers, ends of queued work without effect, and foreign objects in our way.
    pub(crate) refusals: u8,
    /// Answers that the contract cannot read although the effect exists, and errors.
    pub(crate) unreadable: u8,
    /// Lookups that fail.
    pub(crate) failed_lookups: u8,
    /// Records that are stored a second time.
    pub(crate) repeats: u8,
    /// Requests that a proxy delivers twice.
    pub(crate) proxied: u8,
    /// The caller's withdrawal, and the end of the authority.
    pub(crate) withdrawals: u8,
    /// The end of the authority.
    pub(crate) revocations: u8,
    /// A person's verdicts.
    pub(crate) verdicts: u8,
    /// Items that a person takes, to act by hand.
    pub(crate) hands: u8,
    /// Further looks that a person asks for.
    pub(crate) checks: u8,
    /// Corrections of the contract that read a stored answer again.
    pub(crate) corrections: u8,
    /// Restores of an older copy of the store.
    pub(crate) restores: u8,
    /// Steps of the store's clock, and corrections of it.
    pub(crate) steps: u8,
    /// Swaps of the secret for another account's, and back.
    pub(crate) swaps: u8,
    /// Effects that somebody deletes, so that no lookup shows them.
    pub(crate) deletions: u8,
    /// Submissions that are made again because their answer was lost.
    pub(crate) resubmissions: u8,
}

/// One exploration.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What it is called in reports.
    pub name: String,
    pub(crate) told: Intent,
    /// The contract as it is by now.
    pub(crate) current: Promises,
    pub(crate) real: Real,
    pub(crate) budget: Budget,
    /// The last tick.
    pub(crate) horizon: u8,
    /// How many actions there are: one, or two with the same content.
    pub(crate) actions: u8,
    /// What each of two callers submits under the same identity, at once; else the action is recorded at the start.
    pub(crate) callers: Option<[u8; 2]>,
    /// For how many ticks equal content under another identity is held off: then each of two callers has an identity of its own.
    pub(crate) twins: Option<u8>,
    /// Both act on one subject, the second on top of the first.
    pub(crate) one_subject: bool,
    /// Load and commit are two steps, so that two workers race for a mark.
    pub(crate) races: bool,
    /// The store's answer to a commit is read at some later moment.
    pub(crate) slow_store: bool,
    /// A lookup's answer may take its time; else it is there within the tick.
    pub(crate) slow_lookups: bool,
    /// Records of time are made at some later moment instead of at once.
    pub(crate) lazy: bool,
    /// The instant of storing is part of what tells worlds apart.
    pub(crate) dated: bool,
}

/// What a destination offers, in the model's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// It recognises keys; a concurrent repeat is answered "in progress", or nothing is said about it.
    Key {
        /// A concurrent repeat is answered.
        joins_running: bool,
    },
    /// A complete lookup with a stated lag.
    Lookup,
    /// Whatever exists under a key can be withdrawn.
    Cancel {
        /// Later arrivals under a cancelled key are refused.
        for_good: bool,
    },
    /// A lookup that leaves things out.
    Partial,
    /// None of these.
    Neither,
    /// Work is queued, with polls and a complete lookup.
    Queue,
}

impl Setup {
    /// The plain world of a destination that offers this.
    #[must_use]
    pub fn new(consequence: Consequence, offer: Offer) -> Self {
        let real = Real {
            key: matches!(offer, Offer::Key { .. }).then_some(FLOOR),
            joins_running: offer
                == Offer::Key {
                    joins_running: true,
                },
            lag: LAG,
            partial: offer == Offer::Partial,
            cancel_known: None,
            cancel_for_good: offer == Offer::Cancel { for_good: true },
            queues: offer == Offer::Queue,
            calls_back: false,
            busy: false,
            foreign: false,
            stores_refusals: false,
            stores_errors: false,
            shows_missing: false,
            aliases: false,
            linger: LINGER,
            slow_writes: false,
            skewed: false,
        };
        let promises = promises(consequence, offer);
        Self {
            name: format!("{} / {offer:?}", consequence.name()),
            current: promises.clone(),
            told: intent(promises),
            real,
            budget: Budget::default(),
            horizon: 5,
            actions: 1,
            callers: None,
            twins: None,
            one_subject: false,
            races: false,
            slow_store: false,
            slow_lookups: false,
            lazy: false,
            dated: false,
        }
    }

    /// What is special about it, for its name, and how it is set.
    pub(crate) fn with(mut self, what: &str, change: impl FnOnce(&mut Self)) -> Self {
        self.name = format!("{} / {what}", self.name);
        change(&mut self);
        self
    }

    /// What may go wrong.
    pub(crate) fn may(self, what: &str, spend: impl FnOnce(&mut Budget)) -> Self {
        self.with(what, |s| spend(&mut s.budget))
    }

    /// The last tick.
    pub(crate) fn until(mut self, horizon: u8) -> Self {
        self.horizon = horizon;
        self
    }

    /// How many attempts and how many cancels there may be.
    pub(crate) fn tries(mut self, attempts: u32, cancels: u32) -> Self {
        self.told.limits.attempts_max = attempts;
        self.told.limits.cancels_max = cancels;
        self
    }

    pub(crate) fn crashes(mut self, crashes: u8) -> Self {
        self.budget.crashes = crashes;
        self
    }

    /// Changes what the contract promises, pinned and current alike.
    pub(crate) fn promising(self, what: &str, change: impl Fn(&mut Promises)) -> Self {
        self.with(what, |s| {
            change(&mut s.told.promises);
            change(&mut s.current);
        })
    }

    /// For how many ticks the key is really kept, and promised to be.
    pub(crate) fn floor(mut self, floor: u8) -> Self {
        self.real.key = Some(floor);
        for promises in [&mut self.told.promises, &mut self.current] {
            if let Some(key) = &mut promises.key {
                key.retention = Retention::Floor(ticks(floor));
            }
        }
        self
    }

    /// The workers' clocks are a tick behind, and the bounds know it.
    pub(crate) fn skewed(self) -> Self {
        self.with("clocks apart", |s| {
            s.real.skewed = true;
            s.told.limits.bound.skew = ticks(1);
        })
    }

    /// Writing may take a tick, and the bounds know it.
    pub(crate) fn slow_writes(self) -> Self {
        self.with("slow writes", |s| {
            s.real.slow_writes = true;
            s.told.limits.bound.write_limit = ticks(1);
        })
    }

    /// Whether arrival and work are told apart: only where a repeat could meet the work.
    pub(crate) fn work_is_seen(&self) -> bool {
        self.real.key.is_some()
    }

    /// Whether a repeat is a further effect at all.
    pub(crate) fn is_harmless(&self) -> bool {
        self.told.promises.consequence == Consequence::Harmless
    }
}

fn intent(promises: Promises) -> Intent {
    Intent {
        action: ActionId::new(tick(0), Lane(7), 42),
        submitted_at: tick(0),
        intent_at: Some(tick(0)),
        not_before: None,
        deadline: None,
        approved_until: None,
        finish: false,
        preference: Preference::Ask,
        limits: limits(),
        promises,
    }
}

/// A microsecond is added where the core's comparison is strict, so that the last allowed tick is allowed and no more.
fn limits() -> Limits {
    let hair = Span::from_micros(1);
    Limits {
        send_wait: ticks(1) + hair,
        answer_wait: ticks(1) - Span::from_secs(5) - hair,
        bound: Bound {
            write_limit: Span::ZERO,
            linger: ticks(LINGER),
            pause_margin: ticks(PAUSE),
            skew: Span::ZERO,
        },
        backoff: Backoff {
            base: Span::ZERO,
            cap: Span::ZERO,
        },
        attempts_max: 2,
        lookups_max: 3,
        polls_max: 3,
        cancels_max: 2,
        callback_wait: ticks(2),
    }
}

fn promises(consequence: Consequence, offer: Offer) -> Promises {
    let lookup = |authority| LookupPromise {
        authority,
        lag: ticks(LAG),
        by: LookupBy::Reference,
    };
    let none = Promises {
        processing_max: ProcessingMax::Stated(ticks(PROCESSING)),
        path_is_direct: true,
        ..Promises::none(consequence)
    };
    match offer {
        Offer::Key { joins_running } => Promises {
            key: Some(KeyPromise {
                retention: Retention::Floor(ticks(FLOOR)),
                concurrent_repeat_stated: joins_running,
                stores_errors: false,
                scope_includes_credential: false,
                scope_includes_place: false,
                sets_again: false,
                wait_min: Span::ZERO,
            }),
            ..none
        },
        Offer::Lookup => Promises {
            lookup: Some(lookup(Authority::Authoritative)),
            ..none
        },
        Offer::Cancel { for_good } => Promises {
            cancel: Some(CancelPromise {
                refuses_later_arrivals: for_good,
                retention: Retention::Unbounded,
            }),
            ..none
        },
        Offer::Partial => Promises {
            lookup: Some(lookup(Authority::Partial)),
            ..none
        },
        Offer::Neither => none,
        Offer::Queue => Promises {
            completion: Some(CompletionPromise {
                poll: true,
                callback: false,
            }),
            lookup: Some(lookup(Authority::Authoritative)),
            ..none
        },
    }
}
