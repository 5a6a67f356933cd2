//! What a worker reports, as the facts that the core reads. Pure.

use factum_contract::Contract;
use factum_contract::http::HttpAnswer;
use factum_core::evidence::{
    Answer, AnswerClass, Callback, Capture, Lookup, LookupAnswer, Loss, Phase, Receipt, RequestRef,
};
use factum_core::mistake::{Mistake, made};
use factum_core::promise::LookupBy;
use factum_core::{AttemptNo, Epoch, Evidence, Fact, Span, Timestamp};
use factum_store::{Record, Restore};
use factum_transport::Ended;

use super::{Ticket, TicketKind};
use crate::keys::Keys;
use crate::messages::Messages;
use crate::problem::{Code, Problem};

/// What became of a worker's call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// The effect exists.
    Done(Receipt, Capture),
    /// Taken, not completed; `object` is the destination's name for the queued work.
    Accepted(Option<String>, Capture),
    /// Refused before doing anything, for good.
    Rejected(String, Capture),
    /// Refused and recorded there (a declined charge): no effect in the contract's meaning.
    Declined(String, Capture),
    /// Refused for now, before doing anything.
    Busy(Option<Span>, Capture),
    /// Certainly nothing was sent.
    NotSent(String),
    /// It may or may not have taken effect.
    Unknown(String),
    /// The destination's answer as it came: the pinned contract reads it.
    Answered(HttpAnswer),
    /// A lookup found the effect: more than one receipt where the destination holds more.
    Found(Vec<Receipt>),
    /// A lookup found it, still queued there.
    Queued(Option<String>),
    /// A lookup was complete, and found nothing of ours.
    Absent,
    /// A lookup failed, or says nothing.
    Inconclusive(String),
}

impl Report {
    /// What kind of work it can be about.
    #[must_use]
    pub fn kind(&self) -> TicketKind {
        match self {
            Self::Done(..)
            | Self::Accepted(..)
            | Self::Rejected(..)
            | Self::Declined(..)
            | Self::Busy(..)
            | Self::NotSent(_)
            | Self::Unknown(_)
            | Self::Answered(_) => TicketKind::Send,
            Self::Found(_) | Self::Queued(_) | Self::Absent | Self::Inconclusive(_) => {
                TicketKind::LookUp
            }
        }
    }
}

/// What a report is read by.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    /// Who reports.
    pub by: &'a str,
    /// The installation's keys.
    pub keys: &'a Keys,
    /// The contract that is pinned in the action.
    pub contract: Option<&'a Contract>,
    /// The last restore of the store from a copy.
    pub restore: Option<&'a Restore>,
    /// The store's time.
    pub now: Timestamp,
}

/// What is known once a worker has reported under its claim.
///
/// # Errors
/// [`Code::WrongType`] for a report of the other kind, or an answer that no contract reads; [`Code::NotBegun`] where the attempt
/// that it speaks of was never begun.
pub fn facts(
    ticket: &Ticket,
    record: &Record,
    report: Report,
    reading: &Reading<'_>,
) -> Result<Vec<Fact>, Problem> {
    let id = record.id();
    if report.kind() != ticket.kind {
        let rule = format!(
            "the claim is to {}, and this says what came of the other kind of work",
            ticket.kind.name()
        );
        let remedy = "use one of the outcomes that go with the claim's `kind`";
        return Err(Problem::new(Code::WrongType, "/outcome", rule, remedy).about(id));
    }
    let (by, restore) = (reading.by, reading.restore);
    match ticket.kind {
        TicketKind::LookUp => Ok(vec![looked_up(ticket, record, report)]),
        TicketKind::Send => {
            let begun = record.known.marked_for(ticket.nonce);
            let Some(mark) = begun else {
                return without_a_mark(record, report, by);
            };
            let over = record.known.attempt_leased_until(mark.attempt).is_none();
            if over && made(Mistake::LateReportDropped) {
                return Ok(Vec::new());
            }
            let attempt = if made(Mistake::ReportSpeaksForTheLatest) {
                AttemptNo(record.known.attempts_marked())
            } else {
                mark.attempt
            };
            let mut facts = said(attempt, mark.epoch, record, report, reading)?;
            if ticket.is_before(restore) && record.action.intent.promises.cancel.is_some() {
                facts.iter_mut().for_each(|fact| doubt(fact, by));
            }
            Ok(facts)
        }
    }
}

/// What a report says of the attempt that was begun under its claim.
fn said(
    attempt: AttemptNo,
    epoch: Epoch,
    record: &Record,
    report: Report,
    reading: &Reading<'_>,
) -> Result<Vec<Fact>, Problem> {
    match (report, reading.contract) {
        (Report::Answered(answer), Some(contract)) => {
            let messages = Messages::new(reading.keys, record, contract);
            let request = RequestRef::Attempt(attempt);
            let sent = (messages.effect(request, epoch))
                .map_err(|_| unreadable(record, "the request cannot be built again"))?;
            let ended = Ended::Answered {
                answer,
                read_at: reading.now,
                wrote: 0,
            };
            Ok(messages.ended(request, epoch, &sent, ended).facts)
        }
        (Report::Answered(_), None) => Err(unreadable(
            record,
            "the operation has no contract that reads answers",
        )),
        (report, contract) => {
            let mut fact = ended(attempt, report, reading.by, reading.now);
            if let (Fact::Answered(answer), Some(contract)) = (&mut fact, contract) {
                keep_what_may_be(&mut answer.capture, contract);
            }
            Ok(vec![fact])
        }
    }
}

