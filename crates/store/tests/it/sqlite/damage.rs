//! Damage: each row that is not what was written is told, and the others go on.

use factum_core::ActionId;
use factum_core::evidence::{AnswerClass, Callback, Receipt};
use factum_store::sqlite::SqliteStore;
use factum_store::{Admission, Delivered, Filter, Name, ReportFilter, Store, StoreErrorKind};
use rusqlite::Connection;
use rusqlite::types::Value;

use super::{database, open_in};
use crate::fixtures::{START, TestClock, admission, answered, mark, next, report};

const TABLES: [(&str, &str); 3] = [("action", "id"), ("standing", "id"), ("evidence", "action")];

/// An open store with two actions, and a hand that changes its file behind its back.
struct Victim {
    store: SqliteStore,
    hand: Connection,
    victim: ActionId,
    other: ActionId,
    _files: tempfile::TempDir,
}

async fn victim() -> Victim {
    let files = tempfile::tempdir().unwrap();
    let store = open_in(files.path(), &TestClock::new()).unwrap().store;
    for n in 1..3 {
        let mut wish = Admission {
            facts: vec![mark(1, START), answered(1, AnswerClass::Unknown)],
            next: next("look_up", Some(START)),
            ..admission(n)
        };
        wish.action.content.subject = Some("ticket/77".to_owned());
        store.admit(wish).await.unwrap();
    }
    let hand = Connection::open(database(files.path())).unwrap();
    hand.execute_batch(
        "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF;
         DROP TRIGGER evidence_is_never_changed; DROP TRIGGER evidence_is_never_removed; DROP TRIGGER evidence_keeps_its_chain; DROP TRIGGER evidence_stays_sealed;",
    )
    .unwrap();
    Victim {
        store,
        hand,
        victim: admission(1).action.intent.action,
        other: admission(2).action.intent.action,
        _files: files,
    }
}

impl Victim {
    async fn is_told(&self, what: &str) {
        let error = self.store.load(self.victim).await.expect_err(what);
        assert!(
            matches!(error.kind, StoreErrorKind::Corrupt { .. }),
            "{what}: {error}"
        );
        let other = self.store.load(self.other).await.expect(what);
        assert!(other.is_some(), "{what}");
    }

    /// The columns of a table.
    fn columns(&self, table: &str) -> Vec<String> {
        let mut statement = self
            .hand
            .prepare("SELECT name FROM pragma_table_info(?1)")
            .unwrap();
        let names = statement.query_map([table], |row| row.get(0)).unwrap();
        names.collect::<Result<_, _>>().unwrap()
    }

    /// The first row of the victim: its columns and their values.
    fn value(&self, table: &str, key: &str, column: &str) -> (i64, Value) {
        self.hand
            .query_row(
                &format!(
                    "SELECT {}, {column} FROM {table} WHERE {key} = ?1",
                    number(table)
                ),
                [self.victim.to_bytes()],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .unwrap()
    }
}

/// A column that tells rows of one action apart in a statement.
fn number(table: &str) -> &'static str {
    if table == "evidence" { "no" } else { "0" }
}

/// Every value that differs from this one in one byte.
fn flips(value: &Value) -> Vec<Value> {
    let each = |bytes: &[u8]| -> Vec<Vec<u8>> {
        (0..bytes.len())
            .map(|at| {
                let mut changed = bytes.to_vec();
                changed[at] ^= 0x01;
                changed
            })
            .collect()
    };
    match value {
        Value::Null => vec![Value::Blob(vec![0])],
        Value::Integer(number) => (0..8)
            .map(|byte| Value::Integer(number ^ (1 << (byte * 8))))
            .collect(),
        Value::Real(_) => panic!("there are no such columns"),
        // A flipped low bit of ASCII stays ASCII.
        Value::Text(text) => each(text.as_bytes())
            .into_iter()
            .map(|bytes| Value::Text(String::from_utf8(bytes).unwrap()))
            .collect(),
        Value::Blob(bytes) => each(bytes).into_iter().map(Value::Blob).collect(),
    }
}

