//! An action as a picture: what went out, what came back, and the moment at which the answer was lost. Time goes down; this engine stands
//! on the left and the destination on the right, so that every arrow is something that crossed between them.
//!
//! The picture is drawn here, from the log. It is as wide as its place: across, everything is in per cent, and texts keep their size.

use factum::core::evidence::{AnswerClass, CancelAnswer, LookupAnswer, PollAnswer};
use factum::core::{Evidence, Fact, Next, Step, Timestamp};
use factum::{Record, ruling_word};

use super::words::{clock, permission_short};

/// Where the two sides stand, in per cent of the width.
const OURS: u32 = 30;
const THEIRS: u32 = 88;
/// In the middle between them.
const MIDDLE: u32 = 59;
/// From row to row, and before the first one, in pixels.
const ROW: u32 = 46;
const HEAD: u32 = 54;

/// What a row shows between the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// Something on our side alone.
    Ours,
    /// A person.
    Person,
    /// A request that left.
    Out,
    /// A request that did not leave.
    Held,
    /// An answer.
    Back,
    /// No answer: where it was lost.
    Lost,
    /// A question and its answer.
    Asked,
    /// Something that they said by themselves.
    Told,
    /// What comes next.
    Next,
}

impl Mark {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Person => "person",
            Self::Out => "out",
            Self::Held => "held",
            Self::Back => "back",
            Self::Lost => "lost",
            Self::Asked => "asked",
            Self::Told => "told",
            Self::Next => "next",
        }
    }
}

/// One row of the picture.
pub(super) struct Row {
    pub(super) y: u32,
    pub(super) text_y: u32,
    pub(super) under_y: u32,
    pub(super) time: String,
    pub(super) mark: Mark,
    pub(super) text: String,
    pub(super) under: String,
    /// `good`, `bad`, `lost` or `plain`.
    pub(super) weight: &'static str,
}

/// The time in which a resend was safe, as a band beside our side.
pub(super) struct Band {
    pub(super) from: u32,
    pub(super) height: u32,
    pub(super) text: String,
    /// It still is.
    pub(super) open: bool,
}

/// The picture.
pub(super) struct Timeline {
    pub(super) height: u32,
    pub(super) ours: u32,
    pub(super) theirs: u32,
    pub(super) middle: u32,
    pub(super) destination: String,
    pub(super) rows: Vec<Row>,
    pub(super) band: Option<Band>,
    /// The same for those who do not see it.
    pub(super) told: String,
}

/// What a row is to show.
struct Said {
    mark: Mark,
    text: String,
    under: String,
    weight: &'static str,
}

impl Said {
    fn new(mark: Mark, text: impl Into<String>) -> Self {
        Self {
            mark,
            text: text.into(),
            under: String::new(),
            weight: "plain",
        }
    }

    fn under(self, under: impl Into<String>) -> Self {
        Self {
            under: under.into(),
            ..self
        }
    }

    fn weighs(self, weight: &'static str) -> Self {
        Self { weight, ..self }
    }
}

/// Draws an action.
pub(super) fn draw(
    record: &Record,
    evidence: &[Evidence],
    next: &Next,
    window: Option<Timestamp>,
    now: Timestamp,
    destination: &str,
) -> Timeline {
    let mut rows: Vec<Row> = Vec::new();
    let mut times: Vec<Timestamp> = Vec::new();
    let mut put = |at: Timestamp, said: Said| {
        let y = HEAD + ROW * u32::try_from(rows.len()).unwrap_or(0);
        times.push(at);
        rows.push(Row {
            y,
            text_y: y.saturating_sub(8),
            under_y: y + 16,
            time: clock(at),
            mark: said.mark,
            text: said.text,
            under: said.under,
            weight: said.weight,
        });
    };
    put(
        record.action.intent.submitted_at,
        Said::new(Mark::Ours, "recorded"),
    );
    for one in evidence {
        for said in rows_of(one) {
            put(one.at, said);
        }
    }
    if let Some(said) = coming(next) {
        put(next.at.min(now), said);
    }
    let first = record.known.first_mark();
    let band = window.zip(first).map(|(until, first)| {
        let at = |instant: Timestamp| {
            let before = times.iter().filter(|time| **time < instant).count();
            HEAD + ROW * u32::try_from(before.min(times.len())).unwrap_or(0)
        };
        let open = until > now;
        let from = at(first).saturating_sub(ROW / 3);
        let to = if open {
            at(Timestamp::NEVER)
        } else {
            at(until)
        };
        Band {
            from,
            height: to.saturating_sub(from).max(ROW / 2),
            text: format!(
                "a resend {} safe until {}",
                if open { "is" } else { "was" },
                clock(until)
            ),
            open,
        }
    });
    let told: Vec<String> = rows
        .iter()
        .map(|row| {
            format!("{} {} {}", row.time, row.text, row.under)
                .trim()
                .to_owned()
        })
        .collect();
    Timeline {
        height: HEAD + ROW * u32::try_from(rows.len()).unwrap_or(0),
        ours: OURS,
        theirs: THEIRS,
        middle: MIDDLE,
        destination: destination.to_owned(),
        rows,
        band,
        told: told.join("; "),
    }
}

