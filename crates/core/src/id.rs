//! Names of things. Event, proposal, action, attempt and trace are five types that cannot be mixed up.
//!
//! Nothing here makes randomness or reads a clock: whoever makes an id hands both in.

use std::fmt;
use std::str::FromStr;

use crate::time::Timestamp;

/// The unit of claiming, sharding and worker affinity: the first byte of the identity hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane(pub u8);

/// One intended effect. `act_` and 26 characters of Crockford base32 over a UUIDv7 that carries the [`Lane`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActionId(u128);

/// One proposal. `pro_` and 26 characters like those of an [`ActionId`]; its [`Lane`] is that of the action that an approval of
/// it makes, so that both are written in one transaction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProposalId(u128);

/// The number of an attempt within its action, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptNo(pub u32);

/// One try at producing an action's effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptId {
    /// The action that it tries to carry out.
    pub action: ActionId,
    /// Its number there.
    pub no: AttemptNo,
}

/// An incoming occurrence, named as in CloudEvents. Delivered twice, it is one event.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId {
    /// Who reports it.
    pub source: String,
    /// Its name there.
    pub id: String,
}

/// Specific content under consideration, named by the digest of what would be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProposalDigest(pub [u8; 32]);

/// W3C trace context (`traceparent`). It correlates and never identifies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceContext(String);

/// The version of an action's provider key. A new one begins only after proof that nothing exists under the old one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u32);

/// The name of one record of evidence, unique within its action. It names, it does not order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EvidenceId(pub u64);

/// One process instance. A permission is good only in the process whose nonce stands in the mark (R12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerNonce(pub u64);

impl WorkerNonce {
    const ELSEWHERE: u64 = 1 << 63;

    /// Of one of the processes that hold the store, from random bits.
    #[must_use]
    pub fn here(random: u64) -> Self {
        Self(random & !Self::ELSEWHERE)
    }

    /// Of one claim by a worker that carries an action out in its own code, from random bits.
    #[must_use]
    pub fn elsewhere(random: u64) -> Self {
        Self(random | Self::ELSEWHERE)
    }

    /// Whether it is a worker's elsewhere: that a process here has died says nothing about it.
    #[must_use]
    pub fn is_elsewhere(self) -> bool {
        self.0 & Self::ELSEWHERE != 0
    }
}

/// Why a text is not the id that it was read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadId {
    /// Not `act_` and 26 characters.
    #[error("an action id is `act_` followed by 26 characters, as in the answer to the submission")]
    Action,
    /// Not `pro_` and 26 characters.
    #[error("a proposal id is `pro_` followed by 26 characters, as in the answer to the proposal")]
    Proposal,
    /// Not the W3C form.
    #[error(
        "a trace is a W3C traceparent: `00-`, 32 hex digits, `-`, 16 hex digits, `-`, 2 hex digits"
    )]
    Trace,
}

const CROCKFORD: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// A UUIDv7 of `at` (millisecond precision), `lane` and 64 random bits.
fn with_lane(at: Timestamp, lane: Lane, random: u64) -> u128 {
    let millis = u128::try_from(at.as_micros().max(0) / 1_000).unwrap_or(0) & 0xffff_ffff_ffff;
    let random = u128::from(random);
    let rand_a = (random >> 52) & 0xfff;
    let variant_and_six = 0x80 | ((random >> 48) & 0x3f);
    let tail = random & 0xffff_ffff_ffff;
    millis << 80
        | 0x7 << 76
        | rand_a << 64
        | variant_and_six << 56
        | u128::from(lane.0) << 48
        | tail
}

fn lane_of(id: u128) -> Lane {
    Lane(id.to_be_bytes()[9])
}

fn write_id(f: &mut fmt::Formatter<'_>, prefix: &str, id: u128) -> fmt::Result {
    f.write_str(prefix)?;
    (0..26u32).rev().try_for_each(|place| {
        let digit = usize::try_from((id >> (place * 5)) & 31).unwrap_or(0);
        write!(f, "{}", char::from(CROCKFORD[digit]))
    })
}

fn read_id(prefix: &str, text: &str) -> Option<u128> {
    let digits = text.strip_prefix(prefix)?;
    if digits.len() != 26 || digits.as_bytes()[0] > b'7' {
        return None;
    }
    digits.bytes().try_fold(0u128, |value, byte| {
        let digit = CROCKFORD
            .iter()
            .position(|c| *c == byte.to_ascii_lowercase())?;
        Some(value << 5 | u128::try_from(digit).ok()?)
    })
}

