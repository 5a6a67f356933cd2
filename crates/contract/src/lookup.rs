//! The lookup: asking the destination whether the effect exists.
//!
//! A hit counts only if the item carries our own mark. Absence counts only if the answer was whole: every page, no item
//! that the question did not ask for, nothing cut. Everything else is inconclusive, which says nothing.

use factum_core::Span;
use factum_core::evidence::{LookupAnswer, Receipt};
use factum_core::promise::{Authority, LookupBy};
use serde_json::{Map, Value};

use crate::build_error::BuildError;
use crate::claims::Claims;
use crate::conditions;
use crate::contract::Contract;
use crate::http::{HttpAnswer, HttpRequest};
use crate::parts::{self, Take, optional, receipt};
use crate::pointer::{Pointer, text_of};
use crate::request::{Request, not_in_contract, path};
use crate::source::{Node, Section, Word};
use crate::template::{Template, Values};
use crate::when::{JsonTest, Seen, StatusSet, When};

/// The section `[lookup]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lookup {
    pub(crate) by: LookupBy,
    pub(crate) request: Request,
    /// The path of a further page, where pages are asked for by a cursor.
    next_path: Option<Template>,
    success: StatusSet,
    /// How the destination says that there is nothing, where it has an answer of its own for it.
    absent: Option<When>,
    /// Where the items stand; none where the whole body is the one item.
    items: Option<Pointer>,
    /// The member of an item that has to equal our mark.
    ours: Pointer,
    receipt: Option<Take>,
    queued: Vec<JsonTest>,
    object: Option<Pointer>,
    complete: Complete,
    next: Option<Pointer>,
    pages_max: u32,
    others: Others,
    pub(crate) authority: Authority,
    pub(crate) lag: Span,
    pub(crate) visible_for: Option<Span>,
}

/// How an answer shows that it holds everything there is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Complete {
    /// It always does, or the pages do.
    Always,
    /// These hold.
    Tests(Vec<JsonTest>),
    /// This member is the number of items, and so many there are.
    Total(Pointer),
    /// Nothing shows it.
    Unstated,
}

/// What items without our mark mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Others {
    /// The question was not answered as it was asked: absence does not count.
    Inconclusive,
    /// The question finds similar ones as well.
    Ignored,
}

impl Word for Others {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("inconclusive", Self::Inconclusive),
        ("ignored", Self::Ignored),
    ];
}

impl Word for Authority {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("authoritative", Self::Authoritative),
        ("partial", Self::Partial),
    ];
}

/// Where the contract does not say how many pages are followed.
const PAGES_MAX: i64 = 20;

impl Lookup {
    /// `accepts`: the operation can answer that the work is queued.
    pub(crate) fn read(section: &Section<'_>, accepts: bool, claims: &mut Claims) -> Option<Self> {
        claims.note(section);
        let by: Option<LookupBy> = section.need("by").and_then(|node| node.word());
        let mark = match by {
            Some(LookupBy::Key) => "key",
            Some(LookupBy::Reference) | None => "reference",
        };
        let request = Request::read(section, "GET", &[mark]);
        let next_path = optional(section.get("next_path"), |n| path(n, &[mark, "cursor"]));
        let success = success(section);
        let absent = optional(section.get("absent"), conditions::when);
        let items = optional(section.get("items"), parts::exact_pointer);
        let ours = section.need("ours").and_then(|node| parts::pointer(&node));
        let receipt = receipt(section);
        let queued = optional(section.get("queued"), conditions::json_tests);
        let object = optional(section.get("object"), parts::exact_pointer);
        let complete = complete(section);
        let next = optional(section.get("next"), parts::exact_pointer);
        let pages_max = section
            .get("pages_max")
            .map_or(Some(PAGES_MAX), |node| node.integer_in(1, 1000));
        let others = section
            .get("others")
            .map_or(Some(Others::Inconclusive), |node| node.word());
        let authority = authority(section, accepts, claims);
        let lag = section.need("lag").and_then(|node| parts::span(&node));
        let visible_for = optional(section.get("visible_for"), visible_for);
        let lookup = Self {
            by: by?,
            request: request?,
            next_path: next_path?,
            success: success?,
            absent: absent?,
            items: items?,
            ours: ours?,
            receipt: receipt?,
            queued: queued?.unwrap_or_default(),
            object: object?,
            complete: complete?,
            next: next?,
            pages_max: u32::try_from(pages_max?).ok()?,
            others: others?,
            authority: authority?,
            lag: lag?,
            visible_for: visible_for?,
        };
        lookup.check(section);
        Some(lookup)
    }

