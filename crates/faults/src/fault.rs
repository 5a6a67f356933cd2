//! The faults: what each does, whether the destination acted, and what an engine may conclude at most.
//!
//! Names and parameters are the ones of the rule grammar. Nothing here carries a fault out.

use std::fmt;

/// Whether the destination acted on the request that a fault has hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Acted {
    /// Nothing happened, and nothing will.
    No,
    /// It acted before the fault set in.
    Yes,
    /// It acts after the caller has already seen the connection end.
    Later,
    /// It got the request twice; what that means depends on whether it recognises a repeat.
    Twice,
}

/// The answers that [`Fault::Status`] gives.
pub const STATUS_CODES: &[u16] = &[500, 502, 503, 504];
/// The answers that [`Fault::Redirect`] gives.
pub const REDIRECT_CODES: &[u16] = &[301, 302, 303, 307, 308];
/// The answers that [`Fault::BusyBefore`] gives.
pub const BUSY_CODES: &[u16] = &[503, 429];
/// The answers that [`Fault::Reject4xx`] gives.
pub const REJECT_CODES: &[u16] = &[422, 400, 403, 404];

/// One fault. Durations are in milliseconds, codes are HTTP status codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// No fault: the answer reaches the caller.
    None,
    /// The connection is reset right after it was accepted, before anything is read.
    Refuse,
    /// The connection is closed while the request lies unread, which the kernel answers with a reset.
    CloseUnread,
    /// The connection is accepted and held open for `ms`, nothing is read or answered, then it is reset.
    HangInAccept {
        /// How long the connection is held.
        ms: u64,
    },
    /// The whole request is read, nothing is done, the connection is closed in order.
    CloseAfterRead,
    /// A definite refusal is answered; nothing is done.
    Reject4xx {
        /// One of [`REJECT_CODES`].
        code: u16,
    },
    /// The front door says that it is busy before the request reaches the application.
    BusyBefore {
        /// One of [`BUSY_CODES`].
        code: u16,
    },
    /// Acts, then closes the connection in order without one byte of the answer.
    CloseFin,
    /// Acts, then resets the connection without one byte of the answer.
    CloseRst,
    /// Acts, sends a part of the answer's head, closes.
    CutHead,
    /// Acts, sends the answer's head and a part of its body, closes.
    CutBody,
    /// Acts, holds the complete answer back for `ms`, then sends it to whoever is still there.
    LateAnswer {
        /// How long the answer is held back.
        ms: u64,
    },
    /// Acts, answers 200 with an empty body.
    Empty2xx,
    /// Acts, answers 200 with a page that has nothing to do with the question.
    Garbage,
    /// Acts, answers a server or gateway error.
    Status {
        /// One of [`STATUS_CODES`].
        code: u16,
    },
    /// Acts, answers a redirect to another place.
    Redirect {
        /// One of [`REDIRECT_CODES`].
        code: u16,
    },
    /// Acts, answers 429 all the same.
    TooMany429,
    /// A proxy in front delivers the request twice; the caller gets the first answer.
    DuplicateDelivery,
    /// The connection is closed at once; the effect lands `ms` later ("may still land").
    DelayedCommit {
        /// How long after the close the effect lands.
        ms: u64,
    },
    /// Acts, and reports it twice, each time under the same name.
    CallbackTwice,
    /// Acts, and reports it after whatever is reported next.
    CallbackReordered,
    /// Acts; before the true report somebody else sends one that says the contrary, without the secret.
    CallbackForged,
    /// Acts, and reports it `ms` later.
    CallbackLate {
        /// How long the report is held back.
        ms: u64,
    },
    /// Acts, and never reports it.
    CallbackLost,
    /// Acts, reports it at once, and holds the answer back for `ms`.
    CallbackBeforeAnswer {
        /// How long the answer is held back.
        ms: u64,
    },
    /// Acts, reports it, and then reports the contrary.
    CallbackContradictory,
}

/// What the parameter of a fault is, for the rule grammar.
pub(crate) enum Parameter {
    Absent,
    Milliseconds,
    Code(&'static [u16]),
}

impl Fault {
    /// Every kind once, with its default parameter, in the order of the documentation.
    pub const ALL: &[Fault] = &[
        Fault::None,
        Fault::Refuse,
        Fault::CloseUnread,
        Fault::HangInAccept { ms: 1_000 },
        Fault::CloseAfterRead,
        Fault::Reject4xx { code: 422 },
        Fault::BusyBefore { code: 503 },
        Fault::CloseFin,
        Fault::CloseRst,
        Fault::CutHead,
        Fault::CutBody,
        Fault::LateAnswer { ms: 1_000 },
        Fault::Empty2xx,
        Fault::Garbage,
        Fault::Status { code: 500 },
        Fault::Redirect { code: 307 },
        Fault::TooMany429,
        Fault::DuplicateDelivery,
        Fault::DelayedCommit { ms: 500 },
        Fault::CallbackTwice,
        Fault::CallbackReordered,
        Fault::CallbackForged,
        Fault::CallbackLate { ms: 2_000 },
        Fault::CallbackLost,
        Fault::CallbackBeforeAnswer { ms: 500 },
        Fault::CallbackContradictory,
    ];

