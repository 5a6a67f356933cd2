//! What one run of the model explores: what the core is told, what the destination really does, how much may go wrong, and
//! which deliberate mistake is made. Time passes in ticks of ten seconds; all limits are whole ticks, set so tightly that
//! leaving out any one of them shows.

use factum_core::promise::{
    Authority, CancelPromise, CompletionPromise, Consequence, KeyPromise, LookupBy, LookupPromise,
    ProcessingMax, Promises, Retention,
};
use factum_core::retry::Backoff;
use factum_core::{Bound, Intent, Limits, Span, Timestamp};

use super::world::Stage;
use crate::kit;

/// Seconds of a tick.
const TICK: i64 = 10;
/// The pause between check and write that is guarded against, in ticks.
pub(crate) const PAUSE: u8 = 1;
/// The longest way over the network, in ticks.
pub(crate) const LINGER: u8 = 1;
/// How long a worker waits for an answer before it closes the socket, in ticks.
pub(crate) const ANSWER_WAIT: u8 = 3;
/// The longest work on a received request, in ticks.
pub(crate) const PROCESSING: u8 = 1;

/// The instant at which tick `n` begins.
pub(crate) fn tick(n: u8) -> Timestamp {
    kit::at(i64::from(n) * TICK)
}

pub(crate) fn ticks(n: u8) -> Span {
    Span::from_secs(i64::from(n) * TICK)
}

/// What the destination really does.
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
    /// A cancelled key refuses later arrivals.
    pub(crate) cancel_for_good: bool,
    /// It queues work instead of doing it at once.
    pub(crate) queues: bool,
    /// Its refusals are stored under the key.
    pub(crate) stores_refusals: bool,
}

/// How much may go wrong in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Budget {
    pub(crate) crashes: u8,
    pub(crate) refusals: u8,
    pub(crate) unreadable: u8,
    pub(crate) failed_lookups: u8,
    pub(crate) withdrawals: u8,
    pub(crate) verdicts: u8,
}

/// A plausible misreading of a rule, made by the engine around the core. Each is a row of the fine print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// R1: "the connection ended, so the request is over".
    ConnectionEndIsOver,
    /// R1: the pause between check and write is not in the bound.
    PauseLeftOut,
    /// R1: no time on the network in the bound.
    NetworkLeftOut,
    /// R1: no processing time in the bound.
    ProcessingLeftOut,
    /// R1, law 7: the permission is not checked again before the first byte.
    PermissionOutlivesLimit,
    /// A lease that ran out over a mark is taken as never sent.
    LeaseOverIsPending,
    /// A time-out is recorded as a failure to send.
    TimeoutIsFailure,
    /// R2: a lookup is dated when its answer is stored.
    DatedWhenStored,
    /// R3: the lookup's lag is left out.
    LagLeftOut,
    /// R3: a failed lookup counts as an empty one.
    FailedLookupIsAbsence,
    /// R4: a repeat runs beside the first although nothing is said about that.
    RepeatBesideTheFirst,
    /// R4: the window is taken to be longer than it is.
    WindowOver,
    /// R5: the cancel is sent without a durable mark.
    CancelUnmarked,
    /// R7: a refusal is taken to speak for earlier attempts.
    RefusalClearsEarlier,
    /// R8: the lookup that leaves things out is taken as authoritative.
    PartialIsAuthoritative,
    /// R15: "it did not happen" is taken as proof, at once.
    VerdictIsProof,
    /// The commit is not fenced by the version.
    CommitNotFenced,
    /// R5: a confirmed cancel that proves nothing is recorded as if later arrivals were refused.
    CancelTakenForGood,
}

/// One exploration.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) name: String,
    pub(crate) told: Intent,
    pub(crate) real: Real,
    pub(crate) budget: Budget,
    /// The last tick.
    pub(crate) horizon: u8,
    pub(crate) mistake: Option<Mistake>,
    /// Load and commit are two steps, so that two workers race for a mark.
    pub(crate) races: bool,
    /// A lookup's answer may take its time; else it is there within the tick.
    pub(crate) slow_lookups: bool,
    /// Records of time are made at some later moment instead of at once.
    pub(crate) lazy: bool,
}

