//! Stand-ins: destinations that behave as a contract of the catalogue says, and no better.
//!
//! Here is what one is started with, and what it may lie about.

mod lie;
mod script;

use std::collections::BTreeSet;

use factum_contract::far_side::{Asked, Concurrent, FarSide, OtherContent, Repeats, Wanted};
use factum_contract::{AuthKind, Contract, HttpRequest};

use crate::ledger::{Kind, Operation, Sent};
use crate::serve::digest;

pub use lie::Lie;
pub(crate) use script::Script;

/// A destination that behaves as its contract says: it recognises the operation's requests, keeps keys in their scope for
/// their window, and answers what the contract reads as the intended class. What the contract does not promise, it does not
/// do: without a key that is recognised, a repeat is a second effect.
///
/// Any text of a request can script what becomes of it, so that refusals and failures can be met without faults; in a form,
/// a query or a path its colon may be written `%3A`:
///
/// | word in the request | what happens |
/// | --- | --- |
/// | `stand-in:reject`, `stand-in:reject-once` | refused, nothing done; `-once`: only the first time under this key (else mark, else content) |
/// | `stand-in:decline` | rejected but recorded, where the contract knows such an answer; else refused |
/// | `stand-in:fail`, `stand-in:fail-once` | answers 500, nothing done |
/// | `stand-in:slow` | takes [`Settings::slow`](crate::Settings::slow) |
/// | `stand-in:queue` | answers *accepted* where the contract knows it, and is done after [`Settings::queue_delay`](crate::Settings::queue_delay) |
/// | `stand-in:complete-then-fail` | the same, and the queued work fails |
#[derive(Debug, Clone)]
pub struct StandIn {
    pub(crate) contract: Contract,
    pub(crate) lies: BTreeSet<Lie>,
    pub(crate) limited: bool,
}

impl StandIn {
    /// An honest one.
    #[must_use]
    pub fn new(contract: Contract) -> StandIn {
        StandIn {
            contract,
            lies: BTreeSet::new(),
            limited: false,
        }
    }

    /// One that breaks this promise of its contract. Can be said several times. A lie about what the contract does not
    /// claim changes nothing; see [`Lie::contradicts`].
    #[must_use]
    pub fn lying(mut self, lie: Lie) -> StandIn {
        self.lies.insert(lie);
        self
    }

    /// One that enforces the rate that its provider publishes: what is beyond it is answered as busy.
    #[must_use]
    pub fn rate_limited(mut self) -> StandIn {
        self.limited = true;
        self
    }

