//! Who may do what: tenants, principals, grants, tokens, and the destinations that are switched off, as of one edition of the
//! store's register. Pure: entries and time are handed in, and a decision that rests on this names the edition.

mod entries;
mod limits;

use std::collections::BTreeMap;

use factum_core::Timestamp;
use factum_store::{Action, AskedBy, Entry, Kind};

use crate::destination::own_name;
pub use entries::{
    DestinationEntry, GrantEntry, PrincipalEntry, Scope, Standing, TenantEntry, TokenEntry,
};
pub use limits::{Amount, AmountLimit, CountLimit, Limits, Taken, Usage};

/// The tenant that is there without an entry: the operator's own.
pub const DEFAULT_TENANT: &str = "default";

/// The longest name of a tenant, a principal or a grant, in bytes.
pub const NAME_MAX: usize = 128;

/// By tenant and id.
type Of<T> = BTreeMap<(String, String), T>;

/// What the register says, as of one edition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Directory {
    edition: u64,
    tenants: BTreeMap<String, TenantEntry>,
    principals: Of<PrincipalEntry>,
    grants: Of<GrantEntry>,
    destinations: Of<DestinationEntry>,
    /// By id alone: whoever shows a token names no tenant.
    tokens: BTreeMap<String, (String, TokenEntry)>,
}

/// Who asks, as a token or the embedding application says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Of which tenant.
    pub tenant: String,
    /// Who.
    pub principal: String,
    /// The grant under which they act; their own authority where there is none.
    pub grant: Option<String>,
    /// What they may do.
    pub scopes: Vec<Scope>,
    /// The token's id, where one was shown.
    pub token: Option<String>,
}

impl Caller {
    /// Somebody whom nothing but the tenant holds: an embedding application, or the admin token.
    #[must_use]
    pub fn trusted(tenant: &str, principal: &str) -> Self {
        Self {
            tenant: tenant.to_owned(),
            principal: principal.to_owned(),
            grant: None,
            scopes: Scope::ALL.to_vec(),
            token: None,
        }
    }

    /// Whether they may do this. Who may administer may do everything.
    #[must_use]
    pub fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope) || self.scopes.contains(&Scope::Admin)
    }

    /// Whether they run the installation: administrators of the tenant that is there from the start.
    #[must_use]
    pub fn is_operator(&self) -> bool {
        self.tenant == DEFAULT_TENANT && self.grant.is_none() && self.may(Scope::Admin)
    }
}

/// An act that needs authority.
#[derive(Clone, Copy, Debug)]
pub struct Act<'a> {
    /// Of which tenant.
    pub tenant: &'a str,
    /// Who acts.
    pub principal: &'a str,
    /// Under which grant.
    pub grant: Option<&'a str>,
    /// For whom.
    pub acts_for: &'a str,
    /// Where, by the tenant's own name for it.
    pub destination: &'a str,
    /// What.
    pub operation: &'a str,
    /// How much it moves.
    pub amount: Option<&'a (String, Option<String>)>,
}

/// Why there is no authority for an act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It ended, or was never there: suspended, revoked, expired, switched off.
    Ended(String),
    /// A grant does not go that far.
    Beyond(String),
}

impl Missing {
    /// In words.
    #[must_use]
    pub fn why(&self) -> &str {
        match self {
            Self::Ended(why) | Self::Beyond(why) => why,
        }
    }
}