    /// The word for this kind in rules, ledgers and documents. It leaves the parameter out.
    pub fn name(self) -> &'static str {
        match self {
            Fault::None => "none",
            Fault::Refuse => "refuse",
            Fault::CloseUnread => "close_unread",
            Fault::HangInAccept { .. } => "hang_in_accept",
            Fault::CloseAfterRead => "close_after_read",
            Fault::Reject4xx { .. } => "reject_4xx",
            Fault::BusyBefore { .. } => "busy_before",
            Fault::CloseFin => "close_fin",
            Fault::CloseRst => "close_rst",
            Fault::CutHead => "cut_head",
            Fault::CutBody => "cut_body",
            Fault::LateAnswer { .. } => "late_answer",
            Fault::Empty2xx => "empty_2xx",
            Fault::Garbage => "garbage",
            Fault::Status { .. } => "status",
            Fault::Redirect { .. } => "redirect",
            Fault::TooMany429 => "too_many_429",
            Fault::DuplicateDelivery => "duplicate_delivery",
            Fault::DelayedCommit { .. } => "delayed_commit",
            Fault::CallbackTwice => "callback_twice",
            Fault::CallbackReordered => "callback_reordered",
            Fault::CallbackForged => "callback_forged",
            Fault::CallbackLate { .. } => "callback_late",
            Fault::CallbackLost => "callback_lost",
            Fault::CallbackBeforeAnswer { .. } => "callback_before_answer",
            Fault::CallbackContradictory => "callback_contradictory",
        }
    }

    /// The kind of this name with its default parameter, if there is one.
    pub fn from_name(name: &str) -> Option<Fault> {
        Fault::ALL
            .iter()
            .copied()
            .find(|fault| fault.name() == name)
    }

