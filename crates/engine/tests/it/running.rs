//! A running engine over a store that fails: submissions in doubt, damaged rows, commits that break off. Its destination is
//! an application's own code, so no socket is opened.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use factum_core::evidence::{Callback, CancelAnswer, CancelMark, Receipt, ReviewWhy, Ruling};
use factum_core::promise::Consequence;
use factum_core::{
    ActionId, Epoch, Fact, Limits, Permission, Preference, Promises, Span, State, WorkerNonce,
};
use factum_engine::clock;
use factum_engine::driver::gate::GateSettings;
use factum_engine::retention::Retention;
use factum_engine::{
    Cancelled, Carried, CarriedRequest, Carrier, Code, Destination, Engine, Keys, Operation,
    Options, Reach, Submission,
};
use factum_store::{Filter, Store};
use factum_transport::HttpTransport;
use tokio::sync::Notify;

use crate::faulty::{Fault, FaultyStore};
use crate::world::PLACE;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn done(
    _: Permission,
    _: CarriedRequest,
) -> impl Future<Output = Carried> + Send + 'static {
    std::future::ready(Carried::Done(Receipt::new("C-1".to_owned())))
}

async fn start(store: &Arc<FaultyStore>, carrier: impl Carrier + 'static) -> Engine {
    start_on(store.clone(), carrier, 100).await
}

pub(crate) async fn start_on(
    store: Arc<dyn Store>,
    carrier: impl Carrier + 'static,
    unsettled_max: usize,
) -> Engine {
    let operation = Operation {
        contract: None,
        promises: Promises::none(Consequence::Costly),
        preference: Preference::Ask,
        finish: false,
        key_template: None,
        approval: None,
        twin_guard: None,
        limits: Limits::default(),
        by_workers: None,
        two_persons: false,
    };
    let destination = Destination {
        name: PLACE.to_owned(),
        provider: "own code".to_owned(),
        account: None,
        reach: Reach::InProcess(Arc::new(carrier)),
        operations: BTreeMap::from([("do".to_owned(), operation)]),
        any_operation: None,
        gate: GateSettings::default(),
        sandbox: false,
        callback_secrets: Vec::new(),
    };
    let options = Options {
        store,
        transport: Box::new(|clock| Arc::new(HttpTransport::new(clock))),
        keys: Keys::new([7; 32]),
        destinations: BTreeMap::from([(PLACE.to_owned(), destination)]),
        unsettled_max,
        held_max: 8,
        former_workers_gone_at: None,
        restore_grace: Span::ZERO,
        retention: Retention::default(),
        clock_in_doubt: false,
    };
    Engine::start(options).await.unwrap()
}

