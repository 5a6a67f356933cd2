//! The words in a request that script what becomes of it.

use crate::ledger::Sent;

/// What is to become of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Script {
    Reject,
    Decline,
    Fail,
    Slow,
    Queue,
    CompleteThenFail,
}

/// What stands before the word: as it is, and as a form, a query or a path writes it.
const MARKERS: [&str; 3] = ["stand-in:", "stand-in%3A", "stand-in%3a"];

impl Script {
    /// The word in a request; `again`: the sender has tried before.
    pub(crate) fn of(sent: &Sent, again: bool) -> Option<Script> {
        let mut texts = [&sent.body, &sent.target].into_iter();
        let rest = texts.find_map(|text| {
            let ends = MARKERS
                .iter()
                .filter_map(|marker| Some(text.find(marker)? + marker.len()));
            ends.min().map(|end| &text[end..])
        })?;
        let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '-');
        match &rest[..end.unwrap_or(rest.len())] {
            "reject" => Some(Script::Reject),
            "reject-once" => (!again).then_some(Script::Reject),
            "decline" => Some(Script::Decline),
            "fail" => Some(Script::Fail),
            "fail-once" => (!again).then_some(Script::Fail),
            "slow" => Some(Script::Slow),
            "queue" => Some(Script::Queue),
            "complete-then-fail" => Some(Script::CompleteThenFail),
            _ => None,
        }
    }

    /// Whether the work is to be taken now and carried out later.
    pub(crate) fn queues(self) -> bool {
        matches!(self, Script::Queue | Script::CompleteThenFail)
    }
}
