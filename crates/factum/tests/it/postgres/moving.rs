//! Moving a store: from SQLite to PostgreSQL and back, whole, while somebody works on it, and with an answer that was lost before.

use std::io::Cursor;
use std::path::Path;
use std::time::Duration;

use factum::config::Seal;
use factum::seal_keys::Custody;
use factum::{Factum, Outcome, State, Submission};
use factum_engine::Keys;
use factum_faults::FaultPlan;
use factum_store::postgres::{Options as PostgresOptions, PostgresStore};
use factum_store::register::{Change, EntryFilter, EntryKey, Kind, Registered};
use factum_store::seal::Seals;
use factum_store::sqlite::{Options as SqliteOptions, SqliteStore, StoreKeys, export};
use factum_store::transfer::{Counts, Import};
use factum_store::{Store, StoreError};
use factum_testbed::Testbed;
use serde_json::json;

use super::{Rig, body, connect, state_of, submission, submit};
use crate::support::{PATIENCE, config};

/// The keys that an engine in this folder made.
fn keys(folder: &Path) -> StoreKeys {
    let home = factum::home::Home::at(folder);
    StoreKeys(home.keys(Path::new("")).unwrap().checksum())
}

/// What an engine in this folder seals with.
fn seals(folder: &Path) -> Seals {
    let home = factum::home::Home::at(folder);
    Custody::of(&home, Seal::On).unwrap().seals()
}

fn on_sqlite(folder: &Path) -> SqliteOptions {
    SqliteOptions {
        seals: seals(folder),
        ..SqliteOptions::new(folder.join("factum.db"), keys(folder))
    }
}

async fn on_postgres(rig: &Rig) -> PostgresStore {
    let options = PostgresOptions {
        connections: 2,
        seals: seals(rig.folder.path()),
        ..PostgresOptions::new(rig.url.clone(), keys(rig.folder.path()))
    };
    PostgresStore::open_to_move(options).await.unwrap()
}

async fn sqlite_engine(rig: &Rig) -> Factum {
    Factum::sqlite(rig.folder.path().join("factum.db"))
        .config(config(&rig.testbed.base_url(), crate::twins::GUARDED))
        .start()
        .await
        .unwrap()
}

/// What nobody can use any more.
async fn retired_sqlite(folder: &Path) -> (Vec<u8>, Counts) {
    let opened = SqliteStore::open(on_sqlite(folder)).unwrap();
    opened.store.retire("ana".to_owned()).await.unwrap();
    opened.store.close().await.unwrap();
    let mut bytes = Vec::new();
    let counts = export(&on_sqlite(folder), &mut bytes).unwrap();
    (bytes, counts)
}

fn read(bytes: &[u8], keys: &StoreKeys) -> Result<Import, StoreError> {
    Import::begin(Box::new(Cursor::new(bytes.to_vec())), keys)
}

/// Actions in several states, with what belongs to them, and an entry of the register in its second version.
async fn fill(factum: &Factum) {
    for n in 0..5 {
        let done = factum
            .submit(submission(&format!("done-{n}")))
            .await
            .unwrap();
        let outcome = factum.wait(
            done.status.id.parse::<factum::ActionId>().unwrap(),
            PATIENCE,
        );
        assert!(matches!(outcome.await.unwrap(), Outcome::Done(Some(_))));
    }
    let later = json!({
        "destination": "bed", "operation": "key.sync", "event": {"source": "shop", "id": "é/1"}, "effect": "ticket",
        "payload": {"business": "later", "n": 1e2, "text": "\u{1F600}"}, "subject": "ticket/77", "for": "user:ana",
        "conversation": {"id": "conv-1", "turn": 2, "asked": "please"}, "not_before": "2999-01-01T00:00:00Z",
    });
    let later = Submission::from_json(&later.to_string()).unwrap();
    factum.submit(later).await.unwrap();
    let mut withdrawn = body("withdrawn");
    withdrawn["not_before"] = json!("2999-01-01T00:00:00Z");
    let withdrawn = Submission::from_json(&withdrawn.to_string()).unwrap();
    let withdrawn = factum.submit(withdrawn).await.unwrap().status.id;
    factum
        .cancel(withdrawn.parse().unwrap(), "ana", "not needed")
        .await
        .unwrap();
    for expected in 0..2 {
        let change = Change {
            key: EntryKey::new(Kind::Grant, "default", "grant-Ä"),
            expected,
            body: format!("version {expected}"),
            label: Some("open".to_owned()),
            due: None,
            by: "ana".to_owned(),
            why: "a test".to_owned(),
        };
        factum.engine().store().change(vec![change]).await.unwrap();
    }
}

