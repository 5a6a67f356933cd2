//! Answers to questions: pages of a lookup, what became of queued work, whether a cancel was taken, who we are.
//!
//! As in [`super::say`], each is made from the contract's examples where it has one, and read back before it is given out.

use factum_core::evidence::{CancelAnswer, LookupAnswer, PollAnswer};
use factum_core::promise::LookupBy;
use serde_json::{Value, json};

use super::FarSide;
use super::draft::{self, Draft, another_name};
use crate::http::HttpAnswer;
use crate::lookup::{Complete, Lookup, Ours, Pages};
use crate::parts::Take;
use crate::when::When;

/// One effect, or one piece of queued work, as a lookup shows it.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// The key or the reference that it carries, as the lookup asks by; none where it carries none.
    pub mark: Option<&'a str>,
    /// Its receipt, or the name of the queued work.
    pub name: Option<&'a str>,
    /// It has not landed yet.
    pub queued: bool,
}

/// A page of a lookup.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// What stands on it.
    pub items: &'a [Item<'a>],
    /// How many stand on the pages before it.
    pub before: usize,
    /// How many there are in all.
    pub total: usize,
    /// The mark that was asked for, if one was.
    pub mark: Option<&'a str>,
    /// The cursor that it was asked by.
    pub cursor: Option<&'a str>,
}

/// What became of queued work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It is not done yet.
    Working,
    /// It is done.
    Completed,
    /// It ended without an effect.
    Failed,
}

/// How pages are asked for, for whoever cuts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paging {
    /// There is one page, with everything on it.
    One,
    /// So many on a page; the next is asked for by the number of items before it, which the cursor names.
    Counted(usize),
    /// So many on a page; the pages have numbers, from this one on.
    Numbered(usize, usize),
    /// So many on a page; the next is asked for by the name of the last item.
    AfterItem(usize),
}

/// Items on a page where the contract does not say.
const PAGE: usize = 50;

