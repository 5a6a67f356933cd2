//! What became of the claims about what can be asked: the lookup's lag and completeness, and withdrawing by key.

use factum_core::Span;
use factum_core::evidence::{AnswerClass, CancelAnswer, PollAnswer};
use factum_core::promise::Authority;

use super::{Case, Judged, broken, held, untold};
use crate::probe::Claim;
use crate::probe::sight::{Looked, Sight};

impl Case<'_> {
    pub(super) fn lookup_lag(&self) -> Vec<Claim> {
        let Some(lookup) = &self.contract.lookup else {
            return Vec::new();
        };
        let lag = lookup.lag;
        let says = if lag == Span::ZERO {
            "the lookup shows an effect as soon as it was answered".to_owned()
        } else {
            format!("the lookup shows an effect after {lag} at the latest")
        };
        vec![self.claim("/lookup/lag", says, self.lag_seen(lag))]
    }

    fn lag_seen(&self, lag: Span) -> Judged {
        let looks: Vec<&Looked> = self.looks().collect();
        let late = looks
            .iter()
            .filter_map(|looked| looked.absent_at)
            .filter(|absent| *absent >= lag)
            .max();
        if let Some(late) = late {
            return broken(format!("still not shown {late} after its answer"));
        }
        let shown: Vec<Span> = looks
            .iter()
            .filter_map(|looked| looked.shown_after)
            .collect();
        let missing = looks.len() - shown.len();
        match shown.iter().max() {
            _ if looks.is_empty() => untold("nothing was made that could be looked for"),
            None => untold(format!("none of {missing} was shown while it was read")),
            Some(_) if missing > 0 => {
                let why = looks.iter().find_map(|looked| looked.inconclusive.clone());
                let why = why.unwrap_or_else(|| "the reading ended before the lag was over".into());
                untold(format!(
                    "{missing} of {} were not shown: {why}",
                    looks.len()
                ))
            }
            // Read when the lag was just over, or before.
            Some(most) if *most <= lag + lag.fraction(1, 20).max(Span::from_secs(1)) => {
                held(format!("{} shown, the latest after {most}", shown.len()))
            }
            Some(most) => untold(format!(
                "shown by {most} after the answer, and not read just when the lag was over"
            )),
        }
    }

    pub(super) fn complete(&self) -> Vec<Claim> {
        let Some(lookup) = &self.contract.lookup else {
            return Vec::new();
        };
        let relied = lookup.authority == Authority::Authoritative;
        let says = if relied {
            "the lookup shows everything that was made, and its absence is proof"
        } else {
            "the lookup may show what was made; its absence proves nothing"
        };
        vec![self.claim("/lookup/authority", says, self.everything_shown(relied))]
    }

    fn everything_shown(&self, relied: bool) -> Judged {
        let unused = self.marks.len() - 1;
        let (nothing, made): (Vec<&Looked>, Vec<&Looked>) =
            self.looks().partition(|looked| looked.mark == unused);
        let shows = |looked: &&&Looked| looked.shown_after.is_some();
        if nothing.iter().any(|looked| shows(&looked)) {
            return broken("it shows something under a mark that was never used");
        }
        let found = made.iter().filter(shows).count();
        let counts = format!("{found} of {} effects are shown", made.len());
        let missing: Vec<&&Looked> = made
            .iter()
            .filter(|looked| looked.shown_after.is_none() && looked.absent_at.is_some())
            .collect();
        let other = made.iter().find(|looked| {
            let known = &self.marks[looked.mark].names.receipts;
            let named = !looked.receipts.is_empty() && !known.is_empty();
            named
                && !looked
                    .receipts
                    .iter()
                    .any(|receipt| known.contains(receipt))
        });
        if let Some(other) = other {
            return broken(format!(
                "{counts}; one is shown under another name: {}",
                other.receipts.join(", ")
            ));
        }
        let empty = nothing.first();
        let absent = empty.is_some_and(|looked| looked.absent_at.is_some());
        let why_not = empty.and_then(|looked| looked.inconclusive.clone());
        match (relied, missing.is_empty(), found == made.len(), absent) {
            (true, false, ..) => broken(format!(
                "{counts}, and {} are said to be absent: {}",
                missing.len(),
                self.named(&missing)
            )),
            (false, false, ..) => untold(format!("{counts}; nothing more is claimed")),
            (_, true, true, true) if made.is_empty() => {
                untold("nothing was made that could be looked for")
            }
            (_, true, true, true) => held(format!("{counts}, and what was never made is not")),
            (_, true, true, false) => untold(format!(
                "{counts}; of what was never made it says nothing: {}",
                why_not.unwrap_or_default()
            )),
            (_, true, false, _) => untold(format!("{counts}; of the others it says nothing")),
        }
    }

    fn named(&self, looks: &[&&Looked]) -> String {
        let names = looks.iter().map(|looked| {
            let mark = &self.marks[looked.mark];
            let name = mark.names.receipts.iter().next();
            name.unwrap_or(&mark.reference).clone()
        });
        names.collect::<Vec<_>>().join(", ")
    }

    pub(super) fn cancel(&self) -> Vec<Claim> {
        let Some(cancel) = &self.contract.cancel else {
            return Vec::new();
        };
        let says = "a cancel that is confirmed has withdrawn what existed under the key";
        let mut claims = vec![self.claim("/cancel", says, self.withdrawn())];
        if cancel.refuses_later_arrivals {
            let says = "after it was withdrawn, what arrives under the key is refused";
            let judged = self.later_arrival();
            claims.push(self.claim("/cancel/refuses_later_arrivals", says, judged));
        }
        claims
    }

    fn cancelled(&self) -> Option<&CancelAnswer> {
        self.sights.iter().find_map(|sight| match sight {
            Sight::Cancelled { answer, .. } => Some(answer),
            Sight::Sent { .. }
            | Sight::Followed { .. }
            | Sight::Looked(_)
            | Sight::Waited(_)
            | Sight::Declined => None,
        })
    }

    /// Why the cancel's answer is not the one that is judged.
    fn not_confirmed(&self) -> Option<String> {
        match self.cancelled() {
            Some(CancelAnswer::Confirmed { .. }) => None,
            Some(CancelAnswer::TooLate { .. }) => {
                Some("the destination said that it was too late".to_owned())
            }
            Some(CancelAnswer::Unknown { why } | CancelAnswer::NotSent { why }) => Some(format!(
                "the cancel was not answered as the contract knows it: {why}"
            )),
            None => Some(match self.sents().first() {
                Some(first) if !first.made() => {
                    format!("the request before it already got: {}", first.shown())
                }
                Some(_) | None => "it was not tried".to_owned(),
            }),
        }
    }

    fn withdrawn(&self) -> Judged {
        if let Some(why) = self.not_confirmed() {
            return untold(why);
        }
        let followed = self.sights.iter().find_map(|sight| match sight {
            Sight::Followed { answer, .. } => answer.as_ref(),
            Sight::Sent { .. }
            | Sight::Cancelled { .. }
            | Sight::Looked(_)
            | Sight::Waited(_)
            | Sight::Declined => None,
        });
        match followed {
            Some(PollAnswer::Completed(_)) => {
                return broken("confirmed, and then the work was completed all the same");
            }
            Some(PollAnswer::Failed { why }) => {
                return held(format!(
                    "confirmed, and the work ended without effect: {why}"
                ));
            }
            Some(PollAnswer::Working | PollAnswer::Inconclusive { .. }) | None => {}
        }
        let shows_deleted = self
            .contract
            .lookup_includes()
            .any(|word| word == "deleted");
        match self.looks().next() {
            Some(looked) if looked.absent_at.is_some() && looked.receipts.is_empty() => {
                held("confirmed, and the lookup does not show it any more")
            }
            Some(looked) if looked.shown_after.is_some() && shows_deleted => {
                untold("confirmed; the lookup shows what is deleted as well")
            }
            Some(looked) if looked.shown_after.is_some() => broken(format!(
                "confirmed, and the lookup still shows it: {}",
                looked.receipts.join(", ")
            )),
            Some(_) | None => {
                untold("confirmed; nothing shows whether the effect is gone, so look there")
            }
        }
    }

    fn later_arrival(&self) -> Judged {
        if let Some(why) = self.not_confirmed() {
            return untold(why);
        }
        let sents = self.sents();
        let Some(later) = sents.get(1) else {
            return untold("it was not tried");
        };
        let shown = later.shown();
        match later.class() {
            Some(AnswerClass::Rejected { .. } | AnswerClass::Declined { .. }) => held(shown),
            Some(AnswerClass::Done | AnswerClass::Accepted { .. }) => broken(shown),
            Some(
                AnswerClass::InProgress
                | AnswerClass::AlreadyExists { .. }
                | AnswerClass::Mismatch
                | AnswerClass::Busy
                | AnswerClass::Unknown,
            )
            | None => untold(shown),
        }
    }
}

/// For the report: how long each effect took to show.
pub(in crate::probe) fn lags(sights: &[Sight]) -> Vec<Span> {
    let shown = sights.iter().filter_map(|sight| match sight {
        Sight::Looked(looked) => looked.shown_after,
        Sight::Sent { .. }
        | Sight::Cancelled { .. }
        | Sight::Followed { .. }
        | Sight::Waited(_)
        | Sight::Declined => None,
    });
    let mut shown: Vec<Span> = shown.collect();
    shown.sort_unstable();
    shown
}
