//! The console: pages for people, where they see what is known and decide. Served at `/` of the same server, without a build of its own
//! and without a script that anything but live updates would need.
//!
//! It asks the library what the HTTP API asks, under the authority that the API's calls need: each page names the call behind it. A
//! session stands in for a token (`door`), a form for a JSON body (`form`); templates are in `templates/`, what browsers load in `assets/`.
//! Nothing that a stranger wrote is put into a page but as escaped text.

mod action;
mod actions;
mod approvals;
mod assets;
mod audit;
mod door;
mod draft;
mod form;
mod health;
mod incident;
mod known;
mod link;
mod live;
mod matching;
mod oidc;
mod overview;
mod page;
mod places;
mod plan;
mod review;
mod rule;
mod settings;
mod talks;
mod timeline;
mod words;

use axum::Router;
use axum::extract::{FromRequestParts, RawPathParams, Request, State};
use axum::http::Method;
use axum::routing::{MethodFilter, get, on};
use factum::{ActionId, Caller, Code, DEFAULT_TENANT, Session};

use self::form::Form;
pub(crate) use self::link::Links;
pub(crate) use self::oidc::caller_of;
use self::page::{Shell, Theme, moved, shown};
use crate::app::App;
use crate::call::Call;
use crate::edge::{Asked, answered};
use crate::incoming::bytes;
use crate::reply::{Failure, Reply};
use crate::run::{allowed, counted};

macro_rules! routes {
    ($($variant:ident $method:ident $path:literal $call:ident;)*) => {
        /// A page, or a form's address.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Route { $($variant,)* }

        impl Route {
            const ALL: &'static [Self] = &[$(Self::$variant),*];

            fn method(self) -> Method {
                match self { $(Self::$variant => Method::$method,)* }
            }

            fn path(self) -> &'static str {
                match self { $(Self::$variant => $path,)* }
            }

            /// The call of the HTTP API whose authority it needs.
            fn call(self) -> Call {
                match self { $(Self::$variant => Call::$call,)* }
            }
        }
    };
}

routes! {
    Home GET "/" Document;
    Review GET "/review" Review;
    Live GET "/live" Events;
    CheckMany POST "/review/check-again" CheckMany;
    Incident GET "/review/incident" Incident;
    Match POST "/review/match" Match;
    Plan POST "/review/plan" Verdicts;
    Actions GET "/actions" List;
    Action GET "/actions/{id}" Status;
    Verdict POST "/actions/{id}/verdict" Verdict;
    Take POST "/actions/{id}/take" Take;
    GiveBack POST "/actions/{id}/release" GiveBack;
    Note POST "/actions/{id}/note" Note;
    CheckAgain POST "/actions/{id}/check-again" CheckAgain;
    Overview GET "/overview" List;
    Approvals GET "/approvals" Proposals;
    Approval GET "/approvals/{id}" Proposal;
    Approve POST "/approvals/{id}/approve" Approve;
    Decline POST "/approvals/{id}/decline" Decline;
    Talks GET "/conversations" Corrections;
    Talk GET "/conversations/{id}" Conversation;
    Acknowledge POST "/conversations/{id}/acknowledge" Acknowledge;
    Places GET "/destinations" Destinations;
    Place GET "/destinations/{name}" Destination;
    Settings GET "/settings" Principals;
    Setting GET "/settings/{kind}/{name}" Principal;
    MakeSetting POST "/settings/{kind}" AddPrincipal;
    ChangeSetting POST "/settings/{kind}/{name}" PrincipalState;
}

/// Somebody who is signed in, and what they ask for.
struct Visit {
    route: Route,
    caller: Caller,
    session: Session,
    theme: Option<Theme>,
    /// Where they may go: for whoever runs the installation.
    tenants: Vec<String>,
    params: Vec<(String, String)>,
    /// What stands behind the `?` of the address.
    query: Form,
    /// What a form sent; empty where none did.
    form: Form,
}

impl Visit {
    fn shell(&self, here: &'static str) -> Shell {
        Shell {
            // Who runs the installation belongs to the tenant that is there from the start.
            elsewhere: !self.tenants.is_empty() && self.caller.tenant != DEFAULT_TENANT,
            tenants: self.tenants.clone(),
            ..Shell::of(&self.caller, &self.session, self.theme, here, &self.query)
        }
    }

