//! Answers to an effect request: of each class, one that the contract reads as that class.
//!
//! They are made from the contract's examples where it has one, and from its rules alone where it has none. Each is read
//! back before it is given out; one that would be misread is not given.

use factum_core::evidence::AnswerClass;

use super::FarSide;
use super::draft::{Draft, another_name};
use super::fit::plain;
use super::recognise::Wanted;
use crate::answers::Ours;
use crate::compare::{self, Same};
use crate::http::{HttpAnswer, HttpRequest};
use crate::parts::Take;
use crate::repeat::Repeat;
use crate::rules::{Outcome, Rule};
use crate::when::{Test, When};

/// What an answer is to say. The classes are the contract's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// The effect exists.
    Done,
    /// The work is queued.
    Accepted,
    /// Refused, and nothing happened. `stored`: the refusal stays under the key.
    Rejected {
        /// It stays under the key.
        stored: bool,
    },
    /// Refused, and recorded.
    Declined,
    /// The first request under this key is still running.
    InProgress,
    /// What was to be made is there already, and it is the sender's own.
    AlreadyExists,
    /// The key belongs to other content.
    Mismatch,
    /// Too busy to take the request.
    Busy,
}

/// What an answer is about.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// The request that it answers.
    pub request: &'a HttpRequest,
    /// What was recognised in that request.
    pub wanted: &'a Wanted,
    /// The effect's number at the destination: names are made from it.
    pub number: u64,
    /// The effect's name, where it has one already.
    pub name: Option<&'a str>,
    /// It is played again.
    pub replayed: bool,
}

/// An answer, and the name that it gives to the effect or to the queued work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spoken {
    /// The answer.
    pub answer: HttpAnswer,
    /// The receipt, or the object of queued work; none where the contract takes none from it.
    pub name: Option<String>,
}

impl Said {
    fn is_of(self, outcome: &Outcome) -> bool {
        match (self, outcome) {
            (Self::Done, Outcome::Done { .. })
            | (Self::Accepted, Outcome::Accepted { .. })
            | (Self::InProgress, Outcome::InProgress)
            | (Self::AlreadyExists, Outcome::AlreadyExists { .. })
            | (Self::Mismatch, Outcome::Mismatch)
            | (Self::Busy, Outcome::Busy) => true,
            (
                Self::Rejected { stored: wanted },
                Outcome::Refused {
                    declined, stored, ..
                },
            ) => !declined && *stored == wanted,
            (Self::Declined, Outcome::Refused { declined, .. }) => *declined,
            (_, _) => false,
        }
    }

    fn is_read_as(self, class: &AnswerClass) -> bool {
        match (self, class) {
            (Self::Done, AnswerClass::Done)
            | (Self::Accepted, AnswerClass::Accepted { .. })
            | (Self::Declined, AnswerClass::Declined { .. })
            | (Self::InProgress, AnswerClass::InProgress)
            | (Self::AlreadyExists, AnswerClass::AlreadyExists { .. })
            | (Self::Mismatch, AnswerClass::Mismatch)
            | (Self::Busy, AnswerClass::Busy) => true,
            (Self::Rejected { stored: wanted }, AnswerClass::Rejected { stored, .. }) => {
                *stored == wanted
            }
            (_, _) => false,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Accepted => "accepted",
            Self::Rejected { .. } => "rejected",
            Self::Declined => "declined",
            Self::InProgress => "in_progress",
            Self::AlreadyExists => "already_exists",
            Self::Mismatch => "mismatch",
            Self::Busy => "busy",
        }
    }
}

