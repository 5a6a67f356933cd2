//! The laws, one file each, counted at the destination. Some hold of a world as it is, some of a step as it is made.

pub(crate) mod law1;
pub(crate) mod law2;
pub(crate) mod law3;
pub(crate) mod law4;
pub(crate) mod law5;
pub(crate) mod law6;
pub(crate) mod law7;
pub(crate) mod law8;
pub(crate) mod law9;

use super::world::{Run, World};

/// A law that is broken, in words.
pub(crate) type Broken = String;

/// What holds of every world as it is.
pub(crate) fn check(world: &World, run: &Run) -> Result<(), Broken> {
    law2::resolved(world)?;
    law2::apart(world, run.setup)?;
    for act in world.recorded() {
        let judged = world.judge(act, run);
        law3::counted(world, act, run.setup)?;
        law4::said(world, act, &judged)?;
        law5::said(world, act, &judged, run)?;
        law8::remembered(world, act, &judged, run)?;
    }
    Ok(())
}
