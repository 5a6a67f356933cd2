//! The schema holds what the code promises: each CHECK is attacked, keys begin with the lane, hot statements stay on one lane.

use std::collections::BTreeSet;

use factum_core::State;
use factum_store::{EntryKey, Kind, Store, TwinGuard};

use super::{Database, connect};
use crate::fixtures::{START, admission, mark};
use crate::suite::register::change;

/// A database with one action in it.
async fn filled() -> (Database, tokio_postgres::Client) {
    let database = Database::make().await;
    let store = database.open(None).await;
    let wish = factum_store::Admission {
        facts: vec![mark(1, START)],
        twins: Some(TwinGuard {
            within: crate::fixtures::MINUTE,
            another: false,
        }),
        ..admission(1)
    };
    store.admit(wish).await.unwrap();
    store
        .keep_contract([1; 32], "text".to_owned())
        .await
        .unwrap();
    store.declare_restored(None).await.unwrap();
    let usage = EntryKey::new(Kind::Usage, "default", "u");
    store.change(vec![change(usage, 0, "{}")]).await.unwrap();
    for (id, is_numbered) in [("late", true), ("later", false)] {
        let late = EntryKey::new(Kind::Escalation, "default", id);
        store.change(vec![change(late, 0, "{}")]).await.unwrap();
        if is_numbered {
            store.notices(0, 1).await.unwrap();
        }
    }
    store.close();
    let client = connect(&database.url).await;
    let submitted = r#"{"destination": "helpdesk", "operation": "ticket.create", "key": "1"}"#;
    client
        .execute("SELECT factum.submit($1::text::jsonb)", &[&submitted])
        .await
        .unwrap();
    (database, client)
}