    /// What the fault does, in one line for documents.
    pub fn does(self) -> &'static str {
        match self {
            Fault::None => "nothing: the answer reaches the caller",
            Fault::Refuse => "resets the connection right after it was accepted",
            Fault::CloseUnread => "closes the connection while the request lies unread",
            Fault::HangInAccept { .. } => "accepts, reads nothing for a bounded time, then resets",
            Fault::CloseAfterRead => "reads the whole request, does nothing, closes",
            Fault::Reject4xx { .. } => "answers a definite refusal, does nothing",
            Fault::BusyBefore { .. } => "answers 503 or 429 at the door, before acting",
            Fault::CloseFin => "acts, closes without a byte of the answer",
            Fault::CloseRst => "acts, resets without a byte of the answer",
            Fault::CutHead => "acts, closes within the answer's head",
            Fault::CutBody => "acts, closes within the answer's body",
            Fault::LateAnswer { .. } => "acts, holds the answer back for a time",
            Fault::Empty2xx => "acts, answers 200 with an empty body",
            Fault::Garbage => "acts, answers 200 with a page of somebody else",
            Fault::Status { .. } => "acts, answers 500, 502, 503 or 504",
            Fault::Redirect { .. } => "acts, answers a redirect",
            Fault::TooMany429 => "acts, answers 429",
            Fault::DuplicateDelivery => "a proxy delivers twice; the caller gets the first answer",
            Fault::DelayedCommit { .. } => "closes at once, acts later",
            Fault::CallbackTwice => "acts, reports it twice under the same name",
            Fault::CallbackReordered => "acts, reports it after what is reported next",
            Fault::CallbackForged => {
                "acts; somebody without the secret reports the contrary before the true report"
            }
            Fault::CallbackLate { .. } => "acts, holds the report back for a time",
            Fault::CallbackLost => "acts, never reports it",
            Fault::CallbackBeforeAnswer { .. } => "acts, reports it, and answers only then",
            Fault::CallbackContradictory => "acts, reports it, and then reports the contrary",
        }
    }

    /// Whether the destination acted on the request.
    pub fn acted(self) -> Acted {
        match self {
            Fault::Refuse
            | Fault::CloseUnread
            | Fault::HangInAccept { .. }
            | Fault::CloseAfterRead
            | Fault::Reject4xx { .. }
            | Fault::BusyBefore { .. } => Acted::No,
            Fault::None
            | Fault::CloseFin
            | Fault::CloseRst
            | Fault::CutHead
            | Fault::CutBody
            | Fault::LateAnswer { .. }
            | Fault::Empty2xx
            | Fault::Garbage
            | Fault::Status { .. }
            | Fault::Redirect { .. }
            | Fault::TooMany429
            | Fault::CallbackTwice
            | Fault::CallbackReordered
            | Fault::CallbackForged
            | Fault::CallbackLate { .. }
            | Fault::CallbackLost
            | Fault::CallbackBeforeAnswer { .. }
            | Fault::CallbackContradictory => Acted::Yes,
            Fault::DuplicateDelivery => Acted::Twice,
            Fault::DelayedCommit { .. } => Acted::Later,
        }
    }

    /// Whether the destination's true answer fails to reach the caller, or reaches it late. A refusal and a busy door
    /// are true answers.
    pub fn loses_answer(self) -> bool {
        match self {
            Fault::None
            | Fault::Reject4xx { .. }
            | Fault::BusyBefore { .. }
            | Fault::DuplicateDelivery
            | Fault::CallbackTwice
            | Fault::CallbackReordered
            | Fault::CallbackForged
            | Fault::CallbackLate { .. }
            | Fault::CallbackLost
            | Fault::CallbackBeforeAnswer { .. }
            | Fault::CallbackContradictory => false,
            Fault::Refuse
            | Fault::CloseUnread
            | Fault::HangInAccept { .. }
            | Fault::CloseAfterRead
            | Fault::CloseFin
            | Fault::CloseRst
            | Fault::CutHead
            | Fault::CutBody
            | Fault::LateAnswer { .. }
            | Fault::Empty2xx
            | Fault::Garbage
            | Fault::Status { .. }
            | Fault::Redirect { .. }
            | Fault::TooMany429
            | Fault::DelayedCommit { .. } => true,
        }
    }

    /// Whether the fault is one of the report that follows an effect, and not of the request. A rule that brings such a
    /// fault is drawn for the class `callback` alone.
    pub fn is_of_callback(self) -> bool {
        matches!(
            self,
            Fault::CallbackTwice
                | Fault::CallbackReordered
                | Fault::CallbackForged
                | Fault::CallbackLate { .. }
                | Fault::CallbackLost
                | Fault::CallbackBeforeAnswer { .. }
                | Fault::CallbackContradictory
        )
    }

    /// Whether the fault sets in before a request is read. A rule that names neither method, path nor reference draws
    /// such a fault once per connection.
    pub fn precedes_reading(self) -> bool {
        matches!(
            self,
            Fault::Refuse | Fault::CloseUnread | Fault::HangInAccept { .. }
        )
    }

    /// What an engine may conclude at most from what it can see of this fault.
    pub fn may_conclude(self) -> &'static str {
        match self {
            Fault::None => "what the contract reads from the answer",
            Fault::Refuse => "not sent, if no byte of the request was written; otherwise unknown",
            Fault::CloseUnread => {
                "not sent, if no byte of the request was written; otherwise unknown, since a reset \
                 does not tell whether the request was read"
            }
            Fault::HangInAccept { .. } => {
                "unknown once a byte was written: silence does not tell whether the request was read"
            }
            Fault::CloseAfterRead => "unknown: looks the same as a close after acting",
            Fault::Reject4xx { .. } => {
                "nothing happened by this attempt, if the contract reads the answer so; of earlier \
                 attempts only if the refusal is stored under the key, or they can no longer land"
            }
            Fault::BusyBefore { .. } => {
                "nothing happened by this attempt, only if the contract says that this answer is \
                 raised before acting; otherwise unknown"
            }
            Fault::CloseFin | Fault::CloseRst => "unknown: the request was written in full",
            Fault::CutHead => "unknown: part of an answer's head carries no class",
            Fault::CutBody => {
                "unknown, unless the contract reads the class from status and header alone"
            }
            Fault::LateAnswer { .. } => {
                "unknown at the limit; the late answer is evidence whenever it arrives"
            }
            Fault::Empty2xx => "unknown: without a receipt a 2xx is not the contract's success",
            Fault::Garbage => "unknown: the body is not the contract's answer",
            Fault::Status { .. } => {
                "unknown, unless the contract says what this status proves; under a key the \
                 destination may store and replay it"
            }
            Fault::Redirect { .. } => "unknown, and nobody follows: the redirect is the answer",
            Fault::TooMany429 => {
                "unknown, unless the contract says that 429 is raised before acting (here it is not)"
            }
            Fault::DuplicateDelivery => {
                "what the answer says; a second effect is seen only by a lookup or a callback"
            }
            Fault::DelayedCommit { .. } => {
                "unknown until the attempt's lands_by has passed: an empty lookup before it proves \
                 nothing"
            }
            Fault::CallbackTwice => "one fact: a report of the same name says nothing new",
            Fault::CallbackReordered => {
                "what each report says of the object that it names; their order says nothing"
            }
            Fault::CallbackForged => "nothing from the forged one: it is refused, and kept apart",
            Fault::CallbackLate { .. } | Fault::CallbackLost => {
                "accepted, until a poll or a lookup says more: that nothing is reported is no evidence"
            }
            Fault::CallbackBeforeAnswer { .. } => {
                "what the report says, once it is matched by our mark; the answer then adds to it"
            }
            Fault::CallbackContradictory => {
                "the effect existed; the contrary is for a person, or a reversal where the contract says so"
            }
        }
    }

    /// What the parameter of this kind is.
    pub(crate) fn parameter(self) -> Parameter {
        match self {
            Fault::HangInAccept { .. }
            | Fault::LateAnswer { .. }
            | Fault::DelayedCommit { .. }
            | Fault::CallbackLate { .. }
            | Fault::CallbackBeforeAnswer { .. } => Parameter::Milliseconds,
            Fault::Reject4xx { .. } => Parameter::Code(REJECT_CODES),
            Fault::BusyBefore { .. } => Parameter::Code(BUSY_CODES),
            Fault::Status { .. } => Parameter::Code(STATUS_CODES),
            Fault::Redirect { .. } => Parameter::Code(REDIRECT_CODES),
            Fault::None
            | Fault::Refuse
            | Fault::CloseUnread
            | Fault::CloseAfterRead
            | Fault::CloseFin
            | Fault::CloseRst
            | Fault::CutHead
            | Fault::CutBody
            | Fault::Empty2xx
            | Fault::Garbage
            | Fault::TooMany429
            | Fault::DuplicateDelivery
            | Fault::CallbackTwice
            | Fault::CallbackReordered
            | Fault::CallbackForged
            | Fault::CallbackLost
            | Fault::CallbackContradictory => Parameter::Absent,
        }
    }

    /// The same kind with another duration, where it has one.
    pub(crate) fn with_ms(self, value: u64) -> Fault {
        match self {
            Fault::HangInAccept { .. } => Fault::HangInAccept { ms: value },
            Fault::LateAnswer { .. } => Fault::LateAnswer { ms: value },
            Fault::DelayedCommit { .. } => Fault::DelayedCommit { ms: value },
            Fault::CallbackLate { .. } => Fault::CallbackLate { ms: value },
            Fault::CallbackBeforeAnswer { .. } => Fault::CallbackBeforeAnswer { ms: value },
            other => other,
        }
    }

    /// The same kind with another status code, where it has one.
    pub(crate) fn with_code(self, value: u16) -> Fault {
        match self {
            Fault::Reject4xx { .. } => Fault::Reject4xx { code: value },
            Fault::BusyBefore { .. } => Fault::BusyBefore { code: value },
            Fault::Status { .. } => Fault::Status { code: value },
            Fault::Redirect { .. } => Fault::Redirect { code: value },
            other => other,
        }
    }
}

