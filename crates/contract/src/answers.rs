//! Reading the answer to an effect request: the first rule that holds decides, and unknown is what is left.
//!
//! A required member that is missing makes an answer unknown, whatever its status. The rules themselves are in
//! [`crate::rules`].

use factum_core::evidence::{AnswerClass, Receipt};
use factum_core::promise::LookupBy;
use factum_core::{Span, Timestamp};
use serde_json::Value;

use crate::compare;
use crate::contract::Contract;
use crate::http::{HttpAnswer, HttpRequest};
use crate::parts::Take;
use crate::pointer::{Pointer, text_of};
use crate::rules::{Mark, Outcome};
use crate::when::Seen;

/// What an answer says, in the contract's own terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// What it means.
    pub class: AnswerClass,
    /// The destination's own reference, where the answer carries one.
    pub receipt: Option<Receipt>,
    /// A stored answer, played again.
    pub replayed: bool,
    /// Not before this long, as the destination advises. Where it names an instant: the distance from the answer's own `Date`.
    pub retry_after: Option<Span>,
    /// The instant that it names, by its own clock.
    pub retry_at: Option<Timestamp>,
    /// Whether it says that the same request is worth sending again; none where it says neither.
    pub retry_advised: Option<bool>,
    /// Of an unknown: the destination says that the request is not in flight any more, whatever became of it.
    pub settled: bool,
    /// Whether the destination looked at our key; none where nothing shows it.
    pub key_honoured: Option<bool>,
    /// Whether what it made carries our mark; none where nothing shows it.
    pub marker_kept: Option<bool>,
}

/// Our own marks, by which an answer is recognised as ours (R31).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ours<'a> {
    /// The reference that was written into the request.
    pub reference: Option<&'a str>,
    /// The key that was sent.
    pub key: Option<&'a str>,
}
/// For people; longer texts of a destination are cut.
const WHY_MAX: usize = 500;

impl Take {
    /// The value, if the answer has it.
    pub(crate) fn from(&self, seen: &Seen<'_>) -> Option<String> {
        let header = |name: &str| {
            let value = seen.answer.header(name).map(str::trim);
            value.filter(|value| !value.is_empty())
        };
        match self {
            Self::Json(pointer) => seen.text(pointer),
            Self::Header(name) => header(name).map(str::to_owned),
            Self::LastSegment(name) => {
                let path = header(name)?.split(['?', '#']).next()?;
                let (_, last) = path.trim_end_matches('/').rsplit_once('/')?;
                (!last.is_empty()).then(|| last.to_owned())
            }
            Self::Between(before, after) => {
                let (_, rest) = seen.body_text()?.split_once(before.as_str())?;
                let (found, _) = rest.split_once(after.as_str())?;
                (!found.is_empty()).then(|| found.to_owned())
            }
        }
    }
}

impl Mark {
    pub(crate) fn holds(&self, seen: &Seen<'_>, ours: &Ours<'_>) -> bool {
        let mark = match self.with {
            LookupBy::Reference => ours.reference,
            LookupBy::Key => ours.key,
        };
        let Some(mark) = mark.filter(|mark| !mark.is_empty()) else {
            return false;
        };
        match (&self.take, &seen.json) {
            (Take::Json(at), Some(document)) => {
                let mut found = at.all(document).into_iter().filter_map(text_of);
                found.any(|text| text == mark)
            }
            (take, _) => take.from(seen).as_deref() == Some(mark),
        }
    }
}

