//! Asking: the request for the first page, and for the pages after it.

use factum_core::promise::LookupBy;
use factum_core::{Span, Timestamp};
use serde_json::{Map, Value};

use super::{Include, Lookup};
use crate::build_error::BuildError;
use crate::contract::Contract;
use crate::http::HttpRequest;
use crate::request::{Request, not_in_contract};
use crate::source::Word;
use crate::template::Values;

/// What a lookup asks for.
#[derive(Clone, Copy, Debug)]
pub struct LookupAsk<'a> {
    /// The submission's parameters.
    pub params: &'a Map<String, Value>,
    /// Our reference, or our key, as [`Contract::lookup_by`] says.
    pub mark: &'a str,
    /// Nothing of the action can have arrived before: the first mark, or the submission.
    pub since: Option<Timestamp>,
    /// The page, as a reading named it; none for the first.
    pub cursor: Option<&'a str>,
}

impl Contract {
    /// By what the lookup asks, if there is one.
    #[must_use]
    pub fn lookup_by(&self) -> Option<LookupBy> {
        self.lookup.as_ref().map(|lookup| lookup.by)
    }

    /// What kind of question the lookup is, in the language's word; also where it is none that could be asked.
    #[must_use]
    pub fn lookup_how(&self) -> Option<&'static str> {
        let asked = self.lookup.as_ref().and_then(|lookup| lookup.about.how);
        asked.or(self.lookup_unasked).map(word)
    }

    /// How many pages of one lookup are followed at the most.
    #[must_use]
    pub fn lookup_pages_max(&self) -> u32 {
        self.lookup.as_ref().map_or(0, |lookup| lookup.pages_max)
    }

    /// For how long after it landed an effect is shown; none where that is not stated.
    #[must_use]
    pub fn lookup_visible_for(&self) -> Option<Span> {
        self.lookup.as_ref().and_then(|lookup| lookup.visible_for)
    }

    /// How many lookups the destination takes within a length of time, where it has a limit of its own for them.
    #[must_use]
    pub fn lookup_rate(&self) -> Option<(u32, Span)> {
        self.lookup.as_ref().and_then(|lookup| lookup.about.rate)
    }

    /// Whether the destination holds at most one object with our mark; none where that is not stated.
    #[must_use]
    pub fn lookup_unique(&self) -> Option<bool> {
        self.lookup.as_ref().and_then(|lookup| lookup.about.unique)
    }

    /// What the lookup shows beside what is there and open, in the language's words.
    pub fn lookup_includes(&self) -> impl Iterator<Item = &'static str> {
        let includes = self.lookup.iter().flat_map(|l| &l.about.includes);
        includes.copied().map(word::<Include>)
    }

    /// Whether the lookup has to be told since when.
    #[must_use]
    pub fn lookup_needs_since(&self) -> bool {
        let request = self.lookup.iter().map(|lookup| &lookup.request);
        request
            .flat_map(Request::names)
            .any(|name| name.starts_with("since"))
    }

    /// The question for a page.
    ///
    /// # Errors
    /// There is no lookup, or no further page, or a parameter is missing.
    pub fn lookup_question(&self, ask: &LookupAsk<'_>) -> Result<HttpRequest, BuildError> {
        let lookup = self.lookup.as_ref();
        let lookup = lookup.ok_or_else(|| not_in_contract("/lookup"))?;
        let values = Values {
            params: Some(ask.params),
            since: ask.since,
            cursor: ask.cursor,
            ..lookup.mark(ask.mark)
        };
        if ask.cursor.is_none() {
            return lookup.request.build(&values);
        }
        let path = lookup.next_path.clone();
        let path = path.ok_or_else(|| not_in_contract("/lookup/next_path"))?;
        let request = Request {
            path,
            ..lookup.request.clone()
        };
        request.build(&values)
    }

    /// The question for the first page, of a lookup that need not be told [since when](Contract::lookup_needs_since).
    ///
    /// # Errors
    /// As for [`Contract::lookup_question`].
    pub fn lookup_request(
        &self,
        params: &Map<String, Value>,
        mark: &str,
    ) -> Result<HttpRequest, BuildError> {
        self.lookup_question(&LookupAsk {
            params,
            mark,
            since: None,
            cursor: None,
        })
    }

    /// The question for a further page, of a lookup that need not be told since when.
    ///
    /// # Errors
    /// As for [`Contract::lookup_question`].
    pub fn lookup_page_request(
        &self,
        params: &Map<String, Value>,
        mark: &str,
        cursor: &str,
    ) -> Result<HttpRequest, BuildError> {
        self.lookup_question(&LookupAsk {
            params,
            mark,
            since: None,
            cursor: Some(cursor),
        })
    }
}

impl Lookup {
    fn mark<'a>(&self, mark: &'a str) -> Values<'a> {
        match self.by {
            LookupBy::Reference => Values {
                reference: Some(mark),
                ..Values::default()
            },
            LookupBy::Key => Values {
                key: Some(mark),
                ..Values::default()
            },
        }
    }
}

/// The language's word for a value.
pub(crate) fn word<T: Word + PartialEq>(value: T) -> &'static str {
    let found = T::WORDS.iter().find(|(_, candidate)| *candidate == value);
    found.map_or("", |(word, _)| *word)
}
