//! The contract of one operation, read whole and found to be consistent.
//!
//! What it does not state is not promised. It is a value: nothing in it changes after it was read, but for what an operator
//! lays over it.

use std::collections::BTreeSet;

use factum_core::Span;
use factum_core::intent::Preference;
use factum_core::promise::{Consequence, LookupBy};

use crate::claims::{Claims, Source};
use crate::digest;
use crate::effect::Effect;
use crate::finding::{Complaint, Finding};
use crate::form::{Form, Purpose};
use crate::key::{self, Concurrent, Key, OtherContent};
use crate::lookup::Lookup;
use crate::operator::OperatorSettings;
use crate::parts::{self, optional};
use crate::product::Product;
use crate::provider::{self, Provider};
use crate::questions::{Cancel, Poll, WhoAmI};
use crate::request::Request;
use crate::rules::{self, KeyIs, Rule, Rules};
use crate::source::{Node, Report, Section, Word};
use crate::template::RESERVED;

/// What a destination promises about one operation, and how to speak with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contract {
    pub(crate) provider: Provider,
    pub(crate) operation: String,
    pub(crate) title: String,
    pub(crate) consequence: Consequence,
    pub(crate) finish: bool,
    pub(crate) preference: Preference,
    pub(crate) effect: Effect,
    pub(crate) key: Option<Key>,
    pub(crate) reference: Form,
    pub(crate) answers: Vec<Rule>,
    pub(crate) processing_max: Option<Span>,
    pub(crate) lookup: Option<Lookup>,
    pub(crate) poll: Option<Poll>,
    pub(crate) cancel: Option<Cancel>,
    pub(crate) whoami: Option<WhoAmI>,
    pub(crate) product: Product,
    pub(crate) params: BTreeSet<String>,
    pub(crate) claims: Claims,
    pub(crate) operator: OperatorSettings,
    pub(crate) text_digest: [u8; 32],
    pub(crate) warnings: Vec<Finding>,
}

/// The words of a preference, before its author is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Neither {
    Ask,
    PreferMissing,
    PreferDuplicate,
}

impl Word for Neither {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("ask", Self::Ask),
        ("prefer_missing", Self::PreferMissing),
        ("prefer_duplicate", Self::PreferDuplicate),
    ];
}

impl Contract {
    /// From the text of an operation's file and, where there is one, the provider's: each as (file, text).
    ///
    /// # Errors
    /// Everything that is wrong with them, in the order of the text. A text that is not TOML gives one finding. Warnings
    /// alone are no error; see [`Contract::warnings`].
    pub fn parse(
        file: &str,
        provider_text: Option<(&str, &str)>,
        text: &str,
    ) -> Result<Self, Vec<Finding>> {
        let provider = match provider_text {
            Some((file, text)) => Provider::parse(file, text).map(Some),
            None => Ok(None),
        };
        let (provider, mut findings) = match provider {
            Ok(provider) => (provider, Vec::new()),
            Err(findings) => (None, findings),
        };
        let provider_failed = !findings.is_empty();
        let report = Report::new(file, text);
        let contract = {
            let tree = report.tree();
            tree.and_then(|tree| read(&report.root(&tree), provider))
        };
        let failed = provider_failed || report.failed();
        findings.extend(report.into_findings());
        match contract {
            Some(mut contract) if !failed => {
                contract.text_digest = digest::of_texts(provider_text.map(|(_, text)| text), text);
                contract.warnings = findings;
                Ok(contract)
            }
            _ => Err(findings),
        }
    }

    /// The provider's name.
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.provider.name
    }

    /// What all operations of the provider share.
    #[must_use]
    pub fn provider_rules(&self) -> &Provider {
        &self.provider
    }

    /// The operation's name: `ticket.create`.
    #[must_use]
    pub fn operation(&self) -> &str {
        &self.operation
    }

    /// What the operation does, for people.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Whether a started action is finished by `same_key` even past its deadline (R10).
    #[must_use]
    pub fn finish(&self) -> bool {
        self.finish
    }

    /// What to do about an unknown where nothing can be found out.
    #[must_use]
    pub fn preference(&self) -> &Preference {
        &self.preference
    }

    /// The names of the parameters that a submission has to give, in order.
    pub fn params(&self) -> impl Iterator<Item = &str> {
        self.params.iter().map(String::as_str)
    }

    /// What the author should know, though the contract is accepted.
    #[must_use]
    pub fn warnings(&self) -> &[Finding] {
        &self.warnings
    }

    /// Where its claims come from: the path of what is claimed, and a source.
    pub fn sources(&self) -> impl Iterator<Item = (&str, &Source)> {
        self.claims.all()
    }

    /// The operator's settings that lie over it.
    #[must_use]
    pub fn operator(&self) -> &OperatorSettings {
        &self.operator
    }

    /// The requests that ask something and take their parameters from the submission.
    pub(crate) fn questions(&self) -> impl Iterator<Item = &Request> {
        let lookup = self.lookup.iter().map(|lookup| &lookup.request);
        let poll = self.poll.iter().map(|poll| &poll.request);
        let cancel = self.cancel.iter().map(|cancel| &cancel.request);
        lookup.chain(poll).chain(cancel)
    }
}

