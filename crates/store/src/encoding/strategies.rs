//! Every shape of evidence and action, for property tests.

use factum_core::evidence::{
    Answer, AnswerClass, Callback, CancelAnswer, CancelMark, Capture, Lookup, LookupAnswer, Loss,
    Mark, Order, PermissionKind, Phase, PollAnswer, Receipt, RequestRef, ReviewWhy, Ruling,
    Verdict,
};
use factum_core::promise::{
    Authority, CancelPromise, CompletionPromise, Consequence, KeyPromise, LookupBy, LookupPromise,
    Missing, ProcessingMax, Promises, Retention,
};
use factum_core::retry::Backoff;
use factum_core::{
    ActionId, AttemptNo, Bound, Epoch, EventId, EvidenceId, Fact, Fingerprint, Identity,
    IdentityHash, Intent, Lane, Limits, Preference, ProposalDigest, ProposalId, Scope, Span,
    Timestamp, TraceContext, WorkerNonce,
};
use proptest::prelude::*;
use proptest::sample::select;

use crate::record::{Action, Approved, AskedBy, Content, Conversation, MemberHash};

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        "\\PC{0,12}",
        Just("\u{0}\"\\\n\u{1f980}".to_owned())
    ]
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(text(), 0..3)
}

fn instant() -> impl Strategy<Value = Timestamp> {
    any::<i64>().prop_map(Timestamp::from_micros)
}

fn length() -> impl Strategy<Value = Span> {
    prop_oneof![
        Just(Span::ZERO),
        Just(Span::FOREVER),
        (0..i64::MAX).prop_map(Span::from_micros)
    ]
}

fn bound() -> impl Strategy<Value = Bound> {
    (length(), length(), length(), length()).prop_map(
        |(write_limit, linger, pause_margin, skew)| Bound {
            write_limit,
            linger,
            pause_margin,
            skew,
        },
    )
}

fn receipt() -> impl Strategy<Value = Receipt> {
    (text(), texts()).prop_map(|(reference, aliases)| Receipt { reference, aliases })
}

fn attempt() -> impl Strategy<Value = AttemptNo> {
    any::<u32>().prop_map(AttemptNo)
}

fn epoch() -> impl Strategy<Value = Epoch> {
    any::<u32>().prop_map(Epoch)
}

fn evidence_id() -> impl Strategy<Value = EvidenceId> {
    any::<u64>().prop_map(EvidenceId)
}

fn worker() -> impl Strategy<Value = WorkerNonce> {
    any::<u64>().prop_map(WorkerNonce)
}

pub(super) fn permission() -> impl Strategy<Value = PermissionKind> {
    use PermissionKind as P;
    prop_oneof![
        select(vec![
            P::First,
            P::ProvenNotSent,
            P::SameKey,
            P::ProvenAbsent,
            P::Harmless,
            P::Ordered(Order::Preference),
        ]),
        evidence_id().prop_map(|id| P::Ordered(Order::Verdict(id))),
    ]
}

fn phase() -> impl Strategy<Value = Phase> {
    select(vec![
        Phase::Prepare,
        Phase::Resolve,
        Phase::Connect,
        Phase::Tls,
        Phase::Write,
        Phase::Head,
        Phase::Body,
    ])
}

fn mark() -> impl Strategy<Value = Mark> {
    (
        attempt(),
        epoch(),
        permission(),
        worker(),
        instant(),
        instant(),
        instant(),
        bound(),
    )
        .prop_map(
            |(attempt, epoch, permission, worker, at, valid_until, lease_until, bound)| Mark {
                attempt,
                epoch,
                permission,
                worker,
                at,
                valid_until,
                lease_until,
                bound,
            },
        )
}

fn cancel_mark() -> impl Strategy<Value = CancelMark> {
    (
        any::<u32>(),
        epoch(),
        worker(),
        instant(),
        instant(),
        instant(),
        bound(),
    )
        .prop_map(
            |(no, epoch, worker, at, valid_until, lease_until, bound)| CancelMark {
                no,
                epoch,
                worker,
                at,
                valid_until,
                lease_until,
                bound,
            },
        )
}

fn loss() -> impl Strategy<Value = Loss> {
    (
        attempt(),
        phase(),
        any::<u64>(),
        any::<u64>(),
        prop::option::of(instant()),
        text(),
    )
        .prop_map(|(attempt, phase, wrote, read, closed_at, detail)| Loss {
            attempt,
            phase,
            wrote,
            read,
            closed_at,
            detail,
        })
}

