//! Stand-ins: destinations that behave as a contract of the catalogue says, and no better.
//!
//! Here is what one is started with, and what it may lie about.

mod lie;

use std::collections::BTreeSet;

use factum_contract::Contract;

pub use lie::Lie;

/// A destination that behaves as its contract says: it recognises the operation's requests, keeps keys in their scope for
/// their window, and answers what the contract reads as the intended class. What the contract does not promise, it does not
/// do: without a key that is recognised, a repeat is a second effect.
///
/// Any text of a request can script what becomes of it, so that refusals and failures can be met without faults:
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
}
