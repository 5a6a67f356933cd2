//! Law 9 over every route of the document: two tenants with the same names and keys, and tokens of every scope. A route that is not in
//! these tables fails the tests.

use serde_json::{Value, json};

use crate::world::{World, at, submission};

const ALL: &[&str] = &[
    "submit", "read", "approve", "review", "callback", "work", "admin",
];

/// Which scopes open a route, by method and path; `operator` beside them needs the tenant that runs the installation.
fn opened_by(method: &str, path: &str) -> (&'static [&'static str], bool) {
    match (method, path) {
        ("get", "/healthz" | "/readyz" | "/openapi.json" | "/v1/keys") => (ALL, false),
        ("post", "/v1/callbacks/{address}") => (ALL, false),
        ("post", "/v1/actions" | "/v1/actions/{id}/cancel") => (&["submit", "admin"], false),
        (
            "get",
            "/v1/actions"
            | "/v1/actions/{id}"
            | "/v1/actions/{id}/evidence"
            | "/v1/actions/{id}/receipt"
            | "/v1/events",
        ) => (&["submit", "read", "review", "admin"], false),
        ("get", "/v1/destinations" | "/v1/destinations/{name}") => {
            (&["submit", "read", "review", "callback", "admin"], false)
        }
        ("get", "/v1/review")
        | ("post", "/v1/review/check-again" | "/v1/review/verdicts")
        | ("post", "/v1/review/match" | "/v1/review/incident") => (&["review", "admin"], false),
        ("post", path) if path.starts_with("/v1/review/{id}/") => (&["review", "admin"], false),
        (_, path) if path.starts_with("/v1/conversations/") || path == "/v1/corrections" => {
            (&["submit", "review", "admin"], false)
        }
        ("post", "/v1/proposals" | "/v1/proposals/{id}/supersede") => (&["submit", "admin"], false),
        ("get", "/v1/proposals" | "/v1/proposals/{id}") => {
            (&["submit", "read", "approve", "review", "admin"], false)
        }
        ("post", "/v1/proposals/{id}/approve") => (&["approve", "admin"], false),
        ("post", "/v1/proposals/{id}/decline") => (&["submit", "approve", "admin"], false),
        ("post", path) if path.starts_with("/v1/work/") => (&["work", "admin"], false),
        ("get", "/v1/callbacks") => (&["callback", "admin"], false),
        ("post", "/v1/destinations/{name}/state") => (&["admin"], false),
        (_, path)
            if ["/v1/principals", "/v1/grants", "/v1/tokens", "/v1/webhooks"]
                .iter()
                .any(|own| path.starts_with(own)) =>
        {
            (&["admin"], false)
        }
        (_, path) if path.starts_with("/v1/tenants") || path.starts_with("/v1/admin/") => {
            (&["admin"], true)
        }
        _ => panic!("say who may call {method} {path}, and test that nothing crosses there"),
    }
}

/// Every method and path of the document.
fn routes() -> Vec<(String, String)> {
    let document = factum_server::openapi::document();
    let paths = document["paths"].as_object().unwrap();
    let routes = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().keys();
        methods.map(move |method| (method.clone(), path.clone()))
    });
    routes.collect()
}

#[tokio::test]
async fn a_route_is_opened_by_its_scopes_and_no_others() {
    let world = World::start().await;
    world.tenant("acme").await;
    for tenant in ["default", "acme"] {
        for scope in ALL {
            let token = world.token(tenant, "one", &[scope]).await;
            for (method, path) in routes() {
                let (scopes, operator) = opened_by(&method, &path);
                let opens = scopes.contains(scope) && (!operator || tenant == "default");
                // Nothing of this name is there, and no body: whoever is let in is told so.
                let target = path
                    .replace("{id}", "act_00000000000000000000000000")
                    .replace("{name}", "nothing")
                    .replace("{claim}", "nothing")
                    .replace("{address}", "nothing");
                if opens && path.starts_with("/v1/admin/") {
                    continue;
                }
                let method = method.to_uppercase();
                let answer = world.call_as(&token, &method, &target, &[], "").await;
                let refused = answer.json()["code"] == "F1060";
                assert_eq!(
                    refused, !opens,
                    "{tenant}, {scope}: {method} {path}: {}",
                    answer.text
                );
            }
        }
    }
}

/// What stands in an answer instead of what the caller said themselves.
fn without(text: &str, said: &[&str]) -> String {
    said.iter()
        .fold(text.to_owned(), |text, said| text.replace(said, "…"))
}

