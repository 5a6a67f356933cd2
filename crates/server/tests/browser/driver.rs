//! A browser that a test drives: Debian's Chromium, by the commands of WebDriver (W3C) over a socket. Nothing is waited for by the clock:
//! what has to appear is looked for until it does, within a generous bound.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

/// Long enough for anything on a busy machine; no test waits so long when it passes.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// The member under which WebDriver names an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// The process that drives browsers. It ends with the test.
pub(crate) struct Driver {
    address: SocketAddr,
    _process: Child,
}

/// One browser, with a profile of its own.
pub(crate) struct Browser {
    address: SocketAddr,
    session: String,
}

/// How a browser is.
#[derive(Clone, Copy, Default)]
pub(crate) struct Kind {
    /// It runs no scripts.
    pub(crate) scriptless: bool,
    /// It prefers dark pages.
    pub(crate) dark: bool,
}

impl Driver {
    pub(crate) async fn start() -> Self {
        let port = {
            let free = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
            free.local_addr().expect("an address").port()
        };
        let program = std::env::var_os("CHROMEDRIVER").unwrap_or_else(|| "chromedriver".into());
        let process = Command::new(&program)
            .arg(format!("--port={port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| panic!("{program:?} does not start: {error}"));
        let driver = Self {
            address: SocketAddr::from(([127, 0, 0, 1], port)),
            _process: process,
        };
        let until = Instant::now() + PATIENCE;
        while TcpStream::connect(driver.address).await.is_err() {
            assert!(Instant::now() < until, "chromedriver does not answer");
            sleep(LOOK_AGAIN).await;
        }
        driver
    }

    pub(crate) async fn browser(&self, kind: Kind) -> Browser {
        let mut options = json!({"args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--lang=en-GB"]});
        if kind.scriptless {
            options["prefs"] = json!({"profile.managed_default_content_settings.javascript": 2});
        }
        let wanted = json!({"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}});
        let made = command(self.address, "POST", "/session", &wanted).await;
        let session = made["sessionId"].as_str().expect("a session").to_owned();
        let browser = Browser {
            address: self.address,
            session,
        };
        browser.prefers(kind.dark).await;
        browser
    }
}

impl Browser {
    async fn post(&self, path: &str, body: &Value) -> Value {
        let path = format!("/session/{}{path}", self.session);
        command(self.address, "POST", &path, body).await
    }

    async fn get(&self, path: &str) -> Value {
        let path = format!("/session/{}{path}", self.session);
        command(self.address, "GET", &path, &Value::Null).await
    }

    /// Has Chromium's own protocol do something.
    pub(crate) async fn devtools(&self, name: &str, params: Value) -> Value {
        self.post("/goog/cdp/execute", &json!({"cmd": name, "params": params}))
            .await
    }

    /// Has pages look dark, or light.
    pub(crate) async fn prefers(&self, dark: bool) {
        let scheme = if dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        let params = json!({ "features": features });
        self.devtools("Emulation.setEmulatedMedia", params).await;
    }

    pub(crate) async fn open(&self, address: &str) {
        self.post("/url", &json!({ "url": address })).await;
    }

    pub(crate) async fn address(&self) -> String {
        let address = self.get("/url").await;
        address.as_str().expect("an address").to_owned()
    }

    /// What a script in the page answers.
    pub(crate) async fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({"script": script, "args": []}))
            .await
    }

    /// What a script in the page hands to its last argument.
    pub(crate) async fn run_until_done(&self, script: &str) -> Value {
        self.post("/execute/async", &json!({"script": script, "args": []}))
            .await
    }

    async fn elements(&self, selector: &str) -> Vec<String> {
        let asked = json!({"using": "css selector", "value": selector});
        let found = self.post("/elements", &asked).await;
        let found = found.as_array().into_iter().flatten();
        found
            .filter_map(|one| one[ELEMENT].as_str().map(str::to_owned))
            .collect()
    }

    /// The first element that matches, once there is one.
    async fn element(&self, selector: &str) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = self.elements(selector).await.into_iter().next() {
                return found;
            }
            assert!(
                Instant::now() < until,
                "no {selector} at {}:\n{}",
                self.address().await,
                self.text().await
            );
            sleep(LOOK_AGAIN).await;
        }
    }

    /// Waits until something that matches is there.
    pub(crate) async fn waits_for(&self, selector: &str) {
        self.element(selector).await;
    }

    pub(crate) async fn click(&self, selector: &str) {
        let element = self.element(selector).await;
        self.post(&format!("/element/{element}/click"), &json!({}))
            .await;
    }

    pub(crate) async fn type_in(&self, selector: &str, text: &str) {
        let element = self.element(selector).await;
        self.post(
            &format!("/element/{element}/value"),
            &json!({ "text": text }),
        )
        .await;
    }

    /// Presses keys, one after the other, wherever the focus is.
    pub(crate) async fn press(&self, keys: &str) {
        let presses = keys.chars().flat_map(|key| {
            ["keyDown", "keyUp"].map(|kind| json!({"type": kind, "value": key.to_string()}))
        });
        let actions: Vec<Value> = presses.collect();
        let source = json!({"type": "key", "id": "keyboard", "actions": actions});
        self.post("/actions", &json!({ "actions": [source] })).await;
    }

    /// What somebody reads on the page.
    pub(crate) async fn text(&self) -> String {
        let body = self.elements("body").await.into_iter().next();
        let Some(body) = body else {
            return String::new();
        };
        // The page may be another one by now: then there is nothing to read yet.
        let path = format!("/session/{}/element/{body}/text", self.session);
        let text = tried(self.address, "GET", &path, &Value::Null).await;
        let text = text.unwrap_or_default();
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Waits until the page says something.
    pub(crate) async fn reads(&self, wanted: &str) {
        let until = Instant::now() + PATIENCE;
        loop {
            let text = self.text().await;
            if text.contains(wanted) {
                return;
            }
            assert!(
                Instant::now() < until,
                "{wanted:?} does not appear at {}:\n{text}",
                self.address().await
            );
            sleep(LOOK_AGAIN).await;
        }
    }

    /// Waits until the page is another one.
    pub(crate) async fn comes_to(&self, part: &str) {
        let until = Instant::now() + PATIENCE;
        while !self.address().await.contains(part) {
            assert!(
                Instant::now() < until,
                "{part} is not come to: {}",
                self.address().await
            );
            sleep(LOOK_AGAIN).await;
        }
    }

    /// Makes the window so wide.
    pub(crate) async fn is_wide(&self, width: u32) {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.devtools("Emulation.setDeviceMetricsOverride", size)
            .await;
    }

    /// Draws the whole page, so wide, into a file.
    pub(crate) async fn draw(&self, width: u32, file: &PathBuf) {
        self.is_wide(width).await;
        let metrics = self.devtools("Page.getLayoutMetrics", json!({})).await;
        let height = metrics["cssContentSize"]["height"]
            .as_f64()
            .unwrap_or(900.0);
        let clip = json!({"x": 0, "y": 0, "width": width, "height": height, "scale": 1});
        let shot = json!({"format": "png", "captureBeyondViewport": true, "clip": clip});
        let shot = self.devtools("Page.captureScreenshot", shot).await;
        let data = shot["data"].as_str().expect("a picture");
        let bytes = factum::base64::decode(data).expect("base64");
        std::fs::write(file, bytes).expect("the picture is written");
    }

    pub(crate) async fn close(self) {
        let path = format!("/session/{}", self.session);
        command(self.address, "DELETE", &path, &Value::Null).await;
    }
}

