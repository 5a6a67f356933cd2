//! Law 3, one effect where the destination lets us: at every instant, and not only when settled.

use super::Broken;
use crate::model::setup::Setup;
use crate::model::world::World;

/// A repeat of something harmless is no second effect; every ordered send, every hand and every doubled delivery that no key
/// tells apart may make one more.
pub(crate) fn counted(world: &World, act: u8, setup: &Setup) -> Result<(), Broken> {
    let excuses = &world.act(act).excuses;
    let allowed = 1 + usize::from(excuses.ordered + excuses.by_hand + excuses.proxied);
    let live = world.live_effects(act);
    if setup.is_harmless() || live <= allowed {
        return Ok(());
    }
    Err(format!("law 3: {live} effects exist, {allowed} allowed"))
}
