//! Settings: who may do what, where events are posted, what is kept for how long, and who changed any of that, when and why.
//!
//! Each form is a call of the HTTP API, made here with the same body and the same authority, so that the two cannot differ.

use askama::Template;
use axum::body::Body;
use axum::http::{Request, StatusCode, Uri};
use factum::directory::Scope;
use http_body_util::BodyExt;
use serde_json::{Map, Value, json};

use super::audit::{Change, changes, history};
use super::form::Form;
use super::page::{Shell, html, wrong};
use super::rule::WHY_MAX;
use super::words::When;
use super::{Said, Visit, done, shown};
use crate::app::{App, Shown};
use crate::call::Call;
use crate::incoming::Incoming;
use crate::query::Query;
use crate::reply::{Failure, Reply};
use crate::run::{allowed, carried_out};

/// Rows of a table; a terminal lists more.
const ROWS: usize = 100;

macro_rules! kinds {
    ($($variant:ident $word:literal $title:literal $one:literal $list:ident $call:ident $add:ident $state:ident;)*) => {
        /// What there is a table of.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Kind { $($variant,)* }

        impl Kind {
            const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// As addresses and answers of the API name it.
            pub(super) fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            pub(super) fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }

            /// What one of them is called.
            pub(super) fn one(self) -> &'static str {
                match self { $(Self::$variant => $one,)* }
            }

            fn list(self) -> Call {
                match self { $(Self::$variant => Call::$list,)* }
            }

            fn call(self) -> Call {
                match self { $(Self::$variant => Call::$call,)* }
            }

            fn add(self) -> Call {
                match self { $(Self::$variant => Call::$add,)* }
            }

            fn state(self) -> Call {
                match self { $(Self::$variant => Call::$state,)* }
            }
        }
    };
}

kinds! {
    Principals "principals" "Principals" "principal" Principals Principal AddPrincipal PrincipalState;
    Tokens "tokens" "Tokens" "token" Tokens Token AddToken TokenState;
    Grants "grants" "Grants" "grant" Grants Grant AddGrant GrantState;
    Webhooks "webhooks" "Webhooks" "webhook" Webhooks Webhook AddWebhook WebhookState;
    Tenants "tenants" "Tenants" "tenant" Tenants Tenant AddTenant TenantState;
}

impl Kind {
    /// Whether it has a secret that can be made anew.
    pub(super) fn has_secret(self) -> bool {
        matches!(self, Self::Tokens | Self::Webhooks)
    }

    fn named(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.word() == word)
    }
}

/// A call of the HTTP API, as whoever is signed in.
async fn api(
    app: &App,
    visit: &Visit,
    call: Call,
    name: Option<&str>,
    body: Option<Value>,
) -> Result<Value, Failure> {
    allowed(&visit.caller, call.need())?;
    let (parts, ()) = Request::new(()).into_parts();
    let pages = call.doc().query.iter().any(|param| param.name == "limit");
    let target = if pages {
        format!("/?limit={ROWS}")
    } else {
        "/".to_owned()
    };
    let uri: Uri = target.parse().map_err(|_| Failure::broken())?;
    let params = name.map(|name| ("name".to_owned(), name.to_owned()));
    let incoming = Incoming {
        call,
        caller: visit.caller.clone(),
        shown: Shown::Nothing,
        query: Query::read(&uri, call.doc().query)?,
        params: params.into_iter().collect(),
        parts,
        body: body.map_or_else(Body::empty, |body| Body::from(body.to_string())),
        limits: app.limits(),
    };
    let reply = carried_out(app, incoming).await?;
    let bytes = reply.into_body().collect().await;
    let bytes = bytes.map_err(|_| Failure::broken())?.to_bytes();
    serde_json::from_slice(&bytes).map_err(|_| Failure::broken())
}

/// A table of entries, with a form for one more.
struct Table {
    kind: Kind,
    rows: Vec<Row>,
    more: bool,
}

/// An entry in a table.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) about: String,
    pub(super) standing: Stand,
    /// What it allows, in a few words each.
    pub(super) facts: Vec<(&'static str, String)>,
    pub(super) changed: Change,
}

/// How something stands, with its colour.
pub(super) struct Stand {
    pub(super) word: String,
    pub(super) tone: &'static str,
}

impl Stand {
    pub(super) fn of(word: &str) -> Self {
        let tone = match word {
            "active" => "green",
            "suspended" => "yellow",
            "revoked" => "red",
            _ => "dim",
        };
        Self {
            word: word.to_owned(),
            tone,
        }
    }
}

fn text(value: &Value, member: &str) -> String {
    value[member].as_str().unwrap_or_default().to_owned()
}

