//! The schema holds what the code promises: each CHECK is attacked, and each hot statement uses its index.

use std::collections::BTreeSet;

use factum_core::State;
use factum_store::{Delivered, EntryKey, Kind, Name, Store, TwinGuard};
use rusqlite::Connection;

use super::{database, open_in};
use crate::fixtures::START;
use crate::fixtures::{TestClock, admission, mark, report, reversed};
use crate::suite::register::change;

const SCHEMA: [&str; 8] = [
    include_str!("../../../src/sqlite/migrations/0001_first.sql"),
    include_str!("../../../src/sqlite/migrations/0002_reports.sql"),
    include_str!("../../../src/sqlite/migrations/0003_subject.sql"),
    include_str!("../../../src/sqlite/migrations/0004_register.sql"),
    include_str!("../../../src/sqlite/migrations/0005_sums.sql"),
    include_str!("../../../src/sqlite/migrations/0006_notices.sql"),
    include_str!("../../../src/sqlite/migrations/0008_twins.sql"),
    include_str!("../../../src/sqlite/migrations/0009_retention.sql"),
];

const GUARD: TwinGuard = TwinGuard {
    within: crate::fixtures::MINUTE,
    another: false,
};

/// A file with one action in it, and nobody who holds it.
async fn file() -> (Connection, tempfile::TempDir) {
    let files = tempfile::tempdir().unwrap();
    let store = open_in(files.path(), &TestClock::new()).unwrap().store;
    let wish = factum_store::Admission {
        facts: vec![mark(1, START)],
        twins: Some(GUARD),
        ..admission(1)
    };
    store.admit(wish).await.unwrap();
    store
        .keep_contract([1; 32], "text".to_owned())
        .await
        .unwrap();
    store.declare_restored(None).await.unwrap();
    store
        .set_setting("paused", Some("ana".to_owned()))
        .await
        .unwrap();
    let id = admission(1).action.intent.action;
    let name = Name::Reference("our-reference".to_owned());
    store.know(id, vec![name.clone()]).await.unwrap();
    let delivered = store.deliver(report(1, vec![name], reversed()), START);
    assert_eq!(delivered.await.unwrap(), Delivered::Matched(id));
    let usage = EntryKey::new(Kind::Usage, "default", "u");
    store.change(vec![change(usage, 0, "{}")]).await.unwrap();
    let late = EntryKey::new(Kind::Escalation, "default", "late");
    store.change(vec![change(late, 0, "{}")]).await.unwrap();
    store.close().await.unwrap();
    let conn = Connection::open(database(files.path())).unwrap();
    conn.execute_batch("PRAGMA foreign_keys = ON; DROP TRIGGER evidence_is_never_changed; DROP TRIGGER entry_version_is_never_changed; DROP TRIGGER evidence_keeps_its_chain; DROP TRIGGER evidence_stays_sealed; DROP TRIGGER entry_version_stays_sealed;")
        .unwrap();
    (conn, files)
}

