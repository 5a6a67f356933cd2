//! What people see before they decide: what would be sent, as what it is; what differs from the one before; the time that is left.

use factum::Ask;
use factum::directory::Scope;
use serde_json::{Value, json};

use crate::driver::{Driver, Kind};
use crate::pages::looked_at;
use crate::scene::{Scene, TOKEN};
use crate::{LOST, sign_in};

/// Accounts at providers of the catalogue; nothing is sent there.
const ACCOUNTS: &str = r#"
[destinations.zendesk]
provider = "zendesk"
base = "https://acme.example"
auth = { bearer = "env:NO_SUCH" }
operations."ticket.create".approval = { required = "always" }
[destinations.postmark]
provider = "postmark"
base = "https://postmark.example"
auth = { header = "X-Postmark-Server-Token", value = "env:NO_SUCH" }
operations."email.send".approval = { required = "always" }
[destinations.slack]
provider = "slack"
base = "https://slack.example"
auth = { bearer = "env:NO_SUCH" }
operations."message.post".approval = { required = "always" }
[destinations.stripe]
provider = "stripe"
base = "https://stripe.example"
auth = { bearer = "env:NO_SUCH" }
operations."payment_intent.create".approval = { required = "always" }
"#;

/// A proposal of each kind, what it is called in a picture, and what its page has to say.
fn kinds() -> [(Value, &'static str, &'static str); 4] {
    let text = "Hello,\n\nwe have refunded order 77 today. You will see the money within three days.\n\nYours, the desk";
    [
        (
            json!({"destination": "zendesk", "operation": "ticket.create", "key": "conv-91/ticket", "summary": "Ticket about order 77",
                "payload": {"ticket": {"subject": "The printer of order 77 burns", "comment": {"body": text}, "priority": "high"}}}),
            "approval-ticket",
            ".draft-ticket .heading",
        ),
        (
            json!({"destination": "postmark", "operation": "email.send", "key": "order/77/mail", "summary": "Tell Anne about the refund",
                "payload": {"From": "desk@acme.example", "To": "anne@example.com", "Subject": "Your order 77", "TextBody": text}}),
            "approval-mail",
            ".draft-mail .who-to",
        ),
        (
            json!({"destination": "slack", "operation": "message.post", "key": "order/77/note", "summary": "Tell the team",
                "params": {"channel": "C0123"}, "payload": {"text": "Order 77 is refunded :tada:"}}),
            "approval-message",
            ".draft-message .written",
        ),
        (
            json!({"destination": "stripe", "operation": "payment_intent.create", "key": "order/77/charge", "summary": "Charge order 77",
                "payload": {"amount": 1999, "currency": "eur", "confirm": true, "payment_method": "pm_1"}}),
            "approval-money",
            ".draft-money .amount",
        ),
    ]
}

#[tokio::test]
#[ignore = "needs Chromium and chromedriver"]
async fn what_would_be_sent_is_shown_as_what_it_is() {
    let driver = Driver::start().await;
    let scene = Scene::start("", ACCOUNTS).await;
    let browser = driver.browser(Kind::default()).await;
    sign_in(&browser, &scene, TOKEN).await;
    for (wish, name, has) in kinds() {
        let id = scene.proposed_as(&wish, Ask::default()).await;
        browser.open(&scene.at(&format!("/approvals/{id}"))).await;
        browser.waits_for(has).await;
        browser.reads("Exactly what would be sent").await;
        looked_at(&browser, name).await;
    }
    browser.close().await;
}

#[tokio::test]
#[ignore = "needs Chromium and chromedriver"]
async fn what_would_be_sent_is_approved_or_declined() {
    let driver = Driver::start().await;
    let scene = Scene::start("", "").await;
    let yes = scene.proposed("yes", "Refund for order 77").await;
    let no = scene.proposed("no", "Refund for order 78").await;
    let browser = driver.browser(Kind::default()).await;
    let boss = scene.token("boss", &[Scope::Approve]).await;
    sign_in(&browser, &scene, &boss).await;
    browser.open(&scene.at(&format!("/approvals/{yes}"))).await;
    browser.reads("\"business\": \"yes\"").await;
    assert_eq!(scene.effects("yes"), (0, 0));
    browser.type_in("#why", "the goods came back").await;
    browser.click("button.primary").await;
    scene.arrived("yes", 1).await;
    browser.open(&scene.at(&format!("/approvals/{no}"))).await;
    browser.click("button[formaction$=decline]").await;
    browser.reads("F1003").await;
    browser.open(&scene.at(&format!("/approvals/{no}"))).await;
    browser.type_in("#why", "not this one").await;
    browser.click("button[formaction$=decline]").await;
    browser.reads("nothing of it is ever sent").await;
    assert_eq!(
        (scene.effects("yes"), scene.effects("no")),
        ((1, 1), (0, 0))
    );
    browser.close().await;
}

#[tokio::test]
#[ignore = "needs Chromium and chromedriver"]
async fn a_window_that_is_open_is_shown_with_the_time_that_is_left() {
    // The destination knows the key, and after two lost answers a person is asked while it still does.
    let driver = Driver::start().await;
    let scene = Scene::within(", attempts_max = 2", LOST, "").await;
    let id = scene
        .rested("key_body.sync", "1", "Refund for order 77")
        .await;
    let browser = driver.browser(Kind::default()).await;
    sign_in(&browser, &scene, TOKEN).await;
    browser.reads("in which a resend is safe").await;
    looked_at(&browser, "queue-with-a-window").await;
    browser.open(&scene.at(&format!("/actions/{id}"))).await;
    browser.waits_for(".timeline .band.open rect").await;
    browser.reads("still knows our key").await;
    looked_at(&browser, "action-with-a-window").await;
    // The time runs without the page being loaded anew. Hours are told in minutes, so it is brought near.
    let runs = "const done = arguments[arguments.length - 1]; const place = document.querySelector('.decide [data-until]'); \
                place.dataset.until = new Date(Date.now() + 90000).toISOString(); let seen = new Set(); \
                const look = () => { seen.add(place.textContent); seen.size > 2 ? done(true) : setTimeout(look, 50); }; look();";
    assert_eq!(browser.run_until_done(runs).await, true);
    assert_eq!(scene.effects("1").0, 1, "the key keeps it to one");
    browser.close().await;
}

#[tokio::test]
#[ignore = "needs Chromium and chromedriver"]
async fn a_newer_proposal_shows_what_differs() {
    let driver = Driver::start().await;
    let scene = Scene::start("", "").await;
    let first = scene.proposed("78", "Refund for order 78").await;
    let second = scene
        .superseded(&first, "78", "Refund for order 78, and for 79")
        .await;
    let browser = driver.browser(Kind::default()).await;
    sign_in(&browser, &scene, TOKEN).await;
    browser
        .open(&scene.at(&format!("/approvals/{second}")))
        .await;
    browser.reads("What differs from the one before").await;
    browser.waits_for("ins").await;
    looked_at(&browser, "approval-that-differs").await;
    browser
        .open(&scene.at(&format!("/approvals/{first}")))
        .await;
    browser.reads("The one that took its place").await;
    browser.close().await;
}