#[tokio::test]
async fn any_flipped_byte_of_any_column_is_told_for_that_action_only() {
    let at = victim().await;
    let mut flipped = 0;
    for (table, key) in TABLES {
        for column in at.columns(table) {
            let (no, value) = at.value(table, key, &column);
            let change = |hand: &Connection, to: &Value, from: &Value| {
                // The row is found by its other columns and, where it is the changed one, by the value that it has.
                let text = format!(
                    "UPDATE {table} SET {column} = ?1 WHERE {column} IS ?2 AND {} = ?3 AND {} = ?4",
                    if column == key { "1" } else { key },
                    number(table)
                );
                let by = if column == key {
                    Value::Integer(1)
                } else {
                    Value::Blob(at.victim.to_bytes().to_vec())
                };
                let no = if column == "no" { to_number(from) } else { no };
                hand.execute(&text, rusqlite::params![to, from, by, no])
                    .unwrap()
            };
            for bad in flips(&value) {
                let what = format!("{table}.{column}: {value:?} became {bad:?}");
                assert!(change(&at.hand, &bad, &value) >= 1, "{what}");
                at.is_told(&what).await;
                assert!(change(&at.hand, &value, &bad) >= 1, "{what}");
                flipped += 1;
            }
        }
    }
    assert!(flipped > 1_000, "{flipped}");
    assert!(
        at.store.load(at.victim).await.unwrap().is_some(),
        "all was put back"
    );
}

fn to_number(value: &Value) -> i64 {
    match value {
        Value::Integer(number) => *number,
        other => panic!("{other:?} is no number"),
    }
}

#[tokio::test]
async fn a_row_that_was_taken_out_is_told() {
    for (table, key) in TABLES {
        let at = victim().await;
        let gone = at
            .hand
            .execute(
                &format!(
                    "DELETE FROM {table} WHERE {key} = ?1 AND {} IN (0, 2)",
                    number(table)
                ),
                [at.victim.to_bytes()],
            )
            .unwrap();
        assert_eq!(gone, 1);
        at.is_told(table).await;
        let verified = at.store.verify_all().await.unwrap();
        let name = format!("action {}", at.victim);
        assert!(
            verified.findings.iter().any(|found| found.what == name),
            "{table}: {verified:?}"
        );
    }
}

#[tokio::test]
async fn a_row_of_another_action_in_its_place_is_told() {
    let at = victim().await;
    at.hand
        .execute(
            "UPDATE evidence SET (fact, kind, at, sum) =
                (SELECT fact, kind, at, sum FROM evidence e WHERE e.action = ?2 AND e.no = evidence.no)
             WHERE action = ?1",
            [at.victim.to_bytes(), at.other.to_bytes()],
        )
        .unwrap();
    at.is_told("evidence of another action").await;
}

#[tokio::test]
async fn listings_and_decisions_go_on_beside_a_damaged_action() {
    let at = victim().await;
    let damage = "UPDATE standing SET next_why = 'other' WHERE id = ?1";
    at.hand.execute(damage, [at.victim.to_bytes()]).unwrap();
    let filter = Filter {
        limit: 1,
        before: None,
        ..Filter::default()
    };
    let listed = at.store.list(Filter { limit: 2, ..filter }).await.unwrap();
    assert_eq!(
        listed.iter().map(|record| record.id()).collect::<Vec<_>>(),
        [at.other]
    );
    let due = at.store.due(None, 1).await.unwrap();
    assert_eq!(
        due.iter().map(|row| row.action).collect::<Vec<_>>(),
        [at.other]
    );
    assert_eq!(
        at.store.damaged().into_keys().collect::<Vec<_>>(),
        [at.victim]
    );
    let verified = at.store.verify_all().await.unwrap();
    assert_eq!(
        (verified.actions, verified.findings.len()),
        (2, 1),
        "{verified:?}"
    );
}

