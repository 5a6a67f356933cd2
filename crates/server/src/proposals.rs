//! Proposals: content that people decide on before anything is sent. What is shown is what would be sent; what is approved is named by its
//! digest.

use axum::http::{StatusCode, header};
use factum::canonical::{Members, canonical};
use factum::core::Timestamp;
use factum::proposals::ProposalAnswer;
use factum::{Ask, Code, Decision, ProposalFilter, ProposalId, ProposalState, Submission};
use serde::Deserialize;
use serde_json::json;

use crate::actions::{ACCEPT_LANGUAGE, AUDIENCE, LIMIT, LIMIT_PARAM, LOCALE, at_header};
use crate::app::App;
use crate::call::{Doc, Param};
use crate::headers::{IDEMPOTENCY_KEY, idempotency_key, join_identity};
use crate::incoming::{Incoming, said};
use crate::query::Kind;
use crate::reply::{Failure, Reply, json_reply, with_header};

const KEY: Param = Param::new(
    IDEMPOTENCY_KEY,
    Kind::Text,
    "the same as the member `key`, with or without quotation marks",
);

const ASKED: &[Code] = &[
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
    Code::BadInput,
    Code::DuplicateMember,
    Code::TooDeep,
    Code::BadTimes,
    Code::IdentityTwice,
    Code::WrongMediaType,
    Code::AuthorityEnded,
    Code::BeyondGrant,
    Code::UnknownProposal,
    Code::ProposalClosed,
    Code::ProposalChanged,
    Code::ProposalOpen,
    Code::DoesNotApply,
    Code::QueueFull,
    Code::DiskFull,
    Code::ShuttingDown,
];

const DECIDED: &[Code] = &[
    Code::UnknownProposal,
    Code::ProposalClosed,
    Code::ProposalChanged,
    Code::NotTheirDecision,
    Code::AuthorityEnded,
    Code::BeyondGrant,
    Code::DeadlinePassed,
    Code::BadTimes,
    Code::DoesNotApply,
    Code::IdentityConflict,
    Code::PossibleDuplicate,
    Code::Purged,
    Code::IdentityExpired,
    Code::MissingIntentTime,
    Code::BadParams,
    Code::BadInput,
    Code::UnknownDestination,
    Code::UnknownOperation,
    Code::MalformedJson,
    Code::UnknownMember,
    Code::WrongType,
    Code::DuplicateMember,
    Code::TooLarge,
    Code::WrongMediaType,
    Code::QueueFull,
    Code::DiskFull,
    Code::ShuttingDown,
];

pub(crate) const PROPOSE: Doc = Doc {
    name: "propose",
    summary: "Records content to be decided on; nothing is sent before it is approved.",
    says: "The body is that of a submission, with `expires_at` and `supersedes` beside it. A repeat with the same identity and content is \
           answered with 200 and the same proposal. Another content under the same identity takes its place only where `supersedes` \
           names it. Where the operation's policy approves it at once, `action` is there already.",
    query: &[],
    headers: &[KEY, ACCEPT_LANGUAGE],
    body: Some(("ProposalRequest", true)),
    answers: &[
        (201, "It was recorded by this call.", "ProposalAnswer"),
        (200, "It was recorded before.", "ProposalAnswer"),
    ],
    problems: ASKED,
};

pub(crate) const LIST: Doc = Doc {
    name: "list_proposals",
    summary: "Proposals that match every given parameter, oldest first.",
    says: "Of a conversation, those that its effects are at come in the order of their identities, each followed by those that it \
           superseded; such a listing is not continued.",
    query: &[
        Param::new("state", Kind::Words(state_words), "in this state"),
        Param::new("destination", Kind::Text, "for this destination"),
        Param::new("conversation", Kind::Text, "asked for in this conversation"),
        Param::new(
            "after",
            Kind::Proposal,
            "continues a listing: `next_after` of the page before",
        ),
        LIMIT_PARAM,
        AUDIENCE,
        LOCALE,
    ],
    headers: &[ACCEPT_LANGUAGE],
    body: None,
    answers: &[(200, "A page of them.", "ProposalList")],
    problems: &[],
};

