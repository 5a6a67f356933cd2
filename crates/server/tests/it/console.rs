//! The console over plain HTTP: who is let in, what a form has to carry, what every page's headers say, and that nothing a stranger wrote
//! becomes a part of a page.

use serde_json::json;

use crate::browsing::{Browser, FORM, encoded, send, sign_in, unknown, value_of};
use crate::world::{TOKEN, World, submission};

/// What would run in a browser if it stood in a page as it is.
const CANARY: &str = "\"><script>alert(1)</script><img src=x onerror=alert(1)>'";

#[tokio::test]
async fn nobody_comes_in_without_a_token_and_is_led_on_after_showing_one() {
    let world = World::start().await;
    let turned_away = send(&world, "GET", "/review?destination=crm", &[], "").await;
    assert_eq!(turned_away.status, 303);
    assert_eq!(
        turned_away.header("location"),
        Some("/sign-in?to=%2Freview%3Fdestination%3Dcrm")
    );
    let page = send(&world, "GET", "/sign-in?to=%2Factions", &[], "").await;
    assert!(
        page.text.contains("name=\"to\" value=\"/actions\""),
        "{}",
        page.text
    );
    for wrong in ["", "sesame", "fct_00_00"] {
        let refused = sign_in(&world, wrong).await;
        assert_eq!((refused.status, refused.header("set-cookie")), (401, None));
        assert!(refused.text.contains("not known here"), "{}", refused.text);
    }
    let let_in = sign_in(&world, TOKEN).await;
    let cookie = let_in.header("set-cookie").expect("a cookie");
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"),
        "{cookie}"
    );
    assert_eq!(let_in.header("location"), Some("/review"));
    let browser = Browser::signed_in(&world, TOKEN).await;
    assert_eq!(browser.get("/review").await.status, 200);
    for forged in [
        "factum-console=x_y",
        "factum-console=",
        "factum-console=0123456789abcdef_00",
    ] {
        let answer = send(&world, "GET", "/review", &[("Cookie", forged)], "").await;
        assert_eq!(answer.status, 303, "{forged}");
    }
    // The store holds no session as it is shown.
    let secret = browser.cookie.split_once('_').expect("id and secret").1;
    let entries = factum::EntryFilter::of(factum::Kind::Session);
    let entries = world.engine().entries(entries).await.expect("read");
    assert_eq!(entries.len(), 2);
    assert!(entries.iter().all(|entry| !entry.body.contains(secret)));
}

#[tokio::test]
async fn a_link_from_another_site_is_followed_without_its_cookie_and_then_with_it() {
    let world = World::start().await;
    let from_elsewhere = [("Sec-Fetch-Site", "cross-site")];
    let answer = send(&world, "GET", "/review", &from_elsewhere, "").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("refresh"), Some("0; url=/review"));
}

#[tokio::test]
async fn a_form_of_another_site_or_session_changes_nothing() {
    let world = World::start().await;
    let id = unknown(&world, "1").await;
    let own = Browser::signed_in(&world, TOKEN).await;
    let other = Browser::signed_in(&world, TOKEN).await;
    assert_ne!(own.form, other.form);
    let target = format!("/actions/{id}/take");
    let cookie = ("Cookie", own.cookie.as_str());
    let origin = ("Origin", "http://test");
    let body = &*format!("form={}", own.form);
    let foreign = &*format!("form={}", other.form);
    let cases = [
        ("no origin", vec![cookie, FORM], body, 403),
        (
            "another origin",
            vec![cookie, FORM, ("Origin", "http://evil.example")],
            body,
            403,
        ),
        (
            "a hidden origin",
            vec![cookie, FORM, ("Origin", "null")],
            body,
            403,
        ),
        (
            "another session's form",
            vec![cookie, FORM, origin],
            foreign,
            403,
        ),
        ("no form", vec![cookie, FORM, origin], "", 403),
        (
            "another media type",
            vec![cookie, ("Content-Type", "text/plain"), origin],
            body,
            415,
        ),
    ];
    for (why, headers, body, status) in cases {
        let answer = send(&world, "POST", &target, &headers, body).await;
        assert_eq!(answer.status, status, "{why}: {}", answer.text);
        assert!(
            answer
                .header("content-type")
                .is_some_and(|kind| kind.starts_with("text/html"))
        );
    }
    let signed_out = send(&world, "POST", &target, &[FORM, origin], body).await;
    assert_eq!(signed_out.status, 401);
    let item = &world.get("/v1/review").await.json()["items"][0];
    assert_eq!(item["taken_by"], json!(null), "nothing of that was done");
    assert_eq!(own.post(&target, &[]).await.status, 303);
    let item = &world.get("/v1/review").await.json()["items"][0];
    assert_eq!(item["taken_by"], "admin");
}

