//! What a person decides, asked through their host: approvals and verdicts.

use serde_json::{Value, json};

use super::{Era, Host, outcome, text};
use crate::world::World;

/// Nothing listens there: what is approved stays under way, and is one action.
const APPROVED: &str = r#"
    [destinations.desk]
    provider = "testbed"
    base = "http://127.0.0.1:9"
    operations."key.sync".approval = { required = "always", self = true }
"#;

fn sync() -> Value {
    json!({"destination": "desk", "operation": "key.sync", "payload": {"business": "b"}, "request_key": "k", "wait_s": 0})
}

async fn approver(world: &World) -> Host<'_> {
    Host {
        token: world.token("default", "ana", &["submit", "approve"]).await,
        can: json!({"elicitation": {}}),
        ..Host::new(world, Era::Modern)
    }
}

/// The same call, with what a person said.
fn answered(arguments: &Value, asked: &Value, said: Value) -> Value {
    let answers = json!({"decision": said});
    json!({"name": "perform_action", "arguments": arguments, "inputResponses": answers, "requestState": asked["requestState"]})
}

async fn actions(world: &World) -> usize {
    world.get("/v1/actions").await.json()["actions"]
        .as_array()
        .unwrap()
        .len()
}

// 4.7, check 8; B121, B140, B142: the approval comes twice, and is for exactly what was shown.
#[tokio::test]
async fn an_approval_that_comes_twice_makes_one_action_with_what_was_shown() {
    let world = World::with(APPROVED, |limits| limits).await;
    let host = approver(&world).await;
    let asked = host.tool("perform_action", sync()).await;
    assert_eq!(asked["resultType"], "input_required");
    let form = &asked["inputRequests"]["decision"];
    assert_eq!(form["method"], "elicitation/create");
    assert!(
        form["params"]["message"]
            .as_str()
            .unwrap()
            .contains("\"business\":\"b\""),
        "{form}"
    );
    assert_eq!(actions(&world).await, 0);
    let said = || {
        answered(
            &sync(),
            &asked,
            json!({"action": "accept", "content": {"approve": true}}),
        )
    };
    let (one, two) = tokio::join!(
        host.ask("tools/call", said()),
        host.ask("tools/call", said())
    );
    assert_eq!((outcome(&one), outcome(&two)), ("pending", "pending"));
    assert_eq!(
        one["structuredContent"]["id"],
        two["structuredContent"]["id"]
    );
    let third = host.ask("tools/call", said()).await;
    assert_eq!(
        third["structuredContent"]["id"],
        one["structuredContent"]["id"]
    );
    assert_eq!(actions(&world).await, 1);
}

#[tokio::test]
async fn what_a_question_carries_counts_for_its_call_and_its_asker_alone() {
    let world = World::with(APPROVED, |limits| limits).await;
    let host = approver(&world).await;
    let asked = host.tool("perform_action", sync()).await;
    let yes = || json!({"action": "accept", "content": {"approve": true}});
    let mut other = sync();
    other["payload"]["business"] = "c".into();
    let mut forged = asked.clone();
    let state = asked["requestState"].as_str().unwrap();
    let (said, seal) = state.split_once('.').unwrap();
    forged["requestState"] = format!("{}.{seal}", said.replacen('e', "f", 1)).into();
    let somebody = Host {
        token: world.token("default", "ben", &["submit", "approve"]).await,
        can: json!({"elicitation": {}}),
        ..Host::new(&world, Era::Modern)
    };
    let refused = [
        host.post("tools/call", answered(&other, &asked, yes()))
            .await,
        host.post("tools/call", answered(&sync(), &forged, yes()))
            .await,
        somebody
            .post("tools/call", answered(&sync(), &asked, yes()))
            .await,
    ];
    for answer in refused {
        let error = answer.json()["error"].clone();
        assert_eq!(error["code"], -32_602, "{error}");
        assert!(
            error["message"]
                .as_str()
                .unwrap()
                .contains("does not count"),
            "{error}"
        );
    }
    assert_eq!(actions(&world).await, 0);
}

#[tokio::test]
async fn a_person_may_say_no_or_nothing() {
    let world = World::with(APPROVED, |limits| limits).await;
    let host = approver(&world).await;
    let asked = host.tool("perform_action", sync()).await;
    let closed = answered(&sync(), &asked, json!({"action": "cancel"}));
    let again = host.ask("tools/call", closed).await;
    assert_eq!(again["resultType"], "input_required", "it is asked again");
    let declined = host
        .ask(
            "tools/call",
            answered(&sync(), &again, json!({"action": "decline"})),
        )
        .await;
    assert_eq!(
        (outcome(&declined), &declined["isError"]),
        ("waits_for_approval", &json!(true))
    );
    assert!(text(&declined).contains("declined"), "{declined}");
    assert_eq!(actions(&world).await, 0);
}

#[tokio::test]
async fn where_nobody_can_be_asked_the_proposal_waits() {
    let world = World::with(APPROVED, |limits| limits).await;
    for era in super::ERAS {
        let host = Host::new(&world, era);
        let waits = host.tool("perform_action", sync()).await;
        assert_eq!(
            (outcome(&waits), &waits["isError"]),
            ("waits_for_approval", &json!(false))
        );
        assert!(
            text(&waits).contains("a person has to approve it first"),
            "{waits}"
        );
    }
    let waiting = world.get("/v1/proposals").await.json();
    assert_eq!(
        waiting["proposals"].as_array().unwrap().len(),
        1,
        "a repeat joins the proposal"
    );
    let people = Host {
        token: world.token("default", "ana", &["approve"]).await,
        ..Host::new(&world, Era::Legacy)
    };
    let proposal = &waiting["proposals"][0];
    let approved = people
        .tool(
            "approve_proposal",
            json!({"id": proposal["id"], "digest": proposal["digest"]}),
        )
        .await;
    assert_eq!(outcome(&approved), "pending");
    assert_eq!(actions(&world).await, 1);
}

#[tokio::test]
async fn a_verdict_is_the_persons_and_counts_once() {
    let world = World::start().await;
    let lost = Host::new(&world, Era::Modern)
        .perform("lost", "lose", json!({"request_key": "k"}))
        .await;
    let id = &lost["structuredContent"]["id"];
    let host = Host {
        token: world.token("default", "ana", &["review"]).await,
        can: json!({"elicitation": {}}),
        ..Host::new(&world, Era::Modern)
    };
    let listed = host.tool("list_review", json!({})).await;
    assert!(text(&listed).contains(id.as_str().unwrap()), "{listed}");
    // What the model thinks is not asked for.
    let arguments = json!({"id": id, "verdict": "send_again", "why": "I am sure"});
    let asked = host.tool("give_verdict", arguments.clone()).await;
    assert_eq!(asked["resultType"], "input_required");
    let found = json!({"action": "accept", "content": {"verdict": "happened", "why": "I saw it", "receipt": "T-7"}});
    let said = || {
        let mut call = answered(&arguments, &asked, found.clone());
        call["name"] = "give_verdict".into();
        call
    };
    let ruled = host.ask("tools/call", said()).await;
    assert_eq!(outcome(&ruled), "done");
    let again = host.ask("tools/call", said()).await;
    assert_eq!(outcome(&again), "done");
    let log = world
        .get(&format!("/v1/actions/{}/evidence", id.as_str().unwrap()))
        .await
        .json();
    let verdicts = log["evidence"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["fact"] == "verdict")
        .count();
    assert_eq!((verdicts, world.ledger.arrived_as("lost")), (1, 1));
}