// From SQLite to PostgreSQL and back: the same bytes, and nothing opens what was moved away.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn a_store_moves_to_postgresql_and_back_with_the_same_bytes() {
    let rig = Rig::make().await;
    let folder = rig.folder.path();
    let factum = sqlite_engine(&rig).await;
    fill(&factum).await;
    factum.shutdown(Duration::from_secs(5)).await;
    let (first, counts) = retired_sqlite(folder).await;
    // The grant, and the conversation of one action.
    assert_eq!((counts.actions, counts.entries), (7, 2));
    let moved = SqliteStore::open(on_sqlite(folder)).err().unwrap();
    assert!(moved.to_string().contains("moved by ana"), "{moved}");

    let store = on_postgres(&rig).await;
    let keys = keys(folder);
    let imported = store.import(read(&first, &keys).unwrap()).await.unwrap();
    assert_eq!(imported, counts);
    let again = store.import(read(&first, &keys).unwrap()).await;
    assert!(again.unwrap_err().to_string().contains("empty store only"));
    assert!(
        store.restore().await.unwrap().is_none(),
        "nobody else acts on it"
    );
    let mut second = Vec::new();
    store.export(&keys, Some("ana"), &mut second).await.unwrap();
    assert_eq!(
        String::from_utf8(second.clone()),
        String::from_utf8(first.clone())
    );
    // What was moved away is fenced: for workers, for one that stood still, and for applications.
    let options = PostgresOptions::new(rig.url.clone(), keys.clone());
    assert!(PostgresStore::open(options).await.is_err());
    let app = connect(&rig.url).await;
    let late = app
        .batch_execute("UPDATE factum.standing SET version = version + 1")
        .await;
    assert_eq!(state_of(&late.unwrap_err()), "23514");
    assert_eq!(
        state_of(&submit(&app, &body("late")).await.unwrap_err()),
        "55000"
    );

    let back = tempfile::tempdir().unwrap();
    let there = factum::home::Home::at(back.path());
    there.create().unwrap();
    std::fs::create_dir_all(there.key_file().parent().unwrap()).unwrap();
    std::fs::copy(factum::home::Home::at(folder).key_file(), there.key_file()).unwrap();
    let opened = SqliteStore::open(on_sqlite(back.path())).unwrap();
    let import = read(&second, &keys).unwrap();
    assert_eq!(opened.store.import(import).await.unwrap(), counts);
    assert!(opened.store.verify_all().await.unwrap().findings.is_empty());
    opened.store.close().await.unwrap();
    let (third, _) = retired_sqlite(back.path()).await;
    assert_eq!(String::from_utf8(third), String::from_utf8(first));
}

