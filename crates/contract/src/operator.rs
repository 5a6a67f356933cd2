//! What an operator lays over a contract: a higher consequence, a preference, assumptions where nothing is published.
//!
//! Whatever makes things less careful carries a name and a reason, so that each permission that rests on it can show them.

use factum_core::intent::Preference;
use factum_core::promise::{Consequence, Retention};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::contract::Contract;
use crate::duration;
use crate::read::Neither;
use crate::source::Word;

/// Settings of one operation at one destination, as configurations write them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OperatorSettings {
    /// `harmless`, `reversible`, `costly` or `irreversible`. Raising it is free; lowering it needs `by` and `reason`.
    pub consequence: Option<String>,
    /// `ask`, `prefer_missing` or `prefer_duplicate`; all but `ask` need `by` and `reason`.
    pub neither: Option<String>,
    /// Whether a started action is finished by `same_key` past its deadline.
    pub finish: Option<bool>,
    /// Whether nothing on the way repeats requests (R7). `true` needs `by` and `reason` where the contract does not say so.
    pub direct: Option<bool>,
    /// How the key of a submission is made from its arguments: `ticket/{conversation}/{args.order}`. It promises nothing of the
    /// destination, so it is no part of the digest.
    pub key_template: Option<String>,
    /// Whether people approve before anything is sent. It promises nothing of the destination either.
    pub approval: Option<ApprovalSettings>,
    /// `work`: workers elsewhere carry it out in their own code. It promises nothing of the destination either.
    pub carried_by: Option<String>,
    /// A verdict on its actions counts once a second person says the same.
    pub two_person_verdicts: Option<bool>,
    /// For how long equal content in one scope, under another identity, is held off after the first is done: `10 min`; `off` is the
    /// default (R16). No part of the digest either.
    pub twin_guard: Option<String>,
    /// What is assumed where nothing is published.
    pub assume: Assumptions,
    /// Who answers for what is less careful here.
    pub by: Option<String>,
    /// Why, in their words.
    pub reason: Option<String>,
}

/// Who approves what before it is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ApprovalSettings {
    /// `never`, `always` or `over`.
    pub required: Option<String>,
    /// With `over`: up to which amount none is needed.
    pub over: Option<AmountSettings>,
    /// How many people have to approve.
    pub people: Option<u32>,
    /// The principals who may.
    pub by: Vec<String>,
    /// Whether who asked may approve too.
    #[serde(rename = "self")]
    pub own: Option<bool>,
    /// Whether an approval has to say why.
    pub reason: Option<bool>,
    /// How long a proposal may be decided on, where it does not say: a length of time.
    pub holds: Option<String>,
    /// Whose submissions need none.
    pub waive: Vec<ExemptSettings>,
    /// Whose proposals are approved at once.
    pub auto: Vec<ExemptSettings>,
}

/// An amount, as text, so that it is exact.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AmountSettings {
    /// A decimal number, in the unit in which the contract's amount member counts.
    pub amount: String,
    /// Its currency.
    #[serde(default)]
    pub currency: Option<String>,
}

/// Somebody for whom less is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExemptSettings {
    /// Who asks; `*` is everybody.
    pub principal: String,
    /// As long as it moves no more than this.
    #[serde(default)]
    pub up_to: Option<AmountSettings>,
}

/// What an operator assumes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Assumptions {
    /// How long the destination works on a request at the most.
    pub processing_max: Option<Assumption>,
    /// How long the destination recognises a key at the least.
    pub key_floor: Option<Assumption>,
}

/// One assumption, with the person who answers for it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assumption {
    /// A length of time: `2 s`, `24 h`.
    pub value: String,
    /// Who.
    pub by: String,
    /// Why, in their words.
    pub reason: String,
}

/// A setting that cannot be laid over this contract.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{member} {rule}; {remedy}")]
pub struct SettingsError {
    /// The member, below the operation's settings: `/assume/key_floor/by`.
    pub member: String,
    /// The rule that it breaks.
    pub rule: String,
    /// What to do about it.
    pub remedy: String,
}

fn error(member: &str, rule: impl Into<String>, remedy: impl Into<String>) -> SettingsError {
    SettingsError {
        member: member.to_owned(),
        rule: rule.into(),
        remedy: remedy.into(),
    }
}

