//! The lengths of time and the counts that are left out of a text where they are the usual ones.
//!
//! They are part of the encoding: a text of version 2 that says nothing of a limit means these, for ever, whatever the core's own
//! defaults become. So they are written down here once more, and nobody may change them.

use factum_core::bound::Bound;
use factum_core::retry::Backoff;
use factum_core::{Limits, Span};

pub(super) const BOUND: Bound = Bound {
    write_limit: Span::from_secs(10),
    linger: Span::from_secs(5),
    pause_margin: Span::from_secs(30),
    skew: Span::from_secs(2),
};

pub(super) const BACKOFF: Backoff = Backoff {
    base: Span::from_secs(1),
    cap: Span::from_secs(300),
};

pub(super) const LIMITS: Limits = Limits {
    send_wait: Span::from_secs(5),
    answer_wait: Span::from_secs(30),
    bound: BOUND,
    backoff: BACKOFF,
    attempts_max: 20,
    lookups_max: 20,
    polls_max: 200,
    cancels_max: 5,
    callback_wait: Span::from_secs(86_400),
};

/// For serde: what a member that is left out means, and whether a value is that.
macro_rules! usual {
    ($($name:ident: $type:ty = $value:expr),+ $(,)?) => {$(
        pub(super) mod $name {
            use super::*;

            pub(in crate::encoding) fn value() -> $type {
                $value
            }

            pub(in crate::encoding) fn is(it: &$type) -> bool {
                *it == $value
            }
        }
    )+};
}

usual! {
    send_wait: Span = LIMITS.send_wait,
    answer_wait: Span = LIMITS.answer_wait,
    bound: Bound = BOUND,
    backoff: Backoff = BACKOFF,
    attempts_max: u32 = LIMITS.attempts_max,
    lookups_max: u32 = LIMITS.lookups_max,
    polls_max: u32 = LIMITS.polls_max,
    cancels_max: u32 = LIMITS.cancels_max,
    callback_wait: Span = LIMITS.callback_wait,
    limits: Limits = LIMITS,
}