#[tokio::test]
async fn a_damaged_action_takes_no_decision_and_no_evidence() {
    let files = tempfile::tempdir().unwrap();
    let clock = TestClock::new();
    let store = open_in(files.path(), &clock).unwrap().store;
    store.admit(admission(1)).await.unwrap();
    store.close().await.unwrap();
    drop(store);
    let id = admission(1).action.intent.action;
    let hand = Connection::open(database(files.path())).unwrap();
    let damage = "UPDATE action SET payload = '{}' WHERE id = ?1";
    hand.execute(damage, [id.to_bytes()]).unwrap();
    drop(hand);
    let store = open_in(files.path(), &clock).unwrap().store;
    let claimed = store
        .claim(id, crate::fixtures::WORKER, crate::fixtures::MINUTE)
        .await;
    let recorded = store.record(id, vec![mark(1, START)]).await;
    let repeated = store.admit(admission(1)).await;
    for error in [
        claimed.map(|_| ()),
        recorded.map(|_| ()),
        repeated.map(|_| ()),
    ] {
        let error = error.unwrap_err();
        assert!(
            matches!(error.kind, StoreErrorKind::Corrupt { .. }),
            "{error}"
        );
        assert!(error.to_string().contains(&id.to_string()), "{error}");
    }
    assert!(matches!(
        store.admit(admission(2)).await.unwrap(),
        factum_store::Admitted::Created(..)
    ));
}

// A report that is not what came in is evidence about nothing, and a name that is not what was written leads nowhere.
#[tokio::test]
async fn damaged_reports_and_names_are_left_out_and_told() {
    for (table, column, value) in [
        ("report", "readings", "readings || ' '"),
        ("report", "tenant", "'acme'"),
        ("report", "lane", "NULL"),
        ("known_by", "action", "zeroblob(16)"),
        ("known_by", "sum", "zeroblob(16)"),
    ] {
        let files = tempfile::tempdir().unwrap();
        let store = open_in(files.path(), &TestClock::new()).unwrap().store;
        store.admit(admission(1)).await.unwrap();
        let id = admission(1).action.intent.action;
        let name = |text: &str| Name::Reference(text.to_owned());
        store.know(id, vec![name("r-1")]).await.unwrap();
        for (n, wanted) in [(1, "r-1"), (2, "r-2")] {
            let receipt = Callback::Positive(Receipt::new(format!("T-{n}")));
            let coming = report(n, vec![name(wanted)], receipt);
            store.deliver(coming, START).await.unwrap();
        }
        let hand = Connection::open(database(files.path())).unwrap();
        hand.execute_batch("PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF;")
            .unwrap();
        let attack = format!("UPDATE {table} SET {column} = {value}");
        assert!(hand.execute(&attack, []).unwrap() >= 1, "{attack}");
        let verified = store.verify_all().await.unwrap();
        assert!(!verified.findings.is_empty(), "{attack}: {verified:?}");
        let all = ReportFilter {
            tenant: "default".to_owned(),
            unmatched: false,
            before: None,
            limit: 9,
        };
        let listed = store.reports(all).await.unwrap();
        let third = report(
            3,
            vec![name("r-1")],
            Callback::Reversed {
                why: attack.clone(),
            },
        );
        let delivered = store.deliver(third, START).await.unwrap();
        if table == "report" {
            assert!(listed.len() < 2, "{attack}");
            assert_eq!(
                delivered,
                Delivered::Matched(id),
                "{attack}: the others go on"
            );
        } else {
            assert_eq!(delivered, Delivered::Unmatched, "{attack}");
        }
    }
}

