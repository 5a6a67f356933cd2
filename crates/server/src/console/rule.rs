//! What a person does about an action: a verdict, spelled out before it counts; taking, giving back, noting, asking again.

use askama::Template;
use factum::statements::Audience;
use factum::{Person, Record, Ruled, Ruling, Whereabouts};

use super::form::Form;
use super::known::question;
use super::page::{Shell, wrong};
use super::review::place_of;
use super::words::{Chip, consequence};
use super::{Route, Said, Visit, done, shown};
use crate::app::App;
use crate::reply::{Failure, Reply};
use crate::review::{VERDICTS, ruling};

/// The longest reason, and the longest receipt, in characters.
pub(super) const WHY_MAX: usize = 2_000;
const RECEIPT_MAX: usize = 500;

/// A verdict that may be given, and what follows from it.
pub(super) struct Choice {
    pub(super) word: &'static str,
    pub(super) title: String,
    /// What it will cause, a sentence each.
    pub(super) causes: Vec<String>,
    /// It cannot be taken back.
    pub(super) final_word: bool,
}

/// The verdicts, in the order in which a page offers them.
pub(super) fn choices(record: &Record, place: &Whereabouts, destination: &str) -> Vec<Choice> {
    let all = VERDICTS.iter();
    all.filter_map(|word| choice(word, record, place, destination))
        .collect()
}

/// One of them, by its word; none where there is no such verdict.
pub(super) fn choice(
    word: &str,
    record: &Record,
    place: &Whereabouts,
    destination: &str,
) -> Option<Choice> {
    let kind = place.kind.as_deref().unwrap_or("effect");
    let word = VERDICTS.iter().copied().find(|known| *known == word)?;
    let (title, causes, final_word) = match word {
        "happened" => (
            format!("It happened: the {kind} is there"),
            vec![
                "It is recorded as done, with your name and reason.".to_owned(),
                "Nothing more is sent.".to_owned(),
                "Whoever asked may be told that it is done. A later verdict can correct this."
                    .to_owned(),
            ],
            false,
        ),
        "did_not_happen" => (
            format!("It did not happen: there is no such {kind}"),
            vec![
                "It is recorded as not done, once no request can land any more.".to_owned(),
                "Nothing is sent: whoever still wants it asks anew.".to_owned(),
                "A later verdict can correct this, and so can the destination's own word."
                    .to_owned(),
            ],
            false,
        ),
        "send_again" => (
            "Send it again, at the risk of a second one".to_owned(),
            vec![
                format!("One more request goes to {destination} now, with your name on it."),
                format!(
                    "If the first one did take effect, there are two: {}.",
                    consequence(record.action.intent.promises.consequence)
                ),
                "What was sent cannot be taken back.".to_owned(),
            ],
            true,
        ),
        _ => (
            "It cannot be known".to_owned(),
            vec![
                "The search ends, and nothing is sent. It stays unknown for good.".to_owned(),
                "Whoever asked is told that it can no longer be found out.".to_owned(),
                "Who learns better later can still say so.".to_owned(),
            ],
            false,
        ),
    };
    Some(Choice {
        word,
        title,
        causes,
        final_word,
    })
}

#[derive(Template)]
#[template(path = "confirm.html")]
struct Confirm {
    shell: Shell,
    id: String,
    chip: Chip,
    question: String,
    choice: Choice,
    receipt: String,
    why: String,
    /// The action as its reader saw it.
    seen: u64,
    /// A second person has to say the same.
    two: bool,
}

/// A verdict as a form says it.
struct Wish {
    word: String,
    ruling: Ruling,
    receipt: Option<String>,
    why: String,
    seen: u64,
    confirmed: bool,
}

impl Wish {
    fn read(form: &Form) -> Result<Self, Failure> {
        let word = form.text("verdict").unwrap_or_default();
        if word.is_empty() {
            let remedy = "go back, and choose one";
            return Err(wrong("/verdict", "no verdict is chosen", remedy));
        }
        let receipt = form
            .text("receipt")
            .map(|_| form.said("receipt", RECEIPT_MAX));
        // A receipt that was typed in before another verdict was chosen says nothing.
        let receipt = receipt.transpose()?.filter(|_| word == "happened");
        let seen = form.text("seen").and_then(|text| text.parse().ok());
        Ok(Self {
            ruling: ruling(word, receipt.clone())?,
            word: word.to_owned(),
            receipt,
            why: form.said("why", WHY_MAX)?,
            seen: seen.ok_or_else(|| {
                let rule = "the form does not say what was shown";
                wrong("/seen", rule, "open the action's page again")
            })?,
            confirmed: form.text("confirm").is_some(),
        })
    }
}

