//! One action under a claim: what is being done with it, and the decision what to do next.

use factum_core::evidence::RequestRef;
use factum_core::mistake::{Mistake, made};
use factum_core::permission::{Marked, may_reuse_connection};
use factum_core::{
    AttemptNo, Conditions, Fact, Known, Leave, Next, Promises, Span, Step, Timestamp, decide,
    due_fact, permit,
};
use factum_store::record::name_facts;
use factum_store::{Action, Claim, FOR_WORKERS, NextRow, Record};

use crate::destination::ByWorkers;
use crate::directory::Directory;

/// An action that this driver holds.
#[derive(Debug)]
pub(super) struct Held {
    /// `None` while a commit carries it.
    pub(super) claim: Option<Claim>,
    pub(super) record: Box<Record>,
    pub(super) doing: Doing,
    /// Something was heard about it meanwhile: decide again before resting.
    pub(super) look_again: bool,
}

/// What is under way for a held action.
#[derive(Debug)]
pub(super) enum Doing {
    /// A decision is being made or written.
    Deciding,
    /// The mark of an effect request is being written.
    Marked { marked: Marked, reuse: bool },
    /// An effect request is in flight.
    Sending(RequestRef),
    /// A lookup or a poll is in flight.
    Asking,
    /// Evidence is being committed; the facts are kept in case the claim turns out to be lost.
    Settling(Vec<Fact>),
    /// Evidence is being recorded without a claim.
    Recording,
}

/// What the driver knows beside the action itself.
pub(super) struct View<'a> {
    pub(super) now: Timestamp,
    pub(super) current: Option<&'a Promises>,
    pub(super) restore_released: bool,
    pub(super) clock_in_doubt: bool,
    pub(super) account_in_doubt: bool,
    /// The destination's base address.
    pub(super) place: Option<&'a str>,
    /// The configured account there.
    pub(super) account: Option<&'a str>,
    /// The digest of the operation's present contract; zeros where it has none.
    pub(super) contract: [u8; 32],
    /// Workers elsewhere carry the operation out.
    pub(super) by_workers: Option<&'a ByWorkers>,
    /// Since when its credential is the present one, where it changed.
    pub(super) credential_since: Option<Timestamp>,
    /// Who may do what, where somebody says.
    pub(super) directory: Option<&'a Directory>,
    /// Paused or stopping.
    pub(super) no_sends: bool,
    /// Stopping.
    pub(super) no_questions: bool,
}

/// What to do with a held action.
pub(super) enum Decision {
    /// Mark and send an effect request; the facts go into the same commit as the mark.
    Send {
        leave: Leave,
        facts: Vec<Fact>,
        reuse: bool,
    },
    /// Ask whether the effect exists.
    LookUp,
    /// Ask how queued work stands.
    Poll(AttemptNo),
    /// Write these facts and this next step, then decide again.
    Write { facts: Vec<Fact>, next: NextRow },
    /// Nothing to do before this time; never, where there is none.
    Rest { at: Option<Timestamp> },
    /// Held back until an operator lets sends go on.
    HoldBack,
}

/// Records that time calls for at once at the most; more are written in the next round.
const DUE_FACTS_MAX: usize = 16;

/// How long an action whose destination is not configured rests before it is looked at again.
const UNCONFIGURED_REST: Span = Span::from_secs(60);

impl Decision {
    /// What it begins may not begin later; never, where there is no such end.
    pub(super) fn closes(&self) -> Timestamp {
        match self {
            Self::Send { leave, .. } => leave.not_after(),
            Self::LookUp
            | Self::Poll(_)
            | Self::Write { .. }
            | Self::Rest { .. }
            | Self::HoldBack => Timestamp::NEVER,
        }
    }
}

impl Held {
    pub(super) fn new(claim: Claim, record: Box<Record>) -> Self {
        Self {
            claim: Some(claim),
            record,
            doing: Doing::Deciding,
            look_again: false,
        }
    }

    /// The effect request that is in flight, if one is.
    pub(super) fn in_flight(&self) -> Option<RequestRef> {
        match self.doing {
            Doing::Sending(request) => Some(request),
            Doing::Deciding
            | Doing::Marked { .. }
            | Doing::Asking
            | Doing::Settling(_)
            | Doing::Recording => None,
        }
    }
}