/// A closed file with a kept contract, a setting and a restore, and a hand that changes it.
async fn small_tables() -> (tempfile::TempDir, Connection) {
    let files = tempfile::tempdir().unwrap();
    let store = open_in(files.path(), &TestClock::new()).unwrap().store;
    let text = "retention = 24 h".to_owned();
    store.keep_contract(CONTRACT, text).await.unwrap();
    let by = Some("ana".to_owned());
    store.set_setting("paused", by).await.unwrap();
    store.declare_restored(Some(START)).await.unwrap();
    store.release_restore("ana".to_owned()).await.unwrap();
    store.close().await.unwrap();
    let hand = Connection::open(database(files.path())).unwrap();
    hand.execute_batch("PRAGMA ignore_check_constraints = ON; PRAGMA synchronous = OFF;")
        .unwrap();
    (files, hand)
}

const CONTRACT: [u8; 32] = [1; 32];

// A changed byte of a kept contract would let an answer mean something else.
#[tokio::test]
async fn a_kept_contract_that_was_changed_is_told_and_not_read() {
    let (files, hand) = small_tables().await;
    hand.execute("UPDATE contract SET text = 'retention = 94 h'", [])
        .unwrap();
    let store = open_in(files.path(), &TestClock::new()).unwrap().store;
    let error = store.contract(CONTRACT).await.unwrap_err();
    let told = |kind: &StoreErrorKind| matches!(kind, StoreErrorKind::Corrupt { what, .. } if what.contains("contract 0101"));
    assert!(told(&error.kind), "{error}");
    let verified = store.verify_all().await.unwrap();
    assert_eq!(verified.findings.len(), 1, "{verified:?}");
}

// A damaged setting may be the one that holds all sends, under another name.
#[tokio::test]
async fn a_file_whose_settings_or_restore_were_changed_is_not_opened() {
    let (files, hand) = small_tables().await;
    for (table, columns) in [
        ("setting", &["name", "value", "sum"][..]),
        (
            "restore",
            &["copy_until", "at", "released_by", "released_at", "sum"],
        ),
    ] {
        for column in columns {
            let value = |hand: &Connection| -> Value {
                let text = format!("SELECT {column} FROM {table} WHERE rowid = 1");
                hand.query_row(&text, [], |row| row.get(0)).unwrap()
            };
            let put = |to: &Value| {
                let text = format!("UPDATE {table} SET {column} = ?1 WHERE rowid = 1");
                assert_eq!(hand.execute(&text, [to]).unwrap(), 1);
            };
            let good = value(&hand);
            for bad in flips(&good) {
                put(&bad);
                let what = format!("{table}.{column}: {good:?} became {bad:?}");
                let error = open_in(files.path(), &TestClock::new()).err().expect(&what);
                assert!(
                    matches!(error.kind, StoreErrorKind::Corrupt { .. }),
                    "{what}: {error}"
                );
                put(&good);
            }
        }
    }
    open_in(files.path(), &TestClock::new()).unwrap();
}

#[tokio::test]
async fn rows_of_an_earlier_version_get_their_checksums_when_they_are_opened() {
    let (files, hand) = small_tables().await;
    for table in ["contract", "setting", "restore"] {
        let text = format!("UPDATE {table} SET sum = NULL");
        assert_eq!(hand.execute(&text, []).unwrap(), 1);
    }
    let opened = open_in(files.path(), &TestClock::new()).unwrap();
    let paused = opened.store.setting("paused").await.unwrap();
    assert_eq!(paused.as_deref(), Some("ana"));
    assert!(opened.store.contract(CONTRACT).await.unwrap().is_some());
    assert!(opened.store.restore().await.unwrap().is_some());
    opened.store.close().await.unwrap();
    for table in ["contract", "setting", "restore"] {
        let text = format!("SELECT count(*) FROM {table} WHERE length(sum) = 16");
        let sealed: i64 = hand.query_row(&text, [], |row| row.get(0)).unwrap();
        assert_eq!(sealed, 1, "{table}");
    }
}
