//! A million settled actions and a hundred thousand due ones change neither plans nor the time that a claim takes.
//!
//! Minutes, and a gigabyte: `./test --long` runs it. It prints the ratio of the medians.

use std::time::{Duration, Instant};

use factum_core::{ActionId, Lane};
use factum_store::postgres::PostgresStore;
use factum_store::{Admitted, Claimed, Store};

use crate::fixtures::{MINUTE, START, WORKER, admission};
use crate::postgres::checks::{HOT, plan, stays_on_its_lane};
use crate::postgres::{Database, connect};

/// Claims that are measured.
const CLAIMS: u64 = 300;

/// Rows as they are after some time: every eleventh is due.
const MANY: &str = "
    SET synchronous_commit = off;
    CREATE TEMP TABLE many AS SELECT n, h, get_byte(h, 0)::int2 AS lane,
        (lpad(to_hex(n), 16, '0') || '80' || encode(substring(h, 1, 1), 'hex') || '000000000000')::uuid AS id
        FROM (SELECT n, sha256(n::text::bytea) AS h FROM generate_series(1, 1100000) AS n) AS numbered;
    INSERT INTO factum.action (lane, id, identity, fingerprint, contract, tenant, name, params, payload, head, identity_form)
        SELECT lane, id, h, h, h, 'default', n::text, '{}', '{}', '{}', 2 FROM many;
    INSERT INTO factum.standing (lane, id, version, records, state, closed, next_step, next_at, next_why, destination, claim_token)
        SELECT lane, id, 2, 1, CASE WHEN n % 11 = 0 THEN 'pending' ELSE 'succeeded' END, false,
            CASE WHEN n % 11 = 0 THEN 'send' ELSE 'none' END, CASE WHEN n % 11 = 0 THEN n END, '', 'helpdesk', 1 FROM many;
    INSERT INTO factum.evidence (lane, action, no, at, kind, fact) SELECT lane, id, 1, n, 'noted', '{}' FROM many;
    VACUUM ANALYZE factum.action, factum.standing, factum.evidence";

/// The median of claims on actions that are new.
async fn claim(store: &PostgresStore, from: u64) -> Duration {
    let mut ids: Vec<ActionId> = Vec::new();
    for n in from..from + CLAIMS {
        match store.admit(admission(n)).await.unwrap() {
            Admitted::Created(record, _) => ids.push(record.id()),
            other => panic!("{n} is new: {other:?}"),
        }
    }
    let mut taken = Vec::new();
    for id in ids {
        let begun = Instant::now();
        let claimed = store.claim(id, WORKER, MINUTE).await.unwrap();
        taken.push(begun.elapsed());
        assert!(matches!(claimed, Claimed::Held(..)));
    }
    taken.sort_unstable();
    taken[taken.len() / 2]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL and minutes; ./test --long"]
async fn a_million_settled_actions_slow_no_claim_down() {
    let database = Database::make().await;
    let store = database.open(None).await;
    // Connections are made and statements planned before anything is measured.
    claim(&store, 2 * CLAIMS).await;
    let empty = claim(&store, 0).await;
    let client = connect(&database.url).await;
    for statement in MANY.split(';') {
        client.batch_execute(statement).await.unwrap();
    }
    let full = claim(&store, CLAIMS).await;
    let percent = full.as_micros() * 100 / empty.as_micros().max(1);
    println!(
        "a claim takes {percent} % of what it takes in an empty database ({full:?}, {empty:?})"
    );
    assert!(percent <= 200, "{percent} %");
    for (sql, index) in HOT {
        // The register's tables hold nothing here.
        if index.contains("entry") {
            continue;
        }
        let plan = plan(&client, sql).await;
        assert!(plan.contains(index), "{sql}\n{plan}");
        stays_on_its_lane(sql, &plan);
        for line in plan.lines().filter(|line| line.contains("Seq Scan")) {
            let one_row = line.contains("on edition") || line.contains("on restore");
            assert!(one_row, "{sql}\n{plan}");
        }
    }
    let lanes = (0..=u8::MAX).map(Lane).collect();
    let overdue = store.overdue(lanes, START, None, 512).await.unwrap();
    assert_eq!(overdue.len(), 512, "what is due is found");
}