    /// The provider and the operation, as rows of the ledger name it: `zendesk.ticket.create`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}.{}", self.contract.provider(), self.contract.operation())
    }

    /// The kind of its rows.
    ///
    /// # Panics
    /// Never: the names of providers and operations are plain.
    pub(crate) fn kind(&self) -> Option<Kind> {
        Operation::named(&self.name()).map(Kind::StandIn)
    }

    pub(crate) fn far(&self) -> FarSide<'_> {
        self.contract.far_side()
    }

    /// Whether it tells this lie, about something that its contract claims.
    pub(crate) fn lies(&self, lie: Lie) -> bool {
        self.lies.contains(&lie) && lie.contradicts(&self.contract)
    }

    /// What it does with repeats: what the contract promises, less what it lies about.
    pub(crate) fn repeats(&self) -> Option<Repeats> {
        let mut repeats = self.far().repeats()?;
        if self.lies(Lie::IgnoresKey) {
            return None;
        }
        if self.lies(Lie::ShortWindow) {
            repeats.window = Some(repeats.window.map_or(SHORT, |window| window / 4));
        }
        if self.lies(Lie::IgnoresChangedBody) {
            repeats.other_content = OtherContent::FirstResult;
        }
        if self.lies(Lie::NewEffectOnChangedBody) {
            repeats.other_content = OtherContent::NewEffect;
        }
        if self.lies(Lie::ReplaysErrors) {
            (repeats.stores_refusals, repeats.stores_errors) = (true, true);
        }
        if self.lies(Lie::ForgetsErrors) {
            (repeats.stores_refusals, repeats.stores_errors) = (false, false);
            repeats.poisoned = false;
        }
        if self.lies(Lie::ConcurrentPairDoubles) {
            repeats.concurrent = Concurrent::Runs;
        }
        if self.lies(Lie::WiderScope) {
            repeats.per_credential = false;
        }
        if self.lies(Lie::NarrowerScope) {
            repeats.per_credential = true;
        }
        Some(repeats)
    }

    /// An effect request as the ledger keeps it.
    pub(crate) fn sent(&self, request: &HttpRequest, wanted: &Wanted) -> Sent {
        let credential = self.credential(request);
        let path = request.path_and_query.split('?').next().unwrap_or_default();
        let repeats = self.repeats().filter(|_| !self.far().escapes(request));
        let space = repeats.zip(wanted.key.as_deref()).map(|(repeats, key)| {
            let of = match repeats.across_operations {
                true => self.contract.provider().to_owned(),
                false => self.name(),
            };
            let credential = match repeats.per_credential {
                true => digest(credential.as_bytes()),
                false => String::new(),
            };
            let path = if repeats.per_path { path } else { "" };
            format!("{of}|{credential}|{path}|{key}")
        });
        let body = String::from_utf8_lossy(&request.body).into_owned();
        let secret = self.secret_header();
        let shown = |name: &str| {
            !["authorization", "host", "content-length", "connection"].contains(&name)
                && Some(name) != secret
        };
        let headers = request.headers.iter().filter(|(name, _)| shown(name));
        Sent {
            method: request.method.clone(),
            target: request.path_and_query.clone(),
            headers: headers.cloned().collect(),
            body,
            space,
            compared: digest(self.far().compared(request).as_bytes()),
            condition: wanted.condition.as_ref().map(|value| {
                let name = wanted.key.as_deref().unwrap_or_default();
                format!("{} {path} {name} {value}", self.name())
            }),
            stored: false,
        }
    }

    /// The request of a row, and what stands in it.
    pub(crate) fn understood(&self, sent: &Sent) -> (HttpRequest, Wanted) {
        let request = HttpRequest {
            method: sent.method.clone(),
            path_and_query: sent.target.clone(),
            headers: sent.headers.clone(),
            body: sent.body.clone().into_bytes(),
        };
        let wanted = match self.far().recognise(&request) {
            Some(Asked::Effect(wanted)) => wanted,
            _ => Wanted::default(),
        };
        (request, wanted)
    }

    fn secret_header(&self) -> Option<&str> {
        self.contract.provider_rules().auth.header.as_deref()
    }

    /// Who sends: what stays equal in every request of one credential.
    fn credential(&self, request: &HttpRequest) -> String {
        let auth = &self.contract.provider_rules().auth;
        let header = |name: &str| {
            let mut headers = request.headers.iter();
            headers
                .find(|(n, _)| n == name)
                .map(|(_, value)| value.clone())
        };
        let query = auth.query.as_deref().and_then(|name| {
            let (_, query) = request.path_and_query.split_once('?')?;
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs
                .find(|(n, _)| *n == name)
                .map(|(_, value)| value.to_owned())
        });
        let own = self.secret_header().and_then(header);
        let general = header("authorization").map(|value| {
            // A signature differs from request to request; the name of the key that made it does not.
            let signed = auth.kinds.contains(&AuthKind::SigV4) && value.starts_with("AWS4");
            let key = value.split(['=', '/']).nth(1).map(str::to_owned);
            key.filter(|_| signed).unwrap_or(value)
        });
        own.or(query).or(general).unwrap_or_default()
    }
}

/// What a liar keeps whose contract claims to keep keys for ever: a quarter of an hour, in microseconds.
const SHORT: i64 = 900_000_000;
