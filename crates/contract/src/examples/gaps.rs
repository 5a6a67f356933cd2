//! What a contract of the catalogue lacks beside being right: examples, and sources for its sections.

use std::collections::BTreeSet;

use super::Kind;
use crate::contract::Contract;
use crate::finding::{Complaint, Finding};
use crate::rules::Rule;

/// A member, a rule and a remedy.
type Lack = (&'static str, &'static str, String);

impl Contract {
    /// What has to be added before the contract can be part of the catalogue: an example of a request, one of an answer of
    /// each class that its own rules give, one of what each question shows; a source for each section that claims something;
    /// the day on which it was verified. Empty where nothing is missing.
    #[must_use]
    pub fn catalogue_gaps(&self) -> Vec<Finding> {
        let mut lacks = self.examples_lacking();
        let unsourced = self.claiming_sections().into_iter();
        let unsourced = unsourced.filter(|path| self.claims.grade(path).is_none());
        lacks.extend(unsourced.map(|path| {
            let remedy = "add `source = { … }` there, or a [[claims]] about it";
            (path, "source_missing", remedy.to_owned())
        }));
        for (member, given) in [
            ("/verified_on", self.about.verified_on.is_some()),
            ("/review_by", self.about.review_by.is_some()),
        ] {
            if !given {
                lacks.push((member, "verified", "add the day: \"2026-11-29\"".to_owned()));
            }
        }
        let finding = |(member, rule, remedy): Lack| {
            let complaint =
                Complaint::error(rule, "is missing in a contract of the catalogue", remedy);
            let member = member.to_owned();
            Finding::at(
                &self.examples.file,
                &self.examples.text,
                0..0,
                member,
                complaint,
            )
        };
        lacks.into_iter().map(finding).collect()
    }

    fn examples_lacking(&self) -> Vec<Lack> {
        let mut remedies = Vec::new();
        if !self
            .examples
            .list
            .iter()
            .any(|example| example.request.is_some())
        {
            remedies.push("add an example with `request`".to_owned());
        }
        let shown = self.classes_shown();
        let given: BTreeSet<&str> = self.answers.iter().map(Rule::class_word).collect();
        for class in given.difference(&shown) {
            remedies.push(format!(
                "add an example with `answer` and `class = \"{class}\"`"
            ));
        }
        for (there, kind, name, shows) in [
            (
                self.lookup.is_some(),
                Kind::Lookup,
                "lookup",
                &["found", "absent"][..],
            ),
            (
                self.poll.is_some(),
                Kind::Poll,
                "poll",
                &["completed", "working"],
            ),
            (
                self.cancel.is_some(),
                Kind::Cancel,
                "cancel",
                &["confirmed"],
            ),
        ] {
            for word in shows.iter().filter(|word| there && !self.shows(kind, word)) {
                remedies.push(format!(
                    "add an example with `{name}` and `shows = \"{word}\"`"
                ));
            }
        }
        let lack = |remedy| ("/examples", "example_missing", remedy);
        remedies.into_iter().map(lack).collect()
    }

    fn classes_shown(&self) -> BTreeSet<&str> {
        let examples = self.examples.list.iter();
        let answers = examples.filter_map(|example| example.answer.as_ref());
        answers.map(|(_, meaning)| meaning.class.as_str()).collect()
    }

    fn shows(&self, kind: Kind, word: &str) -> bool {
        let mut questions = self
            .examples
            .list
            .iter()
            .filter_map(|e| e.question.as_ref());
        questions.any(|question| question.kind == kind && question.shows == word)
    }

    /// The sections that are there and say something about the destination.
    pub(crate) fn claiming_sections(&self) -> Vec<&'static str> {
        let key = self.key.as_ref();
        let sections = [
            (true, "/effect"),
            (key.is_some(), "/key"),
            (key.is_some_and(|key| key.repeat.is_some()), "/key/repeat"),
            (self.processing_max.is_some(), "/processing"),
            (self.lookup.is_some(), "/lookup"),
            (self.poll.is_some(), "/poll"),
            (self.cancel.is_some(), "/cancel"),
            (self.callback.is_some(), "/callback"),
            (self.events.is_some(), "/events"),
            (self.undo.is_some(), "/undo"),
            (self.completion.is_some(), "/completion"),
        ];
        let there = sections.into_iter().filter(|(there, _)| *there);
        there.map(|(_, path)| path).collect()
    }
}
