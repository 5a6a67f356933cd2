//! Many at once on the console, over plain HTTP: what a list may carry, whose it is, and what is left as it is.

use serde_json::{Value, json};

use crate::browsing::{Browser, encoded, send, unknown};
use crate::world::{TOKEN, World};

/// The rows of the list on a page, as its form would send them.
fn items(page: &str) -> Vec<String> {
    let rows = page.split("name=\"item\" value=\"").skip(1);
    rows.map(|row| {
        let value = row.split('"').next().unwrap();
        value.replace("&#34;", "\"").replace("&quot;", "\"")
    })
    .collect()
}

async fn state(world: &World, id: &str) -> Value {
    world.get(&format!("/v1/actions/{id}")).await.json()["state"].clone()
}

#[tokio::test]
async fn nothing_is_ruled_on_that_was_not_shown() {
    let world = World::start().await;
    let (first, second) = (unknown(&world, "1").await, unknown(&world, "2").await);
    let browser = Browser::signed_in(&world, TOKEN).await;
    let page = browser.get("/review/incident?destination=crm").await;
    assert_eq!(page.status, 200, "{}", page.text);
    let items = items(&page.text);
    assert_eq!(items.len(), 2, "{}", page.text);
    let mut said: Vec<(&str, &str)> = items.iter().map(|one| ("item", one.as_str())).collect();
    said.extend([("verdict", "cannot_be_known"), ("why", "their log is gone")]);
    let shown = browser.post("/review/plan", &said).await;
    assert_eq!(shown.status, 200, "{}", shown.text);
    assert!(shown.text.contains(&first) && shown.text.contains(&second));
    assert_eq!(state(&world, &first).await, "outcome_unknown");
    let noted = json!({"text": "they called"});
    world
        .post(&format!("/v1/review/{first}/note"), &noted)
        .await;
    said.push(("confirm", "yes"));
    let done = browser.post("/review/plan", &said).await;
    assert!(
        done.text.contains("F1172") && done.text.contains(&first) && !done.text.contains(&second),
        "{}",
        done.text
    );
    let waits = world.get("/v1/review").await.json();
    assert_eq!(waits["items"].as_array().unwrap().len(), 1);
    assert_eq!(waits["items"][0]["id"], first);
    // The same again finds both changed, and rules on none.
    let again = browser.post("/review/plan", &said).await;
    assert!(again.text.contains(&second), "{}", again.text);
    for wrong in [
        vec![("verdict", "happened"), ("why", "x")],
        vec![("item", "{}"), ("verdict", "happened"), ("why", "x")],
        vec![("item", items[0].as_str()), ("why", "x")],
        vec![
            ("item", items[0].as_str()),
            ("verdict", "perhaps"),
            ("why", "x"),
        ],
        vec![
            ("item", items[0].as_str()),
            ("verdict", "happened"),
            ("why", " "),
        ],
    ] {
        assert_eq!(
            browser.post("/review/plan", &wrong).await.status,
            400,
            "{wrong:?}"
        );
    }
}

/// Law 9.
#[tokio::test]
async fn nobody_elses_list_is_seen_matched_or_ruled_on() {
    let world = World::start().await;
    let id = unknown(&world, "1").await;
    let _ = world.tenant("acme").await;
    let rita = world.token("acme", "rita", &["review", "read"]).await;
    let rita = Browser::signed_in(&world, &rita).await;
    let page = rita.get("/review/incident?destination=crm").await;
    assert!(
        page.status == 200 && !page.text.contains(&id),
        "{}",
        page.text
    );
    let item = json!({"action": id, "seen": 1}).to_string();
    let said = [
        ("item", &*item),
        ("verdict", "happened"),
        ("why", "a guess"),
    ];
    assert_eq!(rita.post("/review/plan", &said).await.status, 404);
    let confirmed = [said[0], said[1], said[2], ("confirm", "yes")];
    let refused = rita.post("/review/plan", &confirmed).await;
    assert!(refused.text.contains("F1020"), "{}", refused.text);
    let list = [
        ("destination", "crm"),
        ("export", "id,reference\nT-1,order/1\n"),
    ];
    let matched = rita.post("/review/match", &list).await;
    assert!(
        matched.status == 200 && !matched.text.contains(&id),
        "{}",
        matched.text
    );
    let viewer = world.token("default", "vera", &["read"]).await;
    let viewer = Browser::signed_in(&world, &viewer).await;
    assert_eq!(viewer.get("/review/incident").await.status, 403);
    assert_eq!(viewer.post("/review/match", &list).await.status, 403);
    assert_eq!(viewer.post("/review/plan", &said).await.status, 403);
    assert_eq!(state(&world, &id).await, "outcome_unknown");
}

#[tokio::test]
async fn a_list_is_a_file_of_this_sessions_form_and_its_columns_can_be_named() {
    let world = World::start().await;
    let id = unknown(&world, "1").await;
    let browser = Browser::signed_in(&world, TOKEN).await;
    let body = |form: &str| {
        let part = |name: &str, value: &str| {
            format!("--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        };
        format!(
            "{}{}--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\n\
             number;whose\nT-1;order/1\n\r\n--x--\r\n",
            part("form", form),
            part("destination", "crm")
        )
    };
    let upload = async |form: &str| {
        let headers = [
            ("Cookie", browser.cookie.as_str()),
            ("Origin", "http://test"),
            ("Content-Type", "multipart/form-data; boundary=x"),
        ];
        send(&world, "POST", "/review/match", &headers, &body(form)).await
    };
    assert_eq!(upload("another").await.status, 403);
    let guessed = upload(&browser.form).await;
    assert_eq!(guessed.status, 200, "{}", guessed.text);
    assert!(
        guessed.text.contains("0 of 1 are in the list"),
        "{}",
        guessed.text
    );
    let named = [
        ("destination", "crm"),
        ("columns", "named"),
        ("receipt", "number"),
        ("reference", "whose"),
        ("export", "number;whose\nT-1;order/1\n"),
    ];
    let found = browser.post("/review/match", &named).await;
    assert!(
        found.text.contains("1 of 1 are in the list"),
        "{}",
        found.text
    );
    assert!(found.text.contains(&id) && found.text.contains("T-1"));
    for (target, member) in [("destination", ""), ("export", "")] {
        let rest = named.iter().filter(|(name, _)| *name != target);
        let mut said: Vec<_> = rest.copied().collect();
        said.push((target, member));
        assert_eq!(
            browser.post("/review/match", &said).await.status,
            400,
            "{target}"
        );
    }
    let times = format!("/review/incident?destination=crm&from={}", encoded("soon"));
    assert_eq!(browser.get(&times).await.status, 400);
    assert_eq!(state(&world, &id).await, "outcome_unknown");
}