// What was cut, changed or made with other keys is refused whole.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn an_export_that_is_not_what_was_written_is_refused_whole() {
    let rig = Rig::make().await;
    let folder = rig.folder.path();
    let factum = sqlite_engine(&rig).await;
    fill(&factum).await;
    factum.shutdown(Duration::from_secs(5)).await;
    let (good, _) = retired_sqlite(folder).await;
    let keys = keys(folder);
    let text = String::from_utf8(good).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let without = |left_out: usize| {
        let kept = lines.iter().enumerate().filter(|(n, _)| *n != left_out);
        kept.map(|(_, line)| format!("{line}\n"))
            .collect::<String>()
    };
    let store = on_postgres(&rig).await;
    let damaged = [
        (text.replacen("done-1", "done-9", 1), "digest"),
        (without(lines.len() - 1), "cut off"),
        (without(lines.len() - 2), "as many lines"),
        (format!("{text}{{}}\n"), "cannot be read"),
    ];
    for (text, why) in damaged {
        let import = read(text.as_bytes(), &keys).unwrap();
        let refused = store.import(import).await.unwrap_err().to_string();
        assert!(refused.contains(why), "{why}: {refused}");
    }
    let other = StoreKeys(Keys::new([1; 32]).checksum());
    let refused = read(text.as_bytes(), &other).err().unwrap().to_string();
    assert!(refused.contains("other keys"), "{refused}");
    let counts = store.import(read(text.as_bytes(), &keys).unwrap()).await;
    assert_eq!(counts.unwrap().actions, 7, "nothing of the others was left");
}

/// A request whose answer does not come, and its action once the effect is there.
async fn unanswered(rig: &Rig, factum: &Factum) -> factum::ActionId {
    let id = factum.submit(submission("lost")).await.unwrap().status.id;
    rig.sent("lost").await;
    id.parse().unwrap()
}

async fn rig_without_first_answer() -> Rig {
    let testbed = Testbed::start(factum_testbed::Config {
        faults: FaultPlan::parse(7, "late_answer,class=effect,n=1").unwrap(),
        ..factum_testbed::Config::default()
    });
    Rig {
        testbed: testbed.await.unwrap(),
        ..Rig::make().await
    }
}

// An answer that was lost before the move is found after it, with one effect.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn what_was_unknown_before_the_move_settles_after_it_with_one_effect() {
    let rig = rig_without_first_answer().await;
    let factum = sqlite_engine(&rig).await;
    let id = unanswered(&rig, &factum).await;
    factum.shutdown(Duration::ZERO).await;
    let (bytes, _) = retired_sqlite(rig.folder.path()).await;
    let store = on_postgres(&rig).await;
    let import = read(&bytes, &keys(rig.folder.path())).unwrap();
    store.import(import).await.unwrap();
    store.close();
    let factum = rig.engine("50 ms").await;
    let status = factum.wait_status(id, PATIENCE).await.unwrap();
    assert_eq!(status.state, "succeeded", "{status:?}");
    assert_eq!(rig.effects("lost"), 1);
    // And the identity is known: a repeat joins by every way.
    let app = connect(&rig.url).await;
    let joined = submit(&app, &body("lost")).await.unwrap();
    assert_eq!(
        joined,
        json!({"id": id.to_string(), "joined": true, "state": "succeeded"})
    );
    factum.shutdown(Duration::from_secs(5)).await;
}

// R18, B190: exported while its engine goes on, the copy sends nothing before an operator releases it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn a_copy_of_a_store_in_use_sends_nothing_before_it_is_released() {
    let rig = rig_without_first_answer().await;
    let first = sqlite_engine(&rig).await;
    let lost = unanswered(&rig, &first).await;
    let mut waiting = body("waiting");
    waiting["not_before"] = json!(jiff::Timestamp::now() + jiff::SignedDuration::from_secs(3));
    let waiting = Submission::from_json(&waiting.to_string()).unwrap();
    let waiting = first.submit(waiting).await.unwrap().status.id;
    // The engine holds the file, and goes on.
    let mut bytes = Vec::new();
    let counts = export(&on_sqlite(rig.folder.path()), &mut bytes).unwrap();
    assert_eq!(counts.actions, 2);
    let store = on_postgres(&rig).await;
    let import = read(&bytes, &keys(rig.folder.path())).unwrap();
    assert!(!import.is_retired());
    store.import(import).await.unwrap();
    let restore = store.restore().await.unwrap().unwrap();
    assert!(restore.released.is_none());
    store.close();
    let second = rig.engine("50 ms").await;
    // The first one carries both out; the copy would have been due for them too.
    for id in [lost.to_string(), waiting] {
        let status = first.wait_status(id.parse::<factum::ActionId>().unwrap(), PATIENCE);
        assert_eq!(status.await.unwrap().state, "succeeded");
        let copied = second
            .status(id.parse::<factum::ActionId>().unwrap())
            .await
            .unwrap();
        assert_ne!(copied.happened, "no", "{copied:?}");
        assert_ne!(State::from_name(copied.state), Some(State::Expired));
    }
    assert_eq!((rig.effects("lost"), rig.effects("waiting")), (1, 1));
    second.shutdown(Duration::from_secs(5)).await;
    first.shutdown(Duration::from_secs(5)).await;
}

