//! Who comes in: a token is shown once, and a session stands in for it from then on.
//!
//! The session's cookie is sent to this site alone (`SameSite=Strict`), and no script reads it. Whatever changes something has to come
//! from a page of this console: by its `Origin`, and by a text that only this session's forms carry.

use askama::Template;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};
use factum::{Caller, Code, DEFAULT_TENANT, Holder, Lasts, Problem, Session};
use subtle::ConstantTimeEq;

use super::Said;
use super::form::Form;
use super::page::{Theme, html, moved};
use crate::app::App;
use crate::edge::{Asked, answered};
use crate::incoming::bytes;
use crate::reply::{Failure, Reply, with_header};
use crate::run::counted;

/// Where one signs in, and out.
pub(super) const SIGN_IN: &str = "/sign-in";
pub(super) const SIGN_OUT: &str = "/sign-out";

/// Where an operator goes to another tenant.
pub(super) const TENANT: &str = "/tenant";

/// Tenants that are offered; the address of the settings leads to others.
const TENANTS_MAX: usize = 200;

/// The cookie over TLS: browsers take it from this very host alone. And the one for this machine, where there is none.
const SECURE_COOKIE: &str = "__Host-factum-console";
const PLAIN_COOKIE: &str = "factum-console";

/// The member of each form that carries what only this session knows.
const FORM_MEMBER: &str = "form";

/// From which site a request comes, as the browser says.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Who is signed in. Whether their token still counts is asked anew each time.
pub(super) async fn who(
    app: &App,
    asked: &Asked,
    headers: &HeaderMap,
) -> Result<(Caller, Session), Failure> {
    let signed_out = || {
        let rule = "the session is over, or was never opened";
        Failure::new(Code::SignedOut, "", rule, "sign in with a token")
    };
    let name = cookie_name(is_secure(app, asked));
    let shown = cookie(headers, name).ok_or_else(signed_out)?;
    let engine = app.factum().engine();
    let session = engine.session(shown, lasts(app)).await?;
    let session = session.ok_or_else(signed_out)?;
    let caller = acting(app, &session).ok_or_else(signed_out)?;
    Ok((caller, session))
}

/// Whose session it is, as they act in it: whoever runs the installation may look at another tenant, and is named there as what they are.
/// None once what it was opened with does not count any more.
pub(super) fn acting(app: &App, session: &Session) -> Option<Caller> {
    let own = app.holder_of(&session.holder)?;
    if session.tenant == own.tenant || !own.is_operator() {
        return Some(own);
    }
    let there = app
        .factum()
        .engine()
        .directory()
        .has_tenant(&session.tenant);
    Some(if there {
        Caller {
            tenant: session.tenant.clone(),
            principal: format!("{} of {}", own.principal, own.tenant),
            ..own
        }
    } else {
        own
    })
}

fn lasts(app: &App) -> Lasts {
    let console = &app.factum().config().console;
    Lasts {
        idle: console.idle.0,
        whole: console.session.0,
    }
}

/// Whether the browser speaks TLS with us, or with the proxy before us.
pub(super) fn is_secure(app: &App, asked: &Asked) -> bool {
    asked.is_encrypted() || app.factum().config().server.behind_proxy
}

fn cookie_name(secure: bool) -> &'static str {
    if secure { SECURE_COOKIE } else { PLAIN_COOKIE }
}

/// A cookie's value.
pub(super) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(header::COOKIE).iter();
    all.filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(known, _)| *known == name)
        .map(|(_, value)| value)
}

/// Refuses what a page of another site sends in somebody's name.
pub(super) fn same_origin(headers: &HeaderMap) -> Result<(), Failure> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let origin = text(header::ORIGIN).and_then(|origin| origin.split_once("://"));
    let host = text(header::HOST);
    let fetched = text(FETCH_SITE).is_none_or(|site| site == "same-origin");
    if fetched && origin.is_some_and(|(_, host_there)| Some(host_there) == host) {
        return Ok(());
    }
    let rule = "the header Origin does not name the address that the form was sent to";
    let remedy = "send the form from the console's own page, at the address that it was opened at";
    Err(Failure::new(Code::ForeignForm, "Origin", rule, remedy))
}

