//! Who may do what: tenants, principals, grants, tokens, and destinations that are switched off. Each change is kept with who, when
//! and why. Another tenant's entries are answered like such that there are not.

mod bodies;
mod docs;

use axum::http::StatusCode;
use factum::directory::{
    DestinationEntry, GrantEntry, PrincipalEntry, Scope, Standing, TenantEntry, TokenEntry,
};
use factum::view::rfc3339;
use factum::{
    Caller, Code, DEFAULT_PRINCIPAL, DEFAULT_TENANT, Entry, EntryFilter, EntryKey, EntryVersion,
    Kind, Problem, Reason, WHOLE_MAX, parse_instant, token_of,
};
use serde_json::{Value, json};

pub(crate) use self::docs::*;
use crate::actions::LIMIT;
use crate::app::App;
use crate::call::Call;
use crate::incoming::{Incoming, person, said};
use crate::query::Query;
use crate::reply::{Failure, Reply, json_reply};
use bodies::{NewGrant, NewPrincipal, NewTenant, NewToken, Rotation, StateRequest};

/// How long a token that was replaced counts, where nothing is said: a day.
pub(crate) const OVERLAP_S: u64 = 86_400;

/// The longest overlap of two tokens, in seconds: a year.
pub(crate) const OVERLAP_MAX_S: u64 = 366 * 86_400;

/// The longest period that a grant's limit counts in, in seconds: ten years.
pub(crate) const PERIOD_MAX_S: u64 = 3_660 * 86_400;

/// What no request may go on with by itself.
const WHY: &str = "no reason was given";

pub(crate) async fn answer(app: &App, mut incoming: Incoming) -> Result<Reply, Failure> {
    let tenant = tenant(app, &incoming)?;
    match incoming.call {
        Call::Tenants => list(app, &incoming.query, Kind::Tenant, None).await,
        Call::Principals => list(app, &incoming.query, Kind::Principal, Some(tenant)).await,
        Call::Grants => list(app, &incoming.query, Kind::Grant, Some(tenant)).await,
        Call::Tokens => list(app, &incoming.query, Kind::Token, Some(tenant)).await,
        Call::AddTenant => add_tenant(app, &mut incoming).await,
        Call::AddPrincipal => add_principal(app, &mut incoming, tenant).await,
        Call::AddGrant => add_grant(app, &mut incoming, tenant).await,
        Call::AddToken => add_token(app, &mut incoming, tenant).await,
        Call::RotateToken => rotate(app, &mut incoming, tenant).await,
        Call::Tenant | Call::Principal | Call::Grant | Call::Token => {
            one(app, &key(&incoming, tenant)).await
        }
        Call::DestinationState => destination_state(app, &mut incoming, tenant).await,
        _ => state(app, &mut incoming, tenant).await,
    }
}

/// Whose entries it is about: the caller's tenant, or the one that an operator names.
pub(crate) fn tenant(app: &App, incoming: &Incoming) -> Result<String, Failure> {
    let own = &incoming.caller.tenant;
    match incoming.query.text("tenant") {
        None => Ok(own.clone()),
        Some(named) if named == own => Ok(own.clone()),
        Some(named)
            if incoming.caller.is_operator()
                && app.factum().engine().directory().has_tenant(named) =>
        {
            Ok(named.to_owned())
        }
        Some(named) => {
            let rule = format!("no tenant {named:?} is registered here");
            let remedy = "leave `tenant` out: it is the token's";
            Err(Failure::new(Code::UnknownName, "tenant", rule, remedy))
        }
    }
}

fn key(incoming: &Incoming, tenant: String) -> EntryKey {
    let name = incoming.param("name");
    match incoming.call {
        Call::Tenant | Call::TenantState => EntryKey::new(Kind::Tenant, name, name),
        Call::Principal | Call::PrincipalState => EntryKey::new(Kind::Principal, tenant, name),
        Call::Grant | Call::GrantState => EntryKey::new(Kind::Grant, tenant, name),
        Call::DestinationState => EntryKey::new(Kind::Destination, tenant, name),
        _ => EntryKey::new(Kind::Token, tenant, name),
    }
}

