//! The page `docs/states.md` is generated here from the code; a stale page fails the test.

use std::fmt::Write as _;
use std::path::PathBuf;

use factum_core::policy::{Column, after_unknown};
use factum_core::promise::Consequence;
use factum_core::{State, Step};

use crate::kit::Story;
use crate::pairs::{SITUATIONS, contracts, rows, story_in};

#[test]
fn the_page_of_states_is_current() {
    let page = page().expect("writing into a string does not fail");
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/states.md");
    if std::env::var_os("UPDATE_DOCS").is_some_and(|set| set == "1") {
        let folder = path.parent().expect("the page lies in a folder");
        std::fs::create_dir_all(folder).expect("the folder of the docs can be made");
        std::fs::write(&path, &page).expect("the page can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/states.md is stale; write it anew with: UPDATE_DOCS=1 cargo test -p factum-core --test it states_page"
    );
}

fn page() -> Result<String, std::fmt::Error> {
    let mut page = String::from(INTRODUCTION);
    state_table(&mut page)?;
    policy_table(&mut page)?;
    page.push_str(PAIRS);
    for situation in &SITUATIONS {
        writeln!(page, "\n### `{}`: {}\n", situation.1.name(), situation.0)?;
        let heads: Vec<_> = contracts().into_iter().map(|(name, _)| name).collect();
        writeln!(page, "| recorded | {} |", heads.join(" | "))?;
        writeln!(page, "| --- | {}", "--- | ".repeat(heads.len()).trim_end())?;
        let still: Vec<_> = contracts()
            .iter()
            .map(|(_, promises)| cell(&story_in(situation, promises)))
            .collect();
        writeln!(page, "| *(nothing more)* | {} |", still.join(" | "))?;
        for (name, record) in rows() {
            let cells = contracts().map(|(_, promises)| {
                let mut story = story_in(situation, &promises);
                record(&mut story);
                cell(&story)
            });
            writeln!(page, "| {name} | {} |", cells.join(" | "))?;
        }
    }
    Ok(page)
}

fn cell(story: &Story) -> String {
    let (status, next) = (story.status(), story.next());
    let mut text = format!(
        "`{}`, {}",
        status.state.name(),
        status.state.happened().name()
    );
    for (mark, shown) in [
        (status.revised, "revised"),
        (status.duplicate_suspected(), "duplicate suspected"),
        (status.contradicted, "contradicted"),
        (status.reversed, "reversed"),
        (status.closed.is_some(), "closed"),
    ] {
        if mark {
            let _ = write!(text, ", {shown}");
        }
    }
    let kind = match next.step {
        Step::Send(plan) => format!("send ({})", plan.kind.name()),
        other => other.name().to_owned(),
    };
    format!("{text} → {kind}")
}

fn state_table(page: &mut String) -> std::fmt::Result {
    writeln!(
        page,
        "| state | what the evidence supports | `happened` | final |"
    )?;
    writeln!(page, "| --- | --- | --- | --- |")?;
    for state in State::ALL {
        let last = if state.is_final() { "yes" } else { "no" };
        let (name, happened) = (state.name(), state.happened().name());
        writeln!(
            page,
            "| `{name}` | {} | {happened} | {last} |",
            supports(state)
        )?;
    }
    Ok(())
}

fn supports(state: State) -> &'static str {
    match state {
        State::Pending => "recorded; nothing has been sent",
        State::Dispatching => "the first unresolved attempt is open, within its lease",
        State::Accepted => "the destination took it and has not confirmed its completion",
        State::Succeeded => "the effect exists; there is a receipt or a verdict",
        State::RetryableFailure => {
            "proven that nothing has happened so far; another attempt is due"
        }
        State::TerminalFailure => "declined, or given up, with proof that nothing happened",
        State::OutcomeUnknown => "a request may have taken effect",
        State::Cancelled => "withdrawn with proof that nothing happened",
        State::Expired => "the deadline passed with proof that nothing happened",
    }
}

fn policy_table(page: &mut String) -> std::fmt::Result {
    page.push_str(POLICY);
    let heads = Column::ALL.map(Column::name).join(" | ");
    writeln!(page, "| | {heads} |")?;
    writeln!(
        page,
        "| --- | {}",
        "--- | ".repeat(Column::ALL.len()).trim_end()
    )?;
    for consequence in Consequence::ALL {
        let cells = Column::ALL.map(|column| after_unknown(consequence, column).name());
        writeln!(page, "| {} | {} |", consequence.name(), cells.join(" | "))?;
    }
    Ok(())
}

const INTRODUCTION: &str = "# States, next steps and what leads to them

This page is generated from the code by the tests of `crates/core`; a stale page fails them. State is what the evidence so far
supports: a pure function of the intent, the contract and the records, whatever their order. `happened` says whether the effect
exists; a *final* state has nothing scheduled and is left only by a correction.

## The nine states

";

const POLICY: &str = "
## What is done about an unknown outcome

Columns are tried from the left, and the first that applies decides. A key whose window is over, whose send is barred, or that
only replays a stored error counts as absent.

";

const PAIRS: &str = "
## Every state with every kind of record

What one more record makes of an action: the state, `happened`, marks, and the next step. All are shown for a costly operation
whose destination recognises a key, has an authoritative lookup, or offers neither; the first two can also cancel by key. Attempt
1 was marked at the submission, and the record comes 200 s later, when nothing of that attempt can land any more. Some records
cannot follow in practice (an answer to an attempt that was never marked); they are shown because the fold is defined for all.
";
