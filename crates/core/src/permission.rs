//! The leave to write an effect request. Only this module builds one, and the transport needs one to write a byte (law 6).
//!
//! [`permit`] gives a [`Leave`] when the next step is due; [`Leave::mark`] turns it into the mark that has to be durable
//! first (law 1) and a [`Marked`]; [`Marked::durable`] turns that into the [`Permission`], in the process whose nonce stands
//! in the mark and nowhere else (R12). None of the three can be cloned, so a permission is handed out once.

use crate::bound::Bound;
use crate::evidence::{CancelMark, Fact, Mark, PermissionKind, RequestRef};
use crate::id::{AttemptNo, Epoch, WorkerNonce};
use crate::intent::Intent;
use crate::known::Known;
use crate::mistake::{Mistake, made};
use crate::next::{Conditions, Next, SendPlan, Step, decide};
use crate::promise::Promises;
use crate::time::{Span, Timestamp};

/// The core's reasoned leave to mark an effect request.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Leave {
    request: RequestRef,
    epoch: Epoch,
    kind: Option<PermissionKind>,
    at: Timestamp,
    not_after: Timestamp,
    valid_until: Timestamp,
    lease_until: Timestamp,
    bound: Bound,
    answer_wait: Span,
}

/// A request whose mark is on its way into the store.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Marked {
    leave: Leave,
    worker: WorkerNonce,
}

/// Leave to write one effect request, until a stated instant.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Permission {
    leave: Leave,
    worker: WorkerNonce,
}

/// The permission had run out when the first byte was about to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the permission to send ran out {late} before the first byte was written")]
pub struct Expired {
    /// By how much.
    pub late: Span,
}

/// The leave to carry out the next step now, or that next step where it needs none or is not due.
///
/// # Errors
/// The next step, if it is not a send or a cancel that is due now.
pub fn permit(intent: &Intent, known: &Known, conditions: &Conditions) -> Result<Leave, Next> {
    let next = decide(intent, known, conditions);
    if next.at > conditions.now {
        return Err(next);
    }
    let now = conditions.now;
    match next.step {
        Step::Send(plan) => Ok(leave_to_send(intent, known, now, plan)),
        Step::CancelByKey { epoch } => {
            let number = known
                .cancels
                .keys()
                .next_back()
                .map_or(1, |last| last.saturating_add(1));
            Ok(Leave {
                request: RequestRef::Cancel(number),
                epoch,
                kind: None,
                at: now,
                not_after: intent.sends_end_at(),
                valid_until: (now + intent.limits.send_wait).min(intent.sends_end_at()),
                lease_until: now + intent.limits.lease(),
                bound: intent.limits.bound,
                answer_wait: intent.limits.answer_wait,
            })
        }
        Step::LookUp | Step::Poll { .. } | Step::Wait | Step::Review(_) | Step::None => Err(next),
    }
}

fn leave_to_send(intent: &Intent, known: &Known, now: Timestamp, plan: SendPlan) -> Leave {
    let attempt = known
        .attempts
        .keys()
        .next_back()
        .map_or(AttemptNo(1), |last| last.next());
    let lease_until = now + intent.limits.lease();
    let valid_until = (now + intent.limits.send_wait)
        .min(plan.not_after)
        .min(lease_until);
    Leave {
        request: RequestRef::Attempt(attempt),
        epoch: plan.epoch,
        kind: Some(plan.kind),
        at: now,
        not_after: plan.not_after,
        valid_until,
        lease_until,
        bound: intent.limits.bound,
        answer_wait: intent.limits.answer_wait,
    }
}

impl Leave {
    /// Where it is not taken now: after this instant there is no such leave any more.
    #[must_use]
    pub fn not_after(&self) -> Timestamp {
        self.not_after
    }

    /// The same leave for a worker elsewhere, which says from time to time that it is at work: leased for this long, and for as
    /// long as the permission in any case.
    pub fn leased_for(self, lease: Span) -> Self {
        let lease_until = (self.at + lease).max(self.valid_until);
        Self {
            lease_until,
            ..self
        }
    }

    /// What it is leave for.
    #[must_use]
    pub fn request(&self) -> RequestRef {
        self.request
    }

    /// Under which version of the provider key.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// By what right an attempt is sent; a cancel by key has no kind.
    #[must_use]
    pub fn kind(&self) -> Option<PermissionKind> {
        self.kind
    }

    /// The first byte must leave before this.
    #[must_use]
    pub fn valid_until(&self) -> Timestamp {
        self.valid_until
    }