/// What a destination offers, in the model's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    Key { joins_running: bool },
    Lookup,
    Cancel { for_good: bool },
    Partial,
    Neither,
    Queue,
}

const FLOOR: u8 = 9;
const LAG: u8 = 1;

impl Setup {
    pub(crate) fn new(consequence: Consequence, offer: Offer) -> Self {
        let real = Real {
            key: matches!(offer, Offer::Key { .. }).then_some(FLOOR),
            joins_running: offer
                == Offer::Key {
                    joins_running: true,
                },
            lag: LAG,
            partial: offer == Offer::Partial,
            cancel_for_good: offer == Offer::Cancel { for_good: true },
            queues: offer == Offer::Queue,
            stores_refusals: false,
        };
        let mut told = kit::intent(promises(consequence, offer));
        told.limits = limits();
        Self {
            name: format!("{} / {offer:?}", consequence.name()),
            told,
            real,
            budget: Budget::default(),
            horizon: 5,
            mistake: None,
            races: false,
            slow_lookups: false,
            lazy: false,
        }
    }

    /// What is special about it, for its name, and how it is set.
    pub(crate) fn with(mut self, what: &str, change: impl FnOnce(&mut Self)) -> Self {
        self.name = format!("{} / {what}", self.name);
        change(&mut self);
        self
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

    /// For how many ticks the key is really kept, and promised to be.
    pub(crate) fn floor(mut self, floor: u8) -> Self {
        self.real.key = Some(floor);
        change(&mut self.told.promises.key, |k| {
            k.retention = Retention::Floor(ticks(floor));
        });
        self
    }

    /// The same world with an engine that makes this mistake. Misread limits and promises are told to the core; the others
    /// are made where the engine records or writes.
    pub(crate) fn mistaken(mut self, mistake: Mistake) -> Self {
        self.name = format!("{} / {mistake:?}", self.name);
        self.mistake = Some(mistake);
        let (bound, promises) = (&mut self.told.limits.bound, &mut self.told.promises);
        match mistake {
            Mistake::PauseLeftOut => bound.pause_margin = Span::ZERO,
            Mistake::NetworkLeftOut => bound.linger = Span::ZERO,
            Mistake::ProcessingLeftOut => {
                promises.processing_max = ProcessingMax::Stated(Span::ZERO)
            }
            Mistake::LagLeftOut => change(&mut promises.lookup, |l| l.lag = Span::ZERO),
            Mistake::PartialIsAuthoritative => {
                change(&mut promises.lookup, |l| {
                    l.authority = Authority::Authoritative
                });
            }
            Mistake::RepeatBesideTheFirst => {
                change(&mut promises.key, |k| k.concurrent_repeat_stated = true);
            }
            Mistake::WindowOver => {
                change(&mut promises.key, |k| k.retention = Retention::Unbounded)
            }
            Mistake::CancelTakenForGood => {
                change(&mut promises.cancel, |c| c.refuses_later_arrivals = true);
            }
            Mistake::ConnectionEndIsOver
            | Mistake::PermissionOutlivesLimit
            | Mistake::LeaseOverIsPending
            | Mistake::TimeoutIsFailure
            | Mistake::DatedWhenStored
            | Mistake::FailedLookupIsAbsence
            | Mistake::CancelUnmarked
            | Mistake::RefusalClearsEarlier
            | Mistake::VerdictIsProof
            | Mistake::CommitNotFenced => {}
        }
        self
    }

    /// Where a request is that was written at `now`. Arrival and work are told apart only where a repeat could meet the work.
    pub(crate) fn sent_at(&self, now: u8, cancel: bool) -> Stage {
        if cancel || self.real.key.is_some() {
            Stage::Net {
                until: now + LINGER,
            }
        } else {
            Stage::Underway {
                until: now + LINGER + PROCESSING,
            }
        }
    }

    pub(crate) fn makes(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }
}

fn change<T>(member: &mut Option<T>, change: impl FnOnce(&mut T)) {
    change(
        member
            .as_mut()
            .expect("the mistake is about a promise that is made"),
    );
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
        callback_wait: Span::from_secs(86_400),
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
                retention: Retention::Floor(ticks(4 * FLOOR)),
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