impl FarSide<'_> {
    /// How the pages of the lookup are cut.
    #[must_use]
    pub fn paging(&self) -> Paging {
        let Some(lookup) = &self.contract.lookup else {
            return Paging::One;
        };
        match &lookup.pages {
            Pages::One => Paging::One,
            Pages::Offset(size) => Paging::Counted(*size),
            Pages::Number { first, size } => Paging::Numbered(*size, *first),
            Pages::Cursor(at) => {
                let items = lookup.items.as_ref().map(|items| items.parts());
                let index = items.and_then(|items| at.parts().strip_prefix(items)?.first());
                let index = index.and_then(|index| index.parse::<usize>().ok());
                index.map_or(Paging::Counted(PAGE), |last| Paging::AfterItem(last + 1))
            }
            Pages::Link(_) => Paging::Counted(PAGE),
        }
    }

    /// No more items than these are ever shown; none where that is not stated.
    #[must_use]
    pub fn result_cap(&self) -> Option<usize> {
        self.contract.lookup.as_ref()?.result_cap
    }

    /// Whether the lookup asks by the key, and not by the reference.
    #[must_use]
    pub fn looks_by_key(&self) -> bool {
        let lookup = self.contract.lookup.as_ref();
        lookup.is_some_and(|lookup| lookup.by == LookupBy::Key)
    }

    /// Whether the lookup shows work that is still queued.
    #[must_use]
    pub fn shows_queued(&self) -> bool {
        let lookup = self.contract.lookup.as_ref();
        lookup.is_some_and(|lookup| !lookup.queued.is_empty())
    }

    /// How long after it landed an effect is shown, in microseconds, and for how long; none where that is not stated.
    #[must_use]
    pub fn shown_after(&self) -> (i64, Option<i64>) {
        let lookup = self.contract.lookup.as_ref();
        let lag = lookup.map_or(0, |lookup| lookup.lag.as_micros());
        let stays = lookup.and_then(|lookup| lookup.visible_for);
        (lag, stays.map(|span| span.as_micros()))
    }

    /// A page of the lookup. None where it could not be written so that the contract reads it.
    #[must_use]
    pub fn show(&self, page: &Page<'_>) -> Option<HttpAnswer> {
        let lookup = self.contract.lookup.as_ref()?;
        let drafts = match lookup.ours {
            Ours::Path | Ours::Text => self.whole(lookup, page),
            Ours::Member(_) => match &lookup.items {
                Some(_) => self.list(lookup, page),
                None => self.whole(lookup, page),
            },
        };
        let ours = |item: &&Item<'_>| page.mark.is_none() || item.mark == page.mark;
        let hits: Vec<&Item<'_>> = page.items.iter().filter(ours).collect();
        let mark = page
            .mark
            .or_else(|| hits.first().and_then(|item| item.mark));
        let fits = |answer: &HttpAnswer| {
            let reading =
                self.contract
                    .read_lookup_page(answer, mark.unwrap_or("none"), page.cursor);
            let more = page.before + page.items.len() < page.total;
            match &reading.answer {
                LookupAnswer::Found(_) => hits.iter().any(|item| !item.queued),
                LookupAnswer::Queued { .. } => hits.iter().all(|item| item.queued),
                LookupAnswer::Absent => hits.is_empty() && !more,
                LookupAnswer::Inconclusive { .. } => hits.is_empty() || mark.is_none(),
            }
        };
        let mut answers = drafts.iter().map(Draft::answer);
        answers.find(fits)
    }

    /// The examples of this kind with this meaning, with our mark put in; a blank one last.
    fn bases(&self, to: &str, means: &[&str], mark: &str) -> Vec<Draft> {
        let put = |text: &str| text.replace("{key}", mark).replace("{reference}", mark);
        let examples = self.examples(to);
        let mut bases = Vec::new();
        for wanted in means {
            let of = examples.iter().filter(|example| example.means == *wanted);
            bases.extend(of.map(|example| Draft::of(&example.answer, &put)));
        }
        bases.push(Draft::blank());
        bases
    }

    /// The answer as a whole is the one item.
    fn whole(&self, lookup: &Lookup, page: &Page<'_>) -> Vec<Draft> {
        let Some(item) = page.items.first() else {
            let mut drafts = self.bases("lookup", &["absent"], page.mark.unwrap_or("none"));
            for draft in &mut drafts {
                if let Some(absent) = &lookup.absent {
                    draft.satisfy(absent);
                }
            }
            return drafts;
        };
        let mark = item.mark.unwrap_or("none");
        let mut drafts = self.bases("lookup", &["found", "queued"], mark);
        for draft in &mut drafts {
            if !lookup.success.contains(draft.status) {
                draft.status = draft::first(&lookup.success);
            }
            if let Some(found) = &lookup.found {
                draft.satisfy(found);
            }
            let mut document = draft.json.take();
            if let Some(document) = &mut document {
                write_item(lookup, document, item);
            }
            draft.json = document;
            if let (Some(take), Some(name)) = (&lookup.receipt, item.name)
                && !matches!(take, Take::Json(_))
            {
                draft.put(take, name);
            }
        }
        drafts
    }

    /// A list of items.
    fn list(&self, lookup: &Lookup, page: &Page<'_>) -> Vec<Draft> {
        let first = page.items.first().and_then(|item| item.mark);
        let mut means = vec!["found", "queued", "absent"];
        if page.items.is_empty() {
            means.rotate_right(1);
        }
        let mut drafts = self.bases("lookup", &means, first.or(page.mark).unwrap_or("none"));
        for draft in &mut drafts {
            if page.items.is_empty()
                && let Some(absent) = &lookup.absent
            {
                draft.satisfy(absent);
                continue;
            }
            if !lookup.success.contains(draft.status) {
                draft.status = draft::first(&lookup.success);
            }
            if let Some(found) = &lookup.found {
                draft.satisfy(found);
            }
            let items: Vec<Value> = page
                .items
                .iter()
                .map(|item| {
                    let mut document = self.model(lookup, item);
                    write_item(lookup, &mut document, item);
                    document
                })
                .collect();
            if let Some(at) = &lookup.items {
                draft::set(draft.document(), at, Value::Array(items));
            }
            self.write_whole(lookup, draft, page);
        }
        drafts
    }

    /// An item as the examples show one, with this mark in it.
    fn model(&self, lookup: &Lookup, item: &Item<'_>) -> Value {
        let mark = item.mark.unwrap_or("none");
        for draft in self.bases("lookup", &["found", "queued"], mark) {
            let items = lookup.items.as_ref().zip(draft.json.as_ref());
            let items = items.and_then(|(at, json)| at.get(json)?.as_array());
            let Ours::Member(ours) = &lookup.ours else {
                continue;
            };
            let is_ours = |value: &&Value| {
                let found = ours.all(value);
                found.into_iter().any(|text| text.as_str() == Some(mark))
            };
            if let Some(found) = items.and_then(|items| items.iter().find(is_ours)) {
                return found.clone();
            }
        }
        json!({})
    }

    /// What says whether the list is whole, and where it goes on.
    fn write_whole(&self, lookup: &Lookup, draft: &mut Draft, page: &Page<'_>) {
        let after = page.before + page.items.len();
        let more = after < page.total;
        match &lookup.complete {
            Complete::Tests(tests) if more => {
                for test in tests {
                    draft::contradict(draft.document(), test);
                }
            }
            Complete::Tests(tests) => draft.satisfy_json(tests),
            Complete::Total(at) => draft::set(draft.document(), at, json!(page.total)),
            Complete::Always | Complete::Unstated => {}
        }
        for test in &lookup.more {
            match more {
                true => draft.satisfy_json(std::slice::from_ref(test)),
                false if test.holds(draft.document()) => draft::contradict(draft.document(), test),
                false => {}
            }
        }
        match (&lookup.pages, self.paging()) {
            (Pages::Cursor(_), Paging::AfterItem(_)) => {}
            (Pages::Cursor(at), _) if more => {
                draft::set(draft.document(), at, json!(after.to_string()));
            }
            (Pages::Cursor(at), _) => {
                if at.get(draft.document()).is_some() {
                    draft::set(draft.document(), at, Value::Null);
                }
            }
            (Pages::Link(name), _) if more => {
                draft.set_header("link", &format!("</next?{name}={after}>; rel=\"next\""));
            }
            (Pages::Link(_) | Pages::One | Pages::Offset(_) | Pages::Number { .. }, _) => {}
        }
    }

    /// What became of queued work of this name; the receipt where it is done. None where there is no poll.
    #[must_use]
    pub fn report_progress(
        &self,
        progress: Progress,
        object: &str,
        receipt: Option<&str>,
    ) -> Option<HttpAnswer> {
        let poll = self.contract.poll.as_ref()?;
        let (word, when): (&str, &When) = match progress {
            Progress::Working => ("working", &poll.working),
            Progress::Completed => ("completed", &poll.completed),
            Progress::Failed => ("failed", poll.failed.as_ref()?),
        };
        let bases = self.bases("poll", &[word, "working", "completed"], object);
        let answers = bases.into_iter().map(|mut draft| {
            if !poll.success.contains(draft.status) {
                draft.status = draft::first(&poll.success);
            }
            draft.satisfy(when);
            if let (Some(take), Some(receipt)) = (&poll.receipt, receipt) {
                draft.put(take, receipt);
            }
            draft.answer()
        });
        let fits = |answer: &HttpAnswer| match self.contract.read_poll(answer) {
            PollAnswer::Working => progress == Progress::Working,
            PollAnswer::Completed(_) => progress == Progress::Completed,
            PollAnswer::Failed { .. } => progress == Progress::Failed,
            PollAnswer::Inconclusive { .. } => false,
        };
        answers.into_iter().find(fits)
    }

    /// The receipt of queued work that is done: its own name where the contract's examples show it so.
    #[must_use]
    pub fn receipt_of_work(&self, object: Option<&str>, number: u64) -> String {
        let own = object.unwrap_or_default();
        let Some(take) = self
            .contract
            .poll
            .as_ref()
            .and_then(|poll| poll.receipt.as_ref())
        else {
            return if own.is_empty() {
                another_name("", number)
            } else {
                own.to_owned()
            };
        };
        let polls = self.bases("poll", &["completed"], own);
        let like = polls
            .first()
            .and_then(|draft| draft.taken(take))
            .unwrap_or_default();
        let works = self
            .examples("effect")
            .into_iter()
            .filter(|example| example.means == "accepted");
        let named = works.filter_map(|example| {
            let reading = self.contract.read_answer(&example.answer);
            match reading.class {
                factum_core::evidence::AnswerClass::Accepted { object } => object,
                _ => None,
            }
        });
        let same = named.into_iter().any(|object| object == like);
        if same && !own.is_empty() {
            own.to_owned()
        } else {
            another_name(&like, number)
        }
    }

    /// The answer to a cancel by key: what it ended, or that it came too late for this. None where there is none.
    #[must_use]
    pub fn confirm_cancel(&self, object: Option<&str>) -> Option<HttpAnswer> {
        let cancel = self.contract.cancel.as_ref()?;
        let bases = self.bases("cancel", &["confirmed"], object.unwrap_or("none"));
        let answers = bases.into_iter().map(|mut draft| {
            draft.satisfy(&cancel.confirmed);
            if let (Some(at), Some(object)) = (&cancel.object, object) {
                draft.put_json(at, object);
            }
            draft.answer()
        });
        let fits = |answer: &HttpAnswer| {
            let read = self.contract.read_cancel(answer);
            matches!(read, CancelAnswer::Confirmed { .. })
        };
        answers.into_iter().find(fits)
    }

    /// Whether a cancelled key keeps out what arrives under it later.
    #[must_use]
    pub fn cancel_refuses_later(&self) -> bool {
        let cancel = self.contract.cancel.as_ref();
        cancel.is_some_and(|cancel| cancel.refuses_later_arrivals)
    }

    /// The answer to who we are. None where the contract has no such question.
    #[must_use]
    pub fn name_account(&self, account: &str) -> Option<HttpAnswer> {
        let whoami = self.contract.whoami.as_ref()?;
        let example = self.examples("whoami").into_iter().next();
        let same = |text: &str| text.to_owned();
        let mut draft = example.map_or_else(Draft::blank, |e| Draft::of(&e.answer, &same));
        if !whoami.success.contains(draft.status) {
            draft.status = draft::first(&whoami.success);
        }
        let number = whoami
            .account
            .get(draft.document())
            .is_some_and(Value::is_number);
        if !number {
            draft.put_json(&whoami.account, account);
        }
        let answer = draft.answer();
        self.contract.read_whoami(&answer).map(|_| answer)
    }
}

/// Writes mark, name and state of an item into its document.
fn write_item(lookup: &Lookup, document: &mut Value, item: &Item<'_>) {
    if let (Ours::Member(at), Some(mark)) = (&lookup.ours, item.mark) {
        let found = at.all(document);
        if !found.into_iter().any(|text| text.as_str() == Some(mark)) {
            draft::set(document, at, json!(mark));
        }
    }
    if let (Some(Take::Json(at)), Some(name)) = (&lookup.receipt, item.name) {
        let number = at.get(document).is_some_and(Value::is_number);
        let number = name.parse::<u64>().ok().filter(|_| number);
        draft::set(
            document,
            at,
            number.map_or_else(|| json!(name), |n| json!(n)),
        );
    }
    if let (Some(at), Some(name)) = (&lookup.object, item.name) {
        draft::set(document, at, json!(name));
    }
    for test in &lookup.queued {
        match (item.queued, test.holds(document)) {
            (true, false) => draft::satisfy(document, test),
            (false, true) => draft::contradict(document, test),
            (_, _) => {}
        }
    }
}