/// Reads the sections in an order in which each knows what it rests on.
fn read(root: &Section<'_>, provider: Option<Provider>) -> Option<Contract> {
    let mut claims = Claims::read(root);
    let provider = provider_of(root, provider);
    let operation = root.need("operation").and_then(|n| provider::name(&n));
    let title = root.need_words("title");
    let consequence = root.need("consequence").and_then(|node| node.word());
    if consequence == Some(Consequence::Harmless) {
        claims.require(root, "consequence", "that a repeat has no further effect");
    }
    let finish = root.flag("finish");
    let preference = preference(root);
    let reference = reference(root);
    let deed = Deed::read(root, &mut claims);
    let common = provider.as_ref().map(|p| p.answers.as_slice());
    let mut rules = deed.answers.rules.iter().chain(common.unwrap_or_default());
    let accepts = rules.any(Rule::accepts);
    let questions = Questions::read(root, accepts, &mut claims);
    let processing_max = processing(root, &mut claims);
    let product = Product::read(root);
    root.end();
    let questions = questions?;
    let mut contract = Contract {
        provider: provider?,
        operation: operation?,
        title: title?,
        consequence: consequence?,
        finish,
        preference: preference?,
        effect: deed.effect?,
        key: deed.key?,
        reference: reference?,
        answers: deed.answers.rules,
        processing_max: processing_max?,
        lookup: questions.lookup,
        poll: questions.poll,
        cancel: questions.cancel,
        whoami: questions.whoami,
        product: product?,
        params: BTreeSet::new(),
        claims,
        operator: OperatorSettings::default(),
        text_digest: [0; 32],
        warnings: Vec::new(),
    };
    contract.params = contract.parameter_names();
    contract.check(root, deed.answers.all_read);
    Some(contract)
}

/// The sections about making the effect: they rest on each other.
struct Deed {
    key: Option<Option<Key>>,
    effect: Option<Effect>,
    answers: Rules,
}

impl Deed {
    fn read(root: &Section<'_>, claims: &mut Claims) -> Self {
        let key_node = root.get("key");
        let key_section = key_node.as_ref().and_then(Node::section);
        let key = match (&key_node, &key_section) {
            (None, _) => Some(None),
            (Some(_), None) => None,
            (Some(_), Some(section)) => Key::read(section, claims).map(Some),
        };
        // Of a key that could not be read only the key itself is complained about, not all that rests on it.
        let key_is = match &key {
            Some(key) => KeyIs::Known(key.as_ref()),
            None => KeyIs::Unreadable,
        };
        let answers = rules::read(root, key_is, claims);
        let effect_section = root.need("effect").and_then(|node| node.section());
        let has_key = key_node.is_some();
        let effect = effect_section
            .as_ref()
            .and_then(|section| Effect::read(section, has_key, claims));
        if let (Some(section), Some(Some(key)), Some(effect)) = (&key_section, &key, &effect) {
            key.check_place(section, effect);
        }
        for section in [key_section, effect_section].into_iter().flatten() {
            section.end();
        }
        Self {
            key,
            effect,
            answers,
        }
    }
}

fn reference(root: &Section<'_>) -> Option<Form> {
    let Some(node) = root.get("reference") else {
        return Some(key::usual_form(Purpose::Reference));
    };
    let section = node.section()?;
    let form = key::form(&section, Purpose::Reference);
    section.end();
    form
}

/// The sections that ask something.
struct Questions {
    lookup: Option<Lookup>,
    poll: Option<Poll>,
    cancel: Option<Cancel>,
    whoami: Option<WhoAmI>,
}