/// One command of the protocol, which has to be carried out.
async fn command(address: SocketAddr, method: &str, path: &str, body: &Value) -> Value {
    let done = tried(address, method, path, body).await;
    done.unwrap_or_else(|why| panic!("{method} {path}: {why:#}"))
}

/// One command of the protocol, or why it was not carried out.
async fn tried(
    address: SocketAddr,
    method: &str,
    path: &str,
    body: &Value,
) -> Result<Value, Value> {
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(address)
        .await
        .expect("chromedriver listens");
    stream.write_all(head.as_bytes()).await.expect("it is sent");
    stream.write_all(body.as_bytes()).await.expect("it is sent");
    let answered = timeout(PATIENCE, whole(&mut stream)).await;
    let (head, body) = answered.unwrap_or_else(|_| panic!("{method} {path} is not answered"));
    let json: Value = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"));
    let value = json["value"].clone();
    if head.contains(" 200 ") {
        Ok(value)
    } else {
        Err(value)
    }
}

/// An answer's head and body. Its sender says how long the body is, and keeps the connection.
async fn whole(stream: &mut TcpStream) -> (String, String) {
    let (mut bytes, mut piece) = (Vec::new(), [0; 16 * 1024]);
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let lower = head.to_ascii_lowercase();
            let length = lower.split("content-length:").nth(1);
            let length = length.and_then(|rest| rest.lines().next()?.trim().parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return (head.to_owned(), body.to_owned());
            }
        }
        let read = stream.read(&mut piece).await.expect("it is answered");
        assert!(read > 0, "the answer broke off: {bytes:?}");
        bytes.extend_from_slice(&piece[..read]);
    }
}