/// That an effect came to be before a restore does not say that it is still there: we may have withdrawn it by its key meanwhile,
/// and the copy does not know.
fn doubt(fact: &mut Fact, by: &str) {
    if let Fact::Answered(answer) = fact
        && matches!(
            answer.class,
            AnswerClass::Done | AnswerClass::Accepted { .. } | AnswerClass::AlreadyExists { .. }
        )
    {
        let detail = format!(
            "{by} reports that it was done; the store was restored from a copy since, and may have lost that it was withdrawn"
        );
        *fact = lost(answer.attempt, detail);
    }
}

/// Of an answer that a worker hands in only what the contract lets be written down.
fn keep_what_may_be(capture: &mut Capture, contract: &Contract) {
    let answer = HttpAnswer {
        status: capture.status,
        body: std::mem::take(&mut capture.body),
        truncated: capture.truncated,
        ..HttpAnswer::default()
    };
    capture.body = contract.captured_of(&answer);
}

fn unreadable(record: &Record, rule: &str) -> Problem {
    let remedy = "say what the answer means: `done`, `accepted`, `rejected`, `declined`, `busy` or `unknown`";
    Problem::new(Code::WrongType, "/outcome", rule, remedy).about(record.id())
}

/// Nothing was begun under this claim, as far as is known here. That the effect exists is a fact all the same.
fn without_a_mark(record: &Record, report: Report, by: &str) -> Result<Vec<Fact>, Problem> {
    let Report::Done(receipt, _) = report else {
        let rule = "no attempt was begun under this claim";
        let remedy = "begin first, and make the call only then; what happened without that is a person's verdict";
        return Err(Problem::new(Code::NotBegun, "", rule, remedy).about(record.id()));
    };
    let text = format!("{by} reports an effect under a claim that began nothing here");
    Ok(vec![
        Fact::Noted { text },
        Fact::CalledBack(Callback::Positive(receipt)),
    ])
}

fn ended(attempt: AttemptNo, report: Report, by: &str, now: Timestamp) -> Fact {
    let answered = |class, receipt, retry_after, capture| {
        Fact::Answered(Answer {
            attempt,
            read_at: now,
            class,
            receipt,
            replayed: false,
            retry_after,
            capture,
        })
    };
    match report {
        Report::Done(receipt, capture) => answered(AnswerClass::Done, Some(receipt), None, capture),
        Report::Accepted(object, capture) => {
            answered(AnswerClass::Accepted { object }, None, None, capture)
        }
        Report::Rejected(why, capture) => {
            let stored = false;
            answered(AnswerClass::Rejected { stored, why }, None, None, capture)
        }
        Report::Declined(why, capture) => {
            let stored = false;
            answered(AnswerClass::Declined { stored, why }, None, None, capture)
        }
        Report::Busy(wait, capture) => answered(AnswerClass::Busy, None, wait, capture),
        Report::NotSent(why) => Fact::NotSent {
            attempt,
            phase: Phase::Prepare,
            detail: format!("{by} reports: {why}"),
        },
        Report::Unknown(why) => lost(attempt, format!("{by} reports: {why}")),
        // Lookups and answers for a contract are read before.
        Report::Answered(_)
        | Report::Found(_)
        | Report::Queued(_)
        | Report::Absent
        | Report::Inconclusive(_) => lost(attempt, format!("{by} reports nothing about it")),
    }
}

/// Nobody here counted its bytes, and nothing says that its connection is closed (R1).
fn lost(attempt: AttemptNo, detail: String) -> Fact {
    Fact::Lost(Loss {
        attempt,
        phase: Phase::Head,
        wrote: 0,
        read: 0,
        closed_at: None,
        detail,
    })
}

/// A lookup was asked after its claim was handed out, so that is when it counts from (R2).
fn looked_up(ticket: &Ticket, record: &Record, report: Report) -> Fact {
    let answer = match report {
        Report::Found(receipts) => LookupAnswer::Found(receipts),
        Report::Queued(object) => LookupAnswer::Queued { object },
        Report::Absent => LookupAnswer::Absent,
        Report::Inconclusive(why) => LookupAnswer::Inconclusive { why },
        Report::Done(..)
        | Report::Accepted(..)
        | Report::Rejected(..)
        | Report::Declined(..)
        | Report::Busy(..)
        | Report::NotSent(_)
        | Report::Unknown(_)
        | Report::Answered(_) => LookupAnswer::Inconclusive {
            why: "it was not a lookup's answer".to_owned(),
        },
    };
    let promised = record.action.intent.promises.lookup;
    Fact::LookedUp(Lookup {
        asked_at: ticket.at,
        by: promised.map_or(LookupBy::Reference, |lookup| lookup.by),
        epoch: ticket.epoch,
        answer,
    })
}

/// Whether all of these facts stand in the evidence already: the report is repeated.
#[must_use]
pub fn is_recorded(evidence: &[Evidence], facts: &[Fact]) -> bool {
    let known = |fact: &Fact| evidence.iter().any(|known| same(&known.fact, fact));
    facts.iter().all(known)
}

/// When it was read is no part of what an answer says.
fn same(a: &Fact, b: &Fact) -> bool {
    match (a, b) {
        (Fact::Answered(a), Fact::Answered(b)) => {
            let a = Answer {
                read_at: b.read_at,
                ..a.clone()
            };
            a == *b
        }
        (a, b) => a == b,
    }
}