pub(crate) const SHOW: Doc = Doc {
    name: "proposal",
    summary: "One proposal: exactly what would be sent, who asks, and who approved so far.",
    says: "`request` is the request byte for byte, without secrets. `digest` names it, together with the contract, the account, for whom it \
           is, what it works on, and when it may be sent. `stale` says why it cannot be approved as it is.",
    query: &[AUDIENCE, LOCALE],
    headers: &[ACCEPT_LANGUAGE],
    body: None,
    answers: &[(200, "The proposal.", "Proposal")],
    problems: &[Code::UnknownProposal],
};

pub(crate) const APPROVE: Doc = Doc {
    name: "approve",
    summary: "Approves what a digest names; with the last approval that is asked for, its action is recorded.",
    says: "Who approves is the principal of the token. The approval and the action are one transaction: two approvals at once make one \
           action, and both are answered with it.",
    query: &[],
    headers: &[ACCEPT_LANGUAGE],
    body: Some(("ApproveRequest", true)),
    answers: &[
        (
            201,
            "Its action was recorded by this call.",
            "ProposalAnswer",
        ),
        (
            200,
            "It was approved before, or more people have to approve.",
            "ProposalAnswer",
        ),
    ],
    problems: DECIDED,
};

pub(crate) const DECLINE: Doc = Doc {
    name: "decline",
    summary: "Declines a proposal, or withdraws one's own: nothing of it is ever sent.",
    says: "A repeat changes nothing.",
    query: &[],
    headers: &[ACCEPT_LANGUAGE],
    body: Some(("DeclineRequest", true)),
    answers: &[(200, "The proposal as it stands then.", "ProposalAnswer")],
    problems: DECIDED,
};

pub(crate) const SUPERSEDE: Doc = Doc {
    name: "supersede",
    summary: "Puts another content in a proposal's place: a new proposal, and the old one is closed, in one transaction.",
    says: "The body is that of a proposal. It is for the same effect: destination, operation, key and for whom stay; `key` and `for` may be \
           left out.",
    query: &[],
    headers: &[KEY, ACCEPT_LANGUAGE],
    body: Some(("ProposalRequest", true)),
    answers: &[
        (201, "The new proposal.", "ProposalAnswer"),
        (200, "It was recorded before.", "ProposalAnswer"),
    ],
    problems: ASKED,
};

pub(crate) fn state_words() -> Vec<&'static str> {
    ProposalState::ALL.map(ProposalState::word).into()
}

/// What stands in the body beside the submission.
#[derive(Default)]
struct Beside {
    expires_at: Option<Timestamp>,
    supersedes: Option<String>,
}

pub(crate) async fn propose(app: &App, incoming: Incoming) -> Result<Reply, Failure> {
    ask(app, incoming, None).await
}

pub(crate) async fn supersede(app: &App, incoming: Incoming) -> Result<Reply, Failure> {
    let id = named(&incoming)?;
    ask(app, incoming, Some(id)).await
}

async fn ask(app: &App, mut incoming: Incoming, old: Option<ProposalId>) -> Result<Reply, Failure> {
    let key = idempotency_key(&incoming.parts.headers)?;
    let (mut submission, beside) = read(&incoming.text().await?)?;
    let from_header = join_identity(&mut submission, key)?;
    let said = beside.supersedes.map(|text| id_of("/supersedes", &text));
    let said = said.transpose()?;
    if old.is_some() && said.is_some() && said != old {
        let rule = "the path and the member supersedes name different proposals";
        let remedy = "leave the member out";
        return Err(Failure::new(Code::WrongType, "/supersedes", rule, remedy));
    }
    let ask = Ask {
        until: beside.expires_at,
        supersedes: old.or(said),
    };
    let (factum, reader) = (app.factum().clone(), incoming.reader());
    let caller = incoming.caller.clone();
    let answer =
        app.to_its_end(async move { factum.propose_for(submission, &caller, ask, reader).await });
    let answer = answer
        .await
        .map_err(|failure| at_header(failure, from_header))?;
    answered(&answer)
}

pub(crate) async fn list(app: &App, incoming: Incoming) -> Result<Reply, Failure> {
    let query = &incoming.query;
    let text = |name: &str| query.text(name).map(str::to_owned);
    let limit = query.parsed("limit").unwrap_or(LIMIT);
    let filter = ProposalFilter {
        state: query.text("state").and_then(ProposalState::from_word),
        destination: text("destination"),
        conversation: text("conversation"),
        after: query.parsed("after"),
        limit: limit + 1,
    };
    let continued = filter.conversation.is_none();
    let (caller, reader) = (&incoming.caller, incoming.reader());
    let mut found = app.factum().proposals(caller, filter, reader).await?;
    let more = found.len() > limit && continued;
    found.truncate(limit);
    let next_after = found.last().filter(|_| more).map(|last| last.id.clone());
    json_reply(
        StatusCode::OK,
        &json!({"proposals": found, "next_after": next_after}),
    )
}

