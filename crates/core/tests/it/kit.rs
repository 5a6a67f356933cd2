//! A story: one action, its log, a clock that a test sets, and shorthands for what can be recorded. It never skips the core:
//! a send goes through `permit`, the mark, and only then counts as sent.

use factum_core::evidence::{
    Answer, AnswerClass, CancelAnswer, Capture, Evidence, Fact, Lookup, LookupAnswer, Loss, Mark,
    Phase, Receipt, Ruling, Verdict,
};
use factum_core::promise::{
    Authority, CancelPromise, Consequence, KeyPromise, LookupBy, LookupPromise, ProcessingMax,
    Promises, Retention,
};
use factum_core::retry::Backoff;
use factum_core::{
    ActionId, AttemptNo, Bound, Conditions, Epoch, EvidenceId, Intent, Known, Lane, Limits, Next,
    Preference, Span, State, Status, Step, Timestamp, WorkerNonce, decide, due_fact, permit,
};

/// The instant `secs` after the submission; before it, if negative.
pub(crate) fn at(secs: i64) -> Timestamp {
    Timestamp::from_micros(1_000_000_000_000 + secs * 1_000_000)
}

pub(crate) fn secs(secs: i64) -> Span {
    Span::from_secs(secs)
}

/// `lands_by` lies this many seconds after the mark under the limits of [`intent`] and a processing time of 10 s.
pub(crate) const LANDS_AFTER: i64 = 5 + 10 + 5 + 10 + 30 + 2;
/// The lease of a mark under the limits of [`intent`].
pub(crate) const LEASE: i64 = 5 + 10 + 30 + 5;

pub(crate) fn intent(promises: Promises) -> Intent {
    Intent {
        action: ActionId::new(at(0), Lane(7), 42),
        submitted_at: at(0),
        intent_at: None,
        not_before: None,
        deadline: None,
        approved_until: None,
        finish: false,
        preference: Preference::Ask,
        limits: Limits {
            send_wait: secs(5),
            answer_wait: secs(30),
            bound: Bound {
                write_limit: secs(10),
                linger: secs(5),
                pause_margin: secs(30),
                skew: secs(2),
            },
            // No delays: what is due is due at once, so that instants in the tests come from the rules alone.
            backoff: Backoff {
                base: Span::ZERO,
                cap: Span::ZERO,
            },
            attempts_max: 4,
            lookups_max: 6,
            polls_max: 3,
            cancels_max: 3,
            callback_wait: Span::from_secs(3_600),
        },
        promises,
    }
}

/// Nothing is promised but a direct path and 10 s of processing.
pub(crate) fn bare(consequence: Consequence) -> Promises {
    Promises {
        processing_max: ProcessingMax::Stated(secs(10)),
        path_is_direct: true,
        ..Promises::none(consequence)
    }
}

pub(crate) fn key(floor: Span) -> KeyPromise {
    KeyPromise {
        retention: Retention::Floor(floor),
        concurrent_repeat_stated: true,
        stores_errors: false,
        scope_includes_credential: false,
        scope_includes_place: false,
        sets_again: false,
        wait_min: Span::ZERO,
    }
}

/// A key of one day.
pub(crate) fn keyed(consequence: Consequence) -> Promises {
    Promises {
        key: Some(key(secs(86_400))),
        ..bare(consequence)
    }
}

pub(crate) fn lookup(authority: Authority, lag: i64) -> LookupPromise {
    LookupPromise {
        authority,
        lag: secs(lag),
        by: LookupBy::Reference,
    }
}

/// An authoritative lookup by reference that lags by 20 s.
pub(crate) fn lookable(consequence: Consequence) -> Promises {
    Promises {
        lookup: Some(lookup(Authority::Authoritative, 20)),
        ..bare(consequence)
    }
}

/// A cancel by key, known for a day, that refuses later arrivals or does not.
pub(crate) fn cancelable(consequence: Consequence, refuses_later_arrivals: bool) -> Promises {
    Promises {
        cancel: Some(CancelPromise {
            refuses_later_arrivals,
            retention: Retention::Floor(secs(86_400)),
        }),
        ..bare(consequence)
    }
}

/// One action, its log, and the conditions that a test sets.
#[derive(Clone, Debug)]
pub(crate) struct Story {
    pub(crate) intent: Intent,
    pub(crate) log: Vec<Evidence>,
    pub(crate) now: Timestamp,
    pub(crate) current: Promises,
    pub(crate) restore_released: bool,
    pub(crate) clock_in_doubt: bool,
    pub(crate) account_in_doubt: bool,
    pub(crate) place_changed: bool,
    pub(crate) credential_changed: bool,
    pub(crate) subject_overtaken: bool,
}

impl Story {
    pub(crate) fn new(promises: Promises) -> Self {
        Self::of(intent(promises))
    }

    pub(crate) fn of(intent: Intent) -> Self {
        Self {
            current: intent.promises.clone(),
            intent,
            log: Vec::new(),
            now: at(0),
            restore_released: true,
            clock_in_doubt: false,
            account_in_doubt: false,
            place_changed: false,
            credential_changed: false,
            subject_overtaken: false,
        }
    }

    pub(crate) fn at(&mut self, secs: i64) -> &mut Self {
        self.now = at(secs);
        self
    }

    pub(crate) fn known(&self) -> Known {
        Known::fold(&self.log)
    }