impl FarSide<'_> {
    /// Whether the contract knows an answer that says this.
    #[must_use]
    pub fn knows(&self, said: Said) -> bool {
        self.rules().any(|rule| said.is_of(&rule.outcome))
    }

    /// An answer that the contract reads so; none where it has no rule for it, or none that could be written down.
    #[must_use]
    pub fn say(&self, said: Said, about: &About<'_>) -> Option<Spoken> {
        let put = |text: &str| {
            let key = about.wanted.key.as_deref().unwrap_or("none");
            let reference = about.wanted.reference.as_deref().unwrap_or("none");
            text.replace("{key}", key)
                .replace("{reference}", reference)
                .replace("{first_sent}", "")
        };
        let examples = self.examples("effect");
        let mut bases: Vec<Draft> = examples
            .iter()
            .filter(|example| example.means == said.word())
            .map(|example| Draft::of(&example.answer, &put))
            .collect();
        bases.push(Draft::blank());
        for rule in self.rules().filter(|rule| said.is_of(&rule.outcome)) {
            for base in &bases {
                for status in statuses(rule, base.status) {
                    let mut draft = base.clone();
                    draft.status = status;
                    draft.satisfy(&rule.when);
                    self.fill(&mut draft, rule, about);
                    draft.satisfy(&rule.when);
                    let found = self.marked(draft, about.replayed);
                    let spoken = found
                        .into_iter()
                        .find_map(|draft| self.checked(said, &draft, about));
                    if spoken.is_some() {
                        return spoken;
                    }
                }
            }
        }
        None
    }

    pub(crate) fn rules(&self) -> impl Iterator<Item = &Rule> {
        let contract = self.contract;
        contract.answers.iter().chain(&contract.provider.answers)
    }

    /// The examples of the operation and of its provider that answer this.
    pub(crate) fn examples(&self, to: &str) -> Vec<crate::terms::ExampleAnswer> {
        let mut examples = self.contract.example_answers();
        examples.extend(self.contract.provider.examples.answers());
        examples.retain(|example| example.to == to);
        examples
    }

    fn repeat(&self) -> Option<&Repeat> {
        self.contract.key.as_ref()?.repeat.as_ref()
    }

    /// Writes names and marks where the rule takes them from.
    fn fill(&self, draft: &mut Draft, rule: &Rule, about: &About<'_>) {
        let name = |draft: &mut Draft, take: &Option<Take>| {
            let Some(take) = take else { return };
            let like = draft.taken(take).unwrap_or_default();
            let name = match about.name {
                Some(name) => name.to_owned(),
                None if self.is_mark(&like, about) => like,
                None => another_name(&like, about.number),
            };
            draft.put(take, &name);
        };
        match &rule.outcome {
            Outcome::Done {
                receipt,
                ours,
                same,
                ..
            }
            | Outcome::AlreadyExists {
                receipt,
                ours,
                same,
            } => {
                name(draft, receipt);
                self.put_marks(draft, ours.as_ref(), about);
                let sent = compare::document(about.request).unwrap_or_default();
                for (from, to) in same.iter().map(Same::places) {
                    if let Some(value) = from.get(&sent).filter(|value| plain(value).is_some()) {
                        super::draft::set(draft.document(), to, value.clone());
                    }
                }
            }
            Outcome::Accepted { object, receipt } => {
                name(draft, object);
                name(draft, receipt);
            }
            Outcome::Refused { why, .. } => {
                if let Some(at) = why
                    && at.get(draft.document()).is_none()
                {
                    draft.put_json(at, "the request is refused; nothing was done");
                }
            }
            Outcome::InProgress | Outcome::Mismatch | Outcome::Busy | Outcome::Unknown { .. } => {}
        }
        if let Some(kept) = self.contract.support.kept() {
            self.put_marks(draft, Some(kept), about);
        }
    }

    /// A name that is one of our marks stays it.
    fn is_mark(&self, text: &str, about: &About<'_>) -> bool {
        let marks = [&about.wanted.key, &about.wanted.reference];
        marks
            .into_iter()
            .flatten()
            .any(|mark| text.contains(mark.as_str()))
    }

    fn put_marks(&self, draft: &mut Draft, mark: Option<&crate::rules::Mark>, about: &About<'_>) {
        use factum_core::promise::LookupBy;
        let Some(mark) = mark else { return };
        let text = match mark.with {
            LookupBy::Reference => about.wanted.reference.as_deref(),
            LookupBy::Key => about.wanted.key.as_deref(),
        };
        let holds = mark.holds(
            &crate::when::Seen::new(&draft.answer()),
            &ours(about.wanted),
        );
        if let (Some(text), false) = (text, holds) {
            draft.put(&mark.take, text);
        }
    }

    /// The drafts that look like a first answer, or like one that is played again, and like one whose key was looked at.
    fn marked(&self, draft: Draft, replayed: bool) -> Vec<Draft> {
        let mut drafts = vec![draft];
        if let Some(honoured) = self.contract.support.honoured() {
            drafts = drafts.iter().flat_map(|d| choices(d, honoured)).collect();
        }
        let Some(mark) = self.repeat().and_then(|repeat| repeat.replayed.as_ref()) else {
            return drafts;
        };
        let mut marked = Vec::new();
        for draft in drafts {
            match (draft.meets(mark), replayed) {
                (true, true) | (false, false) => marked.push(draft),
                (false, true) => {
                    let mut draft = draft;
                    draft.satisfy(mark);
                    marked.push(draft);
                }
                (true, false) => marked.extend(draft.without(mark)),
            }
        }
        marked
    }

    /// The answer, if the contract reads in it what it is to say.
    fn checked(&self, said: Said, draft: &Draft, about: &About<'_>) -> Option<Spoken> {
        let answer = draft.answer();
        let reading = self
            .contract
            .read_answer_of(&answer, &ours(about.wanted), about.request);
        let marks = self
            .repeat()
            .is_some_and(|repeat| repeat.replayed.is_some());
        let looks_right = !marks || !said.is_success() || reading.replayed == about.replayed;
        let kept = about.wanted.reference.is_none() || reading.marker_kept != Some(false);
        let honoured = about.wanted.key.is_none() || reading.key_honoured != Some(false);
        if !said.is_read_as(&reading.class) || !looks_right || !kept || !honoured {
            return None;
        }
        let object = match reading.class {
            AnswerClass::Accepted { object } => object,
            _ => None,
        };
        let name = reading.receipt.map(|receipt| receipt.reference).or(object);
        Some(Spoken { answer, name })
    }
}

impl Said {
    fn is_success(self) -> bool {
        matches!(self, Self::Done | Self::Accepted)
    }
}

pub(crate) fn ours(wanted: &Wanted) -> Ours<'_> {
    Ours {
        reference: wanted.reference.as_deref(),
        key: wanted.key.as_deref(),
    }
}

/// The statuses that a rule holds for: the example's own first.
fn statuses(rule: &Rule, own: u16) -> Vec<u16> {
    let Some(set) = &rule.when.status else {
        return vec![if own < 400 { 400 } else { own }];
    };
    let own = Some(own).filter(|own| set.contains(*own));
    let others = set.0.iter().map(|range| *range.start());
    own.into_iter().chain(others).collect()
}

/// The drafts in which a condition holds, one for each word that a header can have.
fn choices(draft: &Draft, when: &When) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for test in &when.headers {
        let Test::OneOf(words) = &test.test else {
            continue;
        };
        for word in words {
            if let crate::when::Scalar::Text(text) = word {
                let mut draft = draft.clone();
                draft.set_header(&test.name, text);
                drafts.push(draft);
            }
        }
    }
    let mut satisfied = draft.clone();
    satisfied.satisfy(when);
    drafts.push(satisfied);
    drafts
}
