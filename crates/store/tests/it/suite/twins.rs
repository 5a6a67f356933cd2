//! Twins (R16): equal content in one scope, under another identity.

use factum_core::evidence::{AnswerClass, Ruling, Verdict};
use factum_core::{Fact, Span};
use factum_store::{Admission, Admitted, Record, TwinGuard};

use super::{Ready, on_each_store};
use crate::fixtures::{MINUTE, WORKER, action, answered, lost, mark, next, refused, submission};

on_each_store!(
    an_open_action_holds_its_twin_off,
    whoever_means_another_one_gets_it,
    an_action_that_is_done_holds_its_twin_off_for_a_time,
    proof_that_nothing_happened_lets_go_at_once,
    what_a_person_opens_again_holds_its_twin_off_again,
    a_search_that_was_ended_holds_off_for_good,
    nothing_is_held_off_across_scopes_or_without_a_guard,
    of_many_at_once_one_is_recorded,
    a_conflict_is_told_before_a_twin,
);

/// A submission of this key and body under a guard of ten minutes.
fn guarded(key: &str, body: &str, made: u64) -> Admission {
    Admission {
        twins: Some(TwinGuard {
            within: Span::from_secs(600),
            another: false,
        }),
        ..submission(action(key, body, made))
    }
}

/// The same, and meant.
fn meant(key: &str, body: &str, made: u64) -> Admission {
    Admission {
        twins: Some(TwinGuard {
            within: Span::from_secs(600),
            another: true,
        }),
        ..guarded(key, body, made)
    }
}

impl Ready {
    /// The action that holds a submission off.
    async fn held_off(&self, admission: Admission) -> Record {
        match self.store.admit(admission).await.unwrap() {
            Admitted::HeldOff(first) => *first,
            other => panic!("not held off: {other:?}"),
        }
    }

    async fn counted(&self) -> u64 {
        self.store.counts().await.unwrap().values().sum()
    }

    /// Marks an action and records how its attempt ended.
    async fn ends(&self, record: &Record, fact: Fact) {
        let (claim, _) = self.hold(record).await;
        let at = self.store.now().await.unwrap();
        let wait = next("wait", Some(at + MINUTE));
        let marked = self.store.commit(&claim, vec![mark(1, at)], wait);
        marked.await.unwrap();
        self.store.release(claim).await.unwrap();
        self.store.record(record.id(), vec![fact]).await.unwrap();
    }
}

// B65: a caller that makes a new key with every try.
async fn an_open_action_holds_its_twin_off(at: Ready) {
    let first = at.create(guarded("key-1", "broken", 1)).await;
    let held = at.held_off(guarded("key-2", "broken", 2)).await;
    assert_eq!(held.action, first.action);
    at.clock.pass(Span::from_secs(86_400));
    at.held_off(guarded("key-2", "broken", 2)).await;
    at.ends(&first, lost(1)).await;
    at.clock.pass(Span::from_secs(86_400));
    let held = at.held_off(guarded("key-2", "broken", 2)).await;
    assert_eq!(held.version, at.read(&first).await.version, "as it stands");
    assert_eq!(at.counted().await, 1, "nothing was recorded");
    let none = at.store.find(action("key-2", "broken", 2).identity_hash);
    assert!(none.await.unwrap().is_none());
    let Admitted::Joined(joined) = at.store.admit(guarded("key-1", "broken", 3)).await.unwrap()
    else {
        panic!("whoever repeats an identity joins");
    };
    assert_eq!(joined.id(), first.id());
    at.create(guarded("key-2", "whole", 4)).await;
}

async fn whoever_means_another_one_gets_it(at: Ready) {
    let first = at.create(guarded("key-1", "broken", 1)).await;
    let second = at.create(meant("key-2", "broken", 2)).await;
    at.ends(&second, answered(1, AnswerClass::Done)).await;
    at.clock.pass(Span::from_secs(601));
    let held = at.held_off(guarded("key-3", "broken", 3)).await;
    assert_eq!(held.id(), first.id(), "the second one's time is over");
    let third = at.create(meant("key-3", "broken", 3)).await;
    let held = at.held_off(guarded("key-4", "broken", 4)).await;
    assert_eq!(held.id(), third.id(), "the latest that holds it off");
}

async fn an_action_that_is_done_holds_its_twin_off_for_a_time(at: Ready) {
    let first = at.create(guarded("key-1", "broken", 1)).await;
    at.clock.pass(Span::from_secs(86_400));
    at.ends(&first, answered(1, AnswerClass::Done)).await;
    at.clock.pass(Span::from_secs(599));
    at.held_off(guarded("key-2", "broken", 2)).await;
    at.clock.pass(Span::from_secs(1));
    let second = at.create(guarded("key-2", "broken", 2)).await;
    let held = at.held_off(guarded("key-3", "broken", 3)).await;
    assert_eq!(held.id(), second.id());
}

