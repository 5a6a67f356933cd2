//! The verdicts: from what was seen to what became of each claim. What was seen in part only is never more than "could not
//! be told".

mod key;
mod shows;

use factum_core::Span;
use factum_core::evidence::{AnswerClass, PollAnswer};

use super::build::Mark;
use super::run::Run;
use super::sight::{Looked, Names, Same, Sent, Sight};
use super::{Claim, Experiment, Setup, Verdict};
use crate::contract::Contract;
use crate::repeat::Repeat;

pub(super) use shows::lags;

/// One experiment and what was seen in it.
struct Case<'a> {
    contract: &'a Contract,
    setup: &'a Setup,
    marks: &'a [Mark],
    experiment: Experiment,
    sights: &'a [Sight],
}

/// Why something could not be told, or whether it held.
type Judged = (Verdict, String);

fn held(why: impl Into<String>) -> Judged {
    (Verdict::Held, why.into())
}

fn broken(why: impl Into<String>) -> Judged {
    (Verdict::DidNotHold, why.into())
}

fn untold(why: impl Into<String>) -> Judged {
    (Verdict::CouldNotBeTold, why.into())
}

/// What became of every claim that the plan tries, in its order.
pub(super) fn claims(run: &Run<'_>) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (planned, sights) in run.planned.iter().zip(&run.sights) {
        let case = Case {
            contract: run.contract,
            setup: &run.setup,
            marks: &run.marks,
            experiment: planned.experiment,
            sights,
        };
        let judged = case.judge();
        let skipped = planned.skipped.as_ref();
        claims.extend(judged.into_iter().map(|mut claim| {
            if let Some(why) = skipped {
                (claim.verdict, claim.why) = untold(format!("not tried: {why}"));
            }
            claim
        }));
    }
    claims.extend(answers(run));
    claims
}

/// Whether every answer was one that the contract knows.
fn answers(run: &Run<'_>) -> Option<Claim> {
    let all: Vec<_> = run.sights.iter().flatten().filter_map(sent).collect();
    let answered: Vec<_> = all.iter().filter_map(|sent| sent.answered()).collect();
    if answered.is_empty() {
        return None;
    }
    let unread: Vec<String> = answered
        .iter()
        .filter(|answer| answer.reading.class == AnswerClass::Unknown)
        .map(|answer| answer.status.to_string())
        .collect();
    let (verdict, why) = if unread.is_empty() {
        held(format!(
            "{} answers, each of a class that is named",
            answered.len()
        ))
    } else {
        untold(format!(
            "{} of {} answers are of no class that the contract names: status {}",
            unread.len(),
            answered.len(),
            unread.join(", ")
        ))
    };
    Some(Claim {
        about: "/answers".to_owned(),
        says: "the answers are those that the rules name".to_owned(),
        experiment: Experiment::SameKeyTwice,
        verdict,
        why,
    })
}

fn sent(sight: &Sight) -> Option<&Sent> {
    match sight {
        Sight::Sent { outcome, .. } => Some(outcome),
        Sight::Cancelled { .. }
        | Sight::Followed { .. }
        | Sight::Looked(_)
        | Sight::Waited(_)
        | Sight::Declined => None,
    }
}

impl<'a> Case<'a> {
    fn judge(&self) -> Vec<Claim> {
        match self.experiment {
            Experiment::SameKeyTwice => self.same_key_twice(),
            Experiment::OtherContent => self.other_content(),
            Experiment::ConcurrentPair => self.pairs(),
            Experiment::Refusal | Experiment::OwnError => self.refusal(),
            Experiment::SecondCredential => self.second_credential(),
            Experiment::InsideWindow => self.inside_window(),
            Experiment::AfterWindow => self.after_window(),
            Experiment::LookupLag => self.lookup_lag(),
            Experiment::CancelByKey => self.cancel(),
            Experiment::LookupComplete => self.complete(),
        }
    }

    fn claim(&self, about: &str, says: impl Into<String>, (verdict, why): Judged) -> Claim {
        Claim {
            about: about.to_owned(),
            says: says.into(),
            experiment: self.experiment,
            verdict,
            why,
        }
    }

    fn repeat(&self) -> Option<&'a Repeat> {
        self.contract.key.as_ref()?.repeat.as_ref()
    }

    /// The outcomes of the requests, in their order.
    fn sents(&self) -> Vec<&'a Sent> {
        self.sights.iter().filter_map(sent).collect()
    }

    fn looks(&self) -> impl Iterator<Item = &'a Looked> {
        self.sights.iter().filter_map(|sight| match sight {
            Sight::Looked(looked) => Some(looked),
            Sight::Sent { .. }
            | Sight::Cancelled { .. }
            | Sight::Followed { .. }
            | Sight::Waited(_)
            | Sight::Declined => None,
        })
    }

    fn waited(&self) -> Span {
        let spans = self.sights.iter().filter_map(|sight| match sight {
            Sight::Waited(span) => Some(*span),
            Sight::Sent { .. }
            | Sight::Cancelled { .. }
            | Sight::Followed { .. }
            | Sight::Looked(_)
            | Sight::Declined => None,
        });
        spans.fold(Span::ZERO, |all, span| all + span)
    }

    /// The names of the first effect, with what its completion said.
    fn names_of_first(&self) -> Names {
        let mut names = Names::default();
        let mut sent = 0;
        for sight in self.sights {
            match sight {
                Sight::Sent { outcome, .. } => {
                    sent += 1;
                    if sent > 1 {
                        break;
                    }
                    if let Some(answered) = outcome.answered() {
                        names.add(answered.names());
                    }
                }
                Sight::Followed {
                    answer: Some(PollAnswer::Completed(Some(receipt))),
                    ..
                } => {
                    names.receipts.insert(receipt.reference.clone());
                }
                Sight::Followed { .. }
                | Sight::Cancelled { .. }
                | Sight::Looked(_)
                | Sight::Waited(_)
                | Sight::Declined => {}
            }
        }
        names
    }

    /// Both outcomes of a pair of requests, where the first made something; else why that cannot be judged.
    fn two(&self) -> Result<(&'a Sent, &'a Sent), String> {
        let sents = self.sents();
        if self.sights.contains(&Sight::Declined) {
            return Err("the request was not wanted by who was asked".to_owned());
        }
        match sents.as_slice() {
            [first, ..] if !first.made() => {
                Err(format!("the first request already got: {}", first.shown()))
            }
            [first, second, ..] => Ok((first, second)),
            _ => Err("it was not tried".to_owned()),
        }
    }

    /// Whether the second answer tells of the first effect, where it tells of one.
    fn same_effect(&self, second: &Sent) -> Same {
        let Some(answered) = second.answered() else {
            return Same::Unclear;
        };
        let same = self.names_of_first().same(&answered.names());
        match (&answered.reading.class, same) {
            (AnswerClass::Done | AnswerClass::Accepted { .. }, same) => same,
            // The key is new and nobody else's, so that what exists under it is what was just made.
            (AnswerClass::AlreadyExists { .. }, Same::Yes | Same::Unclear) => Same::Yes,
            (_, _) => Same::Unclear,
        }
    }

    /// Receipts that the lookup shows under one mark, where it shows more than one.
    fn doubled(&self) -> Option<String> {
        let doubled = self.looks().find(|looked| looked.receipts.len() > 1)?;
        Some(format!(
            "the lookup shows {} effects: {}",
            doubled.receipts.len(),
            doubled.receipts.join(", ")
        ))
    }
}
