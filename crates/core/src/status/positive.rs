//! Positive evidence: every record that says "the effect exists", and what it is worth beside cancels by key (R5, R20).

use crate::evidence::{
    AnswerClass, Callback, CancelAnswer, LookupAnswer, Mark, PollAnswer, Receipt, Ruling,
};
use crate::id::AttemptNo;
use crate::known::Withdrawal;
use crate::mistake::{Mistake, made};
use crate::proof::Reader;
use crate::time::{Span, Timestamp};

/// Positive evidence: what was seen, and which attempts can have made it.
pub(super) struct Positive<'a> {
    pub(super) receipt: Option<&'a Receipt>,
    pub(super) by_person: bool,
    made_by: MadeBy,
}

enum MadeBy {
    Attempt(AttemptNo),
    AnyMarkedBy(Option<Timestamp>),
}

/// What a positive record is worth beside the cancels by key.
enum Weight {
    Counts,
    HeldBack,
    Withdrawn,
}

impl Positive<'_> {
    fn may_be_made_by(&self, mark: &Mark) -> bool {
        match self.made_by {
            MadeBy::Attempt(no) => mark.attempt == no,
            MadeBy::AnyMarkedBy(seen) => seen.is_none_or(|seen| mark.at <= seen),
        }
    }
}

impl<'a> Reader<'a> {
    /// Positive evidence that counts, and whether some is held back by a cancel that is not answered yet (R5).
    pub(super) fn positives(&self) -> (Vec<Positive<'a>>, bool) {
        let mut counted = Vec::new();
        let mut blocked = false;
        for positive in self.positive_records() {
            match self.weigh(&positive) {
                Weight::Counts => counted.push(positive),
                Weight::HeldBack => blocked = true,
                Weight::Withdrawn => {}
            }
        }
        (counted, blocked)
    }

    /// What a positive record is worth, by the epochs that can have made it: a confirmed cancel outranks every receipt of
    /// its epoch, and an unanswered one holds them back; a person's word too, for the cancel may still land. A record that cannot be told apart from a withdrawn one is not
    /// counted; that only costs another question.
    fn weigh(&self, positive: &Positive) -> Weight {
        let (mut any, mut held, mut withdrawn, mut standing) = (false, false, None, false);
        for (mark, _) in self
            .known
            .marks()
            .filter(|(m, _)| positive.may_be_made_by(m))
        {
            any = true;
            match self.known.withdrawal(mark.epoch) {
                Withdrawal::Confirmed(at) => withdrawn = withdrawn.max(Some(at)),
                Withdrawal::Unanswered => held = true,
                Withdrawal::NotAsked | Withdrawal::TooLate => standing = true,
            }
        }
        if !any {
            return Weight::Counts;
        }
        if held && !made(Mistake::ReceiptBesideCancel) {
            return Weight::HeldBack;
        }
        if positive.by_person {
            // Evidence against a person's word is for a person to judge (R15). What was seen before a withdrawal was over may be
            // what it withdrew, while something else stands in the way of saying that nothing exists: a person looks again.
            let before =
                |at| matches!(positive.made_by, MadeBy::AnyMarkedBy(Some(seen)) if seen <= at);
            return if standing && withdrawn.is_some_and(before) {
                Weight::HeldBack
            } else {
                Weight::Counts
            };
        }
        match withdrawn {
            Some(_) if made(Mistake::CancelDoesNotOutrank) => Weight::Counts,
            None => Weight::Counts,
            Some(_) if !standing => Weight::Withdrawn,
            Some(at) if self.is_later_than_withdrawal(positive, at) => Weight::Counts,
            Some(_) => Weight::Withdrawn,
        }
    }

