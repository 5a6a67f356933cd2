//! What people decide: withdrawing, ruling, asking once more.

use std::sync::Arc;

use factum_core::evidence::{Ruling, Verdict};
use factum_core::{ActionId, EvidenceId, Fact, State};
use factum_store::Record;
use tokio::sync::mpsc;

use super::{Cancelled, Engine};
use crate::driver::answers::due_at;
use crate::problem::{Code, Problem};
use crate::rulings::{answers_too, check_applies, verdict_applies};
use crate::shell::{Change, Message, Shared};

impl Engine {
    /// Withdraws an action: no more sends. What may have been sent stays unknown until there is evidence.
    ///
    /// # Errors
    /// [`Problem`] if there is no such action, or the store cannot be written.
    pub async fn cancel(
        &self,
        id: ActionId,
        by: &str,
        why: &str,
    ) -> Result<(Cancelled, Record), Problem> {
        let record = self.load(id).await?;
        // A closed unknown is withdrawn too: that bars the send that a person could still order.
        if !record.status().state.is_final() {
            self.record(
                id,
                vec![Fact::CancelRequested {
                    by: by.to_owned(),
                    why: why.to_owned(),
                }],
            )
            .await?;
        }
        let record = self.load(id).await?;
        let cancelled = if record.status().state == State::Cancelled {
            Cancelled::Stopped
        } else {
            Cancelled::TooLate
        };
        Ok((cancelled, record))
    }

    /// Records a person's ruling. It replaces open reviews and earlier rulings.
    ///
    /// # Errors
    /// [`Code::DoesNotApply`] where the evidence leaves nothing to rule on, or nothing could follow from it.
    pub async fn rule(
        &self,
        id: ActionId,
        ruling: Ruling,
        by: &str,
        why: &str,
    ) -> Result<Record, Problem> {
        let record = self.load(id).await?;
        let (status, _) = self.assess(&record);
        verdict_applies(&record, &status, &ruling, self.shared.now())?;
        let verdict = Verdict {
            ruling,
            by: by.to_owned(),
            why: why.to_owned(),
            at: self.shared.store.now().await?,
            supersedes: record.known.answered_by_a_verdict(),
        };
        let named = self.record(id, vec![Fact::Verdict(verdict)]).await?;
        self.answer_reviews_before(id, &named).await?;
        self.load(id).await
    }

    /// A review that was opened between reading the action and recording the verdict is answered by it too, though the verdict
    /// does not name it.
    async fn answer_reviews_before(
        &self,
        id: ActionId,
        verdict: &[EvidenceId],
    ) -> Result<(), Problem> {
        let facts = answers_too(&self.load(id).await?, verdict);
        if !facts.is_empty() {
            self.record(id, facts).await?;
        }
        Ok(())
    }

    /// Asks the destination once more.
    ///
    /// # Errors
    /// [`Code::DoesNotApply`] where the destination has no lookup, or the action is settled.
    pub async fn check_again(&self, id: ActionId, by: &str) -> Result<Record, Problem> {
        check_applies(&self.load(id).await?)?;
        let at = self.shared.store.now().await?;
        self.record(
            id,
            vec![Fact::CheckAgain {
                by: by.to_owned(),
                at,
            }],
        )
        .await?;
        self.load(id).await
    }

    /// Records facts about an action from outside, and looks at it at once. Answers the names that the facts got.
    ///
    /// # Errors
    /// [`Problem`] if there is no such action, or the store cannot be written.
    pub async fn record(&self, id: ActionId, facts: Vec<Fact>) -> Result<Vec<EvidenceId>, Problem> {
        let (shared, messages) = (self.shared.clone(), self.messages.clone());
        let recording = tokio::spawn(record_and_look(shared, messages, id, facts));
        recording.await.unwrap_or_else(|error| {
            let rule = format!("recording broke off: {error}");
            let remedy = "read the action's evidence, and try again where it is missing";
            Err(Problem::new(Code::Internal, "", rule, remedy).about(id))
        })
    }
}

/// A task of its own, which goes on when its caller went away between the record and the look: what is recorded is looked at.
async fn record_and_look(
    shared: Arc<Shared>,
    messages: mpsc::Sender<Message>,
    id: ActionId,
    facts: Vec<Fact>,
) -> Result<Vec<EvidenceId>, Problem> {
    let unknown = || Problem::unknown_action(id);
    let recorded = shared.store.record(id, facts).await?;
    let recorded = recorded.ok_or_else(unknown)?;
    let record = shared.store.load(id).await?.ok_or_else(unknown)?;
    // The loop may be gone while the engine shuts down; what is recorded is found again at the next start.
    let event = due_at(&record, recorded.at);
    let _ = messages.send(Message::Event(event)).await;
    // Nobody listening is no error.
    let _ = shared.changes.send(Change {
        action: id,
        state: record.status().state,
    });
    Ok(recorded.ids)
}