/// Refuses a form that was not made for this session.
pub(super) fn own_form(session: &Session, form: &Form) -> Result<(), Failure> {
    let shown = form.text(FORM_MEMBER).unwrap_or_default();
    if bool::from(shown.as_bytes().ct_eq(session.form.as_bytes())) {
        return Ok(());
    }
    let rule = "the form carries the secret of another session, or none";
    let remedy = "open the page again, and send the form from there";
    Err(Failure::new(Code::ForeignForm, "/form", rule, remedy))
}

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignIn {
    theme: Option<Theme>,
    to: String,
    /// What is wrong with what was shown before.
    wrong: Option<&'static str>,
    /// A session was open, and is not any more.
    ended: bool,
    /// One can sign in with an identity provider.
    provider: bool,
}

/// Somebody is not signed in: a page is asked for again after the sign-in, a form is not sent again.
pub(super) fn turned_away(failure: &Failure, parts: &Parts, theme: Option<Theme>) -> Reply {
    if !matches!(failure, Failure::Problem(problem) if problem.code == Code::SignedOut) {
        return super::page::failed_outside(theme, failure);
    }
    let to = parts.uri.path_and_query().map_or("/", |at| at.as_str());
    if parts.method != Method::GET {
        return super::page::failed_outside(theme, failure);
    }
    let site = parts.headers.get(FETCH_SITE);
    let elsewhere = site.is_some_and(|site| site == "cross-site" || site == "same-site");
    if elsewhere && inside(to) {
        // Whoever follows a link from elsewhere comes without the cookie. Asked for by this page, the same address has it.
        let reply = html(
            StatusCode::OK,
            &Arriving {
                theme,
                to: to.to_owned(),
            },
        );
        return with_header(
            reply,
            HeaderName::from_static("refresh"),
            &format!("0; url={to}"),
        );
    }
    moved(&format!("{SIGN_IN}?{}", Form::default().with("to", to)))
}

#[derive(Template)]
#[template(path = "arriving.html")]
struct Arriving {
    theme: Option<Theme>,
    to: String,
}

/// Whether an address is a page of this console, and of no other site.
fn inside(to: &str) -> bool {
    let plain = to
        .bytes()
        .all(|byte| (0x21..0x7f).contains(&byte) && byte != b'\\');
    plain && to.starts_with('/') && !to.starts_with("//") && !to.starts_with(SIGN_IN)
}

pub(super) fn led_to(form: &Form) -> String {
    let to = form.text("to").filter(|to| inside(to));
    to.unwrap_or("/").to_owned()
}

/// The page to sign in at.
pub(super) async fn page(State(app): State<App>, request: Request) -> Reply {
    let wait = app.limits().answer_wait;
    answered(request, SIGN_IN, wait, |request, asked| async move {
        let headers = request.headers();
        let to = led_to(&Form::of_query(request.uri()));
        if who(&app, &asked, headers).await.is_ok() {
            return Ok(moved(&to));
        }
        let page = SignIn {
            theme: Theme::of(headers),
            to,
            wrong: None,
            ended: cookie(headers, cookie_name(is_secure(&app, &asked))).is_some(),
            provider: app.factum().config().console.oidc.is_some(),
        };
        Ok(html(StatusCode::OK, &page))
    })
    .await
}