    /// A lookup asked after the withdrawal, and its lag, shows what exists since; any other record only if every confirmation
    /// named what was withdrawn and this is none of it.
    fn is_later_than_withdrawal(&self, positive: &Positive, confirmed: Timestamp) -> bool {
        if let MadeBy::AnyMarkedBy(Some(asked)) = positive.made_by {
            let lag = self.promises.lookup.map_or(Span::ZERO, |l| l.lag);
            return asked >= confirmed + lag;
        }
        let Some(receipt) = positive.receipt else {
            return false;
        };
        self.known
            .cancels
            .values()
            .flat_map(|cancel| cancel.answers.values())
            .all(|(_, answer)| match answer {
                CancelAnswer::Confirmed { object } => object
                    .as_ref()
                    .is_some_and(|o| receipt.reference != *o && !receipt.aliases.contains(o)),
                CancelAnswer::TooLate { .. }
                | CancelAnswer::NotSent { .. }
                | CancelAnswer::Unknown { .. } => true,
            })
    }

    /// Every record that says "the effect exists".
    fn positive_records(&self) -> Vec<Positive<'a>> {
        let mut found = Vec::new();
        let destination = |receipt: Option<&'a Receipt>, made_by| Positive {
            receipt,
            by_person: false,
            made_by,
        };
        for (no, attempt) in &self.known.attempts {
            for (answer, class) in self.known.read_answers(attempt) {
                if shows_the_effect(class) {
                    found.push(destination(answer.receipt.as_ref(), MadeBy::Attempt(*no)));
                }
            }
            for (_, poll) in attempt.polls.values() {
                if let PollAnswer::Completed(receipt) = poll {
                    found.push(destination(receipt.as_ref(), MadeBy::Attempt(*no)));
                }
            }
        }
        for (_, lookup) in self.known.lookups.values() {
            if let LookupAnswer::Found(receipts) = &lookup.answer {
                let made_by = || MadeBy::AnyMarkedBy(Some(lookup.asked_at));
                found.extend(
                    receipts
                        .iter()
                        .map(|receipt| destination(Some(receipt), made_by())),
                );
            }
        }
        for callback in self.known.callbacks.values() {
            if let Callback::Positive(receipt) = callback {
                found.push(destination(Some(receipt), MadeBy::AnyMarkedBy(None)));
            }
        }
        for cancel in self.known.cancels.values() {
            for (_, answer) in cancel.answers.values() {
                if let CancelAnswer::TooLate {
                    receipt: Some(receipt),
                } = answer
                {
                    found.push(destination(Some(receipt), MadeBy::AnyMarkedBy(None)));
                }
            }
        }
        for (_, verdict) in self.known.standing_verdicts() {
            if let Ruling::Happened { receipt } = &verdict.ruling {
                found.push(Positive {
                    receipt: receipt.as_ref(),
                    by_person: true,
                    made_by: MadeBy::AnyMarkedBy(Some(verdict.at)),
                });
            }
        }
        found
    }
}

/// Whether an answer says that our effect exists.
fn shows_the_effect(class: &AnswerClass) -> bool {
    match class {
        AnswerClass::Done => true,
        AnswerClass::AlreadyExists { ours } => *ours || made(Mistake::ForeignIsOurs),
        AnswerClass::Accepted { .. } => made(Mistake::AcceptedIsDone),
        AnswerClass::Declined { .. } => made(Mistake::DeclinedIsDone),
        AnswerClass::Rejected { .. }
        | AnswerClass::InProgress
        | AnswerClass::Mismatch
        | AnswerClass::Busy
        | AnswerClass::Unknown => false,
    }
}

/// All effects that were seen, if they are more than one.
pub(super) fn duplicates(positives: &[&Positive]) -> Vec<Receipt> {
    let mut distinct: Vec<&Receipt> = Vec::new();
    for receipt in positives.iter().filter_map(|p| p.receipt) {
        if !distinct.iter().any(|known| known.same_effect(receipt)) {
            distinct.push(receipt);
        }
    }
    if distinct.len() < 2 {
        return Vec::new();
    }
    let mut sorted: Vec<Receipt> = distinct.into_iter().cloned().collect();
    sorted.sort();
    sorted
}
