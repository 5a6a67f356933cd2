//! The laws, checked in every world that is reached, and counted at the destination.

use factum_core::promise::Consequence;
use factum_core::{State, Step, Timestamp};

use super::setup::{Setup, tick};
use super::world::{Judge, Judged, World};

/// A law that a world breaks, in words.
pub(crate) type Broken = String;

pub(crate) fn check(world: &World, judged: &Judged, judge: &Judge) -> Result<(), Broken> {
    one_effect(world, judge.setup)?;
    no_false_success(world, judged)?;
    no_false_failure(world, judged)?;
    nothing_forgotten(world, judged, judge)
}

/// Law 3, at every instant and not only when settled. A repeat of something harmless is no second effect, and every ordered
/// send may make one more.
fn one_effect(world: &World, setup: &Setup) -> Result<(), Broken> {
    let allowed = 1 + usize::from(world.excuses.ordered);
    let harmless = setup.told.promises.consequence == Consequence::Harmless;
    if harmless || world.live_effects() <= allowed {
        return Ok(());
    }
    Err(format!(
        "law 3: {} effects exist, {allowed} allowed",
        world.live_effects()
    ))
}

/// Law 4. A person who said "it happened" is the only excuse.
fn no_false_success(world: &World, judged: &Judged) -> Result<(), Broken> {
    let said = judged.status.state == State::Succeeded;
    if said && world.live_effects() == 0 && !world.excuses.ruled_in {
        return Err("law 4: succeeded, and no effect exists".to_owned());
    }
    Ok(())
}

/// Law 5, and the same for "nothing has happened so far". A person who said "it did not happen" is the only excuse.
fn no_false_failure(world: &World, judged: &Judged) -> Result<(), Broken> {
    let claims_nothing = match judged.status.state {
        State::Pending
        | State::RetryableFailure
        | State::TerminalFailure
        | State::Cancelled
        | State::Expired => true,
        State::Dispatching | State::Accepted | State::Succeeded | State::OutcomeUnknown => false,
    };
    if claims_nothing && world.live_effects() > 0 && !world.excuses.ruled_out {
        let state = judged.status.state.name();
        return Err(format!("law 5: {state}, and an effect exists"));
    }
    Ok(())
}

/// Law 8: settled, in review, or a next step with a time that something will happen at.
fn nothing_forgotten(world: &World, judged: &Judged, judge: &Judge) -> Result<(), Broken> {
    let next = &judged.next;
    let idle = match next.step {
        Step::None => !judged.status.is_settled(),
        Step::Review(_) => false,
        Step::Wait => next.at <= tick(world.now) && judged.due.is_none(),
        Step::Send(_) | Step::LookUp | Step::Poll { .. } | Step::CancelByKey { .. } => false,
    };
    let never = next.at == Timestamp::NEVER && !matches!(next.step, Step::None | Step::Review(_));
    if idle || never {
        return Err(format!("law 8: forgotten with next step {next:?}"));
    }
    if judged.due.is_none() {
        return Ok(());
    }
    let mut rest = world.clone();
    for _ in 0..4 {
        match &judge.judge(&rest).due {
            Some(fact) => rest.record(fact.clone()),
            None => return Ok(()),
        }
    }
    let due = &judge.judge(&rest).due;
    Err(format!("law 8: records of time without end, {due:?}"))
}
