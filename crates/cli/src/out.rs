//! What goes to standard output and standard error. Results go out, everything else goes to the error stream.
//!
//! With `--json` standard output holds one JSON value and nothing else. A reader that went away is no error.

use std::fmt::Display;
use std::io::{IsTerminal, Write};

use serde_json::Value;

use crate::failure::Failure;
use crate::place;

/// Where and how to write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Out {
    /// Machine-readable.
    pub(crate) json: bool,
    /// Standard output is a terminal that wants colour.
    pub(crate) color: bool,
    /// Standard output is a terminal.
    pub(crate) terminal: bool,
}

impl Out {
    /// Colour only on a terminal, and never where `NO_COLOR` is set.
    pub(crate) fn new(json: bool) -> Self {
        let terminal = std::io::stdout().is_terminal();
        Self {
            json,
            terminal,
            color: terminal && !json && !place::no_color(),
        }
    }

    /// A line of a result.
    pub(crate) fn line(self, text: impl Display) {
        let _ = writeln!(std::io::stdout(), "{text}");
    }

    /// A result as JSON: readable on a terminal, one line elsewhere.
    pub(crate) fn value(self, value: &Value) {
        if self.terminal {
            self.line(format_args!("{value:#}"));
        } else {
            self.line(value);
        }
    }

    /// A remark for people, beside the result.
    pub(crate) fn note(self, text: impl Display) {
        if !self.json {
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }

    /// How far a long run is, on standard error whatever the form of the result.
    #[cfg(feature = "proof")]
    pub(crate) fn progress(self, text: impl Display) {
        let _ = writeln!(std::io::stderr(), "{text}");
    }

    /// Why the command failed.
    pub(crate) fn failure(self, failure: &Failure) {
        let _ = if self.json {
            writeln!(std::io::stderr(), "{}", failure.problem)
        } else {
            writeln!(std::io::stderr(), "{}", failure.text())
        };
    }
}
