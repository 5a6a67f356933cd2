//! What is written down of an answer: the members that the contract reads, and those that it lists under `captured`.
//!
//! An answer often repeats what was sent, and more: addresses, links with tokens in them, other people's names. None of that is
//! evidence, so it is left out before the answer is recorded. What is kept stands where it stood: a list keeps its length.

use serde_json::{Map, Value};

use crate::contract::Contract;
use crate::http::HttpAnswer;
use crate::parts::Take;
use crate::pointer::{Pointer, index};
use crate::rules::{Mark, Outcome};
use crate::when::{Seen, When};

/// A place in an answer, from here on.
#[derive(Clone, Copy)]
struct Place<'a> {
    path: &'a [String],
    /// With everything below it; otherwise a plain value, and of a list or an object that it is one.
    whole: bool,
}

impl Contract {
    /// What may be kept of the body of an answer to the effect request, as JSON. Empty where that is nothing: a body that is no
    /// JSON, or was cut, is not kept.
    #[must_use]
    pub fn captured_of(&self, answer: &HttpAnswer) -> Vec<u8> {
        let read = self.places_read();
        let read = read.iter().map(|at| (at, false));
        let listed = self.product.captured().iter().map(|at| (at, true));
        let places: Vec<Place<'_>> = read
            .chain(listed)
            .map(|(at, whole)| Place {
                path: at.parts(),
                whole,
            })
            .collect();
        let document = Seen::new(answer).json;
        let kept = document.and_then(|document| kept(&document, &places));
        kept.map_or_else(Vec::new, |kept| kept.to_string().into_bytes())
    }

    /// Where the rules look in a body of JSON.
    fn places_read(&self) -> Vec<Pointer> {
        let mut places = Vec::new();
        for rule in self.answers.iter().chain(&self.provider.answers) {
            read_by_when(&rule.when, &mut places);
            read_by_outcome(&rule.outcome, &mut places);
        }
        let repeat = self.key.as_ref().and_then(|key| key.repeat.as_ref());
        let replayed = repeat.and_then(|repeat| repeat.replayed.as_ref());
        for when in self.support.signs().chain(replayed) {
            read_by_when(when, &mut places);
        }
        read_by_mark(self.support.kept(), &mut places);
        places
    }
}

fn read_by_when(when: &When, places: &mut Vec<Pointer>) {
    places.extend(when.json.iter().map(|test| test.at.clone()));
    if when.graphql.is_some() {
        places.extend(["errors", "data"].map(Pointer::member));
    }
}

fn read_by_outcome(outcome: &Outcome, places: &mut Vec<Pointer>) {
    match outcome {
        Outcome::Done {
            receipt,
            aliases,
            ours,
            same,
        } => {
            read_by_take(receipt.as_ref(), places);
            places.extend(aliases.iter().cloned());
            read_by_mark(ours.as_ref(), places);
            places.extend(same.iter().map(|same| same.places().1.clone()));
        }
        Outcome::Accepted { object, receipt } => {
            read_by_take(object.as_ref(), places);
            read_by_take(receipt.as_ref(), places);
        }
        Outcome::Refused { why, .. } => places.extend(why.clone()),
        Outcome::AlreadyExists {
            receipt,
            ours,
            same,
        } => {
            read_by_take(receipt.as_ref(), places);
            read_by_mark(ours.as_ref(), places);
            places.extend(same.iter().map(|same| same.places().1.clone()));
        }
        Outcome::InProgress | Outcome::Mismatch | Outcome::Busy | Outcome::Unknown { .. } => {}
    }
}

fn read_by_mark(mark: Option<&Mark>, places: &mut Vec<Pointer>) {
    read_by_take(mark.map(|mark| &mark.take), places);
}

fn read_by_take(take: Option<&Take>, places: &mut Vec<Pointer>) {
    if let Some(Take::Json(at)) = take {
        places.push(at.clone());
    }
}

/// What of a value lies at these places; none where nothing of it does.
fn kept(value: &Value, places: &[Place<'_>]) -> Option<Value> {
    let here = |place: &&Place<'_>| place.path.is_empty();
    if places.iter().filter(here).any(|place| place.whole) {
        return Some(value.clone());
    }
    let is_one = places.iter().any(|place| here(&place));
    match value {
        Value::Object(members) => {
            let below = members.iter().filter_map(|(name, member)| {
                let member = kept(member, &below(places, |part| part == name))?;
                Some((name.clone(), member))
            });
            let below: Map<String, Value> = below.collect();
            (is_one || !below.is_empty()).then_some(Value::Object(below))
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            let items: Vec<Option<Value>> = items
                .map(|(no, item)| {
                    let meant = |part: &str| part == "*" || index(part) == Some(no);
                    kept(item, &below(places, meant))
                })
                .collect();
            let any = is_one || items.iter().any(Option::is_some);
            let items = items.into_iter().map(Option::unwrap_or_default);
            any.then(|| Value::Array(items.collect()))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            is_one.then(|| value.clone())
        }
    }
}

/// Those of the places that go on with this part, from behind it.
fn below<'a>(places: &[Place<'a>], meant: impl Fn(&str) -> bool) -> Vec<Place<'a>> {
    let on = places.iter().filter_map(|place| {
        let (part, path) = place.path.split_first()?;
        let whole = place.whole;
        meant(part).then_some(Place { path, whole })
    });
    on.collect()
}
