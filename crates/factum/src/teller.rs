//! How an action is told: its status, in the words of its reader, with the customer's route.

use factum_engine::{Engine, Problem};
use factum_store::Record;

use crate::config::Config;
use crate::contact::Contacts;
use crate::statements::{Audience, Reader, Statements};
use crate::view::StatusView;

/// The words and the routes of a configuration.
#[derive(Default)]
pub struct Teller {
    /// The words.
    pub statements: Statements,
    /// The routes.
    pub contacts: Contacts,
}

impl Teller {
    /// Those that a configuration asks for.
    ///
    /// # Errors
    /// F1040 and F1042; names the member, or the file and its line.
    pub fn of(config: &Config) -> Result<Self, Problem> {
        Ok(Self {
            statements: Statements::of(config)?,
            contacts: Contacts::of(config)?,
        })
    }

    /// A record as every interface shows it.
    #[must_use]
    pub fn view(
        &self,
        engine: &Engine,
        record: &Record,
        joined: bool,
        reader: Reader,
    ) -> StatusView {
        let (status, next) = engine.assess(record);
        let scope = &record.action.scope;
        let submitted = record.action.content.locale.as_deref();
        let words = self.statements.words(&scope.tenant, reader, submitted);
        let contact = self.contacts.of_tenant(&scope.tenant, &scope.destination);
        let contact = contact.map(|contact| contact.view(&record.known, engine.now(), &words));
        let mut view = StatusView::of(record, &status, &next, joined, &words, contact);
        if reader.audience == Audience::Operator {
            view.shown = engine.shown_of(record).into_iter().collect();
        }
        view
    }
}