/// What each check forbids.
const ATTACKS: [(&str, &str); 62] = [
    ("notice_is_numbered", "UPDATE notice SET no = 0"),
    ("notice_version_rises", "UPDATE notice SET version = 0"),
    ("notice_records_counted", "UPDATE notice SET records = -1"),
    ("notice_sum_is_16_bytes", "UPDATE notice SET sum = x''"),
    ("contract_sum_is_16_bytes", "UPDATE contract SET sum = x''"),
    ("setting_sum_is_16_bytes", "UPDATE setting SET sum = x''"),
    ("restore_sum_is_16_bytes", "UPDATE restore SET sum = x''"),
    ("action_lane_is_a_byte", "UPDATE action SET lane = 256"),
    (
        "action_id_is_16_bytes",
        "UPDATE action SET id = CAST(id || x'00' AS BLOB)",
    ),
    (
        "action_identity_is_32_bytes",
        "UPDATE action SET identity = substr(identity, 1, 31)",
    ),
    (
        "action_lane_is_the_identitys",
        "UPDATE action SET lane = (lane + 1) % 256",
    ),
    (
        "action_id_carries_the_lane",
        "UPDATE action SET id = CAST(substr(id, 1, 9) || substr(x'ff00', 1 + (substr(identity, 1, 1) = x'ff'), 1) || substr(id, 11) AS BLOB)",
    ),
    (
        "action_fingerprint_is_32_bytes",
        "UPDATE action SET fingerprint = x''",
    ),
    (
        "action_contract_is_32_bytes",
        "UPDATE action SET contract = x''",
    ),
    ("action_sum_is_16_bytes", "UPDATE action SET sum = x''"),
    (
        "action_subject_has_a_place",
        "UPDATE action SET subject = 'ticket/77'",
    ),
    ("standing_version_rises", "UPDATE standing SET version = 0"),
    (
        "standing_records_counted",
        "UPDATE standing SET records = -1",
    ),
    (
        "standing_state_is_known",
        "UPDATE standing SET state = 'failed'",
    ),
    (
        "standing_closed_is_a_flag",
        "UPDATE standing SET closed = 2",
    ),
    (
        "standing_step_is_known",
        "UPDATE standing SET next_step = 'retry'",
    ),
    (
        "standing_step_has_a_time",
        "UPDATE standing SET next_at = NULL",
    ),
    (
        "standing_none_is_settled",
        "UPDATE standing SET next_step = 'none', next_at = NULL",
    ),
    (
        "standing_final_is_not_closed",
        "UPDATE standing SET state = 'succeeded', next_step = 'wait', closed = 1",
    ),
    ("standing_sum_is_16_bytes", "UPDATE standing SET sum = x''"),
    ("evidence_is_numbered", "UPDATE evidence SET no = 0"),
    ("evidence_sum_is_16_bytes", "UPDATE evidence SET sum = x''"),
    (
        "contract_digest_is_32_bytes",
        "UPDATE contract SET digest = x''",
    ),
    ("meta_is_one_row", "UPDATE meta SET one = 2"),
    ("meta_store_is_16_bytes", "UPDATE meta SET store = x''"),
    (
        "meta_incarnation_is_16_bytes",
        "UPDATE meta SET incarnation = x''",
    ),
    (
        "meta_key_check_is_16_bytes",
        "UPDATE meta SET key_check = x''",
    ),
    ("meta_commits_counted", "UPDATE meta SET commits = -1"),
    ("restore_is_one_row", "UPDATE restore SET one = 2"),
    (
        "restore_released_by_whom",
        "UPDATE restore SET released_by = 'ana'",
    ),
    (
        "known_by_name_is_32_bytes",
        "UPDATE known_by SET name = x''",
    ),
    ("known_by_sum_is_16_bytes", "UPDATE known_by SET sum = x''"),
    ("report_id_is_16_bytes", "UPDATE report SET id = x''"),
    ("report_action_is_whole", "UPDATE report SET action = NULL"),
    ("report_sum_is_16_bytes", "UPDATE report SET sum = x''"),
    (
        "report_name_name_is_32_bytes",
        "UPDATE report_name SET name = x''",
    ),
    ("entry_lane_is_a_byte", "UPDATE entry SET lane = 256"),
    ("entry_version_rises", "UPDATE entry SET version = 0"),
    ("entry_sum_is_16_bytes", "UPDATE entry SET sum = x''"),
    (
        "entry_version_is_numbered",
        "UPDATE entry_version SET version = 0",
    ),
    (
        "entry_version_sum_is_16_bytes",
        "UPDATE entry_version SET sum = x''",
    ),
    (
        "twin_digest_is_32_bytes",
        "UPDATE twin SET digest = substr(digest, 1, 31)",
    ),
    (
        "twin_lane_is_the_digests",
        "UPDATE twin SET lane = (lane + 1) % 256",
    ),
    ("twin_actions_are_ids", "UPDATE twin SET actions = x'00'"),
    ("twin_sum_is_16_bytes", "UPDATE twin SET sum = x''"),
    (
        "scope_digest_is_16_bytes",
        "INSERT INTO scope VALUES (x'00', '', '', '', '', NULL, zeroblob(16))",
    ),
    (
        "scope_sum_is_16_bytes",
        "INSERT INTO scope VALUES (zeroblob(16), '', '', '', '', NULL, x'')",
    ),
    (
        "tombstone_identity_is_32_bytes",
        "INSERT INTO tombstone VALUES (0, x'00', zeroblob(16), zeroblob(32), zeroblob(32), zeroblob(16), 'succeeded', NULL, 1, 1, zeroblob(16))",
    ),
    (
        "tombstone_lane_is_the_identitys",
        "INSERT INTO tombstone VALUES (1, zeroblob(32), zeroblob(16), zeroblob(32), zeroblob(32), zeroblob(16), 'succeeded', NULL, 1, 1, zeroblob(16))",
    ),
    (
        "tombstone_action_is_16_bytes",
        "INSERT INTO tombstone VALUES (0, zeroblob(32), x'', zeroblob(32), zeroblob(32), zeroblob(16), 'succeeded', NULL, 1, 1, zeroblob(16))",
    ),
    (
        "tombstone_fingerprint_is_32_bytes",
        "INSERT INTO tombstone VALUES (0, zeroblob(32), zeroblob(16), x'', zeroblob(32), zeroblob(16), 'succeeded', NULL, 1, 1, zeroblob(16))",
    ),
    (
        "tombstone_digest_is_32_bytes",
        "INSERT INTO tombstone VALUES (0, zeroblob(32), zeroblob(16), zeroblob(32), x'', zeroblob(16), 'succeeded', NULL, 1, 1, zeroblob(16))",
    ),
    (
        "tombstone_sum_is_16_bytes",
        "INSERT INTO tombstone VALUES (0, zeroblob(32), zeroblob(16), zeroblob(32), zeroblob(32), zeroblob(16), 'succeeded', NULL, 1, 1, x'')",
    ),
    (
        "late_evidence_is_numbered",
        "INSERT INTO late_evidence VALUES (0, zeroblob(16), 0, 1, 'noted', '', NULL, zeroblob(16))",
    ),
    (
        "late_evidence_sum_is_16_bytes",
        "INSERT INTO late_evidence VALUES (0, zeroblob(16), 1, 1, 'noted', '', NULL, x'')",
    ),
    ("edition_is_one_row", "UPDATE edition SET one = 2"),
    ("edition_rises", "UPDATE edition SET number = -1"),
];

