//! Every page: that axe-core finds nothing on it, and how it looks.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::driver::{Browser, Driver, Kind};
use crate::scene::{Scene, TOKEN};
use crate::sign_in;

/// Widths that pages are looked at in: a telephone, a desk, a wall.
const WIDTHS: [u32; 3] = [360, 1280, 2560];

/// Addresses of every page.
pub(crate) fn all(action: &str, proposal: &str, talk: &str) -> Vec<String> {
    vec![
        "/overview".to_owned(),
        "/review".to_owned(),
        "/review/incident?destination=helpdesk".to_owned(),
        format!("/actions/{action}"),
        "/actions".to_owned(),
        "/approvals".to_owned(),
        format!("/approvals/{proposal}"),
        "/conversations".to_owned(),
        talk.to_owned(),
        "/settings".to_owned(),
        "/settings/principals/ana".to_owned(),
        "/destinations".to_owned(),
        "/destinations/helpdesk".to_owned(),
        "/actions/act_none".to_owned(),
    ]
}

/// A text as a part of an address.
pub(crate) fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Serves one page at an address of its own.
pub(crate) async fn served(page: String) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = [0; 4096];
            let _ = stream.read(&mut head).await;
            let length = page.len();
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{page}"
            );
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    address
}

/// A scene with something on every page.
async fn furnished() -> (Scene, Vec<String>) {
    let scene = Scene::start("close_fin,class=effect,p=0.5", "").await;
    for (name, operation, summary) in [
        (
            "12",
            "lookup.sync",
            "Ticket: the printer is on fire again, and nobody in the whole house knows why",
        ),
        ("13", "cancel.sync", "Announcement of version 2.1"),
        ("14", "lagging.sync", "Ticket: no coffee"),
        ("15", "neither.sync", "Message to Ana"),
        ("16", "lookup.sync", "Ticket: VPN does not connect"),
    ] {
        scene.rested(operation, name, summary).await;
    }
    let mut action = String::new();
    for name in 20..26 {
        let summary = format!("Order {name}: message to the customer");
        let id = scene
            .rested("neither.sync", &name.to_string(), &summary)
            .await;
        if scene.state(&id).await == "outcome_unknown" {
            action = id;
        }
    }
    assert!(!action.is_empty(), "half of the answers are lost");
    let proposal = scene.proposed("77", "Refund for order 77").await;
    scene.furnish_settings().await;
    let pages = all(&action, &proposal, "/conversations/conv-91");
    (scene, pages)
}

#[tokio::test]
#[ignore = "needs Chromium and chromedriver"]
async fn axe_finds_nothing_on_any_page() {
    let Some(axe) = std::env::var_os("AXE") else {
        panic!("AXE names the file axe.min.js of the package axe-core");
    };
    let axe = std::fs::read_to_string(&axe).expect("it is read");
    let driver = Driver::start().await;
    let (scene, pages) = furnished().await;
    for dark in [false, true] {
        let browser = driver
            .browser(Kind {
                scriptless: false,
                dark,
            })
            .await;
        browser.open(&scene.at("/sign-in")).await;
        finds_nothing(&browser, &axe, "/sign-in").await;
        sign_in(&browser, &scene, TOKEN).await;
        for page in &pages {
            browser.open(&scene.at(page)).await;
            finds_nothing(&browser, &axe, page).await;
            let failed = browser
                .run("return !!document.querySelector('.problem')")
                .await;
            assert_eq!(failed, page == "/actions/act_none", "{page}");
        }
        browser.close().await;
    }
}

async fn finds_nothing(browser: &Browser, axe: &str, page: &str) {
    let script = format!(
        "{axe};const done = arguments[arguments.length - 1]; \
         axe.run(document, {{runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}}).then(found => \
         done(found.violations.map(one => ({{rule: one.id, help: one.help, nodes: one.nodes.map(node => node.html + ' ' + node.failureSummary)}}))))"
    );
    let found = browser.run_until_done(&script).await;
    assert_eq!(found, Value::Array(Vec::new()), "{page}: {found:#}");
}

/// Where pictures are drawn to, if anybody wants some.
fn folder() -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("PICTURES")?);
    std::fs::create_dir_all(&folder).expect("a folder");
    Some(folder)
}

/// Looks at a page that has no address of its own: what axe-core says, and how it looks, where either is asked for.
pub(crate) async fn looked_at(browser: &Browser, name: &str) {
    let axe = std::env::var_os("AXE").map(|axe| std::fs::read_to_string(axe).expect("it is read"));
    for dark in [false, true] {
        browser.prefers(dark).await;
        if let Some(axe) = &axe {
            finds_nothing(browser, axe, name).await;
        }
        drawn(browser, name, dark).await;
    }
    browser.prefers(false).await;
}

/// Draws a page at each width, where pictures are wanted; at none is it wider than its window.
async fn drawn(browser: &Browser, name: &str, dark: bool) {
    let theme = if dark { "dark" } else { "light" };
    for width in WIDTHS {
        match folder() {
            Some(folder) => {
                let file = folder.join(format!("{name}-{theme}-{width}.png"));
                browser.draw(width, &file).await;
            }
            None => browser.is_wide(width).await,
        }
        let across = "return document.documentElement.scrollWidth - innerWidth";
        assert_eq!(
            browser.run(across).await,
            0,
            "{name} at {width} is wider than the window"
        );
    }
}

#[tokio::test]
#[ignore = "needs Chromium and chromedriver"]
async fn pictures_of_every_page() {
    let driver = Driver::start().await;
    let (scene, pages) = furnished().await;
    for dark in [false, true] {
        let browser = driver
            .browser(Kind {
                scriptless: false,
                dark,
            })
            .await;
        sign_in(&browser, &scene, TOKEN).await;
        for page in &pages {
            browser.open(&scene.at(page)).await;
            let name = match page.as_str() {
                "/actions/act_none" => "problem".to_owned(),
                page => {
                    let name = page.split(['_', '?']).next().unwrap_or_default();
                    name.trim_matches('/').replace('/', "-")
                }
            };
            drawn(&browser, &name, dark).await;
        }
        browser.close().await;
    }
}
