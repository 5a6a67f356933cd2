//! Commands on their way through the writer, each with the caller that waits for it.

use tokio::sync::oneshot::Sender;

use super::writer::Work;
use crate::shared::Claims;
use crate::{StoreError, StoreErrorKind};

/// One command.
pub(super) trait Job: Send {
    /// It may write to the file.
    fn writes(&self) -> bool;

    /// Does it, inside the open transaction. The caller is answered later, by the outcome.
    fn run(self: Box<Self>, work: &mut Work) -> Outcome;

    /// Answers the caller without doing anything.
    fn refuse(self: Box<Self>, kind: StoreErrorKind);
}

/// What a job did.
pub(super) struct Outcome {
    /// It failed, and what it wrote is to be taken back.
    pub(super) failed: Option<StoreErrorKind>,
    /// Answers the caller, once it is known whether the batch is durable.
    pub(super) deliver: Deliver,
}

impl Outcome {
    /// Nothing was done, and nobody waits.
    pub(super) fn nothing() -> Self {
        Self {
            failed: None,
            deliver: Box::new(|_, _| {}),
        }
    }
}

/// Answers a caller: with what the job gave, or with why the batch is not durable.
pub(super) type Deliver = Box<dyn FnOnce(Option<StoreErrorKind>, &mut Claims)>;

/// A command as a closure.
pub(super) struct Call<T, F> {
    pub(super) doing: &'static str,
    pub(super) writes: bool,
    /// It is only of use to a caller that still waits; otherwise it is left undone.
    pub(super) for_caller: bool,
    pub(super) op: F,
    pub(super) answer: Sender<Result<T, StoreError>>,
    /// Lets go of a claim in an answer that nobody waits for any more.
    pub(super) lost: fn(T, &mut Claims),
}

impl<T, F> Job for Call<T, F>
where
    T: Send + 'static,
    F: FnOnce(&mut Work) -> Result<T, StoreError> + Send,
{
    fn writes(&self) -> bool {
        self.writes
    }

    fn run(self: Box<Self>, work: &mut Work) -> Outcome {
        let Self {
            doing,
            op,
            answer,
            lost,
            for_caller,
            ..
        } = *self;
        if for_caller && answer.is_closed() {
            return Outcome::nothing();
        }
        let result = op(work);
        let failed = result.as_ref().err().map(|error| error.kind.clone());
        let deliver: Deliver = Box::new(move |failure, claims| {
            let result = match (result, failure) {
                (Ok(_), Some(kind)) => Err(StoreError::new(doing, kind)),
                (result, _) => result,
            };
            if let Err(Ok(value)) = answer.send(result) {
                lost(value, claims);
            }
        });
        Outcome { failed, deliver }
    }

    fn refuse(self: Box<Self>, kind: StoreErrorKind) {
        // A caller that went away needs no answer.
        let _ = self.answer.send(Err(StoreError::new(self.doing, kind)));
    }
}