impl Questions {
    fn read(root: &Section<'_>, accepts: bool, claims: &mut Claims) -> Option<Self> {
        let lookup = optional(root.get("lookup"), |node| node.section());
        let poll = optional(root.get("poll"), |node| node.section());
        let cancel = optional(root.get("cancel"), |node| node.section());
        let whoami = optional(root.get("whoami"), |node| node.section());
        let (lookup, poll, cancel, whoami) = (lookup?, poll?, cancel?, whoami?);
        let read_lookup = lookup.as_ref().map(|s| Lookup::read(s, accepts, claims));
        let read_poll = poll.as_ref().map(|s| Poll::read(s, claims));
        let read_cancel = cancel.as_ref().map(|s| Cancel::read(s, claims));
        let read_whoami = whoami.as_ref().map(WhoAmI::read);
        for section in [lookup, poll, cancel, whoami].into_iter().flatten() {
            section.end();
        }
        Some(Self {
            lookup: whole(read_lookup)?,
            poll: whole(read_poll)?,
            cancel: whole(read_cancel)?,
            whoami: whole(read_whoami)?,
        })
    }
}

/// A section that is missing is fine; one that could not be read is not.
fn whole<T>(read: Option<Option<T>>) -> Option<Option<T>> {
    match read {
        Some(Some(section)) => Some(Some(section)),
        Some(None) => None,
        None => Some(None),
    }
}

fn provider_of(root: &Section<'_>, provider: Option<Provider>) -> Option<Provider> {
    let node = root.need("provider")?;
    let name = provider::name(&node)?;
    match provider {
        Some(provider) if provider.name != name => {
            let message = format!(
                "is `{name}`, and the provider's file is of `{}`",
                provider.name
            );
            let remedy = "put the file into the provider's own folder, or correct the name";
            node.error("provider_name", message, remedy);
            None
        }
        Some(provider) => Some(provider),
        None => Some(Provider {
            title: name.clone(),
            name,
            ..Provider::default()
        }),
    }
}

/// `neither = { prefer = "ask" }`, with `by` and `reason` where a risk is taken.
fn preference(root: &Section<'_>) -> Option<Preference> {
    let Some(section) = root.get("neither").map(|node| node.section()) else {
        return Some(Preference::Ask);
    };
    let section = section?;
    let prefer = section.need("prefer").and_then(|node| node.word());
    let (by, reason) = (section.words("by"), section.words("reason"));
    let prefer = prefer?;
    let author = by.zip(reason).map(|(by, reason)| format!("{by}: {reason}"));
    if prefer != Neither::Ask && author.is_none() {
        let message = "takes a risk that somebody has to answer for";
        let remedy = "add `by` and `reason`";
        section.error("prefer", "preference_author", message, remedy);
    }
    section.end();
    Some(match (prefer, author) {
        (Neither::PreferMissing, Some(by)) => Preference::PreferMissing { by },
        (Neither::PreferDuplicate, Some(by)) => Preference::PreferDuplicate { by },
        (_, _) => Preference::Ask,
    })
}

fn processing(root: &Section<'_>, claims: &mut Claims) -> Option<Option<Span>> {
    optional(root.get("processing"), |node| {
        let section = node.section()?;
        claims.note(&section);
        claims.require(&section, "", "a bound on processing");
        let max = section.need("max").and_then(|node| parts::length(&node));
        section.end();
        max
    })
}

impl Contract {
    fn parameter_names(&self) -> BTreeSet<String> {
        let mut names = self.effect.names();
        for question in self.questions() {
            names.extend(question.names());
        }
        let params = names.into_iter().filter(|name| !RESERVED.contains(name));
        params.map(str::to_owned).collect()
    }

    /// What holds between sections.
    fn check(&self, root: &Section<'_>, all_answers_read: bool) {
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
        let writes_reference = self.effect.names().contains("reference");
        if self.lookup_by() == Some(LookupBy::Reference) && !writes_reference {
            let message = "asks by a reference that the effect request never writes";
            let remedy = "write {reference} into the effect's path, headers or `set`";
            root.error_at("/lookup/by", "lookup_reference", message, remedy);
        }
        if self.cancel.is_some() && self.key.is_none() {
            let message = "withdraws by a key, and this operation sends none";
            root.error_at("/cancel", "key_needed", message, "add [key]");
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
        if accepts && self.poll.is_none() {
            let message = "can be accepted, and nothing tells of its completion";
            let remedy = "add [poll]; without it every accepted action ends with a person";
            root.complain_at(
                "/answers",
                Complaint::warning("completion", message, remedy),
            );
        }
    }
}