pub(super) fn class() -> impl Strategy<Value = AnswerClass> {
    use AnswerClass as C;
    prop_oneof![
        select(vec![
            C::Done,
            C::InProgress,
            C::Mismatch,
            C::Busy,
            C::Unknown
        ]),
        prop::option::of(text()).prop_map(|object| C::Accepted { object }),
        (any::<bool>(), text()).prop_map(|(stored, why)| C::Rejected { stored, why }),
        (any::<bool>(), text()).prop_map(|(stored, why)| C::Declined { stored, why }),
        any::<bool>().prop_map(|ours| C::AlreadyExists { ours }),
    ]
}

fn capture() -> impl Strategy<Value = Capture> {
    let body = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..20),
        text().prop_map(String::into_bytes)
    ];
    (any::<u16>(), body, any::<bool>()).prop_map(|(status, body, truncated)| Capture {
        status,
        body,
        truncated,
    })
}

fn answer() -> impl Strategy<Value = Answer> {
    (
        attempt(),
        instant(),
        class(),
        prop::option::of(receipt()),
        any::<bool>(),
        prop::option::of(length()),
        capture(),
    )
        .prop_map(
            |(attempt, read_at, class, receipt, replayed, retry_after, capture)| Answer {
                attempt,
                read_at,
                class,
                receipt,
                replayed,
                retry_after,
                capture,
            },
        )
}

fn lookup() -> impl Strategy<Value = Lookup> {
    let answer = prop_oneof![
        prop::collection::vec(receipt(), 0..3).prop_map(LookupAnswer::Found),
        prop::option::of(text()).prop_map(|object| LookupAnswer::Queued { object }),
        Just(LookupAnswer::Absent),
        text().prop_map(|why| LookupAnswer::Inconclusive { why }),
    ];
    let by = select(vec![LookupBy::Reference, LookupBy::Key]);
    (instant(), by, epoch(), answer).prop_map(|(asked_at, by, epoch, answer)| Lookup {
        asked_at,
        by,
        epoch,
        answer,
    })
}

fn poll() -> impl Strategy<Value = PollAnswer> {
    prop_oneof![
        prop::option::of(receipt()).prop_map(PollAnswer::Completed),
        Just(PollAnswer::Working),
        text().prop_map(|why| PollAnswer::Failed { why }),
        text().prop_map(|why| PollAnswer::Inconclusive { why }),
    ]
}

fn cancel_answer() -> impl Strategy<Value = CancelAnswer> {
    prop_oneof![
        prop::option::of(text()).prop_map(|object| CancelAnswer::Confirmed { object }),
        prop::option::of(receipt()).prop_map(|receipt| CancelAnswer::TooLate { receipt }),
        text().prop_map(|why| CancelAnswer::NotSent { why }),
        text().prop_map(|why| CancelAnswer::Unknown { why }),
    ]
}

fn callback() -> impl Strategy<Value = Callback> {
    prop_oneof![
        receipt().prop_map(Callback::Positive),
        (text(), text()).prop_map(|(object, why)| Callback::Negative { object, why }),
        text().prop_map(|why| Callback::Reversed { why }),
    ]
}

fn verdict() -> impl Strategy<Value = Verdict> {
    let ruling = prop_oneof![
        prop::option::of(receipt()).prop_map(|receipt| Ruling::Happened { receipt }),
        select(vec![
            Ruling::DidNotHappen,
            Ruling::SendAgain,
            Ruling::CannotBeKnown
        ]),
    ];
    let ids = prop::collection::vec(evidence_id(), 0..3);
    (ruling, text(), text(), instant(), ids).prop_map(|(ruling, by, why, at, supersedes)| Verdict {
        ruling,
        by,
        why,
        at,
        supersedes,
    })
}

fn review_why() -> impl Strategy<Value = ReviewWhy> {
    use ReviewWhy as W;
    select(vec![
        W::NothingToAsk,
        W::NotFoundByPartialLookup,
        W::PolicyWantsPerson,
        W::BoundReached,
        W::KeyMismatch,
        W::NotRecognised,
        W::DuplicateSuspected,
        W::VerdictContradicted,
        W::SendBarred,
        W::CompletionUnknown,
    ])
}

/// One strategy per kind of fact, so that each run of a property sees every kind.
pub(super) fn facts() -> Vec<BoxedStrategy<Fact>> {
    let mut all = facts_about_requests();
    all.extend(facts_by_decision());
    all
}

