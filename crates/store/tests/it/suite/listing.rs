//! What is due, what there is, and how many.

use std::collections::BTreeMap;

use factum_core::evidence::AnswerClass;
use factum_core::{Span, State};
use factum_store::{Action, Admission, FOR_WORKERS, Filter, NextRow};

use super::{Ready, on_each_store};
use crate::fixtures::{MINUTE, START, action, admission, answered, lost, mark, next, submission};

on_each_store!(
    due_rows_come_soonest_first_and_page_by_page,
    what_waits_for_workers_is_found_by_destination_soonest_first,
    a_decision_moves_or_removes_the_due_row,
    listings_filter_by_every_member,
    listings_continue_behind_their_last_row,
    counts_are_by_state_and_step,
);

async fn due_rows_come_soonest_first_and_page_by_page(at: Ready) {
    let mut wanted = Vec::new();
    for n in 0..20u64 {
        // Several share an instant, and order by id then.
        let due = START + Span::from_secs(i64::try_from((n * 7) % 5).unwrap());
        let record = at
            .create(Admission {
                next: next("send", Some(due)),
                ..admission(n)
            })
            .await;
        wanted.push((due, record.id()));
    }
    wanted.sort();
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let page = at.store.due(after, 6).await.unwrap();
        assert!(page.iter().all(|row| row.destination == "helpdesk"));
        seen.extend(page.iter().map(|row| (row.at, row.action)));
        after = seen.last().copied();
        if page.len() < 6 {
            break;
        }
    }
    assert_eq!(seen, wanted);
    assert!(at.store.due(None, 0).await.unwrap().is_empty());
}

async fn what_waits_for_workers_is_found_by_destination_soonest_first(at: Ready) {
    let waits = |n: i64| NextRow {
        why: FOR_WORKERS.to_owned(),
        ..next("send", Some(START + Span::from_secs(n % 5)))
    };
    let mut wanted = Vec::new();
    for n in 0..14u64 {
        let n_signed = i64::try_from(n).unwrap();
        let mut admission = admission(n);
        if n % 3 == 0 {
            admission.next = next("send", Some(START));
        } else {
            admission.next = waits(n_signed);
            wanted.push((
                START + Span::from_secs(n_signed % 5),
                admission.action.intent.action,
            ));
        }
        if n == 13 {
            admission.action.scope.destination = "acme/helpdesk".to_owned();
            wanted.pop();
        }
        at.create(admission).await;
    }
    wanted.sort();
    let mut seen = Vec::new();
    loop {
        let after = seen.last().copied();
        let store = &at.store;
        let page = store.for_workers("helpdesk".to_owned(), after, 4).await;
        let page = page.unwrap();
        seen.extend(page.iter().map(|row| (row.at, row.action)));
        if page.len() < 4 {
            break;
        }
    }
    assert_eq!(seen, wanted);
    let other = at.store.for_workers("acme/helpdesk".to_owned(), None, 9);
    assert_eq!(other.await.unwrap().len(), 1);
    assert!(
        (at.store.for_workers("crm".to_owned(), None, 9).await)
            .unwrap()
            .is_empty()
    );
}

async fn a_decision_moves_or_removes_the_due_row(at: Ready) {
    let record = at.create(admission(1)).await;
    let (claim, _) = at.hold(&record).await;
    let later = START + MINUTE;
    at.store
        .commit(&claim, vec![mark(1, START)], next("wait", Some(later)))
        .await
        .unwrap();
    let due = at.store.due(None, 9).await.unwrap();
    assert_eq!(due.iter().map(|row| row.at).collect::<Vec<_>>(), [later]);
    at.clock.pass(Span::from_secs(3));
    at.store
        .record(record.id(), vec![answered(1, AnswerClass::Done)])
        .await
        .unwrap();
    let due = at.store.due(None, 9).await.unwrap();
    let at_once = START + Span::from_secs(3);
    assert_eq!(due.iter().map(|row| row.at).collect::<Vec<_>>(), [at_once]);
    let claim = claim.at_version(3);
    at.store
        .commit(&claim, Vec::new(), next("none", None))
        .await
        .unwrap();
    assert!(at.store.due(None, 9).await.unwrap().is_empty());
}

