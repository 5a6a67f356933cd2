//! Opening: what is made, what is refused, and what is noticed.

use std::path::Path;

use factum_core::Timestamp;
use factum_store::sqlite::{Options, SqliteStore, StoreKeys};
use factum_store::{Admitted, Delivered, Name, Store, StoreError, StoreErrorKind};

use super::{KEYS, database, open_in, options};
use crate::fixtures::{MINUTE, START, TestClock, admission, report, reversed};

/// The newest version of the schema.
const NEWEST: i64 = 12;

async fn admit(store: &SqliteStore, n: u64) {
    let admitted = store.admit(admission(n)).await.unwrap();
    assert!(matches!(admitted, Admitted::Created(..)));
}

fn refused(folder: &Path, clock: &TestClock) -> StoreError {
    match open_in(folder, clock) {
        Ok(_) => panic!("opened"),
        Err(error) => error,
    }
}

/// Copies the database file while no store is open.
fn copy(folder: &Path) -> Vec<u8> {
    std::fs::read(database(folder)).unwrap()
}

#[tokio::test]
async fn a_new_store_is_made_and_opened_again_with_everything_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("made/on/the/way");
    let clock = TestClock::new();
    let first = open_in(&folder, &clock).unwrap();
    assert!(!first.restored && first.former.is_none());
    admit(&first.store, 1).await;
    first.store.close().await.unwrap();
    let closed = first.store.admit(admission(2)).await.unwrap_err();
    assert!(closed.is_passing(), "{closed}");
    first.store.close().await.unwrap();
    assert!(
        first
            .store
            .load(admission(1).action.intent.action)
            .await
            .is_err()
    );

    clock.pass(MINUTE);
    let again = open_in(&folder, &clock).unwrap();
    assert_eq!((again.restored, again.restored_because), (false, None));
    assert_eq!(again.former, None, "it was closed in good order");
    assert_eq!(again.former_workers_gone_at, START + MINUTE);
    let Admitted::Joined(record) = again.store.admit(admission(1)).await.unwrap() else {
        panic!("the identity is known")
    };
    assert_eq!(*record.action, admission(1).action);
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let opened = open_in(folder.path(), &TestClock::new()).unwrap();
    admit(&opened.store, 1).await;
    for name in ["factum.db", "factum.db-wal"] {
        let mode = folder.path().join(name).metadata().unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600, "{name}");
    }
}

#[tokio::test]
async fn migrations_run_from_zero_and_a_second_time_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let clock = TestClock::new();
    let schema = || {
        let conn = rusqlite::Connection::open(database(folder.path())).unwrap();
        let version: i64 = conn
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .unwrap();
        let text: String = conn
            .query_row(
                "SELECT group_concat(sql, char(10)) FROM (SELECT sql FROM sqlite_schema ORDER BY name)",
                [],
                |row| row.get(0),
            )
            .unwrap();
        (version, text)
    };
    open_in(folder.path(), &clock)
        .unwrap()
        .store
        .close()
        .await
        .unwrap();
    let first = schema();
    assert_eq!(first.0, NEWEST);
    open_in(folder.path(), &clock)
        .unwrap()
        .store
        .close()
        .await
        .unwrap();
    assert_eq!(schema(), first);
}

/// Puts a file of the first version in the place of this one, with the same rows.
fn as_in_the_first_version(folder: &Path) {
    const TABLES: [&str; 7] = [
        "contract", "setting", "meta", "restore", "action", "standing", "evidence",
    ];
    let now = folder.join("now.db");
    std::fs::rename(database(folder), &now).unwrap();
    let conn = rusqlite::Connection::open(database(folder)).unwrap();
    conn.execute_batch(include_str!(
        "../../../src/sqlite/migrations/0001_first.sql"
    ))
    .unwrap();
    conn.execute("ATTACH ?1 AS now", [now.to_str()]).unwrap();
    for table in TABLES {
        let columns: String = conn
            .query_row(
                "SELECT group_concat(name) FROM pragma_table_info(?1, 'main')",
                [table],
                |row| row.get(0),
            )
            .unwrap();
        let copied =
            format!("INSERT INTO main.{table} ({columns}) SELECT {columns} FROM now.{table}");
        conn.execute(&copied, []).unwrap();
    }
    conn.execute_batch("PRAGMA main.application_id = 1178682196; PRAGMA main.user_version = 1;")
        .unwrap();
}

