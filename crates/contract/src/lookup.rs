//! The lookup: asking the destination whether the effect exists.
//!
//! A hit counts only if the item carries our own mark. Absence counts only if the answer was whole: every page, no item
//! that the question did not ask for, nothing cut. Everything else is inconclusive, which says nothing.

mod ask;
mod read;

use factum_core::Span;
use factum_core::promise::{Authority, LookupBy};

use crate::claims::Claims;
use crate::conditions;
use crate::key::query_name;
use crate::parts::{self, Take, optional, receipt};
use crate::pointer::Pointer;
use crate::provider;
use crate::repeat::words;
use crate::request::{Request, path};
use crate::source::{Node, Section, Word};
use crate::template::Template;
use crate::when::{JsonTest, StatusSet, When};

pub use ask::LookupAsk;
pub(crate) use ask::word;
pub use read::LookupReading;

/// The section `[lookup]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lookup {
    pub(crate) by: LookupBy,
    pub(crate) request: Request,
    /// The path of a further page, where pages are asked for one by one.
    pub(crate) next_path: Option<Template>,
    pub(crate) success: StatusSet,
    /// What an answer has to be beside its status, to be read at all.
    pub(crate) found: Option<When>,
    /// How the destination says that there is nothing, where it has an answer of its own for it.
    pub(crate) absent: Option<When>,
    /// How it says that there are several, where it does not show them.
    pub(crate) several: Option<When>,
    /// Where the items stand; none where the whole body is the one item.
    pub(crate) items: Option<Pointer>,
    pub(crate) ours: Ours,
    pub(crate) receipt: Option<Take>,
    pub(crate) queued: Vec<JsonTest>,
    pub(crate) object: Option<Pointer>,
    pub(crate) complete: Complete,
    pub(crate) pages: Pages,
    /// There is a further page only if these hold.
    pub(crate) more: Vec<JsonTest>,
    pub(crate) pages_max: u32,
    /// No more items than these are ever shown.
    pub(crate) result_cap: Option<usize>,
    pub(crate) others: Others,
    pub(crate) authority: Authority,
    pub(crate) lag: Span,
    pub(crate) visible_for: Option<Span>,
    about: About,
}

/// What is said of a lookup beside how it is asked and read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct About {
    how: Option<How>,
    consistency: Option<Consistency>,
    unique: Option<bool>,
    includes: Vec<Include>,
    rate: Option<(u32, Span)>,
}

/// How an item is recognised as ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ours {
    /// This member equals our mark.
    Member(Pointer),
    /// The address that was asked holds our mark: whatever is there is ours.
    Path,
    /// The body holds our mark somewhere.
    Text,
}

/// How further pages are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pages {
    /// There is only one.
    One,
    /// By the cursor that stands here.
    Cursor(Pointer),
    /// By this parameter of the link with `rel="next"`.
    Link(String),
    /// By the number of items before it; so many are on a full page.
    Offset(usize),
    /// By its number, counted from `first`; so many items are on a full page.
    Number { first: usize, size: usize },
}

words! {
    /// What kind of question it is.
    How {
        /// By the name of the thing itself.
        Id = "id",
        /// By a filter of a list.
        Filter = "filter",
        /// By an index that is built beside the data.
        Search = "search",
        /// By reading everything of a length of time.
        Scan = "scan",
        /// By sending the request again: there is no question, and none is asked.
        Repeat = "repeat",
        /// By the highest number that the destination has seen; not over HTTP.
        HighWater = "high_water",
    }
}
words! {
    /// What is said about how current it is.
    Consistency {
        /// Reads show every write that was answered.
        Strong = "strong",
        /// They do after a stated time.
        Lag = "lag",
        /// Nobody says.
        Unknown = "unknown",
    }
}
words! {
    /// What a lookup shows beside what is there and open.
    Include {
        Closed = "closed",
        Archived = "archived",
        Deleted = "deleted",
        Merged = "merged",
        Queued = "queued",
    }
}

