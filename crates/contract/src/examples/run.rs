//! Replaying examples through the request builder and the readers.

use factum_core::Timestamp;
use factum_core::evidence::{
    AnswerClass, Callback, CancelAnswer, LookupAnswer, PollAnswer, Receipt,
};
use factum_core::promise::LookupBy;

use super::{Example, Examples, Kind, Meaning, Question, Wanted};
use crate::answers::{Ours, Reading};
use crate::body::Body;
use crate::build_error::BuildError;
use crate::callback::CallbackReading;
use crate::compare;
use crate::contract::Contract;
use crate::duration;
use crate::effect::EffectInput;
use crate::finding::Finding;
use crate::http::{HttpAnswer, HttpRequest};
use crate::lookup::LookupAsk;

/// The 32 bytes that every example's key and reference are made from.
const BYTES: [u8; 32] = [7; 32];
/// The instant of every example: 2026-01-02T03:04:05Z.
const INSTANT: Timestamp = Timestamp::from_micros(1_767_323_045_000_000);

/// What `{key}`, `{reference}` and `{first_sent}` stand for in the texts of examples.
struct Marks {
    key: String,
    reference: String,
    first_sent: String,
}

impl Marks {
    fn of(contract: &Contract) -> Self {
        Self {
            key: contract.encode_key(&BYTES),
            reference: contract.encode_reference(&BYTES),
            first_sent: crate::date::to_http(INSTANT),
        }
    }

    fn put(&self, text: &str) -> String {
        text.replace("{key}", &self.key)
            .replace("{reference}", &self.reference)
            .replace("{first_sent}", &self.first_sent)
    }

    fn answer(&self, answer: &HttpAnswer) -> HttpAnswer {
        let headers = answer.headers.iter();
        HttpAnswer {
            headers: headers.map(|(n, v)| (n.clone(), self.put(v))).collect(),
            body: match std::str::from_utf8(&answer.body) {
                Ok(text) => self.put(text).into_bytes(),
                Err(_) => answer.body.clone(),
            },
            ..answer.clone()
        }
    }
}

impl Contract {
    /// Replays the contract's examples, and its provider's, through the request builder and the readers: what differs, at its
    /// place in the text.
    #[must_use]
    pub fn run_examples(&self) -> Vec<Finding> {
        let marks = Marks::of(self);
        let mut findings = Vec::new();
        for examples in [&self.examples, &self.provider.examples] {
            for example in &examples.list {
                self.run(examples, example, &marks, &mut findings);
            }
        }
        findings
    }

    fn run(&self, of: &Examples, example: &Example, marks: &Marks, found: &mut Vec<Finding>) {
        let mut payload = marks.put(&example.payload);
        if matches!(self.effect.body, Body::Text(_)) && !payload.is_empty() {
            // A submission carries it as a JSON string.
            payload = serde_json::Value::String(payload).to_string();
        }
        let request = self.effect_request_recorded_at(
            &EffectInput {
                params: &example.params,
                payload: payload.as_bytes(),
                key: self.sends_key().then_some(marks.key.as_str()),
                reference: &marks.reference,
            },
            INSTANT,
        );
        if let Some(wanted) = &example.request {
            found.extend(wanted.differs(of, &request, marks));
        }
        if let Some((given, meaning)) = &example.answer {
            let answer = marks.answer(&given.answer);
            let ours = Ours {
                reference: Some(&marks.reference),
                key: self.sends_key().then_some(marks.key.as_str()),
            };
            let reading = match &request {
                Ok(request) => self.read_answer_of(&answer, &ours, request),
                Err(_) => self.read_answer_to(&answer, &ours),
            };
            for message in meaning.differs(&reading, marks) {
                let remedy = "correct the example, or the rule that reads it";
                found.push(of.finding(&given.spot, "example_answer", message, remedy));
            }
        }
        if let Some(question) = &example.question {
            self.run_question(of, example, question, marks, found);
        }
    }

    fn run_question(
        &self,
        of: &Examples,
        example: &Example,
        question: &Question,
        marks: &Marks,
        found: &mut Vec<Finding>,
    ) {
        if let Some(wanted) = &question.asked {
            let request = self.ask_of_example(example, question, marks);
            found.extend(wanted.differs(of, &request, marks));
        }
        let answer = marks.answer(&question.given.answer);
        let (shows, receipts, next_page) = self.shown(question, &answer, marks);
        let wanted = (
            question.shows.clone(),
            question
                .receipts
                .iter()
                .map(|r| marks.put(r))
                .collect::<Vec<_>>(),
            question.next_page.clone(),
        );
        if (&shows, &receipts, &next_page) != (&wanted.0, &wanted.1, &wanted.2) {
            let message = format!(
                "shows {}, not {}",
                told(&shows, &receipts, next_page.as_deref()),
                told(&wanted.0, &wanted.1, wanted.2.as_deref())
            );
            let remedy = "correct the example, or the section that reads it";
            found.push(of.finding(&question.given.spot, "example_shows", message, remedy));
        }
    }

