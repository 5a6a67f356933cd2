//! Twins (R16): two callers submit the same content, each under an identity of its own. Whether an action holds its twin off is the
//! core's; that it is asked in the transaction that would record the twin is the store's promise.

use factum_core::State;
use factum_core::mistake::{Mistake, made};
use factum_core::twins::holds_off;

use super::callers::Caller;
use super::cases::Case;
use super::logs::LogId;
use super::setup::ticks;
use super::world::{Run, World};

impl World {
    /// The other caller's action, where it holds this caller's submission off.
    pub(crate) fn held_off_by(&self, caller: u8, within: u8, run: &Run) -> Option<u8> {
        let other = 1 - caller;
        let log = self.act(other).log;
        let holds = log != LogId::NONE
            && holds_off(
                &run.setup.told,
                &self.log(other, run).known,
                ticks(within),
                self.stamp(),
            );
        holds.then_some(other)
    }

    /// A submission whose check saw this is recorded, or held off.
    pub(crate) fn admit_twin(
        &mut self,
        caller: u8,
        seen: Option<u8>,
        within: u8,
        run: &Run,
    ) -> Caller {
        let holder = if made(Mistake::TwinsAtOnce) {
            seen
        } else {
            self.held_off_by(caller, within, run)
        };
        if let Some(holder) = holder {
            run.note(Case::TwinHeldOff);
            return Caller::HeldOff(holder);
        }
        let other = 1 - caller;
        if self.act(other).log != LogId::NONE {
            let status = &self.judge(other, run).status;
            if status.state == State::Succeeded {
                run.note(Case::TwinAfterTheGuard);
            } else if status.safe_to_call_again {
                run.note(Case::TwinOfNothing);
            }
        }
        self.submit(caller, run);
        Caller::Told(caller)
    }
}
