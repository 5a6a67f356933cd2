//! Reading a contract, section by section. Everything that is wrong is complained about in one go.

use std::collections::BTreeSet;

use factum_core::Span;
use factum_core::intent::Preference;
use factum_core::promise::Consequence;

use crate::about::About;
use crate::callback::Callback;
use crate::claims::Claims;
use crate::contract::Contract;
use crate::effect::Effect;
use crate::events::Events;
use crate::examples::Examples;
use crate::form::{Form, Purpose};
use crate::key::{self, Key};
use crate::lookup::{How, Lookup};
use crate::operator::OperatorSettings;
use crate::parts::{self, optional};
use crate::product::Product;
use crate::provider::{self, Provider};
use crate::questions::{Cancel, Poll, WhoAmI};
use crate::rules::{self, KeyIs, Rule, Rules};
use crate::schema::Input;
use crate::source::{Node, Section, Word};
use crate::support::Support;
use crate::undo::{Completion, Undo};

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

/// Reads the sections in an order in which each knows what it rests on.
pub(crate) fn contract(root: &Section<'_>, provider: Option<Provider>) -> Option<Contract> {
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
    let reports = Aside::read(root, &mut claims);
    let processing_max = processing(root, &mut claims);
    let product = Product::read(root);
    let input = Input::read(root);
    let about = About::read(root);
    let examples = Examples::read(root);
    root.end();
    let (questions, reports) = (questions?, reports?);
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
        lookup_unasked: questions.lookup_unasked,
        poll: questions.poll,
        cancel: questions.cancel,
        whoami: questions.whoami,
        callback: reports.callback,
        events: reports.events,
        support: reports.support,
        undo: reports.undo,
        completion: reports.completion,
        product: product?,
        input: input?,
        about: about?,
        examples: examples?,
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
    lookup_unasked: Option<How>,
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
        let how = lookup.as_ref().and_then(How::of);
        let lookup_unasked = how.filter(|how| !how.is_asked());
        let asked = lookup.as_ref().filter(|_| lookup_unasked.is_none());
        let read_lookup = asked.map(|s| Lookup::read(s, accepts, claims));
        if let Some((section, _)) = lookup.as_ref().zip(lookup_unasked) {
            claims.note(section);
        }
        let read_poll = poll.as_ref().map(|s| Poll::read(s, claims));
        let read_cancel = cancel.as_ref().map(|s| Cancel::read(s, claims));
        let read_whoami = whoami.as_ref().map(WhoAmI::read);
        for section in [lookup, poll, cancel, whoami].into_iter().flatten() {
            section.end();
        }
        Some(Self {
            lookup: whole(read_lookup)?,
            lookup_unasked,
            poll: whole(read_poll)?,
            cancel: whole(read_cancel)?,
            whoami: whole(read_whoami)?,
        })
    }
}

/// The sections beside: what comes by itself, what shows support, what can be done afterwards.
struct Aside {
    callback: Option<Callback>,
    events: Option<Events>,
    support: Support,
    undo: Option<Undo>,
    completion: Option<Completion>,
}

impl Aside {
    fn read(root: &Section<'_>, claims: &mut Claims) -> Option<Self> {
        let callback = section(root, "callback", |s| Callback::read(s, claims));
        let events = section(root, "events", |s| Events::read(s, claims));
        let support = section(root, "support", |s| Support::read(s, claims));
        let undo = section(root, "undo", |s| Undo::read(s, claims));
        let completion = section(root, "completion", |s| Completion::read(s, claims));
        Some(Self {
            callback: callback?,
            events: events?,
            support: support?.unwrap_or_default(),
            undo: undo?,
            completion: completion?,
        })
    }
}

/// A section that may be missing, with a complaint about what it has too much.
fn section<T>(
    root: &Section<'_>,
    name: &'static str,
    read: impl FnOnce(&Section<'_>) -> Option<T>,
) -> Option<Option<T>> {
    optional(root.get(name), |node| {
        let section = node.section()?;
        let value = read(&section);
        section.end();
        value
    })
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