// What an earlier version wrote is opened, and its actions go on.
#[tokio::test]
async fn a_file_of_the_first_version_is_brought_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let clock = TestClock::new();
    let store = open_in(folder.path(), &clock).unwrap().store;
    store.admit(admission(1)).await.unwrap();
    store.close().await.unwrap();
    as_in_the_first_version(folder.path());
    let opened = open_in(folder.path(), &clock).unwrap();
    assert!(!opened.restored);
    let id = admission(1).action.intent.action;
    let reference = Name::Reference("r-1".to_owned());
    opened
        .store
        .know(id, vec![reference.clone()])
        .await
        .unwrap();
    let delivered = opened
        .store
        .deliver(report(1, vec![reference], reversed()), START);
    assert_eq!(delivered.await.unwrap(), Delivered::Matched(id));
}

#[tokio::test]
async fn a_newer_file_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let clock = TestClock::new();
    open_in(folder.path(), &clock)
        .unwrap()
        .store
        .close()
        .await
        .unwrap();
    let conn = rusqlite::Connection::open(database(folder.path())).unwrap();
    conn.pragma_update(None, "user_version", 99).unwrap();
    drop(conn);
    let before = copy(folder.path());
    let error = refused(folder.path(), &clock);
    assert!(
        matches!(
            error.kind,
            StoreErrorKind::TooNew {
                found: 99,
                known: NEWEST
            }
        ),
        "{error}"
    );
    assert_eq!(copy(folder.path()), before);
}

#[tokio::test]
async fn other_peoples_files_are_refused_and_left_alone() {
    let clock = TestClock::new();
    let folder = tempfile::tempdir().unwrap();
    let conn = rusqlite::Connection::open(database(folder.path())).unwrap();
    conn.execute_batch("CREATE TABLE theirs (x)").unwrap();
    drop(conn);
    let before = copy(folder.path());
    let error = refused(folder.path(), &clock);
    assert!(error.to_string().contains("another program"), "{error}");
    assert_eq!(copy(folder.path()), before);

    for garbage in [
        b"no database at all, but some text that is longer than a header has to be; ".repeat(9),
        vec![0; 4096],
    ] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(database(folder.path()), &garbage).unwrap();
        let error = refused(folder.path(), &clock);
        assert!(
            matches!(error.kind, StoreErrorKind::Corrupt { .. }),
            "{error}"
        );
        assert!(
            error.to_string().contains("put a backup in its place"),
            "{error}"
        );
        assert_eq!(copy(folder.path()), garbage);
    }
}

#[tokio::test]
async fn a_file_that_lost_its_end_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let clock = TestClock::new();
    let opened = open_in(folder.path(), &clock).unwrap();
    for n in 0..50 {
        admit(&opened.store, n).await;
    }
    opened.store.close().await.unwrap();
    drop(opened);
    let whole = copy(folder.path());
    for length in [
        50,
        4096,
        whole.len() / 2,
        whole.len() - 4096,
        whole.len() - 1,
    ] {
        std::fs::write(database(folder.path()), &whole[..length]).unwrap();
        let error = refused(folder.path(), &clock);
        assert!(
            matches!(error.kind, StoreErrorKind::Corrupt { .. }),
            "{length}: {error}"
        );
        assert_eq!(copy(folder.path()), whole[..length], "{length}");
    }
    // Gone altogether, while the counter beside it says that it was in use.
    for lost in [Some(Vec::new()), None] {
        match &lost {
            Some(empty) => std::fs::write(database(folder.path()), empty).unwrap(),
            None => std::fs::remove_file(database(folder.path())).unwrap(),
        }
        let error = refused(folder.path(), &clock);
        assert!(error.to_string().contains("it was in use"), "{error}");
    }
    std::fs::write(database(folder.path()), &whole).unwrap();
    let opened = open_in(folder.path(), &clock).unwrap();
    assert!(!opened.restored);
    assert_eq!(opened.store.verify_all().await.unwrap().actions, 50);
}