async fn list(
    app: &App,
    query: &Query,
    kind: Kind,
    tenant: Option<String>,
) -> Result<Reply, Failure> {
    let limit: usize = query.parsed("limit").unwrap_or(LIMIT);
    let after = query.text("after").map(|name| {
        // A tenant is an entry of its own.
        let tenant = tenant.as_deref().unwrap_or(name);
        (tenant.to_owned(), name.to_owned())
    });
    let filter = EntryFilter {
        tenant,
        after,
        limit: limit + 1,
        ..EntryFilter::of(kind)
    };
    let mut entries = app.factum().engine().entries(filter).await?;
    let more = entries.len() > limit;
    entries.truncate(limit);
    let next_after = entries.last().filter(|_| more).map(|last| &last.key.id);
    let shown: Vec<Value> = entries.iter().map(view).collect::<Result<_, _>>()?;
    let name = format!("{}s", kind.word());
    json_reply(
        StatusCode::OK,
        &json!({ name: shown, "next_after": next_after }),
    )
}

async fn one(app: &App, key: &EntryKey) -> Result<Reply, Failure> {
    json_reply(StatusCode::OK, &detail(app, key).await?)
}

/// An entry with its history.
async fn detail(app: &App, key: &EntryKey) -> Result<Value, Failure> {
    let engine = app.factum().engine();
    let mut shown = view(&engine.entry(key).await?)?;
    let history = engine.entry_history(key).await?;
    shown["history"] = standing_history(&history);
    if key.kind == Kind::Token {
        shown["last_used"] = engine.token_used(key).await?.map(rfc3339).into();
    }
    Ok(shown)
}

/// How something stood after each change.
pub(crate) fn standing_history(history: &[EntryVersion]) -> Value {
    let standings = history.iter().map(|version| {
        let standing = serde_json::from_str::<Value>(&version.body).unwrap_or_default();
        json!({
            "version": version.version, "standing": standing["standing"], "at": rfc3339(version.changed.at),
            "by": version.changed.by, "why": version.changed.why,
        })
    });
    standings.collect()
}

/// An entry as it is shown: its body as it is stored, but for what is nobody's business.
fn view(entry: &Entry) -> Result<Value, Failure> {
    let mut shown: Value = serde_json::from_str(&entry.body).map_err(|error| {
        let rule = format!("the entry cannot be read: {error}");
        Problem::new(Code::StoreDamaged, "", rule, "run `factum doctor`")
    })?;
    if let Some(members) = shown.as_object_mut() {
        members.remove("v");
        members.remove("hash");
        members.entry("about").or_insert(Value::Null);
    }
    if let Some(until) = shown.get("until").and_then(Value::as_i64) {
        shown["until"] = rfc3339(factum::core::Timestamp::from_micros(until)).into();
    }
    shown["name"] = entry.key.id.as_str().into();
    shown["tenant"] = entry.key.tenant.as_str().into();
    shown["version"] = entry.version.into();
    shown["changed"] = json!({
        "at": rfc3339(entry.changed.at), "by": entry.changed.by, "why": entry.changed.why,
    });
    Ok(shown)
}

/// Who changes something, and why, as the body says.
pub(crate) fn reason(
    caller: &Caller,
    by: Option<String>,
    why: Option<String>,
) -> Result<(String, String), Failure> {
    let why = match why {
        Some(why) => said("/why", why, 2_000)?,
        None => WHY.to_owned(),
    };
    Ok((person(caller, by)?, why))
}

/// A name that can stand in a path, a configuration and a log.
pub(crate) fn sound_name(name: String) -> Result<String, Failure> {
    let name = said("/name", name, factum::directory::NAME_MAX)?;
    let in_the_way = |c: char| c.is_whitespace() || ['/', '?', '#', '%', '*'].contains(&c);
    if name.contains(in_the_way) || matches!(name.as_str(), "." | "..") {
        let rule = "a name has no white space, and none of / ? # % *; . and .. are no names";
        let remedy = "use letters, digits and - _ . : @";
        return Err(Failure::new(Code::WrongType, "/name", rule, remedy));
    }
    Ok(name)
}

