//! Reading: what one page of a lookup showed, and pages taken together.

use factum_core::evidence::{LookupAnswer, Receipt};
use factum_core::promise::Authority;
use serde_json::Value;

use super::{Complete, Lookup, Others, Ours, Pages};
use crate::compare::form_document;
use crate::contract::Contract;
use crate::http::HttpAnswer;
use crate::parts::Take;
use crate::pointer::text_of;
use crate::when::Seen;

/// Why absence does not count where the destination stops showing items.
const CAPPED: &str = "truncated: no more items than these are ever shown";

/// What one page of a lookup showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookupReading {
    /// What it shows by itself. Where there is a further page, absence is not among it.
    pub answer: LookupAnswer,
    /// The cursor of the next page, for [`Contract::lookup_question`]; [`LookupReading::join`] adds what it shows.
    pub next_page: Option<String>,
    /// Nothing but the missing pages stands between this page and absence.
    only_pages_missing: bool,
    /// Items so far, and how many are ever shown.
    items: usize,
    cap: Option<usize>,
}

impl LookupReading {
    fn inconclusive(why: impl Into<String>) -> Self {
        Self::ended(LookupAnswer::Inconclusive { why: why.into() })
    }

    fn ended(answer: LookupAnswer) -> Self {
        Self {
            answer,
            next_page: None,
            only_pages_missing: false,
            items: 0,
            cap: None,
        }
    }

    /// This page and the one after it, taken together. Hits add up; absence needs every page.
    #[must_use]
    pub fn join(self, later: Self) -> Self {
        let answer = match (self.answer, later.answer) {
            (LookupAnswer::Found(mut all), LookupAnswer::Found(more)) => {
                all.extend(
                    more.into_iter()
                        .filter(|r| !all.contains(r))
                        .collect::<Vec<_>>(),
                );
                LookupAnswer::Found(all)
            }
            (found @ LookupAnswer::Found(_), _) | (_, found @ LookupAnswer::Found(_)) => found,
            (queued @ LookupAnswer::Queued { .. }, _)
            | (_, queued @ LookupAnswer::Queued { .. }) => queued,
            (LookupAnswer::Inconclusive { .. }, later) if self.only_pages_missing => later,
            (LookupAnswer::Absent, later) => later,
            (inconclusive @ LookupAnswer::Inconclusive { .. }, _) => inconclusive,
        };
        let items = self.items.saturating_add(later.items);
        let cap = self.cap.or(later.cap);
        let capped = cap.is_some_and(|cap| items >= cap);
        Self {
            answer: match answer {
                LookupAnswer::Absent if capped => LookupAnswer::Inconclusive {
                    why: CAPPED.to_owned(),
                },
                other => other,
            },
            next_page: later.next_page,
            only_pages_missing: self.only_pages_missing && later.only_pages_missing,
            items,
            cap,
        }
    }
}

impl Contract {
    /// What the first page of a lookup shows about what carries this mark.
    #[must_use]
    pub fn read_lookup(&self, answer: &HttpAnswer, mark: &str) -> LookupReading {
        self.read_lookup_page(answer, mark, None)
    }

    /// What a page of a lookup shows about what carries this mark. The cursor is the one that it was asked by: where pages
    /// are counted, only it tells which page this is.
    #[must_use]
    pub fn read_lookup_page(
        &self,
        answer: &HttpAnswer,
        mark: &str,
        cursor: Option<&str>,
    ) -> LookupReading {
        match &self.lookup {
            Some(lookup) => lookup.read_page(&Seen::new(answer), mark, cursor),
            None => LookupReading::inconclusive("the contract has no lookup"),
        }
    }
}