    fn ask_of_example(
        &self,
        example: &Example,
        question: &Question,
        marks: &Marks,
    ) -> Result<HttpRequest, BuildError> {
        let object = question.object.as_deref().unwrap_or("object");
        match question.kind {
            Kind::Lookup => self.lookup_question(&LookupAsk {
                params: &example.params,
                mark: self.example_mark(marks),
                since: Some(INSTANT),
                cursor: question.cursor.as_deref(),
            }),
            Kind::Poll => self.poll_request(&example.params, object),
            Kind::Cancel => self.cancel_request(&example.params, &marks.key),
            Kind::Whoami => self
                .whoami_request()
                .ok_or_else(|| crate::request::not_in_contract("/whoami")),
            Kind::Callback => Err(crate::request::not_in_contract("/callback")),
            Kind::Events => self.events_request(question.cursor.as_deref()),
        }
    }

    fn example_mark<'a>(&self, marks: &'a Marks) -> &'a str {
        match self.lookup_by() {
            Some(LookupBy::Key) => &marks.key,
            Some(LookupBy::Reference) | None => &marks.reference,
        }
    }

    /// What an answer shows: the word, the receipts, the next page.
    fn shown(
        &self,
        question: &Question,
        answer: &HttpAnswer,
        marks: &Marks,
    ) -> (String, Vec<String>, Option<String>) {
        let one = |receipt: Option<Receipt>| receipt.into_iter().map(|r| r.reference).collect();
        let (shows, receipts, next_page): (&str, Vec<String>, Option<String>) = match question.kind
        {
            Kind::Lookup => {
                let (mark, cursor) = (self.example_mark(marks), question.cursor.as_deref());
                let reading = self.read_lookup_page(answer, mark, cursor);
                let next = reading.next_page;
                match reading.answer {
                    LookupAnswer::Found(all) => {
                        let all = all.into_iter().map(|receipt| receipt.reference);
                        ("found", all.collect(), next)
                    }
                    LookupAnswer::Queued { object } => {
                        ("queued", object.into_iter().collect(), next)
                    }
                    LookupAnswer::Absent => ("absent", Vec::new(), next),
                    LookupAnswer::Inconclusive { .. } => ("inconclusive", Vec::new(), next),
                }
            }
            Kind::Poll => match self.read_poll(answer) {
                PollAnswer::Completed(receipt) => ("completed", one(receipt), None),
                PollAnswer::Working => ("working", Vec::new(), None),
                PollAnswer::Failed { .. } => ("failed", Vec::new(), None),
                PollAnswer::Inconclusive { .. } => ("inconclusive", Vec::new(), None),
            },
            Kind::Cancel => match self.read_cancel(answer) {
                CancelAnswer::Confirmed { .. } => ("confirmed", Vec::new(), None),
                CancelAnswer::TooLate { receipt } => ("too_late", one(receipt), None),
                CancelAnswer::NotSent { .. } | CancelAnswer::Unknown { .. } => {
                    ("unknown", Vec::new(), None)
                }
            },
            Kind::Whoami => {
                let account = self.read_whoami(answer).unwrap_or_default();
                return (account, Vec::new(), None);
            }
            Kind::Callback => {
                let given = &question.given.answer;
                if let Some((secret, at)) = &question.signed {
                    let now = Timestamp::from_micros(at * 1_000_000);
                    let secret = secret.as_bytes();
                    // Signatures are over the bytes as they came, in which no mark stands for another text.
                    if self
                        .verify_callback(&given.headers, &given.body, secret, now)
                        .is_err()
                    {
                        return ("refused".to_owned(), Vec::new(), None);
                    }
                }
                let (shows, receipts) = reported(&self.reports_of(&answer.body));
                (shows, receipts, None)
            }
            Kind::Events => match self.events_in(answer) {
                Some(page) => {
                    let readings = page.events.into_iter().map(|event| event.reading);
                    let (shows, receipts) = reported(&readings.collect::<Vec<_>>());
                    (shows, receipts, page.next)
                }
                None => ("refused", Vec::new(), None),
            },
        };
        (shows.to_owned(), receipts, next_page)
    }
}

/// What the first report says, and the receipts or objects of all of them.
fn reported(reports: &[CallbackReading]) -> (&'static str, Vec<String>) {
    let shows = match reports.first().map(|report| &report.callback) {
        Some(Callback::Positive(_)) => "positive",
        Some(Callback::Negative { .. }) => "negative",
        Some(Callback::Reversed { .. }) => "reversed",
        None => "nothing",
    };
    let named = reports.iter().filter_map(|report| match &report.callback {
        Callback::Positive(receipt) => Some(receipt.reference.clone()),
        Callback::Negative { object, .. } => Some(object.clone()),
        Callback::Reversed { .. } => None,
    });
    (shows, named.collect())
}

fn told(shows: &str, receipts: &[String], next_page: Option<&str>) -> String {
    let receipts = match receipts {
        [] => String::new(),
        some => format!(" with {}", some.join(", ")),
    };
    let page = next_page.map_or_else(String::new, |page| format!(" and the page {page}"));
    format!("`{shows}`{receipts}{page}")
}