fn words(value: &Value) -> String {
    let all = value.as_array().into_iter().flatten();
    let all: Vec<&str> = all.filter_map(Value::as_str).collect();
    all.join(", ")
}

impl Row {
    pub(super) fn of(entry: &Value) -> Self {
        let said = |name, value: String| Some((name, value)).filter(|(_, text)| !text.is_empty());
        let at = |member| {
            let at = entry[member].as_str().map(When::of_text);
            at.map_or_else(String::new, |at| at.shown)
        };
        let limits = &entry["limits"];
        let count = limits["count"]["max"].as_u64().map(|max| {
            let per = limits["count"]["per_s"].as_u64().unwrap_or(0);
            format!("{max} in {per} s")
        });
        let failing = entry["failures_in_a_row"]
            .as_u64()
            .filter(|count| *count > 0);
        let facts = [
            said("of", text(entry, "principal")),
            said("may", words(&entry["scopes"])),
            said("under the grant", text(entry, "grant")),
            said("for", words(&entry["acts_for"])),
            said("at", words(&entry["destinations"])),
            said("only", words(&entry["operations"])),
            said("at the most", count.unwrap_or_default()),
            said("to", text(entry, "url")),
            said("about", words(&entry["types"])),
            said(
                "failed in a row",
                failing.map_or_else(String::new, |count| count.to_string()),
            ),
            said("until", at("until")),
            said("last used", at("last_used")),
        ];
        Self {
            name: text(entry, "name"),
            about: text(entry, "about"),
            standing: Stand::of(entry["standing"].as_str().unwrap_or("active")),
            facts: facts.into_iter().flatten().collect(),
            changed: Change::of(&entry["changed"]),
        }
    }
}

async fn table(app: &App, visit: &Visit, kind: Kind) -> Result<Option<Table>, Failure> {
    if allowed(&visit.caller, kind.list().need()).is_err() {
        return Ok(None);
    }
    let listed = api(app, visit, kind.list(), None, None).await?;
    let entries = listed[kind.word()].as_array();
    Ok(Some(Table {
        kind,
        rows: entries.into_iter().flatten().map(Row::of).collect(),
        more: listed["next_after"].is_string(),
    }))
}

#[derive(Template)]
#[template(path = "settings.html")]
struct Page {
    shell: Shell,
    tables: Vec<Table>,
    kept: Vec<Kept>,
    keys: Vec<String>,
    scopes: Vec<&'static str>,
    changes: Vec<Change>,
}

/// For how long something is kept.
struct Kept {
    what: String,
    payload: String,
    action: String,
    identity: String,
}

/// The page.
pub(super) async fn show(app: &App, visit: &Visit) -> Result<Reply, Failure> {
    let mut tables = Vec::new();
    for kind in Kind::ALL.iter().copied() {
        tables.extend(table(app, visit, kind).await?);
    }
    let keys = api(app, visit, Call::Keys, None, None).await?;
    let keys = keys["keys"].as_array().into_iter().flatten();
    shown(&Page {
        shell: visit.shell("/settings"),
        tables,
        kept: kept(app, visit),
        keys: keys.map(|key| text(key, "kid")).collect(),
        scopes: Scope::ALL.iter().map(|scope| scope.word()).collect(),
        changes: changes(app, visit).await?,
    })
}

/// What the configuration says of this tenant.
fn kept(app: &App, visit: &Visit) -> Vec<Kept> {
    let config = app.factum().config();
    let own = config.tenants.get(&visit.caller.tenant);
    let rules = own
        .and_then(|own| own.retention.as_ref())
        .unwrap_or(&config.retention);
    let said = |wait: Option<factum::config::Wait>| {
        wait.map_or_else(
            || "for good".to_owned(),
            |wait| super::words::length(wait.0),
        )
    };
    let whole = Kept {
        what: "everything".to_owned(),
        payload: said(rules.payload),
        action: said(rules.action),
        identity: said(rules.identity),
    };
    let operations = rules.operations.iter().map(|(name, rules)| Kept {
        what: name.clone(),
        payload: said(rules.payload),
        action: said(rules.action),
        identity: said(rules.identity),
    });
    std::iter::once(whole).chain(operations).collect()
}

#[derive(Template)]
#[template(path = "setting.html")]
struct One {
    shell: Shell,
    kind: Kind,
    row: Row,
    history: Vec<(Stand, Change)>,
    /// What may be made of it.
    changes: Vec<(&'static str, &'static str)>,
    /// What is shown this once.
    secret: Option<String>,
}