/// What a tenant has: an action that waits for a person, and one of each kind of entry.
async fn furnish(world: &World, tenant: &str, boss: &str) -> Value {
    let post = async |target: &str, body: Value| {
        let answer = world
            .call_as(boss, "POST", target, &[], &body.to_string())
            .await;
        assert!(
            matches!(answer.status, 200 | 201),
            "{target}: {}",
            answer.text
        );
        answer.json()
    };
    post("/v1/principals", json!({"name": "agent"})).await;
    post("/v1/grants", json!({"name": "night", "principal": "agent"})).await;
    let token = post(
        "/v1/tokens",
        json!({"principal": "agent", "scopes": ["read"]}),
    )
    .await;
    // Nothing is posted there: of this type there is no event here.
    let hook = json!({"name": format!("hook-{tenant}"), "url": "https://hooks.example.com/x", "types": ["contact.late"]});
    post("/v1/webhooks", hook).await;
    let mut body = submission("same", "lose");
    body["conversation"] = json!({"id": format!("conv-{tenant}")});
    let headers = [("Prefer", "wait=30")];
    let made = world
        .call_as(boss, "POST", "/v1/actions", &headers, &body.to_string())
        .await;
    assert_eq!(made.status, 201, "{}", made.text);
    let event = json!({
        "destination": "crm", "operation": "contact.add", "event": {"source": "//shop", "id": "ev-1"}, "effect": "add",
        "payload": {"n": "event", "behave": "done"},
    });
    let event = post("/v1/actions", event).await;
    let mut wish = submission("proposed", "done");
    wish["conversation"] = json!({"id": format!("conv-{tenant}")});
    let proposal = post("/v1/proposals", wish).await;
    json!({
        "action": made.json()["id"], "event": event["id"], "token": token["name"], "proposal": proposal["proposal"]["id"],
    })
}

#[tokio::test]
async fn nothing_of_a_tenant_is_visible_to_or_resolves_for_another() {
    let world = World::start().await;
    let (acme, globex) = (world.tenant("acme").await, world.tenant("globex").await);
    let own = furnish(&world, "acme", &acme).await;
    let other = furnish(&world, "globex", &globex).await;
    // The same key and the same event are two actions, and two effects.
    assert_ne!(own["action"], other["action"]);
    assert_ne!(own["event"], other["event"]);
    world.ledger.until(4).await;
    assert_eq!(
        (
            world.ledger.arrived_as("same"),
            world.ledger.arrived_as("event")
        ),
        (2, 2)
    );

    let unknown = "act_00000000000000000000000000";
    let no_proposal = "pro_00000000000000000000000000";
    for (method, path) in routes() {
        let (_, operator) = opened_by(&method, &path);
        if operator || !path.starts_with("/v1/") {
            continue;
        }
        let word = |member: &str| other[member].as_str().unwrap().to_owned();
        // What the other tenant has under this name, and what nobody has.
        let (theirs, nobodys) = match path.as_str() {
            "/v1/conversations/{id}" => ("conv-globex".to_owned(), "conv-nobody".to_owned()),
            path if path.starts_with("/v1/proposals/") => {
                (word("proposal"), no_proposal.to_owned())
            }
            path if path.contains("{id}") => (word("action"), unknown.to_owned()),
            path if path.starts_with("/v1/webhooks/") => {
                ("hook-globex".to_owned(), "hook-nobody".to_owned())
            }
            path if path.starts_with("/v1/tokens/") => (word("token"), "0".repeat(16)),
            // Names that both have are each one's own; so only listings can cross.
            _ => continue,
        };
        let posts = method == "post";
        let method = method.to_uppercase();
        let ask = async |name: &str| {
            let body = match path.rsplit('/').next().unwrap() {
                "note" => json!({"text": "a guess"}),
                "verdict" => json!({"verdict": "happened", "why": "a guess"}),
                "approve" => json!({"digest": "0".repeat(64)}),
                "decline" => json!({"reason": "a guess"}),
                "supersede" => submission("proposed", "done"),
                "state" => json!({"standing": "revoked", "why": "a guess"}),
                // One's own conversation, and somebody else's action.
                "told" | "acknowledge" => json!({"action": name, "version": 1}),
                _ => json!({}),
            };
            let body = if posts {
                body.to_string()
            } else {
                String::new()
            };
            let target = if body.contains("version") {
                path.replace("{id}", "conv-acme")
            } else {
                path.replace("{id}", name).replace("{name}", name)
            };
            let answer = world.call_as(&acme, &method, &target, &[], &body).await;
            (answer.status, without(&answer.text, &[name]))
        };
        let (crossing, absent) = (ask(&theirs).await, ask(&nobodys).await);
        assert_eq!(crossing, absent, "{method} {path}");
        assert_eq!(crossing.0, 404, "{method} {path}");
    }
    // What was tried from outside has changed nothing.
    let target = format!("/v1/actions/{}", other["action"].as_str().unwrap());
    let status = world.call_as(&globex, "GET", &target, &[], "").await.json();
    assert_eq!(status["state"], "outcome_unknown");
}