fn changed(n: u64, change: impl FnOnce(&mut Action)) -> Admission {
    let mut action = action(&format!("key-{n}"), "broken", n);
    change(&mut action);
    submission(action)
}

/// A filter by what `set` sets.
fn only(set: impl FnOnce(&mut Filter)) -> Filter {
    let mut filter = Filter {
        limit: 50,
        ..Filter::default()
    };
    set(&mut filter);
    filter
}

fn word(text: &str) -> Option<String> {
    Some(text.to_owned())
}

async fn listings_filter_by_every_member(at: Ready) {
    let mut ids = vec![at.create(admission(0)).await.id()];
    for wish in [
        changed(1, |a| a.scope.tenant = "other".to_owned()),
        changed(2, |a| a.scope.destination = "billing".to_owned()),
        changed(3, |a| a.content.conversation = None),
        Admission {
            facts: vec![mark(1, START), lost(1)],
            next: next("review", None),
            ..admission(4)
        },
    ] {
        ids.push(at.create(wish).await.id());
    }
    let cases: [(Filter, &[usize]); 11] = [
        (only(|_| {}), &[4, 3, 2, 1, 0]),
        (only(|f| f.tenant = word("other")), &[1]),
        (only(|f| f.tenant = word("nobody")), &[]),
        (only(|f| f.destination = word("billing")), &[2]),
        (only(|f| f.key = word("key-3")), &[3]),
        (only(|f| f.conversation = word("conv-91")), &[4, 2, 1, 0]),
        (only(|f| f.state = Some(State::OutcomeUnknown)), &[4]),
        (only(|f| f.next = word("review")), &[4]),
        (
            only(|f| {
                f.next = word("send");
                f.state = Some(State::Pending);
                f.destination = word("helpdesk");
            }),
            &[3, 1, 0],
        ),
        (
            only(|f| {
                f.key = word("key-4");
                f.tenant = word("other");
            }),
            &[],
        ),
        (
            only(|f| {
                f.conversation = word("conv-91");
                f.next = word("review");
            }),
            &[4],
        ),
    ];
    for (filter, wanted) in cases {
        let listed = at.store.list(filter.clone()).await.unwrap();
        let seen: Vec<_> = listed.iter().map(factum_store::Record::id).collect();
        let wanted: Vec<_> = wanted.iter().map(|n| ids[*n]).collect();
        assert_eq!(seen, wanted, "{filter:?}");
    }
}

async fn listings_continue_behind_their_last_row(at: Ready) {
    let mut made = Vec::new();
    for n in 0..7 {
        made.push(at.create(admission(n)).await.id());
    }
    made.reverse();
    for filter in [
        Filter::default(),
        Filter {
            state: Some(State::Pending),
            ..Filter::default()
        },
        Filter {
            conversation: Some("conv-91".to_owned()),
            ..Filter::default()
        },
    ] {
        let mut seen = Vec::new();
        loop {
            let page = at
                .store
                .list(Filter {
                    before: seen.last().copied(),
                    limit: 3,
                    ..filter.clone()
                })
                .await
                .unwrap();
            seen.extend(page.iter().map(factum_store::Record::id));
            if page.len() < 3 {
                break;
            }
        }
        assert_eq!(seen, made);
    }
}

async fn counts_are_by_state_and_step(at: Ready) {
    for n in 0..3 {
        at.create(admission(n)).await;
    }
    at.create(Admission {
        facts: vec![mark(1, START), lost(1)],
        next: next("review", None),
        ..admission(3)
    })
    .await;
    let key = |state: &str, step: &str| (state.to_owned(), step.to_owned());
    assert_eq!(
        at.store.counts().await.unwrap(),
        BTreeMap::from([
            (key("pending", "send"), 3),
            (key("outcome_unknown", "review"), 1)
        ])
    );
}