#[tokio::test]
async fn other_keys_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let clock = TestClock::new();
    open_in(folder.path(), &clock)
        .unwrap()
        .store
        .close()
        .await
        .unwrap();
    let other = Options {
        keys: StoreKeys([1; 32]),
        ..options(folder.path(), &clock)
    };
    let Err(error) = SqliteStore::open(other) else {
        panic!("opened with other keys")
    };
    assert!(error.to_string().contains("keys"), "{error}");
    assert_eq!(format!("{KEYS:?}"), "StoreKeys(…)", "never shown");
}

#[tokio::test]
async fn a_second_opener_is_told_who_holds_it() {
    let folder = tempfile::tempdir().unwrap();
    let clock = TestClock::new();
    let opened = open_in(folder.path(), &clock).unwrap();
    opened.store.set_address("127.0.0.1:7420").unwrap();
    let error = refused(folder.path(), &clock);
    let StoreErrorKind::Held { by } = &error.kind else {
        panic!("{error}")
    };
    assert!(
        by.starts_with(&format!("process {} on ", std::process::id())),
        "{by}"
    );
    assert!(by.ends_with("at 127.0.0.1:7420"), "{by}");
    drop(opened);
    let again = open_in(folder.path(), &clock).unwrap();
    assert_eq!(again.former, None);
}

// B190, R18: an older copy of the file is put back.
#[tokio::test]
async fn an_older_copy_is_noticed_and_held_until_it_is_released() {
    let folder = tempfile::tempdir().unwrap();
    let clock = TestClock::new();
    let first = open_in(folder.path(), &clock).unwrap();
    admit(&first.store, 1).await;
    first.store.close().await.unwrap();
    drop(first);
    let old = copy(folder.path());

    clock.pass(MINUTE);
    let second = open_in(folder.path(), &clock).unwrap();
    admit(&second.store, 2).await;
    second.store.close().await.unwrap();
    drop(second);

    std::fs::write(database(folder.path()), &old).unwrap();
    clock.pass(MINUTE);
    let restored = open_in(folder.path(), &clock).unwrap();
    assert!(restored.restored);
    let declared = restored.store.restore().await.unwrap().unwrap();
    assert_eq!(declared.copy_until, START);
    assert_eq!(
        (declared.at, declared.released),
        (START + MINUTE + MINUTE, None)
    );
    restored.store.close().await.unwrap();
    drop(restored);

    // It stays declared, and the same file is no copy at the next opening.
    let later = open_in(folder.path(), &clock).unwrap();
    assert!(!later.restored, "{:?}", later.restored_because);
    let kept = later.store.restore().await.unwrap().unwrap();
    assert_eq!(kept.released, None);
    let released = later.store.release_restore("ana".to_owned()).await.unwrap();
    assert!(released.unwrap().released.is_some());
}

#[tokio::test]
async fn a_tail_that_was_lost_within_one_opening_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let clock = TestClock::new();
    let opened = open_in(folder.path(), &clock).unwrap();
    admit(&opened.store, 1).await;
    // A consistent copy, made while the store is open.
    let copied = folder.path().join("copy");
    let conn = rusqlite::Connection::open(database(folder.path())).unwrap();
    conn.execute("VACUUM INTO ?1", [copied.to_str().unwrap()])
        .unwrap();
    drop(conn);
    admit(&opened.store, 2).await;
    opened.store.close().await.unwrap();
    drop(opened);
    std::fs::rename(&copied, database(folder.path())).unwrap();
    let opened = open_in(folder.path(), &clock).unwrap();
    let because = opened.restored_because.unwrap();
    assert!(because.contains("commits"), "{because}");
}

