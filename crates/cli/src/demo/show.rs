//! The result for people and for scripts, and the progress on the way.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use comfy_table::{CellAlignment, Table, presets};
use factum_testbed::{Kind, Mode};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use crate::out::Out;
use crate::trial::judge::{Tally, Verdict};
use crate::trial::load::combinations;
use crate::trial::settled::SettledBy;

/// Between two lines of progress where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(3);

/// The progress: a bar on a terminal, a line now and then elsewhere, nothing for scripts.
pub(super) struct Screen {
    out: Out,
    bar: Option<ProgressBar>,
    last_line: Mutex<Option<Instant>>,
}

impl Screen {
    /// For a run of so many actions.
    pub(super) fn new(out: Out, actions: usize) -> Self {
        let bar = (out.terminal && !out.json).then(|| {
            let style = ProgressStyle::with_template("{bar:40} {pos}/{len} at rest  {msg}");
            ProgressBar::new(actions as u64)
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        Self {
            out,
            bar,
            last_line: Mutex::new(None),
        }
    }

    /// A line for people.
    pub(super) fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None if self.out.json => {}
            None => self.out.line(text),
        }
    }

    /// How far it is.
    pub(super) fn progress(&self, resting: usize, actions: usize, message: &str) {
        if let Some(bar) = &self.bar {
            bar.set_length(actions as u64);
            bar.set_position(resting as u64);
            bar.set_message(message.to_owned());
            return;
        }
        let mut last = self
            .last_line
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let now = Instant::now();
        if last.is_none_or(|last| now - last >= LINE_EVERY) {
            *last = Some(now);
            drop(last);
            self.line(&format!("  {resting} of {actions} at rest; {message}"));
        }
    }

    /// Takes the bar away.
    pub(super) fn done(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The object for scripts.
pub(super) fn object(verdict: &Verdict, kills: u32, seed: u64) -> Value {
    let mut object = numbers(&verdict.total);
    object["kills"] = kills.into();
    object["seed"] = seed.into();
    object["laws_broken"] = verdict.broken.len().into();
    object["broken"] = verdict
        .broken
        .iter()
        .map(|broken| json!({"law": broken.law, "saw": broken.saw}))
        .collect::<Vec<_>>()
        .into();
    object["kinds"] = verdict
        .kinds
        .iter()
        .map(|((kind, mode), tally)| {
            let mut line = numbers(tally);
            line["kind"] = kind.name().into();
            line["mode"] = mode.name().into();
            line
        })
        .collect::<Vec<_>>()
        .into();
    object
}

fn numbers(tally: &Tally) -> Value {
    let settled_by: serde_json::Map<String, Value> = SettledBy::ALL
        .iter()
        .map(|by| (by.name().to_owned(), tally.by(*by).into()))
        .collect();
    json!({
        "actions": tally.actions,
        "sent": tally.sent,
        "answers_lost": tally.answers_lost,
        "effects": tally.effects,
        "duplicates": tally.duplicates,
        "missing": tally.missing,
        "false_success": tally.false_success,
        "false_failure": tally.false_failure,
        "lost": tally.lost,
        "settled": tally.settled,
        "in_review": tally.in_review,
        "unknown_without_review": tally.unknown_without_review,
        "unfinished": tally.unfinished,
        "waits_for": tally.waits_for,
        "settled_by": settled_by,
    })
}

/// What was sent, and what became of it at the destination.
const THERE: [&str; 8] = [
    "destination",
    "submitted",
    "sent",
    "answers\nlost",
    "effects\nthere",
    "duplicates",
    "false\n\"done\"",
    "false\n\"failed\"",
];
/// By what it was settled, and what was not.
const HERE: [&str; 9] = [
    "settled by",
    "reply",
    "same\nkey",
    "lookup",
    "poll",
    "cancel\nby key",
    "person",
    "still\nunknown",
    "waits for\na person",
];

/// The tables for people: a line per kind of destination that was used, and their sum.
pub(super) fn tables(verdict: &Verdict) -> String {
    format!(
        "{}\n\n{}",
        table(&THERE, there, verdict),
        table(&HERE, here, verdict)
    )
}

fn table(headings: &[&str], row: impl Fn(&Tally) -> Vec<u64>, verdict: &Verdict) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_BORDERS_ONLY)
        .set_header(headings);
    let line = |name: String, tally: &Tally| -> Vec<String> {
        std::iter::once(name)
            .chain(row(tally).iter().map(u64::to_string))
            .collect()
    };
    for (kind, mode) in combinations() {
        if let Some(tally) = verdict.kinds.get(&(kind, mode)) {
            table.add_row(line(
                format!("{}, {}", kind_says(kind), mode_says(mode)),
                tally,
            ));
        }
    }
    table.add_row(line("all".to_owned(), &verdict.total));
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

fn there(tally: &Tally) -> Vec<u64> {
    vec![
        tally.actions,
        tally.sent,
        tally.answers_lost,
        tally.effects,
        tally.duplicates,
        tally.false_success,
        tally.false_failure,
    ]
}

fn here(tally: &Tally) -> Vec<u64> {
    let by = SettledBy::ALL.iter().map(|by| tally.by(*by));
    by.chain([tally.unknown_without_review, tally.in_review])
        .collect()
}

fn kind_says(kind: Kind) -> &'static str {
    match kind {
        Kind::Key => "key",
        Kind::Cancel => "cancel by key",
        Kind::Lookup => "authoritative lookup",
        Kind::Lagging => "lagging lookup",
        Kind::Neither => "neither",
        Kind::Elsewhere => "elsewhere",
        Kind::StandIn(operation) => operation.name(),
    }
}

