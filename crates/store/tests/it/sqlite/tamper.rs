//! Tampering: whoever changes evidence in the file is found, also with rows that the store itself wrote elsewhere.

use std::path::Path;

use factum_core::ActionId;
use factum_core::evidence::AnswerClass;
use factum_store::sqlite::SqliteStore;
use factum_store::{Admission, Store};
use rusqlite::Connection;
use rusqlite::types::Value;

use super::{database, open_in};
use crate::fixtures::{START, TestClock, admission, answered, lost, mark, next};

/// Columns of the table of evidence that hold something.
const COLUMNS: [&str; 8] = ["lane", "action", "no", "at", "kind", "fact", "chain", "sum"];

/// Records so many actions, each with two pieces of evidence.
async fn filled(folder: &Path, actions: u64) -> SqliteStore {
    let store = open_in(folder, &TestClock::new()).unwrap().store;
    for n in 1..=actions {
        let wish = Admission {
            facts: vec![mark(1, START), answered(1, AnswerClass::Unknown)],
            next: next("look_up", Some(START)),
            ..admission(n)
        };
        store.admit(wish).await.unwrap();
    }
    store
}

/// A hand that changes the file behind the store's back.
fn hand(folder: &Path) -> Connection {
    let hand = Connection::open(database(folder)).unwrap();
    hand.execute_batch(
        "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF;
         DROP TRIGGER evidence_is_never_changed; DROP TRIGGER evidence_is_never_removed;
         DROP TRIGGER evidence_keeps_its_chain; DROP TRIGGER evidence_stays_sealed;",
    )
    .unwrap();
    hand
}

/// The value with one bit of its nth byte the other way, while it has one.
fn flipped(value: &Value, n: usize) -> Option<(Value, bool)> {
    let turn = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        *bytes.get_mut(n)? ^= 1 << (n % 8);
        Some(bytes)
    };
    match value {
        Value::Integer(number) => {
            let bytes = turn(&number.to_be_bytes())?;
            let number = i64::from_be_bytes(bytes.try_into().unwrap());
            Some((Value::Integer(number), false))
        }
        Value::Text(text) => Some((Value::Blob(turn(text.as_bytes())?), true)),
        Value::Blob(bytes) => Some((Value::Blob(turn(bytes)?), false)),
        Value::Null | Value::Real(_) => None,
    }
}

/// Turns every byte of one column of one record, one after the other; gives how many were not noticed, and how many there were.
async fn column(
    (store, hand): (&SqliteStore, &Connection),
    (id, no): (ActionId, i64),
    column: &str,
) -> (u32, u32) {
    let (mut missed, mut tried) = (0, 0);
    let key = rusqlite::params![id.to_bytes(), no];
    let read = format!("SELECT {column} FROM evidence WHERE action = ?1 AND no = ?2");
    let written: Value = hand.query_row(&read, key, |row| row.get(0)).unwrap();
    // A row whose key is changed is another row: it is found again by what no other row has.
    let sum: Value = hand
        .query_row(
            "SELECT sum FROM evidence WHERE action = ?1 AND no = ?2",
            key,
            |row| row.get(0),
        )
        .unwrap();
    let mut n = 0;
    while let Some((value, as_text)) = flipped(&written, n) {
        let to = if as_text { "CAST(?1 AS TEXT)" } else { "?1" };
        let (there, back): (&Value, &Value) = if column == "sum" {
            (&sum, &value)
        } else {
            (&sum, &sum)
        };
        let change = format!("UPDATE evidence SET {column} = {to} WHERE sum = ?2");
        assert_eq!(
            hand.execute(&change, rusqlite::params![value, there])
                .unwrap(),
            1
        );
        missed += u32::from(store.load(id).await.is_ok_and(|found| found.is_some()));
        let change = format!("UPDATE evidence SET {column} = ?1 WHERE sum = ?2");
        assert_eq!(
            hand.execute(&change, rusqlite::params![written, back])
                .unwrap(),
            1
        );
        tried += 1;
        n += 1;
    }
    (missed, tried)
}

#[tokio::test]
async fn every_byte_of_the_evidence_of_a_hundred_actions_that_is_turned_is_noticed() {
    const ACTIONS: u32 = 100;
    let files = tempfile::tempdir().unwrap();
    let store = filled(files.path(), ACTIONS.into()).await;
    let hand = hand(files.path());
    let (mut missed, mut tried) = (0, 0);
    for n in 1..=ACTIONS {
        let id = admission(n.into()).action.intent.action;
        for (no, name) in [1, 2]
            .into_iter()
            .flat_map(|no| COLUMNS.map(|name| (no, name)))
        {
            let (more_missed, more) = column((&store, &hand), (id, no), name).await;
            missed += more_missed;
            tried += more;
        }
    }
    assert!(tried > 500 * ACTIONS, "{tried}");
    assert_eq!(missed, 0, "of {tried} changed bytes");
    let verified = store.verify_all().await.unwrap();
    assert_eq!(
        (verified.actions, verified.damaged),
        (ACTIONS.into(), Vec::new())
    );
}

// Both rows are sound and were written by this store, in two copies of it that went on differently.
#[tokio::test]
async fn a_record_from_another_copy_of_the_store_is_found_by_the_chain() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let id = admission(1).action.intent.action;
    let store = filled(here.path(), 1).await;
    store.close().await.unwrap();
    for entry in std::fs::read_dir(here.path()).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), there.path().join(entry.file_name())).unwrap();
        }
    }
    let clock = TestClock::new();
    let theirs = open_in(there.path(), &clock).unwrap().store;
    theirs
        .record(id, vec![answered(1, AnswerClass::Done)])
        .await
        .unwrap();
    let ours = open_in(here.path(), &clock).unwrap().store;
    ours.record(id, vec![lost(1)]).await.unwrap();
    let sound = ours.verify_all().await.unwrap();
    assert_eq!(sound.damaged, Vec::new());

    let hand = hand(here.path());
    hand.execute("ATTACH ?1 AS theirs", [database(there.path()).to_str()])
        .unwrap();
    hand.execute_batch("DELETE FROM evidence WHERE no = 3; INSERT INTO evidence SELECT * FROM theirs.evidence WHERE no = 3;")
        .unwrap();
    let verified = ours.verify_all().await.unwrap();
    let (what, how) = &verified.damaged[0];
    assert!(what.contains(&id.to_string()), "{what}");
    assert!(how.contains("does not end where its chain does"), "{how}");
}
