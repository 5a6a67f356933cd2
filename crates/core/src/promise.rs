//! What a destination promises about an operation, as far as decisions rest on it. Read from contracts elsewhere; here it is plain data.
//!
//! What a contract does not state is *not promised*: every field's "nothing" is the careful value.

use crate::mistake::{Mistake, made};
use crate::time::Span;

/// How bad a duplicate or a missing effect is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Consequence {
    /// A repeat has no further effect.
    Harmless,
    /// A duplicate can be undone cheaply.
    Reversible,
    /// A duplicate costs money, trust or work.
    Costly,
    /// A duplicate cannot be undone at all.
    Irreversible,
}

/// For how long a destination recognises a key. Only a floor carries a permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Retention {
    /// At least this long after the first request.
    Floor(Span),
    /// An operator's assumption of a floor, with name and reason in the configuration.
    AssumedFloor(Span),
    /// Kept for ever.
    Unbounded,
    /// About this long; best effort, so it carries nothing.
    Approximate(Span),
    /// Not published.
    Unpublished,
}

impl Retention {
    /// The span that may be relied on, if any.
    #[must_use]
    pub fn floor(self) -> Option<Span> {
        match self {
            Self::Floor(span) | Self::AssumedFloor(span) => Some(span),
            Self::Unbounded => Some(Span::FOREVER),
            Self::Approximate(span) if made(Mistake::ApproximateIsFloor) => Some(span),
            Self::Approximate(_) | Self::Unpublished => None,
        }
    }
}

/// The destination recognises our key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyPromise {
    /// For how long.
    pub retention: Retention,
    /// The contract says what a repeat gets while the first is still running (R4).
    pub concurrent_repeat_stated: bool,
    /// An answer that is no success and no refusal (a 500) may be a stored one, or spends the key: a repeat brings nothing new
    /// (R19). Not where the destination marks what it replays: then the mark tells.
    pub stores_errors: bool,
    /// The key is known per credential: another credential is another key space (R13).
    pub scope_includes_credential: bool,
    /// The key is known per host, region, zone or environment: another base address is another key space (R13).
    pub scope_includes_place: bool,
    /// A repeat sets what the key names once more: over newer work on the same subject it would undo that (R14).
    pub sets_again: bool,
    /// Between two requests under the key at the least; zero where nothing is wanted.
    pub wait_min: Span,
}

/// How far a lookup may be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Authority {
    /// Complete (queued, closed and archived work included) and, after its lag, current.
    Authoritative,
    /// It lags by no stated bound, or leaves things out: a hit counts, absence does not.
    Partial,
}

/// By what a lookup asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LookupBy {
    /// By the reference that we write into the destination, which carries no epoch.
    Reference,
    /// By the provider key of the current epoch.
    Key,
}

/// The destination can be asked whether the effect exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LookupPromise {
    /// What an answer is worth.
    pub authority: Authority,
    /// By when after landing an effect is shown at the latest; zero where reads are strong.
    pub lag: Span,
    /// What is asked for.
    pub by: LookupBy,
}

/// The destination can withdraw whatever exists under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CancelPromise {
    /// After a confirmed cancel, later arrivals under the key are refused.
    pub refuses_later_arrivals: bool,
    /// For how long the destination knows the key that is to be cancelled.
    pub retention: Retention,
}

/// How the completion of queued work becomes known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CompletionPromise {
    /// It can be asked for.
    pub poll: bool,
    /// The destination calls back.
    pub callback: bool,
}

/// How long the destination may work on a request that it has received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProcessingMax {
    /// At most this long, as published.
    Stated(Span),
    /// At most this long, as an operator assumes, with name and reason in the configuration.
    Assumed(Span),
    /// Not published: nothing ever proves that a lost request can no longer land.
    Unpublished,
}

impl ProcessingMax {
    /// The span, if there is one.
    #[must_use]
    pub fn span(self) -> Option<Span> {
        match self {
            Self::Stated(span) | Self::Assumed(span) => Some(span),
            Self::Unpublished if made(Mistake::UnboundedWorkIsOver) => Some(Span::ZERO),
            Self::Unpublished => None,
        }
    }
}

/// What an answer has shown to be missing of what was promised: only ever weaker (R27).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Missing {
    /// Our key is not looked at: nothing rests on it, neither a repeat nor a cancel nor a lookup by it.
    pub key: bool,
    /// Our mark was not kept: not finding it says nothing.
    pub mark: bool,
}

impl Missing {
    /// Whether anything is.
    #[must_use]
    pub fn any(self) -> bool {
        self.key || self.mark
    }

    /// What either of two answers has shown.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            key: self.key || other.key,
            mark: self.mark || other.mark,
        }
    }
}

/// Everything that decisions rest on for one operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Promises {
    /// How bad a duplicate or a missing effect is.
    pub consequence: Consequence,
    /// Our key is recognised.
    pub key: Option<KeyPromise>,
    /// The effect can be looked up.
    pub lookup: Option<LookupPromise>,
    /// Whatever exists under the key can be withdrawn.
    pub cancel: Option<CancelPromise>,
    /// Work may be queued, and this is how its end becomes known.
    pub completion: Option<CompletionPromise>,
    /// How long a received request may still be worked on; where a lookup does not see queued work, in the queue too (R8).
    pub processing_max: ProcessingMax,
    /// Nothing between us and the destination repeats requests (R7).
    pub path_is_direct: bool,
    /// The destination checks a condition, so that a late repeat cannot undo newer work (R14).
    pub condition_checked: bool,
}