/// What each check forbids.
const ATTACKS: [(&str, &str); 61] = [
    ("meta_floor_is_a_schema", "UPDATE factum.meta SET floor = 0"),
    (
        "worker_room_is_no_debt",
        "INSERT INTO factum.worker (nonce, until, room) VALUES (1, 1, -1)",
    ),
    ("news_lane_is_a_byte", "UPDATE factum.news SET lane = 256"),
    ("news_version_rises", "UPDATE factum.news SET version = 0"),
    (
        "news_records_counted",
        "UPDATE factum.news SET records = -1",
    ),
    ("notice_is_numbered", "UPDATE factum.notice SET no = 0"),
    (
        "notice_last_is_one_row",
        "UPDATE factum.notice_last SET one = 2",
    ),
    (
        "notice_last_rises",
        "UPDATE factum.notice_last SET number = -1",
    ),
    (
        "action_subject_has_a_place",
        "UPDATE factum.action SET subject = 'ticket/77'",
    ),
    (
        "action_lane_is_a_byte",
        "UPDATE factum.action SET lane = 256",
    ),
    (
        "action_identity_is_32_bytes",
        "UPDATE factum.action SET identity = substring(identity, 1, 31)",
    ),
    (
        "action_lane_is_the_identitys",
        "UPDATE factum.action SET lane = (lane + 1) % 256",
    ),
    (
        "action_id_carries_the_lane",
        "UPDATE factum.action SET id = '00000000-0000-0000-0000-000000000000', lane = lane WHERE lane <> 0",
    ),
    (
        "action_fingerprint_is_32_bytes",
        "UPDATE factum.action SET fingerprint = ''",
    ),
    (
        "action_contract_is_32_bytes",
        "UPDATE factum.action SET contract = ''",
    ),
    (
        "action_seal_is_32_bytes",
        "UPDATE factum.action SET seal = ''",
    ),
    (
        "standing_version_rises",
        "UPDATE factum.standing SET version = 0",
    ),
    (
        "standing_records_counted",
        "UPDATE factum.standing SET records = -1",
    ),
    (
        "standing_state_is_known",
        "UPDATE factum.standing SET state = 'failed'",
    ),
    (
        "standing_step_is_known",
        "UPDATE factum.standing SET next_step = 'retry'",
    ),
    (
        "standing_step_has_a_time",
        "UPDATE factum.standing SET next_at = NULL",
    ),
    (
        "standing_none_is_settled",
        "UPDATE factum.standing SET next_step = 'none', next_at = NULL",
    ),
    (
        "standing_final_is_not_closed",
        "UPDATE factum.standing SET state = 'succeeded', closed = true",
    ),
    (
        "standing_claim_is_whole",
        "UPDATE factum.standing SET claim_by = 1, claim_until = NULL",
    ),
    ("evidence_is_numbered", "UPDATE factum.evidence SET no = 0"),
    (
        "known_by_name_is_32_bytes",
        "INSERT INTO factum.known_by VALUES (0, '\\x00', 0, '00000000-0000-0000-0000-000000000000')",
    ),
    (
        "known_by_lane_is_the_names",
        "INSERT INTO factum.known_by VALUES (1, sha256('a'), 0, '00000000-0000-0000-0000-000000000000')",
    ),
    (
        "report_id_is_16_bytes",
        "INSERT INTO factum.report VALUES (0, '\\x00', 1, 0, 't', 'd', '[]', '')",
    ),
    (
        "report_lane_is_the_ids",
        "INSERT INTO factum.report VALUES (1, substring(sha256('a'), 1, 16), 1, 0, 't', 'd', '[]', '')",
    ),
    (
        "report_name_name_is_32_bytes",
        "INSERT INTO factum.report_name VALUES (0, '\\x00', 0, '')",
    ),
    (
        "report_name_lane_is_the_names",
        "INSERT INTO factum.report_name VALUES (1, sha256('a'), 0, '')",
    ),
    (
        "contract_digest_is_32_bytes",
        "UPDATE factum.contract SET digest = ''",
    ),
    ("meta_is_one_row", "UPDATE factum.meta SET one = 2"),
    (
        "meta_store_is_16_bytes",
        "UPDATE factum.meta SET store = ''",
    ),
    (
        "meta_key_check_is_16_bytes",
        "UPDATE factum.meta SET key_check = ''",
    ),
    (
        "restore_released_by_whom",
        "UPDATE factum.restore SET released_by = 'ana'",
    ),
    (
        "action_identity_form_is_known",
        "UPDATE factum.action SET identity_form = 3",
    ),
    (
        "identity_digest_is_32_bytes",
        "UPDATE factum.identity SET digest = substring(digest, 1, 31)",
    ),
    (
        "identity_lane_is_the_digests",
        "UPDATE factum.identity SET lane = (lane + 1) % 256",
    ),
    (
        "outbox_state_is_known",
        "UPDATE factum.outbox SET state = 'sent'",
    ),
    (
        "outbox_waiting_has_its_request",
        "UPDATE factum.outbox SET request = NULL",
    ),
    (
        "outbox_taken_has_its_action",
        "UPDATE factum.outbox SET state = 'taken'",
    ),
    (
        "outbox_action_has_its_name",
        "UPDATE factum.outbox SET action_name = 'act_0'",
    ),
    (
        "outbox_refused_has_its_problem",
        "UPDATE factum.outbox SET state = 'refused'",
    ),
    ("entry_lane_is_a_byte", "UPDATE factum.entry SET lane = 256"),
    ("entry_version_rises", "UPDATE factum.entry SET version = 0"),
    (
        "entry_version_is_numbered",
        "UPDATE factum.entry_version SET version = 0",
    ),
    (
        "twin_digest_is_32_bytes",
        "UPDATE factum.twin SET digest = substring(digest, 1, 31)",
    ),
    (
        "twin_lane_is_the_digests",
        "UPDATE factum.twin SET lane = (lane + 1) % 256",
    ),
    ("twin_version_rises", "UPDATE factum.twin SET version = 0"),
    (
        "twin_names_an_action",
        "UPDATE factum.twin SET actions = '{}'",
    ),
    (
        "scope_digest_is_16_bytes",
        "INSERT INTO factum.scope VALUES (0, '\\x00', '', '', '', '')",
    ),
    (
        "scope_lane_is_the_digests",
        "INSERT INTO factum.scope VALUES (1, decode(repeat('00', 16), 'hex'), '', '', '', '')",
    ),
    (
        "tombstone_identity_is_32_bytes",
        "INSERT INTO factum.tombstone VALUES (0, '\\x00', '00000000-0000-0000-0000-000000000000', decode(repeat('00', 32), 'hex'), decode(repeat('00', 32), 'hex'), decode(repeat('00', 16), 'hex'), 'succeeded', NULL, 1, 1)",
    ),
    (
        "tombstone_lane_is_the_identitys",
        "INSERT INTO factum.tombstone VALUES (1, decode(repeat('00', 32), 'hex'), '00000000-0000-0000-0000-000000000000', decode(repeat('00', 32), 'hex'), decode(repeat('00', 32), 'hex'), decode(repeat('00', 16), 'hex'), 'succeeded', NULL, 1, 1)",
    ),
    (
        "tombstone_fingerprint_is_32_bytes",
        "INSERT INTO factum.tombstone VALUES (0, decode(repeat('00', 32), 'hex'), '00000000-0000-0000-0000-000000000000', '', decode(repeat('00', 32), 'hex'), decode(repeat('00', 16), 'hex'), 'succeeded', NULL, 1, 1)",
    ),
    (
        "tombstone_digest_is_32_bytes",
        "INSERT INTO factum.tombstone VALUES (0, decode(repeat('00', 32), 'hex'), '00000000-0000-0000-0000-000000000000', decode(repeat('00', 32), 'hex'), '', decode(repeat('00', 16), 'hex'), 'succeeded', NULL, 1, 1)",
    ),
    (
        "tombstone_scope_is_16_bytes",
        "INSERT INTO factum.tombstone VALUES (0, decode(repeat('00', 32), 'hex'), '00000000-0000-0000-0000-000000000000', decode(repeat('00', 32), 'hex'), decode(repeat('00', 32), 'hex'), '', 'succeeded', NULL, 1, 1)",
    ),
    (
        "late_evidence_is_numbered",
        "INSERT INTO factum.late_evidence VALUES (0, '00000000-0000-0000-0000-000000000000', 0, 1, 'noted', '')",
    ),
    ("edition_is_one_row", "UPDATE factum.edition SET one = 2"),
    ("edition_rises", "UPDATE factum.edition SET number = -1"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn each_check_refuses_what_it_forbids() {
    let (_database, client) = filled().await;
    for (check, attack) in ATTACKS {
        // The database names the first check that fails: the others are out of the way.
        let others = format!(
            "DO $$ DECLARE c record; BEGIN FOR c IN SELECT conname, conrelid::regclass AS t FROM pg_constraint \
             WHERE contype = 'c' AND connamespace = 'factum'::regnamespace AND conname <> '{check}' \
             LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', c.t, c.conname); END LOOP; END $$"
        );
        client
            .batch_execute(&format!("BEGIN; {others}"))
            .await
            .unwrap();
        let error = client.batch_execute(attack).await.expect_err(check);
        client.batch_execute("ROLLBACK").await.unwrap();
        let said = error.as_db_error().unwrap();
        assert_eq!(said.code().code(), "23514", "{check}: {said}");
        assert_eq!(said.constraint(), Some(check));
    }
    let sql = "SELECT conname::text FROM pg_constraint WHERE contype = 'c' AND connamespace = 'factum'::regnamespace";
    let rows = client.query(sql, &[]).await.unwrap();
    let checks: BTreeSet<String> = rows.iter().map(|row| row.get(0)).collect();
    let attacked: BTreeSet<String> = ATTACKS
        .iter()
        .map(|(check, _)| (*check).to_owned())
        .collect();
    let left: Vec<_> = checks.difference(&attacked).collect();
    assert_eq!(
        left,
        ["restore_is_one_row"],
        "checks that nothing here attacks; that one has the same form as meta's"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn the_words_of_the_schema_are_the_cores() {
    let schema = include_str!("../../../src/postgres/migrations/0001_first.sql");
    let list = schema
        .split("CHECK (state IN (")
        .nth(1)
        .unwrap()
        .split(')')
        .next()
        .unwrap();
    let words: Vec<&str> = list
        .split(',')
        .map(|word| word.trim().trim_matches('\''))
        .collect();
    let states: Vec<&str> = State::ALL.iter().map(|state| state.name()).collect();
    assert_eq!(words, states);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn every_key_begins_with_the_lane() {
    let (_database, client) = filled().await;
    let sql = "SELECT c.relname::text, a.attname::text FROM pg_index i \
        JOIN pg_class c ON c.oid = i.indrelid JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0] \
        WHERE i.indisunique AND c.relnamespace = 'factum'::regnamespace";
    let keys = client.query(sql, &[]).await.unwrap();
    // Tables without a lane are copied to every node of a cluster: nothing hot is in them. The outbox is on one node, beside
    // the application's own tables.
    let copied = BTreeSet::from([
        "contract",
        "setting",
        "meta",
        "restore",
        "version",
        "worker",
        "edition",
        "outbox",
        "application",
        // Numbers have one order, on one node.
        "notice",
        "notice_last",
    ]);
    let wrong: Vec<(String, String)> = keys
        .iter()
        .map(|row| (row.get(0), row.get(1)))
        .filter(|(table, first): &(String, String)| {
            !copied.contains(table.as_str()) && first != "lane"
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(keys.len() >= 8, "the catalog was read");
}

/// Some thousand actions that nobody reads.
const MANY: &str = "
    CREATE TEMP TABLE many AS SELECT n, h, get_byte(h, 0)::int2 AS lane,
        (lpad(to_hex(n), 16, '0') || '80' || encode(substring(h, 1, 1), 'hex') || '000000000000')::uuid AS id
        FROM (SELECT n, sha256(n::text::bytea) AS h FROM generate_series(1, 20000) AS n) AS numbered;
    INSERT INTO factum.action (lane, id, identity, fingerprint, contract, tenant, name, params, payload, head, identity_form)
        SELECT lane, id, h, h, h, 'default', n::text, '{}', '{}', '{}', 2 FROM many;
    INSERT INTO factum.standing (lane, id, version, records, state, closed, next_step, next_at, next_why, destination, claim_token)
        SELECT lane, id, 1, 1, 'pending', false, 'send', n, '', 'helpdesk', 0 FROM many;
    INSERT INTO factum.evidence (lane, action, no, at, kind, fact) SELECT lane, id, 1, n, 'noted', '{}' FROM many;
    INSERT INTO factum.entry (lane, kind, tenant, id, version, body, at, who, why)
        SELECT lane, 'token', 'default', n::text, 1, '{}', n, '', '' FROM many;
    ANALYZE;";

/// What is asked for with every action, and the index that it has to use.
pub(crate) const HOT: [(&str, &str); 9] = [
    (
        include_str!("../../../src/postgres/sql/entry_read.sql"),
        // Its key, or the index of listings: both hold the lane.
        "using entry_",
    ),
    (
        include_str!("../../../src/postgres/sql/claim_take.sql"),
        "standing_key",
    ),
    (
        include_str!("../../../src/postgres/sql/claim_renew.sql"),
        "standing_key",
    ),
    (
        include_str!("../../../src/postgres/sql/claim_release.sql"),
        "standing_key",
    ),
    (
        include_str!("../../../src/postgres/sql/standing_append.sql"),
        "standing_key",
    ),
    (
        include_str!("../../../src/postgres/sql/standing_append_many.sql"),
        "standing_key",
    ),
    (
        include_str!("../../../src/postgres/sql/record_read.sql"),
        "standing_key",
    ),
    (
        include_str!("../../../src/postgres/sql/record_find.sql"),
        "action_identity",
    ),
    (
        include_str!("../../../src/postgres/sql/evidence_read.sql"),
        "evidence_key",
    ),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn hot_statements_stay_on_their_lane_and_their_index() {
    let (_database, client) = filled().await;
    // Tables as they are after some time.
    client.batch_execute(MANY).await.unwrap();
    client
        .batch_execute("SET enable_seqscan = off")
        .await
        .unwrap();
    for (sql, index) in HOT {
        let plan = plan(&client, sql).await;
        assert!(plan.contains(index), "{sql}\n{plan}");
        stays_on_its_lane(sql, &plan);
        assert!(!plan.contains("Seq Scan"), "{sql}\n{plan}");
    }
}

/// The plan without values, which is what a prepared statement ends with.
pub(crate) async fn plan(client: &tokio_postgres::Client, sql: &str) -> String {
    let count = (1..60)
        .take_while(|n| sql.contains(&format!("${n}")))
        .count();
    let nulls = vec!["NULL"; count].join(", ");
    let prepare = format!("SET plan_cache_mode = force_generic_plan; PREPARE planned AS {sql}");
    client.batch_execute(&prepare).await.unwrap();
    let explain = format!("EXPLAIN EXECUTE planned ({nulls})");
    let rows = client.query(&explain, &[]).await.unwrap();
    client.batch_execute("DEALLOCATE planned").await.unwrap();
    let lines: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    lines.join("\n")
}

pub(crate) fn stays_on_its_lane(sql: &str, plan: &str) {
    for condition in plan.lines().filter(|line| line.contains("Index Cond")) {
        // The edition and the last restore are one row each, copied to every node.
        let copied = condition.contains("(one = ");
        assert!(copied || condition.contains("lane ="), "{sql}\n{plan}");
    }
}

// What another session may do meanwhile stands beside each statement.
#[test]
fn each_statement_says_its_isolation_and_what_it_waits_for() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/postgres/sql");
    let mut read = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let said: Vec<&str> = text.lines().filter(|line| line.starts_with("--")).collect();
        let said = said.join(" ").to_lowercase();
        assert!(said.contains("read committed"), "{}", path.display());
        let waits = ["lock", "wait", "lets one through"];
        assert!(
            waits.iter().any(|word| said.contains(word)),
            "{}",
            path.display()
        );
        read += 1;
    }
    assert!(read > 50, "the statements were read");
}
