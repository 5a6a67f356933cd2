//! From a request to its answer: token, call, problem, and one line in the log. No call can leave a connection unanswered.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::Router;
use axum::extract::{FromRequestParts, RawPathParams, Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::routing::{MethodFilter, MethodRouter};
use factum::directory::Scope;
use factum::{Caller, Code};

use crate::app::App;
use crate::call::{Call, Need};
use crate::incoming::Incoming;
use crate::query::Query;
use crate::reply::{Failure, Reply};
use crate::{
    actions, admin, callbacks, conversations, destinations, events, health, mcp, metrics,
    proposals, register, review, webhooks, work,
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
    let scraped = |app, method, headers| async move {
        logged(method, metrics::PATH, metrics::scrape(app, headers)).await
    };
    router
        .route(mcp::http::PATH, mcp_methods())
        .route(metrics::PATH, axum::routing::get(scraped))
        .fallback(
            |State(app): State<App>, method: Method, headers: HeaderMap| async move {
                let refused = async { unknown_route(&app, &headers) };
                logged(method, "unknown", refused).await
            },
        )
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
                logged(call.method(), path, answer(app, call, request)).await
            },
        );
    }
    let open = calls().all(Call::is_open);
    let allowed: Vec<String> = calls().map(|call| call.method().to_string()).collect();
    methods.fallback(
        move |State(app): State<App>, method: Method, headers: HeaderMap| async move {
            let refused = async { wrong_method(&app, &headers, open, path, &allowed) };
            logged(method, path, refused).await
        },
    )
}

/// The one address that speaks another protocol; it stands in no document of this one.
fn mcp_methods() -> MethodRouter<App> {
    let post = |State(app): State<App>, request: Request| async move {
        let (parts, body) = request.into_parts();
        let reply = async {
            let caller = authorized(&app, &parts.headers)?;
            mcp::http::post(&app, caller, &parts.headers, body).await
        };
        logged(Method::POST, mcp::http::PATH, reply).await
    };
    MethodRouter::new().on(MethodFilter::POST, post).fallback(
        |State(app): State<App>, method: Method, headers: HeaderMap| async move {
            let refused = async { authorized(&app, &headers).map(|_| mcp::http::only_post()) };
            logged(method, mcp::http::PATH, refused).await
        },
    )
}

async fn answer(app: App, call: Call, request: Request) -> Result<Reply, Failure> {
    let (mut parts, body) = request.into_parts();
    let caller = if call.is_open() {
        // Whoever needs no token has no power either.
        Caller {
            scopes: Vec::new(),
            ..Caller::trusted("", "")
        }
    } else {
        authorized(&app, &parts.headers)?
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
            query,
            params,
            parts,
            body,
            limits,
        },
    )
    .await
}

async fn carried_out(app: &App, incoming: Incoming) -> Result<Reply, Failure> {
    match incoming.call {
        Call::Submit => actions::submit(app, incoming).await,
        Call::List => actions::list(app, incoming).await,
        Call::Status => actions::status(app, incoming).await,
        Call::Evidence => actions::evidence(app, incoming).await,
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
fn allowed(caller: &Caller, need: Need) -> Result<(), Failure> {
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

/// The token that a request shows.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let given = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = given.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim())
}

/// Whose token a request shows.
pub(crate) fn authorized(app: &App, headers: &HeaderMap) -> Result<Caller, Failure> {
    if let Some(caller) = bearer(headers).and_then(|token| app.caller(token)) {
        return Ok(caller);
    }
    let rule = "the header Authorization carries no token that is known here";
    let remedy = "send `Authorization: Bearer` with a token, or set FACTUM_TOKEN";
    Err(Failure::new(Code::Unauthorized, "", rule, remedy))
}

fn unknown_route(app: &App, headers: &HeaderMap) -> Result<Reply, Failure> {
    authorized(app, headers)?;
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

fn wrong_method(
    app: &App,
    headers: &HeaderMap,
    open: bool,
    path: &str,
    allowed: &[String],
) -> Result<Reply, Failure> {
    if !open {
        authorized(app, headers)?;
    }
    let rule = format!("{path} takes {}", allowed.join(" and "));
    let problem = factum::Problem::new(
        Code::WrongMethod,
        "",
        rule,
        "use one of the methods in the Allow header",
    );
    Err(Failure::WrongMethod(Box::new(problem), allowed.join(", ")))
}

/// Answers in any case, and writes one line: what was asked, how it was answered, how long it took.
async fn logged(
    method: Method,
    path: &'static str,
    answer: impl Future<Output = Result<Reply, Failure>>,
) -> Reply {
    let begun = Instant::now();
    let answered = Caught(Box::pin(answer)).await.unwrap_or_else(|Panicked| {
        tracing::error!(%method, path, "answering a request panicked");
        Err(Failure::broken())
    });
    let reply = answered.unwrap_or_else(Failure::into_reply);
    let ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    tracing::info!(%method, path, status = reply.status().as_u16(), ms, "request");
    reply
}

/// A future whose panic is an outcome.
struct Caught<F>(Pin<Box<F>>);

/// It panicked. With what is in the panic hook's output, and is not told to the caller.
#[derive(Debug)]
struct Panicked;

impl<F: Future> Future for Caught<F> {
    type Output = Result<F::Output, Panicked>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // After a panic the future is never polled again, so nobody sees what it may have left half done.
        match catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(context))) {
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(_) => Poll::Ready(Err(Panicked)),
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn a_panic_is_answered_without_what_it_said() {
        let reply = logged(Method::GET, "/x", async { panic!("card 4111111111111111") }).await;
        assert_eq!(reply.status(), 500);
        assert_eq!(
            reply.headers()[header::CONTENT_TYPE],
            "application/problem+json"
        );
        let body = reply.into_body().collect().await.unwrap().to_bytes();
        let text = String::from_utf8(body.to_vec()).unwrap();
        assert!(text.contains("remedy") && !text.contains("4111"), "{text}");
    }
}
