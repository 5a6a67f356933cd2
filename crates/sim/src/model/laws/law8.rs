//! Law 8, nothing is forgotten: settled, in review, or a next step with a time at which something will happen.

use factum_core::{Step, Timestamp};

use super::Broken;
use crate::model::logs::Judged;
use crate::model::world::{Run, World};

/// Records of time that follow from each other at one instant come to an end within so many.
const IN_A_ROW: u8 = 4;

pub(crate) fn remembered(world: &World, act: u8, judged: &Judged, run: &Run) -> Result<(), Broken> {
    let next = &judged.next;
    let idle = match next.step {
        Step::None => !judged.status.is_settled(),
        Step::Review(_) => false,
        Step::Wait => next.at <= world.stamp() && judged.due.is_none(),
        Step::Send(_) | Step::LookUp | Step::Poll { .. } | Step::CancelByKey { .. } => false,
    };
    let never = next.at == Timestamp::NEVER && !matches!(next.step, Step::None | Step::Review(_));
    if idle || never {
        let state = judged.status.state.name();
        return Err(format!(
            "law 8: {state}, and nothing follows: next step {} ({})",
            next.step.name(),
            next.why
        ));
    }
    let mut rest = *world;
    for _ in 0..IN_A_ROW {
        match &rest.judge(act, run).due {
            Some(fact) => rest.record(act, fact.clone(), run),
            None => return Ok(()),
        }
    }
    match &rest.judge(act, run).due {
        Some(due) => Err(format!("law 8: records of time without end, {due:?}")),
        None => Ok(()),
    }
}