impl Promises {
    /// An operation about which nothing is promised.
    #[must_use]
    pub fn none(consequence: Consequence) -> Self {
        Self {
            consequence,
            key: None,
            lookup: None,
            cancel: None,
            completion: None,
            processing_max: ProcessingMax::Unpublished,
            path_is_direct: false,
            condition_checked: false,
        }
    }

    /// What is left of them once this has turned out to be missing.
    #[must_use]
    pub fn without(self, missing: Missing) -> Self {
        if made(Mistake::MissingIgnored) {
            return self;
        }
        let doubted =
            |lookup: &LookupPromise| missing.mark || (missing.key && lookup.by == LookupBy::Key);
        Self {
            key: self.key.filter(|_| !missing.key),
            cancel: self.cancel.filter(|_| !missing.key),
            lookup: self.lookup.map(|lookup| LookupPromise {
                authority: if doubted(&lookup) {
                    Authority::Partial
                } else {
                    lookup.authority
                },
                ..lookup
            }),
            ..self
        }
    }

    /// The stricter of the pinned and the current contract, member by member: what permissions rest on.
    #[must_use]
    pub fn stricter(&self, other: &Self) -> Self {
        if made(Mistake::PinnedAlone) {
            return self.clone();
        }
        Self {
            consequence: self.consequence.max(other.consequence),
            key: both(self.key, other.key, stricter_key),
            lookup: both(self.lookup, other.lookup, stricter_lookup)
                .filter(|_| same_lookup(self, other)),
            cancel: both(self.cancel, other.cancel, stricter_cancel),
            completion: both(self.completion, other.completion, |a, b| {
                CompletionPromise {
                    poll: a.poll && b.poll,
                    callback: a.callback && b.callback,
                }
            }),
            processing_max: stricter_processing(self.processing_max, other.processing_max),
            path_is_direct: self.path_is_direct && other.path_is_direct,
            condition_checked: self.condition_checked && other.condition_checked,
        }
    }
}

fn both<T>(a: Option<T>, b: Option<T>, stricter: impl Fn(T, T) -> T) -> Option<T> {
    a.zip(b).map(|(a, b)| stricter(a, b))
}

fn same_lookup(a: &Promises, b: &Promises) -> bool {
    a.lookup.map(|l| l.by) == b.lookup.map(|l| l.by)
}

fn stricter_key(a: KeyPromise, b: KeyPromise) -> KeyPromise {
    KeyPromise {
        retention: shorter(a.retention, b.retention),
        concurrent_repeat_stated: a.concurrent_repeat_stated && b.concurrent_repeat_stated,
        stores_errors: a.stores_errors || b.stores_errors,
        scope_includes_credential: a.scope_includes_credential || b.scope_includes_credential,
        scope_includes_place: a.scope_includes_place || b.scope_includes_place,
        sets_again: a.sets_again || b.sets_again,
        wait_min: a.wait_min.max(b.wait_min),
    }
}

fn stricter_lookup(a: LookupPromise, b: LookupPromise) -> LookupPromise {
    LookupPromise {
        authority: a.authority.max(b.authority),
        lag: a.lag.max(b.lag),
        by: a.by,
    }
}

fn stricter_cancel(a: CancelPromise, b: CancelPromise) -> CancelPromise {
    CancelPromise {
        refuses_later_arrivals: a.refuses_later_arrivals && b.refuses_later_arrivals,
        retention: shorter(a.retention, b.retention),
    }
}

fn shorter(a: Retention, b: Retention) -> Retention {
    match (a.floor(), b.floor()) {
        (Some(x), Some(y)) => {
            if x <= y {
                a
            } else {
                b
            }
        }
        (None, _) => a,
        (Some(_), None) => b,
    }
}

fn stricter_processing(a: ProcessingMax, b: ProcessingMax) -> ProcessingMax {
    match (a.span(), b.span()) {
        (Some(x), Some(y)) => {
            if x >= y {
                a
            } else {
                b
            }
        }
        (None, _) => a,
        (Some(_), None) => b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyed(retention: Retention) -> Promises {
        Promises {
            key: Some(KeyPromise {
                retention,
                concurrent_repeat_stated: true,
                stores_errors: false,
                scope_includes_credential: false,
                scope_includes_place: false,
                sets_again: false,
                wait_min: Span::ZERO,
            }),
            processing_max: ProcessingMax::Stated(Span::from_secs(2)),
            ..Promises::none(Consequence::Costly)
        }
    }

    #[test]
    fn the_stricter_contract_counts_member_by_member() {
        let day = keyed(Retention::Floor(Span::from_secs(86_400)));
        let two_hours = Promises {
            consequence: Consequence::Irreversible,
            processing_max: ProcessingMax::Assumed(Span::from_secs(9)),
            ..keyed(Retention::Floor(Span::from_secs(7_200)))
        };
        let both = day.stricter(&two_hours);
        assert_eq!(both, two_hours.stricter(&day));
        assert_eq!(
            both.key.and_then(|k| k.retention.floor()),
            Some(Span::from_secs(7_200))
        );
        assert_eq!(both.consequence, Consequence::Irreversible);
        assert_eq!(both.processing_max.span(), Some(Span::from_secs(9)));
        let unpublished = day.stricter(&keyed(Retention::Unpublished));
        assert_eq!(unpublished.key.and_then(|k| k.retention.floor()), None);
        assert_eq!(
            day.stricter(&Promises::none(Consequence::Harmless)).key,
            None,
            "what one does not state is not promised"
        );
    }
}
