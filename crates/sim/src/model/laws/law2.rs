//! Law 2, one identity, one action. What the store does with a submission is checked over the real stores, by their suite
//! and by the simulator; the model checks that nothing that happens around an action makes a second one of it.

use super::Broken;
use crate::model::logs::LogId;
use crate::model::world::World;

/// No identity has two actions.
pub(crate) fn resolved(world: &World) -> Result<(), Broken> {
    let [a, b] = &world.acts;
    let both = a.log != LogId::NONE && b.log != LogId::NONE;
    if both && a.identity == b.identity {
        return Err("law 2: one identity has two actions".to_owned());
    }
    Ok(())
}