    fn check(&self, section: &Section<'_>) {
        let mark = match self.by {
            LookupBy::Reference => "reference",
            LookupBy::Key => "key",
        };
        if !self.request.names().contains(mark) && self.others == Others::Inconclusive {
            let message = format!("asks without {{{mark}}}, and takes other items for a failure");
            let remedy = format!("write {{{mark}}} into the path, or `others = \"ignored\"`");
            section.error("path", "lookup_mark", message, remedy);
        }
        if self.next.is_some() != self.next_path.is_some() {
            let message = "knows only one of `next` and `next_path`";
            let remedy = "write both: where the cursor stands, and the path that asks with it";
            section.error("next", "lookup_pages", message, remedy);
        }
        if let Some(path) = &self.next_path
            && !path.names().contains("cursor")
        {
            let message = "asks for a further page without {cursor}";
            let remedy = "write {cursor} where the page's name goes";
            section.error("next_path", "lookup_pages", message, remedy);
        }
        let relied = self.authority == Authority::Authoritative;
        if relied && self.items.is_none() && self.absent.is_none() {
            let message = "asks for one item and does not say how absence looks";
            let remedy = "add `absent = { status = 404, … }`";
            section.error("absent", "lookup_absent", message, remedy);
        }
        if relied && self.complete == Complete::Unstated && self.items.is_some() {
            let message = "is authoritative and does not say how a whole answer is recognised (R8)";
            let remedy = "add `complete = { tests = … }`, `{ total = … }` or \"always\"";
            section.error("complete", "lookup_complete", message, remedy);
        }
        if relied && self.visible_for.is_none() {
            let message = "is authoritative and does not say how long an effect stays visible (R8)";
            let remedy = "add `visible_for`: a length of time, or \"unbounded\"";
            section.error("visible_for", "lookup_visible", message, remedy);
        }
    }
}

/// Statuses under which an answer is read at all; 200 unless it is said.
pub(crate) fn success(section: &Section<'_>) -> Option<StatusSet> {
    let Some(node) = section.get("success") else {
        return Some(StatusSet(vec![200..=200]));
    };
    let set = parts::status(&node)?;
    if !set.within(200, 299) {
        let message = "reads an answer from a status that is not 2xx";
        node.error("success_status", message, "name statuses within 2xx");
        return None;
    }
    Some(set)
}

fn complete(section: &Section<'_>) -> Option<Complete> {
    let Some(node) = section.get("complete") else {
        return Some(Complete::Unstated);
    };
    if !node.is_table() {
        if node.text()? == "always" {
            return Some(Complete::Always);
        }
        let remedy = "write \"always\", { tests = … } or { total = … }";
        node.error("unknown_word", "does not know this word", remedy);
        return None;
    }
    let (form, value) = parts::choice(&node, &["tests", "total"])?;
    match form.as_str() {
        "tests" => conditions::json_tests(&value).map(Complete::Tests),
        _ => parts::exact_pointer(&value).map(Complete::Total),
    }
}

fn visible_for(node: &Node<'_>) -> Option<Span> {
    if node.value().as_str() == Some("unbounded") {
        return Some(Span::FOREVER);
    }
    parts::length(node)
}

/// R8: where work may be queued, absence counts only if queued work is seen, or bounded in time.
fn authority(section: &Section<'_>, accepts: bool, claims: &Claims) -> Option<Authority> {
    let authority = section.need("authority").and_then(|node| node.word());
    let sees_queued = section.flag("sees_queued");
    let queue_max = section.get("queue_max");
    let bounded = match &queue_max {
        Some(node) => parts::length(node).is_some(),
        None => false,
    };
    let authority = authority?;
    if authority == Authority::Authoritative {
        claims.require(section, "", "an authoritative lookup");
        if accepts && !sees_queued && !bounded {
            let message = "is authoritative, and work that is still queued would look absent (R8)";
            let remedy = "add `sees_queued = true` or `queue_max`, or write \"partial\"";
            section.error("authority", "lookup_authority", message, remedy);
        }
    }
    Some(authority)
}

/// What one page of a lookup showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookupReading {
    /// What it shows by itself. Where there is a further page, absence is not among it.
    pub answer: LookupAnswer,
    /// The cursor of the next page, for [`Contract::lookup_page_request`]; [`LookupReading::join`] adds what it shows.
    pub next_page: Option<String>,
    /// Nothing but the missing pages stands between this page and absence.
    only_pages_missing: bool,
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
        Self {
            answer,
            next_page: later.next_page,
            only_pages_missing: self.only_pages_missing && later.only_pages_missing,
        }
    }
}

impl Contract {
    /// By what the lookup asks, if there is one.
    #[must_use]
    pub fn lookup_by(&self) -> Option<LookupBy> {
        self.lookup.as_ref().map(|lookup| lookup.by)
    }

    /// How many pages of one lookup are followed at the most.
    #[must_use]
    pub fn lookup_pages_max(&self) -> u32 {
        self.lookup.as_ref().map_or(0, |lookup| lookup.pages_max)
    }

