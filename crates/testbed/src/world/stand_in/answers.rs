//! The answers of a stand-in: written by its contract, first and again.

use std::borrow::Cow;

use factum_contract::HttpAnswer;
use factum_contract::far_side::{About, Replays, Said};

use super::{Case, World, conflicts};
use crate::answer::{Answer, Body};
use crate::ledger::{Event, Row};
use crate::stand_in::Lie;

impl World {
    /// An answer that the contract reads so, and the name that it gives.
    pub(super) fn speak(
        &self,
        case: &Case,
        said: Said,
        number: u64,
        name: Option<&str>,
        replayed: bool,
    ) -> Option<(Answer, Option<String>)> {
        let about = About {
            request: &case.request,
            wanted: &case.wanted,
            number,
            name,
            replayed,
        };
        let spoken = case.stand.far().say(said, &about)?;
        Some((Answer::from(spoken.answer), spoken.name))
    }

    /// The first of these that the contract knows; where it knows none, a refusal in nobody's words.
    pub(super) fn first_of(&self, case: &Case, row: &Row, said: &[Said]) -> Answer {
        let number = self.row_count() + 1;
        let mut spoken = said
            .iter()
            .filter_map(|said| self.speak(case, *said, number, row.id.as_deref(), false));
        let answer = spoken.next().map(|(answer, _)| answer);
        let answer = answer.unwrap_or_else(|| match row.code.as_deref() {
            Some("busy") => Answer::error(429, "busy", "too many requests"),
            Some("key_in_progress") => {
                Answer::error(409, "key_in_progress", "a request with this key is running")
            }
            Some("key_reuse" | "key_over" | "exists" | "condition") => {
                Answer::error(409, "conflict", "there is something of this name or key")
            }
            _ => Answer::error(400, "rejected", "the request is refused; nothing was done"),
        });
        if matches!(row.code.as_deref(), Some("key_in_progress" | "busy")) {
            return answer.with("retry-after", self.settings.retry_after_s.to_string());
        }
        answer
    }

    /// What a row stands for, said again to a later request.
    pub(super) fn answer_again(&self, outcome: u64, row: &Row) -> Answer {
        let Some(first) = self.ledger.row(outcome) else {
            return Answer::server_error(500);
        };
        let Some(case) = self.case(first.kind, first.sent.as_deref()) else {
            return Answer::server_error(500);
        };
        if let (Event::Effect | Event::Queued, Some(status)) = (first.event, first.status) {
            return Answer::server_error(status);
        }
        let marked = !case.stand.lies(Lie::NoReplayMark);
        let name = first.id.as_deref().or(first.job.as_deref());
        let again = |said| {
            let spoken = self.speak(&case, said, outcome, name, marked);
            spoken.map(|(answer, _)| answer)
        };
        let current = case
            .stand
            .repeats()
            .is_some_and(|repeats| repeats.replays == Replays::CurrentState);
        let landed = self
            .index
            .ended
            .get(&outcome)
            .and_then(|seq| self.ledger.row(*seq));
        match first.event {
            Event::Effect | Event::Queued if conflicts(&case.stand) => {
                Some(self.first_of(&case, first, &[Said::AlreadyExists, Said::Mismatch]))
            }
            Event::Effect => again(Said::Done),
            Event::Queued => {
                let done = landed.filter(|landed| current && landed.event == Event::Effect);
                let done = done.and_then(|landed| {
                    let name = landed.id.as_deref();
                    self.speak(&case, Said::Done, outcome, name, marked)
                });
                done.map(|(answer, _)| answer)
                    .or_else(|| again(Said::Accepted))
            }
            Event::Declined => again(Said::Declined),
            Event::Refused if first.code.as_deref() == Some("failed") => {
                let poisoned = case.stand.repeats().is_some_and(|repeats| repeats.poisoned);
                let spent = poisoned.then(|| again(Said::Mismatch)).flatten();
                Some(spent.unwrap_or_else(|| Answer::server_error(500)))
            }
            Event::Refused => {
                let said = super::rejections(true);
                Some(self.first_of(&case, row, &said))
            }
            Event::Begun
            | Event::FailedJob
            | Event::Replayed
            | Event::Cancelled
            | Event::Dropped
            | Event::Elsewhere => None,
        }
        .unwrap_or_else(|| Answer::server_error(500))
    }
}

impl From<HttpAnswer> for Answer {
    fn from(answer: HttpAnswer) -> Answer {
        let mut headers: Vec<(Cow<'static, str>, String)> = answer
            .headers
            .into_iter()
            .map(|(name, value)| (Cow::Owned(name), value))
            .collect();
        let typed = headers.iter().any(|(name, _)| name == "content-type");
        if !typed && !answer.body.is_empty() {
            let kind = match answer.body.first() {
                Some(b'<') => "text/xml; charset=utf-8",
                _ => "application/json",
            };
            headers.push((Cow::Borrowed("content-type"), kind.to_owned()));
        }
        Answer {
            status: answer.status,
            headers,
            body: Body::Raw(answer.body),
        }
    }
}
