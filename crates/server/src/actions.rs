//! Actions: submit, ask, search, withdraw. An action that is recorded is answered with its status, whatever that is; unknown
//! is a status and never an error.

use std::time::Duration;

use axum::http::{StatusCode, header};
use factum::core::State;
use factum::statements::{Locale, Reader};
use factum::view::StatusView;
use factum::{ActionId, Caller, Cancelled, Code, Filter};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::app::App;
use crate::call::{Doc, Param};
use crate::event::Form;
use crate::headers::{IDEMPOTENCY_KEY, idempotency_key, join_identity, prefer_wait};
use crate::incoming::{Incoming, person, said};
use crate::query::Kind;
use crate::reply::{Failure, Reply, json_reply, with_header};

/// Rows of a listing at the most, and where nothing is said.
pub(crate) const LIMIT_MAX: u64 = 500;
pub(crate) const LIMIT: usize = 50;

pub(crate) const AUDIENCE: Param = Param::new(
    "audience",
    Kind::Words(|| vec!["customer", "agent", "operator"]),
    "for whom the statement is worded; `customer` where nothing is said",
);
pub(crate) const LOCALE: Param = Param::new(
    "locale",
    Kind::Words(locale_words),
    "the language of the statement; else that of the submission, of the header Accept-Language, of the configuration",
);
pub(crate) const ACCEPT_LANGUAGE: Param = Param::new(
    "Accept-Language",
    Kind::Text,
    "which languages the reader prefers, where neither the query nor the submission says one",
);
pub(crate) const BEFORE: Param = Param::new(
    "before",
    Kind::Id,
    "continues a listing: `next_before` of the page before",
);
/// Continues what is listed by name.
pub(crate) const AFTER: Param = Param::new(
    "after",
    Kind::Text,
    "continues a listing: `next_after` of the page before",
);
pub(crate) const LIMIT_PARAM: Param = Param::new(
    "limit",
    Kind::Number(1, LIMIT_MAX),
    "rows at the most; 50 where nothing is said",
);

pub(crate) const SUBMIT: Doc = Doc {
    name: "submit",
    summary: "Records an action, or joins the one that its identity names.",
    says: "What is answered with 201 or 200 is durable. A repeat with the same identity and content is answered with 200 and \
           the same action, whatever its state, and nothing is sent again by it; after a timeout or a broken connection, \
           repeat it. Whether it is settled stands in the body: an unknown outcome is a status, not an error. The submission may be \
           the data of a CloudEvent, in structured mode or in binary mode (attributes in headers `ce-id` and the like).",
    query: &[],
    headers: &[
        Param::new(
            IDEMPOTENCY_KEY,
            Kind::Text,
            "the same as the member `key`, with or without quotation marks",
        ),
        Param::new(
            "Prefer",
            Kind::Text,
            "`wait=4`: answer once it is settled or a person is needed, after 4 s at the latest; 60 at the most",
        ),
        ACCEPT_LANGUAGE,
    ],
    body: Some(("Submission", true)),
    answers: &[
        (201, "It was recorded by this call.", "Status"),
        (
            200,
            "It was recorded before; `joined` is true and `note` says that nothing was sent again.",
            "Status",
        ),
    ],
    problems: &[
        Code::MalformedJson,
        Code::UnknownMember,
        Code::WrongType,
        Code::MissingIdentity,
        Code::UnknownDestination,
        Code::UnknownOperation,
        Code::IdentityConflict,
        Code::DeadlinePassed,
        Code::TooLarge,
        Code::NumberRange,
        Code::BadIdentity,
        Code::BadParams,
        Code::DuplicateMember,
        Code::TooDeep,
        Code::BadTimes,
        Code::IdentityTwice,
        Code::PossibleDuplicate,
        Code::Purged,
        Code::IdentityExpired,
        Code::MissingIntentTime,
        Code::WrongMediaType,
        Code::AuthorityEnded,
        Code::BeyondGrant,
        Code::ApprovalRequired,
        Code::QueueFull,
        Code::DiskFull,
        Code::ShuttingDown,
    ],
};

pub(crate) const LIST: Doc = Doc {
    name: "list_actions",
    summary: "Actions that match every given parameter, newest first.",
    says: "",
    query: &[
        Param::new(
            "key",
            Kind::Text,
            "with this key; of an event: source, id and effect with spaces between",
        ),
        Param::new("state", Kind::Words(state_words), "in this state"),
        Param::new("destination", Kind::Text, "at this destination"),
        Param::new("conversation", Kind::Text, "asked for in this conversation"),
        Param::new("next", Kind::Words(next_words), "with this next step"),
        BEFORE,
        LIMIT_PARAM,
        AUDIENCE,
        LOCALE,
    ],
    headers: &[ACCEPT_LANGUAGE],
    body: None,
    answers: &[(200, "A page of them.", "ActionList")],
    problems: &[],
};