/// What a record adds to the picture. A request that left is drawn when it is known how it ended: until then its mark stands for it.
fn rows_of(one: &Evidence) -> Vec<Said> {
    let row = |said: Said| vec![said];
    match &one.fact {
        Fact::Marked(mark) => row(Said::new(Mark::Out, format!("request {}", mark.attempt))
            .under(format!("allowed: {}", permission_short(mark.permission)))),
        Fact::NotSent { .. } => row(Said::new(Mark::Held, "no byte left")
            .under("proven on our side")
            .weighs("good")),
        Fact::Lost(loss) => row(Said::new(Mark::Lost, "the answer was lost")
            .under(format!("{} bytes out, {} back", loss.wrote, loss.read))
            .weighs("lost")),
        Fact::ProcessGone { .. } => row(Said::new(Mark::Lost, "our process ended").weighs("lost")),
        Fact::LeaseOver { .. } => row(Said::new(Mark::Lost, "no word in time").weighs("lost")),
        Fact::Answered(answer) => row(back(
            &answer.class,
            answer.capture.status,
            answer.receipt.as_ref().map(|one| &*one.reference),
        )),
        Fact::LookedUp(lookup) => row(asked(&lookup.answer)),
        Fact::Polled { answer, .. } => row(polled(answer)),
        Fact::CancelMarked(mark) => row(Said::new(Mark::Out, format!("withdraw {}", mark.no))),
        Fact::CancelAnswered { answer, .. } => row(cancelled(answer)),
        Fact::CalledBack(_) => row(Said::new(Mark::Told, "they reported by themselves")),
        Fact::Verdict(verdict) => row(Said::new(
            Mark::Person,
            format!(
                "verdict: {}",
                ruling_word(&verdict.ruling).replace('_', " ")
            ),
        )
        .under(verdict.by.clone())),
        Fact::Taken { by } => row(Said::new(Mark::Person, "taken").under(by.clone())),
        Fact::CheckAgain { by, .. } => row(Said::new(Mark::Person, "ask again").under(by.clone())),
        Fact::CancelRequested { by, .. } => {
            row(Said::new(Mark::Person, "withdrawn").under(by.clone()))
        }
        Fact::ReviewOpened { .. } => row(Said::new(Mark::Ours, "a person is needed")),
        Fact::AuthorityLost { .. } => row(Said::new(Mark::Ours, "authority ended")),
        Fact::DeadlinePassed { .. } => row(Said::new(Mark::Ours, "the deadline passed")),
        Fact::ApprovalOver { .. } => row(Said::new(Mark::Ours, "the approval ran out")),
        Fact::GaveUp { attempts } => {
            row(Said::new(Mark::Ours, format!("given up after {attempts}")).weighs("bad"))
        }
        Fact::SearchEnded { .. } => row(Said::new(Mark::Ours, "the search ended")),
        Fact::StoreRestored { .. } => row(Said::new(Mark::Ours, "restored from a copy")),
        Fact::NotAdmitted { .. } => row(Said::new(Mark::Ours, "not taken on").weighs("bad")),
        Fact::Reread { .. } => row(Said::new(Mark::Ours, "an answer was read again")),
        Fact::Unsupported { .. } => row(Said::new(Mark::Ours, "a promise does not hold")),
        Fact::ClockRead { .. }
        | Fact::LeaseExtended { .. }
        | Fact::Released { .. }
        | Fact::Noted { .. } => Vec::new(),
    }
}

fn back(class: &AnswerClass, status: u16, receipt: Option<&str>) -> Said {
    let text = format!("{status} {}", class.name().replace('_', " "));
    let said = Said::new(Mark::Back, text).under(receipt.unwrap_or_default());
    match class {
        AnswerClass::Done | AnswerClass::AlreadyExists { ours: true } => said.weighs("good"),
        AnswerClass::Rejected { .. } | AnswerClass::Declined { .. } | AnswerClass::Mismatch => {
            said.weighs("bad")
        }
        AnswerClass::Unknown => said.weighs("lost"),
        AnswerClass::Accepted { .. }
        | AnswerClass::InProgress
        | AnswerClass::AlreadyExists { ours: false }
        | AnswerClass::Busy => said,
    }
}

fn asked(answer: &LookupAnswer) -> Said {
    let said = |text: &str| Said::new(Mark::Asked, format!("asked: {text}"));
    match answer {
        LookupAnswer::Found(found) => {
            let names: Vec<&str> = found.iter().map(|one| one.reference.as_str()).collect();
            said("found").under(names.join(", ")).weighs("good")
        }
        LookupAnswer::Queued { .. } => said("still queued"),
        LookupAnswer::Absent => said("nothing of ours"),
        LookupAnswer::Inconclusive { .. } => said("no result"),
    }
}

fn polled(answer: &PollAnswer) -> Said {
    let said = |text: &str| Said::new(Mark::Asked, format!("asked: {text}"));
    match answer {
        PollAnswer::Completed(receipt) => said("completed")
            .under(receipt.as_ref().map_or("", |one| &one.reference))
            .weighs("good"),
        PollAnswer::Working => said("not completed yet"),
        PollAnswer::Failed { .. } => said("it failed there").weighs("bad"),
        PollAnswer::Inconclusive { .. } => said("no result"),
    }
}

fn cancelled(answer: &CancelAnswer) -> Said {
    match answer {
        CancelAnswer::Confirmed { .. } => Said::new(Mark::Back, "withdrawn").weighs("good"),
        CancelAnswer::TooLate { .. } => Said::new(Mark::Back, "too late to withdraw"),
        CancelAnswer::NotSent { .. } => Said::new(Mark::Held, "no byte left").weighs("good"),
        CancelAnswer::Unknown { .. } => Said::new(Mark::Lost, "the answer was lost").weighs("lost"),
    }
}

fn coming(next: &Next) -> Option<Said> {
    let text = match next.step {
        Step::Send(_) => "next: send",
        Step::LookUp => "next: ask them",
        Step::Poll { .. } => "next: ask how it stands",
        Step::CancelByKey { .. } => "next: withdraw",
        Step::Wait => "waiting",
        Step::Review(_) => "waits for a person",
        Step::None => return None,
    };
    Some(Said::new(Mark::Next, text))
}
