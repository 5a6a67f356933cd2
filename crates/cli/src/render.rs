//! Tables and lines for people. A state has its word, and on a terminal with colours its icon and its colour.

use comfy_table::{Cell, Color, ColumnConstraint, ContentArrangement, Table, presets};
use factum::signs::{Sign, Tone};
use serde_json::Value;

use crate::out::Out;

/// How a terminal says bold blue and the like.
fn code(tone: Tone) -> u8 {
    match tone {
        Tone::Grey => 90,
        Tone::Blue => 34,
        Tone::Cyan => 36,
        Tone::Green => 32,
        Tone::Yellow => 33,
        Tone::Red => 31,
        Tone::Magenta => 35,
        Tone::Dim => 2,
    }
}

fn color(tone: Tone) -> Color {
    match tone {
        Tone::Grey | Tone::Dim => Color::DarkGrey,
        Tone::Blue => Color::DarkBlue,
        Tone::Cyan => Color::DarkCyan,
        Tone::Green => Color::DarkGreen,
        Tone::Yellow => Color::DarkYellow,
        Tone::Red => Color::DarkRed,
        Tone::Magenta => Color::DarkMagenta,
    }
}

/// A state's word in its colour.
pub(crate) fn state(out: Out, word: &str) -> String {
    match Sign::of_word(word).filter(|_| out.color) {
        Some(sign) => format!("\u{1b}[{}m{} {word}\u{1b}[0m", code(sign.tone), sign.glyph),
        None => word.to_owned(),
    }
}

/// The narrowest terminal that tables are fitted to; on a narrower one its own line breaks read better.
const WIDTH_LEAST: u16 = 80;

/// An empty table with these heads.
pub(crate) fn table(out: Out, heads: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_header(heads.to_vec());
    if out.terminal {
        // A terminal that tells no width, or next to none, would get a column of single letters.
        if table.width().is_some_and(|width| width >= WIDTH_LEAST) {
            table.set_content_arrangement(ContentArrangement::Dynamic);
        }
        // The first column names the row. Broken over two lines, an id could not be copied.
        if let Some(first) = table.column_mut(0) {
            first.set_constraint(ColumnConstraint::ContentWidth);
        }
    } else {
        table.force_no_tty();
    }
    table
}

/// A cell with a state's word.
pub(crate) fn state_cell(out: Out, word: &str) -> Cell {
    match Sign::of_word(word).filter(|_| out.color) {
        Some(sign) => Cell::new(format!("{} {word}", sign.glyph)).fg(color(sign.tone)),
        None => Cell::new(word),
    }
}

/// A text member; empty where it is missing or null.
pub(crate) fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_default()
}

/// Many statuses, one per row.
pub(crate) fn statuses(out: Out, statuses: &[Value]) -> String {
    let mut table = table(
        out,
        &[
            "action",
            "state",
            "destination",
            "operation",
            "key",
            "next",
            "summary",
        ],
    );
    for status in statuses {
        table.add_row(vec![
            Cell::new(text(status, "id")),
            state_cell(out, text(status, "state")),
            Cell::new(text(status, "destination")),
            Cell::new(text(status, "operation")),
            Cell::new(text(status, "key")),
            Cell::new(next(status)),
            Cell::new(text(status, "summary")),
        ]);
    }
    table.to_string()
}

/// One status over several lines, with what may be said to a customer.
pub(crate) fn status(out: Out, status: &Value) -> String {
    worded(out, status, "may be said")
}

/// One status whose statement is for operators: it says more than may be said to a customer.
pub(crate) fn status_for_operators(out: Out, status: &Value) -> String {
    worded(out, status, "in short")
}

