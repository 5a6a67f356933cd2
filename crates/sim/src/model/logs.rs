//! The logs of actions that occur in an exploration, each kept once, with what the core says of it. A world names a log by
//! its number, so worlds stay small and the core is asked once per log and instant.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

use factum_core::evidence::{
    AnswerClass, Callback, CancelAnswer, Evidence, Fact, LookupAnswer, PermissionKind, PollAnswer,
    Receipt, RequestRef,
};
use factum_core::{
    AttemptNo, Conditions, Epoch, EvidenceId, Intent, Known, Next, Permission, Promises, Status,
    Timestamp, WorkerNonce, decide, due_fact,
};

use super::fingerprint::{self, Wide};

/// The number of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LogId(pub(crate) u32);

impl LogId {
    /// No action is recorded.
    pub(crate) const NONE: Self = Self(u32::MAX);
    /// Recorded, and nothing since.
    pub(crate) const EMPTY: Self = Self(0);
}

/// The number of a permission that some process holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct HeldId(pub(crate) u32);

/// One log, and an index of what the laws ask about it.
pub(crate) struct Log {
    pub(crate) known: Known,
    digest: u128,
    /// The log before its last record.
    pub(crate) before: LogId,
    /// When its last record was stored.
    pub(crate) stored: Option<Timestamp>,
    /// How many records.
    pub(crate) len: u8,
    /// Requests whose marks stand in it, and for whom.
    pub(crate) marks: Vec<(RequestRef, WorkerNonce)>,
    /// By what right each attempt was marked.
    pub(crate) kinds: Vec<(AttemptNo, PermissionKind)>,
    /// References of effects that were shown to be ours.
    pub(crate) shown: Vec<String>,
    /// Attempts whose answer could not be read.
    pub(crate) unreadable: Vec<AttemptNo>,
    /// Answers, by the name of their record.
    pub(crate) answers: Vec<(EvidenceId, AnswerClass)>,
    /// Cancels that may have left, and the version of the key that each speaks for.
    pub(crate) cancels: Vec<(u32, Epoch)>,
    /// The caller withdrew.
    pub(crate) withdrawn: bool,
    /// The authority ended.
    pub(crate) unauthorised: bool,
    /// An answer has shown that our key is not looked at.
    pub(crate) unsupported: bool,
}

/// What the core says of a log, at an instant.
pub(crate) struct Judged {
    pub(crate) status: Status,
    pub(crate) next: Next,
    pub(crate) due: Option<Fact>,
}

/// The conditions beside the time, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Doubts {
    pub(crate) held: bool,
    pub(crate) clock: bool,
    pub(crate) account: bool,
    pub(crate) overtaken: bool,
}

impl Doubts {
    pub(crate) fn conditions(self, now: Timestamp, current: &Promises) -> Conditions<'_> {
        Conditions {
            now,
            current,
            restore_released: !self.held,
            clock_in_doubt: self.clock,
            account_in_doubt: self.account,
            place_changed: false,
            credential_changed: false,
            subject_overtaken: self.overtaken,
        }
    }
}

type Quick<K, V> = HashMap<K, V, BuildHasherDefault<Quickly>>;

/// For the tables of one exploration: fast, and the same in every run.
#[derive(Default)]
pub(crate) struct Quickly(Wide);

impl Hasher for Quickly {
    fn finish(&self) -> u64 {
        self.0.finish()
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    fn write_u64(&mut self, n: u64) {
        self.0.write_u64(n);
    }

    fn write_u32(&mut self, n: u32) {
        self.0.write_u64(n.into());
    }

    fn write_u8(&mut self, n: u8) {
        self.0.write_u64(n.into());
    }
}

/// All logs of an exploration.
pub(crate) struct Logs {
    told: Intent,
    current: Promises,
    /// Order is part of a log's name: where a store may be restored to a prefix.
    ordered: bool,
    /// The instants of storing are part of it too: where something rests on them.
    dated: bool,
    logs: RefCell<Vec<Rc<Log>>>,
    names: RefCell<Quick<u128, LogId>>,
    judged: RefCell<Quick<(LogId, Timestamp, Doubts), Rc<Judged>>>,
    held: RefCell<Vec<Rc<Permission>>>,
    holders: RefCell<Quick<u128, HeldId>>,
}

impl Logs {
    pub(crate) fn new(told: Intent, current: Promises, ordered: bool, dated: bool) -> Self {
        let empty = Log {
            known: Known::default(),
            digest: 0,
            before: LogId::NONE,
            stored: None,
            len: 0,
            marks: Vec::new(),
            kinds: Vec::new(),
            shown: Vec::new(),
            unreadable: Vec::new(),
            answers: Vec::new(),
            cancels: Vec::new(),
            withdrawn: false,
            unauthorised: false,
            unsupported: false,
        };
        Self {
            told,
            current,
            ordered,
            dated,
            logs: RefCell::new(vec![Rc::new(empty)]),
            names: RefCell::default(),
            judged: RefCell::default(),
            held: RefCell::default(),
            holders: RefCell::default(),
        }
    }

