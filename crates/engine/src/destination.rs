//! Destinations as the engine needs them: how each is reached, what its operations promise, how much it is given at a time.

use std::collections::BTreeMap;
use std::sync::Arc;

use factum_contract::Contract;
use factum_core::evidence::{AnswerClass, LookupAnswer, Receipt};
use factum_core::{Limits, Permission, Preference, Promises, Span, Timestamp};
use factum_transport::{Boxed, SecretRef, Target};

use crate::approval::ApprovalPolicy;
use crate::directory::DEFAULT_TENANT;
use crate::driver::DestinationPolicy;
use crate::driver::gate::GateSettings;
use crate::key_template::KeyTemplate;

/// A configured account at an outside system.
#[derive(Clone)]
pub struct Destination {
    /// Its full name: see [`full_name`].
    pub name: String,
    /// The provider in the catalogue, for people.
    pub provider: String,
    /// The account that is pinned with the key.
    pub account: Option<String>,
    /// How requests get there.
    pub reach: Reach,
    /// What can be done there, by name.
    pub operations: BTreeMap<String, Operation>,
    /// What counts for operations that are not named: only where an application carries them in its own code.
    pub any_operation: Option<Operation>,
    /// How much it is given at a time.
    pub gate: GateSettings,
    /// Effects there count for nothing: it may be probed.
    pub sandbox: bool,
    /// The secrets of its callbacks, any of which may have signed one: several while they are changed.
    pub callback_secrets: Vec<SecretRef>,
}

/// How requests get to a destination.
#[derive(Clone)]
pub enum Reach {
    /// Over HTTP.
    Http(Box<Target>),
    /// An application carries them out in its own code.
    InProcess(Arc<dyn Carrier>),
    /// Workers elsewhere do, and nothing here speaks with it: see [`ByWorkers`].
    Elsewhere,
}

/// Workers elsewhere carry an operation out in their own code: they claim, begin and report. Beyond the begin laws 6 and 7 rest on
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByWorkers {
    /// How long a claim, and a request that was begun, is leased without word of it.
    pub lease: Span,
    /// They look effects up too: nothing here can ask.
    pub look_ups: bool,
}

/// One thing that a destination can do.
#[derive(Clone)]
pub struct Operation {
    /// Its contract. An operation that an application carries in its own code has none.
    pub contract: Option<OperationContract>,
    /// The promises, with the operator's assumptions: what is pinned in new actions.
    pub promises: Promises,
    /// What to do where nothing can be found out.
    pub preference: Preference,
    /// A started action is finished by `same_key` past its deadline.
    pub finish: bool,
    /// How the key of a submission is made from its arguments, where that is not left to the caller.
    pub key_template: Option<KeyTemplate>,
    /// Whether it asks for an approval, and whose. None where nothing is set.
    pub approval: Option<ApprovalPolicy>,
    /// For how long an action that is done holds off another one of equal content (R16); none where nothing is held off.
    pub twin_guard: Option<Span>,
    /// Times and counts.
    pub limits: Limits,
    /// Workers elsewhere carry it out.
    pub by_workers: Option<ByWorkers>,
    /// A verdict on it counts once a second person says the same.
    pub two_persons: bool,
}

/// A contract, and its text to keep beside the actions that are pinned to it.
#[derive(Clone)]
pub struct OperationContract {
    /// As read, with the operator's settings over it.
    pub contract: Arc<Contract>,
    /// As [`Contract::from_kept`] reads it.
    pub kept: String,
}

/// An effect request for an application's own code.
#[derive(Clone, Debug)]
pub struct CarriedRequest {
    /// What is to be done.
    pub operation: String,
    /// The provider key: equal on every attempt.
    pub key: String,
    /// The reference for lookups: equal on every attempt and in every epoch.
    pub reference: String,
    /// Values that the submission gave, as JSON text.
    pub params: String,
    /// The payload as it was handed in, as JSON text.
    pub payload: String,
}

