//! Keys that the engine makes from a submission's arguments (R28).

use factum::{Code, Config, Factum, Filter, Problem};
use factum_engine::{Submission, Submitted};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::support::{PATIENCE, Rig, config};

const BY_ORDER: &str = r#"
    [destinations.bed.operations."key.sync"]
    key_template = "ticket/{conversation}/{args.order}"
"#;

fn ticket(conversation: &str, payload: Value) -> Value {
    json!({
        "destination": "bed", "operation": "key.sync", "conversation": {"id": conversation}, "payload": payload,
    })
}

async fn submit(factum: &Factum, body: &Value) -> Result<Submitted, Problem> {
    let submission = Submission::from_json(&body.to_string()).unwrap();
    factum.engine().submit(submission, "default", "admin").await
}

fn everything() -> Filter {
    Filter {
        limit: 100,
        ..Filter::default()
    }
}

/// B67: an argument that is another on every call is no part of the key. The repeat does not become a second effect: equal, it
/// joins; with another time in it, it is refused, and what differs is named.
#[tokio::test]
async fn what_is_not_listed_makes_no_other_key() {
    let rig = Rig::start_with("", BY_ORDER).await;
    let at = |at: &str| ticket("c/91", json!({"business": "b", "order": 77, "at": at}));
    let first = submit(&rig.factum, &at("10:00")).await.unwrap();
    let status = rig.rested(first.record.id()).await;
    assert_eq!(
        (status.state, status.key.as_str()),
        ("succeeded", "ticket/c%2F91/77")
    );
    let again = submit(&rig.factum, &at("10:00")).await.unwrap();
    assert!(!again.created, "it joins");
    let refused = submit(&rig.factum, &at("10:01")).await.unwrap_err();
    assert_eq!(refused.code, Code::IdentityConflict);
    assert_eq!(
        (&*refused.member, refused.action),
        ("/payload/at", Some(first.record.id()))
    );
    assert_eq!((rig.effects("b"), rig.deliveries("b")), (1, 1));
    // B68: another order is another intent.
    let other = submit(
        &rig.factum,
        &ticket("c/91", json!({"business": "b", "order": 78})),
    )
    .await
    .unwrap();
    assert_eq!(rig.rested(other.record.id()).await.state, "succeeded");
    assert_eq!(rig.effects("b"), 2);
}

/// B70: a part that is missing or empty is refused, and nothing is recorded; two unrelated requests do not meet under a blank.
#[tokio::test]
async fn a_blank_part_is_refused_and_records_nothing() {
    let rig = Rig::start_with("", BY_ORDER).await;
    for order in [json!(null), json!(""), json!(" ")] {
        let body = ticket("c", json!({"business": "blank", "order": order}));
        let refused = submit(&rig.factum, &body).await.unwrap_err();
        assert_eq!(
            (refused.code, refused.code.status()),
            (Code::MissingIdentity, 400)
        );
        assert_eq!(&*refused.member, "/payload/order", "{order}");
    }
    let mut nowhere = ticket("c", json!({"business": "blank", "order": 77}));
    nowhere.as_object_mut().unwrap().remove("conversation");
    let refused = submit(&rig.factum, &nowhere).await.unwrap_err();
    assert_eq!(&*refused.member, "/conversation/id");
    let mut named = ticket("c", json!({"business": "blank", "order": 77}));
    named["key"] = "of-its-own".into();
    let refused = submit(&rig.factum, &named).await.unwrap_err();
    assert_eq!(
        (refused.code, &*refused.member),
        (Code::BadIdentity, "/key")
    );
    assert_eq!(rig.factum.list(everything()).await.unwrap().len(), 0);
    assert_eq!(rig.deliveries("blank"), 0);
}

/// B94, B182: whoever handles the same occurrence, and however often it is handed in, it is one action and one effect.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_occurrence_that_is_handed_in_again_and_again_is_one_effect() {
    let by_event = r#"
        [destinations.bed.operations."lagging.sync"]
        key_template = "{event.source}/{event.id}"
    "#;
    let rig = Rig::start_with("", by_event).await;
    let body = json!({
        "destination": "bed", "operation": "lagging.sync", "event": {"source": "chat", "id": "m 1"},
        "payload": {"business": "reply"},
    });
    let mut handlers = JoinSet::new();
    for _ in 0..20 {
        let (factum, body) = (rig.factum.clone(), body.clone());
        handlers.spawn(async move { submit(&factum, &body).await.unwrap() });
    }
    let submitted = handlers.join_all().await;
    assert_eq!(submitted.iter().filter(|one| one.created).count(), 1);
    let id = submitted[0].record.id();
    assert!(submitted.iter().all(|one| one.record.id() == id));
    assert_eq!(rig.rested(id).await.state, "succeeded");
    assert_eq!((rig.effects("reply"), rig.deliveries("reply")), (1, 1));
}

/// An application's own transaction makes the same key, and the row joins what came over the engine.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_of_the_outbox_is_named_by_the_template_too() {
    let rig = Rig::start_with("", BY_ORDER).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("app.db");
    let mut app = rusqlite::Connection::open(&file).unwrap();
    factum::outbox::prepare(&app).unwrap();
    let payload = json!({"business": "row", "order": 77});
    let direct = submit(&rig.factum, &ticket("c", payload.clone()))
        .await
        .unwrap();
    let transaction = app.transaction().unwrap();
    let action = rig
        .factum
        .action("bed", "key.sync")
        .conversation("c", 1, "please")
        .payload(&payload);
    let handle = action.submit_in(&transaction).unwrap();
    transaction.commit().unwrap();
    // The same by plain SQL, where nobody makes the key before the row is picked up.
    factum::outbox::insert(&app, &ticket("c", payload).to_string()).unwrap();
    rig.factum.outbox(&file).await.unwrap();
    rig.factum.wait(handle, PATIENCE).await.unwrap();
    assert_eq!(rig.rested(direct.record.id()).await.state, "succeeded");
    let waiting = || {
        let sql = "SELECT count(*) FROM factum_outbox WHERE state = 'waiting'";
        app.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    let mut changes = rig.factum.engine().changes();
    while waiting() > 0 {
        let _ = tokio::time::timeout(std::time::Duration::from_millis(50), changes.recv()).await;
    }
    assert_eq!(rig.factum.list(everything()).await.unwrap().len(), 1);
    assert_eq!(rig.effects("row"), 1);
}

#[tokio::test]
async fn a_template_that_cannot_be_filled_is_refused_at_the_start() {
    for template in ["ticket", "{order}", "{args.order"] {
        let more =
            format!("[destinations.bed.operations.\"key.sync\"]\nkey_template = \"{template}\"\n");
        let written: Config = config("http://127.0.0.1:9", &more);
        let refused = Factum::memory()
            .config(written)
            .start()
            .await
            .err()
            .unwrap();
        assert_eq!(refused.code, Code::BadConfig);
        assert!(refused.member.ends_with("/key_template"), "{refused:?}");
    }
}