pub(crate) const STATUS: Doc = Doc {
    name: "status",
    summary: "One action as it stands.",
    says: "",
    query: &[
        Param::new(
            "wait",
            Kind::Number(0, 60),
            "answer once it is settled or a person is needed, after so many seconds at the latest",
        ),
        AUDIENCE,
        LOCALE,
    ],
    headers: &[ACCEPT_LANGUAGE],
    body: None,
    answers: &[(200, "Its status.", "Status")],
    problems: &[Code::UnknownAction, Code::Purged],
};

pub(crate) const EVIDENCE: Doc = Doc {
    name: "evidence",
    summary: "Everything that is known about an action, in the order of storing.",
    says: "Payloads and answers of the destination are not in it.",
    query: &[],
    headers: &[],
    body: None,
    answers: &[(200, "The log.", "EvidenceList")],
    problems: &[Code::UnknownAction, Code::Purged],
};

pub(crate) const CANCEL: Doc = Doc {
    name: "cancel",
    summary: "Withdraws an action: nothing more is sent.",
    says: "`stopped`: nothing was sent and nothing will be. `too_late`: it is settled, or something may have been sent; that \
           stays unknown until there is evidence.",
    query: &[],
    headers: &[],
    body: Some(("CancelRequest", false)),
    answers: &[(200, "What came of it.", "CancelAnswer")],
    problems: &[
        Code::UnknownAction,
        Code::Purged,
        Code::MalformedJson,
        Code::UnknownMember,
        Code::WrongType,
        Code::DuplicateMember,
        Code::TooLarge,
        Code::WrongMediaType,
    ],
};

pub(crate) fn state_words() -> Vec<&'static str> {
    State::ALL.iter().map(|state| state.name()).collect()
}

/// The words for next steps, as [`factum::core::Step::name`] has them.
pub(crate) fn next_words() -> Vec<&'static str> {
    vec![
        "send",
        "look_up",
        "poll",
        "cancel_by_key",
        "wait",
        "review",
        "none",
    ]
}

pub(crate) async fn submit(app: &App, mut incoming: Incoming) -> Result<Reply, Failure> {
    let header = idempotency_key(&incoming.parts.headers)?;
    let wait = prefer_wait(&incoming.parts.headers);
    let reader = incoming.reader();
    let form = Form::of(&incoming.parts.headers)?;
    let mut submission = form.read(&incoming.text().await?)?;
    let from_header = join_identity(&mut submission, header)?;
    let factum = app.factum().clone();
    let submitted = app
        .to_its_end({
            let caller = incoming.caller.clone();
            let waits = wait.is_some_and(|wait| !wait.is_zero());
            async move {
                if waits {
                    return factum.submit_watched(submission, &caller, reader).await;
                }
                let submitted = factum.submit_for(submission, &caller, reader).await?;
                Ok((submitted, None))
            }
        })
        .await;
    let (submitted, watch) = match submitted {
        Ok(submitted) => submitted,
        Err(failure) => {
            let failure = form.at(at_header(failure, from_header));
            return Err(with_earlier(app, &incoming.caller, reader, failure).await);
        }
    };
    let (mut status, created) = (submitted.status, submitted.created);
    if let Some(wait) = wait.filter(|_| !status.rests())
        && let Ok(id) = status.id.parse::<ActionId>()
    {
        let stands = match watch {
            Some(watch) => app.comes_to_rest(watch, wait).await,
            None => app.at_rest(id, wait).await,
        };
        // What is recorded is never answered with an error: if it cannot be read now, it is answered as it was recorded.
        match stands {
            Ok(record) => status = app.factum().view(&record, !created, reader),
            Err(problem) => {
                tracing::warn!(%problem, "the status cannot be read while a submission waits")
            }
        }
    }
    app.factum()
        .handed_out(&incoming.caller.tenant, &status)
        .await;
    let code = if created {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    let mut reply = json_reply(code, &with_note(&status))?;
    if let Some(wait) = wait {
        reply = with_header(
            reply,
            header::HeaderName::from_static("preference-applied"),
            &format!("wait={}", wait.as_secs()),
        );
    }
    Ok(with_header(
        reply,
        header::LOCATION,
        &format!("/v1/actions/{}", status.id),
    ))
}

/// Whoever is held off is told how the action stands that holds them off.
pub(crate) async fn with_earlier(
    app: &App,
    caller: &Caller,
    reader: Reader,
    failure: Failure,
) -> Failure {
    let problem = match failure {
        Failure::Problem(problem) if problem.code == Code::PossibleDuplicate => problem,
        other => return other,
    };
    let engine = app.factum().engine();
    let Some(id) = problem.action else {
        return Failure::Problem(problem);
    };
    match engine.load_for(caller, id).await {
        Ok(record) => {
            let earlier = app.factum().view(&record, false, reader);
            app.factum().handed_out(&caller.tenant, &earlier).await;
            Failure::HeldOff(problem, Box::new(earlier))
        }
        Err(error) => {
            tracing::warn!(%error, "the action that holds a submission off cannot be read");
            Failure::Problem(problem)
        }
    }
}

/// A key that came by header is not looked for in the body.
pub(crate) fn at_header(failure: Failure, from_header: bool) -> Failure {
    match failure {
        Failure::Problem(mut problem) if from_header && &*problem.member == "/key" => {
            problem.member = IDEMPOTENCY_KEY.into();
            Failure::Problem(problem)
        }
        other => other,
    }
}

/// A repeat looks like one (B85), and says what to do where the first came to nothing (B86).
fn with_note(status: &StatusView) -> Value {
    let mut json = json!(status);
    if status.joined {
        let mut note = format!(
            "this identity was recorded at {}; nothing was sent again by this call",
            status.created_at
        );
        if status.happened == "no" {
            note.push_str(". The same key always answers this action; a new try needs a new key");
            if !status.safe_to_call_again {
                note.push_str(", and the refusal alone does not prove that such a try is safe");
            }
        }
        json["note"] = note.into();
    }
    json
}

pub(crate) fn locale_words() -> Vec<&'static str> {
    Locale::ALL.iter().map(|locale| locale.tag()).collect()
}