pub(crate) fn about(text: Option<String>) -> Result<Option<String>, Failure> {
    text.map(|text| said("/about", text, 500)).transpose()
}

fn until(text: Option<String>) -> Result<Option<i64>, Failure> {
    let instant = text
        .map(|text| parse_instant("/until", &text))
        .transpose()?;
    Ok(instant.map(factum::core::Timestamp::as_micros))
}

async fn add(
    app: &App,
    key: EntryKey,
    body: String,
    (by, why): (String, String),
) -> Result<Reply, Failure> {
    let factum = app.factum().clone();
    let named = key.clone();
    app.to_its_end(async move {
        let reason = Reason { by: &by, why: &why };
        factum.engine().add_entry(key, body, reason).await
    })
    .await?;
    json_reply(StatusCode::CREATED, &detail(app, &named).await?)
}

async fn add_tenant(app: &App, incoming: &mut Incoming) -> Result<Reply, Failure> {
    let new: NewTenant = incoming.json().await?;
    let name = sound_name(new.name)?;
    let reason = reason(&incoming.caller, new.by, new.why)?;
    let body = TenantEntry::new(about(new.about)?).text();
    add(
        app,
        EntryKey::new(Kind::Tenant, name.clone(), name),
        body,
        reason,
    )
    .await
}

async fn add_principal(
    app: &App,
    incoming: &mut Incoming,
    tenant: String,
) -> Result<Reply, Failure> {
    let new: NewPrincipal = incoming.json().await?;
    let key = EntryKey::new(Kind::Principal, tenant, sound_name(new.name)?);
    let reason = reason(&incoming.caller, new.by, new.why)?;
    let body = PrincipalEntry::new(about(new.about)?, until(new.until)?).text();
    add(app, key, body, reason).await
}

async fn add_grant(app: &App, incoming: &mut Incoming, tenant: String) -> Result<Reply, Failure> {
    let objects = ["limits", "limits/count", "limits/amount"];
    let new: NewGrant = incoming.json_with(&objects).await?;
    sound_grant(&new)?;
    registered(app, &tenant, &new.principal).await?;
    let key = EntryKey::new(Kind::Grant, tenant, sound_name(new.name)?);
    let reason = reason(&incoming.caller, new.by, new.why)?;
    let body = GrantEntry::new(
        about(new.about)?,
        new.principal,
        new.acts_for,
        new.destinations,
        new.operations,
        until(new.until)?,
        new.limits,
    );
    add(app, key, body.text(), reason).await
}

/// The lists and limits of a grant, each within its form.
fn sound_grant(new: &NewGrant) -> Result<(), Failure> {
    for (member, names) in [
        ("acts_for", &new.acts_for),
        ("destinations", &new.destinations),
        ("operations", &new.operations),
    ] {
        for (index, name) in names.iter().enumerate() {
            said(&format!("/{member}/{index}"), name.clone(), factum::KEY_MAX)?;
        }
    }
    let whole = |member: &str, number: u64, least: u64, most: u64| {
        if (least..=most).contains(&number) {
            return Ok(());
        }
        let rule = format!("it is a whole number from {least} to {most}");
        Err(Failure::new(
            Code::WrongType,
            member,
            rule,
            "send such a number",
        ))
    };
    if let Some(count) = &new.limits.count {
        whole("/limits/count/max", count.max, 0, WHOLE_MAX)?;
        whole("/limits/count/per_s", count.per_s, 1, PERIOD_MAX_S)?;
    }
    if let Some(amount) = &new.limits.amount {
        whole("/limits/amount/per_s", amount.per_s, 1, PERIOD_MAX_S)?;
        if let Some(currency) = &amount.currency {
            said("/limits/amount/currency", currency.clone(), 20)?;
        }
    }
    Ok(())
}

/// Whoever holds a grant or a token can be suspended by name, so they are registered.
async fn registered(app: &App, tenant: &str, principal: &str) -> Result<(), Failure> {
    said(
        "/principal",
        principal.to_owned(),
        factum::directory::NAME_MAX,
    )?;
    if tenant == DEFAULT_TENANT && principal == DEFAULT_PRINCIPAL {
        return Ok(());
    }
    let key = EntryKey::new(Kind::Principal, tenant, principal);
    app.factum()
        .engine()
        .entry(&key)
        .await
        .map_err(|problem| Problem {
            member: "/principal".into(),
            ..problem
        })?;
    Ok(())
}