fn mode_says(mode: Mode) -> &'static str {
    match mode {
        Mode::Sync => "synchronous",
        Mode::Queued => "queued",
    }
}

/// What it comes down to, in sentences.
pub(super) fn summary(verdict: &Verdict, kills: u32) -> Vec<String> {
    let total = &verdict.total;
    let mut lines = vec![format!(
        "{} actions were accepted, {} requests sent, {} answers lost, the engine killed {} times.",
        total.actions, total.sent, total.answers_lost, kills
    )];
    lines.push(format!(
        "The destination's ledger holds {} effects: {} duplicates, {} false \"done\", {} false \"failed\", {} lost.",
        total.effects, total.duplicates, total.false_success, total.false_failure, total.lost
    ));
    let why = if total.in_review > 0 { ":" } else { "." };
    lines.push(format!(
        "{} are settled, {} wait for a person{why}",
        total.settled, total.in_review
    ));
    lines.extend(
        total
            .waits_for
            .iter()
            .map(|(why, count)| format!("  {count:>4}  {why}")),
    );
    if total.unfinished > 0 {
        lines.push(format!(
            "{} were still being worked on when the time was over; each has a next step with a time.",
            total.unfinished
        ));
    }
    lines.extend(
        verdict
            .broken
            .iter()
            .map(|broken| format!("LAW {} BROKEN: {}", broken.law, broken.saw)),
    );
    if verdict.broken.is_empty() {
        lines.push("No law was broken.".to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_get_every_number_that_is_promised() {
        let object = object(&Verdict::default(), 3, 1);
        for name in [
            "actions",
            "effects",
            "duplicates",
            "missing",
            "false_success",
            "false_failure",
            "lost",
            "settled",
            "in_review",
            "unknown_without_review",
            "answers_lost",
            "kills",
            "laws_broken",
        ] {
            assert!(object[name].is_u64(), "{name}");
        }
        for by in [
            "reply",
            "same_key",
            "lookup",
            "poll",
            "cancel_by_key",
            "person",
        ] {
            assert!(object["settled_by"][by].is_u64(), "{by}");
        }
    }

    #[test]
    fn each_table_has_a_cell_for_every_heading() {
        assert_eq!(there(&Tally::default()).len() + 1, THERE.len());
        assert_eq!(here(&Tally::default()).len() + 1, HERE.len());
    }
}
