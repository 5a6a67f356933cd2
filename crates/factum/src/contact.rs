//! The customer's route while a person has to decide: where to turn to, and by when an answer is promised.
//!
//! The promise counts from the moment at which a person was first needed, which is evidence; so it is the same after a restart.

use std::collections::BTreeMap;

use factum_core::{Known, Span, Timestamp};
use factum_engine::destination::own_name;
use factum_engine::{Code, Problem};
use fluent_bundle::FluentArgs;
use jiff::tz::TimeZone;

use crate::config::{Config, ContactConfig};
use crate::statements::claims::Claims;
use crate::statements::{Locale, Words, time_zone};
use crate::view::{ContactView, rfc3339};

/// The configured routes.
#[derive(Debug, Default)]
pub struct Contacts {
    everybody: Option<Contact>,
    destinations: BTreeMap<String, Contact>,
    tenants: BTreeMap<String, Contact>,
    tenants_destinations: BTreeMap<(String, String), Contact>,
}

/// One route.
#[derive(Clone, Debug)]
pub struct Contact {
    say: String,
    translations: BTreeMap<Locale, String>,
    within: Option<Span>,
    zone: TimeZone,
}

impl Contacts {
    /// Those of a configuration.
    ///
    /// # Errors
    /// F1040 for a locale or time zone that there is not, F1042 for a text that claims something about the action.
    pub fn of(config: &Config) -> Result<Self, Problem> {
        let read = |member: String, written: &ContactConfig| Contact::read(&member, written);
        let mut contacts = Self::default();
        if let Some(written) = &config.contact {
            contacts.everybody = Some(read("/contact".to_owned(), written)?);
        }
        for (name, destination) in &config.destinations {
            if let Some(written) = &destination.contact {
                let contact = read(format!("/destinations/{name}/contact"), written)?;
                contacts.destinations.insert(name.clone(), contact);
            }
        }
        for (tenant, of_tenant) in &config.tenants {
            if let Some(written) = &of_tenant.contact {
                let contact = read(format!("/tenants/{tenant}/contact"), written)?;
                contacts.tenants.insert(tenant.clone(), contact);
            }
            for (name, destination) in &of_tenant.destinations {
                if let Some(written) = &destination.contact {
                    let member = format!("/tenants/{tenant}/destinations/{name}/contact");
                    let key = (tenant.clone(), name.clone());
                    let contact = read(member, written)?;
                    contacts.tenants_destinations.insert(key, contact);
                }
            }
            for (name, written) in &of_tenant.contacts {
                let member = format!("/tenants/{tenant}/contacts/{name}");
                let known = [&config.destinations, &of_tenant.destinations];
                if !known.iter().any(|known| known.contains_key(name)) {
                    let rule = format!("no destination {name:?} is configured here");
                    let remedy = "name a destination of this configuration";
                    return Err(Problem::new(Code::BadConfig, member, rule, remedy));
                }
                let key = (tenant.clone(), name.clone());
                let contact = read(member, written)?;
                contacts.tenants_destinations.insert(key, contact);
            }
        }
        Ok(contacts)
    }

    /// The route of a tenant's customers at a destination, by its full name: the closest one.
    #[must_use]
    pub fn of_tenant(&self, tenant: &str, destination: &str) -> Option<&Contact> {
        let destination = own_name(tenant, destination);
        let key = (tenant.to_owned(), destination.to_owned());
        self.tenants_destinations
            .get(&key)
            .or_else(|| self.tenants.get(tenant))
            .or_else(|| self.destinations.get(destination))
            .or(self.everybody.as_ref())
    }

    /// Whether any of them promises an answer by a time.
    #[must_use]
    pub fn promise(&self) -> bool {
        let all = self.everybody.iter().chain(self.destinations.values());
        let all = all.chain(self.tenants.values());
        let mut all = all.chain(self.tenants_destinations.values());
        all.any(|contact| contact.within.is_some())
    }
}

impl Contact {
    fn read(member: &str, written: &ContactConfig) -> Result<Self, Problem> {
        let zone = written.time_zone.as_deref().unwrap_or("UTC");
        let zone = time_zone(&format!("{member}/time_zone"), zone)?;
        let mut translations = BTreeMap::new();
        for (tag, text) in &written.translations {
            let member = format!("{member}/translations/{tag}");
            let locale = Locale::configured(&member, tag)?;
            no_claim(&member, &[locale], text)?;
            translations.insert(locale, text.clone());
        }
        no_claim(&format!("{member}/say"), &Locale::ALL, &written.say)?;
        Ok(Self {
            say: written.say.clone(),
            translations,
            within: written.within.map(|within| within.0),
            zone,
        })
    }

    /// By when an answer is promised about an action, if a person is needed.
    #[must_use]
    pub fn promised_by(&self, known: &Known) -> Option<Timestamp> {
        Some(known.waits_for_a_person_since()? + self.within?)
    }

    /// In the words of a reader.
    #[must_use]
    pub fn view(&self, known: &Known, now: Timestamp, words: &Words) -> ContactView {
        let route = self.translations.get(&words.locale()).unwrap_or(&self.say);
        let by = self.promised_by(known);
        let late = by.is_some_and(|by| by <= now);
        let say = by.map_or_else(
            || route.clone(),
            |by| {
                let mut args = FluentArgs::new();
                args.set("route", route.as_str());
                args.set("when", words.instant(by, &self.zone));
                let name = if late { "contact-late" } else { "contact-by" };
                words.said_to_customer(name, &args)
            },
        );
        ContactView {
            say,
            by: by.map(rfc3339),
            late,
        }
    }
}

/// A route says where to turn to, and nothing about what became of the action.
fn no_claim(member: &str, locales: &[Locale], text: &str) -> Result<(), Problem> {
    let claimed = locales.iter().find_map(|locale| {
        let claimed = Claims::of(*locale).made_by(text);
        claimed.done.or(claimed.not_done)
    });
    let Some(words) = claimed else {
        return Ok(());
    };
    let rule =
        format!("it claims something about the action ({words:?}) while a person still decides");
    let remedy = "say where to turn to, and nothing else";
    Err(Problem::new(Code::BadMessages, member, rule, remedy))
}
