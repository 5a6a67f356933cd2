//! What people decide: withdrawing, ruling, asking once more.

use std::sync::Arc;

use factum_core::evidence::Ruling;
use factum_core::{ActionId, Evidence, EvidenceId, Fact, State, Timestamp};
use factum_store::{Committed, Record};
use tokio::sync::mpsc;

use super::review::Person;
use super::{Cancelled, Engine};
use crate::clock::duration;
use crate::driver::answers::{STORE_REST, due_at};
use crate::left_behind::with_the_order;
use crate::metrics::Notes;
use crate::problem::{Code, Problem};
use crate::rulings::check_applies;
use crate::shell::{Message, Shared};

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
        let record = self
            .judge(id, |record, _| {
                // A closed unknown is withdrawn too: that bars the send that a person could still order.
                let open = !record.status().state.is_final();
                Ok(open.then(|| Fact::CancelRequested {
                    by: by.to_owned(),
                    why: why.to_owned(),
                }))
            })
            .await?;
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
    /// As [`Engine::rule_by`]. Where the operation wants two people, this one only proposes.
    pub async fn rule(
        &self,
        id: ActionId,
        ruling: Ruling,
        by: &str,
        why: &str,
    ) -> Result<Record, Problem> {
        let ruled = self.rule_by(id, ruling, Person::named(by), why).await?;
        Ok(ruled.into_record())
    }

    /// Records what follows from the action as it stands, or nothing where nothing does. Where something else was recorded or
    /// decided between reading and recording, it is judged anew: a verdict answers exactly what its giver could have seen.
    pub(super) async fn judge(
        &self,
        id: ActionId,
        follows: impl Fn(&Record, Timestamp) -> Result<Option<Fact>, Problem>,
    ) -> Result<Record, Problem> {
        self.judge_on(id, false, |record, _, at| follows(record, at))
            .await
    }

    /// The same on the action and, where that is wanted, on all its evidence.
    pub(super) async fn judge_on(
        &self,
        id: ActionId,
        on_evidence: bool,
        follows: impl Fn(&Record, &[Evidence], Timestamp) -> Result<Option<Fact>, Problem>,
    ) -> Result<Record, Problem> {
        for _ in 0..JUDGED_MAX {
            // Read before the action, so that nothing in it is later than the judgement. What is in the evidence beyond the action makes
            // its version an older one, and nothing is recorded.
            let at = self.shared.store.now().await?;
            let record = self.load(id).await?;
            let evidence = if on_evidence {
                self.shared.store.history(id).await?
            } else {
                Vec::new()
            };
            let Some(fact) = follows(&record, &evidence, at)? else {
                return Ok(record);
            };
            let mut facts = Vec::new();
            if let Fact::Verdict(verdict) = &fact {
                let restore = self.shared.store.restore().await?;
                facts.extend(with_the_order(&record, verdict, restore.as_ref()));
            }
            facts.push(fact);
            if self
                .record_as(id, Some(record.version), facts)
                .await?
                .is_some()
            {
                return self.load(id).await;
            }
        }
        let rule = "the action changed each time that it was judged";
        Err(
            Problem::new(Code::StoreUnavailable, "", rule, "try again in a moment")
                .about(id)
                .after(std::time::Duration::from_secs(1)),
        )
    }

    /// Asks the destination once more.
    ///
    /// # Errors
    /// [`Code::DoesNotApply`] where the destination has no lookup, or the action is settled.
    pub async fn check_again(&self, id: ActionId, by: &str) -> Result<Record, Problem> {
        self.judge(id, |record, at| {
            check_applies(record)?;
            Ok(Some(Fact::CheckAgain {
                by: by.to_owned(),
                at,
            }))
        })
        .await
    }

    /// Records facts about an action from outside, and looks at it at once. Answers the names that the facts got.
    ///
    /// # Errors
    /// [`Problem`] if there is no such action, or the store cannot be written.
    pub async fn record(&self, id: ActionId, facts: Vec<Fact>) -> Result<Vec<EvidenceId>, Problem> {
        Ok(self.record_as(id, None, facts).await?.unwrap_or_default())
    }

    /// The same; with a version only if the action still stands at it. `None`: it does not, and nothing was recorded.
    pub(super) async fn record_as(
        &self,
        id: ActionId,
        version: Option<u64>,
        facts: Vec<Fact>,
    ) -> Result<Option<Vec<EvidenceId>>, Problem> {
        let (shared, messages) = (self.shared.clone(), self.messages.clone());
        let recording = tokio::spawn(record_and_look(shared, messages, id, version, facts));
        recording.await.unwrap_or_else(|error| {
            let rule = format!("recording broke off: {error}");
            let remedy = "read the action's evidence, and try again where it is missing";
            Err(Problem::new(Code::Internal, "", rule, remedy).about(id))
        })
    }
}

/// How often an action is judged anew that changes meanwhile. Each time something else got through, so that this many in a row
/// mean an action with which something is wrong.
const JUDGED_MAX: usize = 32;

/// A task of its own, which goes on when its caller went away between the record and the look: what is recorded is looked at.
async fn record_and_look(
    shared: Arc<Shared>,
    messages: mpsc::Sender<Message>,
    id: ActionId,
    version: Option<u64>,
    facts: Vec<Fact>,
) -> Result<Option<Vec<EvidenceId>>, Problem> {
    let unknown = || Problem::unknown_action(id);
    let notes = Notes::of(&facts);
    let recorded = match version {
        None => {
            let recorded = shared.store.record(id, facts).await;
            recorded.map(|recorded| recorded.map(Committed::Durable))
        }
        Some(version) => shared.store.record_at(id, version, facts).await,
    };
    let recorded = match recorded {
        Ok(recorded) => recorded,
        Err(error) => {
            tokio::spawn(look_once_it_can_be_read(shared, messages, id));
            return Err(error.into());
        }
    };
    let recorded = match recorded.ok_or_else(unknown)? {
        Committed::Durable(recorded) => recorded,
        Committed::Stale => return Ok(None),
    };
    let record = shared.store.load(id).await?.ok_or_else(unknown)?;
    (shared.metrics).recorded(&record, &notes, recorded.states.0, recorded.at);
    // The loop may be gone while the engine shuts down; what is recorded is found again at the next start.
    let event = due_at(&record, recorded.at);
    let _ = messages.send(Message::Event(event)).await;
    shared.stands(&record);
    Ok(Some(recorded.ids))
}

/// A store that failed to answer may have written all the same: whoever asked is told that it failed, and may never ask again.
async fn look_once_it_can_be_read(
    shared: Arc<Shared>,
    messages: mpsc::Sender<Message>,
    id: ActionId,
) {
    while !messages.is_closed() {
        tokio::time::sleep(duration(STORE_REST)).await;
        let Ok(record) = shared.store.load(id).await else {
            continue;
        };
        if let Some(record) = record {
            let event = due_at(&record, shared.now());
            let _ = messages.send(Message::Event(event)).await;
        }
        return;
    }
}
