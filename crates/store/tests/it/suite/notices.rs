//! Notices: what outsiders are told has changed, in one order.

use factum_core::evidence::{AnswerClass, ReviewWhy};
use factum_core::{Fact, State};
use factum_store::{Committed, EntryKey, Kind, Notice, Registered, Topic};

use super::register::change;
use super::{Ready, on_each_store};
use crate::fixtures::{MINUTE, admission, answered, lost, mark, next, refused};

on_each_store!(
    a_change_of_state_is_one_notice_and_what_passes_is_none,
    what_is_refused_or_lost_leaves_no_notice,
    review_and_the_register_are_told_too,
    numbers_have_no_gaps_and_go_on_after_forgetting,
    a_reader_is_led_past_what_it_has_seen,
);

async fn all(at: &Ready) -> Vec<Notice> {
    at.store.notices(0, 1_000).await.unwrap().notices
}

fn topics(notices: &[Notice]) -> Vec<Topic> {
    notices.iter().map(|notice| notice.topic).collect()
}

/// The n-th action, which succeeds.
async fn succeed(at: &Ready, n: u64) {
    let record = at.create(admission(n)).await;
    let (claim, _) = at.hold(&record).await;
    let now = at.store.now().await.unwrap();
    let sent = at
        .store
        .commit(&claim, vec![mark(1, now)], next("wait", Some(now)));
    let Committed::Durable(sent) = sent.await.unwrap() else {
        panic!("it is held");
    };
    let claim = claim.at_version(sent.version);
    let facts = vec![answered(1, AnswerClass::Done)];
    let done = at.store.commit(&claim, facts, next("none", None)).await;
    assert!(matches!(done.unwrap(), Committed::Durable(_)));
}

// What outsiders hear is written with what it is of, and nothing of a mark.
async fn a_change_of_state_is_one_notice_and_what_passes_is_none(at: Ready) {
    succeed(&at, 1).await;
    let notices = all(&at).await;
    let record = at.store.load(admission(1).action.intent.action).await;
    let record = record.unwrap().unwrap();
    let [notice] = notices.as_slice() else {
        panic!("one, and not {notices:?}");
    };
    assert_eq!(notice.topic, Topic::Stands(State::Succeeded));
    assert_eq!((notice.no, notice.version), (1, record.version));
    assert_eq!(notice.records, 2);
    assert_eq!(notice.about, record.id().to_string());
    assert_eq!(notice.tenant, "default");
    // The same evidence again changes nothing that anybody is told.
    let known = vec![answered(1, AnswerClass::Done)];
    at.store.record(record.id(), known).await.unwrap();
    assert_eq!(all(&at).await.len(), 1);
}

async fn what_is_refused_or_lost_leaves_no_notice(at: Ready) {
    let record = at.create(admission(1)).await;
    let (claim, _) = at.hold(&record).await;
    let now = at.store.now().await.unwrap();
    at.store
        .record(record.id(), vec![mark(1, now)])
        .await
        .unwrap();
    // The claim is on an older version: its decision is not written, and so nobody hears of it.
    let facts = vec![refused(1)];
    let stale = at.store.commit(&claim, facts, next("none", None)).await;
    assert!(matches!(stale.unwrap(), Committed::Stale));
    let late = EntryKey::new(Kind::Escalation, "default", "late");
    let stale = at.store.change(vec![change(late, 7, "{}")]).await;
    assert_eq!(stale.unwrap(), Registered::Stale);
    assert_eq!(all(&at).await, []);
    at.store
        .record(record.id(), vec![refused(1)])
        .await
        .unwrap();
    assert_eq!(
        topics(&all(&at).await),
        [Topic::Stands(State::TerminalFailure)]
    );
}

async fn review_and_the_register_are_told_too(at: Ready) {
    let record = at.create(admission(1)).await;
    let now = at.store.now().await.unwrap();
    let facts = vec![
        mark(1, now),
        lost(1),
        Fact::ReviewOpened {
            why: ReviewWhy::PolicyWantsPerson,
        },
    ];
    at.store.record(record.id(), facts).await.unwrap();
    // What is of one instant and of two things has no order.
    at.clock.pass(MINUTE);
    let key = EntryKey::new(Kind::Correction, "acme", "act conv");
    for (version, label) in [(0, "due"), (1, "over")] {
        let mut wish = change(key.clone(), version, "{}");
        wish.label = Some(label.to_owned());
        at.store.change(vec![wish]).await.unwrap();
    }
    let silent = EntryKey::new(Kind::Told, "acme", "act conv");
    at.store
        .change(vec![change(silent, 0, "{}")])
        .await
        .unwrap();
    let notices = all(&at).await;
    assert_eq!(
        topics(&notices),
        [
            Topic::Stands(State::OutcomeUnknown),
            Topic::ReviewEntered,
            Topic::CorrectionDue,
            Topic::CorrectionOver,
        ]
    );
    let correction = &notices[3];
    assert_eq!(
        (correction.tenant.as_str(), correction.version),
        ("acme", 2)
    );
    assert_eq!(correction.about, "act conv");
}

async fn numbers_have_no_gaps_and_go_on_after_forgetting(at: Ready) {
    for n in 1..=5 {
        succeed(&at, n).await;
    }
    let seen: Vec<u64> = all(&at).await.iter().map(|notice| notice.no).collect();
    assert_eq!(seen, [1, 2, 3, 4, 5]);
    at.clock.pass(MINUTE);
    let now = at.store.now().await.unwrap();
    assert_eq!(at.store.forget_notices(now, 2).await.unwrap(), 2);
    let left = at.store.notices(0, 1_000).await.unwrap();
    assert_eq!((left.forgotten, left.last), (2, 5));
    assert_eq!(left.notices.len(), 3);
    // The last one stays, so that no number is given twice.
    assert_eq!(at.store.forget_notices(now, 100).await.unwrap(), 2);
    assert_eq!(at.store.forget_notices(now, 100).await.unwrap(), 0);
    succeed(&at, 6).await;
    let left = at.store.notices(4, 1_000).await.unwrap();
    let seen: Vec<u64> = left.notices.iter().map(|notice| notice.no).collect();
    assert_eq!((seen, left.forgotten), (vec![5, 6], 4));
}

async fn a_reader_is_led_past_what_it_has_seen(at: Ready) {
    let nothing = at.store.notices(0, 10).await.unwrap();
    assert_eq!(
        (nothing.through, nothing.last, nothing.forgotten),
        (0, 0, 0)
    );
    for n in 1..=3 {
        succeed(&at, n).await;
    }
    let page = at.store.notices(0, 2).await.unwrap();
    assert_eq!((page.notices.len(), page.through, page.last), (2, 2, 3));
    let page = at.store.notices(page.through, 2).await.unwrap();
    assert_eq!((page.notices.len(), page.through), (1, 3));
    let page = at.store.notices(page.through, 2).await.unwrap();
    assert_eq!((page.notices.len(), page.through), (0, 3));
    // A reader from elsewhere is not led back.
    let ahead = at.store.notices(9, 2).await.unwrap();
    assert_eq!((ahead.notices.len(), ahead.through, ahead.last), (0, 9, 3));
}
