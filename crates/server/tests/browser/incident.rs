//! A Monday morning: what one outage left is cleared together, with the destination's own list or by one verdict.

use factum::directory::Scope;

use crate::driver::{Browser, Driver, Kind};
use crate::pages::looked_at;
use crate::scene::{Scene, TOKEN};
use crate::{LOST, sign_in};

const ALL: usize = 40;
const HAPPENED: usize = 27;

/// So many actions that nobody knows the end of, with their names.
async fn unknown(scene: &Scene, count: usize) -> Vec<(String, String)> {
    let mut all = Vec::with_capacity(count);
    for n in 0..count {
        let name = format!("n{n}");
        let summary = format!("Ticket for order {n}");
        let id = scene.rested("neither.sync", &name, &summary).await;
        all.push((name, id));
    }
    all
}

/// From the queue to the page of what hangs together.
async fn open_incident(browser: &Browser, count: usize) {
    let found = format!("{count} of these are one incident at helpdesk");
    browser.reads(&found).await;
    browser.click(".incident .button").await;
    browser.comes_to("/review/incident").await;
    browser.reads("questions wait at helpdesk").await;
}

#[tokio::test]
#[ignore = "needs Chromium and chromedriver"]
async fn forty_of_one_incident_are_cleared_with_their_own_list() {
    // Of the first twenty-seven the answer is lost, of the others the request: from here they look the same.
    let faults = format!("close_fin,class=effect,n=1-{HAPPENED};close_after_read,class=effect");
    let driver = Driver::start().await;
    let scene = Scene::start(&faults, "").await;
    let actions = unknown(&scene, ALL).await;
    let sent = scene.deliveries();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tickets.csv");
    std::fs::write(&file, scene.export()).expect("it is written");

    let browser = driver.browser(Kind::default()).await;
    let ana = scene.token("ana", &[Scope::Review]).await;
    sign_in(&browser, &scene, &ana).await;
    looked_at(&browser, "queue-of-an-incident").await;
    open_incident(&browser, ALL).await;
    looked_at(&browser, "incident").await;
    browser
        .type_in("#file", file.to_str().expect("a path"))
        .await;
    browser.click("input[name=complete]").await;
    browser.click(".way .primary").await;
    let found = format!("{HAPPENED} of {ALL} are in the list of helpdesk");
    browser.reads(&found).await;
    looked_at(&browser, "match").await;
    browser
        .type_in("#why", "their export of today, all tickets")
        .await;
    browser.click(".deciding .primary").await;
    browser
        .reads("40 verdicts, none of them recorded yet")
        .await;
    looked_at(&browser, "plan").await;
    for (_, id) in &actions {
        assert_eq!(scene.state(id).await, "outcome_unknown");
    }
    browser.click("button[name=confirm]").await;
    browser.reads("All of these verdicts are recorded").await;
    browser.reads("Nothing waits for you").await;
    for (name, id) in &actions {
        let exists = scene.effects(name).0 == 1;
        let wanted = if exists {
            "succeeded"
        } else {
            "terminal_failure"
        };
        scene.comes_to(id, wanted).await;
    }
    let exist = actions
        .iter()
        .filter(|(name, _)| scene.effects(name).0 == 1);
    assert_eq!(exist.count(), HAPPENED);
    assert_eq!(scene.deliveries(), sent, "nothing was sent by that");
    browser.close().await;
}

#[tokio::test]
#[ignore = "needs Chromium and chromedriver"]
async fn one_verdict_is_given_on_those_that_were_shown_and_chosen() {
    let driver = Driver::start().await;
    let scene = Scene::start(LOST, "").await;
    let actions = unknown(&scene, 5).await;
    let browser = driver.browser(Kind::default()).await;
    sign_in(&browser, &scene, TOKEN).await;
    open_incident(&browser, 5).await;
    // The first is left out; the second changes while the list is looked at.
    browser.click("input[name=item]").await;
    browser.click("input[value=cannot_be_known]").await;
    browser
        .type_in(".deciding textarea", "their log is gone")
        .await;
    browser.click(".deciding .primary").await;
    browser.reads("4 verdicts, none of them recorded yet").await;
    browser.reads("It stays unknown for good").await;
    let (_, second) = &actions[1];
    let noted = scene.factum.engine().note_item(
        second.parse().expect("an id"),
        "ben",
        "they have found it",
    );
    noted.await.expect("it is kept");
    browser.click("button[name=confirm]").await;
    browser.reads("3 verdicts are recorded").await;
    browser.reads("Left as they are: 1").await;
    browser.reads("F1172").await;
    looked_at(&browser, "outcomes").await;
    browser.open(&scene.at("/review")).await;
    browser.reads("2 questions wait").await;
    assert_eq!(scene.deliveries(), 5, "nothing was sent by that");
    browser.close().await;
}
