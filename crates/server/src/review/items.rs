//! One item of the review: taken, given back, noted. Taken items are nobody else's, the machine's included (R6).

use axum::http::StatusCode;
use factum::statements::Audience;
use factum::{Code, Record};
use serde::Deserialize;

use crate::app::App;
use crate::call::{Call, Doc};
use crate::incoming::{Incoming, person, said, who};
use crate::reply::{Failure, Reply, json_reply};
use crate::review::ByRequest;

const SAID: &[Code] = &[
    Code::UnknownAction,
    Code::Purged,
    Code::DoesNotApply,
    Code::TakenByOther,
    Code::MalformedJson,
    Code::UnknownMember,
    Code::WrongType,
    Code::DuplicateMember,
    Code::TooLarge,
    Code::WrongMediaType,
    Code::DiskFull,
];

pub(crate) const TAKE: Doc = Doc {
    name: "take_review_item",
    summary: "Takes an item: nobody else touches it, the machine included.",
    says: "It is held until it is given back or ruled on. Taking again what one has changes nothing.",
    query: &[],
    headers: &[],
    body: Some(("ByRequest", false)),
    answers: &[(200, "The action as it stands then.", "Status")],
    problems: SAID,
};

pub(crate) const RELEASE: Doc = Doc {
    name: "release_review_item",
    summary: "Gives an item back.",
    says: "Somebody else's too; who did it is noted.",
    query: &[],
    headers: &[],
    body: Some(("ByRequest", false)),
    answers: &[(200, "The action as it stands then.", "Status")],
    problems: SAID,
};

pub(crate) const NOTE: Doc = Doc {
    name: "note_review_item",
    summary: "Keeps a note in the log of an action.",
    says: "It changes nothing.",
    query: &[],
    headers: &[],
    body: Some(("NoteRequest", true)),
    answers: &[(200, "The action as it stands then.", "Status")],
    problems: SAID,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoteRequest {
    text: String,
    by: Option<String>,
}

pub(crate) async fn answer(app: &App, mut incoming: Incoming) -> Result<Reply, Failure> {
    let id = incoming.visible(app).await?.id();
    let caller = incoming.caller.clone();
    let factum = app.factum().clone();
    let record: Record = if incoming.call == Call::Note {
        let request: NoteRequest = incoming.json().await?;
        let by = person(&caller, request.by)?;
        let text = said("/text", request.text, 2_000)?;
        app.to_its_end(async move { factum.engine().note_item(id, &by, &text).await })
            .await?
    } else {
        let request: ByRequest = incoming.json_or_default().await?;
        let by = person(&caller, request.by)?;
        let take = incoming.call == Call::Take;
        app.to_its_end(async move {
            let person = factum::Person {
                by: &by,
                who: who(&caller, &by),
            };
            let engine = factum.engine();
            if take {
                engine.take_item(id, person).await
            } else {
                engine.release_item(id, person).await
            }
        })
        .await?
    };
    json_reply(
        StatusCode::OK,
        &app.factum().view(&record, false, Audience::Operator),
    )
}
