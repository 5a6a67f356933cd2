//! Law 2, one identity, one action: whoever submits under an identity, at once, again, or after a restore, is told of the same
//! action, and other content under it is refused with the name of the first. The stores themselves are checked by their suite,
//! and by the simulator.

use super::Broken;
use crate::model::callers::Caller;
use crate::model::world::World;

/// No identity has two actions, in the store or among the effects.
pub(crate) fn resolved(world: &World) -> Result<(), Broken> {
    let mut recorded = world.recorded().map(|act| world.act(act).identity);
    if let (Some(one), Some(other)) = (recorded.next(), recorded.next())
        && one == other
    {
        return Err("law 2: one identity has two actions".to_owned());
    }
    Ok(())
}

/// A submission with this content was answered.
pub(crate) fn answered(world: &World, content: u8, answer: Caller) -> Result<(), Broken> {
    match answer {
        Caller::Told(act) if world.act(act).content != content => {
            Err("law 2: other content joins under the same identity".to_owned())
        }
        Caller::Refused(act) if world.act(act).content == content => {
            Err("law 2: a submission is refused by its own action".to_owned())
        }
        Caller::Refused(act) if world.named(0) != Some(act) => {
            Err("law 2: a refusal names another action than the first".to_owned())
        }
        Caller::Told(_) | Caller::Refused(_) | Caller::Away | Caller::Checked(_) => resolved(world),
    }
}

/// What a caller is told is what it was told before.
pub(crate) fn told_again(before: Caller, now: Caller) -> Result<(), Broken> {
    if before == now {
        return Ok(());
    }
    Err(format!("law 2: {before:?} before, and {now:?} now"))
}
