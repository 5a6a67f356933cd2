//! What is counted of facts: words, taken before the facts go to the store, and counted once they are durable.

use factum_core::evidence::{
    Answer, CancelAnswer, LookupAnswer, PermissionKind, PollAnswer, Ruling,
};
use factum_core::{AttemptNo, Fact, Timestamp};
use factum_store::Record;

use super::{Row, micros};

/// What one fact counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Note {
    /// A request was marked, then; the first of its action, or a later one.
    Marked(&'static str, Timestamp, bool),
    /// An attempt ended so, or its answer says so.
    Attempt(&'static str, Option<AttemptNo>),
    /// A question brought this, and whether that may settle.
    Question(&'static str, &'static str, bool),
    /// A person is needed, for this.
    Review(&'static str),
    /// Something promised is not in force.
    Missed,
    /// It may settle, by this.
    Ends(&'static str),
    /// Nothing that is counted.
    Nothing,
}

/// What some facts count as.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Notes(Vec<Note>);

impl Notes {
    /// Of these facts.
    pub(crate) fn of(facts: &[Fact]) -> Self {
        let notes = facts.iter().map(note);
        Self(notes.filter(|note| *note != Note::Nothing).collect())
    }

    /// Of a destination's own report.
    pub(crate) fn of_report() -> Self {
        Self(vec![Note::Ends("callback")])
    }

    /// Counts them.
    pub(super) fn count(&self, row: &Row, submitted_at: Timestamp) {
        for note in &self.0 {
            match note {
                Note::Marked(right, at, first) => {
                    row.marks.add(right);
                    if *first {
                        row.until_sent.observe(micros(submitted_at, *at));
                    }
                }
                Note::Attempt(word, _) => row.attempts.add(word),
                Note::Question(word, ..) => row.questions.add(word),
                Note::Review(why) => row.reviews.add(why),
                Note::Missed => row.missed.add(),
                Note::Ends(_) | Note::Nothing => {}
            }
        }
    }

    /// Whether any of them can have settled its action.
    pub(super) fn may_settle(&self) -> bool {
        self.0.iter().any(|note| match note {
            Note::Attempt(..) | Note::Ends(_) => true,
            Note::Question(_, _, settles) => *settles,
            Note::Marked(..) | Note::Review(_) | Note::Missed | Note::Nothing => false,
        })
    }

    /// By what they settled the action: the last of them that could.
    pub(super) fn settled_by(&self, record: &Record) -> &'static str {
        let by = self.0.iter().rev().find_map(|note| match note {
            Note::Ends(by) | Note::Question(_, by, true) => Some(*by),
            Note::Attempt(_, Some(attempt)) => Some(by_answer(record, *attempt)),
            Note::Attempt(_, None) => Some("our_side"),
            Note::Question(_, _, false)
            | Note::Marked(..)
            | Note::Review(_)
            | Note::Missed
            | Note::Nothing => None,
        });
        by.unwrap_or("our_side")
    }
}

/// By what the request was opened whose answer settled it.
fn by_answer(record: &Record, attempt: AttemptNo) -> &'static str {
    match record.known.permission_of(attempt) {
        Some(PermissionKind::SameKey) => "same_key",
        Some(PermissionKind::ProvenAbsent) => "lookup",
        Some(PermissionKind::Harmless) => "harmless",
        Some(PermissionKind::Ordered(_)) => "person",
        Some(PermissionKind::First | PermissionKind::ProvenNotSent) | None => "reply",
    }
}

fn note(fact: &Fact) -> Note {
    match fact {
        Fact::Marked(mark) => Note::Marked(
            mark.permission.name(),
            mark.at,
            mark.permission == PermissionKind::First,
        ),
        Fact::Answered(Answer { class, attempt, .. }) => {
            Note::Attempt(class.name(), Some(*attempt))
        }
        Fact::NotSent { .. } => Note::Attempt("not_sent", None),
        Fact::Lost(_) => Note::Attempt("lost", None),
        Fact::ProcessGone { .. } => Note::Attempt("process_gone", None),
        Fact::LeaseOver { .. } => Note::Attempt("lease_over", None),
        Fact::LookedUp(lookup) => looked_up(&lookup.answer),
        Fact::Polled { answer, .. } => polled(answer),
        Fact::CancelAnswered { answer, .. } => match answer {
            CancelAnswer::Confirmed { .. } | CancelAnswer::TooLate { .. } => {
                Note::Ends("cancel_by_key")
            }
            CancelAnswer::NotSent { .. } | CancelAnswer::Unknown { .. } => Note::Nothing,
        },
        Fact::CalledBack(_) => Note::Ends("callback"),
        Fact::Verdict(verdict) if verdict.ruling == Ruling::SendAgain => Note::Nothing,
        Fact::Verdict(_) => Note::Ends("person"),
        Fact::CancelRequested { .. } => Note::Ends("withdrawal"),
        Fact::AuthorityLost { .. } | Fact::NotAdmitted { .. } => Note::Ends("authority"),
        Fact::DeadlinePassed { .. } | Fact::ApprovalOver { .. } | Fact::ClockRead { .. } => {
            Note::Ends("time")
        }
        Fact::GaveUp { .. } => Note::Ends("bound"),
        Fact::SearchEnded { .. } => Note::Ends("preference"),
        Fact::ReviewOpened { why } => Note::Review(why.name()),
        Fact::Unsupported { .. } => Note::Missed,
        Fact::LeaseExtended { .. }
        | Fact::CancelMarked(_)
        | Fact::Taken { .. }
        | Fact::Released { .. }
        | Fact::CheckAgain { .. }
        | Fact::StoreRestored { .. }
        | Fact::Reread { .. }
        | Fact::Noted { .. } => Note::Nothing,
    }
}

fn looked_up(answer: &LookupAnswer) -> Note {
    let (word, settles) = match answer {
        LookupAnswer::Found(_) => ("found", true),
        LookupAnswer::Queued { .. } => ("queued", false),
        LookupAnswer::Absent => ("absent", true),
        LookupAnswer::Inconclusive { .. } => ("inconclusive", false),
    };
    Note::Question(word, "lookup", settles)
}

fn polled(answer: &PollAnswer) -> Note {
    let (word, settles) = match answer {
        PollAnswer::Completed(_) | PollAnswer::Failed { .. } => ("ended", true),
        PollAnswer::Working => ("working", false),
        PollAnswer::Inconclusive { .. } => ("inconclusive", false),
    };
    Note::Question(word, "poll", settles)
}

#[cfg(test)]
mod tests {
    use factum_core::evidence::{AnswerClass, Capture, Phase};

    use super::super::{EVIDENCE, MARKS, QUESTIONS, SETTLED_BY};
    use super::*;

    #[test]
    fn a_permission_and_an_answer_have_their_own_words_in_the_lists() {
        use AnswerClass as A;
        let why = String::new;
        let classes = [
            A::Done,
            A::Accepted { object: None },
            A::Rejected {
                stored: true,
                why: why(),
            },
            A::Declined {
                stored: true,
                why: why(),
            },
            A::InProgress,
            A::AlreadyExists { ours: true },
            A::Mismatch,
            A::Busy,
            A::Unknown,
        ];
        for class in &classes {
            assert!(EVIDENCE.contains(&class.name()), "{class:?}");
        }
        let rights = [
            PermissionKind::First,
            PermissionKind::ProvenNotSent,
            PermissionKind::SameKey,
            PermissionKind::ProvenAbsent,
            PermissionKind::Harmless,
            PermissionKind::Ordered(factum_core::evidence::Order::Preference),
        ];
        for right in rights {
            assert!(MARKS.contains(&right.name()), "{right:?}");
        }
        for note in [
            looked_up(&LookupAnswer::Absent),
            polled(&PollAnswer::Working),
        ] {
            let Note::Question(word, by, _) = note else {
                panic!("{note:?} is no question");
            };
            assert!(QUESTIONS.contains(&word) && SETTLED_BY.contains(&by));
        }
    }

    #[test]
    fn an_answer_and_an_end_may_settle_and_a_failed_question_may_not() {
        let attempt = AttemptNo(1);
        let answer = Fact::Answered(Answer {
            attempt,
            read_at: Timestamp::EARLIEST,
            class: AnswerClass::Done,
            receipt: None,
            replayed: false,
            retry_after: None,
            capture: Capture::default(),
        });
        assert!(Notes::of(&[answer]).may_settle());
        let not_sent = Fact::NotSent {
            attempt,
            phase: Phase::Connect,
            detail: "refused".to_owned(),
        };
        assert!(Notes::of(&[not_sent]).may_settle());
        let asked = Fact::Polled {
            attempt,
            asked_at: Timestamp::EARLIEST,
            answer: PollAnswer::Inconclusive {
                why: "503".to_owned(),
            },
        };
        assert!(!Notes::of(&[asked]).may_settle());
        let noted = Fact::Noted {
            text: "card 4111".to_owned(),
        };
        assert_eq!(Notes::of(&[noted]), Notes::default(), "no text is kept");
    }
}
