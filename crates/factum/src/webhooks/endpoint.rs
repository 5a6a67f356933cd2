//! An endpoint as it is kept: where events are posted to, which, and by which generation of its secret they are signed.

use factum_core::Timestamp;
use factum_engine::directory::Standing;
use factum_engine::{Code, Problem};
use factum_store::{Entry, Topic};
use factum_transport::Target;
use serde::{Deserialize, Serialize};

use super::run::Ways;

/// The version of the encoding.
const VERSION: u32 = 1;

/// The longest address.
const URL_MAX: usize = 2_000;

/// What an endpoint is made of.
#[derive(Clone, Debug, Default)]
pub struct NewEndpoint {
    /// `https://host[:port]/path[?query]`.
    pub url: String,
    /// The types of events that it wants; all where there are none.
    pub types: Vec<Topic>,
    /// One line for people.
    pub about: Option<String>,
}

/// An endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    v: u32,
    /// Where events are posted to.
    pub url: String,
    /// Which: all where there are none.
    pub types: Vec<String>,
    /// Whether anything is posted.
    pub standing: Standing,
    /// Which of its secrets signs.
    pub generation: u32,
    /// Until when the one before signs too, in microseconds.
    pub previous_until: Option<i64>,
    /// One line for people.
    pub about: Option<String>,
}

impl Endpoint {
    pub(super) fn new(new: NewEndpoint, ways: &Ways) -> Result<Self, Problem> {
        let endpoint = Self {
            v: VERSION,
            url: new.url,
            types: new
                .types
                .iter()
                .map(|topic| topic.word().to_owned())
                .collect(),
            standing: Standing::Active,
            generation: 1,
            previous_until: None,
            about: new.about,
        };
        endpoint.target(ways)?;
        Ok(endpoint)
    }

    /// Of its entry.
    ///
    /// # Errors
    /// [`Code::StoreTooNew`], [`Code::StoreDamaged`].
    pub(super) fn of(entry: &Entry) -> Result<Self, Problem> {
        super::state::read(&entry.body, |endpoint: &Self| endpoint.v, VERSION)
    }

    pub(super) fn text(&self) -> String {
        // Texts and numbers can always be written.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Whether events of this type are wanted.
    #[must_use]
    pub fn wants(&self, topic: Topic) -> bool {
        self.types.is_empty() || self.types.iter().any(|word| word == topic.word())
    }

    /// The generations whose secrets sign at an instant, the newest first.
    #[must_use]
    pub fn signing(&self, now: Timestamp) -> Vec<u32> {
        let previous = self
            .previous_until
            .is_some_and(|until| now.as_micros() < until);
        let before = (self.generation > 1 && previous).then(|| self.generation - 1);
        [Some(self.generation), before]
            .into_iter()
            .flatten()
            .collect()
    }

    pub(super) fn rotate(&mut self, until: Timestamp) {
        self.generation += 1;
        self.previous_until = Some(until.as_micros());
    }

    /// What was removed stays so: its name, and with it its secrets, are never used again.
    pub(super) fn may_follow(&self, was: &Self) -> Result<(), Problem> {
        if was.standing != Standing::Revoked {
            return Ok(());
        }
        let rule = "the webhook was removed";
        let remedy = "make a new one under another name";
        Err(Problem::new(Code::DoesNotApply, "", rule, remedy))
    }

    /// Where it leads, and what is asked for there.
    ///
    /// # Errors
    /// [`Code::BadWebhook`] says why nothing is posted there.
    pub(super) fn target(&self, ways: &Ways) -> Result<(Target, String), Problem> {
        let bad = |rule: String, remedy: &str| Problem::new(Code::BadWebhook, "/url", rule, remedy);
        if self.url.len() > URL_MAX {
            let rule = format!("the address has more than {URL_MAX} characters");
            return Err(bad(rule, "use a shorter one"));
        }
        let begin = self.url.find("://").map_or(0, |at| at + 3);
        let path = self.url[begin..].find(['/', '?', '#']).map(|at| begin + at);
        let (base, path) = self.url.split_at(path.unwrap_or(self.url.len()));
        let target = Target::parse(base, ways.allow_private.is_any())
            .map_err(|error| bad(error.rule.to_string(), "write https://host/path"))?;
        let path = if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("/{path}")
        };
        if path.contains('#') || !path.bytes().all(|byte| byte.is_ascii_graphic()) {
            let rule = "path and query are printable ASCII without a fragment".to_owned();
            return Err(bad(rule, "percent-encode what is not"));
        }
        let target = target
            .reaching(ways.allow_private.networks())
            .written_by_others();
        // What a name leads to is looked at whenever something is posted.
        if target.names_forbidden() {
            let rule = "that is no address of the public internet".to_owned();
            let remedy = "use a public one; an operator may set webhooks.allow_private";
            return Err(bad(rule, remedy));
        }
        Ok((target, path))
    }
}