// Law 9: what stands in the register moves with its tenant, its versions and its kind. Of the same name, each tenant's own is there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn the_register_moves_with_its_tenants() {
    let rig = Rig::make().await;
    let folder = rig.folder.path();
    let factum = sqlite_engine(&rig).await;
    let kinds = [
        Kind::Tenant,
        Kind::Principal,
        Kind::Grant,
        Kind::Token,
        Kind::Usage,
    ];
    let tenants = ["default", "acme", "Ünder"];
    let change = |kind, tenant: &str, expected| Change {
        key: EntryKey::new(kind, tenant, "the same name"),
        expected,
        body: format!("{tenant} {expected}"),
        label: Some(tenant.to_owned()),
        due: None,
        by: format!("admin of {tenant}"),
        why: "a test".to_owned(),
    };
    let register = factum.engine().store();
    for tenant in tenants {
        for kind in kinds {
            register
                .change(vec![change(kind, tenant, 0)])
                .await
                .unwrap();
        }
    }
    for expected in 1..3 {
        let grant = change(Kind::Grant, "acme", expected);
        register.change(vec![grant]).await.unwrap();
    }
    let edition = register.edition().await.unwrap();
    factum.shutdown(Duration::from_secs(5)).await;
    let (bytes, counts) = retired_sqlite(folder).await;
    let all = u64::try_from(kinds.len() * tenants.len()).unwrap();
    assert_eq!(counts.entries, all);

    let store = on_postgres(&rig).await;
    store
        .import(read(&bytes, &keys(folder)).unwrap())
        .await
        .unwrap();
    assert_eq!(store.edition().await.unwrap(), edition);
    each_tenant_has_its_own(&store, kinds, tenants).await;
    // The versions go on where they were.
    let stale = store.change(vec![change(Kind::Grant, "acme", 1)]).await;
    assert_eq!(stale.unwrap(), Registered::Stale);
    let next = store
        .change(vec![change(Kind::Grant, "acme", 3)])
        .await
        .unwrap();
    assert!(matches!(next, Registered::Durable { edition: now } if now > edition));
}

/// What each tenant wrote under the one name: all versions, and nobody else's.
async fn each_tenant_has_its_own(store: &PostgresStore, kinds: [Kind; 5], tenants: [&str; 3]) {
    for tenant in tenants {
        for kind in kinds {
            let key = EntryKey::new(kind, tenant, "the same name");
            let entry = store.entry(key.clone()).await.unwrap().unwrap();
            let last = if (kind, tenant) == (Kind::Grant, "acme") {
                2
            } else {
                0
            };
            assert_eq!(entry.body, format!("{tenant} {last}"));
            assert_eq!(entry.label.as_deref(), Some(tenant));
            assert_eq!(entry.changed.by, format!("admin of {tenant}"));
            let versions = store.entry_history(key).await.unwrap();
            let said: Vec<_> = versions.iter().map(|one| one.body.clone()).collect();
            let wanted: Vec<_> = (0..=last).map(|n| format!("{tenant} {n}")).collect();
            assert_eq!(said, wanted);
        }
        let filter = EntryFilter {
            kind: Kind::Grant,
            tenant: Some(tenant.to_owned()),
            label: None,
            after: None,
            limit: 9,
        };
        let theirs = store.entries(filter).await.unwrap();
        assert!(
            theirs.len() == 1 && theirs[0].key.tenant == tenant,
            "{theirs:?}"
        );
    }
}