impl One {
    fn of(visit: &Visit, kind: Kind, entry: &Value) -> Self {
        let row = Row::of(entry);
        let changes = match (row.standing.word.as_str(), kind) {
            ("active", Kind::Tenants) => vec![("suspended", "Suspend")],
            ("active", _) => vec![("suspended", "Suspend"), ("revoked", "Revoke for good")],
            ("suspended", Kind::Tenants) => vec![("active", "Resume")],
            ("suspended", _) => vec![("active", "Resume"), ("revoked", "Revoke for good")],
            _ => Vec::new(),
        };
        let secret = entry["token"].as_str().or(entry["secret"].as_str());
        Self {
            shell: visit.shell("/settings"),
            kind,
            history: history(&entry["history"]),
            changes,
            secret: secret.map(str::to_owned),
            row,
        }
    }
}

fn kind(visit: &Visit) -> Result<Kind, Failure> {
    Kind::named(visit.param("kind")).ok_or_else(|| {
        let remedy = "follow a link of the settings";
        wrong("/kind", "nothing of that kind is set here", remedy)
    })
}

/// One entry, with all that was changed about it.
pub(super) async fn one(app: &App, visit: &Visit) -> Result<Reply, Failure> {
    let kind = kind(visit)?;
    let entry = api(app, visit, kind.call(), Some(visit.param("name")), None).await?;
    shown(&One::of(visit, kind, &entry))
}

/// Makes one more. A secret is shown in the answer, and never again.
pub(super) async fn add(app: &App, visit: &Visit) -> Result<Reply, Failure> {
    let kind = kind(visit)?;
    let made = api(app, visit, kind.add(), None, Some(body(kind, &visit.form)?)).await?;
    let page = One::of(visit, kind, &made);
    if page.secret.is_some() {
        return Ok(html(StatusCode::CREATED, &page));
    }
    let name = form_urlencoded::byte_serialize(page.row.name.as_bytes()).collect::<String>();
    Ok(done(
        &format!("/settings/{}/{name}", kind.word()),
        Said::Made,
    ))
}

/// What the API's body for a new one holds.
fn body(kind: Kind, form: &Form) -> Result<Value, Failure> {
    let mut body = Map::new();
    let mut put = |name: &str, value: Value| {
        body.insert(name.to_owned(), value);
    };
    for name in ["name", "about", "principal", "grant", "url"] {
        if let Some(text) = form.text(name) {
            put(name, text.into());
        }
    }
    if let Some(until) = form.instant("until")? {
        put("until", factum::view::rfc3339(until).into());
    }
    let listed = |name: &str| -> Value {
        let names = form.text(name).unwrap_or_default().split([',', '\n']);
        let names = names.map(str::trim).filter(|name| !name.is_empty());
        names.map(Value::from).collect()
    };
    match kind {
        Kind::Tokens => put("scopes", form.all("scopes").map(Value::from).collect()),
        Kind::Grants => {
            for name in ["acts_for", "destinations", "operations"] {
                put(name, listed(name));
            }
            if let Some(max) = form.whole("max")? {
                let per_s = form.whole("per_h")?.unwrap_or(24).saturating_mul(3_600);
                put("limits", json!({"count": {"max": max, "per_s": per_s}}));
            }
        }
        Kind::Webhooks => put("types", listed("types")),
        Kind::Principals | Kind::Tenants => {}
    }
    put("why", form.said("why", WHY_MAX)?.into());
    Ok(Value::Object(body))
}

/// Suspends, resumes or revokes one; or makes a new token in its place.
pub(super) async fn change(app: &App, visit: &Visit) -> Result<Reply, Failure> {
    let (kind, name, form) = (kind(visit)?, visit.param("name"), &visit.form);
    let why = form.said("why", WHY_MAX)?;
    let standing = form.text("standing").unwrap_or_default();
    if standing == "rotate" {
        let call = match kind {
            Kind::Tokens => Call::RotateToken,
            Kind::Webhooks => Call::RotateWebhook,
            Kind::Principals | Kind::Grants | Kind::Tenants => {
                let remedy = "choose one of those that the page shows";
                return Err(wrong("/standing", "it has no secret", remedy));
            }
        };
        let made = api(app, visit, call, Some(name), Some(json!({"why": why}))).await?;
        return Ok(html(StatusCode::CREATED, &One::of(visit, kind, &made)));
    }
    let body = json!({"standing": standing, "why": why});
    api(app, visit, kind.state(), Some(name), Some(body)).await?;
    let name = form_urlencoded::byte_serialize(name.as_bytes()).collect::<String>();
    Ok(done(
        &format!("/settings/{}/{name}", kind.word()),
        Said::Changed,
    ))
}