#[tokio::test]
async fn a_verdict_is_spelled_out_before_it_counts() {
    let world = World::start().await;
    let id = unknown(&world, "1").await;
    let browser = Browser::signed_in(&world, TOKEN).await;
    let page = browser.get(&format!("/actions/{id}")).await;
    assert!(
        page.text.contains("Was “Adds a contact” added at crm?"),
        "{}",
        page.text
    );
    let seen = value_of(&page.text, "seen");
    let target = format!("/actions/{id}/verdict");
    let said = [
        ("seen", seen.as_str()),
        ("verdict", "happened"),
        ("receipt", "T-9"),
        ("why", "it stands in their list"),
    ];
    let asked = browser.post(&target, &said).await;
    assert_eq!(asked.status, 200, "{}", asked.text);
    assert!(asked.text.contains("Nothing more is sent.") && asked.text.contains("T-9"));
    let still = world.get(&format!("/v1/actions/{id}")).await.json();
    assert_eq!(
        still["state"], "outcome_unknown",
        "nothing counts before it is confirmed"
    );
    let mut confirmed = said.to_vec();
    confirmed.push(("confirm", "yes"));
    let done = browser.post(&target, &confirmed).await;
    assert_eq!(done.status, 303, "{}", done.text);
    assert_eq!(
        done.header("location"),
        Some(&*format!("/actions/{id}?said=ruled"))
    );
    let after = world.get(&format!("/v1/actions/{id}")).await.json();
    assert_eq!(
        (&after["state"], &after["receipt"]["reference"]),
        (&json!("succeeded"), &json!("T-9"))
    );
    // Whoever decides on what they saw before is told that it has changed, and nothing is recorded.
    confirmed[1] = ("verdict", "did_not_happen");
    let late = browser.post(&target, &confirmed).await;
    assert_eq!(late.status, 409);
    assert!(late.text.contains("F1172"), "{}", late.text);
    assert_eq!(world.get(&format!("/v1/actions/{id}")).await.json(), after);
}

#[tokio::test]
async fn a_reason_is_required() {
    let world = World::start().await;
    let id = unknown(&world, "1").await;
    let browser = Browser::signed_in(&world, TOKEN).await;
    let target = format!("/actions/{id}/verdict");
    for said in [
        [("seen", "1"), ("verdict", "happened"), ("why", "  ")],
        [("seen", "1"), ("verdict", ""), ("why", "seen")],
        [("seen", "x"), ("verdict", "happened"), ("why", "seen")],
        [("seen", "1"), ("verdict", "perhaps"), ("why", "seen")],
    ] {
        let answer = browser.post(&target, &said).await;
        assert_eq!(answer.status, 400, "{said:?}");
    }
}