fn facts_about_requests() -> Vec<BoxedStrategy<Fact>> {
    let request = prop_oneof![
        attempt().prop_map(RequestRef::Attempt),
        any::<u32>().prop_map(RequestRef::Cancel)
    ];
    vec![
        mark().prop_map(Fact::Marked).boxed(),
        (attempt(), phase(), text())
            .prop_map(|(attempt, phase, detail)| Fact::NotSent {
                attempt,
                phase,
                detail,
            })
            .boxed(),
        loss().prop_map(Fact::Lost).boxed(),
        answer().prop_map(Fact::Answered).boxed(),
        (worker(), instant())
            .prop_map(|(worker, at)| Fact::ProcessGone { worker, at })
            .boxed(),
        (request, instant())
            .prop_map(|(request, at)| Fact::LeaseOver { request, at })
            .boxed(),
        lookup().prop_map(Fact::LookedUp).boxed(),
        (attempt(), instant(), poll())
            .prop_map(|(attempt, asked_at, answer)| Fact::Polled {
                attempt,
                asked_at,
                answer,
            })
            .boxed(),
        cancel_mark().prop_map(Fact::CancelMarked).boxed(),
        (any::<u32>(), cancel_answer())
            .prop_map(|(no, answer)| Fact::CancelAnswered { no, answer })
            .boxed(),
        callback().prop_map(Fact::CalledBack).boxed(),
    ]
}

/// The records by people, by the clock and by the store itself.
fn facts_by_decision() -> Vec<BoxedStrategy<Fact>> {
    let extended = prop_oneof![
        attempt().prop_map(RequestRef::Attempt),
        any::<u32>().prop_map(RequestRef::Cancel)
    ];
    vec![
        verdict().prop_map(Fact::Verdict).boxed(),
        text().prop_map(|by| Fact::Taken { by }).boxed(),
        evidence_id()
            .prop_map(|supersedes| Fact::Released { supersedes })
            .boxed(),
        (text(), instant())
            .prop_map(|(by, at)| Fact::CheckAgain { by, at })
            .boxed(),
        (text(), text())
            .prop_map(|(by, why)| Fact::CancelRequested { by, why })
            .boxed(),
        text().prop_map(|why| Fact::AuthorityLost { why }).boxed(),
        instant().prop_map(|at| Fact::DeadlinePassed { at }).boxed(),
        instant().prop_map(|at| Fact::ApprovalOver { at }).boxed(),
        any::<u32>()
            .prop_map(|attempts| Fact::GaveUp { attempts })
            .boxed(),
        (text(), instant())
            .prop_map(|(why, at)| Fact::SearchEnded { why, at })
            .boxed(),
        instant().prop_map(|at| Fact::ClockRead { at }).boxed(),
        review_why()
            .prop_map(|why| Fact::ReviewOpened { why })
            .boxed(),
        (instant(), instant(), prop::option::of(instant()))
            .prop_map(|(copy_until, at, first_arrival)| Fact::StoreRestored {
                copy_until,
                at,
                first_arrival,
            })
            .boxed(),
        text().prop_map(|why| Fact::NotAdmitted { why }).boxed(),
        (evidence_id(), class(), text())
            .prop_map(|(supersedes, class, why)| Fact::Reread {
                supersedes,
                class,
                why,
            })
            .boxed(),
        (attempt(), any::<[bool; 2]>())
            .prop_map(|(attempt, [key, mark])| Fact::Unsupported {
                attempt,
                missing: Missing { key, mark },
            })
            .boxed(),
        text().prop_map(|text| Fact::Noted { text }).boxed(),
        (extended, instant())
            .prop_map(|(request, until)| Fact::LeaseExtended { request, until })
            .boxed(),
    ]
}

fn retention() -> impl Strategy<Value = Retention> {
    prop_oneof![
        length().prop_map(Retention::Floor),
        length().prop_map(Retention::AssumedFloor),
        length().prop_map(Retention::Approximate),
        select(vec![Retention::Unbounded, Retention::Unpublished]),
    ]
}

fn promises() -> impl Strategy<Value = Promises> {
    let consequence = select(vec![
        Consequence::Harmless,
        Consequence::Reversible,
        Consequence::Costly,
        Consequence::Irreversible,
    ]);
    let key =
        (retention(), any::<[bool; 5]>(), length()).prop_map(|(retention, flags, wait_min)| {
            KeyPromise {
                retention,
                concurrent_repeat_stated: flags[0],
                stores_errors: flags[1],
                scope_includes_credential: flags[2],
                scope_includes_place: flags[3],
                sets_again: flags[4],
                wait_min,
            }
        });
    let authority = select(vec![Authority::Authoritative, Authority::Partial]);
    let by = select(vec![LookupBy::Reference, LookupBy::Key]);
    let lookup = (authority, length(), by).prop_map(|(authority, lag, by)| LookupPromise {
        authority,
        lag,
        by,
    });
    let cancel = (any::<bool>(), retention()).prop_map(|(refuses_later_arrivals, retention)| {
        CancelPromise {
            refuses_later_arrivals,
            retention,
        }
    });
    let completion =
        any::<[bool; 2]>().prop_map(|[poll, callback]| CompletionPromise { poll, callback });
    let processing = prop_oneof![
        length().prop_map(ProcessingMax::Stated),
        length().prop_map(ProcessingMax::Assumed),
        Just(ProcessingMax::Unpublished)
    ];
    (
        consequence,
        prop::option::of(key),
        prop::option::of(lookup),
        prop::option::of(cancel),
        prop::option::of(completion),
        processing,
        any::<[bool; 2]>(),
    )
        .prop_map(
            |(consequence, key, lookup, cancel, completion, processing_max, flags)| Promises {
                consequence,
                key,
                lookup,
                cancel,
                completion,
                processing_max,
                path_is_direct: flags[0],
                condition_checked: flags[1],
            },
        )
}

