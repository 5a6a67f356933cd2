//! The words that may be said about an action. They come from message files, never from code, and never from a model.

use factum_core::Status;
use factum_core::statement::StatementKey;
use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentResource};

use crate::view::StatementView;

const ENGLISH: &str = include_str!("../messages/en.ftl");

/// Who reads a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audience {
    /// The person for whom it was asked.
    #[default]
    Customer,
    /// The program or model that speaks with them.
    Agent,
    /// Staff.
    Operator,
}

/// The message files.
pub struct Statements {
    bundle: FluentBundle<FluentResource>,
}

impl Audience {
    /// The audience of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "customer" => Some(Self::Customer),
            "agent" => Some(Self::Agent),
            "operator" => Some(Self::Operator),
            _ => None,
        }
    }

    fn attribute(self) -> Option<&'static str> {
        match self {
            Self::Customer => None,
            Self::Agent => Some("agent"),
            Self::Operator => Some("operator"),
        }
    }
}

impl Statements {
    /// The built-in English messages.
    ///
    /// # Panics
    /// If the built-in file is malformed; a test reads every message.
    #[must_use]
    pub fn english() -> Self {
        let resource = FluentResource::try_new(ENGLISH.to_owned())
            .map_err(|(_, errors)| errors)
            .expect("the built-in messages are well formed");
        let mut bundle = FluentBundle::new_concurrent(vec![unic_langid::langid!("en")]);
        bundle.set_use_isolating(false);
        bundle
            .add_resource(resource)
            .expect("every built-in message has its own name");
        Self { bundle }
    }

    /// What may be said, and what may not.
    #[must_use]
    pub fn statement(
        &self,
        key: StatementKey,
        status: &Status,
        audience: Audience,
    ) -> StatementView {
        let mut args = FluentArgs::new();
        let mut name = key.name().to_owned();
        if let Some(receipt) = &status.receipt {
            args.set("reference", receipt.reference.clone());
            if matches!(key, StatementKey::Done | StatementKey::DoneAfterAll) {
                name.push_str("-reference");
            }
        }
        if let Some(because) = &status.because {
            args.set("because", because.trim_end_matches('.').to_owned());
            if key == StatementKey::NotDone {
                name.push_str("-because");
            }
        }
        StatementView {
            say: self.text(&name, audience, &args),
            never_say: self.never_say(key, status),
            locale: "en",
        }
    }

    /// What would claim more than the evidence supports.
    fn never_say(&self, key: StatementKey, status: &Status) -> Vec<String> {
        let mut names = Vec::new();
        if !key.claims_done() {
            names.extend(["never-done", "never-done-too"]);
        }
        if !key.claims_not_done() {
            names.extend(["never-failed", "never-failed-too"]);
        }
        if !status.safe_to_call_again {
            names.push("never-again");
        }
        names
            .into_iter()
            .map(|name| self.text(name, Audience::Customer, &FluentArgs::new()))
            .collect()
    }

    fn text(&self, name: &str, audience: Audience, args: &FluentArgs) -> String {
        let Some(message) = self.bundle.get_message(name) else {
            return name.to_owned();
        };
        let for_audience = audience
            .attribute()
            .and_then(|a| message.get_attribute(a))
            .map(|a| a.value());
        let Some(pattern) = for_audience.or_else(|| message.value()) else {
            return name.to_owned();
        };
        let mut errors = Vec::new();
        self.bundle
            .format_pattern(pattern, Some(args), &mut errors)
            .into_owned()
    }
}
