//! Tampering: whoever changes evidence in the file is found, also with rows that the store itself wrote elsewhere.

use std::path::Path;

use factum_core::ActionId;
use factum_core::evidence::AnswerClass;
use factum_store::sqlite::{SqliteStore, Subject, verify};
use factum_store::verify::{Finding, Listed};
use factum_store::{Admission, Admitted, Census, Claimed, Head, Purge, Purged, Store, Take};
use rusqlite::Connection;
use rusqlite::types::Value;

use super::{database, open_in, options};
use crate::fixtures::{
    MINUTE, START, TestClock, WORKER, action, admission, answered, lost, mark, next, submission,
};

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

/// Turns the nth byte of one column of this record in every action at once, verifies the file, and turns it back; gives how many
/// actions were not found, of how many.
fn turned(
    (folder, hand): (&Path, &Connection),
    rows: &[(ActionId, Value, Value)],
    (no, column, n): (u64, &str, usize),
) -> (usize, usize) {
    let sets = |to: &str| format!("UPDATE evidence SET {column} = {to} WHERE sum = ?2");
    let set = |to: &str, value: &Value, sum: &Value| {
        let changed = hand.execute(&sets(to), rusqlite::params![value, sum]);
        assert_eq!(changed.unwrap(), 1);
    };
    // A row whose key is changed is another row: it is found again by what no other row has.
    let now = |sum: &Value, value: &Value| {
        if column == "sum" {
            value.clone()
        } else {
            sum.clone()
        }
    };
    let all: Vec<_> = rows
        .iter()
        .filter_map(|(id, written, sum)| Some((id, written, sum, flipped(written, n)?)))
        .collect();
    hand.execute_batch("BEGIN").unwrap();
    for (_, _, sum, (value, as_text)) in &all {
        set(if *as_text { "CAST(?1 AS TEXT)" } else { "?1" }, value, sum);
    }
    hand.execute_batch("COMMIT").unwrap();
    let found = verify(&options(folder, &TestClock::new()), Subject::Store, None).unwrap();
    let is_found = |id: ActionId| {
        let about = |one: &&Finding| one.action == Some(id);
        found.findings.iter().find(about).is_some_and(|one| {
            // What is in its place is named; a record that is not in its place any more leaves a gap.
            matches!(column, "lane" | "action" | "no") || one.record == Some(no)
        })
    };
    let missed = all.iter().filter(|(id, ..)| !is_found(**id)).count();
    hand.execute_batch("BEGIN").unwrap();
    for (_, written, sum, (value, _)) in &all {
        set("?1", written, &now(sum, value));
    }
    hand.execute_batch("COMMIT").unwrap();
    (missed, all.len())
}

/// Turns every byte of this record of evidence, in a hundred actions.
async fn every_byte_is_found(no: u64) {
    const ACTIONS: u32 = 100;
    let files = tempfile::tempdir().unwrap();
    let store = filled(files.path(), ACTIONS.into()).await;
    let hand = hand(files.path());
    let (mut missed, mut tried) = (0, 0);
    for column in COLUMNS {
        let read = format!("SELECT action, {column}, sum FROM evidence WHERE no = ?1");
        let mut statement = hand.prepare(&read).unwrap();
        let rows: Vec<(ActionId, Value, Value)> = statement
            .query_map([i64::try_from(no).unwrap()], |row| {
                Ok((ActionId::from_bytes(row.get(0)?), row.get(1)?, row.get(2)?))
            })
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        for n in 0.. {
            let (more_missed, more) = turned((files.path(), &hand), &rows, (no, column, n));
            if more == 0 {
                break;
            }
            missed += more_missed;
            tried += more;
        }
    }
    assert!(tried > 25_000, "{tried}");
    assert_eq!(missed, 0, "of {tried} changed bytes");
    let verified = store.verify_all().await.unwrap();
    assert_eq!(
        (verified.actions, verified.findings),
        (ACTIONS.into(), Vec::new())
    );
}

#[tokio::test]
async fn every_byte_of_a_first_record_that_is_turned_is_found_and_named_in_each_of_a_hundred_actions()
 {
    every_byte_is_found(1).await;
}

#[tokio::test]
async fn every_byte_of_a_second_record_that_is_turned_is_found_and_named_in_each_of_a_hundred_actions()
 {
    every_byte_is_found(2).await;
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
    assert_eq!(sound.findings, Vec::new());

    let hand = hand(here.path());
    hand.execute("ATTACH ?1 AS theirs", [database(there.path()).to_str()])
        .unwrap();
    hand.execute_batch("DELETE FROM evidence WHERE no = 3; INSERT INTO evidence SELECT * FROM theirs.evidence WHERE no = 3;")
        .unwrap();
    let verified = ours.verify_all().await.unwrap();
    let found = &verified.findings[0];
    assert_eq!((found.action, found.record), (Some(id), None));
    let how = &found.how;
    assert!(how.contains("does not end where its chain does"), "{how}");
}