    /// The mark that has to be durable before the first byte, and what becomes the permission once it is.
    pub fn mark(self, worker: WorkerNonce) -> (Fact, Marked) {
        let fact = match (self.request, self.kind) {
            (RequestRef::Attempt(attempt), Some(permission)) => Fact::Marked(Mark {
                attempt,
                epoch: self.epoch,
                permission,
                worker,
                at: self.at,
                valid_until: self.valid_until,
                lease_until: self.lease_until,
                bound: self.bound,
            }),
            (RequestRef::Cancel(no), _) => Fact::CancelMarked(CancelMark {
                no,
                epoch: self.epoch,
                worker,
                at: self.at,
                valid_until: self.valid_until,
                lease_until: self.lease_until,
                bound: self.bound,
            }),
            (RequestRef::Attempt(_), None) => unreachable!("a leave to send always has its kind"),
        };
        (
            fact,
            Marked {
                leave: self,
                worker,
            },
        )
    }
}

impl Marked {
    /// The permission: to be called once the store has confirmed that the mark is durable, and only then.
    pub fn durable(self) -> Permission {
        Permission {
            leave: self.leave,
            worker: self.worker,
        }
    }
}

impl Permission {
    /// The check at the instant before the first byte (law 7).
    ///
    /// # Errors
    /// [`Expired`] if `now` is not before the end of the permission.
    pub fn check(&self, now: Timestamp) -> Result<(), Expired> {
        if now < self.leave.valid_until || made(Mistake::PermissionOutlivesLimit) {
            Ok(())
        } else {
            Err(Expired {
                late: now.since(self.leave.valid_until),
            })
        }
    }

    /// Which request it is for.
    #[must_use]
    pub fn request(&self) -> RequestRef {
        self.leave.request
    }

    /// Under which version of the provider key.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.leave.epoch
    }

    /// By what right an attempt is sent; a cancel by key has no kind.
    #[must_use]
    pub fn kind(&self) -> Option<PermissionKind> {
        self.leave.kind
    }

    /// The first byte must leave before this.
    #[must_use]
    pub fn valid_until(&self) -> Timestamp {
        self.leave.valid_until
    }

    /// Longest time from the first byte to the last.
    #[must_use]
    pub fn write_limit(&self) -> Span {
        self.leave.bound.write_limit
    }

    /// How long written bytes may linger; the transport sets its user time-out to it.
    #[must_use]
    pub fn linger(&self) -> Span {
        self.leave.bound.linger
    }

    /// Longest time from the last byte written to the last byte of the answer.
    #[must_use]
    pub fn answer_wait(&self) -> Span {
        self.leave.answer_wait
    }

    /// The process that may write.
    #[must_use]
    pub fn worker(&self) -> WorkerNonce {
        self.worker
    }
}

/// Whether a connection may be reused for this send: only where the answer, were it lost, could be asked for again by the
/// same key, or where a repeat is harmless. A reused connection manufactures unknowns.
#[must_use]
pub fn may_reuse_connection(
    intent: &Intent,
    known: &Known,
    current: &Promises,
    now: Timestamp,
) -> bool {
    let promises = intent.promises.stricter(current).without(known.missing());
    if promises.consequence == crate::promise::Consequence::Harmless {
        return true;
    }
    let Some(floor) = promises.key.and_then(|key| key.retention.floor()) else {
        return false;
    };
    let first = known.marks().map(|(mark, _)| mark.at).min().unwrap_or(now);
    now + intent.limits.lease().times(2) < first + floor - intent.limits.bound.margin_inside(floor)
}

/// Whether the first mark may join the submission's own commit: where, were the answer lost, the first thing to do is a
/// resend by key or an authoritative lookup, with at least ten times the attempt's limit left in the window.
#[must_use]
pub fn first_mark_may_join(intent: &Intent, current: &Promises) -> bool {
    let promises = intent.promises.stricter(current);
    let by_key = promises
        .key
        .and_then(|key| key.retention.floor())
        .is_some_and(|floor| {
            floor - intent.limits.bound.margin_inside(floor) >= intent.limits.lease().times(10)
        });
    let by_lookup = promises
        .lookup
        .is_some_and(|l| l.authority == crate::promise::Authority::Authoritative)
        && promises.processing_max.span().is_some();
    let harmless = promises.consequence == crate::promise::Consequence::Harmless;
    by_key || by_lookup || harmless
}