/// A verdict: first what it will cause, then the verdict itself.
pub(super) async fn verdict(app: &App, visit: &Visit) -> Result<Reply, Failure> {
    let id = visit.action()?;
    let record = app.factum().engine().load_for(&visit.caller, id).await?;
    let wish = Wish::read(&visit.form)?;
    if !wish.confirmed {
        return spelled_out(app, visit, &record, wish).await;
    }
    let (factum, caller) = (app.factum().clone(), visit.caller.clone());
    let ruled = app
        .to_its_end(async move {
            let person = Person::named(&caller.principal);
            let engine = factum.engine();
            engine
                .rule_on_seen(id, wish.seen, wish.ruling, person, &wish.why)
                .await
        })
        .await?;
    let said = match ruled {
        Ruled::Recorded(_) => Said::Ruled,
        Ruled::Proposed(..) => Said::Proposed,
    };
    Ok(done(&format!("/actions/{id}"), said))
}

async fn spelled_out(
    app: &App,
    visit: &Visit,
    record: &Record,
    wish: Wish,
) -> Result<Reply, Failure> {
    let destination = place_of(record);
    let place = app.factum().engine().whereabouts(record).await;
    let status = record.status();
    let choice = choice(&wish.word, record, &place, &destination).ok_or_else(|| {
        let remedy = "go back, and choose one";
        wrong("/verdict", "there is no such verdict", remedy)
    })?;
    shown(&Confirm {
        shell: visit.shell("/review"),
        id: record.id().to_string(),
        chip: Chip::of(status.state),
        question: question(record, &status, &place, &destination),
        choice,
        receipt: wish.receipt.unwrap_or_default(),
        why: wish.why,
        seen: wish.seen,
        two: wants_two(app, record),
    })
}

/// Whether the operation asks for two persons.
pub(super) fn wants_two(app: &App, record: &Record) -> bool {
    let scope = &record.action.scope;
    let destination = app.factum().engine().destinations().get(&scope.destination);
    let operation = destination.and_then(|at| at.operation(&scope.operation));
    operation.is_some_and(|operation| operation.two_persons)
}

/// Taking, giving back, noting, asking again.
pub(super) async fn work_on(app: &App, visit: &Visit) -> Result<Reply, Failure> {
    let id = visit.action()?;
    let engine = app.factum().engine();
    engine.load_for(&visit.caller, id).await?;
    let (factum, caller, route) = (app.factum().clone(), visit.caller.clone(), visit.route);
    let note = match route {
        Route::Note => visit.form.said("text", WHY_MAX)?,
        _ => String::new(),
    };
    let said = app
        .to_its_end(async move {
            let by = &caller.principal;
            let person = Person::named(by);
            let engine = factum.engine();
            Ok(match route {
                Route::Take => engine.take_item(id, person).await.map(|_| Said::Taken)?,
                Route::GiveBack => engine
                    .release_item(id, person)
                    .await
                    .map(|_| Said::GivenBack)?,
                Route::Note => engine.note_item(id, by, &note).await.map(|_| Said::Noted)?,
                _ => engine.check_again(id, by).await.map(|_| Said::Asked)?,
            })
        })
        .await?;
    Ok(done(&format!("/actions/{id}"), said))
}

/// What may be said to whom about an action, as the page shows it.
pub(super) struct Words {
    pub(super) reader: &'static str,
    pub(super) say: String,
    pub(super) never: Vec<String>,
}

/// The statement's words for each reader.
pub(super) fn statements(app: &App, record: &Record) -> Vec<Words> {
    let readers = [
        (Audience::Customer, "to a customer"),
        (Audience::Operator, "among ourselves"),
    ];
    let worded = readers.map(|(audience, reader)| {
        let statement = app.factum().view(record, false, audience).statement;
        Words {
            reader,
            say: statement.say,
            never: statement.never_say,
        }
    });
    worded.into()
}
