//! Whether an operation asks for an approval before anything is sent, and who may give it: what the operator has set. Pure.

use factum_core::Span;

use crate::directory::Amount;

/// How long an approval counts where nobody says.
pub const HOLDS: Span = Span::from_secs(7 * 86_400);

/// What an operation asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalPolicy {
    /// Which submissions need one.
    pub required: Required,
    /// How many people have to approve.
    pub people: usize,
    /// The principals who may; everybody with the scope where there are none.
    pub by: Vec<String>,
    /// Whether who asked may approve too.
    pub own: bool,
    /// Whether an approval has to say why.
    pub reason: bool,
    /// How long a proposal may be decided on, and its approval counts, where the proposal does not say.
    pub holds: Span,
    /// Whose submissions need none.
    pub waive: Vec<Exempt>,
    /// Whose proposals the policy approves at once.
    pub auto: Vec<Exempt>,
}

/// Which submissions need an approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Required {
    /// None: whoever wants one proposes.
    Never,
    /// All.
    Always,
    /// Those that move more than this, or an amount that cannot be told.
    Over(UpTo),
}

/// An amount, in the unit in which the contract's amount member counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpTo {
    /// How much.
    pub amount: Amount,
    /// In this currency; in any where there is none.
    pub currency: Option<String>,
}

/// Somebody for whom less is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exempt {
    /// Who asks; `*` is everybody.
    pub principal: String,
    /// As long as it moves no more than this.
    pub up_to: Option<UpTo>,
}

/// An amount as a submission has it: the number as written, and its currency.
pub type Moved = (String, Option<String>);

/// Why somebody may not approve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotByThem {
    /// They asked for it.
    Own,
    /// Others are named.
    Others,
}

impl Default for ApprovalPolicy {
    /// What counts for an operation of which nothing is set: nothing is asked for, and whoever may approve may do so.
    fn default() -> Self {
        Self {
            required: Required::Never,
            people: 1,
            by: Vec::new(),
            own: true,
            reason: false,
            holds: HOLDS,
            waive: Vec::new(),
            auto: Vec::new(),
        }
    }
}

impl ApprovalPolicy {
    /// Every submission needs one, from whoever has the scope, who asked included.
    #[must_use]
    pub fn always() -> Self {
        Self {
            required: Required::Always,
            own: true,
            ..Self::default()
        }
    }

    /// Whether a submission of this principal needs an approval.
    #[must_use]
    pub fn needs_one(&self, principal: &str, moved: Option<&Moved>) -> bool {
        let asked = match &self.required {
            Required::Never => false,
            Required::Always => true,
            Required::Over(limit) => !limit.covers(moved),
        };
        asked && !exempt(&self.waive, principal, moved)
    }

    /// Whether the policy itself approves a proposal of this principal.
    #[must_use]
    pub fn approves(&self, principal: &str, moved: Option<&Moved>) -> bool {
        exempt(&self.auto, principal, moved)
    }

    /// Whether somebody may approve what this principal asked for.
    ///
    /// # Errors
    /// [`NotByThem`].
    pub fn lets(&self, approver: &str, asked_by: &str) -> Result<(), NotByThem> {
        if !self.own && approver == asked_by {
            return Err(NotByThem::Own);
        }
        if !self.by.is_empty() && !self.by.iter().any(|name| name == approver) {
            return Err(NotByThem::Others);
        }
        Ok(())
    }
}

fn exempt(list: &[Exempt], principal: &str, moved: Option<&Moved>) -> bool {
    list.iter().any(|one| {
        (one.principal == "*" || one.principal == principal)
            && one.up_to.as_ref().is_none_or(|limit| limit.covers(moved))
    })
}

impl UpTo {
    /// Whether this amount is no more. One that cannot be read, or is in another currency, is.
    fn covers(&self, moved: Option<&Moved>) -> bool {
        let Some((number, currency)) = moved else {
            return false;
        };
        let same = self.currency.as_ref().is_none_or(|wanted| {
            (currency.as_ref()).is_some_and(|found| found.eq_ignore_ascii_case(wanted))
        });
        same && Amount::parse(number).is_some_and(|amount| amount <= self.amount)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn up_to(amount: &str) -> UpTo {
        UpTo {
            amount: Amount::parse(amount).unwrap(),
            currency: Some("EUR".to_owned()),
        }
    }

    fn moved(number: &str, currency: &str) -> Moved {
        (number.to_owned(), Some(currency.to_owned()))
    }

    #[test]
    fn what_cannot_be_told_counts_as_more() {
        let policy = ApprovalPolicy {
            required: Required::Over(up_to("500")),
            ..ApprovalPolicy::default()
        };
        for (number, currency, needs) in [
            ("500", "eur", false),
            ("499.99", "EUR", false),
            ("500.01", "EUR", true),
            ("1", "USD", true),
            ("-1", "EUR", true),
            ("1e2", "EUR", true),
        ] {
            let moved = moved(number, currency);
            assert_eq!(policy.needs_one("ana", Some(&moved)), needs, "{moved:?}");
        }
        assert!(policy.needs_one("ana", None), "no amount at all");
        let bare = ("3".to_owned(), None);
        assert!(policy.needs_one("ana", Some(&bare)), "no currency");
    }

    #[test]
    fn exempt_are_those_who_are_named_up_to_their_amount() {
        let exempt = |principal: &str, up_to: Option<UpTo>| Exempt {
            principal: principal.to_owned(),
            up_to,
        };
        let policy = ApprovalPolicy {
            required: Required::Always,
            waive: vec![exempt("nightly", None)],
            auto: vec![exempt("*", Some(up_to("10")))],
            ..ApprovalPolicy::default()
        };
        assert!(!policy.needs_one("nightly", None));
        assert!(policy.needs_one("ana", Some(&moved("1", "EUR"))));
        assert!(policy.approves("ana", Some(&moved("10", "EUR"))));
        assert!(!policy.approves("ana", Some(&moved("10.01", "EUR"))));
        assert!(!policy.approves("ana", None));
    }

    #[test]
    fn who_asked_approves_only_where_it_is_allowed() {
        let mut policy = ApprovalPolicy {
            own: false,
            ..ApprovalPolicy::default()
        };
        assert_eq!(policy.lets("ana", "ana"), Err(NotByThem::Own));
        assert_eq!(policy.lets("ben", "ana"), Ok(()));
        policy.by = vec!["cleo".to_owned()];
        assert_eq!(policy.lets("ben", "ana"), Err(NotByThem::Others));
        assert_eq!(policy.lets("cleo", "ana"), Ok(()));
        assert_eq!(ApprovalPolicy::default().lets("ana", "ana"), Ok(()));
    }
}