/// What an application's own code can say about how its request ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carried {
    /// The effect exists.
    Done(Receipt),
    /// Refused before doing anything, for good.
    Rejected(String),
    /// Certainly nothing was sent.
    NotSent(String),
    /// It may or may not have taken effect.
    Unknown(String),
    /// A whole answer was read, and is kept with the action. What it means is the carrier's to say.
    Read {
        /// What it means.
        means: AnswerClass,
        /// The reference for the effect, where it names one.
        receipt: Option<Receipt>,
        /// The answer.
        body: Vec<u8>,
    },
    /// Something left and no whole answer came, counted on the carrier's own side.
    Lost {
        /// Bytes of the request that left.
        wrote: u64,
        /// When it was certain that no more would: its process was gone, or its connection closed.
        closed_at: Option<Timestamp>,
        /// What went wrong, for people.
        detail: String,
    },
}

/// An application's own code that carries out operations. It must not write before it has seen the permission, nor after the
/// permission's end: laws 6 and 7 rest on it there.
pub trait Carrier: Send + Sync {
    /// Carries out one effect request, once.
    fn carry(&self, permission: Permission, request: CarriedRequest) -> Boxed<'_, Carried>;

    /// Asks whether the effect exists, by the reference, within `limit`. Asked only where the operation promises a lookup.
    fn look_up(&self, _request: CarriedRequest, _limit: Span) -> Boxed<'_, LookupAnswer> {
        let why = "the application has no lookup".to_owned();
        Box::pin(std::future::ready(LookupAnswer::Inconclusive { why }))
    }
}

impl<F, Out> Carrier for F
where
    F: Fn(Permission, CarriedRequest) -> Out + Send + Sync,
    Out: Future<Output = Carried> + Send + 'static,
{
    fn carry(&self, permission: Permission, request: CarriedRequest) -> Boxed<'_, Carried> {
        Box::pin(self(permission, request))
    }
}

/// The name of a tenant's destination among all tenants': `helpdesk` of the tenant that is there from the start, `acme/helpdesk`
/// of another one. It is what actions, gates and accounts go by, so that none of them crosses (law 9).
#[must_use]
pub fn full_name(tenant: &str, name: &str) -> String {
    if tenant == DEFAULT_TENANT {
        name.to_owned()
    } else {
        format!("{tenant}/{name}")
    }
}

/// The tenant's own name for a destination of this full name.
#[must_use]
pub fn own_name<'a>(tenant: &str, full: &'a str) -> &'a str {
    match full.split_once('/') {
        Some((whose, own)) if whose == tenant => own,
        Some(_) | None => full,
    }
}

/// The tenant whose destination has this full name.
#[must_use]
pub fn tenant_of(full: &str) -> &str {
    full.split_once('/')
        .map_or(DEFAULT_TENANT, |(tenant, _)| tenant)
}

impl Destination {
    /// Whose it is.
    #[must_use]
    pub fn tenant(&self) -> &str {
        tenant_of(&self.name)
    }

    /// Its name in its tenant's submissions.
    #[must_use]
    pub fn own_name(&self) -> &str {
        own_name(self.tenant(), &self.name)
    }

    /// The operation of this name.
    #[must_use]
    pub fn operation(&self, name: &str) -> Option<&Operation> {
        self.operations.get(name).or(self.any_operation.as_ref())
    }

    /// Whether the contract of any of its operations describes callbacks that may be relied on.
    #[must_use]
    pub fn takes_callbacks(&self) -> bool {
        let mut contracts = self
            .operations
            .values()
            .filter_map(|op| op.contract.as_ref());
        contracts.any(|own| own.contract.callback_scheme().is_some())
    }

    /// Its base address, where it has one: what is pinned in new actions, since a key can be known per host.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        match &self.reach {
            Reach::Http(target) => Some(target.base()),
            Reach::InProcess(_) | Reach::Elsewhere => None,
        }
    }

    /// What the driver has to know.
    #[must_use]
    pub fn policy(&self) -> DestinationPolicy {
        DestinationPolicy {
            gate: self.gate,
            place: self.place(),
            account: self.account.clone(),
            contracts: self
                .operations
                .iter()
                .filter_map(|(name, op)| {
                    let own = op.contract.as_ref()?;
                    Some((name.clone(), own.contract.digest()))
                })
                .collect(),
            operations: self
                .operations
                .iter()
                .map(|(name, op)| (name.clone(), op.promises.clone()))
                .collect(),
            any_operation: self.any_operation.as_ref().map(|op| op.promises.clone()),
            by_workers: (self.operations.iter())
                .filter_map(|(name, op)| Some((name.clone(), op.by_workers?)))
                .collect(),
        }
    }
}