pub(crate) async fn show(app: &App, incoming: Incoming) -> Result<Reply, Failure> {
    let (id, reader) = (named(&incoming)?, incoming.reader());
    let shown = app.factum().proposal(&incoming.caller, id, reader).await?;
    json_reply(StatusCode::OK, &shown)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ApproveRequest {
    digest: String,
    reason: Option<String>,
    until: Option<String>,
}

pub(crate) async fn approve(app: &App, mut incoming: Incoming) -> Result<Reply, Failure> {
    let (id, reader) = (named(&incoming)?, incoming.reader());
    let request: ApproveRequest = incoming.json().await?;
    let why = request.reason.map(|text| said("/reason", text, 2_000));
    let why = why.transpose()?;
    let until = (request.until.as_deref())
        .map(|text| factum::parse_instant("/until", text))
        .transpose()?;
    let (factum, caller) = (app.factum().clone(), incoming.caller.clone());
    let approved = app.to_its_end(async move {
        let decision = Decision {
            digest: &request.digest,
            why: why.as_deref(),
            until,
        };
        factum.approve(&caller, id, decision, reader).await
    });
    answered(&approved.await?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeclineRequest {
    reason: String,
}

pub(crate) async fn decline(app: &App, mut incoming: Incoming) -> Result<Reply, Failure> {
    let (id, reader) = (named(&incoming)?, incoming.reader());
    let request: DeclineRequest = incoming.json().await?;
    let why = said("/reason", request.reason, 2_000)?;
    let (factum, caller) = (app.factum().clone(), incoming.caller.clone());
    let declined = app.to_its_end(async move { factum.decline(&caller, id, &why, reader).await });
    answered(&declined.await?)
}

fn answered(answer: &ProposalAnswer) -> Result<Reply, Failure> {
    let code = if answer.created {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    let at = format!("/v1/proposals/{}", answer.proposal.proposal.id);
    Ok(with_header(
        json_reply(code, answer)?,
        header::LOCATION,
        &at,
    ))
}

/// The proposal that the path names. What is no id is answered like one that there is not.
fn named(incoming: &Incoming) -> Result<ProposalId, Failure> {
    let text = incoming.param("id");
    text.parse().map_err(|error: factum::core::id::BadId| {
        let remedy = "send the id from the answer to the proposal, or list them: GET /v1/proposals";
        Failure::new(Code::UnknownProposal, "", error.to_string(), remedy)
    })
}

fn id_of(member: &str, text: &str) -> Result<ProposalId, Failure> {
    text.parse().map_err(|error: factum::core::id::BadId| {
        let remedy = "send the id as it was answered";
        Failure::new(Code::WrongType, member, error.to_string(), remedy)
    })
}

/// The submission, and what stands beside it in the same object.
fn read(text: &str) -> Result<(Submission, Beside), Failure> {
    let mut beside = Beside::default();
    // What is wrong with the text as JSON is said of the whole of it.
    canonical(text, "")?;
    let Ok(Members(members)) = serde_json::from_str(text) else {
        return Ok((Submission::from_json(text)?, beside));
    };
    let mut rest = Vec::new();
    for (name, value) in members {
        match name.as_str() {
            "expires_at" => {
                let text = string("/expires_at", value.get())?;
                let at = text.map(|text| factum::parse_instant("/expires_at", &text));
                beside.expires_at = at.transpose()?;
            }
            "supersedes" => beside.supersedes = string("/supersedes", value.get())?,
            _ => rest.push(format!("{}:{}", json!(name), value.get())),
        }
    }
    let submission = Submission::from_json(&format!("{{{}}}", rest.join(",")))?;
    Ok((submission, beside))
}

fn string(member: &str, text: &str) -> Result<Option<String>, Failure> {
    serde_json::from_str(text).map_err(|_| {
        let rule = "it is no text";
        Failure::new(
            Code::WrongType,
            member,
            rule,
            "send a text, or leave it out",
        )
    })
}
