//! Notices where transactions overlap: none is lost, whichever is committed first.

use factum_core::evidence::AnswerClass;
use factum_store::{EntryKey, Kind, Store, Topic};
use std::sync::Arc;

use super::{Database, connect};
use crate::fixtures::{admission, answered, mark};
use crate::suite::register::change;

fn late(id: &str) -> EntryKey {
    EntryKey::new(Kind::Escalation, "default", id)
}

async fn said(store: &impl Store, after: u64) -> (Vec<String>, u64) {
    let page = store.notices(after, 1_000).await.unwrap();
    let abouts = page.notices.iter().map(|notice| notice.about.clone());
    (abouts.collect(), page.through)
}

// A reader that went past an open transaction would never hear of what it commits later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn what_an_open_transaction_commits_later_comes_later_and_is_not_lost() {
    let database = Database::make().await;
    let store = database.open(None).await;
    let client = connect(&database.url).await;
    client
        .batch_execute(
            "BEGIN; INSERT INTO factum.news (lane, tenant, about, version, topic, place, records, at)
             VALUES (7, 'default', 'slow', 1, 'contact.late', 1, 0, 1)",
        )
        .await
        .unwrap();
    store
        .change(vec![change(late("first"), 0, "{}")])
        .await
        .unwrap();
    let (seen, through) = said(&store, 0).await;
    assert_eq!(seen, ["first"], "it does not hold the others back");
    store
        .change(vec![change(late("second"), 0, "{}")])
        .await
        .unwrap();
    let (seen, through) = said(&store, through).await;
    assert_eq!(seen, ["second"]);
    client.batch_execute("COMMIT").await.unwrap();
    let (seen, through) = said(&store, through).await;
    assert_eq!(seen, ["slow"], "committed last, numbered last");
    // What is taken back was never numbered: there is no gap to wait at.
    client
        .batch_execute(
            "BEGIN; INSERT INTO factum.news (lane, tenant, about, version, topic, place, records, at)
             VALUES (7, 'default', 'never', 1, 'contact.late', 1, 0, 1); ROLLBACK",
        )
        .await
        .unwrap();
    store
        .change(vec![change(late("third"), 0, "{}")])
        .await
        .unwrap();
    assert_eq!(
        said(&store, through).await,
        (vec!["third".to_owned()], through + 1)
    );
}

// Whoever is numbering may stand still for long: then the others read what is numbered, and number nothing beside it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn of_several_readers_one_numbers() {
    let database = Database::make().await;
    let store = database.open(None).await;
    store
        .change(vec![change(late("first"), 0, "{}")])
        .await
        .unwrap();
    let client = connect(&database.url).await;
    client
        .batch_execute("BEGIN; SELECT factum.number_news(1000)")
        .await
        .unwrap();
    store
        .change(vec![change(late("second"), 0, "{}")])
        .await
        .unwrap();
    assert_eq!(said(&store, 0).await, (vec![], 0));
    client.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(said(&store, 0).await.0, ["first", "second"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn workers_that_write_while_others_read_are_heard_whole_and_in_order() {
    const ACTIONS: u64 = 60;
    let database = Database::make().await;
    let writers = [
        Arc::new(database.open(None).await),
        Arc::new(database.open(None).await),
    ];
    let mut writing = Vec::new();
    for (worker, store) in (0u64..).zip(&writers) {
        for n in (1..=ACTIONS).filter(|n| n % 2 == worker) {
            let store = Arc::clone(store);
            writing.push(tokio::spawn(async move {
                store.admit(admission(n)).await.unwrap();
                let id = admission(n).action.intent.action;
                let now = store.now().await.unwrap();
                for class in [AnswerClass::Accepted { object: None }, AnswerClass::Done] {
                    let facts = vec![mark(1, now), answered(1, class)];
                    store.record(id, facts).await.unwrap();
                }
            }));
        }
    }
    let reader = database.open(None).await;
    let (mut after, mut seen) = (0, Vec::new());
    while seen.len() < 2 * usize::try_from(ACTIONS).unwrap() {
        let page = reader.notices(after, 7).await.unwrap();
        after = page.through;
        seen.extend(page.notices);
    }
    for task in writing {
        task.await.unwrap();
    }
    for (no, notice) in (1..).zip(&seen) {
        assert_eq!(notice.no, no, "without gaps");
    }
    for n in 1..=ACTIONS {
        let id = admission(n).action.intent.action.to_string();
        let of_it = seen.iter().filter(|notice| notice.about == id);
        let topics: Vec<Topic> = of_it.map(|notice| notice.topic).collect();
        let wanted = ["action.accepted", "action.succeeded"];
        assert_eq!(
            topics.iter().map(|topic| topic.word()).collect::<Vec<_>>(),
            wanted
        );
    }
}
