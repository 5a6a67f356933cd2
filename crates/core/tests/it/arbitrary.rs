//! Evidence without any sense, and walks with some: what the property tests draw from. Records of the first kind contradict
//! each other, speak for attempts that were never marked and come from impossible instants; walks only do what the core
//! allows and then let the world answer as it likes.

use factum_core::evidence::{
    Answer, AnswerClass, Callback, CancelAnswer, CancelMark, Capture, Evidence, Fact, Lookup,
    LookupAnswer, Loss, Mark, Order, PermissionKind, Phase, PollAnswer, Receipt, RequestRef,
    ReviewWhy, Ruling, Verdict,
};
use factum_core::promise::{
    Authority, CancelPromise, CompletionPromise, Consequence, KeyPromise, LookupBy, LookupPromise,
    ProcessingMax, Promises, Retention,
};
use factum_core::{
    AttemptNo, Bound, Epoch, EvidenceId, Intent, Preference, Timestamp, WorkerNonce, permit,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::kit::{self, Story, at, secs};

fn instant() -> impl Strategy<Value = Timestamp> {
    (-50i64..400).prop_map(at)
}

fn attempt() -> impl Strategy<Value = AttemptNo> {
    prop_oneof![30 => 1u32..4, 1 => Just(u32::MAX)].prop_map(AttemptNo)
}

fn epoch() -> impl Strategy<Value = Epoch> {
    prop_oneof![30 => 0u32..3, 1 => Just(u32::MAX)].prop_map(Epoch)
}

fn id() -> impl Strategy<Value = EvidenceId> {
    (1u64..24).prop_map(EvidenceId)
}

fn receipt() -> impl Strategy<Value = Receipt> {
    (select(vec!["T-1", "T-2", "T-3"]), option::of(Just("T-1"))).prop_map(|(reference, alias)| {
        Receipt {
            reference: reference.to_owned(),
            aliases: alias.into_iter().map(str::to_owned).collect(),
        }
    })
}

fn object() -> impl Strategy<Value = Option<String>> {
    option::of(select(vec!["job-1", "job-2"]).prop_map(str::to_owned))
}

fn text() -> String {
    "as they say".to_owned()
}

pub(crate) fn class() -> impl Strategy<Value = AnswerClass> {
    prop_oneof![
        Just(AnswerClass::Done),
        object().prop_map(|object| AnswerClass::Accepted { object }),
        any::<bool>().prop_map(|stored| AnswerClass::Rejected {
            stored,
            why: text()
        }),
        any::<bool>().prop_map(|stored| AnswerClass::Declined {
            stored,
            why: text()
        }),
        Just(AnswerClass::InProgress),
        any::<bool>().prop_map(|ours| AnswerClass::AlreadyExists { ours }),
        Just(AnswerClass::Mismatch),
        Just(AnswerClass::Busy),
        Just(AnswerClass::Unknown),
    ]
}

fn bound() -> Bound {
    kit::intent(Promises::none(Consequence::Costly))
        .limits
        .bound
}

fn permission() -> impl Strategy<Value = PermissionKind> {
    prop_oneof![
        Just(PermissionKind::First),
        Just(PermissionKind::ProvenNotSent),
        Just(PermissionKind::SameKey),
        Just(PermissionKind::ProvenAbsent),
        Just(PermissionKind::Harmless),
        Just(PermissionKind::Ordered(Order::Preference)),
        id().prop_map(|id| PermissionKind::Ordered(Order::Verdict(id))),
    ]
}

fn mark() -> impl Strategy<Value = Fact> {
    (attempt(), epoch(), permission(), 1u64..3, instant()).prop_map(
        |(attempt, epoch, permission, worker, at)| {
            Fact::Marked(Mark {
                attempt,
                epoch,
                permission,
                worker: WorkerNonce(worker),
                at,
                valid_until: at + secs(5),
                lease_until: at + secs(kit::LEASE),
                bound: bound(),
            })
        },
    )
}

fn lookup_answer() -> impl Strategy<Value = LookupAnswer> {
    prop_oneof![
        vec(receipt(), 1..3).prop_map(LookupAnswer::Found),
        object().prop_map(|object| LookupAnswer::Queued { object }),
        Just(LookupAnswer::Absent),
        Just(LookupAnswer::Inconclusive { why: text() }),
    ]
}

fn cancel_answer() -> impl Strategy<Value = CancelAnswer> {
    prop_oneof![
        object().prop_map(|object| CancelAnswer::Confirmed { object }),
        option::of(receipt()).prop_map(|receipt| CancelAnswer::TooLate { receipt }),
        Just(CancelAnswer::NotSent { why: text() }),
        Just(CancelAnswer::Unknown { why: text() }),
    ]
}

fn ruling() -> impl Strategy<Value = Ruling> {
    prop_oneof![
        option::of(receipt()).prop_map(|receipt| Ruling::Happened { receipt }),
        Just(Ruling::DidNotHappen),
        Just(Ruling::SendAgain),
        Just(Ruling::CannotBeKnown),
    ]
}

/// What the destination and our own side of the socket say about attempts.
fn outward_fact() -> impl Strategy<Value = Fact> {
    prop_oneof![
        mark(),
        attempt().prop_map(|attempt| Fact::NotSent {
            attempt,
            phase: Phase::Connect,
            detail: text(),
        }),
        (attempt(), option::of(instant())).prop_map(|(attempt, closed_at)| {
            Fact::Lost(Loss {
                attempt,
                phase: Phase::Head,
                wrote: 9,
                read: 0,
                closed_at,
                detail: text(),
            })
        }),
        (
            attempt(),
            instant(),
            class(),
            option::of(receipt()),
            any::<bool>()
        )
            .prop_map(|(attempt, read_at, class, receipt, replayed)| {
                Fact::Answered(Answer {
                    attempt,
                    read_at,
                    class,
                    receipt,
                    replayed,
                    retry_after: None,
                    capture: Capture::default(),
                })
            }),
        (instant(), any::<bool>(), epoch(), lookup_answer()).prop_map(
            |(asked_at, by_key, epoch, answer)| {
                let by = if by_key {
                    LookupBy::Key
                } else {
                    LookupBy::Reference
                };
                Fact::LookedUp(Lookup {
                    asked_at,
                    by,
                    epoch,
                    answer,
                })
            }
        ),
        (attempt(), instant(), 0u8..4, option::of(receipt())).prop_map(
            |(attempt, asked_at, kind, receipt)| Fact::Polled {
                attempt,
                asked_at,
                answer: match kind {
                    0 => PollAnswer::Completed(receipt),
                    1 => PollAnswer::Working,
                    2 => PollAnswer::Failed { why: text() },
                    _ => PollAnswer::Inconclusive { why: text() },
                },
            }
        ),
    ]
}

/// What becomes of cancels by key, and what the destination reports by itself.
fn later_fact() -> impl Strategy<Value = Fact> {
    prop_oneof![
        (1u32..3, epoch(), instant()).prop_map(|(no, epoch, at)| {
            Fact::CancelMarked(CancelMark {
                no,
                epoch,
                worker: WorkerNonce(1),
                at,
                valid_until: at + secs(5),
                lease_until: at + secs(kit::LEASE),
                bound: bound(),
            })
        }),
        (1u32..3, cancel_answer()).prop_map(|(no, answer)| Fact::CancelAnswered { no, answer }),
        receipt().prop_map(|receipt| Fact::CalledBack(Callback::Positive(receipt))),
        Just(Fact::CalledBack(Callback::Negative {
            object: "job-1".to_owned(),
            why: text(),
        })),
        Just(Fact::CalledBack(Callback::Reversed { why: text() })),
    ]
}

/// What people, the clock and the store say.
fn inward_fact() -> impl Strategy<Value = Fact> {
    prop_oneof![
        (1u64..3, instant()).prop_map(|(worker, at)| Fact::ProcessGone {
            worker: WorkerNonce(worker),
            at,
        }),
        (attempt(), 1u32..3, any::<bool>(), instant()).prop_map(|(attempt, no, cancel, at)| {
            let request = if cancel {
                RequestRef::Cancel(no)
            } else {
                RequestRef::Attempt(attempt)
            };
            Fact::LeaseOver { request, at }
        }),
        (attempt(), 1u32..3, any::<bool>(), instant()).prop_map(|(attempt, no, cancel, until)| {
            let request = if cancel {
                RequestRef::Cancel(no)
            } else {
                RequestRef::Attempt(attempt)
            };
            Fact::LeaseExtended { request, until }
        }),
        (ruling(), instant(), vec(id(), 0..4)).prop_map(|(ruling, at, supersedes)| {
            Fact::Verdict(Verdict {
                ruling,
                by: text(),
                why: text(),
                at,
                supersedes,
            })
        }),
        Just(Fact::Taken { by: text() }),
        id().prop_map(|supersedes| Fact::Released { supersedes }),
        instant().prop_map(|at| Fact::CheckAgain { by: text(), at }),
        Just(Fact::CancelRequested {
            by: text(),
            why: text()
        }),
        Just(Fact::AuthorityLost { why: text() }),
        instant().prop_map(|at| Fact::DeadlinePassed { at }),
        instant().prop_map(|at| Fact::ApprovalOver { at }),
        (0u32..9).prop_map(|attempts| Fact::GaveUp { attempts }),
        instant().prop_map(|at| Fact::SearchEnded { why: text(), at }),
        instant().prop_map(|at| Fact::ClockRead { at }),
        select(vec![
            ReviewWhy::NothingToAsk,
            ReviewWhy::DuplicateSuspected,
            ReviewWhy::VerdictContradicted
        ])
        .prop_map(|why| Fact::ReviewOpened { why }),
        (instant(), instant(), option::of(instant())).prop_map(
            |(copy_until, at, first_arrival)| {
                Fact::StoreRestored {
                    copy_until,
                    at,
                    first_arrival,
                }
            }
        ),
        Just(Fact::NotAdmitted { why: text() }),
        (id(), class()).prop_map(|(supersedes, class)| Fact::Reread {
            supersedes,
            class,
            why: text(),
        }),
        Just(Fact::Noted { text: text() }),
    ]
}

/// Any records, each with a name of its own.
pub(crate) fn records() -> impl Strategy<Value = Vec<Evidence>> {
    let fact = prop_oneof![6 => outward_fact(), 4 => later_fact(), 7 => inward_fact()];
    vec((fact, instant()), 0..24).prop_map(|facts| {
        let numbered = (1u64..).zip(facts);
        numbered
            .map(|(id, (fact, at))| Evidence {
                id: EvidenceId(id),
                at,
                fact,
            })
            .collect()
    })
}

pub(crate) fn promises() -> impl Strategy<Value = Promises> {
    let retention = || {
        select(vec![
            Retention::Floor(secs(300)),
            Retention::AssumedFloor(secs(100)),
            Retention::Unbounded,
            Retention::Approximate(secs(300)),
            Retention::Unpublished,
        ])
    };
    let key = (retention(), any::<[bool; 3]>()).prop_map(|(retention, [a, b, c])| KeyPromise {
        retention,
        concurrent_repeat_stated: a,
        stores_errors: b,
        scope_includes_credential: c,
        scope_includes_place: false,
        sets_again: false,
        wait_min: secs(0),
    });
    let lookup =
        (any::<[bool; 2]>(), 0i64..40).prop_map(|([partial, by_key], lag)| LookupPromise {
            authority: if partial {
                Authority::Partial
            } else {
                Authority::Authoritative
            },
            lag: secs(lag),
            by: if by_key {
                LookupBy::Key
            } else {
                LookupBy::Reference
            },
        });
    let cancel = (retention(), any::<bool>()).prop_map(|(retention, refuses)| CancelPromise {
        refuses_later_arrivals: refuses,
        retention,
    });
    let completion =
        any::<[bool; 2]>().prop_map(|[poll, callback]| CompletionPromise { poll, callback });
    let processing = select(vec![
        ProcessingMax::Stated(secs(10)),
        ProcessingMax::Assumed(secs(30)),
        ProcessingMax::Unpublished,
    ]);
    (
        select(Consequence::ALL.to_vec()),
        (option::of(key), option::of(lookup), option::of(cancel)),
        option::of(completion),
        processing,
        any::<[bool; 2]>(),
    )
        .prop_map(
            |(
                consequence,
                (key, lookup, cancel),
                completion,
                processing_max,
                [direct, condition],
            )| {
                Promises {
                    consequence,
                    key,
                    lookup,
                    cancel,
                    completion,
                    processing_max,
                    path_is_direct: direct,
                    condition_checked: condition,
                }
            },
        )
}

pub(crate) fn intents() -> impl Strategy<Value = Intent> {
    let preference = select(vec![
        Preference::Ask,
        Preference::PreferMissing { by: text() },
        Preference::PreferDuplicate { by: text() },
    ]);
    (
        promises(),
        option::of(0i64..300),
        option::of(0i64..300),
        option::of(0i64..100),
        preference,
        any::<bool>(),
    )
        .prop_map(
            |(promises, deadline, approved, not_before, preference, finish)| Intent {
                deadline: deadline.map(at),
                approved_until: approved.map(at),
                not_before: not_before.map(at),
                preference,
                finish,
                ..kit::intent(promises)
            },
        )
}

/// A story with any records, under any conditions.
pub(crate) fn nonsense() -> impl Strategy<Value = Story> {
    (
        intents(),
        records(),
        promises(),
        instant(),
        any::<[bool; 4]>(),
        any::<bool>(),
    )
        .prop_map(
            |(intent, log, current, now, [released, clock, account, overtaken], same)| {
                let mut story = Story::of(intent);
                if !same {
                    story.current = current;
                }
                story.log = log;
                story.now = now;
                story.restore_released = released;
                story.clock_in_doubt = clock;
                story.account_in_doubt = account;
                story.subject_overtaken = overtaken;
                story
            },
        )
}

/// One turn of a walk.
#[derive(Clone, Debug)]
pub(crate) enum Turn {
    Pass(i64),
    Send,
    Lose,
    NotSent,
    Answer(AnswerClass),
    Look(LookupAnswer),
    AnswerCancel(CancelAnswer),
    Rule(Ruling),
    Due,
    Withdraw,
    Restore,
}

fn turn() -> impl Strategy<Value = Turn> {
    prop_oneof![
        5 => (1i64..60).prop_map(Turn::Pass),
        5 => Just(Turn::Send),
        2 => Just(Turn::Lose),
        1 => Just(Turn::NotSent),
        2 => class().prop_map(Turn::Answer),
        3 => lookup_answer().prop_map(Turn::Look),
        1 => cancel_answer().prop_map(Turn::AnswerCancel),
        1 => ruling().prop_map(Turn::Rule),
        4 => Just(Turn::Due),
        1 => Just(Turn::Withdraw),
        1 => Just(Turn::Restore),
    ]
}

/// A story that did only what was allowed, under calm conditions.
pub(crate) fn walks() -> impl Strategy<Value = Story> {
    (intents(), vec(turn(), 1..30)).prop_map(|(intent, turns)| {
        let mut story = Story::of(intent);
        for turn in turns {
            take(&mut story, turn);
        }
        story
    })
}

fn take(story: &mut Story, turn: Turn) {
    let last = story.known().attempts_marked();
    match turn {
        Turn::Pass(passed) => story.now = story.now + secs(passed),
        Turn::Send => {
            if let Ok(leave) = permit(&story.intent, &story.known(), &story.conditions()) {
                let (fact, _) = leave.mark(WorkerNonce(1));
                story.record(fact);
            }
        }
        Turn::Due => {
            if let Some(fact) = story.due() {
                story.record(fact);
            }
        }
        Turn::Look(answer) => {
            story.look(answer);
        }
        Turn::Rule(ruling) => {
            story.rule(ruling);
        }
        Turn::Withdraw => {
            story.withdraw();
        }
        Turn::Restore => {
            let at = story.now;
            story.record(Fact::StoreRestored {
                copy_until: at,
                at,
                first_arrival: Some(kit::at(0)),
            });
        }
        Turn::AnswerCancel(answer) => {
            story.cancel_answer(1, answer);
        }
        Turn::Lose | Turn::NotSent | Turn::Answer(_) if last == 0 => {}
        Turn::Lose => {
            story.lose(last);
        }
        Turn::NotSent => {
            story.not_sent(last);
        }
        Turn::Answer(class) => {
            story.answer_with(last, class, Some("T-1"));
        }
    }
}

/// Moves instants of the records, and the present, to the ends of time.
pub(crate) fn at_the_ends_of_time() -> impl Strategy<Value = Story> {
    let ends = select(vec![Timestamp::EARLIEST, Timestamp::NEVER]);
    (nonsense(), ends.clone(), ends.clone(), ends, any::<u32>()).prop_map(
        |(mut story, now, marked, asked, which)| {
            if which & 1 == 0 {
                story.now = now;
            }
            for (n, record) in story.log.iter_mut().enumerate() {
                if which >> (n % 31) & 1 == 0 {
                    continue;
                }
                record.at = now;
                match &mut record.fact {
                    Fact::Marked(mark) => {
                        (mark.at, mark.valid_until, mark.lease_until) = (marked, marked, marked)
                    }
                    Fact::CancelMarked(mark) => {
                        (mark.at, mark.valid_until, mark.lease_until) = (marked, marked, marked)
                    }
                    Fact::LookedUp(lookup) => lookup.asked_at = asked,
                    Fact::Answered(answer) => answer.read_at = asked,
                    Fact::StoreRestored { at, .. } | Fact::ProcessGone { at, .. } => *at = asked,
                    _ => {}
                }
            }
            story
        },
    )
}
