//! Conversations over HTTP: what counts as told, what has to be put right, and until when.

use serde_json::{Value, json};

use crate::world::{World, submission};

const CONVERSATION: &str = "/v1/conversations/conv-91";

/// A submission of this conversation, whose customer reads German.
fn asked(name: &str, behave: &str) -> Value {
    let mut body = submission(name, behave);
    body["conversation"] = json!({"id": "conv-91", "turn": 3, "asked": "please add me"});
    body["locale"] = "de".into();
    body
}

async fn unknown(world: &World, name: &str) -> (String, u64) {
    let status = world.settled(&asked(name, "lose")).await;
    assert_eq!(status["state"], "outcome_unknown");
    seen(&status)
}

fn seen(status: &Value) -> (String, u64) {
    let id = status["id"].as_str().expect("an id").to_owned();
    (id, status["version"].as_u64().expect("a version"))
}

async fn happened(world: &World, id: &str) {
    let verdict = json!({"verdict": "happened", "why": "seen there", "receipt": "T-9"});
    let ruled = world
        .post(&format!("/v1/review/{id}/verdict"), &verdict)
        .await;
    assert_eq!(ruled.json()["state"], "succeeded");
}

async fn told(world: &World, body: Value) -> Value {
    let answer = world.post(&format!("{CONVERSATION}/told"), &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

async fn due(world: &World) -> Vec<Value> {
    let page = world
        .get("/v1/corrections?conversation=conv-91")
        .await
        .json();
    page["corrections"].as_array().expect("a list").clone()
}

async fn told_of(world: &World) -> Vec<Value> {
    let shown = world
        .get(&format!("{CONVERSATION}?audience=operator"))
        .await
        .json();
    shown["actions"][0]["told"]
        .as_array()
        .expect("a list")
        .clone()
}

#[tokio::test]
async fn what_was_handed_out_counts_as_told_and_news_are_due_until_acknowledged() {
    let world = World::start().await;
    let (id, _) = unknown(&world, "1").await;
    let shown = world.get(CONVERSATION).await.json();
    let action = &shown["actions"][0];
    assert_eq!(
        (&action["turn"], &action["asked"]),
        (&json!(3), &json!("please add me"))
    );
    let statement = &action["status"]["statement"];
    assert_eq!(statement["key"], "unknown-checked-by-person");
    assert!(
        statement["never_say"]
            .as_array()
            .expect("a list")
            .contains(&json!("Es ist erledigt."))
    );
    let last = action["told"]
        .as_array()
        .and_then(|told| told.last())
        .expect("handed out");
    assert_eq!(
        (&last["how"], &last["say"]),
        (&json!("handed_out"), &statement["say"])
    );
    assert!(due(&world).await.is_empty());

    happened(&world, &id).await;
    let corrections = due(&world).await;
    assert_eq!(corrections.len(), 1, "{corrections:?}");
    let correction = &corrections[0];
    assert_eq!(
        (&correction["kind"], &correction["action"]),
        (&json!("news"), &json!(id))
    );
    assert_eq!(
        correction["say"],
        "Es gibt Neues zu „Adds a contact“. Erledigt. Die Referenz lautet T-9."
    );
    let shown = world.get(CONVERSATION).await.json();
    assert_eq!(
        shown["corrections_due"], 1,
        "handing it out again is not saying it: {shown}"
    );

    let acknowledge = |version: &Value| json!({"action": id, "version": version, "by": "bot"});
    let path = format!("{CONVERSATION}/acknowledge");
    let stale = world.post(&path, &acknowledge(&json!(99))).await;
    assert_eq!(stale.json()["code"], "F1021");
    let done = world
        .post(&path, &acknowledge(&correction["version"]))
        .await
        .json();
    assert_eq!(done["due"], false);
    assert!(due(&world).await.is_empty());
    let again = world
        .post(&path, &acknowledge(&correction["version"]))
        .await;
    assert_eq!(again.json()["code"], "F1021", "nothing is due any more");
    let last = told_of(&world).await.pop().expect("told");
    assert_eq!((&last["how"], &last["by"]), (&json!("told"), &json!("bot")));
}

/// R22: evidence came in between what was read and word of what was told.
#[tokio::test]
async fn after_a_race_there_is_a_correction() {
    let world = World::start().await;
    let (id, version) = unknown(&world, "1").await;
    happened(&world, &id).await;
    let body = json!({"action": id, "version": version, "statement": "unknown-checked-by-person", "locale": "fr"});
    let answer = told(&world, body.clone()).await;
    let correction = &answer["correction"];
    assert_eq!(correction["kind"], "news", "{answer}");
    assert!(
        correction["say"]
            .as_str()
            .expect("words")
            .starts_with("Il y a du nouveau"),
        "{correction}"
    );
    assert_eq!(due(&world).await.len(), 1);
    let before = told_of(&world).await;
    told(&world, body).await;
    assert_eq!(told_of(&world).await, before, "a repeat changes nothing");
    // Whoever hears how it stands now needs no news of it.
    let (_, version) = seen(&world.get(&format!("/v1/actions/{id}")).await.json());
    let answer = told(&world, json!({"action": id, "version": version})).await;
    assert_eq!(
        (&answer["told"]["statement"], &answer["correction"]),
        (&json!("done"), &json!(null))
    );
    assert!(due(&world).await.is_empty());
}

#[tokio::test]
async fn words_that_claim_more_than_they_were_handed_are_put_right() {
    let world = World::start().await;
    let (id, version) = unknown(&world, "1").await;
    let body = json!({"action": id, "version": version, "said": "Alles gut, es ist erledigt!", "locale": "de"});
    let answer = told(&world, body).await;
    assert_eq!(answer["told"]["counts_as"], "done");
    assert_eq!(answer["correction"]["kind"], "contradicted");
    let say = answer["correction"]["say"].as_str().expect("words");
    assert!(
        say.contains("„Alles gut, es ist erledigt!“ gilt nicht mehr."),
        "{say}"
    );
    // As soon as it is true, nothing has to be put right.
    happened(&world, &id).await;
    let shown = world
        .get(&format!("{CONVERSATION}?audience=operator"))
        .await
        .json();
    assert_eq!(shown["actions"][0]["correction"], json!(null), "{shown}");
}

#[tokio::test]
async fn what_was_not_passed_on_is_denied() {
    let world = World::start().await;
    let (id, _) = unknown(&world, "1").await;
    world.get(CONVERSATION).await;
    for one in told_of(&world).await {
        let answer = told(
            &world,
            json!({"action": id, "version": one["version"], "told": false}),
        )
        .await;
        assert_eq!(answer["told"]["how"], "denied");
    }
    happened(&world, &id).await;
    assert!(due(&world).await.is_empty());
    let path = format!("{CONVERSATION}/told");
    let (_, version) = seen(&world.get(&format!("/v1/actions/{id}")).await.json());
    let refused = async |body: Value| world.post(&path, &body).await.json()["code"].clone();
    let not_handed_out = json!({"action": id, "version": version, "told": false});
    assert_eq!(refused(not_handed_out).await, "F1021");
    assert_eq!(
        refused(json!({"action": id, "version": version + 1})).await,
        "F1021"
    );
    assert_eq!(
        refused(json!({"action": id, "version": 1, "statement": "sorted"})).await,
        "F1003"
    );
    assert_eq!(
        refused(json!({"action": id, "version": 1, "locale": "nl"})).await,
        "F1003"
    );
    assert_eq!(
        refused(json!({"action": "act_x", "version": 1})).await,
        "F1003"
    );
    let strange = "act_00000000000000000000000000";
    assert_eq!(
        refused(json!({"action": strange, "version": 1})).await,
        "F1020"
    );
}

#[tokio::test]
async fn a_conversation_that_nobody_named_is_not_known() {
    let world = World::start().await;
    world.settled(&submission("1", "done")).await;
    let answer = world.get("/v1/conversations/nowhere").await;
    assert_eq!(
        (answer.status, &answer.json()["code"]),
        (404, &json!("F1034"))
    );
}

/// The promise is counted from when a person was first needed, and the review queue shows that it was not kept.
#[tokio::test]
async fn an_answer_that_was_promised_is_late_once_its_time_has_passed() {
    let contact = "[contact]\nsay = \"Call 555.\"\nwithin = \"1 ms\"\n";
    let world = World::with(contact, |limits| limits).await;
    let (_, _) = unknown(&world, "1").await;
    let mut review = world.get("/v1/review").await.json();
    // The time that was promised is a millisecond away.
    while review["items"][0]["contact"]["late"] == false {
        review = world.get("/v1/review").await.json();
    }
    let contact = &review["items"][0]["contact"];
    assert_eq!(contact["late"], true, "{review}");
    assert!(
        contact["say"]
            .as_str()
            .expect("words")
            .starts_with("Call 555. You were promised an answer by ")
    );
}
