//! What people decide: withdrawing, ruling, asking once more.

use std::sync::Arc;

use factum_core::evidence::{RequestRef, Ruling, Verdict};
use factum_core::{ActionId, EvidenceId, Fact, State, Status, Timestamp};
use factum_store::Record;
use tokio::sync::mpsc;

use super::{Cancelled, Engine};
use crate::problem::{Code, Problem};
use crate::shell::{Change, Message, Shared, due_at};

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
        let open = self.load(id).await?.known.open_review_ids();
        let before = open
            .into_iter()
            .filter(|review| verdict.iter().any(|verdict| review < verdict));
        let facts: Vec<Fact> = before
            .map(|supersedes| Fact::Released { supersedes })
            .collect();
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
        let record = self.load(id).await?;
        let status = record.status();
        let refuse = |rule: &str, remedy: &str| {
            Err(Problem::new(Code::DoesNotApply, "", rule, remedy).about(id))
        };
        if record.action.intent.promises.lookup.is_none() {
            return refuse(
                "the destination offers no lookup",
                "look there by hand, and give a verdict",
            );
        }
        if status.state.is_final() {
            return refuse("the action is settled", "read its evidence");
        }
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

fn cancel_in_flight(record: &Record) -> bool {
    let open = record.known.open_marks();
    open.iter()
        .any(|(request, _)| matches!(request, RequestRef::Cancel(_)))
}

/// Whether anything could follow from this ruling.
fn verdict_applies(
    record: &Record,
    status: &Status,
    ruling: &Ruling,
    now: Timestamp,
) -> Result<(), Problem> {
    let id = record.id();
    let refuse = |rule: String, remedy: &str| {
        Err(Problem::new(Code::DoesNotApply, "/verdict", rule, remedy).about(id))
    };
    let open = matches!(status.state, State::OutcomeUnknown | State::Accepted);
    let disputed = status.contradicted || status.duplicate_suspected();
    let word = status.state.name();
    match ruling {
        // What a person has seen there may be what a cancel on its way takes back.
        _ if status.state == State::Dispatching || cancel_in_flight(record) => refuse(
            "a request is in flight".to_owned(),
            "wait until it ended; then give the verdict",
        ),
        Ruling::Happened { .. } | Ruling::DidNotHappen | Ruling::CannotBeKnown
            if !open && !disputed =>
        {
            refuse(
                format!("the state is {word}, which the evidence already supports"),
                "read the evidence; a verdict is for what is not known",
            )
        }
        Ruling::SendAgain if status.state == State::Succeeded && !disputed => refuse(
            "the effect exists".to_owned(),
            "for a second effect, submit again under another key",
        ),
        Ruling::SendAgain
            if record
                .action
                .intent
                .deadline
                .is_some_and(|deadline| now >= deadline) =>
        {
            refuse(
                "the deadline has passed, and nothing is sent after it".to_owned(),
                "submit again under another key, once it is certain that nothing happened",
            )
        }
        Ruling::SendAgain if record.known.is_withdrawn() => refuse(
            "the action was withdrawn, or its authority ended".to_owned(),
            "submit again under another key, once it is certain that nothing happened",
        ),
        Ruling::Happened { .. }
        | Ruling::DidNotHappen
        | Ruling::CannotBeKnown
        | Ruling::SendAgain => Ok(()),
    }
}
