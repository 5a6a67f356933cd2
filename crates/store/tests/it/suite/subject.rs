//! Actions on one subject know of each other, also between a decision and its mark (R14).

use factum_core::evidence::PermissionKind;
use factum_core::{ActionId, Fact};
use factum_store::{Action, Admission, Claim, Committed};

use super::{Ready, on_each_store};
use crate::actions::{action, submission};
use crate::fixtures::{MINUTE, START, lost, mark, next};

on_each_store!(
    a_later_action_on_the_subject_overtakes_the_earlier_ones,
    only_the_same_subject_at_the_same_place_counts,
    actions_of_one_millisecond_each_count_as_later,
    a_repeat_that_was_overtaken_before_its_mark_is_not_marked,
    a_first_send_and_what_was_overtaken_before_are_marked,
);

fn on(subject: Option<&str>, key: &str, made: u64) -> Action {
    let mut action = action(key, "same", made);
    action.content.subject = subject.map(str::to_owned);
    action
}

fn wish(key: &str, made: u64) -> Admission {
    submission(on(Some("ticket/77"), key, made))
}

fn marked(permission: PermissionKind) -> Fact {
    match mark(2, START) {
        Fact::Marked(mark) => Fact::Marked(factum_core::evidence::Mark { permission, ..mark }),
        other => other,
    }
}

async fn a_later_action_on_the_subject_overtakes_the_earlier_ones(at: Ready) {
    let first = at.create(wish("first", 1)).await;
    assert!(!first.overtaken);
    let second = at.create(wish("second", 2)).await;
    let read = at.read(&first).await;
    assert!(read.overtaken && !at.read(&second).await.overtaken);
    assert_eq!(read.action.content.subject.as_deref(), Some("ticket/77"));
    let (claim, held) = at.hold(&first).await;
    assert!(held.overtaken && claim.overtaken);
    let listed = at
        .store
        .list(factum_store::Filter {
            limit: 9,
            ..factum_store::Filter::default()
        })
        .await
        .unwrap();
    let listed: Vec<(ActionId, bool)> = listed.iter().map(|r| (r.id(), r.overtaken)).collect();
    assert_eq!(listed, [(second.id(), false), (first.id(), true)]);
}

async fn only_the_same_subject_at_the_same_place_counts(at: Ready) {
    let first = at.create(wish("first", 1)).await;
    let mut elsewhere = on(Some("ticket/77"), "elsewhere", 2);
    elsewhere.scope.destination = "other".to_owned();
    let mut theirs = on(Some("ticket/77"), "theirs", 3);
    theirs.scope.tenant = "somebody".to_owned();
    let others = [
        elsewhere,
        theirs,
        on(Some("ticket/78"), "beside", 4),
        on(None, "none", 5),
    ];
    for other in others {
        let other = at.create(submission(other)).await;
        assert!(!at.read(&first).await.overtaken, "{:?}", other.action.scope);
        assert!(!other.overtaken);
    }
    // Another principal and another operation work on the same thing all the same.
    let mut also = on(Some("ticket/77"), "also", 6);
    also.scope.principal = "user:bo".to_owned();
    also.scope.operation = "ticket.close".to_owned();
    at.create(submission(also)).await;
    assert!(at.read(&first).await.overtaken);
}

// Ids have their instant to the millisecond and are random behind it: within one, nobody is known to be the later.
async fn actions_of_one_millisecond_each_count_as_later(at: Ready) {
    let mut made = Vec::new();
    for (key, random) in [("a", 9), ("b", 1)] {
        let mut action = on(Some("ticket/77"), key, 1);
        let id = ActionId::new(START, action.identity_hash.lane(), random);
        action.intent.action = id;
        made.push(at.create(submission(action)).await);
    }
    for record in &made {
        assert!(at.read(record).await.overtaken);
    }
}

async fn commit(at: &Ready, claim: &Claim, fact: Fact) -> Committed {
    let wait = next("wait", Some(START + MINUTE));
    at.store.commit(claim, vec![fact], wait).await.unwrap()
}

async fn a_repeat_that_was_overtaken_before_its_mark_is_not_marked(at: Ready) {
    for (n, permission) in [
        PermissionKind::Harmless,
        PermissionKind::SameKey,
        PermissionKind::ProvenAbsent,
    ]
    .into_iter()
    .enumerate()
    {
        let made = 10 * u64::try_from(n).unwrap();
        let first = at
            .create(Admission {
                facts: vec![mark(1, START), lost(1)],
                ..wish(&format!("first-{n}"), made + 1)
            })
            .await;
        let (claim, _) = at.hold(&first).await;
        at.create(wish(&format!("second-{n}"), made + 2)).await;
        let refused = commit(&at, &claim, marked(permission)).await;
        assert!(matches!(refused, Committed::Stale), "{permission:?}");
        assert_eq!(at.read(&first).await.known.attempts_marked(), 1);
        // Other decisions rest on nothing of the kind, and the hold is as it was.
        let noted = commit(
            &at,
            &claim,
            Fact::Noted {
                text: "seen".to_owned(),
            },
        )
        .await;
        assert!(matches!(noted, Committed::Durable(_)), "{permission:?}");
    }
}

async fn a_first_send_and_what_was_overtaken_before_are_marked(at: Ready) {
    let first = at.create(wish("first", 1)).await;
    let (claim, _) = at.hold(&first).await;
    at.create(wish("second", 2)).await;
    let sent = commit(&at, &claim, marked(PermissionKind::First)).await;
    assert!(matches!(sent, Committed::Durable(_)));
    at.store.release(claim).await.unwrap();
    // The decision was made in the knowledge of the later action: the destination checks a condition, say.
    let (claim, held) = at.hold(&first).await;
    assert!(held.overtaken);
    let again = commit(&at, &claim, marked(PermissionKind::Harmless)).await;
    assert!(matches!(again, Committed::Durable(_)));
}
