//! By what an action was settled, read from its evidence as the API shows it.
//!
//! It only explains; no law rests on it.

use serde_json::Value;

/// What settled an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SettledBy {
    /// The answer to a request that nothing had gone before.
    Reply,
    /// The answer to a repeat under the same key.
    SameKey,
    /// A lookup: the effect was found, or its absence opened the send that was answered.
    Lookup,
    /// A question after the job that the destination had taken.
    Poll,
    /// A cancel by key, after which the send was answered.
    CancelByKey,
    /// A person.
    Person,
}

impl SettledBy {
    /// All six, in the order of the table.
    pub(crate) const ALL: [Self; 6] = [
        Self::Reply,
        Self::SameKey,
        Self::Lookup,
        Self::Poll,
        Self::CancelByKey,
        Self::Person,
    ];

    /// The word in the JSON and the table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Reply => "reply",
            Self::SameKey => "same_key",
            Self::Lookup => "lookup",
            Self::Poll => "poll",
            Self::CancelByKey => "cancel_by_key",
            Self::Person => "person",
        }
    }

    /// What settled the action that this evidence is about. `evidence` is the list that the API answers, oldest first.
    pub(crate) fn of(evidence: &[Value]) -> Self {
        let last = evidence
            .iter()
            .rev()
            .find_map(|record| Self::by_record(record, evidence));
        last.unwrap_or(Self::Reply)
    }

    /// What a single record would settle it by; none where it settles nothing.
    fn by_record(record: &Value, evidence: &[Value]) -> Option<Self> {
        match record["fact"].as_str()? {
            "verdict" => Some(Self::Person),
            "polled" if has_result(record) => Some(Self::Poll),
            "looked_up" if has_result(record) => Some(Self::Lookup),
            "answered" => match record["detail"]["class"].as_str()? {
                "done" | "already_exists" | "rejected" | "declined" => {
                    Some(Self::by_send(record, evidence))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// By what the send was opened that this record answers.
    fn by_send(answer: &Value, evidence: &[Value]) -> Self {
        let attempt = &answer["detail"]["attempt"];
        let mark = evidence.iter().position(|record| {
            record["fact"] == "marked" && record["detail"]["attempt"] == *attempt
        });
        let Some((before, [mark, ..])) = mark.and_then(|at| evidence.split_at_checked(at)) else {
            return Self::Reply;
        };
        let withdrawn = before
            .iter()
            .any(|record| record["fact"] == "cancel_answered");
        match mark["detail"]["permission"].as_str() {
            Some("same_key") => Self::SameKey,
            Some("proven_absent") if withdrawn => Self::CancelByKey,
            Some("proven_absent") => Self::Lookup,
            Some("ordered") => Self::Person,
            _ => Self::Reply,
        }
    }
}

/// A lookup or poll that says how it stands, in the words that the evidence has for people.
fn has_result(record: &Value) -> bool {
    let says = record["says"].as_str().unwrap_or_default();
    ["looked up: found ", "asked: completed", "asked: it failed"]
        .iter()
        .any(|begin| says.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;
    use factum::core::evidence::{Lookup, LookupAnswer, PollAnswer, Receipt};
    use factum::core::promise::LookupBy;
    use factum::core::{AttemptNo, Epoch, Evidence, EvidenceId, Fact, Timestamp};
    use factum::view::EvidenceView;
    use serde_json::json;

    fn marked(attempt: u32, permission: &str) -> Value {
        json!({"fact": "marked", "says": "", "detail": {"attempt": attempt, "permission": permission}})
    }

    fn answered(attempt: u32, class: &str) -> Value {
        json!({"fact": "answered", "says": "", "detail": {"attempt": attempt, "class": class}})
    }

    fn said(fact: &str, says: &str) -> Value {
        json!({"fact": fact, "says": says, "detail": {}})
    }

    fn settles(evidence: &[Value], expected: SettledBy) {
        assert_eq!(SettledBy::of(evidence), expected, "{evidence:?}");
    }

    #[test]
    fn an_answer_settles_by_what_opened_its_send() {
        let first = marked(1, "first");
        let lost = said("lost", "attempt 1: …");
        let absent = said("looked_up", "looked up: nothing of ours is shown");
        let withdrawn = said("cancel_answered", "withdrawn by key: T-1");
        settles(&[first.clone(), answered(1, "done")], SettledBy::Reply);
        settles(&[first.clone(), answered(1, "rejected")], SettledBy::Reply);
        let refused = [
            first.clone(),
            answered(1, "busy"),
            marked(2, "proven_not_sent"),
            answered(2, "done"),
        ];
        settles(&refused, SettledBy::Reply);
        let repeated = [
            first.clone(),
            lost.clone(),
            marked(2, "same_key"),
            answered(2, "done"),
        ];
        settles(&repeated, SettledBy::SameKey);
        let looked = [
            first.clone(),
            lost.clone(),
            absent,
            marked(2, "proven_absent"),
            answered(2, "done"),
        ];
        settles(&looked, SettledBy::Lookup);
        let cancelled = [
            first,
            lost,
            withdrawn,
            marked(2, "proven_absent"),
            answered(2, "done"),
        ];
        settles(&cancelled, SettledBy::CancelByKey);
    }

    #[test]
    fn questions_and_people_settle_too() {
        let first = marked(1, "first");
        let lost = said("lost", "attempt 1: …");
        let found = [
            first.clone(),
            lost.clone(),
            said("looked_up", "looked up: found T-1"),
        ];
        settles(&found, SettledBy::Lookup);
        let polled = [
            first.clone(),
            answered(1, "accepted"),
            said("polled", "asked: completed as T-1"),
        ];
        settles(&polled, SettledBy::Poll);
        let working = [
            first.clone(),
            answered(1, "done"),
            said("polled", "asked: not completed yet"),
        ];
        settles(&working, SettledBy::Reply);
        settles(
            &[first, lost, said("verdict", "ana ruled: happened")],
            SettledBy::Person,
        );
    }

    #[test]
    fn the_words_are_those_that_the_library_writes() {
        let seen = |fact: Fact| {
            let evidence = Evidence {
                id: EvidenceId(1),
                at: Timestamp::EARLIEST,
                fact,
            };
            has_result(&serde_json::to_value(EvidenceView::of(&evidence)).unwrap())
        };
        let polled = |answer| {
            let (attempt, asked_at) = (AttemptNo(1), Timestamp::EARLIEST);
            seen(Fact::Polled {
                attempt,
                asked_at,
                answer,
            })
        };
        let looked_up = |answer| {
            let (asked_at, by, epoch) = (Timestamp::EARLIEST, LookupBy::Reference, Epoch(0));
            seen(Fact::LookedUp(Lookup {
                asked_at,
                by,
                epoch,
                answer,
            }))
        };
        let why = || "…".to_owned();
        assert!(polled(PollAnswer::Completed(Some(Receipt::new("T-1")))));
        assert!(polled(PollAnswer::Completed(None)));
        assert!(polled(PollAnswer::Failed { why: why() }));
        assert!(!polled(PollAnswer::Working));
        assert!(!polled(PollAnswer::Inconclusive { why: why() }));
        assert!(looked_up(LookupAnswer::Found(vec![Receipt::new("T-1")])));
        assert!(!looked_up(LookupAnswer::Absent));
        assert!(!looked_up(LookupAnswer::Inconclusive { why: why() }));
    }
}
