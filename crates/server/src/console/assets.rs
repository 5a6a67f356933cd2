//! What browsers load beside a page: one style sheet, and two scripts that no page needs. Each is named by its content, so that a browser
//! keeps it for good and a new program is never shown in an old dress.

use std::sync::LazyLock;

use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, StatusCode, header};

use crate::app::App;
use crate::edge::answered;
use crate::reply::{Reply, with_header, with_status};
use crate::run::no_such_address;

/// Where they are.
pub(super) const PATH: &str = "/assets/{name}";

/// A file and the name that its content gives it.
pub(super) struct Asset {
    name: String,
    kind: &'static str,
    text: &'static str,
}

impl Asset {
    fn of(stem: &str, end: &str, kind: &'static str, text: &'static str) -> Self {
        let hash = blake3::hash(text.as_bytes()).to_hex();
        Self {
            name: format!("{stem}-{}.{end}", &hash[..12]),
            kind,
            text,
        }
    }

    /// Its address.
    pub(super) fn address(&self) -> String {
        format!("/assets/{}", self.name)
    }
}

/// How pages look.
pub(super) static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    let text = include_str!("../../assets/console.css");
    Asset::of("console", "css", "text/css; charset=utf-8", text)
});

/// What keeps pages up to date.
pub(super) static HTMX: LazyLock<Asset> = LazyLock::new(|| {
    let text = include_str!("../../assets/htmx.min.js");
    Asset::of("htmx", "js", "text/javascript; charset=utf-8", text)
});

/// Times in the reader's zone, countdowns, keys, copying.
pub(super) static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    let text = include_str!("../../assets/console.js");
    Asset::of("console", "js", "text/javascript; charset=utf-8", text)
});

/// The sign in the browser's tab.
pub(super) static ICON: LazyLock<Asset> = LazyLock::new(|| {
    let text = include_str!("../../assets/icon.svg");
    Asset::of("icon", "svg", "image/svg+xml", text)
});

/// Hands one out. They are the same for everybody, and tell nothing.
pub(super) async fn answer(
    State(app): State<App>,
    Path(name): Path<String>,
    request: Request,
) -> Reply {
    let wait = app.limits().answer_wait;
    answered(request, PATH, wait, |_, _| async move {
        let all = [&*STYLE, &*HTMX, &*SCRIPT, &*ICON];
        let asset = all.into_iter().find(|asset| asset.name == name);
        let asset = asset.ok_or_else(no_such_address)?;
        let reply = with_status(StatusCode::OK, asset.text);
        let mut reply = with_header(reply, header::CONTENT_TYPE, asset.kind);
        let kept = HeaderValue::from_static("public, max-age=31536000, immutable");
        reply.headers_mut().insert(header::CACHE_CONTROL, kept);
        Ok(reply)
    })
    .await
}