impl Lookup {
    fn read_page(&self, seen: &Seen<'_>, mark: &str, cursor: Option<&str>) -> LookupReading {
        if self.absent.as_ref().is_some_and(|when| when.holds(seen)) {
            return LookupReading::ended(LookupAnswer::Absent);
        }
        if self.several.as_ref().is_some_and(|when| when.holds(seen)) {
            let why = "the destination says that several match, and does not show them";
            return LookupReading::inconclusive(why);
        }
        let status = seen.answer.status;
        if !self.success.contains(status) {
            return LookupReading::inconclusive(format!("the lookup answered status {status}"));
        }
        if seen.answer.truncated {
            return LookupReading::inconclusive("the lookup's answer is larger than is read");
        }
        if self.found.as_ref().is_some_and(|when| !when.holds(seen)) {
            return LookupReading::inconclusive("the lookup's answer is not the one that is read");
        }
        match &self.ours {
            Ours::Member(_) => self.read_items(seen, mark, cursor),
            Ours::Path => LookupReading::ended(self.whole_is_ours(mark, seen)),
            Ours::Text => {
                let holds = |text: &str| !mark.is_empty() && text.contains(mark);
                if seen.body_text().is_some_and(holds) {
                    return LookupReading::ended(self.whole_is_ours(mark, seen));
                }
                LookupReading::inconclusive("the lookup's answer does not hold our mark")
            }
        }
    }

    /// The answer as a whole is the one item, and ours.
    fn whole_is_ours(&self, mark: &str, seen: &Seen<'_>) -> LookupAnswer {
        let nothing = Value::Null;
        self.hits(&[seen.json.as_ref().unwrap_or(&nothing)], mark, seen)
    }

    fn read_items(&self, seen: &Seen<'_>, mark: &str, cursor: Option<&str>) -> LookupReading {
        let Some(document) = &seen.json else {
            return LookupReading::inconclusive("the lookup's answer is not JSON");
        };
        let items: Vec<&Value> = match &self.items {
            None => vec![document],
            Some(at) => match at.get(document) {
                Some(Value::Array(items)) => items.iter().collect(),
                _ => {
                    return LookupReading::inconclusive("the lookup's answer has no list of items");
                }
            },
        };
        let page = Page {
            before: self.before(cursor),
            items: items.len(),
        };
        let next_page = self.next_page(document, seen, &page);
        let (hits, others): (Vec<&Value>, Vec<&Value>) =
            items.iter().partition(|item| self.is_ours(item, mark));
        let reading = |answer, only_pages_missing| LookupReading {
            answer,
            next_page: next_page.clone(),
            only_pages_missing,
            items: items.len(),
            cap: self.result_cap,
        };
        if !hits.is_empty() {
            return reading(self.hits(&hits, mark, seen), false);
        }
        if self.others == Others::Inconclusive && !others.is_empty() {
            let why = "the lookup's answer holds items that were not asked for";
            return LookupReading::inconclusive(why);
        }
        let why = match self.cut(document, &page, next_page.as_deref()) {
            Some(why) => Some(why),
            None if self
                .result_cap
                .is_some_and(|cap| page.before + page.items >= cap) =>
            {
                Some(CAPPED)
            }
            None => None,
        };
        match why {
            None => reading(LookupAnswer::Absent, false),
            Some(why) => {
                let counted = matches!(self.pages, Pages::Offset(_) | Pages::Number { .. });
                // Where pages are counted the whole is only known on the last of them.
                let sound = counted || self.whole(document, &page);
                let why = why.to_owned();
                reading(
                    LookupAnswer::Inconclusive { why },
                    next_page.is_some() && sound,
                )
            }
        }
    }

    /// How many items stand on the pages before this one.
    fn before(&self, cursor: Option<&str>) -> usize {
        let asked = cursor.and_then(|cursor| cursor.parse::<usize>().ok());
        match self.pages {
            Pages::Offset(_) => asked.unwrap_or(0),
            Pages::Number { first, size } => {
                let page = asked.unwrap_or(first).saturating_sub(first);
                page.saturating_mul(size)
            }
            Pages::One | Pages::Cursor(_) | Pages::Link(_) => 0,
        }
    }

    /// What the next page is asked by, if there is one.
    fn next_page(&self, document: &Value, seen: &Seen<'_>, page: &Page) -> Option<String> {
        if !self.more.iter().all(|test| test.holds(document)) {
            return None;
        }
        match &self.pages {
            Pages::One => None,
            Pages::Cursor(at) => at.text(document),
            Pages::Link(name) => linked(seen.answer.header("link")?, name),
            Pages::Offset(size) if page.items < *size => None,
            Pages::Offset(_) => Some((page.before + page.items).to_string()),
            Pages::Number { size, .. } if page.items < *size => None,
            Pages::Number { first, size } => {
                let number = first + page.before / size + 1;
                Some(number.to_string())
            }
        }
    }

