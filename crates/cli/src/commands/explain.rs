//! `factum explain`: the page of a problem code, a state, a next step, or the exit codes. Built in; it asks nobody.

use std::process::ExitCode;

use factum::{Code, State};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::out::Out;
use crate::{exit, render};

pub(crate) const HELP: &str = "Examples:\n  factum explain F1007\n  factum explain outcome_unknown\n  factum explain exit-codes\n  factum explain";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A code such as F1007, a state, a next step, or exit-codes; nothing lists them all
    #[arg(value_name = "WHAT")]
    what: Option<String>,
}

macro_rules! pages {
    ($($code:literal),* $(,)?) => {
        /// The page of every problem code.
        const PAGES: &[(&str, &str)] = &[$(($code, include_str!(concat!("../../../../docs/errors/", $code, ".md")))),*];
    };
}

pages![
    "F1001", "F1002", "F1003", "F1004", "F1005", "F1006", "F1007", "F1008", "F1009", "F1010",
    "F1011", "F1012", "F1013", "F1014", "F1015", "F1016", "F1017", "F1018", "F1020", "F1021",
    "F1022", "F1023", "F1024", "F1025", "F1026", "F1027", "F1028", "F1029", "F1030", "F1031",
    "F1032", "F1033", "F1034", "F1040", "F1041", "F1042", "F1050", "F1051", "F1052", "F1053",
    "F1054", "F1055", "F1060", "F1061", "F1062", "F1063", "F1064", "F1080", "F1081", "F1082",
    "F1083", "F1084", "F1085", "F1100", "F1101", "F1102", "F1103", "F1104", "F1110", "F1111",
    "F1112", "F1113", "F1120", "F1121", "F1122", "F1130", "F1131", "F1132", "F1150", "F1151",
    "F1160", "F1161", "F1162", "F1163", "F1170", "F1171", "F1172", "F1190", "F1191", "F1192",
];

/// What the engine does next, by its word.
const STEPS: &[(&str, &str)] = &[
    (
        "send",
        "It sends an effect request, at the time shown, once it holds a permission for it.",
    ),
    (
        "look_up",
        "It asks the destination whether the effect exists. Asking has no effect there.",
    ),
    (
        "poll",
        "It asks the destination how the work that it accepted stands. Asking has no effect there.",
    ),
    (
        "cancel_by_key",
        "It withdraws whatever exists under the key, so that nothing can land any more. This is an effect request too: \
         marked, bounded and recorded.",
    ),
    (
        "wait",
        "It waits until the time shown: for a callback, for a request in flight, or for `not_before`.",
    ),
    (
        "review",
        "A person has to decide. Nothing is sent meanwhile; lookups may go on and may settle it. See `factum review`, then \
         `factum verdict`.",
    ),
    (
        "none",
        "Nothing. The action is settled, or a person closed the search.",
    ),
];

pub(crate) fn run(args: &Args, out: Out) -> Result<ExitCode, Failure> {
    let Some(what) = &args.what else {
        list(out);
        return Ok(exit::code(exit::OK));
    };
    let page = page(what).ok_or_else(|| {
        Failure::not_found(
            format!("there is no page on {what:?}"),
            "run `factum explain` for the list of pages",
        )
    })?;
    if out.json {
        out.value(&json!({"what": what, "page": page}));
    } else {
        out.line(page.trim_end());
    }
    Ok(exit::code(exit::OK))
}

/// The page on a code, a state, a step or the exit codes.
fn page(what: &str) -> Option<String> {
    if let Some(code) = Code::from_code(what) {
        return PAGES
            .iter()
            .find(|(name, _)| *name == code.code())
            .map(|(_, page)| (*page).to_owned());
    }
    let word = what.to_lowercase().replace('-', "_");
    if word == "exit_codes" {
        return Some(format!("# Exit codes\n\n{}", exit::table()));
    }
    let state = State::from_name(&word).map(state_page);
    let step = STEPS.iter().find(|(name, _)| *name == word);
    state.or(step.map(|(name, says)| format!("# {name}: a next step\n\n{says}\n")))
}