/// Opens a session for whoever shows a token.
pub(super) async fn sign_in(State(app): State<App>, request: Request) -> Reply {
    let wait = app.limits().answer_wait;
    answered(request, SIGN_IN, wait, |request, asked| async move {
        let (parts, mut body) = request.into_parts();
        let theme = Theme::of(&parts.headers);
        let read = async {
            same_origin(&parts.headers)?;
            let bytes = bytes(&parts.headers, &mut body, app.limits()).await?;
            Form::of_body(&parts.headers, bytes.into()).await
        };
        let form = match read.await {
            Ok(form) => form,
            Err(failure) => return Ok(super::page::failed_outside(theme, &failure)),
        };
        let to = led_to(&form);
        let token = form.text("token").unwrap_or_default();
        let Some((caller, holder)) = app.signs_in(token) else {
            let page = SignIn {
                theme,
                to,
                wrong: Some("This token is not known here, or does not count any more."),
                ended: false,
                provider: app.factum().config().console.oidc.is_some(),
            };
            return Ok(html(StatusCode::UNAUTHORIZED, &page));
        };
        counted(&app, &asked, &caller)?;
        enter(&app, &asked, holder, &to, "signed in at the console").await
    })
    .await
}

/// Opens a session in the holder's own tenant, and leads to a page.
pub(super) async fn enter(
    app: &App,
    asked: &Asked,
    holder: Holder,
    to: &str,
    why: &str,
) -> Result<Reply, Failure> {
    let caller = app.holder_of(&holder).ok_or_else(|| {
        let rule = "what this was made with does not count any more";
        Failure::new(Code::SignedOut, "", rule, "sign in with a token")
    })?;
    let engine = app.factum().engine();
    let opened = engine.open_session(holder, &caller.tenant, &caller.principal, why);
    let (_, shown) = opened.await?;
    Ok(with_cookie(moved(to), is_secure(app, asked), &shown, None))
}

/// The tenants that may be gone to, the installation's own first; none for who does not run it, or where there is but one.
pub(super) fn tenants(app: &App, session: &Session) -> Vec<String> {
    let own = app.holder_of(&session.holder);
    if !own.is_some_and(|own| own.is_operator()) {
        return Vec::new();
    }
    let directory = app.factum().engine().directory();
    let named = directory.tenants().filter(|name| *name != DEFAULT_TENANT);
    let named: Vec<String> = named.take(TENANTS_MAX).map(str::to_owned).collect();
    if named.is_empty() {
        return named;
    }
    std::iter::once(DEFAULT_TENANT.to_owned())
        .chain(named)
        .collect()
}

/// Leads whoever runs the installation to another tenant, or back: in a new session, so that both are kept with who and when.
pub(super) async fn go_to_tenant(State(app): State<App>, request: Request) -> Reply {
    let wait = app.limits().answer_wait;
    answered(request, TENANT, wait, |request, asked| async move {
        let (parts, mut body) = request.into_parts();
        let theme = Theme::of(&parts.headers);
        let gone = async {
            same_origin(&parts.headers)?;
            let (_, session) = who(&app, &asked, &parts.headers).await?;
            let bytes = bytes(&parts.headers, &mut body, app.limits()).await?;
            let form = Form::of_body(&parts.headers, bytes.into()).await?;
            own_form(&session, &form)?;
            switched(&app, &session, form.text("tenant").unwrap_or_default()).await
        };
        match gone.await {
            Ok(shown) => {
                let page = moved(&format!("/overview?said={}", Said::Switched.word()));
                Ok(with_cookie(page, is_secure(&app, &asked), &shown, None))
            }
            Err(failure) => Ok(super::page::failed_outside(theme, &failure)),
        }
    })
    .await
}

async fn switched(app: &App, session: &Session, tenant: &str) -> Result<String, Failure> {
    let own = app.holder_of(&session.holder);
    let Some(own) = own.filter(Caller::is_operator) else {
        let rule = "only whoever runs the installation looks at other tenants";
        let remedy = "sign in with a token of that tenant";
        return Err(Failure::new(Code::Forbidden, "/tenant", rule, remedy));
    };
    let engine = app.factum().engine();
    if !engine.directory().has_tenant(tenant) {
        let rule = format!("no tenant {tenant:?} is registered here");
        return Err(Failure::new(
            Code::UnknownName,
            "/tenant",
            rule,
            "choose one of the settings",
        ));
    }
    let why = format!("looks at the tenant {tenant}, from {}", session.tenant);
    let holder = session.holder.clone();
    let (_, shown) = engine
        .open_session(holder, tenant, &own.principal, &why)
        .await?;
    let why = format!("went on to the tenant {tenant}");
    engine.close_session(&session.id, &why).await?;
    Ok(shown)
}

