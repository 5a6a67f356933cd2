//! Tampering with a database whose rows carry no checksums: the seals, the chain and a checkpoint find it.

use std::collections::BTreeSet;

use factum_core::evidence::AnswerClass;
use factum_core::{ActionId, WorkerNonce};
use factum_store::postgres::{Options, PostgresStore, verify};
use factum_store::seal::Seals;
use factum_store::verify::{Listed, Verified};
use factum_store::{Admission, Head, Store};
use tokio_postgres::Client;

use super::{Database, KEYS, connect};
use crate::fixtures::{START, admission, answered, mark, next, seals};

/// Columns of the table of evidence that hold something, and what turns their nth byte, as far as they have one.
const COLUMNS: [(&str, &str); 5] = [
    ("at", "int8send(at)"),
    ("kind", "convert_to(kind, 'UTF8')"),
    ("fact", "convert_to(fact, 'UTF8')"),
    ("no", "int8send(no)"),
    ("chain", "chain"),
];

fn options(database: &Database, seals: Seals) -> Options {
    Options {
        seals,
        ..Options::new(&database.url, KEYS)
    }
}

/// A database with so many actions of two records each, and a hand that changes it behind the store's back.
async fn filled(actions: u64, seals: Seals) -> (Database, PostgresStore, Client) {
    let database = Database::make().await;
    let store = PostgresStore::open(options(&database, seals))
        .await
        .unwrap();
    for n in 1..=actions {
        let wish = Admission {
            facts: vec![mark(1, START), answered(1, AnswerClass::Unknown)],
            next: next("look_up", Some(START)),
            ..admission(n)
        };
        store.admit(wish).await.unwrap();
    }
    let hand = connect(&database.url).await;
    hand.batch_execute(
        "ALTER TABLE factum.evidence DROP CONSTRAINT evidence_is_numbered, DROP CONSTRAINT evidence_has_an_action;
         ALTER TABLE factum.standing DROP CONSTRAINT standing_has_an_action;
         CREATE TABLE kept AS TABLE factum.evidence;",
    )
    .await
    .unwrap();
    (database, store, hand)
}

async fn put_back(hand: &Client) {
    hand.batch_execute("TRUNCATE factum.evidence; INSERT INTO factum.evidence TABLE kept;")
        .await
        .unwrap();
}

fn found(verified: &Verified) -> BTreeSet<ActionId> {
    verified
        .findings
        .iter()
        .filter_map(|one| one.action)
        .collect()
}

/// Turns bytes of a record's columns, in every action at once: each one, but of long texts only some. Gives how many were not found.
async fn turned(database: &Database, hand: &Client, (actions, seals): (u64, Seals)) -> u64 {
    let (mut missed, mut tried) = (0, 0);
    for ((column, bytes), no) in COLUMNS.iter().flat_map(|column| [(column, 1), (column, 2)]) {
        let step = if *column == "fact" { 37 } else { 1 };
        for n in (0..).step_by(step) {
            let other = format!("set_byte({bytes}, {n}, get_byte({bytes}, {n}) # 1)");
            let other = match *column {
                "at" | "no" => format!("('x' || encode({other}, 'hex'))::bit(64)::int8"),
                "chain" => other,
                // What is no text any more cannot be in this column.
                _ => format!("convert_from({other}, 'UTF8')"),
            };
            let change = format!(
                "UPDATE factum.evidence SET {column} = {other} WHERE no = {no} AND octet_length({bytes}) > {n}"
            );
            let changed = hand.execute(&change, &[]).await.unwrap();
            if changed == 0 {
                break;
            }
            tried += changed;
            let verified = verify(&options(database, seals.clone()), None)
                .await
                .unwrap();
            missed += changed - u64::try_from(found(&verified).len()).unwrap().min(changed);
            put_back(hand).await;
        }
    }
    assert!(tried > 100 * actions, "{tried}");
    missed
}

#[tokio::test]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn a_byte_of_evidence_that_is_turned_is_found_sealed_or_not() {
    for seals in [seals(), Seals::off()] {
        let (database, store, hand) = filled(4, seals.clone()).await;
        assert_eq!(turned(&database, &hand, (4, seals.clone())).await, 0);
        let verified = verify(&options(&database, seals), None).await.unwrap();
        assert_eq!((verified.actions, verified.records), (4, 8));
        assert!(verified.is_sound(), "{:?}", verified.findings);
        store.close();
    }
}