impl Contract {
    /// The contract with an operator's settings over it.
    ///
    /// # Errors
    /// A setting has a wrong word, lacks its name and reason, or contradicts what the contract states.
    pub fn with_operator(mut self, settings: OperatorSettings) -> Result<Self, SettingsError> {
        if let Some(text) = &settings.consequence {
            let wanted: Consequence = word("/consequence", text)?;
            if wanted < self.consequence {
                settings.author("/consequence", "is lower than the contract's")?;
            }
            self.consequence = wanted;
        }
        if let Some(text) = &settings.neither {
            self.preference = settings.preference(text)?;
        }
        self.finish = settings.finish.unwrap_or(self.finish);
        if settings.direct == Some(true) && !self.effect.direct {
            settings.author("/direct", "is not stated by the contract")?;
        }
        self.effect.direct = settings.direct.unwrap_or(self.effect.direct);
        self.check_processing_max(&settings)?;
        self.check_key_floor(&settings)?;
        self.operator = settings;
        Ok(self)
    }

    fn check_processing_max(&self, settings: &OperatorSettings) -> Result<(), SettingsError> {
        let Some(assumption) = &settings.assume.processing_max else {
            return Ok(());
        };
        let member = "/assume/processing_max";
        let assumed = assumption.span(member)?;
        if self.stated_processing_max().is_some_and(|s| assumed < s) {
            let rule = "is shorter than what the contract states";
            return Err(error(member, rule, "leave it out, or assume more"));
        }
        Ok(())
    }

    fn check_key_floor(&self, settings: &OperatorSettings) -> Result<(), SettingsError> {
        let Some(assumption) = &settings.assume.key_floor else {
            return Ok(());
        };
        let member = "/assume/key_floor";
        let assumed = assumption.span(member)?;
        let Some(retention) = self.relied_retention() else {
            let rule =
                "assumes how long a key is recognised, and the contract does not say that it is";
            return Err(error(member, rule, "leave it out"));
        };
        if retention.floor().is_some_and(|floor| assumed > floor) {
            let rule = "is longer than what the contract states";
            return Err(error(member, rule, "leave it out, or assume less"));
        }
        Ok(())
    }

    /// For how long a key is recognised, by what may be relied on; none where it is not.
    pub(crate) fn relied_retention(&self) -> Option<Retention> {
        let repeat = self.key.as_ref()?.repeat.as_ref()?;
        let relied = self.claims.relied_on("/key/repeat");
        relied.then(|| repeat.promised())
    }
}

impl OperatorSettings {
    fn author(&self, member: &str, rule: &str) -> Result<String, SettingsError> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        match given(&self.by).zip(given(&self.reason)) {
            Some((by, reason)) => Ok(format!("{by}: {reason}")),
            None => Err(error(
                member,
                format!("{rule}, and nobody answers for it"),
                "add `by` and `reason`",
            )),
        }
    }

    fn preference(&self, text: &str) -> Result<Preference, SettingsError> {
        let author = || self.author("/neither", "takes a risk");
        Ok(match word("/neither", text)? {
            Neither::Ask => Preference::Ask,
            Neither::PreferMissing => Preference::PreferMissing { by: author()? },
            Neither::PreferDuplicate => Preference::PreferDuplicate { by: author()? },
        })
    }

    /// For the digest: every member that promises rest on, at its place.
    pub(crate) fn as_json(&self) -> Value {
        let assumption = |a: &Option<Assumption>| {
            let a = a.as_ref();
            a.map(|a| json!([a.value, a.by, a.reason]))
        };
        json!([
            self.consequence,
            self.neither,
            self.finish,
            self.direct,
            assumption(&self.assume.processing_max),
            assumption(&self.assume.key_floor),
            self.by,
            self.reason,
        ])
    }
}

impl Assumption {
    fn span(&self, member: &str) -> Result<factum_core::Span, SettingsError> {
        for (name, text) in [("by", &self.by), ("reason", &self.reason)] {
            if text.trim().is_empty() {
                let member = format!("{member}/{name}");
                return Err(error(&member, "is empty", "say who assumes it, and why"));
            }
        }
        let member = format!("{member}/value");
        let span = duration::parse(&self.value)
            .map_err(|complaint| error(&member, complaint.message, complaint.remedy))?;
        if span == factum_core::Span::ZERO {
            return Err(error(&member, "is no time at all", "write how long it is"));
        }
        Ok(span)
    }

    /// The length of time, once the settings were accepted.
    pub(crate) fn accepted(&self) -> Option<factum_core::Span> {
        duration::parse(&self.value).ok()
    }
}

fn word<T: Word>(member: &str, text: &str) -> Result<T, SettingsError> {
    let found = T::WORDS.iter().find(|(word, _)| *word == text);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let words: Vec<_> = T::WORDS.iter().map(|(word, _)| *word).collect();
        let remedy = format!("write one of {}", words.join(", "));
        error(member, format!("does not know `{text}`"), remedy)
    })
}