    pub(crate) fn conditions(&self) -> Conditions<'_> {
        Conditions {
            now: self.now,
            current: &self.current,
            restore_released: self.restore_released,
            clock_in_doubt: self.clock_in_doubt,
            account_in_doubt: self.account_in_doubt,
            place_changed: self.place_changed,
            credential_changed: self.credential_changed,
            subject_overtaken: self.subject_overtaken,
        }
    }

    pub(crate) fn status(&self) -> Status {
        self.known().status(&self.intent)
    }

    pub(crate) fn state(&self) -> State {
        self.status().state
    }

    pub(crate) fn next(&self) -> Next {
        decide(&self.intent, &self.known(), &self.conditions())
    }

    pub(crate) fn due(&self) -> Option<Fact> {
        due_fact(&self.intent, &self.known(), &self.conditions())
    }

    /// The kind of permission that would be given now, by the design's word, or the step that stands instead.
    pub(crate) fn leave(&self) -> &'static str {
        match permit(&self.intent, &self.known(), &self.conditions()) {
            Ok(leave) => match leave.mark(WorkerNonce(1)).0 {
                Fact::Marked(mark) => mark.permission.name(),
                _ => "cancel",
            },
            Err(next) => match next.step {
                Step::Send(_) => "send later",
                other => other.name(),
            },
        }
    }

    pub(crate) fn record(&mut self, fact: Fact) -> EvidenceId {
        let id = self.known().next_id();
        self.log.push(Evidence {
            id,
            at: self.now,
            fact,
        });
        id
    }

    /// Records whatever the passing of time calls for, until nothing does.
    pub(crate) fn settle_due(&mut self) -> &mut Self {
        for _ in 0..8 {
            match self.due() {
                Some(fact) => self.record(fact),
                None => return self,
            };
        }
        panic!("records of time never come to rest: {:?}", self.due());
    }

    /// Marks an attempt by worker 1; it must be allowed.
    pub(crate) fn send(&mut self) -> Mark {
        let leave = permit(&self.intent, &self.known(), &self.conditions());
        let (fact, _) = leave.expect("a send is due").mark(WorkerNonce(1));
        let Fact::Marked(mark) = fact.clone() else {
            panic!("not a send: {fact:?}")
        };
        self.record(fact);
        mark
    }

    /// Marks a cancel by key; it must be due. Gives its number.
    pub(crate) fn send_cancel(&mut self) -> u32 {
        let leave = permit(&self.intent, &self.known(), &self.conditions());
        let (fact, _) = leave.expect("a cancel is due").mark(WorkerNonce(1));
        let Fact::CancelMarked(mark) = fact.clone() else {
            panic!("not a cancel: {fact:?}")
        };
        self.record(fact);
        mark.no
    }

    /// The answer was lost after some bytes were written; the socket was closed now.
    pub(crate) fn lose(&mut self, attempt: u32) -> EvidenceId {
        let closed_at = Some(self.now);
        self.record(Fact::Lost(Loss {
            attempt: AttemptNo(attempt),
            phase: Phase::Head,
            wrote: 412,
            read: 0,
            closed_at,
            detail: "connection reset".to_owned(),
        }))
    }

    pub(crate) fn not_sent(&mut self, attempt: u32) -> EvidenceId {
        self.record(Fact::NotSent {
            attempt: AttemptNo(attempt),
            phase: Phase::Connect,
            detail: "refused".to_owned(),
        })
    }

    pub(crate) fn answer(&mut self, attempt: u32, class: AnswerClass) -> EvidenceId {
        self.answer_with(attempt, class, None)
    }

    pub(crate) fn answer_with(
        &mut self,
        attempt: u32,
        class: AnswerClass,
        receipt: Option<&str>,
    ) -> EvidenceId {
        let read_at = self.now;
        self.record(Fact::Answered(Answer {
            attempt: AttemptNo(attempt),
            read_at,
            class,
            receipt: receipt.map(Receipt::new),
            replayed: false,
            retry_after: None,
            capture: Capture {
                status: 200,
                ..Capture::default()
            },
        }))
    }

    /// A lookup by reference, asked and answered now.
    pub(crate) fn look(&mut self, answer: LookupAnswer) -> EvidenceId {
        let asked_at = self.now;
        self.look_asked(asked_at, answer)
    }

    pub(crate) fn look_asked(&mut self, asked_at: Timestamp, answer: LookupAnswer) -> EvidenceId {
        self.record(Fact::LookedUp(Lookup {
            asked_at,
            by: LookupBy::Reference,
            epoch: Epoch(0),
            answer,
        }))
    }

    pub(crate) fn cancel_answer(&mut self, no: u32, answer: CancelAnswer) -> EvidenceId {
        self.record(Fact::CancelAnswered { no, answer })
    }

    /// A person's verdict that answers all that stood before.
    pub(crate) fn rule(&mut self, ruling: Ruling) -> EvidenceId {
        let supersedes = self.known().answered_by_a_verdict();
        self.record(Fact::Verdict(Verdict {
            ruling,
            by: "ana".to_owned(),
            why: "looked at their console".to_owned(),
            at: self.now,
            supersedes,
        }))
    }

    pub(crate) fn withdraw(&mut self) -> EvidenceId {
        self.record(Fact::CancelRequested {
            by: "ana".to_owned(),
            why: "no longer wanted".to_owned(),
        })
    }
}

pub(crate) fn found(reference: &str) -> LookupAnswer {
    LookupAnswer::Found(vec![Receipt::new(reference)])
}

pub(crate) fn rejected(stored: bool) -> AnswerClass {
    AnswerClass::Rejected {
        stored,
        why: "subject missing".to_owned(),
    }
}
