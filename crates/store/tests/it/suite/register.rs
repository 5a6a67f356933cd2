//! The register: entries by themselves, and with an action.

use factum_core::{Lane, Span};
use factum_store::{
    Admission, Admitted, Change, Changed, Committed, Entry, EntryFilter, EntryKey, EntryVersion,
    Kind, Registered,
};

use super::{Ready, on_each_store};
use crate::fixtures::{MINUTE, START, admission, mark, next};

on_each_store!(
    an_entry_is_made_changed_and_every_version_kept,
    of_two_changes_of_one_version_one_is_made,
    changes_that_belong_together_are_made_together,
    entries_are_listed_by_tenant_label_and_time,
    entries_that_are_no_authority_can_be_forgotten,
    old_versions_are_forgotten_and_what_stands_stays,
    each_change_of_authority_makes_an_edition,
    an_action_and_its_entry_are_one_transaction,
    two_that_approve_at_once_make_one_action,
    what_was_decided_under_another_edition_is_not_written,
);

/// The wish that an entry says this.
pub(crate) fn change(key: EntryKey, expected: u64, body: &str) -> Change {
    Change {
        key,
        expected,
        body: body.to_owned(),
        label: None,
        due: None,
        by: "ana".to_owned(),
        why: format!("the test says {body}"),
    }
}

fn grant(id: &str) -> EntryKey {
    EntryKey::new(Kind::Grant, "acme", id)
}

/// An entry beside the n-th action.
fn beside(n: u64) -> EntryKey {
    let lane = admission(n).action.identity_hash.lane();
    EntryKey::beside(lane, Kind::Usage, "default", format!("usage-{n}"))
}

async fn made(at: &Ready, changes: Vec<Change>) -> u64 {
    match at.store.change(changes).await.unwrap() {
        Registered::Durable { edition } => edition,
        Registered::Stale => panic!("made by nobody else"),
    }
}

async fn body(at: &Ready, key: EntryKey) -> Option<(u64, String)> {
    let entry = at.store.entry(key).await.unwrap();
    entry.map(|entry| (entry.version, entry.body))
}

async fn old_versions_are_forgotten_and_what_stands_stays(at: Ready) {
    let key = EntryKey::new(Kind::Delivery, "acme", "hook");
    for (version, body) in (0..).zip(["a", "b", "c"]) {
        at.clock.pass(MINUTE);
        made(&at, vec![change(key.clone(), version, body)]).await;
    }
    made(&at, vec![change(grant("g-1"), 0, "{}")]).await;
    let old = at.store.now().await.unwrap();
    let gone = at.store.forget_versions(Kind::Delivery, old);
    assert_eq!(gone.await.unwrap(), 2);
    assert_eq!(body(&at, key.clone()).await, Some((3, "c".to_owned())));
    let history = at.store.entry_history(key.clone()).await.unwrap();
    assert_eq!(
        history.iter().map(|one| one.version).collect::<Vec<_>>(),
        [3]
    );
    // It is changed on from there.
    at.clock.pass(MINUTE);
    made(&at, vec![change(key.clone(), 3, "d")]).await;
    at.clock.pass(MINUTE);
    let old = at.store.now().await.unwrap();
    let gone = at.store.forget_versions(Kind::Delivery, old);
    assert_eq!(gone.await.unwrap(), 1);
    assert!(at.store.forget_versions(Kind::Grant, old).await.is_err());
}

async fn an_entry_is_made_changed_and_every_version_kept(at: Ready) {
    let key = grant("g-1");
    assert_eq!(at.store.entry(key.clone()).await.unwrap(), None);
    made(&at, vec![change(key.clone(), 0, "first")]).await;
    at.clock.pass(MINUTE);
    let second = Change {
        label: Some("open".to_owned()),
        due: Some(START + MINUTE),
        by: "bo".to_owned(),
        ..change(key.clone(), 1, "second")
    };
    made(&at, vec![second]).await;
    let changed = |at, by: &str, body: &str| Changed {
        at,
        by: by.to_owned(),
        why: format!("the test says {body}"),
    };
    let now = Entry {
        key: key.clone(),
        version: 2,
        body: "second".to_owned(),
        label: Some("open".to_owned()),
        due: Some(START + MINUTE),
        changed: changed(START + MINUTE, "bo", "second"),
    };
    assert_eq!(at.store.entry(key.clone()).await.unwrap(), Some(now));
    let version = |version, at, by: &str, body: &str| EntryVersion {
        version,
        body: body.to_owned(),
        changed: changed(at, by, body),
    };
    assert_eq!(
        at.store.entry_history(key).await.unwrap(),
        [
            version(1, START, "ana", "first"),
            version(2, START + MINUTE, "bo", "second")
        ]
    );
    // Another tenant's, another kind's and another name are none of it.
    for other in [
        EntryKey::new(Kind::Grant, "other", "g-1"),
        EntryKey::new(Kind::Token, "acme", "g-1"),
        grant("g-2"),
    ] {
        assert_eq!(at.store.entry(other.clone()).await.unwrap(), None);
        assert!(at.store.entry_history(other).await.unwrap().is_empty());
    }
}

