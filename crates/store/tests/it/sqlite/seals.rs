//! Sealing: what stands in the file, a change of keys under load, and an older key's end.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, RwLock};

use factum_core::Fact;
use factum_core::evidence::{Callback, Receipt};
use factum_store::seal::{KeyNumber, Ring, Seals};
use factum_store::sqlite::{Options, SqliteStore, count_sealed_rows};
use factum_store::{Change, EntryKey, Kind, Name, Reseal, Store};

use super::{database, options};
use crate::fixtures::{START, TestClock, action, admission, report, submission};

fn ring(numbers: &[KeyNumber]) -> Ring {
    let keys = numbers
        .iter()
        .map(|n| (*n, [u8::try_from(*n).unwrap(); 32]));
    Ring::new(keys.collect())
}

fn with(folder: &Path, clock: &TestClock, seals: Seals) -> SqliteStore {
    let options = Options {
        seals,
        ..options(folder, clock)
    };
    SqliteStore::open(options).unwrap().store
}

/// Everything that stands in the folder.
fn bytes(folder: &Path) -> Vec<u8> {
    let files = std::fs::read_dir(folder).unwrap();
    files
        .flat_map(|file| std::fs::read(file.unwrap().path()).unwrap())
        .collect()
}

fn holds(folder: &Path, text: &str) -> bool {
    let all = bytes(folder);
    all.windows(text.len()).any(|part| part == text.as_bytes())
}

/// An action, a fact, a report and an entry, each with the word in it.
async fn write(store: &SqliteStore, word: &str, n: u64) {
    let wish = submission(action(&format!("key-{n}"), word, n));
    let id = wish.action.intent.action;
    store.admit(wish).await.unwrap();
    let noted = Fact::Noted {
        text: format!("saw {word}"),
    };
    store.record(id, vec![noted]).await.unwrap();
    let name = Name::Reference(format!("ours-{n}"));
    let said = Callback::Positive(Receipt::new(format!("receipt-{word}")));
    let mut coming = report(u8::try_from(n % 250).unwrap(), vec![name], said);
    coming.body = format!("body {word}").into_bytes();
    store.deliver(coming, START).await.unwrap();
    let told = Change {
        key: EntryKey::new(Kind::Told, "default", format!("told-{n}")),
        expected: 0,
        body: format!("told {word}"),
        label: None,
        due: None,
        by: "ana".to_owned(),
        why: "a test".to_owned(),
    };
    store.change(vec![told]).await.unwrap();
}

#[tokio::test]
async fn nothing_of_the_content_stands_in_the_file() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), TestClock::new());
    let store = with(folder.path(), &clock, Seals::of(ring(&[1])));
    write(&store, "canary", 1).await;
    assert!(!holds(folder.path(), "canary"), "the log is read too");
    store.close().await.unwrap();
    assert!(!holds(folder.path(), "canary"));
    let clear = tempfile::tempdir().unwrap();
    let store = with(clear.path(), &clock, Seals::off());
    write(&store, "canary", 1).await;
    assert!(
        holds(clear.path(), "canary"),
        "the search finds what is there"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_change_under_load_and_the_old_one_is_gone_from_the_file() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), TestClock::new());
    // The first rows are in clear, as an earlier version wrote them.
    let store = with(folder.path(), &clock, Seals::off());
    write(&store, "early", 0).await;
    store.close().await.unwrap();
    let now = Arc::new(RwLock::new(ring(&[1])));
    let read = Arc::clone(&now);
    let seals = Seals::from_source(move || Ok(read.read().unwrap().clone())).unwrap();
    let store = Arc::new(with(folder.path(), &clock, seals.clone()));
    let load = tokio::spawn({
        let store = store.clone();
        async move {
            for n in 1..60 {
                write(&store, &format!("word-{n}"), n).await;
            }
        }
    });
    tokio::task::yield_now().await;
    *now.write().unwrap() = ring(&[1, 2]);
    seals.reload().unwrap();
    let mut from = Some(Reseal::default());
    while let Some(next) = from {
        from = store.reseal(next, 3).await.unwrap();
    }
    load.await.unwrap();
    assert_eq!(store.sealed_rows(Some(1)).await.unwrap(), 0);
    assert_eq!(store.sealed_rows(None).await.unwrap(), 0, "early rows too");
    store.scour().await.unwrap();
    let verified = store.verify_all().await.unwrap();
    assert_eq!((verified.findings.len(), verified.actions), (0, 60));
    store.close().await.unwrap();
    drop(store);
    assert!(!holds(folder.path(), "~1:1:") && !holds(folder.path(), "early"));
    let path = database(folder.path());
    assert!(count_sealed_rows(&path, Some(2)).unwrap() > 60);
    let store = with(folder.path(), &clock, Seals::of(ring(&[2])));
    for n in 0..60 {
        let word = if n == 0 {
            "early".to_owned()
        } else {
            format!("word-{n}")
        };
        let wish = action(&format!("key-{n}"), &word, n);
        let read = store.load(wish.intent.action).await.unwrap().unwrap();
        assert_eq!(*read.action, wish);
        assert!(read.chain.is_some(), "early ones have a chain now");
        assert_eq!(store.history(read.id()).await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn without_its_key_an_action_is_held_and_says_which_key_it_needs() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), TestClock::new());
    let store = with(folder.path(), &clock, Seals::of(ring(&[1])));
    let id = admission(1).action.intent.action;
    store.admit(admission(1)).await.unwrap();
    store.close().await.unwrap();
    let store = with(folder.path(), &clock, Seals::of(Ring::new(BTreeMap::new())));
    let error = store.load(id).await.unwrap_err();
    assert!(error.to_string().contains("sealed with key 1"), "{error}");
}