async fn add_token(app: &App, incoming: &mut Incoming, tenant: String) -> Result<Reply, Failure> {
    let new: NewToken = incoming.json().await?;
    registered(app, &tenant, &new.principal).await?;
    if let Some(grant) = &new.grant {
        held_by(app, &tenant, grant, &new.principal).await?;
    }
    let scopes = scopes(&new)?;
    let (by, why) = reason(&incoming.caller, new.by, new.why)?;
    let (about, until) = (about(new.about)?, until(new.until)?);
    let (principal, grant) = (new.principal, new.grant);
    let factum = app.factum().clone();
    let (entry, token) = app
        .to_its_end(async move {
            let make = |hash| TokenEntry::new(about, principal, grant, scopes, hash, until, None);
            let reason = Reason { by: &by, why: &why };
            factum.engine().add_token(&tenant, make, reason).await
        })
        .await?;
    shown_once(app, &entry, &token).await
}

async fn shown_once(app: &App, entry: &Entry, token: &str) -> Result<Reply, Failure> {
    let mut shown = detail(app, &entry.key).await?;
    shown["token"] = token.into();
    json_reply(StatusCode::CREATED, &shown)
}

/// A grant serves its holder only.
async fn held_by(app: &App, tenant: &str, grant: &str, principal: &str) -> Result<(), Failure> {
    said("/grant", grant.to_owned(), factum::directory::NAME_MAX)?;
    let key = EntryKey::new(Kind::Grant, tenant, grant);
    let entry = app
        .factum()
        .engine()
        .entry(&key)
        .await
        .map_err(|problem| Problem {
            member: "/grant".into(),
            ..problem
        })?;
    let held = GrantEntry::read(&entry.body).is_ok_and(|grant| grant.principal == principal);
    if held {
        return Ok(());
    }
    let rule = format!("the grant {grant:?} is not {principal:?}'s");
    let remedy = "name its holder, or another grant";
    Err(Failure::new(Code::WrongType, "/grant", rule, remedy))
}

fn scopes(new: &NewToken) -> Result<Vec<Scope>, Failure> {
    let words: Vec<&str> = Scope::ALL.iter().map(|scope| scope.word()).collect();
    let scopes: Option<Vec<Scope>> = new
        .scopes
        .iter()
        .map(|word| Scope::from_word(word))
        .collect();
    let Some(scopes) = scopes.filter(|scopes| !scopes.is_empty()) else {
        let rule = "a token has at least one scope, each a known word";
        let remedy = format!("use some of: {}", words.join(", "));
        return Err(Failure::new(Code::WrongType, "/scopes", rule, remedy));
    };
    if scopes.contains(&Scope::Admin) && new.grant.is_some() {
        let rule = "who acts under a grant administers nothing";
        let remedy = "leave out the scope admin, or the grant";
        return Err(Failure::new(Code::WrongType, "/scopes", rule, remedy));
    }
    Ok(scopes)
}

async fn rotate(app: &App, incoming: &mut Incoming, tenant: String) -> Result<Reply, Failure> {
    let request: Rotation = incoming.json_or_default().await?;
    let key = key(incoming, tenant);
    let (by, why) = reason(&incoming.caller, request.by, request.why)?;
    let overlap_s = request.overlap_s.unwrap_or(OVERLAP_S);
    if overlap_s > OVERLAP_MAX_S {
        let rule = format!("both tokens count for {OVERLAP_MAX_S} seconds at the most");
        let remedy = "say less, and rotate it again later";
        return Err(Failure::new(Code::WrongType, "/overlap_s", rule, remedy));
    }
    let overlap = i64::try_from(overlap_s);
    let overlap = factum::core::Span::from_secs(overlap.unwrap_or_default());
    let factum = app.factum().clone();
    let (entry, token) = app
        .to_its_end(async move {
            let engine = factum.engine();
            let now = engine.store().now().await?;
            let reason = Reason { by: &by, why: &why };
            engine.rotate_token(&key, now + overlap, reason).await
        })
        .await?;
    shown_once(app, &entry, &token).await
}

