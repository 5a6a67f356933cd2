//! The words that may be said about an action. They come from message files, never from code, and never from a model.
//!
//! `messages/` has a file per [`Locale`]; an operator's folder may say some of them otherwise, to everybody or to one tenant, as
//! far as [`check`] allows. [`claims`] tells a text that claims something from one that does not.

mod book;
pub mod check;
pub mod claims;
mod dates;
mod folder;
mod locale;

use std::collections::BTreeMap;

use factum_core::statement::{Correction, StatementKey};
use factum_core::{Status, Timestamp};
use factum_engine::Problem;
use fluent_bundle::FluentArgs;
use jiff::tz::TimeZone;

pub(crate) use self::dates::time_zone;
pub use self::locale::Locale;

use self::book::Book;
use crate::config::Config;
use crate::view::StatementView;

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

/// Who reads, and in which language they want to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reader {
    /// For whom it is worded.
    pub audience: Audience,
    /// The language that was asked for expressly.
    pub locale: Option<Locale>,
    /// The language that they read, where nothing closer to the action says one.
    pub accepts: Option<Locale>,
}

/// The message files.
pub struct Statements {
    everybody: Books,
    tenants: BTreeMap<String, Books>,
    locale: Locale,
    tenants_locale: BTreeMap<String, Locale>,
}

type Books = BTreeMap<Locale, Book>;

/// The words for one reader.
#[derive(Clone, Copy)]
pub struct Words<'a> {
    book: &'a Book,
    audience: Audience,
    locale: Locale,
}

impl Audience {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Customer, Self::Agent, Self::Operator];

    /// The audience of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|audience| audience.name() == name)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Customer => "customer",
            Self::Agent => "agent",
            Self::Operator => "operator",
        }
    }

    fn attribute(self) -> Option<&'static str> {
        match self {
            Self::Customer => None,
            Self::Agent | Self::Operator => Some(self.name()),
        }
    }
}

impl From<Audience> for Reader {
    fn from(audience: Audience) -> Self {
        Self {
            audience,
            ..Self::default()
        }
    }
}

impl Default for Statements {
    fn default() -> Self {
        Self {
            everybody: built_in(),
            tenants: BTreeMap::new(),
            locale: Locale::default(),
            tenants_locale: BTreeMap::new(),
        }
    }
}

impl Statements {
    /// The messages that a configuration asks for.
    ///
    /// # Errors
    /// F1040 for a locale that there is not or a folder that cannot be read; F1042 with every finding of the messages in it.
    pub fn of(config: &Config) -> Result<Self, Problem> {
        let mut statements = Self {
            locale: match &config.locale {
                Some(tag) => Locale::configured("/locale", tag)?,
                None => Locale::default(),
            },
            ..Self::default()
        };
        for (tenant, written) in &config.tenants {
            if let Some(tag) = &written.locale {
                let locale = Locale::configured(&format!("/tenants/{tenant}/locale"), tag)?;
                statements.tenants_locale.insert(tenant.clone(), locale);
            }
        }
        let Some(folder) = &config.messages else {
            return Ok(statements);
        };
        let own = folder::read(folder)?;
        for (tenant, messages) in own.tenants {
            let mut books = built_in();
            put_over(&mut books, own.everybody.iter().chain(&messages));
            statements.tenants.insert(tenant, books);
        }
        put_over(&mut statements.everybody, own.everybody.iter());
        Ok(statements)
    }

    /// The words for a reader at a tenant. `submitted` is the language of whoever asked for the action: it comes before the one
    /// that the reader accepts, except for staff, who are not whom the action is for.
    #[must_use]
    pub fn words(&self, tenant: &str, reader: Reader, submitted: Option<&str>) -> Words<'_> {
        let submitted = submitted
            .filter(|_| reader.audience != Audience::Operator)
            .and_then(Locale::of);
        let locale = reader
            .locale
            .or(submitted)
            .or(reader.accepts)
            .or_else(|| self.tenants_locale.get(tenant).copied())
            .unwrap_or(self.locale);
        let books = self.tenants.get(tenant).unwrap_or(&self.everybody);
        Words {
            // Every locale has its book.
            book: books.get(&locale).unwrap_or(&self.everybody[&locale]),
            audience: reader.audience,
            locale,
        }
    }
}

fn built_in() -> Books {
    let locales = Locale::ALL.into_iter();
    locales
        .map(|locale| (locale, Book::built_in(locale)))
        .collect()
}

fn put_over<'a>(books: &mut Books, messages: impl Iterator<Item = &'a (Locale, folder::Messages)>) {
    for (locale, messages) in messages {
        if let Some(book) = books.get_mut(locale) {
            book.put_over(*locale, messages.clone());
        }
    }
}

impl Words<'_> {
    /// The language.
    #[must_use]
    pub fn locale(&self) -> Locale {
        self.locale
    }

    /// What may be said, and what may not.
    #[must_use]
    pub fn statement(&self, key: StatementKey, status: &Status) -> StatementView {
        let mut args = FluentArgs::new();
        let mut name = key.name().to_owned();
        if let Some(receipt) = &status.receipt {
            args.set("reference", receipt.reference.clone());
            if matches!(key, StatementKey::Done | StatementKey::DoneAfterAll) {
                name.push_str("-reference");
            }
        }
        if let Some(because) = &status.because {
            let because = because.trim_end_matches(['.', '。']);
            args.set("because", because.to_owned());
            if key == StatementKey::NotDone {
                name.push_str("-because");
            }
        }
        args.set("count", status.duplicates.len().max(1));
        StatementView {
            key: key.name(),
            say: self.say(&name, &args),
            never_say: self.never_say(key, status),
            locale: self.locale.tag(),
        }
    }

    /// What may be said about a proposal: nothing of it was sent, or it is said by its action.
    pub(crate) fn proposal(&self, name: &'static str) -> StatementView {
        let never = ["never-done", "never-done-too"];
        StatementView {
            key: name,
            say: self.say(name, &FluentArgs::new()),
            never_say: never
                .map(|name| self.said_to_customer(name, &FluentArgs::new()))
                .into(),
            locale: self.locale.tag(),
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
        let says = names.into_iter();
        says.map(|name| self.said_to_customer(name, &FluentArgs::new()))
            .collect()
    }

    /// What has to be said to whoever was told something else, or less.
    pub(crate) fn correction(
        &self,
        kind: Correction,
        summary: Option<&str>,
        told: &str,
        now: &str,
    ) -> String {
        let mut args = FluentArgs::new();
        args.set("told", told);
        args.set("now", now);
        if let Some(summary) = summary {
            args.set("summary", summary);
        }
        let name = match (kind, summary) {
            (Correction::Contradicted, None) => "correction",
            (Correction::Contradicted, Some(_)) => "correction-about",
            (Correction::News, None) => "news",
            (Correction::News, Some(_)) => "news-about",
        };
        self.say(name, &args)
    }

    /// An instant, in the time of a place.
    #[must_use]
    pub fn instant(&self, at: Timestamp, zone: &TimeZone) -> String {
        match dates::args(at, zone) {
            Some(args) => self.said_to_customer("date-time", &args),
            None => crate::view::rfc3339(at),
        }
    }

    /// A message as it is worded for the customer, whoever reads it.
    pub(crate) fn said_to_customer(&self, name: &str, args: &FluentArgs) -> String {
        self.book.say(name, Audience::Customer, args)
    }

    pub(crate) fn say(&self, name: &str, args: &FluentArgs) -> String {
        self.book.say(name, self.audience, args)
    }
}

#[cfg(test)]
mod tests;