    /// For how long after it landed an effect is shown; none where that is not stated.
    #[must_use]
    pub fn lookup_visible_for(&self) -> Option<Span> {
        self.lookup.as_ref().and_then(|lookup| lookup.visible_for)
    }

    /// The question for the first page. `mark` is our reference, or our key, as [`Contract::lookup_by`] says.
    ///
    /// # Errors
    /// There is no lookup, or a parameter is missing.
    pub fn lookup_request(
        &self,
        params: &Map<String, Value>,
        mark: &str,
    ) -> Result<HttpRequest, BuildError> {
        let lookup = self
            .lookup
            .as_ref()
            .ok_or_else(|| not_in_contract("/lookup"))?;
        lookup.request.build(&lookup.values(params, mark))
    }

    /// The question for a further page.
    ///
    /// # Errors
    /// There is no lookup with pages, or a parameter is missing.
    pub fn lookup_page_request(
        &self,
        params: &Map<String, Value>,
        mark: &str,
        cursor: &str,
    ) -> Result<HttpRequest, BuildError> {
        let lookup = self
            .lookup
            .as_ref()
            .ok_or_else(|| not_in_contract("/lookup"))?;
        let path = lookup.next_path.clone();
        let path = path.ok_or_else(|| not_in_contract("/lookup/next_path"))?;
        let request = Request {
            path,
            ..lookup.request.clone()
        };
        request.build(&Values {
            cursor: Some(cursor),
            ..lookup.values(params, mark)
        })
    }

    /// What a lookup's answer shows about what carries this mark.
    #[must_use]
    pub fn read_lookup(&self, answer: &HttpAnswer, mark: &str) -> LookupReading {
        match &self.lookup {
            Some(lookup) => lookup.read_page(&Seen::new(answer), mark),
            None => LookupReading::inconclusive("the contract has no lookup"),
        }
    }
}

impl Lookup {
    fn values<'a>(&self, params: &'a Map<String, Value>, mark: &'a str) -> Values<'a> {
        let values = Values {
            params: Some(params),
            ..Values::default()
        };
        match self.by {
            LookupBy::Reference => Values {
                reference: Some(mark),
                ..values
            },
            LookupBy::Key => Values {
                key: Some(mark),
                ..values
            },
        }
    }

    fn read_page(&self, seen: &Seen<'_>, mark: &str) -> LookupReading {
        if self.absent.as_ref().is_some_and(|when| when.holds(seen)) {
            return LookupReading::ended(LookupAnswer::Absent);
        }
        let status = seen.answer.status;
        if !self.success.contains(status) {
            return LookupReading::inconclusive(format!("the lookup answered status {status}"));
        }
        if seen.answer.truncated {
            return LookupReading::inconclusive("the lookup's answer is larger than is read");
        }
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
        let next_page = self.next.as_ref().and_then(|at| at.text(document));
        let (hits, others): (Vec<&Value>, Vec<&Value>) =
            items.iter().partition(|item| self.is_ours(item, mark));
        if !hits.is_empty() {
            return LookupReading {
                answer: self.hits(&hits, mark, seen),
                next_page,
                only_pages_missing: false,
            };
        }
        let foreign = self.others == Others::Inconclusive && !others.is_empty();
        if foreign {
            let why = "the lookup's answer holds items that were not asked for";
            return LookupReading::inconclusive(why);
        }
        if let Some(why) = self.cut(document, items.len(), next_page.as_deref()) {
            return LookupReading {
                answer: LookupAnswer::Inconclusive {
                    why: why.to_owned(),
                },
                only_pages_missing: next_page.is_some() && self.whole(document, items.len()),
                next_page,
            };
        }
        LookupReading::ended(LookupAnswer::Absent)
    }

    fn is_ours(&self, item: &Value, mark: &str) -> bool {
        let found = self.ours.all(item);
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
    fn cut(&self, document: &Value, items: usize, next: Option<&str>) -> Option<&'static str> {
        let cursor_fits = self
            .next
            .as_ref()
            .and_then(|at| at.get(document))
            .is_none_or(|cursor| cursor.is_null() || next.is_some());
        if next.is_some() {
            Some("truncated: there are further pages")
        } else if !cursor_fits {
            Some("truncated: the cursor of the next page cannot be read")
        } else if !self.whole(document, items) {
            Some("truncated: the answer does not say that it is complete")
        } else {
            None
        }
    }

    fn whole(&self, document: &Value, items: usize) -> bool {
        match &self.complete {
            Complete::Always => true,
            Complete::Unstated => self.items.is_none() || self.authority == Authority::Partial,
            Complete::Tests(tests) => tests.iter().all(|test| test.holds(document)),
            Complete::Total(at) => at.text(document) == Some(items.to_string()),
        }
    }
}
