//! Who gets in, and where: tokens, addresses, methods.

use serde_json::json;

use crate::client::{exchange, request};
use crate::world::{TOKEN, World, submission};

#[tokio::test]
async fn every_call_but_health_needs_a_right_token() {
    let world = World::start().await;
    let document = factum_server::openapi::document();
    let wrong = [
        "",
        "Bearer",
        "Bearer ",
        "Bearer sesame-4f1d",
        "Bearer sesame-4f1c5",
        "Bearer sesame",
        "Basic sesame-4f1c",
        "sesame-4f1c",
    ];
    let mut asked = 0;
    for (path, methods) in document["paths"].as_object().expect("paths") {
        let target = path
            .replace("{id}", "act_00000000000000000000000000")
            .replace("{name}", "crm");
        for method in methods.as_object().expect("methods").keys() {
            let method = method.to_uppercase();
            let body = if method == "POST" {
                submission("1", "done").to_string()
            } else {
                String::new()
            };
            for authorization in wrong {
                let headers: &[(&str, &str)] = &[("Authorization", authorization)];
                let answer = exchange(
                    world.address,
                    &request(&method, &target, headers, body.as_bytes()),
                )
                .await;
                if path == "/v1/callbacks/{address}" {
                    // Whoever delivers has no token; an address that nobody has is all that is told.
                    assert_eq!(answer.status, 404, "{path}");
                    continue;
                }
                // Whoever was handed a receipt checks it by the public keys, and has no token here.
                if path == "/healthz" || path == "/readyz" || path == "/v1/keys" {
                    assert_eq!(answer.status, 200, "{path}");
                    continue;
                }
                assert_eq!(
                    (answer.status, &answer.json()["code"]),
                    (401, &json!("F1022")),
                    "{method} {path} {authorization:?}"
                );
                assert_eq!(
                    answer.header("www-authenticate"),
                    Some("Bearer realm=\"factum\"")
                );
                assert!(!answer.text.contains(TOKEN));
                asked += 1;
            }
        }
    }
    assert!(asked > 100, "the document names its calls: {asked}");
    let none = exchange(world.address, &request("GET", "/v1/actions", &[], b"")).await;
    assert_eq!(none.status, 401);
    let lower = exchange(
        world.address,
        &request(
            "GET",
            "/v1/actions",
            &[("authorization", &format!("bearer {TOKEN}"))],
            b"",
        ),
    )
    .await;
    assert_eq!(lower.status, 200, "the scheme's case does not count");
    world.is_untouched().await;
}

#[tokio::test]
async fn other_addresses_and_methods_are_problems_too() {
    let world = World::start().await;
    let authorization = format!("Bearer {TOKEN}");
    let headers: &[(&str, &str)] = &[("Authorization", &authorization)];
    for target in [
        "/v1",
        "/v1/actions/",
        "/v1/action",
        "/v1/actions/x/y/z",
        "/v2/actions",
        "/v1/admin",
    ] {
        let answer = exchange(world.address, &request("GET", target, headers, b"")).await;
        assert_eq!(
            (answer.status, &answer.json()["code"]),
            (404, &json!("F1023")),
            "{target}"
        );
        let unnamed = exchange(world.address, &request("GET", target, &[], b"")).await;
        assert_eq!(
            unnamed.status, 401,
            "what there is not is not told without a token either"
        );
    }
    let id = "/v1/actions/act_00000000000000000000000000";
    let wrong = [
        ("DELETE", "/v1/actions", "POST, GET"),
        ("PUT", id, "GET"),
        (
            "GET",
            "/v1/review/act_00000000000000000000000000/verdict",
            "POST",
        ),
        ("POST", "/v1/admin/state", "GET"),
        ("POST", "/healthz", "GET"),
        ("OPTIONS", "/v1/actions", "POST, GET"),
    ];
    for (method, target, allow) in wrong {
        let answer = exchange(world.address, &request(method, target, headers, b"")).await;
        assert_eq!(
            (answer.status, &answer.json()["code"]),
            (405, &json!("F1024")),
            "{method} {target}"
        );
        assert_eq!(answer.header("allow"), Some(allow), "{method} {target}");
    }
    let head = exchange(world.address, &request("HEAD", "/v1/actions", headers, b"")).await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
    for target in [
        id.to_owned(),
        format!("{id}/evidence"),
        "/v1/actions/act_1".to_owned(),
        "/v1/actions/nonsense".to_owned(),
    ] {
        let answer = world.get(&target).await;
        assert_eq!(
            (answer.status, &answer.json()["code"]),
            (404, &json!("F1020")),
            "{target}"
        );
    }
}
