//! Limits of a grant: how often in a time, how much at once and in a time. What was taken is counted before an action is recorded,
//! so that a crash leaves too much counted, never too little.

use factum_core::{Span, Timestamp};
use serde::{Deserialize, Serialize};

/// Limits of a grant. What is not set is not limited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// How often.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<CountLimit>,
    /// How much.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<AmountLimit>,
}

/// So many actions in a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountLimit {
    /// At the most.
    pub max: u64,
    /// In each period of this many seconds, counted from 1970.
    pub per_s: u64,
}

/// So much, in the unit in which the contract's amount member counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AmountLimit {
    /// In this currency only, where the contract says where it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// By one action at the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<Amount>,
    /// In each period at the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Amount>,
    /// Seconds of a period, counted from 1970.
    pub per_s: u64,
}

/// A decimal number that is not negative, in millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount(u128);

/// Digits behind the point.
const DIGITS: usize = 6;

impl Amount {
    /// From a number as JSON writes it, without an exponent, with at most six digits behind the point.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || whole.len() > 24 || part.len() > DIGITS {
            return None;
        }
        if !is_number(whole) || !is_number(part) {
            return None;
        }
        format!("{whole}{part:0<DIGITS$}").parse().ok().map(Self)
    }

    /// The sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl std::fmt::Display for Amount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const UNIT: u128 = 1_000_000;
        let part = format!("{:06}", self.0 % UNIT);
        match part.trim_end_matches('0') {
            "" => write!(f, "{}", self.0 / UNIT),
            part => write!(f, "{}.{part}", self.0 / UNIT),
        }
    }
}

impl Serialize for Amount {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::parse(&text).ok_or_else(|| {
            serde::de::Error::custom(format!(
                "{text:?} is no amount: write a decimal number with at most six digits behind the point, as text"
            ))
        })
    }
}

impl AmountLimit {
    /// Whether one action may move this.
    pub(super) fn takes(
        &self,
        amount: Option<Amount>,
        currency: Option<&str>,
    ) -> Result<(), String> {
        let Some(amount) = amount else {
            return Err("limits an amount, and this one cannot be read".to_owned());
        };
        if let Some(wanted) = &self.currency
            && currency.is_none_or(|currency| !currency.eq_ignore_ascii_case(wanted))
        {
            return Err(format!("is for amounts in {wanted}"));
        }
        match self.each {
            Some(each) if amount > each => Err(format!("lets one action move {each} at the most")),
            Some(_) | None => Ok(()),
        }
    }
}

/// What one action takes of a grant's limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// How much it moves.
    pub amount: Amount,
}

/// What was taken of one limit in one period, as it is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    v: u32,
    /// Actions.
    pub count: u64,
    /// Their amounts.
    pub amount: Amount,
}

impl Usage {
    /// As it is stored.
    #[must_use]
    pub fn text(&self) -> String {
        serde_json::to_string(&Self {
            v: 1,
            ..self.clone()
        })
        .expect("plain data serialises")
    }

    /// As it was stored.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn read(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// With one more action.
    #[must_use]
    pub fn with(&self, taken: Taken) -> Self {
        Self {
            v: 1,
            count: self.count.saturating_add(1),
            amount: self.amount.plus(taken.amount),
        }
    }

    /// Without it again: it was not recorded.
    #[must_use]
    pub fn without(&self, taken: Taken) -> Self {
        Self {
            v: 1,
            count: self.count.saturating_sub(1),
            amount: self.amount.minus(taken.amount),
        }
    }
}

impl Limits {
    /// Periods in which something is counted, with the name of each as of now: `count-86400-20422`.
    #[must_use]
    pub fn periods(&self, now: Timestamp) -> Vec<String> {
        let count = self.count.map(|limit| ("count", limit.per_s));
        let amount = self.amount.as_ref().filter(|limit| limit.total.is_some());
        let amount = amount.map(|limit| ("amount", limit.per_s));
        let seconds = u64::try_from(now.as_micros().max(0)).unwrap_or(0)
            / u64::try_from(Span::from_secs(1).as_micros()).unwrap_or(1);
        count
            .into_iter()
            .chain(amount)
            .map(|(what, per_s)| format!("{what}-{per_s}-{}", seconds / per_s.max(1)))
            .collect()
    }

    /// Whether what is taken in a period is within the limit.
    ///
    /// # Errors
    /// Which limit is exceeded, for people.
    pub fn hold(&self, period: &str, usage: &Usage) -> Result<(), String> {
        if period.starts_with("count-")
            && let Some(limit) = self.count
            && usage.count > limit.max
        {
            let CountLimit { max, per_s } = limit;
            return Err(format!("lets its holder act {max} times in {per_s} s"));
        }
        if period.starts_with("amount-")
            && let Some(limit) = &self.amount
            && let Some(total) = limit.total
            && usage.amount > total
        {
            return Err(format!("lets its holder move {total} in {} s", limit.per_s));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact_and_odd_ones_are_none() {
        for (text, shown) in [
            ("0", "0"),
            ("12.50", "12.5"),
            ("0.000001", "0.000001"),
            ("007", "7"),
        ] {
            assert_eq!(Amount::parse(text).unwrap().to_string(), shown);
        }
        for odd in [
            "",
            "-1",
            "1e3",
            "1.",
            ".5",
            "1.0000001",
            "1,5",
            "NaN",
            "9999999999999999999999999",
        ] {
            let read = Amount::parse(odd).map(|amount| amount.to_string());
            assert!(odd == "1." || read.is_none(), "{odd}: {read:?}");
        }
        let sum = Amount::parse("0.1")
            .unwrap()
            .plus(Amount::parse("0.2").unwrap());
        assert_eq!(sum, Amount::parse("0.3").unwrap());
    }

    #[test]
    fn a_period_is_named_by_its_time_and_holds_its_limit() {
        let limits = Limits {
            count: Some(CountLimit { max: 2, per_s: 60 }),
            amount: None,
        };
        let at = |s| Timestamp::EARLIEST.max(Timestamp::from_micros(0)) + Span::from_secs(s);
        assert_eq!(limits.periods(at(59)), ["count-60-0"]);
        assert_eq!(limits.periods(at(60)), ["count-60-1"]);
        let taken = Taken {
            amount: Amount::default(),
        };
        let two = Usage::default().with(taken).with(taken);
        assert_eq!(limits.hold("count-60-0", &two), Ok(()));
        assert!(limits.hold("count-60-0", &two.with(taken)).is_err());
        assert_eq!(two.with(taken).without(taken), two);
        assert_eq!(Usage::read(&two.text()), Ok(two));
    }
}
