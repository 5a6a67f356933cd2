//! What is purged is not in the file any more, nor in its log, and the file is smaller.

use factum_core::evidence::AnswerClass;
use factum_core::{Fact, Span};
use factum_store::{Admitted, Claimed, Purge, Purged, Store, Take};

use super::{database, open_in};
use crate::fixtures::{MINUTE, START, TestClock, WORKER, action, answered, mark, next, submission};

const CANARY: &str = "canary-in-a-coal-mine";

/// The bytes of the file and of its log.
fn bytes(folder: &std::path::Path) -> Vec<u8> {
    let file = database(folder);
    let mut log = file.clone().into_os_string();
    log.push("-wal");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes.extend(std::fs::read(log).unwrap_or_default());
    bytes
}

fn holds_canary(folder: &std::path::Path) -> bool {
    let bytes = bytes(folder);
    bytes
        .windows(CANARY.len())
        .any(|part| part == CANARY.as_bytes())
}

/// A file whose content is written as it is, with some hundred settled actions of some size.
async fn filled(folder: &std::path::Path) -> factum_store::sqlite::SqliteStore {
    let options = super::plain_options(folder, &TestClock::new());
    let store = factum_store::sqlite::SqliteStore::open(options)
        .unwrap()
        .store;
    for n in 0..100 {
        let body = format!("{CANARY} {}", "x".repeat(8_000));
        let wish = submission(action(&format!("key-{n}"), &body, n));
        let Admitted::Created(record, _) = store.admit(wish).await.unwrap() else {
            panic!("new")
        };
        let id = record.id();
        let claimed = store.claim(id, WORKER, MINUTE).await.unwrap();
        let Claimed::Held(claim, _) = claimed else {
            panic!("free")
        };
        let facts: Vec<Fact> = vec![mark(1, START), answered(1, AnswerClass::Done)];
        let none = next("none", None);
        store.commit(&claim, facts, none).await.unwrap();
        store.release(claim).await.unwrap();
    }
    store
}

async fn purge(store: &dyn Store, take: Take) {
    let end = START + Span::from_secs(86_400);
    let page = store.settled(None, end, 1_000).await.unwrap();
    assert_eq!(page.settled.len(), 100);
    let wishes = page.settled.iter().map(|(record, _)| Purge {
        action: record.id(),
        version: record.version,
        take,
        note: "content purged".to_owned(),
        entries: Vec::new(),
    });
    let purged = store.purge(wishes.collect(), 0).await.unwrap();
    assert!(matches!(purged, Purged::Done(done) if done.len() == 100));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn purged_bytes_are_gone_and_the_file_is_smaller() {
    for take in [Take::Content, Take::Action] {
        let folder = tempfile::tempdir().unwrap();
        let store = filled(folder.path()).await;
        assert!(holds_canary(folder.path()), "it is there before");
        store.compact().await.unwrap();
        let before = std::fs::metadata(database(folder.path())).unwrap().len();
        purge(&store, take).await;
        assert!(store.compact().await.unwrap() > 500_000);
        assert!(!holds_canary(folder.path()), "{take:?}");
        let after = std::fs::metadata(database(folder.path())).unwrap().len();
        assert!(after < before / 2, "{before} -> {after}");
        assert!(store.verify_all().await.unwrap().findings.is_empty());
        store.close().await.unwrap();
        let again = open_in(folder.path(), &TestClock::new()).unwrap();
        assert!(!again.restored, "{:?}", again.restored_because);
    }
}