    fn is_ours(&self, item: &Value, mark: &str) -> bool {
        let Ours::Member(at) = &self.ours else {
            return false;
        };
        let found = at.all(item);
        let mut texts = found.into_iter().filter_map(text_of);
        !mark.is_empty() && texts.any(|text| text == mark)
    }

    /// What items of ours show: effects before queued work.
    fn hits(&self, hits: &[&Value], mark: &str, seen: &Seen<'_>) -> LookupAnswer {
        let is_queued =
            |item: &&Value| !self.queued.is_empty() && self.queued.iter().all(|t| t.holds(item));
        let (queued, done): (Vec<&Value>, Vec<&Value>) = hits.iter().copied().partition(is_queued);
        if done.is_empty() {
            let object = self.object.as_ref();
            let object = queued
                .first()
                .and_then(|item| object.and_then(|at| at.text(item)));
            return LookupAnswer::Queued { object };
        }
        let receipt = |item: &Value| match &self.receipt {
            Some(Take::Json(at)) => at.text(item),
            Some(take) => take.from(seen),
            // A destination without references of its own: our mark is the only name that the effect has.
            None => Some(mark.to_owned()),
        };
        let receipts: Option<Vec<_>> = done.iter().map(|item| receipt(item)).collect();
        match receipts {
            Some(receipts) => {
                let mut found: Vec<Receipt> = Vec::new();
                for receipt in receipts.into_iter().map(Receipt::new) {
                    if !found.contains(&receipt) {
                        found.push(receipt);
                    }
                }
                LookupAnswer::Found(found)
            }
            None => LookupAnswer::Inconclusive {
                why: "the lookup shows an item of ours without its receipt".to_owned(),
            },
        }
    }

    /// Why an answer without a hit is not whole, if it is not.
    fn cut(&self, document: &Value, page: &Page, next: Option<&str>) -> Option<&'static str> {
        let unreadable = match &self.pages {
            Pages::Cursor(at) if self.more.is_empty() => {
                let cursor = at.get(document);
                cursor.is_some_and(|cursor| !cursor.is_null()) && next.is_none()
            }
            // A page that says that there is more has to say where.
            Pages::Cursor(_) => next.is_none() && self.more.iter().all(|test| test.holds(document)),
            Pages::One | Pages::Link(_) | Pages::Offset(_) | Pages::Number { .. } => false,
        };
        if next.is_some() {
            Some("truncated: there are further pages")
        } else if unreadable {
            Some("truncated: the cursor of the next page cannot be read")
        } else if !self.whole(document, page) {
            Some("truncated: the answer does not say that it is complete")
        } else {
            None
        }
    }

    fn whole(&self, document: &Value, page: &Page) -> bool {
        match &self.complete {
            Complete::Always => true,
            Complete::Unstated => self.items.is_none() || self.authority == Authority::Partial,
            Complete::Tests(tests) => tests.iter().all(|test| test.holds(document)),
            Complete::Total(at) => {
                let items = page.before.saturating_add(page.items);
                at.text(document) == Some(items.to_string())
            }
        }
    }
}

/// Where a page stands among the others.
struct Page {
    before: usize,
    items: usize,
}

/// A parameter of the link with `rel="next"` (RFC 8288).
fn linked(header: &str, name: &str) -> Option<String> {
    let mut links = header.split(',').filter_map(|link| link.split_once('>'));
    let is_next = |rest: &str| {
        let mut attributes = rest.split(';').map(str::trim);
        attributes.any(|a| a == "rel=\"next\"" || a == "rel=next")
    };
    let (address, _) = links.find(|(_, rest)| is_next(rest))?;
    let (_, query) = address.split_once('?')?;
    let document = form_document(query.split('#').next()?.as_bytes())?;
    document.get(name).and_then(text_of)
}
