//! Searches: complete and strong at `lookup`, late and cut at `lagging`.

use std::time::Duration;

use factum_testbed::{Filter, Handle};
use serde_json::{Value, json};

use crate::caller::{Ask, order, with_faults};

async fn search(testbed: &Handle, target: &str) -> Value {
    Ask::get(target).send(testbed.addr()).await.json()
}

fn references(page: &Value) -> Vec<&str> {
    let items = page["items"].as_array().expect("a page has items");
    items
        .iter()
        .filter_map(|item| item["reference"].as_str())
        .collect()
}

#[tokio::test]
async fn a_search_finds_at_once_and_sees_queued_work() {
    let testbed = with_faults("").await;
    testbed.change_settings(|settings| settings.queue_delay = Duration::from_secs(100));
    for mode in ["sync", "queued"] {
        Ask::post(format!("/lookup/{mode}/effects"), &order("a"))
            .send(testbed.addr())
            .await;
    }
    let done = json!({"id": "T-000001", "job": null, "reference": "ref-a", "business": "a", "state": "done"});
    let queued = json!({"id": "J-1", "job": "J-1", "reference": "ref-a", "business": "a", "state": "queued"});
    for (mode, item) in [("sync", done), ("queued", queued)] {
        let page = search(&testbed, &format!("/lookup/{mode}/effects?reference=ref-a")).await;
        assert_eq!(
            page,
            json!({"items": [item], "next": null, "complete": true}),
            "{mode}"
        );
    }
    testbed.advance(Duration::from_secs(100));
    testbed
        .ledger()
        .wait_until(&Filter::default(), |counts| counts.total_effects == 2)
        .await;
    let page = search(&testbed, "/lookup/queued/effects?reference=ref-a").await;
    assert_eq!(
        (&page["items"][0]["id"], &page["items"][0]["state"]),
        (&json!("T-000002"), &json!("done"))
    );

    let absent = search(&testbed, "/lookup/sync/effects?reference=ref-b").await;
    assert_eq!(absent, json!({"items": [], "next": null, "complete": true}));
    assert_eq!(testbed.ledger().counts(&Filter::default()).lookups, 4);
}

// B92
#[tokio::test]
async fn a_search_comes_in_pages_until_there_is_no_next() {
    let testbed = with_faults("").await;
    for n in 0..7 {
        Ask::post("/lookup/sync/effects", &order(&n.to_string()))
            .send(testbed.addr())
            .await;
    }
    let mut target = "/lookup/sync/effects?limit=3".to_owned();
    let mut found = Vec::new();
    for _ in 0..3 {
        let page = search(&testbed, &target).await;
        found.extend(references(&page).into_iter().map(str::to_owned));
        assert_eq!(page["complete"], true);
        match page["next"].as_str() {
            Some(cursor) => target = format!("/lookup/sync/effects?limit=3&cursor={cursor}"),
            None => break,
        }
    }
    let expected: Vec<_> = (0..7).map(|n| format!("ref-{n}")).collect();
    assert_eq!(found, expected);
    let bad = Ask::get("/lookup/sync/effects?cursor=x")
        .send(testbed.addr())
        .await;
    assert_eq!((bad.status, bad.code().as_str()), (400, "cursor"));
}

// B89
#[tokio::test]
async fn a_lagging_search_shows_an_effect_only_after_the_lag() {
    let testbed = with_faults("").await;
    testbed.change_settings(|settings| settings.search_lag = Duration::from_secs(600));
    Ask::post("/lagging/sync/effects", &order("a"))
        .send(testbed.addr())
        .await;
    let target = "/lagging/sync/effects?reference=ref-a";
    let early = search(&testbed, target).await;
    assert_eq!(early, json!({"items": [], "next": null, "complete": true}));
    testbed.advance(Duration::from_secs(599));
    assert!(references(&search(&testbed, target).await).is_empty());
    testbed.advance(Duration::from_secs(2));
    assert_eq!(references(&search(&testbed, target).await), ["ref-a"]);
}

#[tokio::test]
async fn a_truncated_search_has_one_page_and_says_that_it_is_incomplete() {
    let testbed = with_faults("").await;
    testbed.change_settings(|settings| {
        settings.search_lag = Duration::ZERO;
        settings.truncate = true;
    });
    for n in 0..3 {
        Ask::post("/lagging/sync/effects", &order(&n.to_string()))
            .send(testbed.addr())
            .await;
    }
    let page = search(&testbed, "/lagging/sync/effects?limit=2").await;
    assert_eq!(references(&page), ["ref-0", "ref-1"]);
    assert_eq!(
        (&page["next"], &page["complete"]),
        (&Value::Null, &json!(false))
    );
    // Even where everything fits, a search that may be cut never claims to be complete.
    let absent = search(&testbed, "/lagging/sync/effects?reference=ref-9").await;
    assert_eq!(absent["complete"], false);
}