/// What to do now. Facts that time calls for come first, until none is due any more.
pub(super) fn decide_held(record: &Record, view: &View) -> Decision {
    let Some(current) = view.current else {
        return unconfigured(record, view.now);
    };
    let conditions = conditions(view, current, Some(record));
    let intent = &record.action.intent;
    let (known, facts) = with_due_facts(record, authority_lost(record, view), &conditions);
    match permit(intent, &known, &conditions) {
        Ok(_) if view.no_sends && facts.is_empty() => Decision::HoldBack,
        Ok(leave) if !view.no_sends && is_for_workers(&leave, view) => {
            offer(record, facts, "send", (view.now, leave.not_after()))
        }
        Ok(leave) if !view.no_sends => {
            let reuse = may_reuse_connection(intent, &known, current, view.now);
            Decision::Send {
                leave,
                facts,
                reuse,
            }
        }
        Ok(_) => Decision::Write {
            facts,
            next: next_row(&decide(intent, &known, &conditions)),
        },
        Err(next) if facts.is_empty() && next.at <= view.now && !view.no_questions => {
            match next.step {
                Step::LookUp if view.by_workers.is_some_and(|by| by.look_ups) => offer(
                    record,
                    facts,
                    next.step.name(),
                    (view.now, Timestamp::NEVER),
                ),
                Step::LookUp => Decision::LookUp,
                Step::Poll { attempt } => Decision::Poll(attempt),
                Step::Send(_)
                | Step::CancelByKey { .. }
                | Step::Wait
                | Step::Review(_)
                | Step::None => write_or_rest(record, facts, &next, view.now),
            }
        }
        Err(next) => write_or_rest(record, facts, &next, view.now),
    }
}

/// How often it is looked at anew what is offered to workers: whether it may still be sent, and by what right.
const OFFER_LOOKED_AT: Span = Span::from_secs(300);

/// Whether workers elsewhere carry this request out. A cancel by key is ours: the contract says how it is written.
fn is_for_workers(leave: &Leave, view: &View) -> bool {
    view.by_workers.is_some() && matches!(leave.request(), RequestRef::Attempt(_))
}

/// Something that a worker elsewhere is to do: it waits in the store until one claims it.
fn offer(
    record: &Record,
    facts: Vec<Fact>,
    step: &str,
    (now, not_after): (Timestamp, Timestamp),
) -> Decision {
    let standing = &record.next;
    let offered = standing.why == FOR_WORKERS && standing.step == step;
    if offered && facts.is_empty() && standing.at.is_some_and(|at| at > now) {
        return Decision::Rest { at: standing.at };
    }
    let ends = not_after.min(record.action.intent.sends_end_at());
    let at = (now + OFFER_LOOKED_AT).min(ends);
    // What has passed already is no time to look again at: it bars sends, and a lookup goes on.
    let at = if at > now { at } else { now + OFFER_LOOKED_AT };
    let next = NextRow {
        step: step.to_owned(),
        at: Some(at),
        why: FOR_WORKERS.to_owned(),
    };
    Decision::Write { facts, next }
}

/// The next step as it stands once these facts are recorded.
pub(super) fn next_row_after(record: &Record, facts: &[Fact], view: &View) -> NextRow {
    let Some(current) = view.current else {
        return unconfigured_row(view.now);
    };
    let mut known = record.known.clone();
    name_facts(&known, view.now, facts.to_vec())
        .iter()
        .for_each(|evidence| known.absorb(evidence));
    next_row(&decide(
        &record.action.intent,
        &known,
        &conditions(view, current, Some(record)),
    ))
}

/// The row of an action whose request is in flight: without word by the end of its lease, it is looked at again.
#[must_use]
pub fn in_flight_row(mark: &Fact) -> NextRow {
    let until = match mark {
        Fact::Marked(mark) => Some(mark.lease_until),
        Fact::CancelMarked(mark) => Some(mark.lease_until),
        _ => None,
    };
    NextRow {
        step: "wait".to_owned(),
        at: until,
        why: "a request is in flight".to_owned(),
    }
}

/// A next step as it is written down.
pub(crate) fn next_row(next: &Next) -> NextRow {
    let timeless = matches!(next.step, Step::Review(_) | Step::None);
    NextRow {
        step: next.step.name().to_owned(),
        at: (!timeless).then_some(next.at),
        why: next.why.to_string(),
    }
}