    pub(crate) fn get(&self, id: LogId) -> Rc<Log> {
        let index = usize::try_from(id.0).expect("a number fits");
        Rc::clone(&self.logs.borrow()[index])
    }

    /// The log with one more record.
    pub(crate) fn record(&self, id: LogId, fact: Fact, at: Timestamp) -> LogId {
        let log = self.get(id);
        let stamp = if self.dated { at } else { Timestamp::EARLIEST };
        let digest = if self.ordered {
            fingerprint::of(&(log.digest, stamp, &fact))
        } else {
            // The fold does not depend on the order, so neither does the name.
            log.digest.wrapping_add(fingerprint::of(&(stamp, &fact)))
        };
        if let Some(known) = self.names.borrow().get(&digest) {
            return *known;
        }
        let mut next = Log {
            known: log.known.clone(),
            digest,
            before: id,
            stored: Some(at),
            len: log.len + 1,
            marks: log.marks.clone(),
            kinds: log.kinds.clone(),
            shown: log.shown.clone(),
            unreadable: log.unreadable.clone(),
            answers: log.answers.clone(),
            cancels: log.cancels.clone(),
            withdrawn: log.withdrawn,
            unauthorised: log.unauthorised,
            unsupported: log.unsupported,
        };
        let id = next.known.next_id();
        next.note(id, &fact);
        next.known.absorb(&Evidence { id, at, fact });
        let mut logs = self.logs.borrow_mut();
        let number = LogId(u32::try_from(logs.len()).expect("fewer than 2^32 logs"));
        logs.push(Rc::new(next));
        self.names.borrow_mut().insert(digest, number);
        number
    }

    pub(crate) fn judge(&self, id: LogId, now: Timestamp, doubts: Doubts) -> Rc<Judged> {
        let name = (id, now, doubts);
        if let Some(judged) = self.judged.borrow().get(&name) {
            return Rc::clone(judged);
        }
        let log = self.get(id);
        let conditions = doubts.conditions(now, &self.current);
        let judged = Rc::new(Judged {
            status: log.known.status(&self.told),
            next: decide(&self.told, &log.known, &conditions),
            due: due_fact(&self.told, &log.known, &conditions),
        });
        self.judged.borrow_mut().insert(name, Rc::clone(&judged));
        judged
    }

    /// Keeps a permission for the process that holds it. It cannot be cloned; worlds that differ only in history share it.
    pub(crate) fn hold(&self, permission: Permission) -> HeldId {
        let name = fingerprint::of(&(
            permission.request(),
            permission.epoch(),
            permission.kind(),
            permission.valid_until(),
            permission.worker(),
        ));
        *self.holders.borrow_mut().entry(name).or_insert_with(|| {
            let mut held = self.held.borrow_mut();
            let number = HeldId(u32::try_from(held.len()).expect("few permissions"));
            held.push(Rc::new(permission));
            number
        })
    }

    pub(crate) fn held(&self, id: HeldId) -> Rc<Permission> {
        let index = usize::try_from(id.0).expect("a number fits");
        Rc::clone(&self.held.borrow()[index])
    }
}

impl Log {
    fn note(&mut self, id: EvidenceId, fact: &Fact) {
        match fact {
            Fact::Marked(mark) => {
                self.marks
                    .push((RequestRef::Attempt(mark.attempt), mark.worker));
                self.kinds.push((mark.attempt, mark.permission));
            }
            Fact::CancelMarked(mark) => {
                self.marks.push((RequestRef::Cancel(mark.no), mark.worker));
                self.cancels.push((mark.no, mark.epoch));
            }
            Fact::Answered(answer) => {
                self.answers.push((id, answer.class.clone()));
                if answer.class == AnswerClass::Unknown {
                    self.unreadable.push(answer.attempt);
                }
                if answer.class == AnswerClass::Done {
                    self.show(answer.receipt.as_ref());
                }
            }
            Fact::LookedUp(lookup) => {
                if let LookupAnswer::Found(receipts) = &lookup.answer {
                    receipts.iter().for_each(|receipt| self.show(Some(receipt)));
                }
            }
            Fact::CancelAnswered { no, answer } => match answer {
                CancelAnswer::NotSent { .. } => self.cancels.retain(|(cancel, _)| cancel != no),
                CancelAnswer::TooLate { receipt } => self.show(receipt.as_ref()),
                CancelAnswer::Confirmed { .. } | CancelAnswer::Unknown { .. } => {}
            },
            Fact::Polled {
                answer: PollAnswer::Completed(receipt),
                ..
            } => self.show(receipt.as_ref()),
            Fact::CalledBack(Callback::Positive(receipt)) => self.show(Some(receipt)),
            Fact::CancelRequested { .. } => self.withdrawn = true,
            Fact::AuthorityLost { .. } => self.unauthorised = true,
            Fact::Unsupported { missing, .. } => self.unsupported |= missing.key,
            _ => {}
        }
    }

    fn show(&mut self, receipt: Option<&Receipt>) {
        self.shown.extend(receipt.map(|r| r.reference.clone()));
    }
}
