//! Callers who submit at the same time under one identity, each with its own idea of the content. What a submission comes to is
//! the core's; that it is asked in the transaction that would record a new action is the store's promise.

use factum_core::mistake::{Mistake, made};
use factum_core::{Fingerprint, Resolution};

use super::cases::Case;
use super::laws::law2;
use super::logs::LogId;
use super::world::{NEVER, Run, World};

/// How far a caller is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Caller {
    /// It has submitted nothing yet, or what it was told is gone with a copy of the store.
    #[default]
    Away,
    /// Its submission was checked, and at that moment the identity named this action.
    Checked(Option<u8>),
    /// It was told that its identity names this action.
    Told(u8),
    /// It was refused, and told which action has its identity.
    Refused(u8),
    /// It was told which action of the same content may be its own intent, and that nothing was recorded.
    HeldOff(u8),
}

impl Caller {
    pub(crate) fn is_answered(&self) -> bool {
        matches!(self, Self::Told(_) | Self::Refused(_))
    }
}

impl World {
    /// The action that an identity names, in the order of ids.
    pub(crate) fn named(&self, identity: u8) -> Option<u8> {
        self.recorded()
            .find(|act| self.act(*act).identity == identity)
    }

    /// A submission is checked, before any transaction.
    pub(crate) fn check_submission(&mut self, caller: u8, run: &Run) {
        let seen = match run.setup.twins {
            None => self.named(0),
            Some(within) => self.held_off_by(caller, within, run),
        };
        self.callers[usize::from(caller)] = Caller::Checked(seen);
    }

    /// A submission is recorded, or finds what its identity names.
    pub(crate) fn admit(&mut self, caller: u8, content: u8, run: &Run) {
        let place = usize::from(caller);
        let Caller::Checked(seen) = self.callers[place] else {
            return;
        };
        if let Some(within) = run.setup.twins {
            self.callers[place] = self.admit_twin(caller, seen, within, run);
            return;
        }
        let named = if made(Mistake::JoinOutsideTransaction) {
            seen
        } else {
            self.named(0)
        };
        if seen.is_none() && self.named(0).is_some() {
            run.note(Case::CallersAtOnce);
        }
        self.callers[place] = self.resolve(named, content, run);
        run.hold(law2::answered(self, content, self.callers[place]));
    }

    /// A caller whose answer was lost submits once more.
    pub(crate) fn repeat(&mut self, caller: u8, content: u8, run: &Run) {
        let place = usize::from(caller);
        let before = self.callers[place];
        self.left.resubmissions -= 1;
        run.note(Case::SubmittedAgain);
        self.callers[place] = self.resolve(self.named(0), content, run);
        run.hold(law2::answered(self, content, self.callers[place]));
        run.hold(law2::told_again(before, self.callers[place]));
    }

    fn resolve(&mut self, named: Option<u8>, content: u8, run: &Run) -> Caller {
        let first = named.map(|act| fingerprint(self.act(act).content));
        let restored = self.store.restored_at != NEVER;
        let resolution = if restored && made(Mistake::ReplayIsNew) {
            Resolution::New
        } else {
            Resolution::of(first, fingerprint(content))
        };
        match (resolution, named) {
            (Resolution::Joins, Some(act)) => Caller::Told(act),
            (Resolution::Conflicts, Some(act)) => {
                run.note(Case::Conflicted);
                Caller::Refused(act)
            }
            (Resolution::New | Resolution::Joins | Resolution::Conflicts, _) => {
                let free = (0..2u8).find(|act| self.act(*act).log == LogId::NONE);
                let act = free.unwrap_or(0);
                self.act_mut(act).identity = 0;
                self.act_mut(act).content = content;
                self.submit(act, run);
                Caller::Told(act)
            }
        }
    }

    /// A copy of the store came back that does not know the action: its callers come again.
    pub(crate) fn forget_callers(&mut self) {
        self.callers = [Caller::Away; 2];
    }
}

/// Contents are told apart by number.
fn fingerprint(content: u8) -> Fingerprint {
    Fingerprint([content; 32])
}