/// How an answer shows that it holds everything there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Complete {
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
pub(crate) enum Others {
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

/// Where nobody says how current a lookup is: long enough to be worth asking, and nothing rests on it.
const UNKNOWN_LAG: Span = Span::from_secs(60);
/// Where the contract does not say how many pages are followed.
const PAGES_MAX: i64 = 20;

impl How {
    /// What `[lookup]` says it is, before the rest of it is read.
    pub(crate) fn of(section: &Section<'_>) -> Option<Self> {
        // Silently: a word that is not known is complained about where the rest is read.
        let node = section.get("how")?;
        let text = node.value().as_str()?;
        let found = Self::WORDS.iter().find(|(word, _)| *word == text);
        found.map(|(_, how)| *how)
    }

    /// Whether anything can be asked in this way.
    pub(crate) fn is_asked(self) -> bool {
        match self {
            Self::Id | Self::Filter | Self::Search | Self::Scan => true,
            Self::Repeat | Self::HighWater => false,
        }
    }
}

impl Lookup {
    /// `accepts`: the operation can answer that the work is queued.
    pub(crate) fn read(section: &Section<'_>, accepts: bool, claims: &mut Claims) -> Option<Self> {
        claims.note(section);
        let by: Option<LookupBy> = section.need("by").and_then(|node| node.word());
        let mark = match by {
            Some(LookupBy::Key) => "key",
            Some(LookupBy::Reference) | None => "reference",
        };
        let made = [mark, "since", "since_unix", "since_ms"];
        let request = Request::read(section, "GET", &made);
        let more_made = [mark, "cursor", "since", "since_unix", "since_ms"];
        let next_path = optional(section.get("next_path"), |n| path(n, &more_made));
        let success = success(section);
        let found = optional(section.get("found"), conditions::when);
        let absent = optional(section.get("absent"), conditions::when);
        let several = optional(section.get("several"), conditions::when);
        let items = optional(section.get("items"), parts::exact_pointer);
        let ours = section.need("ours").and_then(|node| ours(&node));
        let receipt = receipt(section);
        let queued = optional(section.get("queued"), conditions::json_tests);
        let object = optional(section.get("object"), parts::exact_pointer);
        let complete = complete(section);
        let pages = pages(section);
        let more = optional(section.get("more"), conditions::json_tests);
        let pages_max = section
            .get("pages_max")
            .map_or(Some(PAGES_MAX), |node| node.integer_in(1, 1000));
        let result_cap = optional(section.get("result_cap"), count);
        let others = section
            .get("others")
            .map_or(Some(Others::Inconclusive), |node| node.word());
        let about = About::read(section);
        let authority = authority(section, accepts, claims);
        let lag = lag(section, about.as_ref().and_then(|about| about.consistency));
        let visible_for = optional(section.get("visible_for"), visible_for);
        let lookup = Self {
            by: by?,
            request: request?,
            next_path: next_path?,
            success: success?,
            found: found?,
            absent: absent?,
            several: several?,
            items: items?,
            ours: ours?,
            receipt: receipt?,
            queued: queued?.unwrap_or_default(),
            object: object?,
            complete: complete?,
            pages: pages?,
            more: more?.unwrap_or_default(),
            pages_max: u32::try_from(pages_max?).ok()?,
            result_cap: result_cap?,
            others: others?,
            authority: authority?,
            lag: lag?,
            visible_for: visible_for?,
            about: about?,
        };
        lookup.check(section);
        lookup.check_kind(section);
        Some(lookup)
    }

