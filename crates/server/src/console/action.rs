//! One action's page: what it is, why the engine did what it did, what may be said, and, where a person is needed, the decision.

use askama::Template;
use factum::Record;
use factum::core::evidence::ReviewWhy;
use factum::core::{Evidence, Step};
use factum::statements::Audience;
use factum::view::StatusView;
use serde_json::json;

use super::known::{Line, known, line, question, unknown};
use super::page::Shell;
use super::review::{Window, place_of};
use super::rule::{Choice, Words, choices, statements, wants_two};
use super::timeline::{Timeline, draw};
use super::words::{Chip, When};
use super::{Visit, shown};
use crate::app::App;
use crate::call::Call;
use crate::reply::{Failure, Reply};
use crate::run::allowed;

#[derive(Template)]
#[template(path = "action.html")]
struct Page {
    shell: Shell,
    id: String,
    chip: Chip,
    title: String,
    view: StatusView,
    created: When,
    next_at: Option<When>,
    next_word: String,
    destination: String,
    place: Place,
    timeline: Timeline,
    /// The time in which a resend is safe, while the machine is still finding out.
    window: Option<Window>,
    words: Vec<Words>,
    log: Vec<Line>,
    review: Option<Review>,
    facts: Vec<(&'static str, String)>,
    curl: String,
    json: String,
    version: u64,
    may_work: bool,
}

/// Where a person looks.
struct Place {
    site: Option<String>,
    link: Option<String>,
    search: Option<String>,
    mark: String,
}

/// What a person decides by.
struct Review {
    question: String,
    known: Vec<Line>,
    unknown: Vec<String>,
    consequence: &'static str,
    window: Option<Window>,
    choices: Vec<Choice>,
    taken_by: Option<String>,
    /// Somebody else works on it.
    others: bool,
    two: bool,
    proposed: Option<Proposed>,
    can_ask: bool,
}

/// A verdict that waits for a second person.
struct Proposed {
    by: String,
    verdict: String,
    why: String,
    mine: bool,
}

/// The page.
pub(super) async fn show(app: &App, visit: &Visit) -> Result<Reply, Failure> {
    let engine = app.factum().engine();
    let record = engine.load_for(&visit.caller, visit.action()?).await?;
    let evidence = engine.evidence_for(&visit.caller, record.id()).await?;
    let (status, next) = engine.assess(&record);
    let (now, window) = (engine.now(), engine.window_ends(&record));
    let found = engine.whereabouts(&record).await;
    let destination = place_of(&record);
    let view = app.factum().view(&record, false, Audience::Operator);
    let may_review = allowed(&visit.caller, Call::Verdict.need()).is_ok();
    let review = match next.step {
        Step::Review(why) if may_review => Some(review(app, visit, &record, &evidence, why).await?),
        _ => None,
    };
    let title = view.summary.clone().or(view.subject.clone());
    let here = if review.is_some() {
        "/review"
    } else {
        "/actions"
    };
    let log = evidence.iter().rev();
    shown(&Page {
        shell: visit.shell(here),
        id: view.id.clone(),
        chip: Chip::of(status.state),
        title: title.unwrap_or_else(|| format!("{} at {destination}", view.operation)),
        created: When::of_text(&view.created_at),
        next_at: view.next.at.as_deref().map(When::of_text),
        next_word: next_word(view.next.step).to_owned(),
        timeline: draw(&record, &evidence, &next, window, now, &destination),
        window: window
            .filter(|_| !status.is_settled() && review.is_none())
            .map(|until| Window::of(until, now)),
        words: statements(app, &record),
        log: log.map(|one| line(one, &destination)).collect(),
        review,
        facts: facts(&view),
        curl: curl(&view.id),
        json: format!("{:#}", json!(view)),
        version: record.version,
        may_work: may_review,
        place: Place {
            site: found.site,
            link: found.link,
            search: found.search,
            mark: found.mark,
        },
        destination,
        view,
    })
}

/// What a person decides by, where one is needed.
async fn review(
    app: &App,
    visit: &Visit,
    record: &Record,
    evidence: &[Evidence],
    why: ReviewWhy,
) -> Result<Review, Failure> {
    let engine = app.factum().engine();
    let (status, now) = (record.status(), engine.now());
    let place = engine.whereabouts(record).await;
    let destination = place_of(record);
    let taken_by = record.known.taken_by().map(|(_, by)| by.to_owned());
    let mine = taken_by.as_deref() == Some(&visit.caller.principal);
    let proposed = engine.proposed_verdict(record).await?;
    let promises = &record.action.intent.promises;
    Ok(Review {
        question: question(record, &status, &place, &destination),
        known: known(evidence, &destination),
        unknown: unknown(record, &status, why, &destination, now),
        consequence: promises.consequence.name(),
        window: engine
            .window_ends(record)
            .map(|until| Window::of(until, now)),
        choices: choices(record, &place, &destination),
        others: taken_by.is_some() && !mine,
        taken_by,
        two: wants_two(app, record),
        proposed: proposed.map(|one| Proposed {
            mine: one.by == visit.caller.principal,
            by: one.by,
            verdict: one.verdict.replace('_', " "),
            why: one.why,
        }),
        can_ask: promises.lookup.is_some(),
    })
}

/// What comes next, in a person's words.
fn next_word(step: &str) -> &'static str {
    match step {
        "send" => "It is sent",
        "look_up" => "The destination is asked",
        "poll" => "The destination is asked how it stands",
        "cancel_by_key" => "It is withdrawn by its key",
        "wait" => "Word is waited for",
        "review" => "A person decides",
        _ => "Nothing: this is settled",
    }
}

fn facts(view: &StatusView) -> Vec<(&'static str, String)> {
    let some = |name, text: &Option<String>| text.clone().map(|text| (name, text));
    let always = |name, text: &str| Some((name, text.to_owned()));
    [
        always("operation", &view.operation),
        always("destination", &view.destination),
        always("key", &view.key),
        always("for", &view.on_behalf_of),
        some("subject", &view.subject),
        some("conversation", &view.conversation),
        view.receipt
            .as_ref()
            .map(|receipt| ("receipt", receipt.reference.clone())),
        some("because", &view.because),
        some("trace", &view.trace),
        always("requests", &view.attempts.to_string()),
        always("version", &view.version.to_string()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// How a terminal asks for the same.
fn curl(id: &str) -> String {
    format!(
        "curl -sS -H \"Authorization: Bearer $FACTUM_TOKEN\" \"$FACTUM_URL/v1/actions/{id}/evidence\""
    )
}