#[tokio::test]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn what_is_moved_exchanged_or_taken_out_is_found() {
    let (database, store, hand) = filled(3, Seals::off()).await;
    for change in [
        "UPDATE factum.evidence SET no = 3 - no",
        "UPDATE factum.evidence SET no = 7 WHERE no = 2",
        "DELETE FROM factum.evidence WHERE no = 1",
        "DELETE FROM factum.evidence",
        "UPDATE factum.evidence SET chain = NULL",
        "UPDATE factum.evidence SET seal = ''",
    ] {
        // The number is its key, and is changed in two steps.
        hand.batch_execute("ALTER TABLE factum.evidence DROP CONSTRAINT IF EXISTS evidence_key")
            .await
            .unwrap();
        hand.batch_execute(change).await.unwrap();
        let verified = verify(&options(&database, Seals::off()), None)
            .await
            .unwrap();
        assert_eq!(
            found(&verified).len(),
            3,
            "{change}: {:?}",
            verified.findings
        );
        put_back(&hand).await;
    }
    for (change, left) in [
        ("UPDATE factum.standing SET chain = NULL", 3),
        ("DELETE FROM factum.standing", 3),
    ] {
        hand.batch_execute(change).await.unwrap();
        let verified = verify(&options(&database, Seals::off()), None)
            .await
            .unwrap();
        assert_eq!(
            found(&verified).len(),
            left,
            "{change}: {:?}",
            verified.findings
        );
    }
    store.close();
}

/// Everything that the store has, as a checkpoint lists it.
async fn listed(store: &PostgresStore) -> (factum_store::Census, Vec<Head>) {
    (
        store.census().await.unwrap(),
        store.heads(None, 100).await.unwrap(),
    )
}

#[tokio::test]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn what_is_removed_with_all_its_traces_is_found_by_a_checkpoint() {
    let (database, store, hand) = filled(3, seals()).await;
    let (census, heads) = listed(&store).await;
    let against = async || {
        let items: Vec<Result<Head, String>> = heads.iter().copied().map(Ok).collect();
        let listed = Listed::new(census, items.into_iter());
        verify(&options(&database, seals()), Some(listed))
            .await
            .unwrap()
    };
    // An action that goes on goes through what is listed.
    let id = admission(1).action.intent.action;
    store
        .record(id, vec![answered(1, AnswerClass::Done)])
        .await
        .unwrap();
    store
        .beat(WorkerNonce(1), factum_core::Span::from_secs(1))
        .await
        .unwrap();
    let sound = against().await;
    assert!(
        sound.is_sound() && sound.actions == 3,
        "{:?}",
        sound.findings
    );

    // The end of a chain, with everything that speaks of it.
    let cut = "UPDATE factum.standing s SET records = 1, state = 'outcome_unknown', chain =
            (SELECT e.chain FROM factum.evidence e WHERE e.action = s.id AND e.no = 1) WHERE s.id = $1";
    let other = uuid::Uuid::from_bytes(admission(2).action.intent.action.to_bytes());
    hand.execute(cut, &[&other]).await.unwrap();
    hand.execute(
        "DELETE FROM factum.evidence WHERE action = $1 AND no > 1",
        &[&other],
    )
    .await
    .unwrap();
    let alone = verify(&options(&database, seals()), None).await.unwrap();
    assert!(
        alone.is_sound(),
        "nothing in the database tells: {:?}",
        alone.findings
    );
    let verified = against().await;
    assert_eq!(found(&verified), [admission(2).action.intent.action].into());
    assert!(
        verified.findings[0]
            .how
            .contains("where the checkpoint lists 2")
    );

    // A whole action.
    let third = uuid::Uuid::from_bytes(admission(3).action.intent.action.to_bytes());
    for table in [
        "evidence WHERE action",
        "standing WHERE id",
        "action WHERE id",
    ] {
        let remove = format!("DELETE FROM factum.{table} = $1");
        hand.execute(&remove, &[&third]).await.unwrap();
    }
    let verified = against().await;
    let gone = [2, 3].map(|n| admission(n).action.intent.action);
    assert_eq!(found(&verified), gone.into(), "{:?}", verified.findings);
    store.close();
}