#[tokio::test]
async fn each_check_refuses_what_it_forbids() {
    let (conn, _files) = file().await;
    for (name, attack) in ATTACKS {
        let error = conn.execute(attack, []).expect_err(name).to_string();
        assert!(
            error.contains(&format!("CHECK constraint failed: {name}")),
            "{name}: {error}"
        );
    }
    let named: BTreeSet<&str> = SCHEMA
        .iter()
        .flat_map(|migration| migration.lines())
        .filter(|line| line.contains("CHECK"))
        .filter_map(|line| line.trim().strip_prefix("CONSTRAINT ")?.split(' ').next())
        .collect();
    let attacked: BTreeSet<&str> = ATTACKS.iter().map(|(name, _)| *name).collect();
    assert_eq!(attacked, named, "every check is attacked");
}

#[tokio::test]
async fn the_nine_states_are_the_cores() {
    let (conn, _files) = file().await;
    for state in State::ALL {
        let set = "UPDATE standing SET state = ?1, next_step = 'wait'";
        assert_eq!(conn.execute(set, [state.name()]).unwrap(), 1, "{state:?}");
        let none = conn.execute("UPDATE standing SET next_step = 'none', next_at = NULL", []);
        assert_eq!(none.is_ok(), state.is_final(), "law 8: {state:?}");
        conn.execute("UPDATE standing SET next_step = 'wait', next_at = 1", [])
            .unwrap();
    }
    let words = SCHEMA[0].split("standing_state_is_known").nth(1).unwrap();
    let words = words.split("))").next().unwrap();
    assert_eq!(
        words.matches('\'').count(),
        State::ALL.len() * 2,
        "no word beside the nine"
    );
}

