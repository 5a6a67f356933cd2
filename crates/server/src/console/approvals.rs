//! Approvals: exactly what would be sent, and who says that it may be.

use askama::Template;
use factum::proposals::{ProposalAnswer, ProposalDetail, ProposalView};
use factum::statements::{Audience, Reader};
use factum::{Code, Decision, ProposalFilter, ProposalId, ProposalState};

use super::draft::{Draft, Form};
use super::page::Shell;
use super::words::When;
use super::{Route, Said, Visit, done, moved, shown};
use crate::app::App;
use crate::call::Call;
use crate::proposals::state_words;
use crate::reply::{Failure, Reply};
use crate::run::allowed;

/// Rows of a page.
const ROWS: usize = 50;

/// The longest reason, in characters.
const WHY_MAX: usize = 2_000;

/// How a proposal's state is shown: the colours are those of the states of actions that come closest.
pub(super) fn tone(state: &str) -> &'static str {
    match state {
        "pending" => "blue",
        "approved" => "green",
        "declined" => "red",
        _ => "dim",
    }
}

#[derive(Template)]
#[template(path = "approvals.html")]
struct List {
    shell: Shell,
    state: String,
    states: Vec<&'static str>,
    rows: Vec<Row>,
    older: Option<String>,
}

/// A proposal in a list.
struct Row {
    view: ProposalView,
    tone: &'static str,
    until: When,
}

/// Proposals in one state, those that wait where nothing is said.
pub(super) async fn list(app: &App, visit: &Visit) -> Result<Reply, Failure> {
    let state = visit.query.text("state").unwrap_or("pending");
    let filter = ProposalFilter {
        state: ProposalState::from_word(state),
        destination: None,
        conversation: None,
        after: visit.query.text("after").and_then(|text| text.parse().ok()),
        limit: ROWS + 1,
    };
    let mut found = app
        .factum()
        .proposals(&visit.caller, filter, reader())
        .await?;
    let more = found.len() > ROWS;
    found.truncate(ROWS);
    let last = found.last().filter(|_| more);
    shown(&List {
        older: last.map(|last| visit.query.with("after", &last.id)),
        shell: visit.shell("/approvals"),
        state: state.to_owned(),
        states: state_words(),
        rows: found
            .into_iter()
            .map(|view| Row {
                tone: tone(view.state),
                until: When::of_text(&view.expires_at),
                view,
            })
            .collect(),
    })
}

#[derive(Template)]
#[template(path = "approval.html")]
struct Page {
    shell: Shell,
    view: ProposalView,
    tone: &'static str,
    detail: Shown,
    /// The same as people read it, where its form is known.
    draft: Option<Draft>,
    form: Form,
    at: When,
    until: When,
    may_decide: bool,
    /// Their own approval is among those that there are.
    has_approved: bool,
}

/// What would be sent, as texts.
struct Shown {
    request: Option<factum::proposals::RequestView>,
    body: String,
    content: String,
    stale: Option<String>,
    /// Member, what stood there, what stands there.
    differences: Vec<(String, String, String)>,
}

impl Shown {
    fn of(detail: &ProposalDetail) -> Self {
        let body = detail.request.as_ref().and_then(|one| one.body.as_deref());
        let differences = detail.differences.iter();
        Self {
            body: body.map(laid_out).unwrap_or_default(),
            request: detail.request.clone(),
            content: format!("{:#}", detail.content),
            stale: detail.stale.clone(),
            differences: differences
                .map(|one| (one.member.clone(), one.was.to_string(), one.is.to_string()))
                .collect(),
        }
    }
}

/// JSON over several lines; any other text as it is. Only the space between members differs from what is sent.
fn laid_out(body: &str) -> String {
    let read: Result<serde_json::Value, _> = serde_json::from_str(body);
    read.map_or_else(|_| body.to_owned(), |value| format!("{value:#}"))
}

/// One proposal.
pub(super) async fn show(app: &App, visit: &Visit) -> Result<Reply, Failure> {
    let id = named(visit)?;
    let detail = app.factum().proposal(&visit.caller, id, reader()).await?;
    let view = detail.proposal.clone();
    let open = view.state == "pending";
    let draft = detail.request.as_ref().and_then(|request| {
        let mut headers = request.headers.iter();
        let kind = headers.find(|header| header.name.eq_ignore_ascii_case("content-type"));
        let kind = kind.map_or("application/json", |header| &header.value);
        Draft::read(request.body.as_deref()?, kind)
    });
    let by =
        |one: &factum::proposals::ApprovalView| one.by.as_deref() == Some(&visit.caller.principal);
    shown(&Page {
        shell: visit.shell("/approvals"),
        tone: tone(view.state),
        at: When::of_text(&view.created_at),
        until: When::of_text(&view.expires_at),
        may_decide: open && allowed(&visit.caller, Call::Approve.need()).is_ok(),
        has_approved: view.approvals.iter().any(by),
        detail: Shown::of(&detail),
        draft,
        form: Form::of(view.kind.as_deref()),
        view,
    })
}

/// Approves the digest that was shown, or declines.
pub(super) async fn decide(app: &App, visit: &Visit) -> Result<Reply, Failure> {
    let id = named(visit)?;
    let (factum, caller, form) = (app.factum().clone(), visit.caller.clone(), &visit.form);
    let said = form.text("why").map(|_| form.said("why", WHY_MAX));
    let why = said.transpose()?;
    if visit.route == Route::Decline {
        let why = form.said("why", WHY_MAX)?;
        let declined = async move { factum.decline(&caller, id, &why, reader()).await };
        app.to_its_end(declined).await?;
        return Ok(done(&format!("/approvals/{id}"), Said::Declined));
    }
    let digest = form.text("digest").unwrap_or_default().to_owned();
    let approved: ProposalAnswer = app
        .to_its_end(async move {
            let decision = Decision {
                digest: &digest,
                why: why.as_deref(),
                until: None,
            };
            factum.approve(&caller, id, decision, reader()).await
        })
        .await?;
    Ok(match approved.action {
        Some(action) => moved(&format!(
            "/actions/{}?said={}",
            action.id,
            Said::Approved.word()
        )),
        None => done(&format!("/approvals/{id}"), Said::ApprovedByOne),
    })
}

fn reader() -> Reader {
    Audience::Operator.into()
}

fn named(visit: &Visit) -> Result<ProposalId, Failure> {
    visit
        .param("id")
        .parse()
        .map_err(|error: factum::core::id::BadId| {
            let remedy = "follow a link, or look for it among the approvals";
            Failure::new(Code::UnknownProposal, "", error.to_string(), remedy)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_as_they_are_written() {
        assert_eq!(
            laid_out("{\"amount\":120.00}"),
            "{\n  \"amount\": 120.00\n}"
        );
        assert_eq!(laid_out("a=b&c=d"), "a=b&c=d");
    }
}