impl Directory {
    /// What these entries say. Others than of authority are left out.
    ///
    /// # Errors
    /// Which entry cannot be read, and why: then nothing may be concluded from the rest either.
    pub fn of(edition: u64, entries: &[Entry]) -> Result<Self, String> {
        let mut directory = Self {
            edition,
            ..Self::default()
        };
        for entry in entries {
            let key = (entry.key.tenant.clone(), entry.key.id.clone());
            let body = &entry.body;
            let read = |why| {
                format!(
                    "{} {} of tenant {}: {why}",
                    entry.key.kind.word(),
                    key.1,
                    key.0
                )
            };
            match entry.key.kind {
                Kind::Tenant => {
                    let body = entries::read(body).map_err(read)?;
                    directory.tenants.insert(key.0, body);
                }
                Kind::Principal => {
                    let body = entries::read(body).map_err(read)?;
                    directory.principals.insert(key, body);
                }
                Kind::Grant => {
                    let body = entries::read(body).map_err(read)?;
                    directory.grants.insert(key, body);
                }
                Kind::Destination => {
                    let body = entries::read(body).map_err(read)?;
                    directory.destinations.insert(key, body);
                }
                Kind::Token => {
                    let body = entries::read(body).map_err(read)?;
                    directory.tokens.insert(key.1, (key.0, body));
                }
                Kind::Usage
                | Kind::Told
                | Kind::Correction
                | Kind::Escalation
                | Kind::Verdict
                | Kind::Digest
                | Kind::Endpoint
                | Kind::Delivery
                | Kind::Proposal
                | Kind::Proposed
                | Kind::Hold
                | Kind::Session => {}
            }
        }
        Ok(directory)
    }

    /// The edition that this is of.
    #[must_use]
    pub fn edition(&self) -> u64 {
        self.edition
    }

    /// Whether sends rest on the same: only tokens differ, if anything does.
    #[must_use]
    pub fn lets_the_same_act(&self, other: &Self) -> bool {
        self.tenants == other.tenants
            && self.principals == other.principals
            && self.grants == other.grants
            && self.destinations == other.destinations
    }

    /// A grant.
    #[must_use]
    pub fn grant(&self, tenant: &str, id: &str) -> Option<&GrantEntry> {
        self.grants.get(&(tenant.to_owned(), id.to_owned()))
    }

    /// How a destination of a tenant stands, by the tenant's own name for it: active unless somebody switched it off.
    #[must_use]
    pub fn destination(&self, tenant: &str, name: &str) -> Standing {
        let entry = self.destinations.get(&(tenant.to_owned(), name.to_owned()));
        entry.map_or(Standing::Active, |entry| entry.standing)
    }

    /// Whether a tenant is there at all.
    #[must_use]
    pub fn has_tenant(&self, tenant: &str) -> bool {
        tenant == DEFAULT_TENANT || self.tenants.contains_key(tenant)
    }

    /// Whether somebody may come in whom no token names: their tenant counts, and nobody has suspended them by name.
    #[must_use]
    pub fn may_come(&self, tenant: &str, principal: &str, now: Timestamp) -> bool {
        self.tenant_stands(tenant).is_ok() && self.principal_stands(tenant, principal, now).is_ok()
    }

    /// The tenants that were registered, by name. The one that is there from the start is among them only if it has an entry.
    pub fn tenants(&self) -> impl Iterator<Item = &str> {
        self.tenants.keys().map(String::as_str)
    }

    /// Whether there is authority for an act now.
    ///
    /// # Errors
    /// [`Missing`] in words that name what ended, or what a grant does not cover.
    pub fn may_act(&self, act: &Act<'_>, now: Timestamp) -> Result<(), Missing> {
        self.tenant_stands(act.tenant)?;
        self.principal_stands(act.tenant, act.principal, now)?;
        if act.acts_for != act.principal {
            self.principal_stands(act.tenant, act.acts_for, now)?;
        }
        let place = (act.tenant.to_owned(), act.destination.to_owned());
        if let Some(entry) = self.destinations.get(&place) {
            entry
                .standing
                .stands(&format!("the destination {:?}", act.destination))?;
        }
        match act.grant {
            None => Ok(()),
            Some(id) => {
                let grant = self.grant_stands(act.tenant, id, now)?;
                grant.covers(id, act)
            }
        }
    }

    /// Whether the authority that an action was submitted under is still there.
    ///
    /// # Errors
    /// [`Missing`], for the evidence.
    pub fn still_lets(&self, action: &Action, now: Timestamp) -> Result<(), Missing> {
        let scope = &action.scope;
        let nobody;
        let asked = match &action.content.asked_by {
            Some(asked) => asked,
            None => {
                nobody = AskedBy {
                    principal: scope.principal.clone(),
                    grant: None,
                    amount: None,
                };
                &nobody
            }
        };
        let act = Act {
            tenant: &scope.tenant,
            principal: &asked.principal,
            grant: asked.grant.as_deref(),
            acts_for: &scope.principal,
            destination: own_name(&scope.tenant, &scope.destination),
            operation: &scope.operation,
            amount: asked.amount.as_ref(),
        };
        self.may_act(&act, now)?;
        let approvers = action.content.approved.iter().flat_map(|one| &one.by);
        for approver in approvers {
            self.not_called_back(&scope.tenant, approver)?;
        }
        Ok(())
    }