async fn of_two_changes_of_one_version_one_is_made(at: Ready) {
    made(&at, vec![change(grant("g-1"), 0, "first")]).await;
    for stale in [0, 2, 7] {
        let wish = change(grant("g-1"), stale, "late");
        let answer = at.store.change(vec![wish]).await.unwrap();
        assert_eq!(answer, Registered::Stale, "read at {stale}");
    }
    let never = change(grant("g-9"), 3, "of nothing");
    let answer = at.store.change(vec![never]).await.unwrap();
    assert_eq!(answer, Registered::Stale);

    let mut running = Vec::new();
    for n in 0..16 {
        let (store, key) = (at.store.clone(), grant("g-1"));
        running.push(tokio::spawn(async move {
            let body = format!("racer {n}");
            store.change(vec![change(key, 1, &body)]).await.unwrap()
        }));
    }
    let mut won = 0;
    for racer in running {
        won += u32::from(racer.await.unwrap() != Registered::Stale);
    }
    assert_eq!(won, 1);
    assert_eq!(body(&at, grant("g-1")).await.unwrap().0, 2);
    let kept = at.store.entry_history(grant("g-1")).await.unwrap();
    assert_eq!(kept.len(), 2);
}

async fn changes_that_belong_together_are_made_together(at: Ready) {
    made(
        &at,
        vec![change(grant("a"), 0, "1"), change(grant("b"), 0, "1")],
    )
    .await;
    let one_stale = vec![change(grant("a"), 1, "2"), change(grant("b"), 0, "2")];
    let answer = at.store.change(one_stale).await.unwrap();
    assert_eq!(answer, Registered::Stale);
    let twice = vec![change(grant("a"), 1, "2"), change(grant("a"), 1, "3")];
    let answer = at.store.change(twice).await.unwrap();
    assert_eq!(answer, Registered::Stale, "one entry changes once");
    assert_eq!(body(&at, grant("a")).await, Some((1, "1".to_owned())));
    assert_eq!(at.store.entry_history(grant("a")).await.unwrap().len(), 1);
}

async fn entries_are_listed_by_tenant_label_and_time(at: Ready) {
    let mut changes = Vec::new();
    for (n, tenant) in ["zeta", "acme", "acme", "acme"].into_iter().enumerate() {
        let span = Span::from_secs(i64::try_from(10 - n).unwrap());
        changes.push(Change {
            label: (n % 2 == 0).then(|| "even".to_owned()),
            due: (n > 0).then_some(START + span),
            ..change(EntryKey::new(Kind::Usage, tenant, n.to_string()), 0, "x")
        });
    }
    changes.push(change(grant("0"), 0, "another kind"));
    made(&at, changes).await;
    let ids = |entries: Vec<Entry>| -> Vec<String> {
        let ids = entries.into_iter().map(|entry| entry.key);
        ids.map(|key| format!("{}/{}", key.tenant, key.id))
            .collect()
    };
    let all = || EntryFilter::of(Kind::Usage);
    let list = async |filter| ids(at.store.entries(filter).await.unwrap());
    assert_eq!(list(all()).await, ["acme/1", "acme/2", "acme/3", "zeta/0"]);
    let of_acme = EntryFilter {
        tenant: Some("acme".to_owned()),
        limit: 2,
        ..all()
    };
    assert_eq!(list(of_acme.clone()).await, ["acme/1", "acme/2"]);
    let behind = EntryFilter {
        after: Some(("acme".to_owned(), "2".to_owned())),
        ..of_acme.clone()
    };
    assert_eq!(list(behind).await, ["acme/3"]);
    let even = EntryFilter {
        label: Some("even".to_owned()),
        ..all()
    };
    assert_eq!(list(even.clone()).await, ["acme/2", "zeta/0"]);
    let even_of_acme = EntryFilter {
        tenant: Some("acme".to_owned()),
        ..even
    };
    assert_eq!(list(even_of_acme).await, ["acme/2"]);
    let until = START + Span::from_secs(8);
    let due = at.store.entries_due(Kind::Usage, until, 9).await.unwrap();
    assert_eq!(ids(due), ["acme/3", "acme/2"], "soonest first");
    let due = at.store.entries_due(Kind::Usage, until, 1).await.unwrap();
    assert_eq!(ids(due), ["acme/3"]);
}

async fn entries_that_are_no_authority_can_be_forgotten(at: Ready) {
    let usage = |id: &str| EntryKey::new(Kind::Usage, "acme", id);
    made(
        &at,
        vec![change(usage("old"), 0, "1"), change(usage("used"), 0, "1")],
    )
    .await;
    at.clock.pass(MINUTE);
    made(&at, vec![change(usage("used"), 1, "2")]).await;
    let forget = |kind| at.store.forget_entries(kind, START + MINUTE, 10);
    assert_eq!(forget(Kind::Usage).await.unwrap(), 1);
    assert_eq!(body(&at, usage("old")).await, None);
    assert!(
        at.store
            .entry_history(usage("old"))
            .await
            .unwrap()
            .is_empty()
    );
    assert_eq!(
        at.store.entry_history(usage("used")).await.unwrap().len(),
        2
    );
    assert!(forget(Kind::Grant).await.is_err(), "authority is kept");
}

