//! From a request to its answer: token, rate, call, problem.

use std::time::Instant;

use axum::Router;
use axum::extract::{FromRequestParts, RawPathParams, Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::routing::{MethodFilter, MethodRouter};
use factum::directory::Scope;
use factum::{Caller, Code, Problem};

use crate::app::{App, Shown};
use crate::call::{Call, Need};
use crate::edge::{Asked, answered};
use crate::incoming::Incoming;
use crate::query::Query;
use crate::reply::{Failure, Reply};
use crate::{
    actions, admin, callbacks, console, conversations, destinations, events, health, mcp, metrics,
    proposals, register, retention, review, signed, webhooks, work,
};

/// All calls, and a problem for everything else.
pub fn router(app: App) -> Router {
    let mut router = Router::new();
    for (index, first) in Call::ALL.iter().enumerate() {
        let path = first.path();
        if Call::ALL[..index]
            .iter()
            .any(|earlier| earlier.path() == path)
        {
            continue;
        }
        router = router.route(path, methods(path));
    }
    let scraped = |State(app): State<App>, request: Request| async move {
        let wait = app.limits().answer_wait;
        answered(request, metrics::PATH, wait, |request, asked| async move {
            metrics::scrape(&app, &asked, request.headers()).await
        })
        .await
    };
    if app.factum().config().console.enabled {
        router = console::routes(router);
    }
    router
        .route(mcp::http::PATH, mcp_methods())
        .route(metrics::PATH, axum::routing::get(scraped))
        .fallback(|State(app): State<App>, request: Request| async move {
            let wait = app.limits().answer_wait;
            answered(request, "unknown", wait, |request, asked| async move {
                unknown_route(&app, &asked, request.headers())
            })
            .await
        })
        .with_state(app)
}

fn methods(path: &'static str) -> MethodRouter<App> {
    let calls = || {
        Call::ALL
            .iter()
            .copied()
            .filter(move |call| call.path() == path)
    };
    let mut methods = MethodRouter::new();
    for call in calls() {
        let filter = if call.method() == Method::POST {
            MethodFilter::POST
        } else {
            MethodFilter::GET
        };
        methods = methods.on(
            filter,
            move |State(app): State<App>, request: Request| async move {
                let wait = app.limits().answer_wait;
                answered(request, path, wait, |request, asked| {
                    answer(app, call, asked, request)
                })
                .await
            },
        );
    }
    let open = calls().all(Call::is_open);
    let allowed: Vec<String> = calls().map(|call| call.method().to_string()).collect();
    methods.fallback(move |State(app): State<App>, request: Request| async move {
        let wait = app.limits().answer_wait;
        answered(request, path, wait, |request, asked| async move {
            if !open {
                authorized(&app, &asked, request.headers())?;
            }
            wrong_method(path, &allowed)
        })
        .await
    })
}

/// The one address that speaks another protocol; it stands in no document of this one.
fn mcp_methods() -> MethodRouter<App> {
    let post = |State(app): State<App>, request: Request| async move {
        let wait = app.limits().answer_wait;
        answered(
            request,
            mcp::http::PATH,
            wait,
            |request, asked| async move {
                let (parts, body) = request.into_parts();
                let (caller, shown) = authorized(&app, &asked, &parts.headers)?;
                mcp::http::post(&app, caller, &shown, &parts.headers, body).await
            },
        )
        .await
    };
    let others = |State(app): State<App>, request: Request| async move {
        let wait = app.limits().answer_wait;
        answered(
            request,
            mcp::http::PATH,
            wait,
            |request, asked| async move {
                authorized(&app, &asked, request.headers()).map(|_| mcp::http::only_post())
            },
        )
        .await
    };
    MethodRouter::new()
        .on(MethodFilter::POST, post)
        .fallback(others)
}

async fn answer(app: App, call: Call, asked: Asked, request: Request) -> Result<Reply, Failure> {
    let (mut parts, body) = request.into_parts();
    let (caller, shown) = if call.is_open() {
        // Whoever needs no token has no power either.
        let nobody = Caller {
            scopes: Vec::new(),
            ..Caller::trusted("", "")
        };
        (nobody, Shown::Nothing)
    } else {
        authorized(&app, &asked, &parts.headers)?
    };
    allowed(&caller, call.need())?;
    let Ok(params) = RawPathParams::from_request_parts(&mut parts, &()).await else {
        return Err(no_such_address());
    };
    let params: Vec<(String, String)> = params
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    // Nothing has such a name, and not every store can be asked for one.
    if (params.iter()).any(|(_, value)| value.contains(char::is_control)) {
        return Err(no_such_address());
    }
    let query = if call == Call::Deliver {
        // What a destination adds to the address that it was given means nothing.
        Query::none()
    } else {
        Query::read(&parts.uri, call.doc().query)?
    };
    let limits = app.limits();
    carried_out(
        &app,
        Incoming {
            call,
            caller,
            shown,
            query,
            params,
            parts,
            body,
            limits,
        },
    )
    .await
}

#[expect(clippy::too_many_lines, reason = "a table: a row for each call")]
pub(crate) async fn carried_out(app: &App, incoming: Incoming) -> Result<Reply, Failure> {
    match incoming.call {
        Call::Submit => actions::submit(app, incoming).await,
        Call::List => actions::list(app, incoming).await,
        Call::Status => actions::status(app, incoming).await,
        Call::Evidence => actions::evidence(app, incoming).await,
        Call::Receipt => signed::receipt(app, incoming).await,
        Call::Keys => signed::keys(app),
        Call::Cancel => actions::cancel(app, incoming).await,
        Call::Propose => proposals::propose(app, incoming).await,
        Call::Proposals => proposals::list(app, incoming).await,
        Call::Proposal => proposals::show(app, incoming).await,
        Call::Approve => proposals::approve(app, incoming).await,
        Call::Decline => proposals::decline(app, incoming).await,
        Call::Supersede => proposals::supersede(app, incoming).await,
        Call::Conversation => conversations::show(app, incoming).await,
        Call::Told => conversations::told(app, incoming).await,
        Call::Acknowledge => conversations::acknowledge(app, incoming).await,
        Call::Corrections => conversations::corrections(app, incoming).await,
        Call::Review => review::list(app, incoming).await,
        Call::Verdict => review::verdict(app, incoming).await,
        Call::CheckAgain => review::check_again(app, incoming).await,
        Call::Take | Call::GiveBack | Call::Note => review::item_call(app, incoming).await,
        Call::CheckMany => review::check(app, incoming).await,
        Call::Verdicts => review::verdicts(app, incoming).await,
        Call::Match => review::matched(app, incoming).await,
        Call::Incident => review::incident(app, incoming).await,
        Call::ClaimWork => work::claim(app, incoming).await,
        Call::BeginWork => work::begin(app, incoming).await,
        Call::HeartbeatWork => work::heartbeat(app, incoming).await,
        Call::ReportWork => work::report(app, incoming).await,
        Call::ReturnWork => work::give_back(app, incoming).await,
        Call::Destinations => destinations::list(app, &incoming),
        Call::Destination => destinations::one(app, &incoming),
        Call::Events => events::events(app, incoming).await,
        Call::Webhooks
        | Call::AddWebhook
        | Call::Webhook
        | Call::WebhookState
        | Call::RotateWebhook
        | Call::ReplayWebhook
        | Call::TestWebhook => webhooks::answer(app, incoming).await,
        Call::Deliver => callbacks::deliver(app, incoming).await,
        Call::Callbacks => callbacks::list(app, incoming).await,
        Call::AdminState => admin::state(app).await,
        Call::Pause | Call::Resume => admin::set_paused(app, incoming).await,
        Call::AfterRestore => admin::after_restore(app, incoming).await,
        Call::WouldSend => admin::would_send(app, &incoming.query).await,
        Call::Release => admin::release(app, incoming).await,
        Call::Purge => retention::purge(app, incoming).await,
        Call::Erase => retention::erase(app, incoming).await,
        Call::Holds => retention::holds(app).await,
        Call::Hold => retention::hold(app, incoming).await,
        Call::Healthz => health::alive(),
        Call::Readyz => health::ready(app).await,
        Call::Document => Ok(health::document(app)),
        Call::DestinationState
        | Call::Tenants
        | Call::AddTenant
        | Call::Tenant
        | Call::TenantState
        | Call::Principals
        | Call::AddPrincipal
        | Call::Principal
        | Call::PrincipalState
        | Call::Grants
        | Call::AddGrant
        | Call::Grant
        | Call::GrantState
        | Call::Tokens
        | Call::AddToken
        | Call::Token
        | Call::TokenState
        | Call::RotateToken => register::answer(app, incoming).await,
    }
}

/// Whether a token allows this. Refused before the path or the body is looked at, so that the answer tells nothing about them.
pub(crate) fn allowed(caller: &Caller, need: Need) -> Result<(), Failure> {
    let (allows, wanted) = match need {
        Need::Nothing | Need::Token => (true, String::new()),
        Need::AnyOf(scopes) => {
            let words: Vec<&str> = scopes.iter().map(|scope| scope.word()).collect();
            let any = scopes.iter().any(|scope| caller.may(*scope));
            (any, format!("one of the scopes {}", words.join(", ")))
        }
        Need::Whole(scopes) => {
            let words: Vec<&str> = scopes.iter().map(|scope| scope.word()).collect();
            let any = scopes.iter().any(|scope| caller.may(*scope));
            (
                any && caller.grant.is_none(),
                format!("one of the scopes {}, and no grant", words.join(", ")),
            )
        }
        Need::Admin => (
            caller.may(Scope::Admin) && caller.grant.is_none(),
            "the scope admin, and no grant".to_owned(),
        ),
        Need::Operator => (
            caller.is_operator(),
            "the scope admin in the tenant that runs the installation".to_owned(),
        ),
    };
    if allows {
        return Ok(());
    }
    let rule = format!("this needs {wanted}, which the token does not have");
    let remedy = "use another token, or ask an administrator for one";
    Err(Failure::new(Code::Forbidden, "", rule, remedy))
}

/// The token in a request's header.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let given = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = given.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim())
}

