//! The console in a browser, as people use it. What came of it is counted in the destination's own ledger.
//!
//! These tests need Chromium and chromedriver, so they run only when they are asked for: the step "console" of `./test` installs both.

mod deciding;
mod driver;
mod incident;
mod oidc;
mod pages;
mod scene;

use serde_json::json;

use crate::driver::{Browser, Driver, Kind};
use crate::scene::{Scene, TOKEN};
use factum::directory::Scope;

/// What runs in a browser if it stands in a page as it is.
const CANARY: &str = "\"'><script>window.caught = 1</script><img src=x onerror=\"window.caught = 1\"><svg onload=\"window.caught = 1\">";

/// Acts, and is not heard.
pub(crate) const LOST: &str = "close_fin,class=effect";
/// Does nothing, and is not heard either.
const NOT_DONE: &str = "close_after_read,class=effect";

pub(crate) async fn sign_in(browser: &Browser, scene: &Scene, token: &str) {
    browser.open(&scene.at("/sign-in")).await;
    browser.type_in("#token", token).await;
    browser.click("button.primary").await;
    browser.waits_for(".who").await;
}

/// Gives a verdict on the action's page, up to the page that spells it out.
async fn ask_for(browser: &Browser, verdict: &str, why: &str) {
    browser.click(&format!("input[value={verdict}]")).await;
    browser.type_in("#why", why).await;
    browser.click(".verdict button.primary").await;
    browser.comes_to("/verdict").await;
}

async fn confirm(browser: &Browser) {
    browser.click("button[name=confirm]").await;
    browser.comes_to("said=ruled").await;
}

#[tokio::test]
#[ignore = "needs Chromium and chromedriver"]
async fn an_unknown_outcome_is_cleared_both_ways() {
    // A lost answer of an effect that exists, and one of an effect that does not: they look the same from here.
    let driver = Driver::start().await;
    let scene = Scene::start(LOST, "").await;
    let id = scene.rested("neither.sync", "1", "Printer on fire").await;
    assert_eq!(scene.effects("1"), (1, 1));
    let browser = driver.browser(Kind::default()).await;
    sign_in(&browser, &scene, TOKEN).await;
    browser
        .reads("“Printer on fire” carried out at helpdesk?")
        .await;
    browser.click("[data-open]").await;
    browser.reads("What we do not know").await;
    browser.type_in("#receipt", "T-17").await;
    ask_for(&browser, "happened", "it stands in their list").await;
    browser.reads("Nothing more is sent.").await;
    assert_eq!(scene.state(&id).await, "outcome_unknown");
    confirm(&browser).await;
    assert_eq!(scene.state(&id).await, "succeeded");
    assert_eq!(scene.effects("1"), (1, 1), "nothing was sent by that");

    let scene = Scene::start(NOT_DONE, "").await;
    let id = scene.rested("neither.sync", "2", "Printer on fire").await;
    assert_eq!(scene.effects("2"), (0, 1));
    sign_in(&browser, &scene, TOKEN).await;
    browser.open(&scene.at(&format!("/actions/{id}"))).await;
    ask_for(
        &browser,
        "send_again",
        "it is not in their list, and a second one would be deleted",
    )
    .await;
    browser.reads("cannot be taken back").await;
    assert_eq!(
        scene.effects("2"),
        (0, 1),
        "nothing is sent before it is confirmed"
    );
    confirm(&browser).await;
    scene.arrived("2", 2).await;
    browser.close().await;
}

#[tokio::test]
#[ignore = "needs Chromium and chromedriver"]
async fn everything_works_without_scripts() {
    let driver = Driver::start().await;
    let scene = Scene::start(LOST, "").await;
    let id = scene.rested("neither.sync", "1", "Printer on fire").await;
    let browser = driver
        .browser(Kind {
            scriptless: true,
            dark: false,
        })
        .await;
    browser.open(&scene.at("/review")).await;
    browser.type_in("#token", TOKEN).await;
    browser.click("button.primary").await;
    browser.reads("UTC").await;
    browser.click("[data-open]").await;
    browser.click("form[action$=take] button").await;
    browser.reads("It is yours").await;
    browser.type_in("#text", "asked their support").await;
    browser.click(".note button").await;
    browser.reads("Your note is kept").await;
    ask_for(&browser, "cannot_be_known", "their log is gone").await;
    confirm(&browser).await;
    browser.reads("ended the search: their log is gone").await;
    assert_eq!(
        (scene.state(&id).await.as_str(), scene.effects("1")),
        ("outcome_unknown", (1, 1))
    );
    browser.click(".who summary").await;
    browser.click("button[value=dark]").await;
    browser.waits_for("html[data-theme=dark]").await;
    browser.click(".who summary").await;
    browser.click("form[action=\"/sign-out\"] button").await;
    browser.reads("Token").await;
    browser.open(&scene.at("/review")).await;
    browser.comes_to("/sign-in").await;
    browser.close().await;
}

#[tokio::test]
#[ignore = "needs Chromium and chromedriver"]
async fn of_two_reviewers_at_once_the_second_is_told() {
    let driver = Driver::start().await;
    let scene = Scene::start(LOST, "").await;
    let id = scene.rested("neither.sync", "1", "Printer on fire").await;
    let ana = scene.token("ana", &[Scope::Review]).await;
    let ben = scene.token("ben", &[Scope::Review]).await;
    let (first, second) = (
        driver.browser(Kind::default()).await,
        driver.browser(Kind::default()).await,
    );
    sign_in(&first, &scene, &ana).await;
    sign_in(&second, &scene, &ben).await;
    for browser in [&first, &second] {
        browser.open(&scene.at(&format!("/actions/{id}"))).await;
    }
    ask_for(&first, "happened", "I see it").await;
    ask_for(&second, "send_again", "I do not see it").await;
    confirm(&first).await;
    second.click("button[name=confirm]").await;
    second.reads("F1172").await;
    assert_eq!(
        (scene.state(&id).await.as_str(), scene.effects("1")),
        ("succeeded", (1, 1))
    );
    second.click("main .button").await;
    second.reads("ana").await;
    first.close().await;
    second.close().await;
}