#[tokio::test]
async fn a_watermark_never_falls() {
    let (conn, _files) = file().await;
    conn.execute_batch(
        "INSERT INTO scope VALUES (zeroblob(16), '', '', '', '', NULL, zeroblob(16))",
    )
    .unwrap();
    let set = |at| conn.execute("UPDATE scope SET forgotten_before = ?1", [at]);
    assert_eq!(set(Some(5)).unwrap(), 1);
    for lower in [Some(4), None] {
        let error = set(lower).unwrap_err().to_string();
        assert!(error.contains("stays forgotten"), "{error}");
    }
    assert_eq!(set(Some(6)).unwrap(), 1);
}

#[tokio::test]
async fn evidence_is_append_only_and_belongs_to_an_action() {
    let files = tempfile::tempdir().unwrap();
    let store = open_in(files.path(), &TestClock::new()).unwrap().store;
    store.admit(admission(1)).await.unwrap();
    let id = admission(1).action.intent.action;
    store.record(id, vec![mark(1, START)]).await.unwrap();
    let conn = Connection::open(database(files.path())).unwrap();
    for attack in ["UPDATE evidence SET at = 1", "DELETE FROM evidence"] {
        let error = conn.execute(attack, []).unwrap_err().to_string();
        assert!(error.contains("append-only"), "{error}");
    }
    conn.execute_batch("PRAGMA foreign_keys = ON").unwrap();
    let orphan = "INSERT INTO evidence SELECT lane, zeroblob(16), no, at, kind, fact, seal, chain, sum FROM evidence";
    let error = conn.execute(orphan, []).unwrap_err().to_string();
    assert!(error.contains("FOREIGN KEY"), "{error}");
}

