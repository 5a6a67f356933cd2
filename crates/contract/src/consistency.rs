//! What has to hold between the sections of a contract.

use std::collections::BTreeSet;

use factum_core::promise::{Consequence, LookupBy};

use crate::contract::Contract;
use crate::finding::Complaint;
use crate::key::Key;
use crate::lookup::How;
use crate::repeat::{Concurrent, OtherContent};
use crate::request::Request;
use crate::rules::Rule;
use crate::source::Section;
use crate::template::RESERVED;
use crate::undo::{self, Completion};

impl Contract {
    pub(crate) fn parameter_names(&self) -> BTreeSet<String> {
        let mut names = self.effect_names();
        for question in self.questions() {
            names.extend(question.names());
        }
        names.extend(self.effect.required_param());
        let params = names.into_iter().filter(|name| !RESERVED.contains(name));
        params.map(str::to_owned).collect()
    }

    /// What holds between sections.
    pub(crate) fn check(&self, root: &Section<'_>, all_answers_read: bool) {
        if all_answers_read {
            self.check_key(root);
            self.check_completion(root);
        }
        if self.lookup_by() == Some(LookupBy::Key) && self.key.is_none() {
            let message = "asks by a key, and this operation sends none";
            root.error_at(
                "/lookup/by",
                "key_needed",
                message,
                "add [key], or ask by reference",
            );
        }
        let writes_reference = self.effect_names().contains("reference");
        if self.lookup_by() == Some(LookupBy::Reference) && !writes_reference {
            let message = "asks by a reference that the effect request never writes";
            let remedy = "write {reference} into the effect's path, headers or `set`";
            root.error_at("/lookup/by", "lookup_reference", message, remedy);
        }
        if self.lookup_unasked == Some(How::Repeat)
            && self.key.as_ref().is_none_or(|key| key.repeat.is_none())
        {
            let message = "is the request once more, and nothing says that a repeat is recognised";
            let remedy = "add [key.repeat] with its source";
            root.error_at("/lookup/how", "lookup_repeat", message, remedy);
        }
        let by_key = self
            .undo
            .as_ref()
            .is_some_and(|undo| undo.how == undo::How::CancelByKey);
        if by_key && self.cancel.is_none() {
            let message = "is undone by its key, and there is no [cancel]";
            root.error_at("/undo/how", "undo", message, "add [cancel]");
        }
        self.check_undo(root);
        let support =
            root.resolves("/support/key_honoured") || root.resolves("/support/key_ignored");
        if support && self.key.is_none() {
            let message = "shows whether a key was looked at, and this operation sends none";
            root.error_at("/support", "key_needed", message, "add [key]");
        }
        self.check_given_key(root);
        self.check_repeatable(root);
        if self.cancel.is_some() && self.key.is_none() {
            let message = "withdraws by a key, and this operation sends none";
            root.error_at("/cancel", "key_needed", message, "add [key]");
        }
    }

    /// What undoes an effect is written with what is known of that effect.
    fn check_undo(&self, root: &Section<'_>) {
        let Some(undo) = &self.undo else {
            return;
        };
        for (path, name) in undo.unknown_places(&self.params) {
            let message = format!(
                "{{{name}}} is neither a parameter of this operation nor named in `from_payload`"
            );
            let remedy = "use {receipt}, {reference}, a parameter, or name a member: from_payload = { NAME = \"/pointer\" }";
            root.error_at(&format!("/undo{path}"), "undo", message, remedy);
        }
    }

    /// A key that the content's own members are is none of ours: it has no epochs, and it cannot be told from another's.
    fn check_given_key(&self, root: &Section<'_>) {
        if self.key.as_ref().is_none_or(Key::is_placed) {
            return;
        }
        let asked = self.lookup_by() == Some(LookupBy::Key);
        let mut written = self.questions().flat_map(Request::names);
        if self.effect_names().contains("key") || asked || written.any(|name| name == "key") {
            let message = "is given by members of the payload, and {key} is written somewhere";
            let remedy = "leave {key} out, or choose another place";
            root.error_at("/key/place", "key_given", message, remedy);
        }
        let repeats = self.key.as_ref().is_some_and(|key| key.repeat.is_some());
        if repeats && self.answers.iter().any(Rule::is_done_uncompared) {
            let message = "is also another action's whose members are equal, and an answer of class \"done\" does not compare (R31)";
            let remedy = "add `ours` or `same` to that answer";
            root.error_at("/key/place", "key_given", message, remedy);
        }
    }

    /// What is harmless has no side effects either.
    fn check_repeatable(&self, root: &Section<'_>) {
        let side_effects = self.effect.side_effects.as_deref().unwrap_or("none");
        if self.consequence == Consequence::Harmless && side_effects != "none" {
            let message = "is harmless, and a repeat has side effects";
            let remedy =
                "raise the consequence, or write `side_effects = \"none\"` where that is known";
            root.error_at("/effect/side_effects", "side_effects", message, remedy);
        }
    }

    fn check_key(&self, root: &Section<'_>) {
        let Some(repeat) = self.key.as_ref().and_then(|key| key.repeat.as_ref()) else {
            return;
        };
        let mut rules = self.answers.iter().chain(&self.provider.answers);
        let says_in_progress = rules.any(Rule::is_in_progress);
        let stated = repeat.concurrent == Concurrent::InProgress;
        if stated && !says_in_progress {
            let message = "says that a repeat in progress is answered, and no answer is read so";
            let remedy = "add an answer of class \"in_progress\"";
            root.error_at("/key/repeat/concurrent", "key_concurrent", message, remedy);
        }
        let mut rules = self.answers.iter().chain(&self.provider.answers);
        let says_mismatch = rules.any(Rule::is_mismatch);
        if repeat.other_content == OtherContent::Refused && !says_mismatch {
            let message = "says that other content is refused, and no answer is read so";
            let remedy = "add an answer of class \"mismatch\"";
            root.error_at("/key/repeat/other_content", "key_mismatch", message, remedy);
        }
    }

    fn check_completion(&self, root: &Section<'_>) {
        let rules = || self.answers.iter().chain(&self.provider.answers);
        let accepts = rules().any(Rule::accepts);
        if self.poll.is_some() && !accepts {
            let message = "asks after queued work, and no answer is read as accepted";
            let remedy = "add an answer of class \"accepted\" with its `object`";
            root.error_at("/poll", "poll_accepted", message, remedy);
        }
        if self.poll.is_some() && rules().any(Rule::accepts_without_object) {
            let message = "asks for {object}, and an answer of class \"accepted\" does not say where it stands";
            let remedy = "add `object = { json = … }` to that answer";
            root.error_at("/poll", "poll_object", message, remedy);
        }
        let queued = self.completion.as_ref().is_some_and(Completion::is_queued);
        if queued && !accepts {
            let message = "says that success is only queued, and no answer is read as accepted";
            let remedy = "read it as \"accepted\", with its `object`";
            root.error_at("/completion/done_means", "completion", message, remedy);
        }
        let told = self.poll.is_some() || self.callback.is_some() || self.events.is_some();
        if accepts && !told {
            let message = "can be accepted, and nothing tells of its completion";
            let remedy = "add [poll]; without it every accepted action ends with a person";
            root.complain_at(
                "/answers",
                Complaint::warning("completion", message, remedy),
            );
        }
    }
}