#[tokio::test]
async fn listings_and_searches_show_a_tenant_its_own_alone() {
    let world = World::start().await;
    let (acme, globex) = (world.tenant("acme").await, world.tenant("globex").await);
    let own = furnish(&world, "acme", &acme).await;
    let other = furnish(&world, "globex", &globex).await;
    let foreign: Vec<&str> = other
        .as_object()
        .unwrap()
        .values()
        .filter_map(Value::as_str)
        .collect();
    for (method, path) in routes() {
        let (_, operator) = opened_by(&method, &path);
        if method != "get" || operator || path.contains('{') || !path.starts_with("/v1/") {
            continue;
        }
        let mut targets = vec![path.clone()];
        if path == "/v1/proposals" {
            let searches = ["state=pending", "destination=crm", "conversation=conv-acme"];
            targets.extend(searches.map(|search| format!("{path}?{search}")));
        }
        if path == "/v1/actions" {
            for search in [
                "key=order/same",
                "destination=crm",
                "conversation=conv-acme",
                "state=outcome_unknown",
                "next=review",
            ] {
                targets.push(format!("{path}?{search}"));
            }
        }
        for target in targets {
            let listed = world.call_as(&acme, "GET", &target, &[], "").await;
            assert_eq!(listed.status, 200, "{target}: {}", listed.text);
            for name in &foreign {
                assert!(!listed.text.contains(name), "{target}: {}", listed.text);
            }
            assert!(!listed.text.contains("globex"), "{target}: {}", listed.text);
            let proposed = target.starts_with("/v1/proposals");
            assert!(
                !proposed || listed.text.contains(own["proposal"].as_str().unwrap()),
                "{target}"
            );
            let has_own = target.starts_with("/v1/actions") || target == "/v1/review";
            assert!(
                !has_own || listed.text.contains(own["action"].as_str().unwrap()),
                "{target}"
            );
        }
    }
    // Naming another tenant is no way in, and tells nothing about which there are.
    for kind in ["principals", "grants", "tokens"] {
        let ask = async |tenant: &str| {
            let target = format!("/v1/{kind}?tenant={tenant}");
            let answer = world.call_as(&acme, "GET", &target, &[], "").await;
            (answer.status, without(&answer.text, &[tenant]))
        };
        let (crossing, absent) = (ask("globex").await, ask("nobody").await);
        assert_eq!(crossing, absent);
        assert_eq!(crossing.0, 404);
    }
    // A page of a listing cannot be continued from another tenant's place into its rows either.
    let target = format!("/v1/actions?before={}", other["event"].as_str().unwrap());
    let page = world.call_as(&acme, "GET", &target, &[], "").await.text;
    assert!(foreign.iter().all(|name| !page.contains(name)), "{page}");
    assert_eq!(
        world.get(&at(&json!({"id": own["action"]}))).await.status,
        404,
        "the operator's own tenant is another"
    );
}

/// Who of one tenant may do less than the tenant stays within that, on every route.
#[tokio::test]
async fn a_grant_is_no_way_to_what_is_for_others() {
    let world = World::start().await;
    let acme = world.tenant("acme").await;
    let own = furnish(&world, "acme", &acme).await;
    let wish = json!({"principal": "agent", "grant": "night", "scopes": ["submit", "read", "approve", "review", "callback"]});
    let made = world
        .call_as(&acme, "POST", "/v1/tokens", &[], &wish.to_string())
        .await
        .json();
    let token = made["token"].as_str().unwrap();
    for (method, path) in routes() {
        if !path.contains("{id}") || path.starts_with("/v1/conversations/") {
            continue;
        }
        let proposed = path.starts_with("/v1/proposals/");
        let id = own[if proposed { "proposal" } else { "action" }]
            .as_str()
            .unwrap();
        let body = match path.rsplit('/').next().unwrap() {
            "verdict" => json!({"verdict": "happened", "why": "a guess"}).to_string(),
            "approve" => json!({"digest": "0".repeat(64)}).to_string(),
            "decline" => json!({"reason": "a guess"}).to_string(),
            "supersede" => submission("proposed", "done").to_string(),
            _ => String::new(),
        };
        let target = path.replace("{id}", id);
        let method = method.to_uppercase();
        let answer = world.call_as(token, &method, &target, &[], &body).await;
        assert_eq!(answer.status, 404, "{method} {path}: {}", answer.text);
    }
    // What is about all of a tenant's is no place for who may do a part.
    for target in [
        "/v1/conversations/conv-acme",
        "/v1/corrections",
        "/v1/callbacks",
    ] {
        let refused = world.call_as(token, "GET", target, &[], "").await;
        assert_eq!(refused.status, 403, "{target}: {}", refused.text);
    }
    for target in [
        "/v1/actions",
        "/v1/review",
        "/v1/actions?key=order/same",
        "/v1/proposals",
    ] {
        let listed = world.call_as(token, "GET", target, &[], "").await.text;
        for own in [&own["action"], &own["proposal"]] {
            assert!(
                !listed.contains(own.as_str().unwrap()),
                "{target}: {listed}"
            );
        }
    }
}