#[tokio::test]
async fn a_file_without_its_counter_or_with_anothers_is_a_copy() {
    let clock = TestClock::new();
    let folder = tempfile::tempdir().unwrap();
    let opened = open_in(folder.path(), &clock).unwrap();
    admit(&opened.store, 1).await;
    opened.store.close().await.unwrap();
    drop(opened);
    let file = copy(folder.path());
    let counter = std::fs::read(folder.path().join("commits")).unwrap();

    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::write(database(elsewhere.path()), &file).unwrap();
    assert!(open_in(elsewhere.path(), &clock).unwrap().restored);

    let other = tempfile::tempdir().unwrap();
    open_in(other.path(), &clock)
        .unwrap()
        .store
        .close()
        .await
        .unwrap();
    std::fs::write(database(other.path()), &file).unwrap();
    assert!(open_in(other.path(), &clock).unwrap().restored);

    let mut garbled = counter;
    garbled[30] ^= 1;
    std::fs::write(folder.path().join("commits"), garbled).unwrap();
    assert!(open_in(folder.path(), &clock).unwrap().restored);
}

// R11: the clock of a new process does not start before the last stamp of the former one.
#[tokio::test]
async fn the_clock_goes_on_from_the_last_stamp_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let clock = TestClock::new();
    clock.pass(MINUTE);
    let opened = open_in(folder.path(), &clock).unwrap();
    admit(&opened.store, 1).await;
    opened.store.close().await.unwrap();
    drop(opened);
    clock.step_back(MINUTE);
    let opened = open_in(folder.path(), &clock).unwrap();
    assert_eq!(opened.clock_behind, MINUTE);
    assert_eq!(opened.store.now().await.unwrap(), START + MINUTE);
    assert!(!opened.restored);
}

#[tokio::test]
async fn a_new_store_has_no_past() {
    let folder = tempfile::tempdir().unwrap();
    let opened = open_in(folder.path(), &TestClock::new()).unwrap();
    assert_eq!(opened.clock_behind, factum_core::Span::ZERO);
    assert_eq!(opened.former_workers_gone_at, START);
    assert_eq!(opened.store.restore().await.unwrap(), None);
    // Declared with nothing in it, it is a copy older than everything.
    let declared = opened.store.declare_restored(None).await.unwrap();
    assert_eq!(declared.copy_until, Timestamp::EARLIEST);
}

#[tokio::test]
async fn the_counter_beside_the_file_follows_without_being_closed() {
    let folder = tempfile::tempdir().unwrap();
    let opened = open_in(folder.path(), &TestClock::new()).unwrap();
    admit(&opened.store, 1).await;
    let wanted = format!("commits {}\n", opened.store.commits());
    let read = || std::fs::read_to_string(folder.path().join("commits")).unwrap();
    // The file tells nobody when it changes, so it is looked at until it has.
    let followed = async {
        while !read().contains(&wanted) {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let patience = std::time::Duration::from_secs(60);
    assert!(
        tokio::time::timeout(patience, followed).await.is_ok(),
        "{}",
        read()
    );
    assert_eq!(opened.store.counter_failures(), 0);
}

#[tokio::test]
async fn a_newer_file_with_a_log_is_left_alone_too() {
    let folder = tempfile::tempdir().unwrap();
    let clock = TestClock::new();
    open_in(folder.path(), &clock)
        .unwrap()
        .store
        .close()
        .await
        .unwrap();
    let conn = rusqlite::Connection::open(database(folder.path())).unwrap();
    conn.set_db_config(
        rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,
        true,
    )
    .unwrap();
    conn.pragma_update(None, "user_version", 99).unwrap();
    drop(conn);
    let log = || std::fs::read(folder.path().join("factum.db-wal")).unwrap();
    let before = (copy(folder.path()), log());
    assert!(!before.1.is_empty());
    let error = refused(folder.path(), &clock);
    assert!(
        matches!(error.kind, StoreErrorKind::TooNew { .. }),
        "{error}"
    );
    assert_eq!((copy(folder.path()), log()), before);
}
