//! Law 5, no false failure: nothing is called not done, not even so far, while an effect exists.

use factum_core::State;

use super::Broken;
use crate::model::logs::Judged;
use crate::model::worker::receipt;
use crate::model::world::{Run, World};

/// A person who said "it did not happen", wrongly or early, is the only excuse; and none where a new identity is called safe,
/// or where the destination has shown the effect.
pub(crate) fn said(world: &World, act: u8, judged: &Judged, run: &Run) -> Result<(), Broken> {
    let state = judged.status.state;
    let claims_nothing = match state {
        State::Pending
        | State::RetryableFailure
        | State::TerminalFailure
        | State::Cancelled
        | State::Expired => true,
        State::Dispatching | State::Accepted | State::Succeeded | State::OutcomeUnknown => false,
    };
    if !claims_nothing {
        return Ok(());
    }
    let exists = world.live_by_us(act) > 0;
    let name = state.name();
    if exists && !world.act(act).excuses.ruled_out {
        return Err(format!("law 5: {name}, and an effect exists"));
    }
    if judged.status.safe_to_call_again && (exists || world.may_still_land(act)) {
        return Err(format!(
            "law 5: {name} and safe to call again, and an effect may exist (R7)"
        ));
    }
    // Nothing says when the work would be over: how long it takes is not published, or it is queued for as long as it likes.
    let unbounded =
        run.setup.told.promises.processing_max.span().is_none() || run.setup.real.queues;
    let ruled_out = world.act(act).excuses.ruled_out;
    if world.may_still_land(act) && !(unbounded && ruled_out) {
        return Err(format!("law 5: {name}, and a request may still land"));
    }
    let log = world.log(act, run);
    let mut effects = world.there.effects.numbered();
    let shown = effects.find(|(number, effect)| {
        effect.tag.act == act
            && effect.withdrawn.is_none()
            && log.shown.contains(&receipt(*number).reference)
    });
    match shown {
        Some((number, _)) => Err(format!(
            "law 5: {name}, and effect E{number} was shown to us"
        )),
        None => Ok(()),
    }
}