impl Outcome {
    /// What the answer means; unknown where a required member is missing.
    fn apply(
        &self,
        seen: &Seen<'_>,
        marks: &Ours<'_>,
        sent: Option<&Value>,
    ) -> (AnswerClass, Option<Receipt>) {
        let take = |take: &Option<Take>| take.as_ref().and_then(|take| take.from(seen));
        let unknown = (AnswerClass::Unknown, None);
        match self {
            Self::Done {
                receipt,
                aliases,
                ours,
                same,
            } => {
                let found = take(receipt);
                let lacks_receipt = receipt.is_some() && found.is_none();
                let foreign = ours.as_ref().is_some_and(|ours| !ours.holds(seen, marks));
                if lacks_receipt || foreign || !same.iter().all(|same| same.holds(sent, seen)) {
                    return unknown;
                }
                let aliases = aliases.iter().filter_map(|at| seen.text(at)).collect();
                let receipt = found.map(|reference| Receipt { reference, aliases });
                (AnswerClass::Done, receipt)
            }
            Self::Accepted { object, receipt } => {
                let found = take(object);
                if object.is_some() && found.is_none() {
                    return unknown;
                }
                let receipt = take(receipt).map(Receipt::new);
                (AnswerClass::Accepted { object: found }, receipt)
            }
            Self::Refused {
                declined,
                stored,
                why,
            } => {
                let (stored, why) = (*stored, self::why(why.as_ref(), seen));
                let class = if *declined {
                    AnswerClass::Declined { stored, why }
                } else {
                    AnswerClass::Rejected { stored, why }
                };
                (class, None)
            }
            Self::AlreadyExists {
                receipt,
                ours,
                same,
            } => {
                let ours = ours.as_ref().is_some_and(|ours| ours.holds(seen, marks))
                    && same.iter().all(|same| same.holds(sent, seen));
                let receipt = take(receipt).map(Receipt::new);
                (AnswerClass::AlreadyExists { ours }, receipt)
            }
            Self::InProgress => (AnswerClass::InProgress, None),
            Self::Mismatch => (AnswerClass::Mismatch, None),
            Self::Busy => (AnswerClass::Busy, None),
            Self::Unknown { .. } => unknown,
        }
    }
}

/// The destination's words, or its status where it has none.
pub(crate) fn why(at: Option<&Pointer>, seen: &Seen<'_>) -> String {
    let words = at.and_then(|at| seen.text(at));
    let words = words.unwrap_or_else(|| format!("status {}", seen.answer.status));
    words.chars().take(WHY_MAX).collect()
}

impl Contract {
    /// What an answer to the effect request means, without our marks: an answer that the contract compares with our intent
    /// is then not recognised as ours.
    #[must_use]
    pub fn read_answer(&self, answer: &HttpAnswer) -> Reading {
        self.read_answer_to(answer, &Ours::default())
    }

    /// What an answer to the effect request that carried these marks means.
    #[must_use]
    pub fn read_answer_to(&self, answer: &HttpAnswer, ours: &Ours<'_>) -> Reading {
        self.read(answer, ours, None)
    }

    /// What an answer to this effect request means. Only with the request at hand an answer is recognised that the contract
    /// compares with what was sent (R31); for all others it is the same as [`Contract::read_answer_to`].
    #[must_use]
    pub fn read_answer_of(
        &self,
        answer: &HttpAnswer,
        ours: &Ours<'_>,
        request: &HttpRequest,
    ) -> Reading {
        self.read(answer, ours, compare::document(request).as_ref())
    }

    fn read(&self, answer: &HttpAnswer, ours: &Ours<'_>, sent: Option<&Value>) -> Reading {
        let seen = Seen::new(answer);
        let mut rules = self.answers.iter().chain(&self.provider.answers);
        let rule = rules.find(|rule| rule.when.holds(&seen));
        let (class, receipt) = match rule {
            Some(rule) => rule.outcome.apply(&seen, ours, sent),
            None => (AnswerClass::Unknown, None),
        };
        let settled = rule.is_some_and(|r| r.outcome == Outcome::Unknown { settled: true });
        let repeat = self.key.as_ref().and_then(|key| key.repeat.as_ref());
        let replayed = repeat.and_then(|repeat| repeat.replayed.as_ref());
        let advised = self
            .provider
            .advice
            .of(self.provider.retry_after.as_ref(), &seen);
        let mut retry_after = advised.after;
        if class == AnswerClass::InProgress {
            retry_after = retry_after.max(self.repeat_wait_min());
        }
        Reading {
            class,
            receipt,
            replayed: replayed.is_some_and(|when| when.holds(&seen)),
            retry_after,
            retry_at: advised.at,
            retry_advised: advised.again,
            settled,
            key_honoured: self.support.key(&seen),
            marker_kept: self.support.marker(&seen, ours),
        }
    }
}