pub(crate) async fn list(app: &App, incoming: Incoming) -> Result<Reply, Failure> {
    let (query, reader) = (&incoming.query, incoming.reader());
    let text = |name: &str| query.text(name).map(str::to_owned);
    let filter = Filter {
        tenant: None,
        key: text("key"),
        state: query.text("state").and_then(State::from_name),
        next: text("next"),
        destination: text("destination"),
        conversation: text("conversation"),
        before: query.parsed("before"),
        limit: query.parsed("limit").unwrap_or(LIMIT),
    };
    let page = page(app, &incoming.caller, filter).await?;
    let actions: Vec<StatusView> = page
        .records
        .iter()
        .map(|record| app.factum().view(record, false, reader))
        .collect();
    json_reply(
        StatusCode::OK,
        &json!({"actions": actions, "next_before": page.next_before}),
    )
}

/// A page of a listing, and how the next begins.
pub(crate) struct Page {
    pub(crate) records: Vec<factum::Record>,
    pub(crate) next_before: Option<String>,
}

pub(crate) async fn page(app: &App, caller: &Caller, filter: Filter) -> Result<Page, Failure> {
    let limit = filter.limit;
    let mut records = app
        .factum()
        .engine()
        .list_for(
            caller,
            Filter {
                limit: limit + 1,
                ..filter
            },
        )
        .await?;
    let more = records.len() > limit;
    records.truncate(limit);
    let next_before = records
        .last()
        .filter(|_| more)
        .map(|record| record.id().to_string());
    Ok(Page {
        records,
        next_before,
    })
}

pub(crate) async fn status(app: &App, incoming: Incoming) -> Result<Reply, Failure> {
    let (query, id) = (&incoming.query, incoming.visible(app).await?.id());
    let reader = incoming.reader();
    let wait = Duration::from_secs(query.parsed("wait").unwrap_or(0));
    let record = app.at_rest(id, wait).await?;
    json_reply(StatusCode::OK, &app.factum().view(&record, false, reader))
}

pub(crate) async fn evidence(app: &App, incoming: Incoming) -> Result<Reply, Failure> {
    let id = incoming.action()?;
    let evidence = app.factum().evidence_for(&incoming.caller, id).await?;
    json_reply(
        StatusCode::OK,
        &json!({"action": id.to_string(), "evidence": evidence}),
    )
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct CancelRequest {
    by: Option<String>,
    why: Option<String>,
}

pub(crate) async fn cancel(app: &App, mut incoming: Incoming) -> Result<Reply, Failure> {
    let id = incoming.visible(app).await?.id();
    let request: CancelRequest = incoming.json_or_default().await?;
    let by = person(&incoming.caller, request.by)?;
    let why = match request.why {
        Some(why) => said("/why", why, 2_000)?,
        None => "no reason was given".to_owned(),
    };
    let factum = app.factum().clone();
    let (cancelled, status) = app
        .to_its_end(async move { factum.cancel(id, &by, &why).await })
        .await?;
    let word = match cancelled {
        Cancelled::Stopped => "stopped",
        Cancelled::TooLate => "too_late",
    };
    json_reply(StatusCode::OK, &json!({"cancel": word, "action": status}))
}