/// Ends the session.
pub(super) async fn sign_out(State(app): State<App>, request: Request) -> Reply {
    let wait = app.limits().answer_wait;
    answered(request, SIGN_OUT, wait, |request, asked| async move {
        let (parts, mut body) = request.into_parts();
        let ended = async {
            same_origin(&parts.headers)?;
            let (_, session) = who(&app, &asked, &parts.headers).await?;
            let bytes = bytes(&parts.headers, &mut body, app.limits()).await?;
            own_form(
                &session,
                &Form::of_body(&parts.headers, bytes.into()).await?,
            )?;
            let engine = app.factum().engine();
            Ok(engine.close_session(&session.id, "signed out").await?)
        };
        match ended.await {
            Ok(()) => {}
            Err(Failure::Problem(problem)) if is_over(&problem) => {}
            Err(failure) => {
                let theme = Theme::of(&parts.headers);
                return Ok(super::page::failed_outside(theme, &failure));
            }
        }
        let secure = is_secure(&app, &asked);
        Ok(with_cookie(moved(SIGN_IN), secure, "", Some(0)))
    })
    .await
}

fn is_over(problem: &Problem) -> bool {
    problem.code == Code::SignedOut
}

/// The session's cookie. It ends with the browser, and earlier by the register.
fn with_cookie(reply: Reply, secure: bool, value: &str, max_age: Option<u32>) -> Reply {
    let name = cookie_name(secure);
    let mut text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict");
    if secure {
        text.push_str("; Secure");
    }
    if let Some(seconds) = max_age {
        text.push_str(&format!("; Max-Age={seconds}"));
    }
    with_header(reply, header::SET_COOKIE, &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_this_console_are_led_to() {
        for (to, right) in [
            ("/review?order=x", true),
            ("/", true),
            ("//evil.example", false),
            ("/\\evil.example", false),
            ("https://evil.example", false),
            ("javascript:alert(1)", false),
            ("/a b", false),
            ("/a\r\nSet-Cookie: x", false),
            ("/sign-in?to=/sign-in", false),
            ("", false),
        ] {
            assert_eq!(inside(to), right, "{to:?}");
        }
    }

    #[test]
    fn a_form_has_to_come_from_the_address_that_it_is_sent_to() {
        let headers = |pairs: &[(HeaderName, &'static str)]| -> HeaderMap {
            let pairs = pairs.iter();
            pairs
                .map(|(name, value)| (name.clone(), value.parse().unwrap()))
                .collect()
        };
        let host = (header::HOST, "127.0.0.1:7420");
        let own = (header::ORIGIN, "http://127.0.0.1:7420");
        assert!(same_origin(&headers(&[host.clone(), own.clone()])).is_ok());
        assert!(
            same_origin(&headers(&[
                host.clone(),
                own.clone(),
                (FETCH_SITE, "same-origin")
            ]))
            .is_ok()
        );
        for wrong in [
            vec![host.clone()],
            vec![own.clone()],
            vec![host.clone(), (header::ORIGIN, "null")],
            vec![host.clone(), (header::ORIGIN, "http://127.0.0.1:7421")],
            vec![
                host.clone(),
                (header::ORIGIN, "http://127.0.0.1:7420.evil.example"),
            ],
            vec![host, own, (FETCH_SITE, "cross-site")],
        ] {
            assert!(same_origin(&headers(&wrong)).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_cookie_is_found_among_others() {
        let headers = HeaderMap::from_iter([(
            header::COOKIE,
            "a=1; factum-console=x_y; factum-console-2=z"
                .parse()
                .unwrap(),
        )]);
        assert_eq!(cookie(&headers, PLAIN_COOKIE), Some("x_y"));
        assert_eq!(cookie(&headers, SECURE_COOKIE), None);
    }
}
