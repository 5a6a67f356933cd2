//! Law 2, one identity, one action: whoever submits under an identity, at once, again, or after a restore, is told of the same
//! action, and other content under it is refused with the name of the first. The stores themselves are checked by their suite,
//! and by the simulator.

use super::Broken;
use crate::model::callers::Caller;
use crate::model::setup::Setup;
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

/// R16, by the ledger: where twins are held off, two effects of one content exist only where the later action was recorded when the
/// earlier one's effect had existed for as long as the guard holds. What a person ruled without looking is excused.
pub(crate) fn apart(world: &World, setup: &Setup) -> Result<(), Broken> {
    let Some(within) = setup.twins else {
        return Ok(());
    };
    let first_at = |act| world.live(act).map(|effect| effect.at).min();
    let (Some(one), Some(other)) = (first_at(0), first_at(1)) else {
        return Ok(());
    };
    let both = [(0, one, 1), (1, other, 0)];
    let since = |(act, at, _): &(u8, u8, u8)| (world.act(*act).recorded_at, *at);
    let Some((first, at, twin)) = both.into_iter().min_by_key(since) else {
        return Ok(());
    };
    let excuses = &world.act(first).excuses;
    let ruled = excuses.ruled_out || excuses.ruled_in;
    if ruled || world.act(twin).recorded_at >= at + within {
        return Ok(());
    }
    Err("law 2: an effect has a twin that was recorded within its guard (R16)".to_owned())
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
        Caller::Told(_)
        | Caller::Refused(_)
        | Caller::HeldOff(_)
        | Caller::Away
        | Caller::Checked(_) => resolved(world),
    }
}

/// What a caller is told is what it was told before.
pub(crate) fn told_again(before: Caller, now: Caller) -> Result<(), Broken> {
    if before == now {
        return Ok(());
    }
    Err(format!("law 2: {before:?} before, and {now:?} now"))
}
