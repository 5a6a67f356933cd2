//! A link that signs somebody in once: whoever holds a token on this very machine asks for it, and follows it in a browser there, soon.
//!
//! It spares a newcomer the token's file, and is no way in for others: it is made for and followed from this machine alone, opens one
//! session, and is forgotten with the process. What is kept of it is a hash.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use askama::Template;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use factum::{Code, Holder};
use serde_json::json;

use super::door::{enter, same_origin};
use super::page::{Theme, failed_outside, html};
use crate::app::{App, Shown};
use crate::edge::{Asked, answered};
use crate::reply::{Failure, Reply, json_reply};
use crate::run::authorized;

/// Where one is asked for, and where they lead.
pub(super) const ASK: &str = "/sign-in/link";
pub(super) const FOLLOW: &str = "/sign-in/once/{secret}";

/// For how long one counts, and how many do at once: another one takes the place of the oldest.
const LASTS: Duration = Duration::from_secs(15 * 60);
const LINKS_MAX: usize = 8;

/// Bytes of a link's secret.
const SECRET: usize = 32;

/// Links that were made and not followed yet.
#[derive(Debug, Default)]
pub(crate) struct Links(Mutex<Vec<Link>>);

#[derive(Debug)]
struct Link {
    hash: blake3::Hash,
    until: Instant,
    holder: Holder,
}

impl Links {
    fn add(&self, secret: &str, holder: Holder, now: Instant) {
        let mut links = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        links.retain(|link| link.until > now);
        if links.len() >= LINKS_MAX {
            links.remove(0);
        }
        links.push(Link {
            hash: blake3::hash(secret.as_bytes()),
            until: now + LASTS,
            holder,
        });
    }

    /// Whose link this is. It is none from then on.
    fn take(&self, secret: &str, now: Instant) -> Option<Holder> {
        let mut links = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let hash = blake3::hash(secret.as_bytes());
        // Hashes are compared by a type that does so in constant time.
        let place = links.iter().position(|link| link.hash == hash)?;
        let link = links.remove(place);
        (link.until > now).then_some(link.holder)
    }
}

/// Refuses whoever is not on this machine. Behind a proxy everybody seems to be.
fn is_here(app: &App, asked: &Asked) -> Result<(), Failure> {
    if asked.is_local() && !app.factum().config().server.behind_proxy {
        return Ok(());
    }
    let rule = "a link that signs in once is made and followed on the machine of the server alone";
    let remedy = "sign in with a token";
    Err(Failure::new(Code::Forbidden, "", rule, remedy))
}

/// Makes one, for whoever shows a token.
pub(super) async fn ask(State(app): State<App>, request: Request) -> Reply {
    let wait = app.limits().answer_wait;
    answered(request, ASK, wait, |request, asked| async move {
        let (_, shown) = authorized(&app, &asked, request.headers())?;
        is_here(&app, &asked)?;
        let holder = match &shown {
            Shown::Token(token) => app.signs_in(token),
            Shown::Nothing | Shown::Certificate(_) => None,
        };
        let Some((_, holder)) = holder else {
            let rule = "it is made for the holder of a token";
            let remedy = "send `Authorization: Bearer` with a token";
            return Err(Failure::new(Code::Unauthorized, "", rule, remedy));
        };
        let mut bytes = [0; SECRET];
        getrandom::fill(&mut bytes).map_err(|_| Failure::broken())?;
        let secret = blake3::Hash::from_bytes(bytes).to_hex();
        app.links().add(&secret, holder, Instant::now());
        let path = FOLLOW.replace("{secret}", &secret);
        json_reply(
            StatusCode::CREATED,
            &json!({"path": path, "expires_in_s": LASTS.as_secs()}),
        )
    })
    .await
}

#[derive(Template)]
#[template(path = "once.html")]
struct Once {
    theme: Option<Theme>,
    secret: String,
}

/// What somebody sees who follows one. Nothing comes of looking: what fetches addresses before they are followed takes nothing away.
pub(super) async fn page(
    State(app): State<App>,
    Path(secret): Path<String>,
    request: Request,
) -> Reply {
    let wait = app.limits().answer_wait;
    answered(request, FOLLOW, wait, |request, _| async move {
        let theme = Theme::of(request.headers());
        Ok(html(StatusCode::OK, &Once { theme, secret }))
    })
    .await
}

/// Opens a session for whoever follows one.
pub(super) async fn follow(
    State(app): State<App>,
    Path(secret): Path<String>,
    request: Request,
) -> Reply {
    let wait = app.limits().answer_wait;
    answered(request, FOLLOW, wait, |request, asked| async move {
        let (parts, _) = request.into_parts();
        let theme = Theme::of(&parts.headers);
        let holder = async {
            same_origin(&parts.headers)?;
            is_here(&app, &asked)?;
            app.links().take(&secret, Instant::now()).ok_or_else(|| {
                let rule = "this link was followed already, or is older than a quarter of an hour";
                Failure::new(Code::SignedOut, "", rule, "sign in with a token")
            })
        };
        match holder.await {
            Ok(holder) => {
                enter(
                    &app,
                    &asked,
                    holder,
                    "/",
                    "followed a link that signs in once",
                )
                .await
            }
            Err(failure) => Ok(failed_outside(theme, &failure)),
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_followed_once_and_soon() {
        let (links, now) = (Links::default(), Instant::now());
        let holder = || Holder::Token("t".to_owned());
        links.add("a", holder(), now);
        assert_eq!(links.take("b", now), None);
        assert_eq!(links.take("a", now), Some(holder()));
        assert_eq!(links.take("a", now), None);
        links.add("c", holder(), now);
        assert_eq!(links.take("c", now + LASTS), None, "too late");
        for n in 0..=LINKS_MAX {
            links.add(&n.to_string(), holder(), now);
        }
        assert_eq!(links.take("0", now), None, "the oldest is forgotten");
        assert_eq!(links.take("1", now), Some(holder()));
    }
}
