//! Why a command could not do what it was asked to: one shape for problems from here and from a server.
//!
//! It never holds a secret or a payload; problems name members, not values.

use std::time::Duration;

use factum::{Code, Problem, problem_json};
use serde_json::{Value, json};

use crate::exit;

/// A problem as JSON (RFC 9457), and the exit code that goes with it.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    /// The problem.
    pub(crate) problem: Value,
    /// The exit code.
    pub(crate) exit: u8,
}

impl Failure {
    /// A problem as a server sent it.
    pub(crate) fn from_server(problem: Value) -> Self {
        let code = problem["code"].as_str().unwrap_or_default();
        let exit = exit::of_problem(code, problem["status"].as_u64().unwrap_or_default());
        Self { problem, exit }
    }

    /// Wrong usage that only the command can see.
    pub(crate) fn usage(rule: impl Into<String>, remedy: &str) -> Self {
        Self::plain(exit::USAGE, "the command was used wrongly", rule, remedy)
    }

    /// Something that does not exist.
    pub(crate) fn not_found(rule: impl Into<String>, remedy: &str) -> Self {
        Self::plain(exit::NOT_FOUND, "there is no such thing", rule, remedy)
    }

    /// Nobody could be asked.
    pub(crate) fn unavailable(rule: impl Into<String>, remedy: &str) -> Self {
        Self::plain(exit::UNAVAILABLE, "nobody could be asked", rule, remedy)
    }

    /// A failure without a code of its own.
    pub(crate) fn other(rule: impl Into<String>, remedy: &str) -> Self {
        Self::plain(exit::FINDINGS, "the command failed", rule, remedy)
    }

    fn plain(exit: u8, title: &str, rule: impl Into<String>, remedy: &str) -> Self {
        Self {
            problem: json!({"title": title, "rule": rule.into(), "remedy": remedy}),
            exit,
        }
    }

    /// The same, naming what it is about, unless that was said already.
    pub(crate) fn about(mut self, member: &str) -> Self {
        if self.problem["member"].is_null() {
            self.problem["member"] = member.into();
        }
        self
    }

    /// The same, with another remedy: what to do depends on who was asked.
    pub(crate) fn remedied(mut self, remedy: &str) -> Self {
        self.problem["remedy"] = remedy.into();
        self
    }

    /// The problem's code, where it has one.
    pub(crate) fn code(&self) -> Option<Code> {
        Code::from_code(self.problem["code"].as_str()?)
    }

    /// Whether the same call may work later, and after how long it is worth trying.
    pub(crate) fn passing(&self) -> Option<Duration> {
        let after = self.problem["retry_after"]
            .as_u64()
            .map(Duration::from_secs);
        (self.exit == exit::UNAVAILABLE).then(|| after.unwrap_or(Duration::from_millis(200)))
    }

    /// For people, over several lines.
    pub(crate) fn text(&self) -> String {
        let part = |name: &str| self.problem[name].as_str().filter(|text| !text.is_empty());
        let mut text = match part("code") {
            Some(code) => format!("error {code}: "),
            None => "error: ".to_owned(),
        };
        text.push_str(
            part("rule")
                .or(part("title"))
                .unwrap_or("the server gave no reason"),
        );
        for name in ["member", "action", "remedy"] {
            if let Some(value) = part(name) {
                text.push_str(&format!("\n  {name}: {value}"));
            }
        }
        text
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::from_server(problem_json(&problem))
    }
}

impl From<factum_store::StoreError> for Failure {
    fn from(error: factum_store::StoreError) -> Self {
        Problem::from(error).into()
    }
}