#[tokio::test]
#[ignore = "needs Chromium and chromedriver"]
async fn a_page_of_another_site_changes_nothing() {
    let driver = Driver::start().await;
    let scene = Scene::start(LOST, "").await;
    let id = scene.rested("neither.sync", "1", "Printer on fire").await;
    let browser = driver.browser(Kind::default()).await;
    sign_in(&browser, &scene, TOKEN).await;
    // Another port of this machine is the same site to a browser: it sends the cookie, and only the form tells.
    let target = scene.at(&format!("/actions/{id}/verdict"));
    let page = format!(
        "<form method=post action=\"{target}\"><input name=verdict value=send_again><input name=why value=x><input name=seen value=4>\
         <input name=confirm value=yes><button>Win</button></form>"
    );
    let evil = pages::served(page).await;
    browser.open(&format!("http://{evil}/")).await;
    browser.click("button").await;
    browser.reads("F1171").await;
    assert_eq!(
        (scene.state(&id).await.as_str(), scene.effects("1")),
        ("outcome_unknown", (1, 1))
    );
    browser.close().await;
}

#[tokio::test]
#[ignore = "needs Chromium and chromedriver"]
async fn what_a_stranger_wrote_never_runs() {
    let driver = Driver::start().await;
    let scene = Scene::start(LOST, "").await;
    let wish = json!({
        "destination": "helpdesk", "operation": "neither.sync", "key": CANARY, "payload": {"business": CANARY}, "for": format!("user:{CANARY}"),
        "summary": CANARY, "subject": CANARY, "conversation": {"id": CANARY, "turn": 1, "asked": CANARY},
    });
    let id = scene.rested_as(&wish).await;
    let proposal = scene.proposed(CANARY, CANARY).await;
    let browser = driver.browser(Kind::default()).await;
    sign_in(&browser, &scene, TOKEN).await;
    let talk = format!("/conversations/{}", pages::encoded(CANARY));
    let mut targets = pages::all(&id, &proposal, &talk);
    for place in [
        "/actions?q=",
        "/review?destination=",
        "/review?said=",
        "/conversations/",
        "/destinations/",
    ] {
        targets.push(format!("{place}{}", pages::encoded(CANARY)));
    }
    for target in targets {
        browser.open(&scene.at(&target)).await;
        assert_eq!(
            browser.run("return window.caught || 0").await,
            0,
            "{target}"
        );
    }
    browser.open(&scene.at(&format!("/actions/{id}"))).await;
    browser.type_in("#receipt", CANARY).await;
    ask_for(&browser, "happened", CANARY).await;
    assert_eq!(browser.run("return window.caught || 0").await, 0);
    confirm(&browser).await;
    browser.reads("window.caught").await;
    assert_eq!(browser.run("return window.caught || 0").await, 0);
    browser.close().await;
}

#[tokio::test]
#[ignore = "needs Chromium and chromedriver"]
async fn a_session_that_is_over_leads_to_the_sign_in_and_back() {
    let driver = Driver::start().await;
    let scene = Scene::start(LOST, "").await;
    let id = scene.rested("neither.sync", "1", "Printer on fire").await;
    let browser = driver.browser(Kind::default()).await;
    sign_in(&browser, &scene, TOKEN).await;
    browser.open(&scene.at(&format!("/actions/{id}"))).await;
    scene.end_sessions().await;
    browser.click("input[value=happened]").await;
    browser.type_in("#why", "seen").await;
    browser.click(".verdict button.primary").await;
    browser.reads("F1170").await;
    browser.open(&scene.at(&format!("/actions/{id}"))).await;
    browser.reads("Your session is over").await;
    browser.type_in("#token", TOKEN).await;
    browser.click("button.primary").await;
    browser.comes_to(&id).await;
    browser.reads("Printer on fire").await;
    browser.close().await;
}

#[tokio::test]
#[ignore = "needs Chromium and chromedriver"]
async fn the_queue_follows_what_happens_and_needs_no_mouse() {
    let driver = Driver::start().await;
    let scene = Scene::start(LOST, "").await;
    scene.rested("neither.sync", "1", "Printer on fire").await;
    let browser = driver.browser(Kind::default()).await;
    sign_in(&browser, &scene, TOKEN).await;
    browser.reads("One question waits").await;
    browser.run("window.stayed = true").await;
    scene.rested("neither.sync", "2", "Kettle on fire").await;
    browser.reads("2 questions wait").await;
    assert_eq!(
        browser.run("return window.stayed === true").await,
        true,
        "it was not loaded anew"
    );
    browser.press("?").await;
    browser.reads("the one before").await;
    browser.press("\u{e00c}").await; // Escape
    browser.press("jj").await;
    browser.press("\u{e007}").await; // Enter
    browser.comes_to("/actions/act_").await;
    browser.reads("Kettle on fire").await;
    browser.press("/").await;
    browser.comes_to("/actions").await;
    browser.reads("Find").await;
    browser.press("/order/1\u{e007}").await;
    browser.reads("were looked for among all").await;
    let text = browser.text().await;
    assert!(
        text.contains("Printer on fire") && !text.contains("Kettle"),
        "{text}"
    );
    browser.close().await;
}
