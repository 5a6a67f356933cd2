//! Signing in with an identity provider: to it, and back from it. What is needed in between lies in a cookie of the browser, so that any
//! worker can end what another one began.

use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use factum::oidc::{Begun, begin, finish};
use factum::{Caller, Code, DEFAULT_TENANT, Holder};
use subtle::ConstantTimeEq;

use super::door::{cookie, enter, is_secure, led_to};
use super::form::Form;
use super::page::{Theme, failed_outside, moved};
use crate::app::App;
use crate::edge::{Asked, answered};
use crate::reply::{Failure, Reply, with_header};

/// Where one leaves for the provider.
pub(super) const LEAVE: &str = "/sign-in/oidc";
/// Where the provider leads back to.
pub(super) const BACK: &str = factum::oidc::BACK;

/// What the browser keeps meanwhile, and for how long. It comes back from another site, so the cookie is `Lax`.
const KEPT: &str = "factum-sign-in";
const KEPT_S: u32 = 600;

/// What a session of a provider's gives now: its groups' scopes, as the configuration says today. None where the provider is not
/// configured any more, or the principal is suspended.
pub(crate) fn caller_of(app: &App, holder: &Holder) -> Option<Caller> {
    let Holder::Person {
        issuer,
        subject,
        name,
        groups,
    } = holder
    else {
        return None;
    };
    let config = app.factum().config().console.oidc.as_ref()?;
    if *issuer != config.issuer {
        return None;
    }
    let scopes = config.scopes_of(groups);
    let tenant = config.tenant.as_deref().unwrap_or(DEFAULT_TENANT);
    let engine = app.factum().engine();
    let stands = engine.directory().may_come(tenant, name, engine.now());
    (stands && !scopes.is_empty()).then(|| Caller {
        tenant: tenant.to_owned(),
        principal: name.clone(),
        grant: None,
        scopes,
        token: Some(format!("oidc:{subject}")),
    })
}

fn configured(app: &App) -> Result<&factum::config::OidcConfig, Failure> {
    app.factum().config().console.oidc.as_ref().ok_or_else(|| {
        let rule = "no identity provider is configured here";
        let remedy = "sign in with a token, or configure [console.oidc]";
        Failure::new(Code::NoProvider, "/console/oidc", rule, remedy)
    })
}

/// Leads to the provider.
pub(super) async fn leave(State(app): State<App>, request: Request) -> Reply {
    let wait = app.limits().answer_wait;
    answered(request, LEAVE, wait, |request, asked| async move {
        let theme = Theme::of(request.headers());
        let to = led_to(&Form::of_query(request.uri()));
        let left = async {
            let config = configured(&app)?;
            Ok::<_, Failure>(begin(app.factum().engine(), config).await?)
        };
        match left.await {
            Ok((address, begun)) => {
                let kept = form_urlencoded::Serializer::new(String::new())
                    .append_pair("state", &begun.state)
                    .append_pair("nonce", &begun.nonce)
                    .append_pair("verifier", &begun.verifier)
                    .append_pair("to", &to)
                    .finish();
                Ok(keeping(
                    moved(&address),
                    is_secure(&app, &asked),
                    &kept,
                    KEPT_S,
                ))
            }
            Err(failure) => Ok(failed_outside(theme, &failure)),
        }
    })
    .await
}

/// Comes back from the provider.
pub(super) async fn back(State(app): State<App>, request: Request) -> Reply {
    let wait = app.limits().answer_wait;
    answered(request, BACK, wait, |request, asked| async move {
        let (parts, _) = request.into_parts();
        let theme = Theme::of(&parts.headers);
        let secure = is_secure(&app, &asked);
        let reply = match arrived(&app, &asked, &parts).await {
            Ok(reply) => reply,
            Err(failure) => failed_outside(theme, &failure),
        };
        Ok(keeping(reply, secure, "", 0))
    })
    .await
}

async fn arrived(app: &App, asked: &Asked, parts: &Parts) -> Result<Reply, Failure> {
    let config = configured(app)?;
    let query = Form::of_query(&parts.uri);
    let (begun, to) = kept(&parts.headers, &query)?;
    if let Some(error) = query.text("error") {
        let more = query.text("error_description").unwrap_or_default();
        return Err(refused(format!("the provider says: {error} {more}").trim()));
    }
    let code = query
        .text("code")
        .ok_or_else(|| refused("the provider brought no code back"))?;
    let who = finish(app.factum().engine(), config, &begun, code).await?;
    if config.scopes_of(&who.groups).is_empty() {
        let rule = format!(
            "{} is signed in at the provider, and none of their groups has a role here; `{}` says: {}",
            who.name,
            config.groups,
            if who.groups.is_empty() {
                "nothing".to_owned()
            } else {
                who.groups.join(", ")
            }
        );
        let remedy = "have yourself put into a group that [console.oidc.roles] names";
        return Err(Failure::new(Code::NoRole, "", rule, remedy));
    }
    let holder = Holder::Person {
        issuer: config.issuer.clone(),
        subject: who.subject,
        name: who.name,
        groups: who.groups,
    };
    let why = format!("signed in at the console with {}", config.issuer);
    enter(app, asked, holder, &to, &why).await
}

/// What was begun in this very browser, and where it was to lead.
fn kept(headers: &HeaderMap, query: &Form) -> Result<(Begun, String), Failure> {
    let kept = Form::of_text(cookie(headers, KEPT).unwrap_or_default());
    let text = |name: &str| kept.text(name).unwrap_or_default().to_owned();
    let state = query.text("state").unwrap_or_default();
    let begun = Begun {
        state: text("state"),
        nonce: text("nonce"),
        verifier: text("verifier"),
    };
    let same = bool::from(begun.state.as_bytes().ct_eq(state.as_bytes()));
    if begun.state.is_empty() || !same {
        let rule = "this sign-in was not begun in this browser, or more than ten minutes ago";
        return Err(refused(rule));
    }
    Ok((begun, led_to(&kept)))
}

fn refused(rule: &str) -> Failure {
    let remedy = "sign in once more";
    Failure::new(Code::SignInRefused, "", rule.to_owned(), remedy)
}

fn keeping(reply: Reply, secure: bool, value: &str, seconds: u32) -> Reply {
    let secure = if secure { "; Secure" } else { "" };
    let text =
        format!("{KEPT}={value}; Path={LEAVE}; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}");
    append(reply, &text)
}

/// One more cookie, beside the session's.
fn append(mut reply: Reply, text: &str) -> Reply {
    if let Ok(value) = text.parse() {
        reply.headers_mut().append(header::SET_COOKIE, value);
    }
    // Nothing of an address with a code in it is told to anybody.
    with_header(reply, header::REFERRER_POLICY, "no-referrer")
}
