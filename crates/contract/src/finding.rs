//! What is wrong with a contract's text, where it stands, and what to do about it.
//!
//! A finding is data: nothing here decides whether a contract may be used. It never holds more of the text than the one line.

use std::fmt;
use std::ops::Range;

/// One thing that is wrong, or doubtful, in the text of a contract.
///
/// Displayed as `file:line:column: …`, the line with a caret under the place, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whether the contract can be used all the same.
    pub severity: Severity,
    /// The file, as it was named by the caller.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The place as bytes of the text.
    pub span: Range<usize>,
    /// The member, written like a JSON pointer: `/answers/0/when/status`. Empty for the file as a whole.
    pub member: String,
    /// The rule's name, stable, for searching and for tests.
    pub rule: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
    /// The line that it stands on.
    excerpt: String,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The contract is refused.
    Error,
    /// The contract is accepted; the author should know.
    Warning,
}

/// What a finding says, without its place.
#[derive(Clone, Debug)]
pub(crate) struct Complaint {
    pub(crate) severity: Severity,
    pub(crate) rule: &'static str,
    pub(crate) message: String,
    pub(crate) remedy: String,
}

impl Complaint {
    /// A reason to refuse the contract.
    pub(crate) fn error(
        rule: &'static str,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            severity: Severity::Error,
            rule,
            message: message.into(),
            remedy: remedy.into(),
        }
    }

    /// Something that the author should know.
    pub(crate) fn warning(
        rule: &'static str,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(rule, message, remedy)
        }
    }
}

impl Finding {
    /// Puts a complaint at its place. Ends of `span` that lie outside of the text or inside of a character are moved to fit.
    pub(crate) fn at(
        file: &str,
        text: &str,
        span: Range<usize>,
        member: String,
        complaint: Complaint,
    ) -> Self {
        let start = boundary(text, span.start);
        let end = boundary(text, span.end).max(start);
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |n| start + n);
        Self {
            severity: complaint.severity,
            file: file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            span: start..end,
            member,
            rule: complaint.rule,
            message: complaint.message,
            remedy: complaint.remedy,
            excerpt: text[line_start..line_end].trim_end_matches('\r').to_owned(),
        }
    }
}

fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.severity {
            Severity::Error => "",
            Severity::Warning => "warning: ",
        };
        let member = if self.member.is_empty() {
            "/"
        } else {
            &self.member
        };
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        // Tabs are kept, so that the caret stands under its character however wide a tab is shown.
        let indent: String = self
            .excerpt
            .chars()
            .take(self.column - 1)
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        let rest = self.excerpt.chars().count().saturating_sub(self.column - 1);
        let carets = "^".repeat(self.span.len().clamp(1, rest.max(1)));
        writeln!(
            f,
            "{}:{}:{}: {word}{member}: {} [{}]",
            self.file, self.line, self.column, self.message, self.rule
        )?;
        writeln!(f, "{margin} |")?;
        writeln!(f, "{number} | {}", self.excerpt)?;
        writeln!(f, "{margin} | {indent}{carets}")?;
        write!(f, "{margin} = {}", self.remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_shows_the_place() {
        let text = "a = 1\n\tb = \"ü\" # x\n";
        let span = text.find('"').map(|at| at..at + 4).unwrap();
        let complaint = Complaint::error("r", "is wrong", "write it right");
        let finding = Finding::at("f.toml", text, span, "/b".to_owned(), complaint);
        assert_eq!(
            finding.to_string(),
            "f.toml:2:6: /b: is wrong [r]\n  |\n2 | \tb = \"ü\" # x\n  | \t    ^^^^\n  = write it right"
        );
    }

    #[test]
    fn a_place_outside_of_the_text_is_moved_into_it() {
        let complaint = Complaint::error("r", "m", "h");
        let finding = Finding::at("f", "ü", 1..99, String::new(), complaint);
        assert_eq!((finding.line, finding.column, finding.span), (1, 1, 0..2));
    }
}