async fn each_change_of_authority_makes_an_edition(at: Ready) {
    let start = at.store.edition().await.unwrap();
    let usage = EntryKey::new(Kind::Usage, "acme", "u");
    assert_eq!(made(&at, vec![change(usage, 0, "1")]).await, start);
    let two = vec![change(grant("a"), 0, "1"), change(grant("b"), 0, "1")];
    assert_eq!(made(&at, two).await, start + 1, "one for both");
    at.store
        .change(vec![change(grant("a"), 0, "stale")])
        .await
        .unwrap();
    assert_eq!(at.store.edition().await.unwrap(), start + 1);
}

async fn an_action_and_its_entry_are_one_transaction(at: Ready) {
    made(&at, vec![change(beside(1), 0, "open")]).await;
    let with = |n, entries| Admission {
        entries,
        ..admission(n)
    };
    let stale = at.store.admit(with(1, vec![change(beside(1), 2, "taken")]));
    assert!(matches!(stale.await.unwrap(), Admitted::Stale));
    assert!(at.store.counts().await.unwrap().is_empty());

    let record = at
        .create(with(1, vec![change(beside(1), 1, "taken")]))
        .await;
    let taken = Some((2, "taken".to_owned()));
    assert_eq!(body(&at, beside(1)).await, taken);
    // A repeat joins, and changes nothing a second time.
    let again = at.store.admit(with(1, vec![change(beside(1), 1, "taken")]));
    let Admitted::Joined(joined) = again.await.unwrap() else {
        panic!("a repeat joins");
    };
    assert_eq!((joined.id(), joined.version), (record.id(), 1));
    assert_eq!(body(&at, beside(1)).await, taken);

    // An entry may be made with its action, and it lies where the action lies.
    at.create(with(2, vec![change(beside(2), 0, "new")])).await;
    assert_eq!(body(&at, beside(2)).await, Some((1, "new".to_owned())));
    let lane = admission(3).action.identity_hash.lane();
    let elsewhere = EntryKey::beside(Lane(lane.0 ^ 1), Kind::Usage, "default", "e");
    let refused = at.store.admit(with(3, vec![change(elsewhere, 0, "x")]));
    assert!(refused.await.is_err());
    let authority = EntryKey::beside(lane, Kind::Grant, "default", "g");
    let refused = at.store.admit(with(3, vec![change(authority, 0, "x")]));
    assert!(refused.await.is_err());
    assert_eq!(at.store.counts().await.unwrap().values().sum::<u64>(), 2);
}

async fn two_that_approve_at_once_make_one_action(at: Ready) {
    let mut running = Vec::new();
    for n in 1..=20 {
        made(&at, vec![change(beside(n), 0, "open")]).await;
        for side in 0..2 {
            let store = at.store.clone();
            running.push(tokio::spawn(async move {
                let wish = Admission {
                    entries: vec![change(beside(n), 1, &format!("approved by {side}"))],
                    ..admission(n)
                };
                let admitted = store.admit(wish).await.unwrap();
                u64::from(matches!(admitted, Admitted::Created(..)))
            }));
        }
    }
    let mut created = 0;
    for one in running {
        created += one.await.unwrap();
    }
    assert_eq!(created, 20);
    for n in 1..=20 {
        assert_eq!(body(&at, beside(n)).await.unwrap().0, 2);
    }
}

async fn what_was_decided_under_another_edition_is_not_written(at: Ready) {
    let before = at.store.edition().await.unwrap();
    let record = at
        .create(Admission {
            under: Some(before),
            ..admission(1)
        })
        .await;
    let (claim, _) = at.hold(&record).await;
    let claim = claim.under(before);
    let now = made(&at, vec![change(grant("g"), 0, "revoked")]).await;

    let marked = at
        .store
        .commit(&claim, vec![mark(1, START)], next("wait", Some(START)));
    assert!(matches!(marked.await.unwrap(), Committed::Stale));
    assert!(at.read(&record).await.known.is_empty());
    let late = at.store.admit(Admission {
        under: Some(before),
        ..admission(2)
    });
    assert!(matches!(late.await.unwrap(), Admitted::Stale));
    // A repeat of what was recorded joins under any edition.
    let repeat = at.store.admit(Admission {
        under: Some(before),
        ..admission(1)
    });
    assert!(matches!(repeat.await.unwrap(), Admitted::Joined(_)));

    // Decided anew, it is written; and what lets nothing begin never asked.
    let review = at.store.commit(&claim, vec![], next("review", None));
    let Committed::Durable(recorded) = review.await.unwrap() else {
        panic!("no mark is in it");
    };
    let claim = claim.at_version(recorded.version).under(now);
    let marked = at
        .store
        .commit(&claim, vec![mark(1, START)], next("wait", Some(START)));
    assert!(matches!(marked.await.unwrap(), Committed::Durable(_)));
}
