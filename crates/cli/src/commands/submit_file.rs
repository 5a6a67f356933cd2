//! `factum submit --file`: one submission per line, streamed, so many under way at once. Refused lines do not stop the others.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, BufReader};
use tokio::task::JoinSet;

use super::status::NOBODY_SERVES;
use super::submit::{patiently, unreadable};
use crate::access::{Access, rests};
use crate::failure::Failure;
use crate::out::Out;
use crate::{exit, render};

/// Refused lines that are named for people; JSON names all.
const NAMED_MAX: usize = 20;

/// What is submitted, and how patiently.
pub(crate) struct Options {
    pub(crate) file: PathBuf,
    pub(crate) wait: Duration,
    pub(crate) concurrency: usize,
    pub(crate) retry_for: Duration,
}

/// What became of the lines.
#[derive(Default)]
struct Summary {
    lines: u64,
    submitted: u64,
    joined: u64,
    refused: Vec<(u64, Failure)>,
    states: BTreeMap<String, u64>,
    moving: VecDeque<String>,
    unrested: bool,
    /// Why the wait ended early: nobody could be asked any more.
    unheard: Option<Failure>,
}

/// Submits every line and says what became of them.
pub(crate) async fn run(access: Access, options: Options, out: Out) -> Result<ExitCode, Failure> {
    let name = options.file.display().to_string();
    let input: Box<dyn AsyncBufRead + Unpin + Send> = if name == "-" {
        Box::new(BufReader::new(tokio::io::stdin()))
    } else {
        match tokio::fs::File::open(&options.file).await {
            Ok(file) => Box::new(BufReader::new(file)),
            Err(error) => {
                access.close().await?;
                return Err(unreadable(&name, &error));
            }
        }
    };
    let local = access.is_local();
    let access = Arc::new(access);
    let done = submit(&access, input, &options, progress(&options.file, out)).await;
    let summary = match done {
        Ok(summary) => settled(&access, summary, options.wait).await,
        Err(error) => Err(unreadable(&name, &error)),
    };
    if let Some(access) = Arc::into_inner(access) {
        access.close().await?;
    }
    let summary = summary?;
    let code = summary.exit();
    if out.json {
        out.value(&summary.json());
    } else {
        summary.show(out);
    }
    if let Some(failure) = &summary.unheard {
        out.failure(failure);
    }
    if local && (summary.unrested || !summary.moving.is_empty()) {
        out.note(NOBODY_SERVES);
    }
    Ok(exit::code(code))
}

async fn submit(
    access: &Arc<Access>,
    mut input: Box<dyn AsyncBufRead + Unpin + Send>,
    options: &Options,
    bar: ProgressBar,
) -> std::io::Result<Summary> {
    let mut summary = Summary::default();
    let mut under_way = JoinSet::new();
    let mut number = 0_u64;
    loop {
        let mut line = Vec::new();
        let read = input.read_until(b'\n', &mut line).await?;
        number += 1;
        bar.inc(read as u64);
        if read > 0 && !line.trim_ascii().is_empty() {
            while under_way.len() >= options.concurrency
                && let Some(ended) = under_way.join_next().await
            {
                summary.take(ended, &bar);
            }
            let (access, retry_for) = (access.clone(), options.retry_for);
            under_way.spawn(async move {
                let status = patiently(&access, line.trim_ascii(), Duration::ZERO, retry_for).await;
                (number, status)
            });
        }
        if read == 0 {
            break;
        }
    }
    while let Some(ended) = under_way.join_next().await {
        summary.take(ended, &bar);
    }
    bar.finish_and_clear();
    summary.refused.sort_by_key(|(line, _)| *line);
    Ok(summary)
}

