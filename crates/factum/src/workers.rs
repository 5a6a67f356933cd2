//! Operations that workers elsewhere carry out in their own code, as the configuration writes them. Where a contract describes the
//! operation, `carried_by = "work"` is all; here stands what is said of one without a contract.
//!
//! Whatever is promised of it is somebody's word: it carries their name and reason.

use std::collections::BTreeMap;

use factum_core::promise::{
    Authority, CompletionPromise, Consequence, KeyPromise, LookupBy, LookupPromise, ProcessingMax,
    Retention,
};
use factum_core::{Limits, Preference, Promises, Span};
use factum_engine::{ByWorkers, Code, KeyTemplate, Operation, Problem};
use serde::Deserialize;

use crate::config::{DestinationConfig, DestinationLimits, Wait};

/// The provider of destinations that only workers speak with: it stands in no catalogue.
pub const WORK: &str = "work";

/// How long a claim, or what was begun, is leased without word of it.
const LEASE: Span = Span::from_secs(60);

/// From a begin to the first byte of a worker's call: the answer to the begin has to arrive first.
const SEND_WAIT: Span = Span::from_secs(15);

/// How long a worker's call takes at the longest.
const LIMIT: Span = Span::from_secs(60);

/// `[destinations.NAME.work.OPERATION]`: an operation without a contract.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WorkConfig {
    /// `harmless`, `reversible`, `costly` or `irreversible`; `costly` where nothing is said.
    pub consequence: Option<String>,
    /// `ask`, `prefer_missing` or `prefer_duplicate`; all but `ask` need `by` and `reason`.
    pub neither: Option<String>,
    /// How the key of a submission is made from its arguments.
    pub key_template: Option<String>,
    /// The longest time from the first byte of a worker's call to its last (R1).
    pub limit: Option<Wait>,
    /// The system works on a request for this long at the most. Needs `by` and `reason`.
    pub processing_max: Option<Wait>,
    /// The system recognises the key that workers pass on. Needs `by` and `reason`.
    pub key: Option<WorkKey>,
    /// Workers can look whether the effect exists. Needs `by` and `reason`.
    pub look_up: Option<WorkLookUp>,
    /// Work may be queued there, and its end is reported within this time.
    pub completion: Option<Wait>,
    /// A verdict on it counts once a second person says the same.
    pub two_person_verdicts: bool,
    /// Who answers for it.
    pub by: Option<String>,
    /// Why, in their words.
    pub reason: Option<String>,
}

/// `key = { floor = "24 h", … }`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkKey {
    /// It is recognised for this long at the least.
    pub floor: Wait,
    /// It is known what a repeat gets while the first is still running (R4).
    #[serde(default)]
    pub concurrent: bool,
}

/// `look_up = { complete = true, … }`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WorkLookUp {
    /// It sees queued, closed and deleted work too (R8): that nothing is found says that there is nothing.
    pub complete: bool,
    /// By when after landing an effect is found at the latest.
    pub lag: Option<Wait>,
    /// By what it asks: `reference` (where nothing is said) or `key`.
    pub by: Option<String>,
}

/// The operations of a destination that only workers speak with.
pub(crate) fn operations(
    at: &str,
    written: &DestinationConfig,
    limits: Limits,
) -> Result<BTreeMap<String, Operation>, Problem> {
    let spoken = [
        ("base", !written.base.is_empty()),
        ("auth", written.auth.is_some()),
        ("callback", written.callback.is_some()),
        ("operations", !written.operations.is_empty()),
    ];
    if let Some((member, _)) = spoken.into_iter().find(|(_, given)| *given) {
        let rule = "nothing here speaks with a destination of the provider `work`".to_owned();
        return Err(bad(
            &format!("{at}/{member}"),
            rule,
            "leave it out; describe the operations under `work`",
        ));
    }
    if written.work.is_empty() {
        let rule = "it has no operation".to_owned();
        let remedy = "describe at least one, as in work.\"contact.create\" = {}";
        return Err(bad(&format!("{at}/work"), rule, remedy));
    }
    let operations = written.work.iter().map(|(name, own)| {
        let at = format!("{at}/work/{name}");
        Ok((name.clone(), operation(&at, own, &written.limits, limits)?))
    });
    operations.collect()
}

fn operation(
    at: &str,
    own: &WorkConfig,
    written: &DestinationLimits,
    limits: Limits,
) -> Result<Operation, Problem> {
    let key_template = own.key_template.as_deref().map(KeyTemplate::parse);
    let key_template = key_template
        .transpose()
        .map_err(|error| bad(&format!("{at}/key_template"), error.rule, error.remedy))?;
    let mut limits = self::limits(written, limits);
    if let Some(limit) = own.limit {
        limits.bound.write_limit = limit.0;
    }
    if let Some(wait) = own.completion {
        limits.callback_wait = wait.0;
    }
    Ok(Operation {
        twin_guard: None,
        contract: None,
        promises: own.promises(at)?,
        preference: own.preference(at)?,
        approval: None,
        finish: false,
        key_template,
        limits,
        by_workers: Some(by_workers(written, own.look_up.is_some())),
        two_persons: own.two_person_verdicts,
    })
}

