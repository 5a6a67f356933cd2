//! Signing in with an identity provider that nobody here wrote: to it and back, in a browser.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};

use crate::LOST;
use crate::driver::{Browser, Driver, Kind};
use crate::pages::looked_at;
use crate::scene::Scene;

const PATIENCE: Duration = Duration::from_secs(60);

/// The provider; it ends with the test.
struct Provider(#[expect(dead_code, reason = "it is killed when it is dropped")] Child);

async fn free_port() -> u16 {
    let free = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    free.local_addr().expect("an address").port()
}

impl Provider {
    async fn start(port: u16, scene: &Scene, method: &str) -> Self {
        let Some(lab) = std::env::var_os("OIDC_LAB").map(PathBuf::from) else {
            panic!("OIDC_LAB names a folder with labs/oidc/provider.mjs and its node_modules");
        };
        let child = Command::new("node")
            .arg("provider.mjs")
            .args([port.to_string(), scene.at("/sign-in/oidc/back")])
            .env("AUTH_METHOD", method)
            .current_dir(lab)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("node starts");
        let until = tokio::time::Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            assert!(
                tokio::time::Instant::now() < until,
                "the provider does not answer"
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Self(child)
    }
}

fn config(port: u16) -> String {
    format!(
        "[console.oidc]\nissuer = \"http://127.0.0.1:{port}\"\nclient_id = \"factum\"\nclient_secret = \"cmd:echo a-secret-of-the-lab\"\n\
         url = \"{{console}}\"\nname = \"preferred_username\"\n[console.oidc.roles]\nsupport = [\"read\", \"review\"]\n"
    )
}

/// At the provider: who one is, and that the console may know it.
async fn is_there(browser: &Browser, who: &str) {
    browser.type_in("input[name=login]", who).await;
    browser.type_in("input[name=password]", "any will do").await;
    browser.click("button[type=submit]").await;
    browser.reads("Authorize").await;
    browser.click("button[type=submit]").await;
}

#[tokio::test]
#[ignore = "needs Chromium and chromedriver"]
async fn somebody_signs_in_with_a_provider_and_has_their_groups_role() {
    let driver = Driver::start().await;
    for method in ["client_secret_basic", "client_secret_post"] {
        let port = free_port().await;
        let scene = Scene::start(LOST, &config(port)).await;
        let id = scene.rested("neither.sync", "1", "Printer on fire").await;
        let _provider = Provider::start(port, &scene, method).await;
        let browser = driver.browser(Kind::default()).await;
        browser.open(&scene.at(&format!("/actions/{id}"))).await;
        browser.reads("your organisation's account").await;
        looked_at(&browser, "sign-in").await;
        browser.click("a[href^=\"/sign-in/oidc\"]").await;
        is_there(&browser, "ana").await;
        browser.comes_to(&format!("/actions/{id}")).await;
        browser.waits_for(".who").await;
        browser.click("form[action$=take] button").await;
        browser.reads("It is yours").await;
        let record = scene.factum.engine().load(id.parse().expect("an id")).await;
        let record = record.expect("it is read");
        assert_eq!(
            record.known.taken_by().map(|(_, by)| by),
            Some("ana@acme.example")
        );
        browser.open(&scene.at("/settings")).await;
        browser.reads("F1060").await;
        browser.close().await;
    }
}

#[tokio::test]
#[ignore = "needs Chromium and chromedriver"]
async fn nobody_comes_in_without_a_role_a_beginning_or_a_provider() {
    let driver = Driver::start().await;
    let port = free_port().await;
    let scene = Scene::start(LOST, &config(port)).await;
    let browser = driver.browser(Kind::default()).await;
    browser.open(&scene.at("/sign-in/oidc")).await;
    browser.reads("F1190").await;
    let _provider = Provider::start(port, &scene, "client_secret_basic").await;
    browser
        .open(&scene.at("/sign-in/oidc/back?code=x&state=y"))
        .await;
    browser.reads("F1191").await;
    browser.open(&scene.at("/sign-in/oidc")).await;
    is_there(&browser, "eve").await;
    browser.reads("F1192").await;
    browser.reads("eve@acme.example").await;
    looked_at(&browser, "no-role").await;
    browser.open(&scene.at("/review")).await;
    browser.comes_to("/sign-in").await;
    browser.close().await;
}
