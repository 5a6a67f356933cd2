//! Every listing comes in pages: each row once, in order, and no more than was asked for. A listing of the document that is not in the
//! table fails here.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::world::{World, submission};

/// The listing, the member with its rows, what names a row, and how it is continued.
const LISTINGS: &[(&str, &str, &str, &str)] = &[
    ("/v1/actions", "actions", "id", "before"),
    ("/v1/review", "items", "id", "before"),
    ("/v1/tenants", "tenants", "name", "after"),
    ("/v1/principals", "principals", "name", "after"),
    ("/v1/grants", "grants", "name", "after"),
    ("/v1/tokens", "tokens", "name", "after"),
    ("/v1/destinations", "destinations", "name", "after"),
    ("/v1/proposals", "proposals", "id", "after"),
];

/// Listings that need more than this world has; each is paged through in tests of its own.
const ELSEWHERE: &[&str] = &[
    "/v1/callbacks",
    "/v1/corrections",
    "/v1/admin/would-send",
    "/v1/events",
];

/// Five of everything.
async fn furnished() -> World {
    let helpdesks = (0..4).map(|n| {
        format!("[destinations.desk-{n}]\nprovider = \"zendesk\"\nbase = \"https://acme-{n}.example\"\nauth = {{ basic = \"env:NO_SUCH\" }}\n")
    });
    let world = World::with(&helpdesks.collect::<String>(), |limits| limits).await;
    for n in 0..5 {
        let name = format!("one-{n}");
        world.post("/v1/tenants", &json!({"name": name})).await;
        world.token("default", &name, &["read"]).await;
        let grant = json!({"name": name, "principal": name});
        assert_eq!(world.post("/v1/grants", &grant).await.status, 201);
        world.settled(&submission(&name, "lose")).await;
        let mut proposal = submission(&name, "done");
        proposal["key"] = json!(format!("proposal/{n}"));
        let made = world.post("/v1/proposals", &proposal).await;
        assert_eq!(made.status, 201, "{}", made.text);
    }
    world
}

#[tokio::test]
async fn every_listing_is_read_whole_page_by_page() {
    let world = furnished().await;
    for (path, member, name, continued) in LISTINGS {
        let whole = world.get(path).await.json();
        let names = |page: &Value| -> Vec<String> {
            let rows = page[*member].as_array().unwrap().iter();
            rows.map(|row| row[*name].as_str().unwrap().to_owned())
                .collect()
        };
        let wanted = names(&whole);
        assert_eq!(wanted.len(), 5, "{path}: {wanted:?}");
        let next = format!("next_{continued}");
        assert_eq!(whole[&next], Value::Null, "{path}");
        let (mut got, mut target) = (Vec::new(), format!("{path}?limit=2"));
        loop {
            let page = world.get(&target).await.json();
            assert!(names(&page).len() <= 2, "{target}");
            got.extend(names(&page));
            let Some(place) = page[&next].as_str() else {
                break;
            };
            target = format!("{path}?limit=2&{continued}={place}");
        }
        assert_eq!(got, wanted, "{path}");
        assert_eq!(got.iter().collect::<BTreeSet<_>>().len(), 5);
        // The last page may be full.
        let page = world.get(&format!("{path}?limit=5")).await.json();
        assert_eq!(
            (names(&page).len(), &page[&next]),
            (5, &Value::Null),
            "{path}"
        );
    }
}

#[test]
fn every_listing_of_the_document_has_a_cursor_and_a_bound() {
    let document = factum_server::openapi::document();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let call = &methods["get"];
        let parameter = |name: &str| {
            let mut all = call["parameters"].as_array().into_iter().flatten();
            all.any(|one| one["name"] == name && one["in"] == "query")
        };
        if parameter("limit") {
            let known = LISTINGS.iter().any(|(other, ..)| other == path)
                || ELSEWHERE.contains(&path.as_str());
            assert!(
                known,
                "page through {path} in this file, or say where it is done"
            );
        }
        if let Some((_, _, _, continued)) = LISTINGS.iter().find(|(other, ..)| other == path) {
            assert!(parameter("limit") && parameter(continued), "{path}");
        }
    }
}

#[tokio::test]
async fn a_destination_shows_whether_it_is_switched_off() {
    let world = World::start().await;
    let standing = async || world.get("/v1/destinations/crm").await.json()["standing"].clone();
    assert_eq!(standing().await, "active");
    let off = json!({"standing": "suspended", "why": "they asked us to stop"});
    assert_eq!(
        world.post("/v1/destinations/crm/state", &off).await.status,
        200
    );
    assert_eq!(standing().await, "suspended");
    let refused = world.post("/v1/actions", &submission("1", "done")).await;
    assert_eq!(
        (refused.status, &refused.json()["code"]),
        (403, &json!("F1061"))
    );
    let on = json!({"standing": "active", "why": "they are back"});
    assert_eq!(
        world.post("/v1/destinations/crm/state", &on).await.status,
        200
    );
    assert_eq!(
        world.settled(&submission("1", "done")).await["state"],
        "succeeded"
    );
}