async fn proof_that_nothing_happened_lets_go_at_once(at: Ready) {
    let first = at.create(guarded("key-1", "broken", 1)).await;
    at.ends(&first, refused(1)).await;
    assert!(at.read(&first).await.status().safe_to_call_again);
    at.create(guarded("key-2", "broken", 2)).await;
}

async fn what_a_person_opens_again_holds_its_twin_off_again(at: Ready) {
    let first = at.create(guarded("key-1", "broken", 1)).await;
    at.ends(&first, refused(1)).await;
    let second = at.create(guarded("key-2", "broken", 2)).await;
    at.ends(&second, refused(1)).await;
    let verdict = Fact::Verdict(Verdict {
        by: "ana".to_owned(),
        why: "the brand is there now".to_owned(),
        ruling: Ruling::SendAgain,
        at: at.store.now().await.unwrap(),
        supersedes: Vec::new(),
    });
    at.store.record(first.id(), vec![verdict]).await.unwrap();
    assert!(!at.read(&first).await.status().is_settled());
    let held = at.held_off(guarded("key-3", "broken", 3)).await;
    assert_eq!(held.id(), first.id());
}

async fn a_search_that_was_ended_holds_off_for_good(at: Ready) {
    let first = at.create(guarded("key-1", "broken", 1)).await;
    at.ends(&first, lost(1)).await;
    let verdict = Fact::Verdict(Verdict {
        by: "ana".to_owned(),
        why: "they keep no records".to_owned(),
        ruling: Ruling::CannotBeKnown,
        at: at.store.now().await.unwrap(),
        supersedes: Vec::new(),
    });
    at.store.record(first.id(), vec![verdict]).await.unwrap();
    assert!(at.read(&first).await.status().closed.is_some());
    at.clock.pass(Span::from_secs(30 * 86_400));
    at.held_off(guarded("key-2", "broken", 2)).await;
}

async fn nothing_is_held_off_across_scopes_or_without_a_guard(at: Ready) {
    let unguarded = at.create(submission(action("key-0", "broken", 9))).await;
    at.create(guarded("key-1", "broken", 1)).await;
    at.create(submission(action("key-2", "broken", 2))).await;
    let mut scopes = Vec::new();
    for n in 0..4u64 {
        let mut wish = guarded(&format!("scope-{n}"), "broken", 10 + n);
        let scope = &mut wish.action.scope;
        let part = match n {
            0 => &mut scope.tenant,
            1 => &mut scope.principal,
            2 => &mut scope.destination,
            _ => &mut scope.operation,
        };
        "another".clone_into(part);
        scopes.push(at.create(wish).await.id());
    }
    let held = at.held_off(guarded("key-3", "broken", 3)).await;
    assert!(held.id() != unguarded.id() && !scopes.contains(&held.id()));
}

// B65: two keys at once, of which neither sees the other's row when it is checked.
async fn of_many_at_once_one_is_recorded(at: Ready) {
    let mut running = Vec::new();
    for content in 0..10u64 {
        for key in 0..8u64 {
            let n = content * 8 + key;
            let body = format!("content-{content}");
            let mut wish = guarded(&format!("key-{n}"), &body, n);
            wish.claim_for = Some((WORKER, MINUTE));
            let store = std::sync::Arc::clone(&at.store);
            running.push(tokio::spawn(async move {
                // Whoever is told that what it looked at has moved on looks again.
                for _ in 0..64 {
                    match store.admit(wish.clone()).await.unwrap() {
                        Admitted::Stale => {}
                        Admitted::Created(..) => return (content, true),
                        Admitted::HeldOff(_) => return (content, false),
                        other => panic!("neither recorded nor held off: {other:?}"),
                    }
                }
                panic!("it is always told to look again");
            }));
        }
    }
    let mut recorded = [0; 10];
    for task in running {
        let (content, created) = task.await.unwrap();
        recorded[usize::try_from(content).unwrap()] += u32::from(created);
    }
    assert_eq!(recorded, [1; 10]);
    assert_eq!(at.counted().await, 10);
}

async fn a_conflict_is_told_before_a_twin(at: Ready) {
    at.create(guarded("key-1", "broken", 1)).await;
    let second = at.create(guarded("key-2", "whole", 2)).await;
    let admitted = at.store.admit(guarded("key-2", "broken", 3)).await.unwrap();
    let Admitted::Conflict { first, .. } = admitted else {
        panic!("its identity is looked at first: {admitted:?}");
    };
    assert_eq!(first.id(), second.id());
}
