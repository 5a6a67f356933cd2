//! Law 1, intent first: no byte of an effect request leaves before the action and its mark are durable.

use factum_core::{Permission, WorkerNonce};

use super::Broken;
use crate::model::logs::LogId;
use crate::model::world::{NEVER, Run, World};

/// Bytes are leaving. A restore may have taken the mark since; the bytes then leave by a process that ended with it.
pub(crate) fn written(
    world: &World,
    act: u8,
    permission: &Permission,
    writer: WorkerNonce,
    run: &Run,
) -> Result<(), Broken> {
    let log = world.act(act).log;
    if log == LogId::NONE {
        return Err("law 1: bytes left for an action that is not recorded".to_owned());
    }
    let log = run.logs.get(log);
    let marked = log
        .marks
        .iter()
        .find(|(request, _)| *request == permission.request());
    match marked {
        // It is the cancel's mark that the mistake leaves out of the fold, and not of the log.
        Some((_, named)) if *named == writer => Ok(()),
        Some(_) => Err("law 1: bytes left by another process than the mark names (R12)".to_owned()),
        None if world.store.restored_at != NEVER => Ok(()),
        None => Err("law 1: bytes left, and no mark of them is durable".to_owned()),
    }
}