async fn state(app: &App, incoming: &mut Incoming, tenant: String) -> Result<Reply, Failure> {
    let request: StateRequest = incoming.json().await?;
    let key = key(incoming, tenant);
    set_standing(app, &incoming.caller, key, request).await
}

/// A destination has no entry until it is switched off for the first time.
async fn destination_state(
    app: &App,
    incoming: &mut Incoming,
    tenant: String,
) -> Result<Reply, Failure> {
    let request: StateRequest = incoming.json().await?;
    let name = incoming.param("name");
    if app.factum().engine().destination(&tenant, name).is_none() {
        return crate::destinations::named(app, &tenant, name);
    }
    let key = key(incoming, tenant);
    if app.factum().engine().entry(&key).await.is_err() {
        let (by, why) = reason(&incoming.caller, None, None)?;
        let body = DestinationEntry::new(None).text();
        match add(app, key.clone(), body, (by, why)).await {
            Err(Failure::Problem(problem)) if problem.code != Code::NameTaken => {
                return Err(Failure::Problem(problem));
            }
            Ok(_) | Err(_) => {}
        }
    }
    set_standing(app, &incoming.caller, key, request).await
}

async fn set_standing(
    app: &App,
    caller: &Caller,
    key: EntryKey,
    request: StateRequest,
) -> Result<Reply, Failure> {
    let (by, why) = reason(caller, request.by, Some(request.why))?;
    let standing = request.standing;
    // A tenant that is there from the start has no entry until it is suspended for the first time.
    if key.kind == Kind::Tenant && key.id == DEFAULT_TENANT {
        let rule = "the tenant that runs the installation cannot be suspended";
        let remedy = "hold all sends instead: `factum admin pause`";
        return Err(Failure::new(Code::DoesNotApply, "/standing", rule, remedy));
    }
    let (factum, named) = (app.factum().clone(), key.clone());
    app.to_its_end(async move {
        let reason = Reason { by: &by, why: &why };
        let engine = factum.engine();
        engine
            .change_entry(&key, reason, |entry| changed(entry, standing))
            .await
    })
    .await?;
    json_reply(StatusCode::OK, &detail(app, &named).await?)
}

/// The body with another standing; nothing where it has it already. What was revoked stays so.
fn changed(entry: &Entry, standing: Standing) -> Result<Option<String>, Problem> {
    let damaged = |why: String| Problem::new(Code::StoreDamaged, "", why, "run `factum doctor`");
    let (is, text) = match entry.key.kind {
        Kind::Tenant => {
            let mut body = TenantEntry::read(&entry.body).map_err(damaged)?;
            (std::mem::replace(&mut body.standing, standing), body.text())
        }
        Kind::Principal => {
            let mut body = PrincipalEntry::read(&entry.body).map_err(damaged)?;
            (std::mem::replace(&mut body.standing, standing), body.text())
        }
        Kind::Grant => {
            let mut body = GrantEntry::read(&entry.body).map_err(damaged)?;
            (std::mem::replace(&mut body.standing, standing), body.text())
        }
        Kind::Destination => {
            let mut body = DestinationEntry::read(&entry.body).map_err(damaged)?;
            (std::mem::replace(&mut body.standing, standing), body.text())
        }
        Kind::Token
        | Kind::Usage
        | Kind::Told
        | Kind::Correction
        | Kind::Escalation
        | Kind::Verdict
        | Kind::Digest
        | Kind::Endpoint
        | Kind::Delivery
        | Kind::Proposal
        | Kind::Proposed
        | Kind::Hold
        | Kind::Session => {
            let mut body = token_of(entry)?;
            (std::mem::replace(&mut body.standing, standing), body.text())
        }
    };
    if is == Standing::Revoked && standing != Standing::Revoked {
        let rule = "what was revoked never counts again";
        let remedy = "make a new one under another name";
        return Err(Problem::new(Code::DoesNotApply, "/standing", rule, remedy));
    }
    Ok((is != standing).then_some(text))
}
