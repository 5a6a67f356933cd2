//! The contract of one operation, read whole and found to be consistent.
//!
//! What it does not state is not promised. It is a value: nothing in it changes after it was read, but for what an operator
//! lays over it.

use std::collections::BTreeSet;

use factum_core::Span;
use factum_core::intent::Preference;
use factum_core::promise::Consequence;

use crate::about::About;
use crate::callback::Callback;
use crate::claims::{Claims, Source};
use crate::digest;
use crate::effect::Effect;
use crate::events::Events;
use crate::examples::Examples;
use crate::finding::Finding;
use crate::form::Form;
use crate::key::Key;
use crate::lookup::{How, Lookup};
use crate::operator::OperatorSettings;
use crate::product::Product;
use crate::provider::Provider;
use crate::questions::{Cancel, Poll, WhoAmI};
use crate::read;
use crate::request::Request;
use crate::rules::Rule;
use crate::schema::Input;
use crate::source::Report;
use crate::support::Support;
use crate::undo::{Completion, Undo};

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
    /// What `[lookup]` says where there is nothing that could be asked.
    pub(crate) lookup_unasked: Option<How>,
    pub(crate) poll: Option<Poll>,
    pub(crate) cancel: Option<Cancel>,
    pub(crate) whoami: Option<WhoAmI>,
    pub(crate) callback: Option<Callback>,
    pub(crate) events: Option<Events>,
    pub(crate) support: Support,
    pub(crate) undo: Option<Undo>,
    pub(crate) completion: Option<Completion>,
    pub(crate) product: Product,
    pub(crate) input: Input,
    pub(crate) about: About,
    pub(crate) examples: Examples,
    pub(crate) params: BTreeSet<String>,
    pub(crate) claims: Claims,
    pub(crate) operator: OperatorSettings,
    pub(crate) text_digest: [u8; 32],
    pub(crate) warnings: Vec<Finding>,
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
            tree.and_then(|tree| read::contract(&report.root(&tree), provider))
        };
        let failed = provider_failed || report.failed();
        findings.extend(report.into_findings());
        match contract {
            Some(mut contract) if !failed => {
                contract.text_digest = digest::of_texts(provider_text.map(|(_, text)| text), text);
                contract.warnings = findings;
                contract.examples.place(file, text);
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
