//! Conversations: what was said beside what is true, and what has to be put right.

use askama::Template;
use factum::conversations::{ConversationView, CorrectionFilter, CorrectionView};
use factum::statements::Audience;
use factum::{KEY_MAX, State};

use super::page::Shell;
use super::words::{Chip, When};
use super::{Said, Visit, done, moved, shown};
use crate::app::App;
use crate::incoming::said;
use crate::reply::{Failure, Reply};

/// Corrections of a page.
const ROWS: usize = 100;

#[derive(Template)]
#[template(path = "conversations.html")]
struct List {
    shell: Shell,
    due: Vec<CorrectionView>,
}

/// Corrections that are due, and the way to a conversation by its name.
pub(super) async fn list(app: &App, visit: &Visit) -> Result<Reply, Failure> {
    if let Some(id) = visit.query.text("id") {
        let id: String = form_urlencoded::byte_serialize(id.as_bytes()).collect();
        // A plus sign stands for a space in a query alone.
        return Ok(moved(&format!("/conversations/{}", id.replace('+', "%20"))));
    }
    let filter = CorrectionFilter {
        conversation: None,
        after: None,
        limit: ROWS,
    };
    let due = app
        .factum()
        .corrections(&visit.caller.tenant, filter, Audience::Operator);
    shown(&List {
        due: due.await?,
        shell: visit.shell("/conversations"),
    })
}

#[derive(Template)]
#[template(path = "conversation.html")]
struct Page {
    shell: Shell,
    view: ConversationView,
    rows: Vec<Row>,
}

/// One action in a conversation.
struct Row {
    chip: Chip,
    at: When,
    told: Vec<Told>,
}

/// One thing that was said.
struct Told {
    say: String,
    how: String,
    at: When,
}

/// One conversation.
pub(super) async fn show(app: &App, visit: &Visit) -> Result<Reply, Failure> {
    let (factum, id) = (app.factum().clone(), visit.param("id").to_owned());
    let tenant = visit.caller.tenant.clone();
    // An operator who looks is no reader to whom anything is handed out.
    let view = app
        .to_its_end(async move {
            factum
                .conversation(&tenant, &id, Audience::Operator.into())
                .await
        })
        .await?;
    let rows = view.actions.iter();
    let rows = rows.map(|one| Row {
        chip: Chip::of(State::from_name(one.status.state).unwrap_or(State::OutcomeUnknown)),
        at: When::of_text(&one.status.created_at),
        told: one
            .told
            .iter()
            .map(|told| Told {
                say: told.say.clone(),
                how: told.how.replace('_', " "),
                at: When::of_text(&told.at),
            })
            .collect(),
    });
    shown(&Page {
        shell: visit.shell("/conversations"),
        rows: rows.collect(),
        view,
    })
}

/// Says that a correction was passed on.
pub(super) async fn acknowledge(app: &App, visit: &Visit) -> Result<Reply, Failure> {
    let conversation = said("/conversation", visit.param("id").to_owned(), KEY_MAX)?;
    let form = &visit.form;
    let wrong = |member| super::page::wrong(member, "the form is not whole", "open the page again");
    let action = form.text("action").and_then(|text| text.parse().ok());
    let action = action.ok_or_else(|| wrong("/action"))?;
    let version = form.text("version").and_then(|text| text.parse().ok());
    let version: u64 = version.ok_or_else(|| wrong("/version"))?;
    let (factum, caller) = (app.factum().clone(), visit.caller.clone());
    app.to_its_end(async move {
        let (tenant, by) = (&caller.tenant, &caller.principal);
        factum
            .acknowledge(tenant, &conversation, action, version, by)
            .await
    })
    .await?;
    Ok(done("/conversations", Said::PassedOn))
}
