//! Which of a contract's requests has arrived, and what stands in it.

use serde_json::Value;

use super::FarSide;
use super::fit::{Found, plain};
use super::sent;
use crate::body::Body;
use crate::condition;
use crate::effect::Effect;
use crate::http::HttpRequest;
use crate::key::{Companions, Key, Place};
use crate::pointer::Pointer;
use crate::request::{Own, Request};
use crate::shape::Shape;
use crate::template::Template;

/// A request, as the destination understands it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// It wants the effect.
    Effect(Wanted),
    /// It looks for an effect.
    Lookup(Question),
    /// It asks what became of queued work.
    Poll(Question),
    /// It withdraws what exists under a key.
    Cancel(Question),
    /// It asks who it is.
    WhoAmI,
}

/// An effect request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The key, where the contract places it; none where it is missing, or what has to stand beside it is.
    pub key: Option<String>,
    /// Whether the key has a form that the destination takes.
    pub key_fits: bool,
    /// The mark of whoever sends, where the contract has it written into the request.
    pub reference: Option<String>,
    /// The values that stand in it, by the names of the contract's parameters.
    pub params: Found,
    /// The condition that it is to be checked by, if it carries one.
    pub condition: Option<String>,
    /// How many of the contract's own texts stand in it: the better of two operations of one path.
    pub score: usize,
}

/// A question, or a cancel by key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// The key or the reference that it names, if it names one.
    pub mark: Option<String>,
    /// The queued work that it asks after.
    pub object: Option<String>,
    /// The page that it asks for; none for the first.
    pub cursor: Option<String>,
    /// The instant from which on it asks, in microseconds since 1970.
    pub since: Option<i64>,
    /// The other values that stand in it, by name.
    pub params: Found,
}

impl FarSide<'_> {
    /// Which request of the contract this is; none where it is none. Names of headers have to be in lower case.
    #[must_use]
    pub fn recognise(&self, request: &HttpRequest) -> Option<Asked> {
        let contract = self.contract;
        if let Some(cancel) = &contract.cancel
            && let Some(found) = question(&cancel.request, &cancel.request.path, request)
        {
            return Some(Asked::Cancel(Question::of(found)));
        }
        if let Some(wanted) = self.effect(request) {
            return Some(Asked::Effect(wanted));
        }
        if let Some(lookup) = &contract.lookup {
            let next = lookup.next_path.as_ref();
            let paths = next.into_iter().chain([&lookup.request.path]);
            let mut found = paths.map(|path| question(&lookup.request, path, request));
            if let Some(found) = found.find_map(|found| found) {
                return Some(Asked::Lookup(Question::of(found)));
            }
        }
        if let Some(poll) = &contract.poll
            && let Some(found) = question(&poll.request, &poll.request.path, request)
        {
            return Some(Asked::Poll(Question::of(found)));
        }
        let whoami = contract.whoami.as_ref()?;
        let found = question(&whoami.request, &whoami.request.path, request);
        found.map(|_| Asked::WhoAmI)
    }

    /// Whether any request of the contract has this method, path and query; which one it is its body may decide.
    #[must_use]
    pub fn has_path(&self, method: &str, target: &str) -> bool {
        let contract = self.contract;
        let fits = |request: &Request| {
            request.method == method && request.path.fits_path(target, &mut Found::new())
        };
        let whoami = contract.whoami.as_ref().map(|whoami| &whoami.request);
        let next = contract.lookup.as_ref().and_then(|l| l.next_path.as_ref());
        fits(&contract.effect.request)
            || contract.questions().chain(whoami).any(fits)
            || next.is_some_and(|path| path.fits_path(target, &mut Found::new()))
    }

    fn effect(&self, request: &HttpRequest) -> Option<Wanted> {
        let effect = &self.contract.effect;
        let mut found = question(&effect.request, &effect.request.path, request)?;
        let mut score = 1;
        if let Body::Graphql(document) = &effect.body {
            let body: Value = serde_json::from_slice(&request.body).ok()?;
            let text = body.get("query").and_then(Value::as_str)?;
            if !document.fits(text, &mut found) {
                return None;
            }
            score += 1;
        }
        let payload = sent::payload(&effect.body, request);
        let key = self.contract.key.as_ref();
        let nothing = Vec::new();
        let beside = key.map_or(&nothing, |key| &key.companions.set);
        for (at, shape) in effect.set.iter().chain(beside) {
            let fits = payload
                .as_ref()
                .is_some_and(|p| set_fits(p, at, shape, &mut found));
            if shape.is_fixed() {
                if !fits {
                    return None;
                }
                score += 1;
            }
        }
        for (name, template) in &effect.request.headers {
            let fixed = template.names().is_empty();
            let mut values = request.headers.iter().filter(|(n, _)| n == name);
            let fits = values.any(|(_, value)| template.fits(value, &mut found));
            // A target named in a header is the operation's name; other headers may be missing.
            if fixed && !fits && name.ends_with("-target") {
                return None;
            }
            score += usize::from(fixed && fits);
        }
        let found_key = key.and_then(|key| key.of(request, payload.as_ref(), &found));
        let known = key.zip(found_key.as_ref());
        let reference = found.remove("reference");
        for name in ["key", "first_sent", "first_sent_iso"] {
            found.remove(name);
        }
        Some(Wanted {
            key_fits: known.is_none_or(|(key, text)| key.takes(text)),
            condition: effect.condition_of(request, payload.as_ref()),
            key: found_key,
            reference,
            params: found,
            score,
        })
    }
}