/// Writes the fault as a rule names it, with its parameter: `status=503`, `late_answer=800`, `close_fin`.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Fault::HangInAccept { ms }
            | Fault::LateAnswer { ms }
            | Fault::DelayedCommit { ms }
            | Fault::CallbackLate { ms }
            | Fault::CallbackBeforeAnswer { ms } => {
                write!(f, "{}={ms}", self.name())
            }
            Fault::Reject4xx { code }
            | Fault::BusyBefore { code }
            | Fault::Status { code }
            | Fault::Redirect { code } => write!(f, "{}={code}", self.name()),
            _ => f.write_str(self.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_lead_back_to_their_kind() {
        let names: BTreeSet<_> = Fault::ALL.iter().map(|fault| fault.name()).collect();
        assert_eq!(names.len(), Fault::ALL.len());
        for fault in Fault::ALL {
            assert_eq!(Fault::from_name(fault.name()), Some(*fault));
            let acts = fault.does().contains("acts");
            assert_eq!(
                acts,
                !matches!(fault.acted(), Acted::No | Acted::Twice) && *fault != Fault::None
            );
        }
        assert_eq!(Fault::from_name("close"), None);
    }

    #[test]
    fn what_precedes_reading_never_acts() {
        for fault in Fault::ALL.iter().filter(|fault| fault.precedes_reading()) {
            assert_eq!(fault.acted(), Acted::No, "{fault}");
            assert!(fault.loses_answer(), "{fault}");
        }
    }
}