impl Wanted {
    fn differs(
        &self,
        of: &Examples,
        request: &Result<HttpRequest, BuildError>,
        marks: &Marks,
    ) -> Vec<Finding> {
        let messages = match (request, &self.refused) {
            (Ok(_), Some(_)) => vec!["is built, and is to be refused".to_owned()],
            (Ok(request), None) => self.differs_from(request, marks),
            (Err(error), Some(member)) if error.member == *member => Vec::new(),
            (Err(error), _) => vec![format!("cannot be built: {error}")],
        };
        let remedy = "correct the example, or the section that builds it";
        let finding = |message| of.finding(&self.spot, "example_request", message, remedy);
        messages.into_iter().map(finding).collect()
    }

    fn differs_from(&self, request: &HttpRequest, marks: &Marks) -> Vec<String> {
        let mut messages = Vec::new();
        if let Some(method) = &self.method
            && *method != request.method
        {
            messages.push(format!("is a {}, not a {method}", request.method));
        }
        if let Some(path) = &self.path {
            let (path, real) = (marks.put(path), &request.path_and_query);
            if path != *real {
                messages.push(format!("asks {real}, not {path}"));
            }
        }
        for (name, value) in &self.headers {
            let value = marks.put(value);
            let mut headers = request.headers.iter();
            let real = headers.find(|(n, _)| n == name).map(|(_, v)| v.as_str());
            if real != Some(value.as_str()) {
                messages.push(format!("has the header {name}: {real:?}, not {value:?}"));
            }
        }
        let document = compare::document(request).unwrap_or_default();
        for test in &self.body {
            let test = test.with_texts(&|text| marks.put(text));
            if !test.holds(&document) {
                messages.push(format!("has another body at {}: {document}", test.at));
            }
        }
        let text = String::from_utf8_lossy(&request.body);
        for part in &self.contains {
            let part = marks.put(part);
            if !text.contains(&part) {
                messages.push(format!("has a body without {part:?}: {text}"));
            }
        }
        messages
    }
}

impl Meaning {
    /// What differs between an answer's reading and what it has to be.
    fn differs(&self, reading: &Reading, marks: &Marks) -> Vec<String> {
        let mut messages = Vec::new();
        let class = word_of(&reading.class);
        if class != self.class {
            messages.push(format!("means `{class}`, not `{}`", self.class));
            return messages;
        }
        let mut text = |what: &str, real: Option<&str>, wanted: Option<&str>| {
            let wanted = wanted.map(|text| marks.put(text));
            if real != wanted.as_deref() {
                messages.push(format!("has the {what} {real:?}, not {wanted:?}"));
            }
        };
        let receipt = reading.receipt.as_ref().map(|r| r.reference.as_str());
        text("receipt", receipt, self.receipt.as_deref());
        let (object, stored, ours, why) = parts_of(&reading.class);
        text("object", object, self.object.as_deref());
        if self.why.is_some() {
            text("why", why, self.why.as_deref());
        }
        if reading.replayed != self.replayed {
            messages.push(format!(
                "is replayed: {}, not {}",
                reading.replayed, self.replayed
            ));
        }
        for (what, real, wanted) in [("stored", stored, self.stored), ("ours", ours, self.ours)] {
            if wanted.is_some() && real != wanted {
                messages.push(format!("is {what}: {real:?}, not {wanted:?}"));
            }
        }
        if let Some(wanted) = &self.retry_after {
            let wanted = duration::parse(wanted).ok();
            if wanted.is_none() || reading.retry_after != wanted {
                let real = reading.retry_after.map(|span| span.to_string());
                messages.push(format!(
                    "advises to wait {real:?}, not {:?}",
                    self.retry_after
                ));
            }
        }
        messages
    }
}

/// What a class carries: the object of queued work, stored, ours, why.
fn parts_of(class: &AnswerClass) -> (Option<&str>, Option<bool>, Option<bool>, Option<&str>) {
    match class {
        AnswerClass::Accepted { object } => (object.as_deref(), None, None, None),
        AnswerClass::Rejected { stored, why } | AnswerClass::Declined { stored, why } => {
            (None, Some(*stored), None, Some(why))
        }
        AnswerClass::AlreadyExists { ours } => (None, None, Some(*ours), None),
        AnswerClass::Done
        | AnswerClass::InProgress
        | AnswerClass::Mismatch
        | AnswerClass::Busy
        | AnswerClass::Unknown => (None, None, None, None),
    }
}

fn word_of(class: &AnswerClass) -> &'static str {
    match class {
        AnswerClass::Done => "done",
        AnswerClass::Accepted { .. } => "accepted",
        AnswerClass::Rejected { .. } => "rejected",
        AnswerClass::Declined { .. } => "declined",
        AnswerClass::InProgress => "in_progress",
        AnswerClass::AlreadyExists { .. } => "already_exists",
        AnswerClass::Mismatch => "mismatch",
        AnswerClass::Busy => "busy",
        AnswerClass::Unknown => "unknown",
    }
}
