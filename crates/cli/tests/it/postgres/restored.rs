//! A database that came from an older copy: what the copy lacks was sent before, and is looked for before anything is sent (R18).

use std::process::Command;

use serde_json::json;

use super::database::Database;
use super::workers::Workers;
use super::{Asked, everything_rests};
use crate::support::{Bed, ended};

/// Some actions, under keys with this name.
pub(super) fn submitted(workers: &Workers, name: &str) -> Asked {
    let operations = ["key.sync", "lookup.sync"].into_iter().cycle().take(6);
    let asked = operations.enumerate().map(|(n, operation)| {
        let key = format!("{name}-{n}");
        let id = workers.submit(n, operation, &key);
        (key, (operation, id))
    });
    asked.collect()
}

/// They are done, once each.
pub(super) fn settled(workers: &Workers, bed: &Bed, asked: &Asked) {
    for (key, (_, id)) in asked {
        let status = workers.at_rest(0, id.as_deref().unwrap());
        assert_eq!(status["state"], "succeeded", "{key}: {status}");
        assert_eq!(bed.effects(key), 1, "{key}");
    }
}

/// Two workers on a store that lost these: both hold all sends, and what can be found out is found out; then an operator releases it.
pub(super) fn looks_before_it_sends(workers: &Workers, bed: &Bed, lost: &Asked) {
    for no in 0..2 {
        workers.until(no, "GET", "/v1/admin/state", |answer| {
            let restore = &answer.body["restore"];
            restore.is_object() && restore["released"].is_null()
        });
    }
    // Callers come again.
    let again = submitted(workers, "lost");
    let fresh = submitted(workers, "fresh");
    for (key, (operation, id)) in &again {
        let id = id.as_deref().unwrap();
        assert_ne!(Some(id), lost[key].1.as_deref(), "{key} was lost");
        if *operation == "lookup.sync" {
            assert_eq!(workers.at_rest(1, id)["state"], "succeeded", "{key}");
        }
        assert_eq!(bed.effects(key), 1, "{key}");
    }
    let sent: Vec<_> = fresh.keys().filter(|key| bed.effects(key) > 0).collect();
    assert!(
        sent.is_empty(),
        "nothing is sent before the release: {sent:?}"
    );
    let released = workers.ask(0, "POST", "/v1/admin/release", &json!({"by": "ana"}));
    assert_eq!(released.unwrap().status, 200);
    for asked in [again, fresh] {
        everything_rests(workers, bed, &asked);
    }
}

/// The schema, dumped as docs/backup.md says.
fn dumped(database: &Database) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut dump = Command::new("pg_dump");
    dump.args(["--schema=factum", "--format=custom"]);
    dump.arg("--file").arg(file.path()).arg(&database.url);
    let ran = ended(dump);
    assert_eq!(ran.code, 0, "{ran:?}");
    file
}

/// The dump in the place of the database: restored into an empty one, as docs/backup.md says.
fn put_back(database: &Database, dump: &tempfile::NamedTempFile) {
    database.make_anew();
    let mut restore = Command::new("pg_restore");
    restore.arg("--exit-on-error");
    restore.arg("--dbname").arg(&database.url).arg(dump.path());
    let ran = ended(restore);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
#[ignore = "needs PostgreSQL; ./test starts one"]
fn an_old_dump_that_is_put_back_is_noticed_and_looked_after_first() {
    let (database, bed) = (Database::make(), Bed::start());
    let mut workers = Workers::start(&database, &bed, 2);
    let kept = submitted(&workers, "kept");
    settled(&workers, &bed, &kept);
    let dump = dumped(&database);
    let lost = submitted(&workers, "lost");
    settled(&workers, &bed, &lost);
    workers.stop(0);
    workers.stop(1);
    put_back(&database, &dump);
    workers.start_again(0);
    workers.start_again(1);
    looks_before_it_sends(&workers, &bed, &lost);
    everything_rests(&workers, &bed, &kept);
}

// What nobody can notice, an operator says: to whichever worker, and all of them hold.
#[test]
#[ignore = "needs PostgreSQL; ./test starts one"]
fn a_restore_that_is_declared_to_one_worker_holds_the_sends_of_all() {
    let (database, bed) = (Database::make(), Bed::start());
    let workers = Workers::start(&database, &bed, 2);
    let state = workers.command(0, &["admin", "after-restore", "--by", "ana"]);
    assert!(state["restore"]["released"].is_null(), "{state}");
    let fresh = submitted(&workers, "fresh");
    workers.until(1, "GET", "/v1/admin/state", |answer| {
        answer.body["restore"].is_object()
    });
    assert!(
        fresh.keys().all(|key| bed.effects(key) == 0),
        "nothing is sent"
    );
    workers.command(1, &["admin", "release", "--by", "ana"]);
    everything_rests(&workers, &bed, &fresh);
}