fn state_page(state: State) -> String {
    let (supports, leaves, todo) = state_words(state);
    format!(
        "# {}: a state\n\nWhat the evidence supports: {supports}\n\nDid it happen: {}. {}\n\nHow it goes on: {leaves}\n\n\
         What to do: {todo}\n",
        state.name(),
        state.happened().name(),
        match state {
            State::TerminalFailure | State::Cancelled | State::Expired =>
                "A new submission under another key cannot make a second effect, as far as the status says \
                 `safe_to_call_again`.",
            State::Succeeded => "Another key would make a second effect.",
            State::Pending
            | State::Dispatching
            | State::Accepted
            | State::RetryableFailure
            | State::OutcomeUnknown =>
                "Another key could make a second effect; the same key always joins and is always safe.",
        },
    )
}

/// Per state: what the evidence supports, how it goes on, what a person can do.
fn state_words(state: State) -> (&'static str, &'static str, &'static str) {
    match state {
        State::Pending => (
            "recorded; nothing has been sent.",
            "it is sent at the time shown, or ends by a cancel or its deadline.",
            "nothing; `factum cancel` still stops it for certain.",
        ),
        State::Dispatching => (
            "an attempt is open, within its lease.",
            "with any word of the attempt, or when its lease runs out.",
            "wait.",
        ),
        State::Accepted => (
            "the destination took it and has not confirmed its completion.",
            "with a poll, a callback or a lookup that says how it ended.",
            "wait. Accepted is not done.",
        ),
        State::Succeeded => (
            "the effect exists; there is a receipt, or a person's verdict.",
            "it is settled. Only later evidence corrects it.",
            "nothing. If `duplicate_suspected` is set, look at both receipts.",
        ),
        State::RetryableFailure => (
            "it is proven that nothing has happened so far; another attempt is due.",
            "with the next attempt, or an end.",
            "nothing; `factum evidence` shows what stood in the way.",
        ),
        State::TerminalFailure => (
            "declined, or given up, with proof that nothing happened.",
            "it is settled. Only a later receipt corrects it, and is then marked `revised`.",
            "read `because`; correct the cause, then submit again under another key.",
        ),
        State::OutcomeUnknown => (
            "a request may have taken effect, and its answer was lost or said nothing that can be relied on.",
            "the engine finds out where the destination allows it: it sends again under the same key, looks up, or cancels by \
             key. Elsewhere a person does.",
            "do not submit again under another key. If the next step is `review`, look at the destination and say what you \
             found: `factum verdict`.",
        ),
        State::Cancelled => (
            "withdrawn, with proof that nothing happened.",
            "it is settled. Only a later receipt corrects it.",
            "nothing.",
        ),
        State::Expired => (
            "the deadline passed, with proof that nothing happened.",
            "it is settled. Only a later receipt corrects it.",
            "submit again under another key, if it is still wanted.",
        ),
    }
}

fn list(out: Out) {
    let codes: Vec<Value> = Code::ALL
        .iter()
        .map(|code| json!({"what": code.code(), "title": code.title()}))
        .collect();
    let states: Vec<&str> = State::ALL.iter().map(|state| state.name()).collect();
    let steps: Vec<&str> = STEPS.iter().map(|(name, _)| *name).collect();
    if out.json {
        out.value(
            &json!({"codes": codes, "states": states, "steps": steps, "other": ["exit-codes"]}),
        );
        return;
    }
    let mut table = render::table(out, &["code", "HTTP", "what it says"]);
    for code in Code::ALL {
        table.add_row(vec![
            code.code().to_owned(),
            code.status().to_string(),
            code.title().to_owned(),
        ]);
    }
    out.line(table);
    out.line(format_args!("states      {}", states.join(", ")));
    out.line(format_args!("next steps  {}", steps.join(", ")));
    out.line("and         exit-codes");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_state_and_step_has_its_page() {
        for code in Code::ALL {
            let page = page(code.code()).unwrap_or_default();
            assert!(
                page.starts_with(&format!("# {}", code.code())),
                "{}",
                code.code()
            );
        }
        assert_eq!(PAGES.len(), Code::ALL.len());
        for state in State::ALL {
            assert!(
                page(state.name()).is_some_and(|page| page.contains(state.happened().name())),
                "{}",
                state.name()
            );
        }
        for word in [
            "send",
            "look_up",
            "poll",
            "cancel_by_key",
            "wait",
            "review",
            "none",
            "exit-codes",
        ] {
            assert!(page(word).is_some(), "{word}");
        }
        assert!(page("F9999").is_none());
    }
}
