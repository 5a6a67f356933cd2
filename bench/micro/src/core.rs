//! What the core does for each record of an action: fold what is known, and decide what is next.

use std::error::Error;
use std::hint::black_box;

use factum_core::evidence::{Lookup, LookupAnswer, Loss, Mark, PermissionKind, Phase};
use factum_core::promise::{
    Authority, Consequence, KeyPromise, LookupBy, LookupPromise, ProcessingMax, Retention,
};
use factum_core::{
    ActionId, AttemptNo, Conditions, Epoch, Evidence, EvidenceId, Fact, Intent, Known, Limits,
    Preference, Promises, Span, Timestamp, WorkerNonce,
};

use crate::Work;

const AT: Timestamp = Timestamp::from_micros(1_764_400_000_000_000);

/// Three lost attempts, each looked up without a result: nine records.
pub(crate) fn fold() -> Result<Work, Box<dyn Error>> {
    let evidence = log();
    Ok(Box::new(move || {
        black_box(Known::fold(black_box(&evidence)));
    }))
}

/// The state of that action, and its next step.
pub(crate) fn decide() -> Result<Work, Box<dyn Error>> {
    let intent = intent();
    let known = Known::fold(&log());
    Ok(Box::new(move || {
        let conditions = Conditions {
            now: AT + Span::from_secs(900),
            current: &intent.promises,
            restore_released: true,
            clock_in_doubt: false,
            account_in_doubt: false,
            credential_changed: false,
            place_changed: false,
            subject_overtaken: false,
        };
        black_box(known.status(black_box(&intent)));
        black_box(factum_core::decide(&intent, &known, &conditions));
    }))
}

fn intent() -> Intent {
    Intent {
        action: ActionId::from_bytes([1; 16]),
        submitted_at: AT,
        intent_at: None,
        not_before: None,
        deadline: None,
        approved_until: None,
        finish: false,
        preference: Preference::Ask,
        limits: Limits::default(),
        promises: Promises {
            key: Some(KeyPromise {
                retention: Retention::Floor(Span::from_secs(86_400)),
                concurrent_repeat_stated: true,
                stores_errors: false,
                scope_includes_credential: false,
                scope_includes_place: false,
                sets_again: false,
                wait_min: Span::ZERO,
            }),
            lookup: Some(LookupPromise {
                authority: Authority::Authoritative,
                lag: Span::from_secs(10),
                by: LookupBy::Reference,
            }),
            processing_max: ProcessingMax::Stated(Span::from_secs(2)),
            ..Promises::none(Consequence::Costly)
        },
    }
}

fn log() -> Vec<Evidence> {
    let mut facts = Vec::new();
    for n in 1..=3 {
        let (at, attempt) = (AT + Span::from_secs(200 * i64::from(n)), AttemptNo(n));
        facts.push(Fact::Marked(Mark {
            attempt,
            epoch: Epoch(0),
            permission: PermissionKind::First,
            worker: WorkerNonce(9),
            at,
            valid_until: at + Span::from_secs(5),
            lease_until: at + Span::from_secs(50),
            bound: Limits::default().bound,
        }));
        facts.push(Fact::Lost(Loss {
            attempt,
            phase: Phase::Head,
            wrote: 412,
            read: 0,
            closed_at: Some(at + Span::from_secs(31)),
            detail: "no answer within 30 s".to_owned(),
        }));
        facts.push(Fact::LookedUp(Lookup {
            asked_at: at + Span::from_secs(120),
            by: LookupBy::Reference,
            epoch: Epoch(0),
            answer: LookupAnswer::Absent,
        }));
    }
    let record = |(fact, id)| Evidence {
        id: EvidenceId(id),
        at: AT,
        fact,
    };
    facts.into_iter().zip(1..).map(record).collect()
}
