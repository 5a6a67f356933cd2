//! A browser as a test needs one over plain HTTP: it keeps its cookie, and sends forms as the console's pages do.

use crate::client::{Answer, exchange, request};
use crate::world::{World, submission};

/// A browser without scripts: it keeps its cookie, and sends forms as a page of ours does.
pub(crate) struct Browser<'a> {
    world: &'a World,
    pub(crate) cookie: String,
    pub(crate) form: String,
}

impl<'a> Browser<'a> {
    pub(crate) async fn signed_in(world: &'a World, token: &str) -> Self {
        Self::signed_in_at(world, token, "/actions").await
    }

    /// For somebody who may see this page.
    pub(crate) async fn signed_in_at(world: &'a World, token: &str, seen: &str) -> Self {
        let answer = sign_in(world, token).await;
        assert_eq!(answer.status, 303, "{}", answer.text);
        let set = answer.header("set-cookie").expect("a cookie");
        let mut browser = Self {
            world,
            cookie: set.split(';').next().expect("a pair").to_owned(),
            form: String::new(),
        };
        let page = browser.get(seen).await;
        browser.form = value_of(&page.text, "form");
        browser
    }

    /// The same browser after an answer that gave it another cookie.
    pub(crate) async fn after(&self, answer: &Answer) -> Self {
        let set = answer.header("set-cookie").expect("a cookie");
        let mut browser = Self {
            world: self.world,
            cookie: set.split(';').next().expect("a pair").to_owned(),
            form: String::new(),
        };
        let page = browser.get("/actions").await;
        browser.form = value_of(&page.text, "form");
        browser
    }

    pub(crate) async fn get(&self, target: &str) -> Answer {
        send(self.world, "GET", target, &[("Cookie", &self.cookie)], "").await
    }

    /// Sends a form, as a page of ours would.
    pub(crate) async fn post(&self, target: &str, members: &[(&str, &str)]) -> Answer {
        let origin = format!("http://{HOST}");
        let mut body = format!("form={}", self.form);
        for (name, value) in members {
            body.push_str(&format!("&{name}={}", encoded(value)));
        }
        let headers = [("Cookie", self.cookie.as_str()), ("Origin", &origin), FORM];
        send(self.world, "POST", target, &headers, &body).await
    }
}

/// The host that the raw client names.
pub(crate) const HOST: &str = "test";
pub(crate) const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

pub(crate) async fn send(
    world: &World,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    exchange(
        world.address,
        &request(method, target, headers, body.as_bytes()),
    )
    .await
}

pub(crate) async fn sign_in(world: &World, token: &str) -> Answer {
    let origin = format!("http://{HOST}");
    let body = format!("token={}&to=%2Freview", encoded(token));
    send(
        world,
        "POST",
        "/sign-in",
        &[("Origin", &origin), FORM],
        &body,
    )
    .await
}

pub(crate) fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// The value of a hidden member of a page's form.
pub(crate) fn value_of(page: &str, name: &str) -> String {
    let mark = format!("name=\"{name}\" value=\"");
    let (_, rest) = page
        .split_once(&mark)
        .unwrap_or_else(|| panic!("no {name}: {page}"));
    rest.split('"').next().expect("it ends").to_owned()
}

pub(crate) async fn unknown(world: &World, name: &str) -> String {
    let status = world.settled(&submission(name, "lose")).await;
    assert_eq!(status["state"], "outcome_unknown");
    status["id"].as_str().expect("an id").to_owned()
}
