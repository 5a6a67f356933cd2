//! What several people do with what waits for them: taking, second persons, replaced verdicts, exports, incidents.

use serde_json::{Value, json};

use crate::client::Answer;
use crate::world::{World, submission};

const CONFIG: &str = r#"
[destinations.pay]
provider = "work"
limits = { work_lease = "60 s" }
[destinations.pay.work."charge.create"]
two_person_verdicts = true
[destinations.pay.work."note.add"]
consequence = "reversible"
[destinations.pay.work."keyed.add"]
consequence = "costly"
key = { floor = "24 h" }
by = "ops"
reason = "a test"
"#;

async fn unknown(world: &World, name: &str) -> String {
    let status = world.settled(&submission(name, "lose")).await;
    assert_eq!(status["state"], "outcome_unknown");
    status["id"].as_str().unwrap().to_owned()
}

/// An action at `pay` whose worker says that it does not know.
async fn lost(world: &World, operation: &str, key: &str) -> String {
    let body = json!({"destination": "pay", "operation": operation, "key": key, "payload": {}});
    let made = world.post("/v1/actions", &body).await.json();
    let wish = json!({"operations": [operation]});
    let items = world.post("/v1/work/claim?wait=20", &wish).await.json();
    let claim = items["items"][0]["claim"].as_str().unwrap().to_owned();
    let step = async |step: &str, body: Value| {
        let answer = world.post(&format!("/v1/work/{claim}/{step}"), &body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
    };
    step("begin", json!({})).await;
    step("report", json!({"outcome": "unknown", "why": "reset"})).await;
    let id = made["id"].as_str().unwrap().to_owned();
    let rests = world.get(&format!("/v1/actions/{id}?wait=30")).await.json();
    assert_eq!(rests["next"]["do"], "review", "{rests}");
    id
}

async fn post(world: &World, token: &str, target: &str, body: Value) -> Answer {
    world
        .call_as(token, "POST", target, &[], &body.to_string())
        .await
}

async fn on(world: &World, token: &str, id: &str, what: &str, body: Value) -> Answer {
    post(world, token, &format!("/v1/review/{id}/{what}"), body).await
}

async fn facts(world: &World, id: &str) -> Vec<String> {
    let log = world
        .get(&format!("/v1/actions/{id}/evidence"))
        .await
        .json();
    let log = log["evidence"].as_array().unwrap().clone();
    log.iter()
        .map(|fact| fact["fact"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn what_somebody_has_taken_is_theirs_until_it_is_given_back() {
    let world = World::start().await;
    let (ana, ben) = (
        world.token("default", "ana", &["review"]).await,
        world.token("default", "ben", &["review"]).await,
    );
    let id = unknown(&world, "1").await;
    let taken = on(&world, &ana, &id, "take", json!({})).await;
    assert_eq!(taken.status, 200, "{}", taken.text);
    let again = on(&world, &ana, &id, "take", json!({})).await;
    assert_eq!(again.status, 200);
    assert_eq!(
        facts(&world, &id)
            .await
            .iter()
            .filter(|fact| *fact == "taken")
            .count(),
        1
    );
    let verdict = json!({"verdict": "send_again", "why": "they want it"});
    for (what, body) in [("take", json!({})), ("verdict", verdict.clone())] {
        let refused = on(&world, &ben, &id, what, body).await;
        assert_eq!(
            (refused.status, &refused.json()["code"]),
            (409, &json!("F1110"))
        );
    }
    let items = world.get("/v1/review").await.json();
    assert_eq!(items["items"][0]["taken_by"], "ana");
    let noted = on(
        &world,
        &ben,
        &id,
        "note",
        json!({"text": "asked their support"}),
    )
    .await;
    assert_eq!(noted.json()["next"]["do"], "review");
    assert_eq!(
        on(&world, &ben, &id, "release", json!({})).await.status,
        200
    );
    let refused = on(&world, &ben, &id, "release", json!({})).await;
    assert_eq!(refused.json()["code"], "F1021");
    let log = facts(&world, &id).await;
    let tail = &log[log.len() - 4..];
    assert_eq!(tail, ["taken", "noted", "released", "noted"]);
    assert_eq!(world.ledger.arrived(), 1, "nothing of this sends");
    let ruled = on(&world, &ben, &id, "verdict", verdict).await;
    assert_eq!(ruled.status, 200);
    world.ledger.until(2).await;
}

#[tokio::test]
async fn a_second_person_has_to_say_the_same() {
    let world = World::with(CONFIG, |limits| limits).await;
    let (ana, ben) = (
        world.token("default", "ana", &["review"]).await,
        world.token("default", "ben", &["review"]).await,
    );
    let id = lost(&world, "charge.create", "c-1").await;
    let happened = json!({"verdict": "happened", "receipt": "C-1", "why": "on the statement"});
    let first = on(&world, &ana, &id, "verdict", happened.clone()).await;
    assert_eq!(
        (first.status, &first.json()["action"]["state"]),
        (202, &json!("outcome_unknown"))
    );
    // Another name under the same token is the same person.
    let mut twice = happened.clone();
    twice["by"] = "carol".into();
    let refused = on(&world, &ana, &id, "verdict", twice).await;
    assert_eq!(
        (refused.status, &refused.json()["code"]),
        (409, &json!("F1111"))
    );
    let items = world.get("/v1/review").await.json();
    assert_eq!(items["items"][0]["proposed"]["by"], "ana");
    // Another verdict is another proposal.
    let other = json!({"verdict": "did_not_happen", "why": "not on mine"});
    assert_eq!(on(&world, &ben, &id, "verdict", other).await.status, 202);
    assert_eq!(
        on(&world, &ana, &id, "verdict", happened.clone())
            .await
            .status,
        202
    );
    let second = on(&world, &ben, &id, "verdict", happened).await;
    assert_eq!(
        (second.status, &second.json()["state"]),
        (200, &json!("succeeded"))
    );
    let log = world
        .get(&format!("/v1/actions/{id}/evidence"))
        .await
        .json();
    let verdicts: Vec<&Value> = log["evidence"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["fact"] == "verdict")
        .collect();
    assert_eq!(verdicts.len(), 1);
    assert_eq!(verdicts[0]["detail"]["by"], "ana and ben");
}

#[tokio::test]
async fn a_verdict_is_replaced_by_a_later_one_and_stands_against_no_evidence() {
    let world = World::start().await;
    let id = unknown(&world, "1").await;
    let rule = async |verdict: Value| {
        world
            .post(&format!("/v1/review/{id}/verdict"), &verdict)
            .await
    };
    let first = rule(json!({"verdict": "happened", "receipt": "T-9", "why": "seen"})).await;
    assert_eq!(first.json()["state"], "succeeded");
    let second = rule(json!({"verdict": "cannot_be_known", "why": "it was another one"})).await;
    assert_eq!(
        (second.status, &second.json()["state"]),
        (200, &json!("outcome_unknown"))
    );
    let third = rule(json!({"verdict": "happened", "receipt": "T-10", "why": "this is it"})).await;
    assert_eq!(
        (
            &third.json()["state"],
            &third.json()["receipt"]["reference"]
        ),
        (&json!("succeeded"), &json!("T-10"))
    );
    assert_eq!(third.json()["duplicate_suspected"], false);
    assert_eq!(
        facts(&world, &id)
            .await
            .iter()
            .filter(|fact| *fact == "verdict")
            .count(),
        3
    );

    // What the destination itself has said is shown, and stands.
    let done = world.settled(&submission("2", "done")).await;
    let target = format!("/v1/review/{}/verdict", done["id"].as_str().unwrap());
    for verdict in ["did_not_happen", "cannot_be_known", "send_again"] {
        let refused = world
            .post(&target, &json!({"verdict": verdict, "why": "a guess"}))
            .await;
        let problem = refused.json();
        assert_eq!(
            (refused.status, &problem["code"]),
            (409, &json!("F1112")),
            "{problem}"
        );
        assert!(
            problem["rule"].as_str().unwrap().contains("receipt T-2"),
            "{problem}"
        );
    }
    assert_eq!(world.ledger.arrived(), 2);
}

#[tokio::test]
async fn the_urgent_comes_first() {
    let world = World::with(CONFIG, |limits| limits).await;
    let reversible = lost(&world, "note.add", "n-1").await;
    let costly = lost(&world, "charge.create", "c-1").await;
    let older = lost(&world, "charge.create", "c-2").await;
    let ids = async |target: &str| {
        let items = world.get(target).await.json();
        let items = items["items"].as_array().unwrap().clone();
        items
            .iter()
            .map(|item| item["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        ids("/v1/review?order=urgent").await,
        [costly.clone(), older.clone(), reversible.clone()]
    );
    assert_eq!(
        ids("/v1/review?order=urgent&limit=1").await,
        std::slice::from_ref(&costly)
    );
    assert_eq!(ids("/v1/review").await, [older, costly, reversible]);
    assert_eq!(ids("/v1/review?destination=crm").await, [""; 0]);
    world.tenant("acme").await;
    assert_eq!(ids("/v1/review?tenant=acme").await, [""; 0]);
    let refused = world.get("/v1/review?tenant=nobody").await;
    assert_eq!(refused.json()["code"], "F1063");
}

/// An export as the destination writes one: a row for each effect, with the reference that it was given.
fn export(world: &World, marks: &[(String, String)]) -> String {
    let mut text = "id;external;title\n".to_owned();
    for (name, mark) in marks {
        assert_eq!(world.ledger.arrived_as(name), 1);
        text.push_str(&format!("T-{name};{mark};\"Adds; a contact\"\n"));
    }
    text
}

#[tokio::test]
async fn an_export_clears_what_an_incident_left() {
    let world = World::start().await;
    let mut ids = Vec::new();
    for n in 0..6 {
        ids.push(unknown(&world, &format!("n{n}")).await);
    }
    // Four of them are in the destination's list, under the key that the caller gave.
    let marks: Vec<_> = (0..4)
        .map(|n| (format!("n{n}"), format!("order/n{n}")))
        .collect();
    let body = json!({
        "destination": "crm", "form": "csv", "export": export(&world, &marks),
        "columns": {"receipt": "id", "reference": "external", "subject": "title"},
    });
    let found = world.post("/v1/review/match", &body).await.json();
    assert_eq!(found["proposals"].as_array().unwrap().len(), 4, "{found}");
    assert_eq!(found["not_found"].as_array().unwrap().len(), 2);
    assert!(
        found["proposals"]
            .as_array()
            .unwrap()
            .iter()
            .all(|one| one["by"] == "reference")
    );
    let mut complete = body.clone();
    complete["complete"] = true.into();
    let found = world.post("/v1/review/match", &complete).await.json();
    let proposals = found["proposals"].as_array().unwrap();
    assert_eq!(proposals.len(), 6);
    assert_eq!(
        proposals
            .iter()
            .filter(|one| one["verdict"] == "did_not_happen")
            .count(),
        2
    );
    let queue = world.get("/v1/review").await.json();
    assert_eq!(
        queue["items"].as_array().unwrap().len(),
        6,
        "matching records nothing"
    );

    let verdicts: Vec<Value> = proposals.iter()
        .map(|one| json!({"action": one["action"], "verdict": one["verdict"], "receipt": one["receipt"], "why": one["why"]}))
        .collect();
    let body = json!({"verdicts": verdicts, "why": "their export", "by": "ana"});
    let ruled = world.post("/v1/review/verdicts", &body).await.json();
    assert!(
        ruled["results"]
            .as_array()
            .unwrap()
            .iter()
            .all(|one| one["problem"].is_null()),
        "{ruled}"
    );
    let queue = world.get("/v1/review").await.json();
    assert_eq!(queue["items"], json!([]));
    let status = world.get(&format!("/v1/actions/{}", ids[0])).await.json();
    assert_eq!(
        (&status["state"], &status["receipt"]["reference"]),
        (&json!("succeeded"), &json!("T-n0"))
    );
    assert_eq!(world.ledger.arrived(), 6, "nothing of this sends");
    // One that is ruled on already says so, and stops none of the others.
    let again = world.post("/v1/review/verdicts", &body).await.json();
    assert_eq!(again["results"].as_array().unwrap().len(), 6);
}

#[tokio::test]
async fn one_incident_is_shown_before_it_is_ruled_on() {
    let world = World::start().await;
    let first = unknown(&world, "a").await;
    let second = unknown(&world, "b").await;
    let body = json!({
        "destination": "crm", "from": "2020-01-01T00:00:00Z", "until": "2099-01-01T00:00:00Z",
        "verdict": "cannot_be_known", "why": "their logs are gone", "by": "ana",
    });
    let with = |digest: &Value, body: &Value| {
        let mut body = body.clone();
        body["confirm"] = digest.clone();
        body
    };
    let shown = world.post("/v1/review/incident", &body).await.json();
    let items: Vec<&Value> = shown["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["action"])
        .collect();
    assert_eq!(items, [&json!(first), &json!(second)]);
    assert_eq!(shown["confirmed"], false);
    let mut other = body.clone();
    other["verdict"] = "did_not_happen".into();
    let refused = world
        .post("/v1/review/incident", &with(&shown["digest"], &other))
        .await;
    assert_eq!(
        refused.json()["code"],
        "F1113",
        "another verdict is another list"
    );
    let third = unknown(&world, "c").await;
    let refused = world
        .post("/v1/review/incident", &with(&shown["digest"], &body))
        .await;
    assert_eq!(
        (refused.status, &refused.json()["code"]),
        (409, &json!("F1113"))
    );
    assert_eq!(
        world.get("/v1/review").await.json()["items"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    let shown = world.post("/v1/review/incident", &body).await.json();
    let ruled = world
        .post("/v1/review/incident", &with(&shown["digest"], &body))
        .await
        .json();
    assert_eq!(
        (
            &ruled["confirmed"],
            ruled["results"].as_array().unwrap().len()
        ),
        (&json!(true), 3)
    );
    assert_eq!(world.get("/v1/review").await.json()["items"], json!([]));
    let status = world.get(&format!("/v1/actions/{third}")).await.json();
    assert_eq!(status["closed"]["by"], "ana");
    let mut before = body.clone();
    before["until"] = "2020-01-02T00:00:00Z".into();
    let shown = world.post("/v1/review/incident", &before).await.json();
    assert_eq!(shown["items"], json!([]));
}

#[tokio::test]
async fn many_are_asked_again_and_those_that_cannot_be_say_so() {
    let world = World::start().await;
    let id = unknown(&world, "1").await;
    let nobody = "act_00000000000000000000000000";
    let body = json!({"actions": [id, nobody], "by": "ana"});
    let checked = world.post("/v1/review/check-again", &body).await.json();
    let codes: Vec<&Value> = checked["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["problem"]["code"])
        .collect();
    assert_eq!(codes, ["F1021", "F1020"]);
    let all = world
        .post("/v1/review/check-again", &json!({}))
        .await
        .json();
    assert_eq!(all["results"].as_array().unwrap().len(), 1);
}

/// Law 9.
#[tokio::test]
async fn nothing_of_anothers_review_is_seen_matched_or_ruled_on() {
    let world = World::start().await;
    let (acme, globex) = (world.tenant("acme").await, world.tenant("globex").await);
    let body = submission("same", "lose").to_string();
    let headers = [("Prefer", "wait=30")];
    let other = world
        .call_as(&globex, "POST", "/v1/actions", &headers, &body)
        .await
        .json();
    let id = other["id"].as_str().unwrap();
    let all = json!({
        "destination": "crm", "form": "json", "export": "[{\"id\": \"T-1\", \"ref\": \"order/same\"}]",
        "columns": {"receipt": "id", "reference": "ref"}, "complete": true,
    });
    let found = post(&world, &acme, "/v1/review/match", all).await.json();
    assert_eq!(
        (&found["proposals"], &found["rows_left"]),
        (&json!([]), &json!(1))
    );
    let span = json!({
        "destination": "crm", "from": "2020-01-01T00:00:00Z", "until": "2099-01-01T00:00:00Z", "verdict": "happened", "why": "a guess",
    });
    let shown = post(&world, &acme, "/v1/review/incident", span)
        .await
        .json();
    assert_eq!(shown["items"], json!([]));
    let verdicts = json!({"verdicts": [{"action": id, "verdict": "happened"}], "why": "a guess"});
    let ruled = post(&world, &acme, "/v1/review/verdicts", verdicts)
        .await
        .json();
    assert_eq!(ruled["results"][0]["problem"]["code"], "F1020");
    let checked = post(
        &world,
        &acme,
        "/v1/review/check-again",
        json!({"actions": [id]}),
    )
    .await;
    assert_eq!(checked.json()["results"][0]["problem"]["code"], "F1020");
    let status = world
        .call_as(&globex, "GET", &format!("/v1/actions/{id}"), &[], "")
        .await;
    assert_eq!(status.json()["state"], "outcome_unknown");
}
