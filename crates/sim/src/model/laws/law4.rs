//! Law 4, no false success: `succeeded` only where the effect exists.

use factum_core::State;

use super::Broken;
use crate::model::logs::Judged;
use crate::model::world::World;

/// A person who said "it happened" while nothing existed is the only excuse. Nor is a second effect claimed that nobody made.
pub(crate) fn said(world: &World, act: u8, judged: &Judged) -> Result<(), Broken> {
    let status = &judged.status;
    if status.state == State::Succeeded
        && world.live_effects(act) == 0
        && !world.act(act).excuses.ruled_in
    {
        return Err("law 4: succeeded, and no effect exists".to_owned());
    }
    let ever = world
        .there
        .effects
        .iter()
        .filter(|e| e.tag.act == act)
        .count();
    if status.duplicate_suspected() && ever < 2 {
        return Err(format!(
            "law 4: a second effect is claimed, and {ever} was ever made (R20)"
        ));
    }
    Ok(())
}
