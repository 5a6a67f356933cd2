//! Time as evidence: the records that the passing of time calls for. Time enters the state through these only.

use crate::evidence::{Fact, RequestRef};
use crate::intent::Preference;
use crate::known::Known;
use crate::status::State;

use super::decider::Decider;
use super::{Step, Why};

impl Decider<'_> {
    pub(super) fn due_fact(&self) -> Option<Fact> {
        let now = self.conditions.now;
        if let Some(request) = self.lease_over() {
            return Some(Fact::LeaseOver { request, at: now });
        }
        if self.status.is_settled() {
            return self.review_to_open();
        }
        let intent = self.reader.intent;
        let ends = &self.reader.known.ends;
        if intent.deadline.is_some_and(|at| now >= at) && !ends.deadline_passed {
            return Some(Fact::DeadlinePassed { at: now });
        }
        if intent.approved_until.is_some_and(|at| now >= at) && !ends.approval_over {
            return Some(Fact::ApprovalOver { at: now });
        }
        let attempts = self.reader.known.attempts_marked();
        let exhausted = matches!(self.status.state, State::Pending | State::RetryableFailure)
            && !self.attempts_left();
        if exhausted && self.reader.known.unused_order().is_none() {
            return Some(Fact::GaveUp { attempts });
        }
        let next = self.next();
        match next.why {
            Why::VerdictTakesHoldLater if next.at <= now => Some(Fact::ClockRead { at: now }),
            Why::PreferMissing => {
                let Preference::PreferMissing { by } = &intent.preference else {
                    return None;
                };
                Some(Fact::SearchEnded {
                    why: by.clone(),
                    at: now,
                })
            }
            _ => self.review_to_open(),
        }
    }

    pub(super) fn lease_over(&self) -> Option<RequestRef> {
        let known = self.reader.known;
        let now = self.conditions.now;
        let attempt = known
            .marks()
            .find(|(mark, attempt)| {
                known.is_open(attempt) && now >= Known::leased_until(mark, attempt)
            })
            .map(|(mark, _)| RequestRef::Attempt(mark.attempt));
        attempt.or_else(|| {
            let open = known
                .cancels
                .values()
                .filter(|cancel| known.is_cancel_open(cancel));
            open.filter_map(|cancel| cancel.mark.as_ref())
                .find(|mark| now >= mark.lease_until)
                .map(|mark| RequestRef::Cancel(mark.no))
        })
    }

    /// From the moment that a person is needed, only a person opens a send; that is itself a record.
    pub(super) fn review_to_open(&self) -> Option<Fact> {
        let Step::Review(why) = self.next().step else {
            return None;
        };
        let open = self
            .reader
            .known
            .open_reviews()
            .any(|(_, _, opened)| opened == why);
        let taken = self.reader.known.open_reviews().next().is_some();
        (!open && (!taken || self.dispute().is_some())).then_some(Fact::ReviewOpened { why })
    }
}
