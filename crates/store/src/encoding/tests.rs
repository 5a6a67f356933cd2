//! Everything that is written reads back as it was, over all variants and the whole range of their members.

use std::collections::BTreeMap;

use factum_core::evidence::{
    Answer, AnswerClass, Callback, CancelAnswer, CancelMark, Capture, Lookup, LookupAnswer, Loss,
    Mark, Order, PermissionKind, Phase, PollAnswer, Receipt, RequestRef, ReviewWhy, Ruling,
    Verdict,
};
use factum_core::promise::{
    Authority, CancelPromise, CompletionPromise, Consequence, KeyPromise, LookupBy, LookupPromise,
    ProcessingMax, Promises, Retention,
};
use factum_core::retry::Backoff;
use factum_core::{
    ActionId, AttemptNo, Bound, Epoch, EventId, EvidenceId, Fact, Fingerprint, Identity,
    IdentityHash, Intent, Limits, Preference, Scope, Span, Timestamp, TraceContext, WorkerNonce,
};
use proptest::prelude::*;
use proptest::sample::select;

use super::{Fixed, fact_text, head_text, read_fact, read_head};
use crate::record::{Action, Content, Conversation, MemberHash};

const VERSION_FIRST: &str = r#"{"v":1,"#;

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

fn permission() -> impl Strategy<Value = PermissionKind> {
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

fn class() -> impl Strategy<Value = AnswerClass> {
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
fn facts() -> Vec<BoxedStrategy<Fact>> {
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
        text().prop_map(|text| Fact::Noted { text }).boxed(),
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
    let key = (retention(), any::<[bool; 3]>()).prop_map(|(retention, flags)| KeyPromise {
        retention,
        concurrent_repeat_stated: flags[0],
        stores_errors: flags[1],
        scope_includes_credential: flags[2],
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
        (length(), length(), length(), length()),
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
        prop::option::of(conversation),
        prop::option::of(Just(trace)),
    )
        .prop_map(
            |(contract, params, payload, summary, conversation, trace)| Content {
                contract,
                params,
                payload,
                summary,
                conversation,
                trace,
            },
        )
}

fn action() -> impl Strategy<Value = Action> {
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
        content(),
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

fn fixed(action: &Action) -> Fixed {
    Fixed {
        id: action.intent.action,
        identity: action.identity_hash,
        fingerprint: action.fingerprint,
        contract: action.content.contract,
        params: action.content.params.clone(),
        payload: action.content.payload.clone(),
    }
}

proptest! {
    #[test]
    fn every_fact_reads_back_and_is_named_by_the_cores_word(all in facts()) {
        for fact in all {
            let text = fact_text(&fact);
            prop_assert_eq!(read_fact(&text), Ok(fact.clone()), "{}", text);
            let value: BTreeMap<String, serde_json::Value> = serde_json::from_str(&text).unwrap();
            let by_word = value["f"].as_object().unwrap().keys().next().cloned();
            prop_assert_eq!(by_word.as_deref(), Some(fact.kind()));
            prop_assert!(text.starts_with(VERSION_FIRST), "{}", text);
        }
    }

    #[test]
    fn every_action_reads_back(action in action()) {
        let text = head_text(&action);
        prop_assert_eq!(read_head(&text, fixed(&action)), Ok(action), "{}", text);
    }

    #[test]
    fn words_of_permissions_and_classes_are_the_cores(permission in permission(), class in class()) {
        let mark = |permission| Mark { permission, ..sample_mark() };
        let text = fact_text(&Fact::Marked(mark(permission)));
        let quoted = format!("\"{}\"", permission.name());
        prop_assert!(text.contains(&quoted), "{}", text);
        let word = format!("\"{}\"", class.name());
        let text = fact_text(&Fact::Reread { supersedes: EvidenceId(1), class, why: String::new() });
        prop_assert!(text.contains(&word), "{}", text);
    }
}

fn sample_mark() -> Mark {
    Mark {
        attempt: AttemptNo(1),
        epoch: Epoch(0),
        permission: PermissionKind::First,
        worker: WorkerNonce(9),
        at: Timestamp::from_micros(5),
        valid_until: Timestamp::from_micros(6),
        lease_until: Timestamp::from_micros(7),
        bound: Limits::default().bound,
    }
}

#[test]
fn the_strategies_leave_out_no_kind_of_fact() {
    // The match has no wildcard: a new kind of fact does not compile here until it stands in `facts` too.
    let index = |fact: &Fact| match fact {
        Fact::Marked(_) => 0,
        Fact::NotSent { .. } => 1,
        Fact::Lost(_) => 2,
        Fact::Answered(_) => 3,
        Fact::ProcessGone { .. } => 4,
        Fact::LeaseOver { .. } => 5,
        Fact::LookedUp(_) => 6,
        Fact::Polled { .. } => 7,
        Fact::CancelMarked(_) => 8,
        Fact::CancelAnswered { .. } => 9,
        Fact::CalledBack(_) => 10,
        Fact::Verdict(_) => 11,
        Fact::Taken { .. } => 12,
        Fact::Released { .. } => 13,
        Fact::CheckAgain { .. } => 14,
        Fact::CancelRequested { .. } => 15,
        Fact::AuthorityLost { .. } => 16,
        Fact::DeadlinePassed { .. } => 17,
        Fact::ApprovalOver { .. } => 18,
        Fact::GaveUp { .. } => 19,
        Fact::SearchEnded { .. } => 20,
        Fact::ClockRead { .. } => 21,
        Fact::ReviewOpened { .. } => 22,
        Fact::StoreRestored { .. } => 23,
        Fact::NotAdmitted { .. } => 24,
        Fact::Reread { .. } => 25,
        Fact::Noted { .. } => 26,
    };
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let seen: Vec<usize> = facts()
        .iter()
        .map(|kind| index(&kind.new_tree(&mut runner).unwrap().current()))
        .collect();
    assert_eq!(seen, (0..27).collect::<Vec<_>>());
}

#[test]
fn other_versions_and_unknown_members_are_refused_in_words() {
    let check = |text: &str, part: &str| {
        let error = read_fact(text).expect_err(text);
        assert!(error.contains(part), "{error}");
    };
    check(r#"{"v":2,"f":{"noted":{"text":"x"}}}"#, "version 2");
    check(r#"{"v":2,"f":{"dreamt":{"text":"x"}}}"#, "version 2");
    check(
        r#"{"v":1,"f":{"noted":{"text":"x","more":1}}}"#,
        "unknown field `more`",
    );
    check(r#"{"v":1,"f":{"dreamt":{}}}"#, "unknown variant `dreamt`");
    check(
        r#"{"v":1,"f":{"clock_read":{"at":99999999999999999999}}}"#,
        "cannot be read",
    );
    check("", "cannot be read");
}

#[test]
fn the_form_is_fixed() {
    assert_eq!(
        fact_text(&Fact::Marked(sample_mark())),
        concat!(
            r#"{"v":1,"f":{"marked":{"attempt":1,"epoch":0,"permission":"first","worker":9,"at":5,"valid_until":6,"#,
            r#""lease_until":7,"bound":{"write_limit":10000000,"linger":5000000,"pause_margin":30000000,"skew":2000000}}}}"#
        )
    );
    let answer = Answer {
        attempt: AttemptNo(2),
        read_at: Timestamp::from_micros(8),
        class: AnswerClass::Done,
        receipt: Some(Receipt::new("T-1")),
        replayed: false,
        retry_after: None,
        capture: Capture {
            status: 201,
            body: vec![0xff, 0x00],
            truncated: false,
        },
    };
    assert_eq!(
        fact_text(&Fact::Answered(answer)),
        concat!(
            r#"{"v":1,"f":{"answered":{"attempt":2,"read_at":8,"class":"done","receipt":{"reference":"T-1"},"#,
            r#""replayed":false,"capture":{"status":201,"body":"xff00","truncated":false}}}}"#
        )
    );
}
