//! What every page has: its frame, its headers, its colours, and how it says that something went wrong.

use askama::Template;
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderMap, StatusCode};
use factum::{Caller, Code, Problem, Session};

use super::form::Form;
use super::{Said, assets, door};
use crate::app::App;
use crate::call::Call;
use crate::edge::answered;
use crate::incoming::bytes;
use crate::reply::{Failure, Reply, with_header, with_status};
use crate::run::allowed;

/// Where somebody says whether pages are light or dark.
pub(super) const THEME: &str = "/theme";
const THEME_COOKIE: &str = "factum-theme";

/// Only what this server serves as a file of its own counts: no script or style within a page, nothing of another site, no frame around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; \
                      base-uri 'none'; frame-ancestors 'none'";

/// Light or dark, where somebody has said so; else the browser knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Theme {
    Light,
    Dark,
}

impl Theme {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        [Self::Light, Self::Dark]
            .into_iter()
            .find(|theme| theme.word() == word)
    }

    /// What a browser was told to keep.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        Self::from_word(door::cookie(headers, THEME_COOKIE)?)
    }
}

/// A place in the navigation.
pub(super) struct Place {
    pub(super) name: &'static str,
    pub(super) path: &'static str,
    /// The page is within it.
    pub(super) here: bool,
}

/// The places, each with the call behind it.
const PLACES: [(&str, &str, Call); 7] = [
    ("Overview", "/overview", Call::List),
    ("Review", "/review", Call::Review),
    ("Approvals", "/approvals", Call::Proposals),
    ("Actions", "/actions", Call::List),
    ("Conversations", "/conversations", Call::Corrections),
    ("Destinations", "/destinations", Call::Destinations),
    ("Settings", "/settings", Call::Principals),
];

/// The frame of a page.
pub(super) struct Shell {
    pub(super) theme: Option<Theme>,
    pub(super) principal: String,
    pub(super) tenant: String,
    /// What this session's forms carry.
    pub(super) form: String,
    pub(super) places: Vec<Place>,
    /// What was just done.
    pub(super) said: Option<&'static str>,
    /// What they may do, in a word.
    pub(super) role: &'static str,
    /// Where they may go: for whoever runs the installation.
    pub(super) tenants: Vec<String>,
    /// It is another tenant than their own.
    pub(super) elsewhere: bool,
}

impl Shell {
    pub(super) fn of(
        caller: &Caller,
        session: &Session,
        theme: Option<Theme>,
        here: &str,
        query: &Form,
    ) -> Self {
        let seen = |call: Call| allowed(caller, call.need()).is_ok();
        let places = PLACES.iter().filter(|(_, _, call)| seen(*call));
        let said = query.text("said");
        Self {
            theme,
            principal: caller.principal.clone(),
            tenant: caller.tenant.clone(),
            form: session.form.clone(),
            places: places
                .map(|(name, path, _)| Place {
                    name,
                    path,
                    here: *path == here,
                })
                .collect(),
            said: said
                .and_then(|word| Said::ALL.iter().find(|said| said.word() == word))
                .map(|said| said.text()),
            role: role(caller),
            tenants: Vec::new(),
            elsewhere: false,
        }
    }
}

impl Shell {
    /// Where somebody begins: at what waits for them, if anything can.
    pub(super) fn first(&self) -> &'static str {
        let begins = ["/review", "/approvals", "/overview"];
        let seen = |path: &&str| self.places.iter().any(|place| place.path == *path);
        begins.into_iter().find(seen).unwrap_or("/destinations")
    }
}

/// What somebody may do here, by the most of it.
fn role(caller: &Caller) -> &'static str {
    use factum::directory::Scope;
    let may = |scope| caller.may(scope);
    match (may(Scope::Admin), may(Scope::Review), may(Scope::Approve)) {
        (true, _, _) => "admin",
        (false, true, true) => "reviewer and approver",
        (false, true, false) => "reviewer",
        (false, false, true) => "approver",
        (false, false, false) => "viewer",
    }
}

/// A page.
pub(super) fn shown(page: &impl Template) -> Result<Reply, Failure> {
    Ok(html(StatusCode::OK, page))
}

