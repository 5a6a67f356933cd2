//! Law 9, no crossing: what is recorded about an action was made by that action's own requests, or by a person's hand for it.

use factum_core::evidence::{Callback, CancelAnswer, Fact, LookupAnswer, PollAnswer, Receipt};

use super::Broken;
use crate::model::worker::receipt;
use crate::model::world::World;

/// A fact is about to be recorded.
pub(crate) fn recorded(world: &World, act: u8, fact: &Fact) -> Result<(), Broken> {
    let foreign = |shown: &Receipt| {
        world
            .there
            .effects
            .numbered()
            .any(|(number, effect)| effect.tag.act != act && receipt(number).same_effect(shown))
    };
    let crossed = match fact {
        Fact::Answered(answer) => answer.receipt.as_ref().is_some_and(foreign),
        Fact::LookedUp(lookup) => match &lookup.answer {
            LookupAnswer::Found(receipts) => receipts.iter().any(foreign),
            LookupAnswer::Queued { .. }
            | LookupAnswer::Absent
            | LookupAnswer::Inconclusive { .. } => false,
        },
        Fact::Polled {
            answer: PollAnswer::Completed(Some(shown)),
            ..
        } => foreign(shown),
        Fact::CancelAnswered {
            answer: CancelAnswer::TooLate {
                receipt: Some(shown),
            },
            ..
        } => foreign(shown),
        Fact::CalledBack(Callback::Positive(shown)) => foreign(shown),
        _ => false,
    };
    if crossed {
        return Err("law 9: the effect of another action is recorded as this one's".to_owned());
    }
    Ok(())
}
