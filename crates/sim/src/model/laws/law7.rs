//! Law 7, never outside the window: no byte leaves after its permission and the pause that is guarded against, and no repeat
//! arrives when its key is forgotten.

use factum_core::Permission;

use super::Broken;
use crate::model::setup::{PAUSE, Setup, tick, ticks};
use crate::model::world::{Clock, Flight, Run, World};

/// Bytes are leaving.
pub(crate) fn written(
    world: &World,
    permission: &Permission,
    clock: Clock,
    run: &Run,
) -> Result<(), Broken> {
    let now = tick(world.now) - ticks(clock.scale);
    let skew = run.setup.told.limits.bound.skew;
    if now > permission.valid_until() + ticks(PAUSE) + skew {
        return Err("law 7: a byte left outside the permission and its pause".to_owned());
    }
    Ok(())
}

/// A request arrives, whose key was first seen at this tick.
pub(crate) fn arrived(
    world: &World,
    flight: &Flight,
    first: u8,
    setup: &Setup,
) -> Result<(), Broken> {
    let forgotten = setup
        .real
        .key
        .is_some_and(|floor| world.now >= first + floor);
    if flight.same_key && (forgotten || setup.real.key.is_none()) {
        return Err("law 7: a repeat by key arrived where the key is not known".to_owned());
    }
    Ok(())
}
