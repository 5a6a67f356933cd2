//! The messages of one locale: those that come with the program, and over them the operator's and a tenant's own.

use std::sync::Arc;

use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentResource};

use super::Audience;
use super::folder::Messages;
use super::locale::Locale;

/// One locale's messages, in layers: what is found first is said.
pub(super) struct Book(Vec<FluentBundle<Messages>>);

impl Book {
    /// The messages that come with the program.
    ///
    /// # Panics
    /// If a built-in file is malformed, which a test of each rules out.
    pub(super) fn built_in(locale: Locale) -> Self {
        let mut book = Self(Vec::new());
        let resource = FluentResource::try_new(text(locale).to_owned())
            .map_err(|(_, errors)| errors)
            .expect("the built-in messages are read by a test");
        book.put_over(locale, Arc::new(resource));
        book
    }

    /// Says these messages from now on, and what they leave out as before.
    pub(super) fn put_over(&mut self, locale: Locale, messages: Messages) {
        let mut bundle = FluentBundle::new_concurrent(vec![locale.identifier()]);
        // The marks that isolate a variable's direction of writing are seen by nobody but machines that compare texts.
        bundle.set_use_isolating(false);
        bundle.add_resource_overriding(messages);
        self.0.insert(0, bundle);
    }

    /// A message for a reader. What is said to the customer holds for everybody who has no words of their own.
    pub(super) fn say(&self, name: &str, audience: Audience, args: &FluentArgs) -> String {
        let own = audience.attribute().and_then(|attribute| {
            let mut layers = self.0.iter();
            layers.find_map(|bundle| {
                let message = bundle.get_message(name)?;
                let pattern = message.get_attribute(attribute)?.value();
                Some((bundle, pattern))
            })
        });
        let found = own.or_else(|| {
            let mut layers = self.0.iter();
            layers.find_map(|bundle| Some((bundle, bundle.get_message(name)?.value()?)))
        });
        // A test holds that every name exists in every locale.
        found.map_or_else(
            || name.to_owned(),
            |(bundle, pattern)| {
                let mut errors = Vec::new();
                let said = bundle.format_pattern(pattern, Some(args), &mut errors);
                said.into_owned()
            },
        )
    }
}

/// The file that comes with the program.
pub(super) fn text(locale: Locale) -> &'static str {
    match locale {
        Locale::English => include_str!("../../messages/en.ftl"),
        Locale::German => include_str!("../../messages/de.ftl"),
        Locale::Spanish => include_str!("../../messages/es.ftl"),
        Locale::French => include_str!("../../messages/fr.ftl"),
        Locale::Japanese => include_str!("../../messages/ja.ftl"),
        Locale::Polish => include_str!("../../messages/pl.ftl"),
    }
}