/// The hot statements, how many parameters they have, and a part of their plan.
const PLANS: [(&str, usize, &str); 25] = [
    (
        include_str!("../../../src/sqlite/sql/tombstone_find.sql"),
        2,
        "USING PRIMARY KEY (lane=? AND identity=?)",
    ),
    (
        include_str!("../../../src/sqlite/sql/tombstone_old.sql"),
        3,
        "USING INDEX tombstone_scope (scope=? AND intent_at<?)",
    ),
    (
        include_str!("../../../src/sqlite/sql/notice_read.sql"),
        2,
        "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
    ),
    (
        include_str!("../../../src/sqlite/sql/entry_read.sql"),
        4,
        "USING PRIMARY KEY (kind=? AND tenant=? AND id=?)",
    ),
    (
        include_str!("../../../src/sqlite/sql/entry_list.sql"),
        3,
        "USING PRIMARY KEY (kind=? AND (tenant,id)>(?,?))",
    ),
    (
        include_str!("../../../src/sqlite/sql/entry_list_of_tenant.sql"),
        4,
        "USING PRIMARY KEY (kind=? AND tenant=?)",
    ),
    (
        include_str!("../../../src/sqlite/sql/entry_list_by_label.sql"),
        5,
        "USING INDEX entry_label (kind=? AND label=? AND (tenant,id)>(?,?))",
    ),
    (
        include_str!("../../../src/sqlite/sql/entry_due.sql"),
        2,
        "USING INDEX entry_due (kind=? AND due<?)",
    ),
    (
        include_str!("../../../src/sqlite/sql/known_by_read.sql"),
        1,
        "USING PRIMARY KEY (name=?)",
    ),
    (
        include_str!("../../../src/sqlite/sql/report_find.sql"),
        1,
        "USING INDEX report_id (id=?)",
    ),
    (
        include_str!("../../../src/sqlite/sql/report_waiting.sql"),
        1,
        "SEARCH n USING PRIMARY KEY (name=?)",
    ),
    (
        include_str!("../../../src/sqlite/sql/report_list.sql"),
        3,
        "USING INDEX report_tenant (tenant=? AND no<?)",
    ),
    (
        include_str!("../../../src/sqlite/sql/report_list_unmatched.sql"),
        3,
        "USING INDEX report_unmatched (tenant=? AND no<?)",
    ),
    (
        include_str!("../../../src/sqlite/sql/standing_due.sql"),
        3,
        "SEARCH standing USING INDEX standing_due",
    ),
    (
        include_str!("../../../src/sqlite/sql/action_find.sql"),
        1,
        "USING INDEX action_identity (identity=?)",
    ),
    (
        include_str!("../../../src/sqlite/sql/action_overtaken.sql"),
        5,
        "USING COVERING INDEX action_subject (tenant=? AND destination=? AND subject=? AND id>?)",
    ),
    (
        include_str!("../../../src/sqlite/sql/action_read.sql"),
        2,
        "USING INDEX action_newest (id=? AND lane=?)",
    ),
    (
        include_str!("../../../src/sqlite/sql/standing_read.sql"),
        2,
        "USING PRIMARY KEY (id=? AND lane=?)",
    ),
    (
        include_str!("../../../src/sqlite/sql/standing_update.sql"),
        12,
        "USING PRIMARY KEY (id=? AND lane=?)",
    ),
    (
        include_str!("../../../src/sqlite/sql/evidence_read.sql"),
        2,
        "USING PRIMARY KEY (action=?)",
    ),
    (
        include_str!("../../../src/sqlite/sql/list_newest.sql"),
        8,
        "SEARCH a USING INDEX action_newest (id<?)",
    ),
    (
        include_str!("../../../src/sqlite/sql/list_by_name.sql"),
        8,
        "SEARCH a USING INDEX action_name (name=? AND id<?)",
    ),
    (
        include_str!("../../../src/sqlite/sql/list_by_conversation.sql"),
        8,
        "SEARCH a USING INDEX action_conversation (conversation=? AND id<?)",
    ),
    (
        include_str!("../../../src/sqlite/sql/list_by_state.sql"),
        8,
        "SEARCH s USING INDEX standing_state (state=? AND id<?)",
    ),
    (
        include_str!("../../../src/sqlite/sql/list_review.sql"),
        8,
        "SEARCH s USING INDEX standing_review (id<?)",
    ),
];

#[tokio::test]
async fn hot_statements_search_their_indexes_and_sort_nothing() {
    let (conn, _files) = file().await;
    for (text, parameters, wanted) in PLANS {
        let mut statement = conn.prepare(&format!("EXPLAIN QUERY PLAN {text}")).unwrap();
        let nulls = vec![rusqlite::types::Null; parameters];
        let rows = statement
            .query_map(rusqlite::params_from_iter(nulls), |row| {
                row.get::<_, String>(3)
            })
            .unwrap();
        let plan = rows.collect::<Result<Vec<_>, _>>().unwrap().join("\n");
        assert!(plan.contains(wanted), "{wanted}:\n{plan}");
        assert!(!plan.contains("SCAN"), "{text}:\n{plan}");
        assert!(!plan.contains("TEMP B-TREE"), "{text}:\n{plan}");
    }
}

#[test]
fn statements_read_no_clock_and_no_randomness() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/sqlite/sql");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap().to_lowercase();
        for banned in [
            "current_timestamp",
            "unixepoch",
            "julianday",
            "strftime",
            "datetime",
            "random",
        ] {
            assert!(!text.contains(banned), "{}: {banned}", path.display());
        }
        files += 1;
    }
    assert!(files > 20);
}
