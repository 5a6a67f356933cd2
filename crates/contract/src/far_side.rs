//! The far side of a contract: what a destination does that behaves as it says. For stand-ins, never for decisions.
//!
//! Requests are recognised here that the rest of this crate builds, and answers are written that the rest of it reads. What
//! is written is read back before it is given out, so that the two cannot drift apart.

mod draft;
mod examples;
mod fit;
mod keys;
mod recognise;
mod report;
mod say;
mod sent;
mod show;

use factum_core::Span;

use crate::contract::Contract;

pub use examples::ExampleRequest;
pub use keys::{Concurrent, OtherContent, Repeats, Replays};
pub use recognise::{Asked, Question, Wanted};
pub use report::{Report, ReportOf, Reported};
pub use say::{About, Said, Spoken};
pub use show::{Item, Page, Paging, Progress};

impl Contract {
    /// What the destination has to do, to behave as the contract says.
    #[must_use]
    pub fn far_side(&self) -> FarSide<'_> {
        FarSide { contract: self }
    }
}

/// The destination's part of a contract.
#[derive(Clone, Copy, Debug)]
pub struct FarSide<'a> {
    pub(crate) contract: &'a Contract,
}

impl FarSide<'_> {
    /// Whether an answer that is played again looks otherwise than the first one.
    #[must_use]
    pub fn marks_replays(&self) -> bool {
        let key = self.contract.key.as_ref();
        let repeat = key.and_then(|key| key.repeat.as_ref());
        repeat.is_some_and(|repeat| repeat.replayed.is_some())
    }

    /// Whether the lookup claims to show every effect at once.
    #[must_use]
    pub fn lookup_is_strong(&self) -> bool {
        let lookup = self.contract.lookup.as_ref();
        lookup.is_some_and(|lookup| lookup.lag == Span::ZERO)
    }
}