impl ActionId {
    /// A UUIDv7 of `at` (millisecond precision), `lane` and 64 random bits.
    #[must_use]
    pub fn new(at: Timestamp, lane: Lane, random: u64) -> Self {
        Self(with_lane(at, lane, random))
    }

    /// The lane that it belongs to.
    #[must_use]
    pub fn lane(self) -> Lane {
        lane_of(self.0)
    }

    /// The lowest value of an id that was made in the same millisecond: ids of one millisecond have no order among them.
    #[must_use]
    pub fn first_of_its_millisecond(self) -> Self {
        Self(self.0 >> 80 << 80)
    }

    /// When it was made, to the millisecond.
    #[must_use]
    pub fn made_at(self) -> Timestamp {
        Timestamp::from_micros(
            i64::try_from(self.0 >> 80)
                .unwrap_or(0)
                .saturating_mul(1_000),
        )
    }

    /// As stored: 16 bytes, big-endian.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// From its stored form.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(bytes))
    }
}

impl fmt::Display for ActionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_id(f, "act_", self.0)
    }
}

impl fmt::Debug for ActionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for ActionId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        read_id("act_", text).map(Self).ok_or(BadId::Action)
    }
}

impl ProposalId {
    /// A UUIDv7 of `at` (millisecond precision), `lane` and 64 random bits.
    #[must_use]
    pub fn new(at: Timestamp, lane: Lane, random: u64) -> Self {
        Self(with_lane(at, lane, random))
    }

    /// The lane that it belongs to.
    #[must_use]
    pub fn lane(self) -> Lane {
        lane_of(self.0)
    }
}

impl fmt::Display for ProposalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_id(f, "pro_", self.0)
    }
}

impl fmt::Debug for ProposalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for ProposalId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        read_id("pro_", text).map(Self).ok_or(BadId::Proposal)
    }
}

impl TraceContext {
    /// Reads a `traceparent` header.
    ///
    /// # Errors
    /// [`BadId::Trace`] if it is not version 00 of the W3C form.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        let parts: Vec<&str> = text.split('-').collect();
        let hex = |part: &str, len: usize| {
            part.len() == len
                && part
                    .bytes()
                    .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        };
        match parts[..] {
            ["00", trace, span, flags] if hex(trace, 32) && hex(span, 16) && hex(flags, 2) => {
                Ok(Self(text.to_owned()))
            }
            _ => Err(BadId::Trace),
        }
    }

    /// The header's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AttemptNo {
    /// The one after it.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl Epoch {
    /// The one after it.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for AttemptNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_id_reads_back_and_keeps_lane_and_time() {
        for (lane, random) in [
            (0, 0),
            (7, 1),
            (255, u64::MAX),
            (128, 0x0123_4567_89ab_cdef),
        ] {
            let at = Timestamp::from_micros(1_764_400_000_123_000);
            let id = ActionId::new(at, Lane(lane), random);
            let text = id.to_string();
            assert_eq!(text.len(), 30);
            assert_eq!(text.parse(), Ok(id));
            assert_eq!(text.to_uppercase().replace("ACT_", "act_").parse(), Ok(id));
            assert_eq!((id.lane(), id.made_at()), (Lane(lane), at));
            assert_eq!(id.to_bytes()[6] >> 4, 7, "version nibble of a UUIDv7");
            assert_eq!(id.to_bytes()[8] >> 6, 2, "variant bits of RFC 9562");
        }
    }

    #[test]
    fn other_texts_are_no_action_ids() {
        for text in [
            "",
            "act_",
            "act_0123",
            "act_8zzzzzzzzzzzzzzzzzzzzzzzzz",
            "act_0000000000000000000000000u",
            "x",
        ] {
            assert_eq!(text.parse::<ActionId>(), Err(BadId::Action), "{text}");
        }
    }

    #[test]
    fn a_proposals_id_is_no_actions_id_and_tells_its_lane() {
        let at = Timestamp::from_micros(1_764_400_000_123_000);
        let id = ProposalId::new(at, Lane(9), 7);
        let text = id.to_string();
        assert_eq!((text.parse(), id.lane()), (Ok(id), Lane(9)));
        assert_eq!(text.parse::<ActionId>(), Err(BadId::Action));
        let action = ActionId::new(at, Lane(9), 7).to_string();
        assert_eq!(action.parse::<ProposalId>(), Err(BadId::Proposal));
    }

    #[test]
    fn a_trace_is_the_w3c_form_only() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(
            TraceContext::parse(good)
                .map(|t| t.as_str().to_owned())
                .as_deref(),
            Ok(good)
        );
        for bad in [
            "",
            "00-1-2-3",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            &good.to_uppercase(),
        ] {
            assert_eq!(TraceContext::parse(bad), Err(BadId::Trace), "{bad}");
        }
    }
}