/// What decisions about this action rest on beside its evidence; about one that is only being recorded where there is no
/// `record`. Whether it is overtaken is as of reading it: a mark that rests on that is checked once more in its own commit.
pub(super) fn conditions<'a>(
    view: &View,
    current: &'a Promises,
    record: Option<&Record>,
) -> Conditions<'a> {
    let pinned = record.and_then(|record| record.action.content.place.as_deref());
    Conditions {
        now: view.now,
        current,
        restore_released: view.restore_released,
        clock_in_doubt: view.clock_in_doubt,
        account_in_doubt: view.account_in_doubt,
        place_changed: pinned.is_some_and(|pinned| view.place != Some(pinned)),
        credential_changed: (view.credential_since.zip(record))
            .is_some_and(|(since, record)| record.known.marked_before(since)),
        subject_overtaken: record.is_some_and(|record| record.overtaken),
    }
}

/// What is known once everything that time calls for is recorded, and those records.
fn with_due_facts(
    record: &Record,
    first: Option<Fact>,
    conditions: &Conditions,
) -> (Known, Vec<Fact>) {
    let intent = &record.action.intent;
    let mut known = record.known.clone();
    let mut facts: Vec<Fact> = first.into_iter().collect();
    name_facts(&known, conditions.now, facts.clone())
        .iter()
        .for_each(|evidence| known.absorb(evidence));
    while let Some(fact) = due_fact(intent, &known, conditions) {
        name_facts(&known, conditions.now, vec![fact.clone()])
            .iter()
            .for_each(|evidence| known.absorb(evidence));
        facts.push(fact);
        if facts.len() == DUE_FACTS_MAX {
            break;
        }
    }
    (known, facts)
}

/// The authority that an action was submitted under is gone: no more sends. Said once, and not of what is over.
fn authority_lost(record: &Record, view: &View) -> Option<Fact> {
    if record.status().is_settled() || record.known.is_withdrawn() {
        return None;
    }
    let directory = view.directory;
    let missing = directory.and_then(|known| known.still_lets(&record.action, view.now).err());
    let why = match missing {
        Some(missing) => missing.why().to_owned(),
        None => approval_void(&record.action, view.rests())?,
    };
    Some(Fact::AuthorityLost { why })
}

/// What an approval covers beside the content: the contract's digest, the destination's address, and the account there.
pub(crate) type Rests<'a> = ([u8; 32], Option<&'a str>, Option<&'a str>);

impl View<'_> {
    /// What an approval would have to cover now.
    pub(super) fn rests(&self) -> Rests<'_> {
        (self.contract, self.place, self.account)
    }
}

/// Why an approval does not cover what would be sent now, if it does not (R23).
pub(crate) fn approval_void(
    action: &Action,
    (contract, place, account): Rests<'_>,
) -> Option<String> {
    let content = &action.content;
    let approved = content.approved.as_ref()?;
    if made(Mistake::ApprovalCoversEveryContract) {
        return None;
    }
    let changed = if contract != content.contract {
        "the contract"
    } else if place != content.place.as_deref() {
        "the destination's address"
    } else if account != approved.account.as_deref() {
        "the account"
    } else {
        return None;
    };
    let proposal = approved.proposal;
    Some(format!(
        "{changed} has changed since {proposal} was approved"
    ))
}

fn write_or_rest(record: &Record, facts: Vec<Fact>, next: &Next, now: Timestamp) -> Decision {
    let row = next_row(next);
    // A wait is not written anew each time that it is looked at only because its end moves on.
    let still_waits = row.step == "wait"
        && record.next.step == row.step
        && record.next.why == row.why
        && record.next.at.is_some_and(|at| at > now);
    if still_waits && facts.is_empty() {
        return Decision::Rest { at: record.next.at };
    }
    if !facts.is_empty() || row != record.next {
        return Decision::Write { facts, next: row };
    }
    let intent = &record.action.intent;
    let settled = record.status().is_settled();
    let ends = [intent.deadline, intent.approved_until]
        .into_iter()
        .flatten()
        .filter(|_| !settled);
    // What has passed is recorded by now, or calls for nothing: it is not waited for.
    Decision::Rest {
        at: ends.filter(|at| *at > now).chain(row.at).min(),
    }
}

fn unconfigured(record: &Record, now: Timestamp) -> Decision {
    let row = unconfigured_row(now);
    if record.next.why == row.why {
        Decision::Rest { at: row.at }
    } else {
        Decision::Write {
            facts: Vec::new(),
            next: row,
        }
    }
}

fn unconfigured_row(now: Timestamp) -> NextRow {
    NextRow {
        step: "wait".to_owned(),
        at: Some(now + UNCONFIGURED_REST),
        why: "its destination or operation is not configured here any more".to_owned(),
    }
}
