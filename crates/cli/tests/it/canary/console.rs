//! The pages for people, as a browser of the admin's gets them.

use super::plant;
use super::story::{Place, asked};

/// What came out of each page: its place, its address, and all of the answer.
pub(super) fn pages(address: &str, token: &str, ids: &[String]) -> Vec<(Place, String, String)> {
    let head = signed_in(address, token);
    let got = |place: Place, path: &str, status: &str| {
        let answer = asked(address, ("GET", path), &head, "", |_| false);
        let begins = format!("HTTP/1.1 {status} ");
        assert!(answer.starts_with(&begins), "{path}: {answer}");
        (place, format!("the page {path}"), answer)
    };
    let of_actions = ids.iter().map(|id| format!("/actions/{id}"));
    let told: Vec<String> = ["/review", "/actions", "/overview", "/approvals"]
        .into_iter()
        .chain(["/conversations", "/conversations/conv-1"])
        .map(str::to_owned)
        .chain(of_actions)
        .collect();
    let mut pages: Vec<_> = told
        .iter()
        .map(|path| got(Place::Told, path, "200"))
        .collect();
    for path in ["/destinations", "/destinations/bearer"] {
        pages.push(got(Place::Managed, path, "200"));
    }
    let wrong = format!("/actions/{}", plant("bad_path"));
    pages.push(got(Place::Problems, &wrong, "404"));
    // They show what they are for: a page without anything holds no leak either.
    for name in ["title", "summary", "asked", "note", "verdict", "refusal"] {
        let text = plant(name);
        let is_shown = pages.iter().any(|(_, _, page)| page.contains(&text));
        assert!(is_shown, "{name} is on no page");
    }
    pages
}

/// What a browser sends that has signed in.
fn signed_in(address: &str, token: &str) -> String {
    let head = format!("origin: {address}\r\ncontent-type: application/x-www-form-urlencoded\r\n");
    let form = format!("token={token}&to=%2Freview");
    let answer = asked(address, ("POST", "/sign-in"), &head, &form, |_| false);
    let cookie = answer
        .lines()
        .find_map(|line| line.strip_prefix("set-cookie: ")?.split(';').next());
    let cookie = cookie.unwrap_or_else(|| panic!("no session: {answer}"));
    format!("cookie: {cookie}\r\n")
}
