//! The SQL function and the engine decide alike whether a submission joins: random submissions by both ways, in any order.

use std::collections::BTreeMap;
use std::time::Duration;

use factum::{Code, Factum, Submission};
use factum_engine::canonical::canonical;
use factum_faults::Chance;
use serde_json::{Value, json};
use tokio_postgres::Client;

use super::{Rig, connect, state_of};

/// Payloads that are alike or not in ways that readers of JSON differ about.
const PAYLOADS: [&str; 16] = [
    r#"{"a":1,"b":[true,null]}"#,
    r#"{ "b" : [ true , null ], "a" : 1 }"#,
    r#"{"a":1.0,"b":[true,null]}"#,
    r#"{"a":1e0,"b":[true,null]}"#,
    r#"{"a":"1","b":[true,null]}"#,
    r#"{"b":[null,true],"a":1}"#,
    r#"{"\u0061":1,"b":[true,null]}"#,
    r#"{"aa":1,"B":2,"b":3,"\u00e9":4,"z":{}}"#,
    r#"{"z":{},"é":4,"b":3,"B":2,"aa":1}"#,
    r#"{"text":"tab\tquote\"back\\slash\/\u0001\u007f\ud83d\ude00"}"#,
    "{\"text\":\"tab\\tquote\\\"back\\\\slash/\\u0001\u{7f}\u{1F600}\"}",
    r#"{"text":"back\\u0000"}"#,
    r#"{"v":100}"#,
    r#"{"v":1e2}"#,
    r#"{"v":"100"}"#,
    r#"{"v":null}"#,
];

/// All the same; the operation takes none.
const PARAMS: [Option<&str>; 3] = [None, Some("{}"), Some("null")];

/// One submission as text. Nothing of it is sent within this test's time.
fn text(key: &str, params: Option<&str>, payload: &str) -> String {
    let params = params.map(|params| format!(r#","params":{params}"#));
    format!(
        r#"{{"destination":"bed","operation":"key.sync","key":{},"not_before":"2999-01-01T00:00:00Z","payload":{payload}{}}}"#,
        json!(key),
        params.unwrap_or_default()
    )
}

/// What makes the effect, as the engine compares it.
fn effect(submission: &str) -> String {
    let submission = Submission::from_json(submission).unwrap();
    let canonical = |raw: Option<&str>, absent: &str| canonical(raw.unwrap_or(absent), "").unwrap();
    let raw = |raw: &Option<Box<serde_json::value::RawValue>>| {
        raw.as_ref().map(|raw| raw.get().to_owned())
    };
    let (params, payload) = (raw(&submission.params), raw(&submission.payload));
    canonical(params.as_deref(), "{}") + " " + &canonical(payload.as_deref(), "null")
}

/// The id of the action and whether it was joined; None for a conflict.
type Verdict = Option<(String, bool)>;

async fn by_sql(client: &Client, text: &str) -> Verdict {
    let sql = "SELECT factum.submit($1::text::jsonb)::text";
    match client.query_one(sql, &[&text]).await {
        Ok(row) => {
            let said: Value = serde_json::from_str(row.get(0)).unwrap();
            Some((
                said["id"].as_str().unwrap().to_owned(),
                said["joined"] == true,
            ))
        }
        Err(error) => {
            assert_eq!(state_of(&error), "F1007", "{text}: {error:?}");
            None
        }
    }
}

async fn by_engine(factum: &Factum, text: &str) -> Verdict {
    match factum.submit(Submission::from_json(text).unwrap()).await {
        Ok(submitted) => Some((submitted.status.id, !submitted.created)),
        Err(problem) => {
            assert_eq!(problem.code, Code::IdentityConflict, "{text}: {problem}");
            None
        }
    }
}

/// By either way: the text that the engine sees in the end, and the verdict. The function sees, and hands on, what PostgreSQL makes of
/// a text.
async fn submit_by(sql: bool, app: &Client, factum: &Factum, written: &str) -> (String, Verdict) {
    if !sql {
        return (written.to_owned(), by_engine(factum, written).await);
    }
    let row = app
        .query_one("SELECT $1::text::jsonb::text", &[&written])
        .await
        .unwrap();
    (row.get(0), by_sql(app, written).await)
}

// O: one decision for both ways. The function is never looser than the engine; it is not stricter either, where both read the same text.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; ./test starts one"]
async fn sql_and_engine_decide_alike_about_thousands_of_submissions() {
    let rig = Rig::make().await;
    let factum = rig.engine("5 ms").await;
    let app = connect(&rig.url).await;
    let mut chance = Chance::new(20, "submissions", 0);
    let mut draw = |bound: usize| usize::try_from(chance.below(bound as u64)).unwrap();
    // What each key named first: its action, and what makes the effect.
    let mut first: BTreeMap<String, (String, String)> = BTreeMap::new();
    let (mut joins, mut conflicts) = (0, 0);
    for _ in 0..4_000 {
        let key =
            ["é", "a b", "x/y", "\"", "Z"][draw(5)].repeat(1 + draw(40)) + &draw(6).to_string();
        let written = text(
            &key,
            PARAMS[draw(PARAMS.len())],
            PAYLOADS[draw(PAYLOADS.len())],
        );
        let sql = draw(2) == 0;
        let (read, verdict) = submit_by(sql, &app, &factum, &written).await;
        let effect = effect(&read);
        let Some((action, known)) = first.get(&key) else {
            let (action, joined) = verdict.expect("a new identity is recorded");
            assert!(!joined, "{written}");
            first.insert(key, (action, effect));
            continue;
        };
        let expected = (*known == effect).then(|| (action.clone(), true));
        assert_eq!(
            verdict, expected,
            "by sql: {sql}, {written}; it was {known}"
        );
        if verdict.is_some() {
            joins += 1;
        } else {
            conflicts += 1;
        }
    }
    assert!(
        joins > 200 && conflicts > 1_000,
        "{joins} joins, {conflicts} conflicts"
    );
    // Params count too.
    let plain = text("params", None, PAYLOADS[0]);
    assert!(by_sql(&app, &plain).await.is_some());
    let other = text("params", Some(r#"{"brand":"acme"}"#), PAYLOADS[0]);
    assert_eq!(by_sql(&app, &other).await, None);
    first.insert("params".to_owned(), (String::new(), String::new()));
    // Nothing that was told is lost or stands twice.
    let recorded = "SELECT count(*), count(DISTINCT identity) FROM factum.action";
    let deadline = tokio::time::Instant::now() + super::PATIENCE;
    loop {
        let row = app.query_one(recorded, &[]).await.unwrap();
        let (actions, identities): (i64, i64) = (row.get(0), row.get(1));
        assert_eq!(actions, identities);
        if usize::try_from(actions).unwrap() == first.len() {
            break;
        }
        assert!(
            tokio::time::Instant::now() < deadline,
            "{actions} of {}",
            first.len()
        );
    }
    for (action, _) in first.values().filter(|(action, _)| !action.is_empty()) {
        factum.engine().load(action.parse().unwrap()).await.unwrap();
    }
    factum.shutdown(Duration::from_secs(5)).await;
}