fn limits() -> impl Strategy<Value = Limits> {
    (
        (length(), length(), length(), length(), length()),
        bound(),
        any::<[u32; 4]>(),
    )
        .prop_map(|(spans, bound, counts)| Limits {
            send_wait: spans.0,
            answer_wait: spans.1,
            bound,
            backoff: Backoff {
                base: spans.2,
                cap: spans.3,
            },
            attempts_max: counts[0],
            lookups_max: counts[1],
            polls_max: counts[2],
            cancels_max: counts[3],
            callback_wait: spans.4,
        })
}

fn intent() -> impl Strategy<Value = Intent> {
    let preference = prop_oneof![
        Just(Preference::Ask),
        text().prop_map(|by| Preference::PreferMissing { by }),
        text().prop_map(|by| Preference::PreferDuplicate { by }),
    ];
    (
        any::<[u8; 16]>(),
        instant(),
        prop::collection::vec(prop::option::of(instant()), 4),
        any::<bool>(),
        preference,
        limits(),
        promises(),
    )
        .prop_map(
            |(id, submitted_at, times, finish, preference, limits, promises)| Intent {
                action: ActionId::from_bytes(id),
                submitted_at,
                intent_at: times[0],
                not_before: times[1],
                deadline: times[2],
                approved_until: times[3],
                finish,
                preference,
                limits,
                promises,
            },
        )
}

fn asked_by() -> impl Strategy<Value = AskedBy> {
    let maybe = || prop::option::of(text());
    (text(), maybe(), prop::option::of((text(), maybe()))).prop_map(|(principal, grant, amount)| {
        AskedBy {
            principal,
            grant,
            amount,
        }
    })
}

fn approved() -> impl Strategy<Value = Approved> {
    let names = prop::collection::vec(text(), 0..3);
    let account = prop::option::of(text());
    let id = (instant(), any::<u8>(), any::<u64>());
    (id, any::<[u8; 32]>(), instant(), account, names).prop_map(
        |((at, lane, random), digest, as_of, account, by)| Approved {
            proposal: ProposalId::new(at, Lane(lane), random),
            digest: ProposalDigest(digest),
            as_of,
            account,
            by,
        },
    )
}

fn content() -> impl Strategy<Value = Content> {
    let conversation = (
        text(),
        prop::option::of(any::<u64>()),
        prop::option::of(text()),
    )
        .prop_map(|(id, turn, asked)| Conversation { id, turn, asked });
    let trace = TraceContext::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
        .expect("a W3C trace");
    (
        any::<[u8; 32]>(),
        text(),
        text(),
        prop::option::of(text()),
        prop::option::of(text()),
        prop::option::of(conversation),
        prop::option::of(text()),
        prop::option::of(Just(trace)),
        // In one box: a strategy of so many parts takes much of a test's stack.
        (
            prop::option::of(text()),
            prop::option::of(asked_by()),
            prop::option::of(approved()),
            prop::option::of(instant()),
        )
            .boxed(),
    )
        .prop_map(
            |(
                contract,
                params,
                payload,
                summary,
                subject,
                conversation,
                locale,
                trace,
                (place, asked_by, approved, purged_at),
            )| Content {
                contract,
                params,
                payload,
                summary,
                subject,
                conversation,
                locale,
                trace,
                place,
                asked_by,
                approved,
                purged_at,
            },
        )
}

pub(super) fn action() -> impl Strategy<Value = Action> {
    let scope =
        (text(), text(), text(), text()).prop_map(|(tenant, principal, destination, operation)| {
            Scope {
                tenant,
                principal,
                destination,
                operation,
            }
        });
    let identity = prop_oneof![
        text().prop_map(Identity::Key),
        (text(), text(), text()).prop_map(|(source, id, effect)| Identity::Event {
            event: EventId { source, id },
            effect,
        }),
    ];
    let members = prop::collection::btree_map(text(), any::<[u8; 16]>().prop_map(MemberHash), 0..3);
    (
        intent(),
        scope,
        identity,
        any::<[u8; 32]>(),
        any::<[u8; 32]>(),
        members,
        content().boxed(),
    )
        .prop_map(
            |(intent, scope, identity, hash, fingerprint, members, content)| Action {
                intent,
                scope,
                identity,
                identity_hash: IdentityHash(hash),
                fingerprint: Fingerprint(fingerprint),
                members,
                content,
            },
        )
}
