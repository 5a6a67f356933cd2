//! What a language model is told. Models repeat a call that looks failed, so only what certainly did not happen may look so: `isError` is
//! for that alone, and pending and unknown are ordinary results that say what to do next. The sentences are fixed; nothing here decides
//! anything about an action.

use factum::view::StatusView;
use factum::{Code, Problem};
use serde_json::{Value, json};

/// After so many seconds the next look is worth making.
const LOOK_AFTER_S: u64 = 5;

/// A tool's answer, before it is written for one era or the other.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Told {
    /// For the model.
    pub(crate) text: String,
    /// It is certain that nothing happened.
    pub(crate) is_error: bool,
    /// The same for programs: always an object.
    pub(crate) structured: Value,
}

/// What an action's status amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    AlreadyDone,
    Pending,
    Unknown,
    NeedsPerson,
    Closed,
    NotDone,
}

impl Outcome {
    fn of(status: &StatusView) -> Self {
        match (status.state, status.next.step) {
            ("succeeded", _) if status.joined => Self::AlreadyDone,
            ("succeeded", _) => Self::Done,
            ("terminal_failure" | "cancelled" | "expired", _) => Self::NotDone,
            _ if status.closed.is_some() => Self::Closed,
            (_, "review") => Self::NeedsPerson,
            ("outcome_unknown", _) => Self::Unknown,
            _ => Self::Pending,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::AlreadyDone => "already_done",
            Self::Pending => "pending",
            Self::Unknown => "unknown",
            Self::NeedsPerson => "needs_person",
            Self::Closed => "cannot_be_known",
            Self::NotDone => "not_done",
        }
    }
}

/// The words for outcomes, as the output schema lists them.
pub(crate) const OUTCOMES: [&str; 11] = [
    "done",
    "already_done",
    "pending",
    "unknown",
    "needs_person",
    "cannot_be_known",
    "not_done",
    "possible_duplicate",
    "waits_for_approval",
    "refused",
    "not_answered",
];

/// How an action stands.
pub(crate) fn of_status(status: &StatusView) -> Told {
    let outcome = Outcome::of(status);
    let structured = json!({
        "outcome": outcome.word(),
        "id": status.id,
        "request_key": status.key,
        "happened": status.happened,
        "safe_to_call_again": status.safe_to_call_again,
        "already_done": outcome == Outcome::AlreadyDone,
        "next_call": next_call(outcome, &status.id),
        "say": status.statement.say,
        "never_say": status.statement.never_say,
        "action": status,
    });
    Told {
        text: text(outcome, status),
        is_error: outcome == Outcome::NotDone,
        structured,
    }
}

fn next_call(outcome: Outcome, id: &str) -> Value {
    match outcome {
        Outcome::Pending | Outcome::Unknown | Outcome::NeedsPerson => {
            json!({"tool": "get_action", "arguments": {"id": id}, "after_s": LOOK_AFTER_S})
        }
        Outcome::Done | Outcome::AlreadyDone | Outcome::Closed | Outcome::NotDone => Value::Null,
    }
}

fn text(outcome: Outcome, status: &StatusView) -> String {
    let id = &status.id;
    let what = status.summary.clone();
    let what = what.unwrap_or_else(|| format!("{} at {}", status.operation, status.destination));
    let reference = status.receipt.as_ref();
    let reference = reference.map_or(String::new(), |known| {
        format!(", reference {}", known.reference)
    });
    let say = format!("You may say: {}", status.statement.say);
    match outcome {
        Outcome::Done => format!("Done: {what}{reference}. Action {id}."),
        Outcome::AlreadyDone => format!(
            "This was already done ({what}{reference}); it was recorded at {}, and nothing was sent again. Action {id}.",
            status.created_at
        ),
        Outcome::Pending => format!(
            "Not finished yet. Do not call this tool again for the same request. Check with get_action {id} in about \
             {LOOK_AFTER_S} s. Do not say that it is done. {say}"
        ),
        Outcome::Unknown => format!(
            "Outcome not known: it was sent and the answer was lost. It may or may not exist. Do not call this tool again. Say that \
             it is being checked; get_action {id} has the answer. {say}"
        ),
        Outcome::NeedsPerson => format!(
            "The outcome could not be determined automatically. A person has to check. Do not call this tool again. {say} Action {id}."
        ),
        Outcome::Closed => format!(
            "Whether it happened can no longer be found out; a person has ended the search. Do not repeat it. {say} Action {id}."
        ),
        Outcome::NotDone => {
            let because = status.because.as_deref().unwrap_or(match status.state {
                "cancelled" => "it was withdrawn",
                "expired" => "it was not done in time",
                _ => "it was declined",
            });
            let again = if status.safe_to_call_again {
                "Repeating the same call gives the same answer; a new try needs a new request_key."
            } else {
                "Repeating the same call gives the same answer."
            };
            format!("Not done: {because}. Nothing happened. {again} Action {id}.")
        }
    }
}

/// Nothing was recorded, or nobody can say whether it was.
pub(crate) fn of_problem(problem: &Problem, request_key: Option<&str>) -> Told {
    let (rule, remedy) = (sentence(&problem.rule), sentence(&problem.remedy));
    let (word, is_error, text) = match problem.code {
        Code::IdentityConflict => (
            "refused",
            true,
            format!(
                "Not sent: request_key was used before with other values. {rule} Use the earlier outcome, or a new request_key if this is \
                 a separate action."
            ),
        ),
        Code::QueueFull | Code::DiskFull => (
            "refused",
            true,
            format!(
                "Not done: {rule} Nothing was recorded or sent. Trying again later with the same request_key is safe."
            ),
        ),
        // After these the engine cannot say whether it has recorded the submission. The same key joins it then.
        code if code.status() >= 500 => {
            let key = request_key.map_or(String::new(), |key| format!(" {key:?}"));
            let text = format!(
                "Not known whether the request was taken: {rule} It may be carried out. If it is repeated, use the same request_key{key}: \
                 it cannot happen twice then. Do not say that it is done, or that it failed."
            );
            ("not_answered", false, text)
        }
        _ => (
            "refused",
            true,
            format!("Not done: {rule} {remedy} Nothing was recorded or sent."),
        ),
    };
    let mut structured = json!({"outcome": word, "problem": factum::problem_json(problem)});
    if let Some(key) = request_key {
        structured["request_key"] = key.into();
    }
    Told {
        text,
        is_error,
        structured,
    }
}

/// Equal content is under way or was carried out a moment ago.
pub(crate) fn of_twin(problem: &Problem, earlier: &StatusView) -> Told {
    let how = of_status(earlier);
    let text = format!(
        "Not sent: an action with the same content was asked for before, {} ({}). How that one stands: {} If the user wants a second \
         one, call again with another=true; otherwise this is the answer.",
        earlier.created_at, earlier.id, how.text
    );
    let structured = json!({
        "outcome": "possible_duplicate",
        "id": earlier.id,
        "earlier": how.structured,
        "problem": factum::problem_json(problem),
    });
    Told {
        text,
        is_error: false,
        structured,
    }
}

/// What is wrong with a question: nothing was meant to be done.
pub(crate) fn of_question(problem: &Problem) -> Told {
    let text = format!("{} {}", sentence(&problem.rule), sentence(&problem.remedy));
    let structured = json!({"outcome": "refused", "problem": factum::problem_json(problem)});
    Told {
        text,
        is_error: true,
        structured,
    }
}

fn sentence(fragment: &str) -> String {
    let mut text = fragment.to_owned();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    if !text.ends_with('.') {
        text.push('.');
    }
    text
}