/// Who asks, and what they showed for it: a token, or else a machine's certificate. Each request of theirs counts.
pub(crate) fn authorized(
    app: &App,
    asked: &Asked,
    headers: &HeaderMap,
) -> Result<(Caller, Shown), Failure> {
    let shown = match (bearer(headers), asked.machine()) {
        (Some(token), _) => Shown::Token(token.to_owned()),
        (None, Some(token)) if !headers.contains_key(header::AUTHORIZATION) => {
            Shown::Certificate(token.to_owned())
        }
        (None, _) => Shown::Nothing,
    };
    let Some(caller) = app.caller(&shown) else {
        let rule = "the header Authorization carries no token that is known here";
        let remedy = "send `Authorization: Bearer` with a token, or set FACTUM_TOKEN";
        return Err(Failure::new(Code::Unauthorized, "", rule, remedy));
    };
    counted(app, asked, &caller)?;
    Ok((caller, shown))
}

/// A request of theirs: it stands in the log, and counts towards what their token may ask.
pub(crate) fn counted(app: &App, asked: &Asked, caller: &Caller) -> Result<(), Failure> {
    asked.is_from(caller);
    let token = caller.token.as_deref().unwrap_or_default();
    app.rates().take(token, Instant::now()).map_err(|wait| {
        let rule =
            "the token makes more requests than server.rate allows; nothing of this one was read";
        let remedy =
            "wait as long as Retry-After says; a submission may be repeated with the same identity";
        Problem::new(Code::RateLimited, "", rule, remedy).after(wait)
    })?;
    Ok(())
}

fn unknown_route(app: &App, asked: &Asked, headers: &HeaderMap) -> Result<Reply, Failure> {
    authorized(app, asked, headers)?;
    Err(no_such_address())
}

pub(crate) fn no_such_address() -> Failure {
    Failure::new(
        Code::UnknownRoute,
        "",
        "there is nothing at this address",
        "see /openapi.json for what there is",
    )
}

fn wrong_method(path: &str, allowed: &[String]) -> Result<Reply, Failure> {
    let rule = format!("{path} takes {}", allowed.join(" and "));
    let remedy = "use one of the methods in the Allow header";
    let problem = Problem::new(Code::WrongMethod, "", rule, remedy);
    Err(Failure::WrongMethod(Box::new(problem), allowed.join(", ")))
}
