//! Submissions: one identity, one action.

use factum_core::{Evidence, EvidenceId, State};
use factum_store::{Admission, Admitted};

use super::{Ready, on_each_store};
use crate::fixtures::{MINUTE, START, WORKER, action, admission, mark, next, submission};

on_each_store!(
    a_new_identity_is_created_and_a_repeat_joins,
    another_intent_is_refused_and_names_the_first,
    pairs_that_race_on_one_key_make_one_action,
    a_new_action_can_be_claimed_and_marked_in_one_commit,
    an_id_of_another_lane_is_refused,
    an_id_is_given_once,
);

async fn a_new_identity_is_created_and_a_repeat_joins(at: Ready) {
    let created = at.create(admission(1)).await;
    assert_eq!((created.version, created.known.is_empty()), (1, true));
    assert_eq!(created.status().state, State::Pending);
    assert_eq!(*created.action, admission(1).action);

    let repeat = Admission {
        action: action("key-1", "broken", 2),
        ..admission(2)
    };
    let Admitted::Joined(joined) = at.store.admit(repeat).await.unwrap() else {
        panic!("a repeat with another id joins the first");
    };
    assert_eq!(joined.action, created.action);
    let second = admission(2).action.intent.action;
    assert!(at.store.load(second).await.unwrap().is_none());
    let found = at.store.find(created.action.identity_hash).await.unwrap();
    assert_eq!(found.map(|record| record.action), Some(created.action));
    let none = at.store.find(admission(9).action.identity_hash).await;
    assert!(none.unwrap().is_none());
}

async fn another_intent_is_refused_and_names_the_first(at: Ready) {
    let created = at.create(admission(1)).await;
    let mut other = action("key-1", "whole", 2);
    other.members.insert(
        "/payload/extra".to_owned(),
        factum_store::MemberHash([1; 16]),
    );
    let Admitted::Conflict { first, members } = at.store.admit(submission(other)).await.unwrap()
    else {
        panic!("another intent under one identity is a conflict");
    };
    assert_eq!(first.id(), created.id());
    assert_eq!(members, ["/payload/subject", "/payload/extra"]);
    assert_eq!(at.read(&created).await.version, 1, "nothing was recorded");
}

// B71, B82: a hundred pairs race, half with equal bodies and half with different ones.
async fn pairs_that_race_on_one_key_make_one_action(at: Ready) {
    let mut running = Vec::new();
    for pair in 0..100u64 {
        for side in 0..2u64 {
            let body = if pair % 2 == 0 {
                "same".to_owned()
            } else {
                format!("body of side {side}")
            };
            let wish = submission(action(&format!("raced-{pair}"), &body, pair * 2 + side));
            let store = std::sync::Arc::clone(&at.store);
            running.push(tokio::spawn(async move {
                (pair, store.admit(wish).await.unwrap())
            }));
        }
    }
    let (mut created, mut joined, mut refused) = (0, 0, 0);
    for task in running {
        let (pair, admitted) = task.await.unwrap();
        match admitted {
            Admitted::Created(..) => created += 1,
            Admitted::Joined(_) => {
                assert_eq!(pair % 2, 0, "only equal bodies join");
                joined += 1;
            }
            Admitted::Conflict { members, .. } => {
                assert_eq!(pair % 2, 1, "only different bodies conflict");
                assert_eq!(members, ["/payload/subject"]);
                refused += 1;
            }
            Admitted::Stale => panic!("nothing was said of the register"),
            Admitted::HeldOff(_) => panic!("no guard was asked for"),
            Admitted::Gone(_) | Admitted::Forgotten(_) => panic!("nothing was taken away"),
            Admitted::Reserved(reserved) => panic!("nothing else submits: {reserved:?}"),
        }
    }
    assert_eq!((created, joined, refused), (100, 50, 50));
    let counts = at.store.counts().await.unwrap();
    assert_eq!(counts.values().sum::<u64>(), 100);
}

async fn a_new_action_can_be_claimed_and_marked_in_one_commit(at: Ready) {
    let wish = Admission {
        facts: vec![mark(1, START)],
        next: next("wait", Some(START + MINUTE)),
        claim_for: Some((WORKER, MINUTE)),
        ..admission(1)
    };
    let Admitted::Created(record, Some(claim)) = at.store.admit(wish.clone()).await.unwrap() else {
        panic!("new, and claimed");
    };
    assert_eq!((claim.action, claim.version), (record.id(), record.version));
    assert_eq!(claim.until, START + MINUTE);
    assert_eq!(record.status().state, State::Dispatching);
    let stored = Evidence {
        id: EvidenceId(1),
        at: START,
        fact: mark(1, START),
    };
    assert_eq!(at.store.history(record.id()).await.unwrap(), [stored]);

    let Admitted::Joined(_) = at.store.admit(wish).await.unwrap() else {
        panic!("a repeat joins and claims nothing");
    };
    assert!(at.store.renew(&claim, MINUTE).await.unwrap());
}

async fn an_id_of_another_lane_is_refused(at: Ready) {
    let mut wish = admission(1);
    let foreign = factum_core::Lane(wish.action.identity_hash.lane().0 ^ 1);
    wish.action.intent.action = factum_core::ActionId::new(START, foreign, 7);
    assert!(at.store.admit(wish).await.is_err());
    assert!(at.store.counts().await.unwrap().is_empty());
}

async fn an_id_is_given_once(at: Ready) {
    let first = at.create(admission(1)).await;
    // Another identity in the same lane that was given the same id.
    let second = (0u32..)
        .map(|n| action(&format!("other-{n}"), "x", 1))
        .find(|action| {
            action.intent.action == first.id() && action.identity_hash != first.action.identity_hash
        })
        .unwrap();
    assert!(at.store.admit(submission(second)).await.is_err());
    assert_eq!(at.read(&first).await.action, first.action);
}
