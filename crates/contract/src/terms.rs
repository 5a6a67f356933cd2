//! A contract's terms in the language's own words: for pages that show it, and for stand-ins that behave as it says.
//!
//! Nothing here is decided from: decisions rest on [`Contract::promises`](crate::Contract::promises).

use factum_core::Span;
use factum_core::promise::Retention;

use crate::claims::Grade;
use crate::contract::Contract;
use crate::http::HttpAnswer;
use crate::key::{Key, Place};
use crate::lookup::word;
use crate::repeat::{Escape, Repeat};

/// What a contract says about its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyTerms {
    /// Where it goes: `header Idempotency-Key`, `member /key`, `path`.
    pub place: String,
    /// What it is to the destination: `key`, `resource_id`, `upsert`.
    pub role: &'static str,
    /// How it is written.
    pub alphabet: &'static str,
    /// Its characters, with the prefix.
    pub length: usize,
    /// What a repeat gets; none where the key is only a name.
    pub repeat: Option<RepeatTerms>,
}

/// What a contract says about repeats under its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepeatTerms {
    /// As stated; what may be relied on is in the promises.
    pub retention: Retention,
    /// The destination keeps so many keys.
    pub count: Option<u32>,
    /// When the window begins.
    pub clock: &'static str,
    /// What the key gets after it.
    pub after: &'static str,
    /// When the promise does not hold, for people.
    pub escapes: Vec<String>,
    /// What a repeat gets while the first is running.
    pub concurrent: &'static str,
    /// Between two requests under one key at the least.
    pub wait_min: Option<Span>,
    /// Whether successes, refusals and errors stay under the key.
    pub stored: [bool; 3],
    /// What a key gets whose first request failed.
    pub failures: &'static str,
    /// Whether limits are checked before the key or after it.
    pub limits_checked: Option<&'static str>,
    /// What the key is known within.
    pub scope: Vec<&'static str>,
    /// What the key of other content gets.
    pub other_content: &'static str,
    /// What is compared.
    pub compared: Vec<String>,
    /// What a repeat is answered with.
    pub replays: &'static str,
}

/// A rule by which answers are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerRule {
    /// What such an answer means.
    pub class: &'static str,
    /// For which answers it holds, for people.
    pub when: String,
    /// What the source of the rule is worth, where it has one.
    pub grade: Option<Grade>,
    /// It is one of the provider's, for all operations.
    pub common: bool,
}

/// An answer of the contract's examples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExampleAnswer {
    /// What it answers: `effect`, `lookup`, `poll`, `cancel`, `whoami`; `callback` and `event` come by themselves.
    pub to: &'static str,
    /// What it means: a class, or the word for what it shows.
    pub means: String,
    /// As it came, with `{key}` and `{reference}` where our marks stand.
    pub answer: HttpAnswer,
}

impl Key {
    fn place_shown(&self) -> String {
        match &self.place {
            Place::Header {
                name,
                quoted: false,
            } => format!("header {name}"),
            Place::Header { name, quoted: true } => format!("header {name}, quoted"),
            Place::Member { at, word } => format!("{word} {at}"),
            Place::Item { at, .. } => format!("item {at}"),
            Place::Query(name) => format!("query {name}"),
            Place::Directive(name) => format!("directive @{name}"),
            Place::Path => "path".to_owned(),
            Place::Given(members) => {
                let members: Vec<_> = members.iter().map(ToString::to_string).collect();
                format!("given by {}", members.join(" and "))
            }
        }
    }
}

impl Escape {
    fn shown(&self) -> String {
        match self {
            Self::BodyOver(most) => format!("a request of more than {most} bytes"),
            Self::ContentType(start) => format!("a request of the type {start}"),
            Self::AnswerOver(most) => format!("an answer of more than {most} bytes"),
            Self::Stated(words) => words.clone(),
        }
    }
}

impl Repeat {
    fn terms(&self) -> RepeatTerms {
        RepeatTerms {
            retention: self.retention,
            count: self.count,
            clock: word(self.clock),
            after: word(self.after),
            escapes: self.escapes.iter().map(Escape::shown).collect(),
            concurrent: word(self.concurrent),
            wait_min: self.wait_min,
            stored: [
                self.stored.success,
                self.stored.refusals,
                self.stored.errors,
            ],
            failures: word(self.failures),
            limits_checked: self.limits_checked.map(word),
            scope: self.scope.iter().copied().map(word).collect(),
            other_content: word(self.other_content),
            compared: self.compared.clone(),
            replays: word(self.replays),
        }
    }
}

impl Contract {
    /// What it says about its key, if it has one.
    #[must_use]
    pub fn key_terms(&self) -> Option<KeyTerms> {
        let key = self.key.as_ref()?;
        Some(KeyTerms {
            place: key.place_shown(),
            role: word(key.role),
            alphabet: word(key.form.alphabet),
            length: key.form.prefix.len() + key.form.length,
            repeat: key.repeat.as_ref().map(Repeat::terms),
        })
    }

    /// The rules by which answers are read, in the order in which they are tried.
    #[must_use]
    pub fn answer_rules(&self) -> Vec<AnswerRule> {
        let own = self
            .answers
            .iter()
            .enumerate()
            .map(|(index, rule)| AnswerRule {
                class: rule.class_word(),
                when: rule.when.to_string(),
                grade: self.claims.grade(&format!("/answers/{index}")),
                common: false,
            });
        let common = self.provider.answers.iter().map(|rule| AnswerRule {
            class: rule.class_word(),
            when: rule.when.to_string(),
            grade: None,
            common: true,
        });
        own.chain(common).collect()
    }
}