/// Waits for the rest of what was submitted, all within one time. A server that is away for a while is asked again.
async fn settled(
    access: &Access,
    mut summary: Summary,
    wait: Duration,
) -> Result<Summary, Failure> {
    let deadline = tokio::time::Instant::now() + wait;
    while !wait.is_zero()
        && let Some(id) = summary.moving.pop_front()
    {
        let left = deadline.saturating_duration_since(tokio::time::Instant::now());
        match access.status(&id, left).await {
            Ok(status) => summary.count(&status),
            Err(failure) => {
                let after = failure.passing().ok_or_else(|| failure.clone())?;
                summary.moving.push_front(id);
                let again = tokio::time::Instant::now() + after;
                if again >= deadline {
                    summary.unheard = Some(failure);
                    break;
                }
                tokio::time::sleep_until(again).await;
            }
        }
    }
    Ok(summary)
}

impl Summary {
    fn take(
        &mut self,
        ended: Result<(u64, Result<Value, Failure>), tokio::task::JoinError>,
        bar: &ProgressBar,
    ) {
        self.lines += 1;
        bar.set_message(format!(
            "{} lines, {} refused",
            self.lines,
            self.refused.len()
        ));
        match ended {
            Ok((_, Ok(status))) => {
                if status["joined"].as_bool() == Some(true) {
                    self.joined += 1;
                } else {
                    self.submitted += 1;
                }
                if rests(&status) {
                    self.count(&status);
                } else {
                    self.moving
                        .push_back(render::text(&status, "id").to_owned());
                }
            }
            Ok((line, Err(failure))) => self.refused.push((line, failure)),
            Err(error) => self.refused.push((
                0,
                Failure::other(
                    format!("a line broke off: {error}"),
                    "submit the file again; what is recorded joins",
                ),
            )),
        }
    }

    fn count(&mut self, status: &Value) {
        self.unrested |= !rests(status);
        *self
            .states
            .entry(render::text(status, "state").to_owned())
            .or_default() += 1;
    }

    /// The worst of what became of the lines.
    fn exit(&self) -> u8 {
        let exits: Vec<u8> = self
            .refused
            .iter()
            .map(|(_, failure)| failure.exit)
            .collect();
        if exits.contains(&exit::UNAVAILABLE) || self.unheard.is_some() {
            exit::UNAVAILABLE
        } else if exits.is_empty() {
            exit::OK
        } else {
            exit::REFUSED
        }
    }

    fn json(&self) -> Value {
        let refused: Vec<Value> = self
            .refused
            .iter()
            .map(|(line, failure)| json!({"line": line, "problem": failure.problem}))
            .collect();
        json!({
            "lines": self.lines, "submitted": self.submitted, "joined": self.joined,
            "refused": refused.len(), "refusals": refused,
            "states": self.states, "not_waited_for": self.moving.len(),
        })
    }

    fn show(&self, out: Out) {
        let mut table = render::table(out, &["lines", "submitted", "joined", "refused"]);
        table.add_row(vec![
            self.lines,
            self.submitted,
            self.joined,
            self.refused.len() as u64,
        ]);
        out.line(table);
        if !self.states.is_empty() {
            let mut table = render::table(out, &["state", "actions"]);
            for (state, count) in &self.states {
                table.add_row(vec![render::state_cell(out, state), count.into()]);
            }
            out.line(table);
        }
        if !self.moving.is_empty() {
            out.line(format_args!(
                "{} more are on their way; --wait waits for them",
                self.moving.len()
            ));
        }
        for (line, failure) in self.refused.iter().take(NAMED_MAX) {
            out.line(format_args!("line {line}: {}", failure.text()));
        }
        if self.refused.len() > NAMED_MAX {
            out.line(format_args!(
                "… and {} more refused lines; --json names all",
                self.refused.len() - NAMED_MAX
            ));
        }
    }
}

/// A bar over the file's bytes, on a terminal only.
fn progress(file: &std::path::Path, out: Out) -> ProgressBar {
    let length = std::fs::metadata(file)
        .map(|meta| meta.len())
        .unwrap_or_default();
    if out.json || !out.terminal || length == 0 {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(length);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {percent:>3} %  {msg}") {
        bar.set_style(style);
    }
    bar
}