    fn param(&self, name: &str) -> &str {
        let found = self.params.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    /// The action that the address names.
    fn action(&self) -> Result<ActionId, Failure> {
        (self.param("id"))
            .parse()
            .map_err(|error: factum::core::id::BadId| {
                let remedy = "follow a link, or search for it";
                Failure::new(Code::UnknownAction, "", error.to_string(), remedy)
            })
    }
}

/// The console's addresses beside those that are there.
pub(crate) fn routes(router: Router<App>) -> Router<App> {
    let mut router = router
        .route(assets::PATH, get(assets::answer))
        .route(door::SIGN_IN, get(door::page).post(door::sign_in))
        .route(door::SIGN_OUT, on(MethodFilter::POST, door::sign_out))
        .route(door::TENANT, on(MethodFilter::POST, door::go_to_tenant))
        .route(oidc::LEAVE, get(oidc::leave))
        .route(oidc::BACK, get(oidc::back))
        .route(link::ASK, on(MethodFilter::POST, link::ask))
        .route(link::FOLLOW, get(link::page).post(link::follow))
        .route(page::THEME, on(MethodFilter::POST, page::set_theme));
    for route in Route::ALL.iter().copied() {
        let filter = if route.method() == Method::POST {
            MethodFilter::POST
        } else {
            MethodFilter::GET
        };
        let handler = move |State(app): State<App>, request: Request| async move {
            let wait = app.limits().answer_wait;
            answered(request, route.path(), wait, |request, asked| async move {
                Ok(answer(&app, route, &asked, request).await)
            })
            .await
        };
        router = router.route(route.path(), on(filter, handler));
    }
    router
}

async fn answer(app: &App, route: Route, asked: &Asked, request: Request) -> Reply {
    let (mut parts, body) = request.into_parts();
    let theme = Theme::of(&parts.headers);
    let raw = RawPathParams::from_request_parts(&mut parts, &()).await;
    let params = raw.map(|raw| {
        let pairs = raw.iter();
        pairs
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    });
    let (caller, session) = match door::who(app, asked, &parts.headers).await {
        Ok(found) => found,
        Err(failure) => return door::turned_away(&failure, &parts, theme),
    };
    let visit = Visit {
        route,
        tenants: door::tenants(app, &session),
        caller,
        session,
        theme,
        params: params.unwrap_or_default(),
        query: Form::of_query(&parts.uri),
        form: Form::default(),
    };
    let shell = visit.shell("");
    let answered = visited(app, visit, asked, &parts, body).await;
    answered.unwrap_or_else(|failure| page::failed(shell, &failure))
}

/// The order counts: what is refused is refused before anything of the request is read or looked up.
async fn visited(
    app: &App,
    mut visit: Visit,
    asked: &Asked,
    parts: &axum::http::request::Parts,
    mut body: axum::body::Body,
) -> Result<Reply, Failure> {
    counted(app, asked, &visit.caller)?;
    allowed(&visit.caller, visit.route.call().need())?;
    if visit.route.method() == Method::POST {
        door::same_origin(&parts.headers)?;
        let bytes = bytes(&parts.headers, &mut body, app.limits()).await?;
        visit.form = Form::of_body(&parts.headers, bytes.into()).await?;
        door::own_form(&visit.session, &visit.form)?;
    }
    match visit.route {
        Route::Home => Ok(moved(visit.shell("").first())),
        Route::Review => review::queue(app, &visit).await,
        Route::Live => live::open(app, &visit).await,
        Route::CheckMany => review::check_many(app, &visit).await,
        Route::Incident => incident::show(app, &visit).await,
        Route::Match => matching::show(app, &visit).await,
        Route::Plan => plan::decide(app, &visit).await,
        Route::Actions => actions::list(app, &visit).await,
        Route::Action => action::show(app, &visit).await,
        Route::Verdict => rule::verdict(app, &visit).await,
        Route::Overview => overview::show(app, &visit).await,
        Route::Approvals => approvals::list(app, &visit).await,
        Route::Approval => approvals::show(app, &visit).await,
        Route::Approve | Route::Decline => approvals::decide(app, &visit).await,
        Route::Talks => talks::list(app, &visit).await,
        Route::Talk => talks::show(app, &visit).await,
        Route::Acknowledge => talks::acknowledge(app, &visit).await,
        Route::Settings => settings::show(app, &visit).await,
        Route::Setting => settings::one(app, &visit).await,
        Route::MakeSetting => settings::add(app, &visit).await,
        Route::ChangeSetting => settings::change(app, &visit).await,
        Route::Places => places::list(app, &visit),
        Route::Place => places::show(app, &visit),
        Route::Take | Route::GiveBack | Route::Note | Route::CheckAgain => {
            rule::work_on(app, &visit).await
        }
    }
}

/// After a form: the browser is led to a page, so that loading it again sends nothing again.
fn done(at: &str, said: Said) -> Reply {
    moved(&format!("{at}?said={}", said.word()))
}

macro_rules! said {
    ($($variant:ident $word:literal $text:literal;)*) => {
        /// What a page says about what was just done. Only these words stand in an address; nobody can have the console say
        /// anything else by a link.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Said { $($variant,)* }

        impl Said {
            const ALL: &'static [Self] = &[$(Self::$variant),*];

            fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            fn text(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}

said! {
    Ruled "ruled" "Your verdict is recorded.";
    RuledAll "ruled-all" "All of these verdicts are recorded.";
    Proposed "proposed" "Your verdict waits for a second person, who has to say the same.";
    Taken "taken" "It is yours: nobody else touches it, the machine included.";
    GivenBack "given-back" "It is given back.";
    Noted "noted" "Your note is kept.";
    Asked "asked" "The destination is asked once more; what it says appears here.";
    Approved "approved" "It is approved, and recorded as this action.";
    ApprovedByOne "approved-by-one" "Your approval is kept. More people have to approve it.";
    Declined "declined" "It is declined: nothing of it is ever sent.";
    PassedOn "passed-on" "It is kept that the correction was passed on.";
    Made "made" "It is made, and counts from now on.";
    Changed "changed" "It is changed. Who did it, when and why is kept below.";
    Switched "switched" "You look at this tenant now. That you do is kept with who and when.";
    AskedSome "asked-some" "The destination is asked about those that it can be asked about.";
}
