//! Actions, facts and a clock for tests of stores.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use factum_core::evidence::{
    Answer, AnswerClass, Callback, Capture, Loss, Mark, PermissionKind, Phase, Receipt,
};
use factum_core::{AttemptNo, Epoch, Fact, Limits, Span, Timestamp, WorkerNonce};
use factum_store::{Clock, Name, Reading, Report, ReportId, Site};

pub(crate) use crate::actions::{START, action, admission, next, submission};

/// A worker of this process.
pub(crate) const WORKER: WorkerNonce = WorkerNonce(0xfeed_0000_0000_0001);

/// A minute.
pub(crate) const MINUTE: Span = Span::from_secs(60);

/// A wall clock that stands still until a test moves it.
#[derive(Clone)]
pub(crate) struct TestClock(Arc<AtomicI64>);

impl TestClock {
    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicI64::new(START.as_micros())))
    }

    pub(crate) fn clock(&self) -> Clock {
        let reading = Arc::clone(&self.0);
        Arc::new(move || Timestamp::from_micros(reading.load(Ordering::Acquire)))
    }

    pub(crate) fn pass(&self, span: Span) {
        self.0.fetch_add(span.as_micros(), Ordering::AcqRel);
    }

    pub(crate) fn step_back(&self, span: Span) {
        self.0.fetch_sub(span.as_micros(), Ordering::AcqRel);
    }
}

/// "Attempt n may now write", by [`WORKER`].
pub(crate) fn mark(n: u32, at: Timestamp) -> Fact {
    Fact::Marked(Mark {
        attempt: AttemptNo(n),
        epoch: Epoch(0),
        permission: PermissionKind::First,
        worker: WORKER,
        at,
        valid_until: at + Span::from_secs(5),
        lease_until: at + Span::from_secs(50),
        bound: Limits::default().bound,
    })
}

/// Attempt n was answered as this class, with a receipt if it is done.
pub(crate) fn answered(n: u32, class: AnswerClass) -> Fact {
    Fact::Answered(Answer {
        attempt: AttemptNo(n),
        read_at: START,
        receipt: (class == AnswerClass::Done).then(|| Receipt::new("T-4711")),
        class,
        replayed: false,
        retry_after: None,
        capture: Capture {
            status: 201,
            body: br#"{"id":4711}"#.to_vec(),
            truncated: false,
        },
    })
}

/// Attempt n ended without an answer.
pub(crate) fn lost(n: u32) -> Fact {
    Fact::Lost(Loss {
        attempt: AttemptNo(n),
        phase: Phase::Head,
        wrote: 412,
        read: 0,
        closed_at: None,
        detail: "connection reset".to_owned(),
    })
}

/// Attempt n was refused for good.
pub(crate) fn refused(n: u32) -> Fact {
    answered(
        n,
        AnswerClass::Rejected {
            stored: true,
            why: "no such brand".to_owned(),
        },
    )
}

/// The n-th report of the helpdesk, about whatever these names find.
pub(crate) fn report(n: u8, names: Vec<Name>, callback: Callback) -> Report {
    Report {
        id: ReportId([n; 16]),
        site: Site {
            tenant: "default".to_owned(),
            destination: "helpdesk".to_owned(),
        },
        readings: vec![Reading {
            operation: "ticket.create".to_owned(),
            names,
            callback,
        }],
        body: br#"{"event":"ticket"}"#.to_vec(),
    }
}

/// The destination reports that it undid the effect.
pub(crate) fn reversed() -> Callback {
    Callback::Reversed {
        why: "returned".to_owned(),
    }
}

/// The seals of every store in these tests.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) fn seals() -> factum_store::seal::Seals {
    let keys = std::collections::BTreeMap::from([(1, [9; 32])]);
    factum_store::seal::Seals::of(factum_store::seal::Ring::new(keys))
}