pub(crate) fn submission(key: &str) -> Submission {
    let text = format!(r#"{{"destination":"{PLACE}","operation":"do","key":"{key}"}}"#);
    Submission::from_json(&text).unwrap()
}

async fn submit(engine: &Engine, key: &str) -> ActionId {
    let submitted = engine.submit(submission(key), "default", "admin").await;
    submitted.unwrap().record.id()
}

async fn rested(engine: &Engine, id: ActionId) -> State {
    engine.wait(id, PATIENCE).await.unwrap().status().state
}

/// Law 8, R32: the submission became durable, nobody knows it, and its caller never comes back.
#[tokio::test]
async fn a_submission_in_doubt_is_looked_for() {
    let store = Arc::new(FaultyStore::new());
    let engine = start(&store, done).await;
    store.fail(Fault::AdmitInDoubt);
    let refused = engine.submit(submission("a"), "default", "admin").await;
    assert!(refused.is_err(), "its caller cannot know");
    let only_one = Filter {
        limit: 1,
        ..Filter::default()
    };
    let id = store.list(only_one).await.unwrap()[0].id();
    assert_eq!(rested(&engine, id).await, State::Succeeded);
}

/// Law 8: evidence became durable, nobody knows it, and whoever brought it never comes back. It is looked at all the same.
#[tokio::test]
async fn evidence_in_doubt_is_looked_at() {
    let store = Arc::new(FaultyStore::new());
    let engine = start(&store, done).await;
    engine.set_paused(true, "ana").await.unwrap();
    let id = submit(&engine, "a").await;
    store.fail(Fault::RecordInDoubt);
    let refused = engine.cancel(id, "ana", "a mistake").await;
    assert!(refused.is_err(), "its caller cannot know");
    let decided = async {
        while store.load(id).await.unwrap().unwrap().next.step != "none" {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let decided = tokio::time::timeout(PATIENCE, decided).await;
    assert!(decided.is_ok(), "the engine has not looked at it");
    assert_eq!(rested(&engine, id).await, State::Cancelled);
}

/// R11: a clock that stepped is in doubt until a destination's time agrees, and not just until the next start.
#[tokio::test]
async fn a_clock_in_doubt_is_in_doubt_after_a_restart_too() {
    let store = Arc::new(FaultyStore::new());
    let written = AtomicBool::new(false);
    for in_doubt in [true, false] {
        clock::keep_doubt(store.as_ref(), in_doubt, &written)
            .await
            .unwrap();
        let engine = start(&store, done).await;
        assert_eq!(engine.clock_in_doubt(), in_doubt);
        engine.shutdown(PATIENCE).await;
        store.restart();
    }
}

/// A damaged row is held; it stops neither the start nor the others.
#[tokio::test]
async fn a_damaged_action_does_not_stop_the_start() {
    let store = Arc::new(FaultyStore::new());
    let engine = start(&store, done).await;
    engine.set_paused(true, "ana").await.unwrap();
    let damaged = submit(&engine, "a").await;
    let sound = submit(&engine, "b").await;
    engine.set_paused(true, "ana").await.unwrap();
    engine.shutdown(PATIENCE).await;
    store.restart();
    store.fail(Fault::Damaged(damaged));
    let engine = start(&store, done).await;
    engine.set_paused(false, "ana").await.unwrap();
    assert_eq!(rested(&engine, sound).await, State::Succeeded);
    assert!(engine.load(damaged).await.is_err());
}

/// The answer is there and its commit breaks off: it is recorded all the same, while the engine runs and while it stops.
#[tokio::test]
async fn an_answer_outlives_a_commit_that_breaks_off() {
    for stops in [false, true] {
        let store = Arc::new(FaultyStore::new());
        let (asked, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (asks, goes) = (asked.clone(), go.clone());
        let carrier = move |_: Permission, _: CarriedRequest| {
            let (asks, goes) = (asks.clone(), goes.clone());
            async move {
                asks.notify_one();
                goes.notified().await;
                Carried::Done(Receipt::new("C-1".to_owned()))
            }
        };
        let engine = start(&store, carrier).await;
        store.fail(Fault::AnswerBreaksOff);
        let id = submit(&engine, "a").await;
        asked.notified().await;
        if stops {
            let (left, ()) = tokio::join!(engine.shutdown(PATIENCE), async { go.notify_one() });
            assert_eq!(left, 0, "nothing was broken off");
        } else {
            go.notify_one();
            rested(&engine, id).await;
        }
        let record = store.load(id).await.unwrap().unwrap();
        assert_eq!(record.status().state, State::Succeeded, "stops: {stops}");
    }
}

/// R1: code that gave no answer has shown nothing about its connection. And what a person closed can still be withdrawn,
/// which bars the send that a person could order.
#[tokio::test]
async fn a_closed_unknown_can_be_withdrawn() {
    let store = Arc::new(FaultyStore::new());
    let lost = |_: Permission, _: CarriedRequest| {
        std::future::ready(Carried::Unknown("their process died".to_owned()))
    };
    let engine = start(&store, lost).await;
    let id = submit(&engine, "a").await;
    assert_eq!(rested(&engine, id).await, State::OutcomeUnknown);
    let evidence = engine.evidence(id).await.unwrap();
    let closed_at = evidence.iter().find_map(|evidence| match &evidence.fact {
        Fact::Lost(loss) => Some(loss.closed_at),
        _ => None,
    });
    assert_eq!(closed_at, Some(None), "nobody has seen it closed");
    let closed = engine.rule(id, Ruling::CannotBeKnown, "ana", "no trace");
    assert!(closed.await.unwrap().status().closed.is_some());
    let (cancelled, record) = engine.cancel(id, "ana", "not wanted").await.unwrap();
    assert_eq!(cancelled, Cancelled::TooLate);
    assert_eq!(record.status().state, State::OutcomeUnknown);
    let ordered = engine.rule(id, Ruling::SendAgain, "ben", "customer waits");
    assert_eq!(ordered.await.unwrap_err().code, Code::DoesNotApply);
}

/// R18, law 8: what a restore has to say about an action in review, or about a closed one, puts it in no limbo.
#[tokio::test]
async fn what_stood_in_review_stands_there_after_a_restore() {
    let store = Arc::new(FaultyStore::new());
    let lost = |_: Permission, _: CarriedRequest| {
        std::future::ready(Carried::Unknown("their process died".to_owned()))
    };
    let engine = start(&store, lost).await;
    let (asked, closed) = (submit(&engine, "a").await, submit(&engine, "b").await);
    assert_eq!(rested(&engine, asked).await, State::OutcomeUnknown);
    assert_eq!(rested(&engine, closed).await, State::OutcomeUnknown);
    let ruled = engine.rule(closed, Ruling::CannotBeKnown, "ana", "no trace");
    ruled.await.unwrap();
    let stands = async |engine: &Engine| {
        let wanted = [(asked, "review"), (closed, "none")];
        for (id, step) in wanted {
            rested(engine, id).await;
            let record = engine.load(id).await.unwrap();
            assert!(record.known.restored_at().is_some(), "it is maybe sent");
            while engine.load(id).await.unwrap().next.step != step {
                tokio::task::yield_now().await;
            }
        }
    };
    engine.shutdown(PATIENCE).await;
    store.restart();
    store.declare_restored(None).await.unwrap();
    let engine = start(&store, lost).await;
    stands(&engine).await;
    engine.declare_restored(None).await.unwrap();
    stands(&engine).await;
}

/// R5, law 4: what a person has seen there may be what a cancel on its way takes back, so no verdict is taken meanwhile.
#[tokio::test]
async fn no_verdict_is_taken_while_a_cancel_is_on_its_way() {
    let store = Arc::new(FaultyStore::new());
    let lost = |_: Permission, _: CarriedRequest| {
        std::future::ready(Carried::Unknown("their process died".to_owned()))
    };
    let engine = start(&store, lost).await;
    let id = submit(&engine, "a").await;
    assert_eq!(rested(&engine, id).await, State::OutcomeUnknown);
    let at = store.now().await.unwrap();
    let mark = CancelMark {
        no: 1,
        epoch: Epoch::default(),
        worker: WorkerNonce(1),
        at,
        valid_until: at + Span::from_secs(600),
        lease_until: at + Span::from_secs(900),
        bound: Limits::default().bound,
    };
    let marked = engine.record(id, vec![Fact::CancelMarked(mark)]).await;
    assert_eq!(marked.unwrap().len(), 1);
    let happened = Ruling::Happened { receipt: None };
    let early = engine.rule(id, happened.clone(), "ana", "seen").await;
    assert_eq!(early.unwrap_err().code, Code::DoesNotApply);
    let answer = CancelAnswer::NotSent {
        why: "test".to_owned(),
    };
    let answered = vec![Fact::CancelAnswered { no: 1, answer }];
    engine.record(id, answered).await.unwrap();
    let ruled = engine.rule(id, happened, "ana", "seen").await.unwrap();
    assert_eq!(ruled.status().state, State::Succeeded);
}

/// R6: what is recorded between reading the action and recording the verdict is judged too. A review that was opened meanwhile is
/// answered by the verdict itself, and an effect that was seen meanwhile leaves nothing to rule on.
#[tokio::test]
async fn a_verdict_is_judged_on_what_it_is_recorded_on() {
    let store = Arc::new(FaultyStore::new());
    let lost = |_: Permission, _: CarriedRequest| {
        std::future::ready(Carried::Unknown("their process died".to_owned()))
    };
    let engine = start(&store, lost).await;
    let kinds = |evidence: &[factum_core::Evidence]| -> Vec<&'static str> {
        evidence.iter().map(|one| one.fact.kind()).collect()
    };
    let id = submit(&engine, "a").await;
    assert_eq!(rested(&engine, id).await, State::OutcomeUnknown);
    store.fail(Fault::Meanwhile(Fact::ReviewOpened {
        why: ReviewWhy::KeyMismatch,
    }));
    let closed = engine
        .rule(id, Ruling::CannotBeKnown, "ana", "no trace")
        .await;
    assert!(closed.unwrap().status().closed.is_some());
    let evidence = engine.evidence(id).await.unwrap();
    let reviews: Vec<_> = evidence
        .iter()
        .filter(|one| one.fact.kind() == "review_opened")
        .map(|one| one.id)
        .collect();
    let named = evidence.iter().find_map(|one| match &one.fact {
        Fact::Verdict(verdict) => Some(verdict.supersedes.clone()),
        _ => None,
    });
    assert_eq!(
        (reviews.len(), named),
        (2, Some(reviews)),
        "both are answered"
    );
    assert!(!kinds(&evidence).contains(&"released"));

    let id = submit(&engine, "b").await;
    assert_eq!(rested(&engine, id).await, State::OutcomeUnknown);
    let seen = Callback::Positive(Receipt::new("C-9".to_owned()));
    store.fail(Fault::Meanwhile(Fact::CalledBack(seen)));
    let ruled = engine.rule(id, Ruling::DidNotHappen, "ana", "not there");
    assert_eq!(ruled.await.unwrap_err().code, Code::AgainstEvidence);
    let record = engine.load(id).await.unwrap();
    assert_eq!(record.status().state, State::Succeeded);
    assert!(!kinds(&engine.evidence(id).await.unwrap()).contains(&"verdict"));
    // A withdrawal that comes after it records nothing either.
    let (cancelled, _) = engine.cancel(id, "ana", "late").await.unwrap();
    assert_eq!(cancelled, Cancelled::TooLate);
}