fn worded(out: Out, status: &Value, statement: &str) -> String {
    let mut lines = vec![format!(
        "{}  {}",
        text(status, "id"),
        state(out, text(status, "state"))
    )];
    let mut member = |name: &str, value: &str| {
        if !value.is_empty() {
            lines.push(format!("  {name:<12} {value}"));
        }
    };
    member(
        "what",
        &format!(
            "{} at {}",
            text(status, "operation"),
            text(status, "destination")
        ),
    );
    member("summary", text(status, "summary"));
    for (pointer, value) in status["shown"].as_object().into_iter().flatten() {
        let plain = value.as_str().map(str::to_owned);
        member(pointer, &plain.unwrap_or_else(|| value.to_string()));
    }
    member("subject", text(status, "subject"));
    member("key", text(status, "key"));
    member("for", text(status, "for"));
    member("recorded", text(status, "created_at"));
    member("attempts", &status["attempts"].to_string());
    member("receipt", text(&status["receipt"], "reference"));
    member("because", text(status, "because"));
    member("next", &next(status));
    member("why", text(&status["next"], "why"));
    member(statement, text(&status["statement"], "say"));
    member("contact", text(&status["contact"], "say"));
    if let Some(closed) = status["closed"].as_object() {
        let part = |name: &str| {
            closed
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        member(
            "closed",
            &format!("by {} at {}: {}", part("by"), part("at"), part("why")),
        );
    }
    member("marks", &marks(status).join(", "));
    lines.join("\n")
}

/// One status on one line, for `watch`.
pub(crate) fn change(out: Out, status: &Value) -> String {
    let mut line = format!(
        "{}  {:<18} {}",
        text(status, "id"),
        state(out, text(status, "state")),
        next(status)
    );
    let receipt = text(&status["receipt"], "reference");
    if !receipt.is_empty() {
        line.push_str(&format!("  {receipt}"));
    }
    let why = text(&status["next"], "why");
    if !why.is_empty() {
        line.push_str(&format!("  ({why})"));
    }
    line
}

/// What is done next, and when.
pub(crate) fn next(status: &Value) -> String {
    let next = &status["next"];
    match next["at"].as_str() {
        Some(at) => format!("{} at {}", text(next, "do"), short(at)),
        None => text(next, "do").to_owned(),
    }
}

/// An instant without its fraction of a second.
fn short(at: &str) -> String {
    match at.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => at.to_owned(),
    }
}

fn marks(status: &Value) -> Vec<&'static str> {
    [
        ("revised", "settled otherwise before"),
        ("reversed", "undone later"),
        ("duplicate_suspected", "more than one effect seen"),
    ]
    .into_iter()
    .filter(|(member, _)| status[*member].as_bool() == Some(true))
    .map(|(_, words)| words)
    .collect()
}

/// The log of an action, one record per row.
pub(crate) fn evidence(out: Out, log: &Value) -> String {
    let mut table = table(out, &["#", "stored", "fact", "what it says"]);
    for record in log["evidence"].as_array().into_iter().flatten() {
        table.add_row(vec![
            record["id"].to_string(),
            text(record, "at").to_owned(),
            text(record, "fact").to_owned(),
            text(record, "says").to_owned(),
        ]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_state_has_its_own_word_and_a_colour() {
        let color = Out {
            json: false,
            color: true,
            terminal: true,
        };
        let plain = Out {
            json: false,
            color: false,
            terminal: false,
        };
        for known in factum::State::ALL {
            let shown = state(color, known.name());
            let own = format!("{} {}", Sign::of(known).glyph, known.name());
            assert!(shown.contains("\u{1b}[") && shown.contains(&own), "{shown}");
            assert_eq!(state(plain, known.name()), known.name());
        }
        assert_eq!(state(color, "no state"), "no state");
    }

    #[test]
    fn a_status_shows_what_may_be_said_and_leaves_out_what_is_empty() {
        let plain = Out {
            json: false,
            color: false,
            terminal: false,
        };
        let shown = status(
            plain,
            &json!({
                "id": "act_1", "state": "outcome_unknown", "destination": "helpdesk", "operation": "ticket.create",
                "attempts": 1, "next": {"do": "look_up", "at": "2026-11-29T12:00:00.5Z", "why": "answer lost"},
                "statement": {"say": "We do not know yet."}, "duplicate_suspected": true,
            }),
        );
        assert!(
            shown.contains("look_up at 2026-11-29T12:00:00Z")
                && shown.contains("We do not know yet."),
            "{shown}"
        );
        assert!(
            shown.contains("more than one effect seen") && !shown.contains("summary"),
            "{shown}"
        );
    }
}