/// How workers carry out an operation at this destination.
pub(crate) fn by_workers(written: &DestinationLimits, look_ups: bool) -> ByWorkers {
    ByWorkers {
        lease: written.work_lease.map_or(LEASE, |wait| wait.0),
        look_ups,
    }
}

/// Times that leave a worker elsewhere room, where the operator sets none.
pub(crate) fn limits(written: &DestinationLimits, limits: Limits) -> Limits {
    let mut limits = limits;
    if written.send_wait.is_none() {
        limits.send_wait = SEND_WAIT;
    }
    if written.write.is_none() {
        limits.bound.write_limit = LIMIT;
    }
    limits
}

impl WorkConfig {
    /// The operation where an application carries it out in its own code, in this process.
    ///
    /// # Errors
    /// F1040 names what is promised without a name and a reason, or is not known.
    pub fn carried(&self, at: &str, limits: Limits) -> Result<Operation, Problem> {
        let written = DestinationLimits {
            // Its own, as they are handed in.
            send_wait: Some(Wait(limits.send_wait)),
            write: Some(Wait(limits.bound.write_limit)),
            ..DestinationLimits::default()
        };
        Ok(Operation {
            by_workers: None,
            ..operation(at, self, &written, limits)?
        })
    }

    fn promises(&self, at: &str) -> Result<Promises, Problem> {
        let claimed = [
            ("key", self.key.is_some()),
            ("look_up", self.look_up.is_some()),
            ("processing_max", self.processing_max.is_some()),
        ];
        if let Some((member, _)) = claimed.into_iter().find(|(_, given)| *given) {
            self.author(
                &format!("{at}/{member}"),
                "promises something of the system",
            )?;
        }
        let consequence = self.consequence(at)?;
        if consequence == Consequence::Harmless {
            self.author(
                &format!("{at}/consequence"),
                "promises that a repeat does nothing",
            )?;
        }
        Ok(Promises {
            key: self.key.as_ref().map(WorkKey::promise),
            lookup: self
                .look_up
                .as_ref()
                .map(|own| own.promise(at))
                .transpose()?,
            completion: self.completion.map(|_| CompletionPromise {
                poll: false,
                callback: true,
            }),
            processing_max: (self.processing_max).map_or(ProcessingMax::Unpublished, |max| {
                ProcessingMax::Assumed(max.0)
            }),
            // What a worker reports as refused, it says of its own call.
            path_is_direct: true,
            ..Promises::none(consequence)
        })
    }

    fn consequence(&self, at: &str) -> Result<Consequence, Problem> {
        match self.consequence.as_deref() {
            None | Some("costly") => Ok(Consequence::Costly),
            Some("harmless") => Ok(Consequence::Harmless),
            Some("reversible") => Ok(Consequence::Reversible),
            Some("irreversible") => Ok(Consequence::Irreversible),
            Some(other) => Err(bad(
                &format!("{at}/consequence"),
                format!("does not know `{other}`"),
                "write one of harmless, reversible, costly, irreversible",
            )),
        }
    }

    fn preference(&self, at: &str) -> Result<Preference, Problem> {
        let at = format!("{at}/neither");
        match self.neither.as_deref() {
            None | Some("ask") => Ok(Preference::Ask),
            Some("prefer_missing") => Ok(Preference::PreferMissing {
                by: self.author(&at, "takes a risk")?,
            }),
            Some("prefer_duplicate") => Ok(Preference::PreferDuplicate {
                by: self.author(&at, "takes a risk")?,
            }),
            Some(other) => Err(bad(
                &at,
                format!("does not know `{other}`"),
                "write one of ask, prefer_missing, prefer_duplicate",
            )),
        }
    }

    fn author(&self, at: &str, rule: &str) -> Result<String, Problem> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        match given(&self.by).zip(given(&self.reason)) {
            Some((by, reason)) => Ok(format!("{by}: {reason}")),
            None => Err(bad(
                at,
                format!("{rule}, and nobody answers for it"),
                "add `by` and `reason`",
            )),
        }
    }
}

impl WorkKey {
    fn promise(&self) -> KeyPromise {
        KeyPromise {
            retention: Retention::AssumedFloor(self.floor.0),
            concurrent_repeat_stated: self.concurrent,
            stores_errors: false,
            scope_includes_credential: false,
            scope_includes_place: false,
            sets_again: false,
            wait_min: Span::ZERO,
        }
    }
}

impl WorkLookUp {
    fn promise(&self, at: &str) -> Result<LookupPromise, Problem> {
        let by = match self.by.as_deref() {
            None | Some("reference") => LookupBy::Reference,
            Some("key") => LookupBy::Key,
            Some(other) => {
                let at = format!("{at}/look_up/by");
                let rule = format!("does not know `{other}`");
                return Err(bad(&at, rule, "write `reference` or `key`"));
            }
        };
        Ok(LookupPromise {
            authority: if self.complete {
                Authority::Authoritative
            } else {
                Authority::Partial
            },
            lag: self.lag.map_or(Span::ZERO, |lag| lag.0),
            by,
        })
    }
}

fn bad(member: &str, rule: String, remedy: &str) -> Problem {
    Problem::new(Code::BadConfig, member, rule, remedy)
}