/// The values of a request that the contract writes whole; none where this is another one.
fn question(of: &Request, path: &Template, request: &HttpRequest) -> Option<Found> {
    let mut found = Found::new();
    if of.method != request.method || !path.fits_path(&request.path_and_query, &mut found) {
        return None;
    }
    let json = || serde_json::from_slice::<Value>(&request.body).ok();
    let fits = match &of.own {
        Own::None => true,
        Own::Json(shape) => json().is_some_and(|body| shape.fits(&body, &mut found)),
        Own::Graphql(query) => json().is_some_and(|body| query.fits(&body, &mut found)),
        Own::Form(shape) => {
            let body = Body::Form(crate::body::FormStyle::default());
            let body = sent::payload(&body, request);
            body.is_some_and(|body| shape.fits(&body, &mut found))
        }
    };
    fits.then_some(found)
}

/// The values of a member that the contract sets; the last fitting element where it adds one to a list.
fn set_fits(payload: &Value, at: &Pointer, shape: &Shape, found: &mut Found) -> bool {
    match at.parts().split_last() {
        Some((last, before)) if last == "-" => {
            let list = at.parent_of(before.len());
            let items = list.get(payload).and_then(Value::as_array);
            let mut items = items.into_iter().flatten().rev();
            items.any(|item| shape.fits(item, found))
        }
        _ => at
            .get(payload)
            .is_some_and(|value| shape.fits(value, found)),
    }
}

impl Question {
    fn of(mut found: Found) -> Self {
        let since = found
            .remove("since_unix")
            .and_then(|text| text.parse().ok());
        let since = since.map(|seconds: i64| seconds.saturating_mul(1_000_000));
        let millis = found.remove("since_ms").and_then(|text| text.parse().ok());
        let millis = millis.map(|millis: i64| millis.saturating_mul(1_000));
        found.remove("since");
        Self {
            mark: found.remove("reference").or_else(|| found.remove("key")),
            object: found.remove("object"),
            cursor: found.remove("cursor"),
            since: since.or(millis),
            params: found,
        }
    }
}

impl Key {
    /// The key of this request, where what has to stand beside it does.
    fn of(&self, request: &HttpRequest, payload: Option<&Value>, found: &Found) -> Option<String> {
        if !self.companions.stand_in(request, payload) {
            return None;
        }
        let member = |at: &Pointer| payload.and_then(|payload| at.get(payload)).and_then(plain);
        match &self.place {
            Place::Header { name, quoted } => {
                let value = header(request, name)?;
                let bare = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
                let text = if *quoted {
                    bare.unwrap_or(value)
                } else {
                    value
                };
                (!text.is_empty()).then(|| text.to_owned())
            }
            Place::Member { at, .. } | Place::Item { at, .. } => member(at),
            Place::Query(name) => {
                let (_, query) = request.path_and_query.split_once('?')?;
                let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
                let (_, value) = pairs.find(|(n, _)| n == name)?;
                Some(crate::template::decoded(&value.replace('+', " ")))
            }
            Place::Directive(_) | Place::Path => found.get("key").cloned(),
            Place::Given(members) => {
                let texts: Option<Vec<String>> = members.iter().map(member).collect();
                texts.map(|texts| texts.join("\u{1f}"))
            }
        }
    }

    /// Whether the destination takes a key of this form: its length and, of a UUID, its shape. Where the contract leaves
    /// the choice to us it says nothing of what others may send.
    fn takes(&self, text: &str) -> bool {
        use crate::form::Alphabet;
        if !self.is_placed() {
            return true;
        }
        let printable = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        let whole = self.form.prefix.len() + self.form.length;
        match self.form.alphabet {
            Alphabet::Uuid => {
                let groups: Vec<usize> = text.split('-').map(str::len).collect();
                let hex = text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
                hex && groups == [8, 4, 4, 4, 12]
            }
            Alphabet::Digits => text.bytes().all(|byte| byte.is_ascii_digit()),
            Alphabet::Hex => text
                .strip_prefix(self.form.prefix.as_str())
                .unwrap_or(text)
                .bytes()
                .all(|byte| byte.is_ascii_hexdigit()),
            Alphabet::Base32
            | Alphabet::Base32Hex
            | Alphabet::Base64Url
            | Alphabet::Alphanumeric => {
                let bounded = self.form.length < self.form.alphabet.longest(usize::MAX);
                let most = if bounded { whole } else { USUAL_MAX };
                printable && text.len() <= most
            }
        }
    }
}

/// What most destinations take.
const USUAL_MAX: usize = 255;

impl Companions {
    fn stand_in(&self, request: &HttpRequest, payload: Option<&Value>) -> bool {
        let headers = self.headers.iter();
        let mut headers = headers.map(|(name, _)| header(request, name));
        let mut set = self.set.iter();
        headers.all(|value| value.is_some_and(|value| !value.is_empty()))
            && set.all(|(at, _)| payload.is_some_and(|payload| at.get(payload).is_some()))
    }
}

impl Effect {
    fn condition_of(&self, request: &HttpRequest, payload: Option<&Value>) -> Option<String> {
        match &self.condition.as_ref()?.place {
            condition::Place::Header(name) => header(request, name).map(str::to_owned),
            condition::Place::Member(at) => payload.and_then(|p| at.get(p)).and_then(plain),
        }
    }
}

pub(crate) fn header<'a>(request: &'a HttpRequest, name: &str) -> Option<&'a str> {
    let mut headers = request.headers.iter();
    let found = headers.find(|(n, _)| n == name);
    found.map(|(_, value)| value.trim())
}
