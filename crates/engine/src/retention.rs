//! How long what is kept: the operator's lengths of time, and what follows for one settled action. Pure.
//!
//! Nothing is forgotten where nothing is said. Lengths count from the last word about an action that is settled.

use std::collections::{BTreeMap, BTreeSet};

use factum_core::{Span, Timestamp};
use factum_store::{Entry, Record, Take};

/// How long what is kept. None is for good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// Params, payload, summary, and what was asked in the asker's words.
    pub payload: Option<Span>,
    /// The whole action, with its log.
    pub action: Option<Span>,
    /// Its identity, once the action is gone.
    pub identity: Option<Span>,
}

impl Keep {
    /// What is said here, and elsewhere what is said more widely.
    fn or(self, wider: Self) -> Self {
        Self {
            payload: self.payload.or(wider.payload),
            action: self.action.or(wider.action),
            identity: self.identity.or(wider.identity),
        }
    }
}

/// What is kept of a tenant, or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Of everything.
    pub keep: Keep,
    /// Of an operation, by its name.
    pub operations: BTreeMap<String, Keep>,
}

/// What is kept of whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Of all tenants.
    pub all: Rules,
    /// Of one, by its name; this goes before what is said of all.
    pub tenants: BTreeMap<String, Rules>,
}

impl Retention {
    /// How long what is kept of an operation of a tenant: the narrowest word counts.
    #[must_use]
    pub fn of(&self, tenant: &str, operation: &str) -> Keep {
        let own = self.tenants.get(tenant);
        let words = [
            own.and_then(|rules| rules.operations.get(operation))
                .copied(),
            own.map(|rules| rules.keep),
            self.all.operations.get(operation).copied(),
            Some(self.all.keep),
        ];
        words.into_iter().flatten().fold(Keep::default(), Keep::or)
    }

    /// The shortest time after which anything is taken away; none where everything is kept.
    #[must_use]
    pub fn shortest(&self) -> Option<Span> {
        let rules = std::iter::once(&self.all).chain(self.tenants.values());
        let keeps = rules.flat_map(|rules| rules.operations.values().chain([&rules.keep]));
        keeps
            .flat_map(|keep| [keep.payload, keep.action])
            .flatten()
            .min()
    }

    /// What is to be taken of a settled action whose last word is from `last`.
    #[must_use]
    pub fn due(&self, record: &Record, last: Timestamp, now: Timestamp) -> Option<Take> {
        let scope = &record.action.scope;
        let keep = self.of(&scope.tenant, &scope.operation);
        let over = |kept: Option<Span>| kept.is_some_and(|kept| now >= last + kept);
        if over(keep.action) {
            Some(Take::Action)
        } else if over(keep.payload) && record.action.content.purged_at.is_none() {
            Some(Take::Content)
        } else {
            None
        }
    }
}

/// What is not purged and not erased, whatever its age.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Held {
    /// One action, by its id.
    Action(String),
    /// All that was asked for in a conversation.
    Conversation(String),
    /// All of the tenant.
    Tenant,
}

impl Held {
    /// Its name among the holds of a tenant.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Action(id) => format!("action {id}"),
            Self::Conversation(id) => format!("conversation {id}"),
            Self::Tenant => "tenant".to_owned(),
        }
    }

    /// What a name stands for.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name.split_once(' ') {
            Some(("action", id)) => Some(Self::Action(id.to_owned())),
            Some(("conversation", id)) => Some(Self::Conversation(id.to_owned())),
            Some(_) => None,
            None => (name == "tenant").then_some(Self::Tenant),
        }
    }
}

/// The label of a hold that stands.
pub(crate) const STANDS: &str = "stands";

/// The holds that stand, of all tenants.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holds(BTreeSet<(String, Held)>);

impl Holds {
    /// Of the register's entries. One that cannot be read holds all of its tenant.
    pub(crate) fn of(entries: &[Entry]) -> Self {
        let standing = entries
            .iter()
            .filter(|entry| entry.label.as_deref() == Some(STANDS));
        let held = standing.map(|entry| {
            let held = Held::named(&entry.key.id).unwrap_or(Held::Tenant);
            (entry.key.tenant.clone(), held)
        });
        Self(held.collect())
    }

    /// Whether an action is held.
    pub(crate) fn hold(&self, record: &Record) -> bool {
        let tenant = &record.action.scope.tenant;
        let talk = record.action.content.conversation.as_ref();
        let names = [
            Some(Held::Tenant),
            Some(Held::Action(record.id().to_string())),
            talk.map(|talk| Held::Conversation(talk.id.clone())),
        ];
        let mut names = names.into_iter().flatten();
        names.any(|name| self.0.contains(&(tenant.clone(), name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_word_counts() {
        let days = |days: i64| Some(Span::from_secs(days * 86_400));
        let keep = |payload: i64, action: i64| Keep {
            payload: (payload > 0).then(|| Span::from_secs(payload * 86_400)),
            action: (action > 0).then(|| Span::from_secs(action * 86_400)),
            identity: None,
        };
        let retention = Retention {
            all: Rules {
                keep: keep(30, 365),
                operations: BTreeMap::from([("mail.send".to_owned(), keep(7, 0))]),
            },
            tenants: BTreeMap::from([(
                "acme".to_owned(),
                Rules {
                    keep: keep(0, 90),
                    operations: BTreeMap::from([("mail.send".to_owned(), keep(1, 0))]),
                },
            )]),
        };
        for (tenant, operation, payload, action) in [
            ("default", "ticket.create", 30, 365),
            ("default", "mail.send", 7, 365),
            ("acme", "ticket.create", 30, 90),
            ("acme", "mail.send", 1, 90),
        ] {
            let found = retention.of(tenant, operation);
            assert_eq!((found.payload, found.action), (days(payload), days(action)));
        }
        assert_eq!(retention.shortest(), days(1));
        assert_eq!(Retention::default().shortest(), None);
    }

    #[test]
    fn a_hold_is_what_it_is_named() {
        let all = [
            Held::Action("act_1".to_owned()),
            Held::Conversation("a b".to_owned()),
            Held::Tenant,
        ];
        for held in all {
            assert_eq!(Held::named(&held.name()), Some(held));
        }
        assert_eq!(Held::named("nothing"), None);
    }
}