    /// What the kind of question and the way of recognising ours have to do with the rest.
    fn check_kind(&self, section: &Section<'_>) {
        let names = self.request.names();
        let windowed = names.iter().any(|name| name.starts_with("since"));
        let relied = self.authority == Authority::Authoritative;
        if self.about.how == Some(How::Scan) && !windowed {
            let message = "reads everything, and does not say since when";
            let remedy = "write {since}, {since_unix} or {since_ms} into the path";
            section.error("how", "lookup_scan", message, remedy);
        }
        let counted = matches!(self.pages, Pages::Offset(_) | Pages::Number { .. });
        let many = matches!(self.about.how, Some(How::Scan | How::Search));
        if relied && counted && many {
            let message =
                "is authoritative, and pages that are counted skip items while others are removed";
            let remedy = "ask for pages by a cursor, or write \"partial\"";
            section.error("authority", "lookup_pages", message, remedy);
        }
        if relied && self.about.consistency == Some(Consistency::Unknown) {
            let message = "is authoritative, and nobody says how current it is (R3)";
            section.error(
                "authority",
                "lookup_consistency",
                message,
                "write \"partial\"",
            );
        }
        let whole = !matches!(self.ours, Ours::Member(_));
        if whole && (self.items.is_some() || self.pages != Pages::One) {
            let message = "recognises the whole answer, and reads items";
            let remedy = "leave `items` and pages out, or name the member of an item";
            section.error("ours", "lookup_ours", message, remedy);
        }
        let mark = match self.by {
            LookupBy::Reference => "reference",
            LookupBy::Key => "key",
        };
        if self.ours == Ours::Path && !names.contains(mark) {
            let message = "recognises an address that does not hold our mark";
            let remedy = format!("write {{{mark}}} into the path");
            section.error("ours", "lookup_ours", message, remedy);
        }
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
        if (self.pages != Pages::One) != self.next_path.is_some() {
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

/// `next`, the pointer to a cursor, or `pages`.
fn pages(section: &Section<'_>) -> Option<Pages> {
    let next = optional(section.get("next"), parts::exact_pointer)?;
    let pages = optional(section.get("pages"), |node| {
        let inner = node.section()?;
        let offset = optional(inner.get("offset"), count);
        let page = optional(inner.get("page"), |n| n.integer_in(0, 1));
        let size = optional(inner.get("size"), count);
        let link = optional(inner.get("link"), query_name);
        inner.end();
        let first = page?.map(|first| usize::try_from(first).unwrap_or_default());
        match (offset?, first, size?, link?) {
            (Some(size), None, None, None) => Some(Pages::Offset(size)),
            (None, Some(first), Some(size), None) => Some(Pages::Number { first, size }),
            (None, None, None, Some(name)) => Some(Pages::Link(name)),
            (_, _, _, _) => {
                let message = "has to choose one form";
                let remedy =
                    "write { offset = 100 }, { page = 1, size = 100 } or { link = \"page\" }";
                node.error("one_form", message, remedy);
                None
            }
        }
    })?;
    match (next, pages) {
        (Some(at), None) => Some(Pages::Cursor(at)),
        (None, Some(pages)) => Some(pages),
        (None, None) => Some(Pages::One),
        (Some(_), Some(_)) => {
            let message = "knows two ways to the next page";
            section.error("pages", "lookup_pages", message, "keep `next` or `pages`");
            None
        }
    }
}

fn count(node: &Node<'_>) -> Option<usize> {
    usize::try_from(node.integer_in(1, 1_000_000)?).ok()
}

fn ours(node: &Node<'_>) -> Option<Ours> {
    match node.text()? {
        "path" => Some(Ours::Path),
        "text" => Some(Ours::Text),
        _ => parts::pointer(node).map(Ours::Member),
    }
}

/// By when an effect is shown: said, or nothing because it is at once, or a while because nobody says.
fn lag(section: &Section<'_>, consistency: Option<Consistency>) -> Option<Span> {
    match (consistency, section.get("lag")) {
        (Some(Consistency::Strong), None) => Some(Span::ZERO),
        (Some(Consistency::Strong), Some(node)) => {
            let lag = parts::span(&node)?;
            if lag != Span::ZERO {
                let message = "is strong, and has a lag";
                node.error(
                    "lookup_consistency",
                    message,
                    "leave it out, or write \"lag\"",
                );
                return None;
            }
            Some(lag)
        }
        (Some(Consistency::Unknown), None) => Some(UNKNOWN_LAG),
        (_, Some(node)) => parts::span(&node),
        (Some(Consistency::Lag) | None, None) => {
            section.need("lag");
            None
        }
    }
}

impl About {
    fn read(section: &Section<'_>) -> Option<Self> {
        let how = optional(section.get("how"), Node::word);
        let consistency = optional(section.get("consistency"), Node::word);
        let unique = optional(section.get("unique"), Node::flag);
        let includes = optional(section.get("includes"), |node| {
            let words = node.list(true)?;
            words.iter().map(Node::word).collect::<Option<Vec<_>>>()
        });
        let rate = optional(section.get("rate"), provider::rate);
        Some(Self {
            how: how?,
            consistency: consistency?,
            unique: unique?,
            includes: includes?.unwrap_or_default(),
            rate: rate?,
        })
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