/// A page of this status.
pub(super) fn html(status: StatusCode, page: &impl Template) -> Reply {
    match page.render() {
        Ok(text) => dressed(with_header(
            with_status(status, text),
            header::CONTENT_TYPE,
            "text/html; charset=utf-8",
        )),
        Err(error) => {
            tracing::error!(%error, "a page cannot be written");
            with_status(
                StatusCode::INTERNAL_SERVER_ERROR,
                "a page cannot be written; see the server's log",
            )
        }
    }
}

fn dressed(reply: Reply) -> Reply {
    let headers = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_FRAME_OPTIONS, "DENY"),
        // A form's Origin would be hidden by less than this.
        (header::REFERRER_POLICY, "same-origin"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("permissions-policy"),
            "camera=(), geolocation=(), microphone=()",
        ),
    ];
    headers.into_iter().fold(reply, |reply, (name, value)| {
        with_header(reply, name, value)
    })
}

/// Leads the browser to an address of ours.
pub(super) fn moved(to: &str) -> Reply {
    dressed(with_header(
        with_status(StatusCode::SEE_OTHER, ""),
        header::LOCATION,
        to,
    ))
}

#[derive(Template)]
#[template(path = "problem.html")]
struct Failed {
    shell: Shell,
    told: Told,
}

#[derive(Template)]
#[template(path = "problem_outside.html")]
struct FailedOutside {
    theme: Option<Theme>,
    told: Told,
}

/// What went wrong, for people.
struct Told {
    title: &'static str,
    code: &'static str,
    rule: String,
    remedy: String,
    action: Option<String>,
}

impl Told {
    fn of(failure: &Failure) -> (StatusCode, Self) {
        let (Failure::Problem(problem)
        | Failure::WrongMethod(problem, _)
        | Failure::HeldOff(problem, _)) = failure;
        let status = StatusCode::from_u16(problem.code.status());
        let told = Self {
            title: problem.code.title(),
            code: problem.code.code(),
            rule: problem.rule.to_string(),
            remedy: problem.remedy.to_string(),
            action: problem.action.map(|id| id.to_string()),
        };
        (status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), told)
    }
}

/// Why something was not done, to somebody who is signed in.
pub(super) fn failed(shell: Shell, failure: &Failure) -> Reply {
    let (status, told) = Told::of(failure);
    html(status, &Failed { shell, told })
}

/// The same to somebody who is not.
pub(super) fn failed_outside(theme: Option<Theme>, failure: &Failure) -> Reply {
    let (status, told) = Told::of(failure);
    html(status, &FailedOutside { theme, told })
}

/// Keeps in the browser how pages look, and leads back to where it was said.
pub(super) async fn set_theme(State(app): State<App>, request: Request) -> Reply {
    let wait = app.limits().answer_wait;
    answered(request, THEME, wait, |request, _| async move {
        let (parts, mut body) = request.into_parts();
        door::same_origin(&parts.headers)?;
        let bytes = bytes(&parts.headers, &mut body, app.limits()).await?;
        let form = Form::of_body(&parts.headers, bytes.into()).await?;
        let word = form.text("theme").unwrap_or_default();
        let kept = match Theme::from_word(word) {
            Some(theme) => format!("{THEME_COOKIE}={}; Max-Age=31536000", theme.word()),
            None => format!("{THEME_COOKIE}=; Max-Age=0"),
        };
        let back = came_from(&parts.headers).unwrap_or_else(|| "/".to_owned());
        let text = format!("{kept}; Path=/; HttpOnly; SameSite=Strict");
        Ok(with_header(moved(&back), header::SET_COOKIE, &text))
    })
    .await
}

/// The page of ours that a request came from.
fn came_from(headers: &HeaderMap) -> Option<String> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let (_, rest) = text(header::REFERER)?.split_once("://")?;
    let path = rest.strip_prefix(text(header::HOST)?)?;
    (path.starts_with('/') && !path.starts_with("//")).then(|| path.to_owned())
}

/// Names in templates.
pub(super) fn style() -> String {
    assets::STYLE.address()
}

pub(super) fn htmx() -> String {
    assets::HTMX.address()
}

pub(super) fn script() -> String {
    assets::SCRIPT.address()
}

pub(super) fn icon() -> String {
    assets::ICON.address()
}

/// A problem that follows from a form's text.
pub(super) fn wrong(member: &str, rule: &str, remedy: &str) -> Failure {
    Problem::new(Code::WrongType, member, rule, remedy).into()
}
