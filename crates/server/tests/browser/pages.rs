//! Every page: that axe-core finds nothing on it, and how it looks.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

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
        format!("/actions/{action}"),
        "/actions".to_owned(),
        "/approvals".to_owned(),
        format!("/approvals/{proposal}"),
        "/conversations".to_owned(),
        talk.to_owned(),
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

#[tokio::test]
#[ignore = "needs Chromium and chromedriver"]
async fn pictures_of_every_page() {
    let folder = std::env::var_os("PICTURES").map_or_else(
        || Path::new(env!("CARGO_TARGET_TMPDIR")).join("console"),
        PathBuf::from,
    );
    std::fs::create_dir_all(&folder).expect("a folder");
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
            for width in WIDTHS {
                let name = match page.as_str() {
                    "/actions/act_none" => "problem".to_owned(),
                    page => page.split('_').next().unwrap_or_default().replace('/', "-"),
                };
                let theme = if dark { "dark" } else { "light" };
                let file = folder.join(format!("{}-{theme}-{width}.png", name.trim_matches('-')));
                browser.draw(width, &file).await;
                let across = "return document.documentElement.scrollWidth - innerWidth";
                assert_eq!(
                    browser.run(across).await,
                    0,
                    "{page} at {width} is wider than the window"
                );
            }
        }
        browser.close().await;
    }
    println!("pictures are in {}", folder.display());
}