    /// Whether an approval by this principal still counts: it does not once they are suspended or revoked. That their time is over
    /// does not call back what they approved within it.
    fn not_called_back(&self, tenant: &str, approver: &str) -> Result<(), Missing> {
        let key = (tenant.to_owned(), approver.to_owned());
        let what = format!("the principal {approver:?}, who approved it,");
        let entry = self.principals.get(&key);
        entry.map_or(Ok(()), |entry| entry.standing.stands(&what))
    }

    /// Who shows this token; none if it is not known, ended, or its principal's or tenant's authority did. `hash` is the keyed hash
    /// of what was shown. How long it takes tells nothing about the hash.
    #[must_use]
    pub fn caller(&self, id: &str, hash: &[u8; 32], now: Timestamp) -> Option<Caller> {
        let (_, token) = self.tokens.get(id)?;
        let known = token.hash_bytes()?;
        // Hashes of 32 bytes are compared by a type that does so in constant time.
        if blake3::Hash::from_bytes(known) != blake3::Hash::from_bytes(*hash) {
            return None;
        }
        self.caller_of(id, now)
    }

    /// Who holds this token, whose holding was shown by other means; none if it is not known, ended, or its principal's or
    /// tenant's authority did.
    #[must_use]
    pub fn caller_of(&self, id: &str, now: Timestamp) -> Option<Caller> {
        let (tenant, token) = self.tokens.get(id)?;
        let stands = token.standing == Standing::Active
            && token.until.is_none_or(|until| now.as_micros() < until)
            && self.tenant_stands(tenant).is_ok()
            && self.principal_stands(tenant, &token.principal, now).is_ok();
        if !stands {
            return None;
        }
        if let Some(grant) = &token.grant {
            self.grant_stands(tenant, grant, now).ok()?;
        }
        Some(Caller {
            tenant: tenant.clone(),
            principal: token.principal.clone(),
            grant: token.grant.clone(),
            scopes: token.scopes.clone(),
            token: Some(id.to_owned()),
        })
    }

    /// Whether a caller may see and do what is for this principal: all of the tenant's under one's own authority, what the grant
    /// covers under one.
    #[must_use]
    pub fn acts_for(&self, caller: &Caller, principal: &str) -> bool {
        match &caller.grant {
            None => true,
            Some(id) => {
                let grant = self.grant(&caller.tenant, id);
                caller.principal == principal || grant.is_some_and(|grant| grant.is_for(principal))
            }
        }
    }

    fn tenant_stands(&self, tenant: &str) -> Result<(), Missing> {
        match self.tenants.get(tenant) {
            Some(entry) => entry.standing.stands("the tenant"),
            None if tenant == DEFAULT_TENANT => Ok(()),
            None => Err(Missing::Ended("there is no such tenant".to_owned())),
        }
    }

    /// Whoever has no entry is bound by none: a tenant may name its users without registering them.
    fn principal_stands(&self, tenant: &str, name: &str, now: Timestamp) -> Result<(), Missing> {
        let key = (tenant.to_owned(), name.to_owned());
        let Some(entry) = self.principals.get(&key) else {
            return Ok(());
        };
        let what = format!("the principal {name:?}");
        entry.standing.stands(&what)?;
        entries::not_over(&what, entry.until, now)
    }

    fn grant_stands(&self, tenant: &str, id: &str, now: Timestamp) -> Result<&GrantEntry, Missing> {
        let what = format!("the grant {id:?}");
        let Some(grant) = self.grant(tenant, id) else {
            return Err(Missing::Ended(format!("{what} is not there")));
        };
        grant.standing.stands(&what)?;
        entries::not_over(&what, grant.until, now)?;
        Ok(grant)
    }
}