#[tokio::test]
async fn what_a_stranger_wrote_is_text_on_every_page() {
    let world = World::start().await;
    let mut wish = submission("1", "lose");
    for member in ["summary", "key", "subject"] {
        wish[member] = CANARY.into();
    }
    wish["for"] = format!("user:{CANARY}").into();
    wish["conversation"] = json!({"id": CANARY, "turn": 1, "asked": CANARY});
    let id = world.settled(&wish).await["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let browser = Browser::signed_in(&world, TOKEN).await;
    let page = browser.get(&format!("/actions/{id}")).await;
    let seen = value_of(&page.text, "seen");
    let target = format!("/actions/{id}/verdict");
    let said = [
        ("seen", seen.as_str()),
        ("verdict", "happened"),
        ("receipt", CANARY),
        ("why", CANARY),
    ];
    let asked = browser.post(&target, &said).await;
    assert!(
        asked.text.contains("alert(1)"),
        "it is shown: {}",
        asked.text
    );
    let noted = browser
        .post(&format!("/actions/{id}/note"), &[("text", CANARY)])
        .await;
    assert_eq!(noted.status, 303);
    let search = format!(
        "/actions?q={}&destination={}",
        encoded(CANARY),
        encoded(CANARY)
    );
    let mut pages = vec![asked];
    for target in [
        "/review",
        "/overview",
        "/actions",
        &format!("/conversations/{}", encoded(CANARY)),
        &format!("/destinations/{}", encoded(CANARY)),
        &format!("/actions/{id}"),
        &search,
        &format!("/review?destination={}", encoded(CANARY)),
        &format!("/review?said={}", encoded(CANARY)),
        &format!("/actions/{}", encoded(CANARY)),
    ] {
        pages.push(browser.get(target).await);
    }
    let to = format!("/sign-in?to={}", encoded(&format!("/{CANARY}")));
    pages.push(send(&world, "GET", &to, &[], "").await);
    for page in &pages {
        assert!(
            !page.text.contains("<script>alert") && !page.text.contains("<img"),
            "{}",
            page.text
        );
    }
}

#[tokio::test]
async fn every_page_forbids_what_it_does_not_need() {
    let world = World::start().await;
    let id = unknown(&world, "1").await;
    let browser = Browser::signed_in(&world, TOKEN).await;
    for target in [
        "/sign-in",
        "/review",
        "/actions",
        &format!("/actions/{id}"),
        "/actions/act_x",
    ] {
        let page = browser.get(target).await;
        let policy = page.header("content-security-policy").expect("a policy");
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(page.header("x-frame-options"), Some("DENY"));
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(page.header("referrer-policy"), Some("same-origin"));
        assert_eq!(page.header("cache-control"), Some("no-store"), "{target}");
        for inline in [" style=", "<style", " onclick", " onload", "javascript:"] {
            assert!(!page.text.contains(inline), "{inline} in {target}");
        }
    }
    let page = browser.get("/review").await;
    let style = page
        .text
        .split("href=\"")
        .find(|part| part.starts_with("/assets/console-"));
    let style = style
        .and_then(|part| part.split('"').next())
        .expect("a style sheet");
    let sheet = send(&world, "GET", style, &[], "").await;
    assert_eq!(sheet.status, 200);
    assert!(
        sheet
            .header("cache-control")
            .is_some_and(|kept| kept.contains("immutable"))
    );
}

#[tokio::test]
async fn pages_need_what_their_calls_need_and_show_nothing_of_another_tenant() {
    let world = World::start().await;
    let id = unknown(&world, "1").await;
    let _ = world.tenant("acme").await;
    let viewer = world.token("default", "vera", &["read"]).await;
    let viewer = Browser::signed_in(&world, &viewer).await;
    assert_eq!(viewer.get("/review").await.status, 403);
    let page = viewer.get(&format!("/actions/{id}")).await;
    assert_eq!(page.status, 200);
    assert!(
        !page.text.contains("Your verdict") && !page.text.contains("href=\"/review\""),
        "{}",
        page.text
    );
    let refused = viewer.post(&format!("/actions/{id}/take"), &[]).await;
    assert_eq!(refused.status, 403);
    let place = viewer.get("/overview").await;
    assert!(
        place.status == 200 && place.text.contains("outcome unknown"),
        "{}",
        place.text
    );
    assert_eq!(viewer.get("/conversations").await.status, 403);
    let approver = world.token("default", "paul", &["approve"]).await;
    let approver = Browser::signed_in_at(&world, &approver, "/approvals").await;
    assert_eq!(
        approver.get("/").await.header("location"),
        Some("/approvals")
    );
    assert_eq!(approver.get("/actions").await.status, 403);
    let stranger = world.token("acme", "rita", &["review", "read"]).await;
    let stranger = Browser::signed_in(&world, &stranger).await;
    assert_eq!(stranger.get(&format!("/actions/{id}")).await.status, 404);
    assert_eq!(
        stranger
            .post(&format!("/actions/{id}/take"), &[])
            .await
            .status,
        404
    );
    assert!(!stranger.get("/review").await.text.contains(&id));
}

#[tokio::test]
async fn a_session_ends_with_its_token_with_its_time_and_by_its_holder() {
    let world = World::with("[console]\nidle = \"1 h\"\nsession = \"2 h\"\n", |limits| {
        limits
    })
    .await;
    let token = world.token("default", "rita", &["review"]).await;
    let rita = Browser::signed_in(&world, &token).await;
    let id = token.split('_').nth(1).expect("an id").to_owned();
    let revoked = json!({"standing": "revoked", "why": "she left"});
    let answer = world
        .post(&format!("/v1/tokens/{id}/state"), &revoked)
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(rita.get("/review").await.status, 303, "with the token");

    let boss = Browser::signed_in(&world, TOKEN).await;
    assert_eq!(boss.post("/sign-out", &[]).await.status, 303);
    assert_eq!(boss.get("/review").await.status, 303, "signed out");

    let short = World::with("[console]\nidle = \"1 ms\"\n", |limits| limits).await;
    let answer = sign_in(&short, TOKEN).await;
    let cookie = answer
        .header("set-cookie")
        .and_then(|set| set.split(';').next())
        .expect("a cookie");
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    let late = send(&short, "GET", "/review", &[("Cookie", cookie)], "").await;
    assert_eq!(late.status, 303, "left alone for too long");
    let page = send(&short, "GET", "/sign-in", &[("Cookie", cookie)], "").await;
    assert!(page.text.contains("Your session is over"), "{}", page.text);
}

#[tokio::test]
async fn the_console_is_not_there_where_it_is_not_wanted() {
    let world = World::with("[console]\nenabled = false\n", |limits| limits).await;
    for target in ["/", "/review", "/sign-in", "/actions"] {
        let answer = send(&world, "GET", target, &[], "").await;
        assert_eq!(
            answer.status, 401,
            "{target}: as any address that is not there"
        );
    }
}