/// One settled action for each key, whose intent was formed at the start.
async fn settled(store: &SqliteStore, keys: &[&str]) -> Vec<ActionId> {
    let mut ids = Vec::new();
    for (key, n) in keys.iter().zip(1..) {
        let mut new = action(key, "body", n);
        new.intent.intent_at = Some(START);
        let Admitted::Created(record, _) = store.admit(submission(new)).await.unwrap() else {
            panic!("new")
        };
        let id = record.id();
        let Claimed::Held(claim, _) = store.claim(id, WORKER, MINUTE).await.unwrap() else {
            panic!("free")
        };
        let facts = vec![mark(1, START), answered(1, AnswerClass::Done)];
        store
            .commit(&claim, facts, next("none", None))
            .await
            .unwrap();
        store.release(claim).await.unwrap();
        ids.push(id);
    }
    ids
}

/// Takes this action away.
async fn take_away(store: &SqliteStore, id: ActionId) {
    let record = store.load(id).await.unwrap().unwrap();
    let wish = Purge {
        action: id,
        version: record.version,
        take: Take::Action,
        note: "purged: kept for a day".to_owned(),
        entries: Vec::new(),
    };
    let edition = store.edition().await.unwrap();
    let done = store.purge(vec![wish], edition).await.unwrap();
    assert_eq!(done, Purged::Done(vec![id]));
}

#[tokio::test]
async fn what_retention_takes_away_is_told_from_what_a_hand_takes_away() {
    let files = tempfile::tempdir().unwrap();
    let clock = TestClock::new();
    let store = open_in(files.path(), &clock).unwrap().store;
    let ids = settled(&store, &["stays", "purged", "forgotten", "removed"]).await;
    let census = store.census().await.unwrap();
    let heads: Vec<Head> = store.heads(None, 100).await.unwrap();
    assert_eq!(heads.len(), 4);
    let against = |heads: &[Head]| {
        let items: Vec<Result<Head, String>> = heads.iter().copied().map(Ok).collect();
        let listed = Listed::new(census, items.into_iter());
        verify(&options(files.path(), &clock), Subject::Store, Some(listed)).unwrap()
    };
    take_away(&store, ids[2]).await;
    let scope = store
        .remains(ids[2])
        .await
        .unwrap()
        .unwrap()
        .tombstone
        .scope;
    let gone = store.forget_identities(scope, START + MINUTE, 10).await;
    assert_eq!(gone.unwrap(), 1);
    take_away(&store, ids[1]).await;
    let kept = against(&heads);
    assert_eq!((kept.taken_away, kept.forgotten), (1, 1));
    assert_eq!(kept.findings, []);

    store.close().await.unwrap();

    // One is removed by hand with all its traces, and the tombstone of another one.
    let hand = hand(files.path());
    for (table, id) in [
        ("evidence WHERE action", ids[0]),
        ("standing WHERE id", ids[0]),
        ("action WHERE id", ids[0]),
        ("tombstone WHERE action", ids[1]),
    ] {
        let remove = format!("DELETE FROM {table} = ?1");
        assert!(hand.execute(&remove, [id.to_bytes()]).unwrap() > 0);
    }
    let verified = against(&heads);
    let found: Vec<_> = (verified.findings.iter())
        .filter_map(|one| one.action)
        .collect();
    assert_eq!((found, verified.forgotten), (vec![ids[0], ids[1]], 1));
}

#[tokio::test]
async fn a_head_that_the_store_does_not_go_through_and_a_foreign_store_are_found() {
    let files = tempfile::tempdir().unwrap();
    let clock = TestClock::new();
    let store = open_in(files.path(), &clock).unwrap().store;
    let ids = settled(&store, &["one", "other"]).await;
    let census = store.census().await.unwrap();
    let heads = store.heads(None, 100).await.unwrap();
    let against = |items: Vec<Result<Head, String>>| {
        let listed = Listed::new(census, items.into_iter());
        verify(&options(files.path(), &clock), Subject::Store, Some(listed)).unwrap()
    };
    // Another action's head, one that is longer, and a list that cannot be read.
    let other = Head {
        link: heads[1].link,
        ..heads[0]
    };
    let longer = Head {
        records: heads[0].records + 1,
        ..heads[0]
    };
    for (head, how) in [
        (other, "is another one"),
        (longer, "where the checkpoint lists 3"),
    ] {
        let found = against(vec![Ok(head)]).findings;
        assert_eq!((found.len(), found[0].action), (1, Some(ids[0])));
        assert!(found[0].how.contains(how), "{found:?}");
    }
    let unread = against(vec![Err("cannot read it".to_owned())]).findings;
    assert_eq!(unread[0].how, "cannot read it");
    let foreign = Census {
        store: [7; 16],
        ..census
    };
    let listed = Listed::new(foreign, std::iter::empty());
    let foreign = verify(&options(files.path(), &clock), Subject::Store, Some(listed)).unwrap();
    assert!(
        foreign.findings[0].how.contains("another store"),
        "{foreign:?}"
    );
}
