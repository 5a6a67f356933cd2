//! When a request can no longer take effect: the one formula (R1).
//!
//! `lands_by = valid_until + write limit + linger + processing_max + pause margin + skew`, shortened only by evidence that the
//! attempt's own worker closed the socket, or that its process is gone.

use crate::mistake::{Mistake, made};
use crate::promise::ProcessingMax;
use crate::time::{Span, Timestamp};

/// The limits that were in force when a request was marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bound {
    /// Longest time from the first byte to the last; the transport closes abortively then.
    pub write_limit: Span,
    /// Longest time that written bytes may linger in buffers and on the network.
    pub linger: Span,
    /// Longest pause of the process between the last check and the kernel's write that we guard against.
    pub pause_margin: Span,
    /// Largest difference between the clocks involved.
    pub skew: Span,
}

impl Bound {
    /// The instant after which a request can no longer take effect, or `None` if nothing bounds the destination's work.
    ///
    /// `closed_at`: when the attempt's own worker closed the socket, or its process was known to be gone.
    #[must_use]
    pub fn lands_by(
        self,
        valid_until: Timestamp,
        closed_at: Option<Timestamp>,
        processing: ProcessingMax,
    ) -> Option<Timestamp> {
        let unless = |mistake, span| if made(mistake) { Span::ZERO } else { span };
        let last_write = valid_until
            + unless(Mistake::WriteLimitLeftOut, self.write_limit)
            + unless(Mistake::PauseLeftOut, self.pause_margin);
        let last_write = closed_at.map_or(last_write, |closed| closed.min(last_write));
        if made(Mistake::ConnectionEndedIsOver) && closed_at.is_some() {
            return Some(last_write);
        }
        Some(
            last_write
                + unless(Mistake::NetworkLeftOut, self.linger)
                + unless(Mistake::ProcessingLeftOut, processing.span()?)
                + unless(Mistake::SkewLeftOut, self.skew),
        )
    }

    /// The latest instant at which a write may begin so that the request has arrived before `arrival`.
    #[must_use]
    pub fn latest_start(self, arrival: Timestamp) -> Timestamp {
        if made(Mistake::StartIsArrival) {
            return arrival;
        }
        arrival - self.write_limit - self.linger - self.skew
    }

    /// How far inside a retention window a request under these limits stays: [`window_margin`], and never less than the
    /// pause that is guarded against, since the check comes before the pause.
    #[must_use]
    pub fn margin_inside(self, window: Span) -> Span {
        if window == Span::FOREVER || made(Mistake::MarginLeftOut) {
            Span::ZERO
        } else {
            window_margin(window).max(self.pause_margin)
        }
    }
}

/// How far inside a retention window we stay: at least 30 s and 10 % of the window.
#[must_use]
pub fn window_margin(window: Span) -> Span {
    if window == Span::FOREVER {
        Span::ZERO
    } else {
        Span::from_secs(30).max(window.fraction(1, 10))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: Bound = Bound {
        write_limit: Span::from_secs(10),
        linger: Span::from_secs(3),
        pause_margin: Span::from_secs(30),
        skew: Span::from_secs(1),
    };

    #[test]
    fn the_limit_counts_from_valid_until_and_only_a_close_shortens_it() {
        let valid = Timestamp::from_micros(1_000_000_000);
        let two = ProcessingMax::Stated(Span::from_secs(2));
        assert_eq!(
            BOUND.lands_by(valid, None, two),
            Some(valid + Span::from_secs(46))
        );
        let closed = valid - Span::from_secs(4);
        assert_eq!(
            BOUND.lands_by(valid, Some(closed), two),
            Some(closed + Span::from_secs(6))
        );
        let late = valid + Span::from_secs(500);
        assert_eq!(
            BOUND.lands_by(valid, Some(late), two),
            Some(valid + Span::from_secs(46))
        );
        assert_eq!(
            BOUND.lands_by(valid, Some(closed), ProcessingMax::Unpublished),
            None
        );
    }

    #[test]
    fn the_margin_is_thirty_seconds_or_a_tenth() {
        assert_eq!(window_margin(Span::from_secs(60)), Span::from_secs(30));
        assert_eq!(
            window_margin(Span::from_secs(86_400)),
            Span::from_secs(8_640)
        );
        assert_eq!(window_margin(Span::FOREVER), Span::ZERO);
        let sleepy = Bound {
            pause_margin: Span::from_secs(45),
            ..BOUND
        };
        assert_eq!(
            sleepy.margin_inside(Span::from_secs(60)),
            Span::from_secs(45),
            "a pause that is guarded against lies inside the margin"
        );
        assert_eq!(sleepy.margin_inside(Span::FOREVER), Span::ZERO);
    }
}
