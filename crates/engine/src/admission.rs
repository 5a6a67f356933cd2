//! From a checked submission to what the store is asked to admit: what an action is made of, and what is refused before
//! anything is recorded. Pure: the store's time and a random draw are handed in.

use factum_core::{ActionId, Epoch, Fact, IdentityHash, Intent, Promises, Span, Timestamp};
use factum_store::{Action, Admission, Content, NextRow, Restore, TwinGuard};

use crate::clock::STEP_MAX;
use crate::destination::Operation;
use crate::keys::Keys;
use crate::messages::{effect_request, report_names};
use crate::problem::{Code, Problem, from_build_error};
use crate::submission::Checked;

/// Under what a submission is admitted.
#[derive(Clone, Copy)]
pub struct Terms<'a> {
    /// The secrets that make identities and fingerprints.
    pub keys: &'a Keys,
    /// What is to be done.
    pub operation: &'a Operation,
    /// The last restore of the store.
    pub restore: Option<&'a Restore>,
    /// How long after a restore a new identity without `intent_at` counts as maybe sent (R18).
    pub restore_grace: Span,
}

impl Terms<'_> {
    /// The hash of an identity, and the id of a new action under it; `draw` makes that its own.
    #[must_use]
    pub fn fresh(&self, checked: &Checked, now: Timestamp, draw: u64) -> (IdentityHash, ActionId) {
        let identity_hash = self.keys.identity(&checked.scope, &checked.identity);
        let id = ActionId::new(now, identity_hash.lane(), draw);
        (identity_hash, id)
    }

    /// What the store is asked to admit. `now` is the store's time, `named` the identity's hash and the action's id.
    ///
    /// # Errors
    /// [`Code::DeadlinePassed`], or what cannot be sent under the operation's contract.
    pub fn admission(
        &self,
        checked: Checked,
        now: Timestamp,
        named: (IdentityHash, ActionId),
    ) -> Result<Admission, Problem> {
        let (identity_hash, id) = named;
        if let Some(deadline) = checked.deadline.filter(|deadline| *deadline <= now) {
            let rule = format!("the deadline is {} in the past", now.since(deadline));
            return Err(Problem::new(
                Code::DeadlinePassed,
                "/deadline",
                rule,
                "set a later one, or leave it out",
            ));
        }
        let intent = Intent {
            action: id,
            submitted_at: now,
            intent_at: checked.intent_at,
            not_before: checked.not_before,
            deadline: checked.deadline,
            approved_until: None,
            finish: self.operation.finish,
            preference: self.operation.preference.clone(),
            limits: self.operation.limits,
            promises: self.operation.promises.clone(),
        };
        let another = checked.another;
        let twins = self.operation.twin_guard.max(checked.guard);
        let mut action = self.action(checked, intent, identity_hash);
        action.intent.promises = self.promises_for(&action)?;
        let facts: Vec<Fact> = self.restored_before(&action, now).into_iter().collect();
        let at = action.intent.not_before.map_or(now, |at| at.max(now));
        let why = if facts.is_empty() {
            "recorded and not sent yet"
        } else {
            "it may have been sent before a restore"
        };
        let names = self
            .operation
            .contract
            .as_ref()
            .map(|own| report_names(self.keys, &own.contract, identity_hash, Epoch::default()));
        Ok(Admission {
            action,
            facts,
            next: NextRow {
                step: "send".to_owned(),
                at: Some(at),
                why: why.to_owned(),
            },
            names: names.unwrap_or_default(),
            claim_for: None,
            under: None,
            entries: Vec::new(),
            oldest: None,
            twins: twins.map(|within| TwinGuard { within, another }),
        })
    }

    fn action(&self, checked: Checked, intent: Intent, identity_hash: IdentityHash) -> Action {
        let keys = self.keys;
        Action {
            fingerprint: keys.fingerprint(&checked.params_canonical, &checked.payload_canonical),
            members: checked
                .compared
                .iter()
                .map(|(pointer, value)| {
                    (pointer.clone(), keys.member(identity_hash, pointer, value))
                })
                .collect(),
            identity_hash,
            scope: checked.scope,
            identity: checked.identity,
            content: Content {
                contract: (self.operation.contract.as_ref())
                    .map_or([0; 32], |own| own.contract.digest()),
                params: checked.params,
                payload: checked.payload,
                summary: checked.summary,
                subject: checked.subject,
                conversation: checked.conversation,
                locale: checked.locale,
                trace: checked.trace,
                place: None,
                asked_by: None,
                approved: None,
                purged_at: None,
            },
            intent,
        }
    }

    /// What holds for this very request: escape clauses of the contract may take promises away (R4). What cannot be sent is
    /// refused here, and not found out later.
    fn promises_for(&self, action: &Action) -> Result<Promises, Problem> {
        let Some(own) = &self.operation.contract else {
            return Ok(self.operation.promises.clone());
        };
        effect_request(self.keys, action, &own.contract, Epoch::default())
            .map(|request| Promises {
                // Whether a callback can be checked is known from the configuration alone.
                completion: self.operation.promises.completion,
                ..own.contract.promises_for(&request)
            })
            .map_err(|error| from_build_error(&error))
    }

    /// An identity that is older than a restore, or may be, is maybe sent even when it is new (R18).
    fn restored_before(&self, action: &Action, now: Timestamp) -> Option<Fact> {
        let restore = self.restore?;
        let intent_at = action.intent.intent_at;
        let maybe_sent = match intent_at {
            // The caller's clock is not ours.
            Some(intent_at) => intent_at <= restore.at + STEP_MAX,
            None => now < restore.at + self.restore_grace,
        };
        maybe_sent.then(|| Fact::StoreRestored {
            copy_until: restore.copy_until,
            at: restore.at,
            first_arrival: intent_at.map(|at| at.min(restore.copy_until)),
        })
    }
}
