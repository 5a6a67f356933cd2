//! Submitting: what an action is made of, and what is refused before anything is recorded.

use std::sync::atomic::Ordering;
use std::time::Duration;

use factum_core::{ActionId, IdentityHash, Timestamp};
use factum_store::{Action, Admission, Admitted, AskedBy, Record, Reserved};

use super::retention::{forgotten, gone};
use super::{Engine, Submitted, random_u64};
use crate::admission::Terms;
use crate::destination::{Destination, Operation, own_name};
use crate::directory::{Act, Caller, Missing};
use crate::failpoint::{CrashPoint, reach};
use crate::problem::{Code, Problem};
use crate::shell::Message;
use crate::submission::{Checked, Submission};
use crate::waiters::Listener;
use tokio::sync::oneshot;

/// How often a submission is decided anew because what it rests on has changed. Each time somebody changed authority.
pub(super) const DECIDED_MAX: usize = 16;

/// The amount that a submission moves, where it matters.
#[derive(Clone, Debug, Default)]
pub(super) struct Moves(pub(super) Option<(String, Option<String>)>);

impl Moves {
    fn of(operation: &Operation, payload: &str) -> Self {
        let contract = operation.contract.as_ref().map(|own| &own.contract);
        let found = contract.and_then(|contract| {
            let payload = serde_json::from_str(payload).ok()?;
            contract.amount(&payload)
        });
        Self(found.map(|found| (found.number, found.currency)))
    }

    pub(super) fn asked_by(&self, caller: &Caller) -> AskedBy {
        AskedBy {
            principal: caller.principal.clone(),
            grant: caller.grant.clone(),
            amount: self.0.clone(),
        }
    }
}

impl Engine {
    /// Records a submission, or joins the action that its identity names. What it answers is durable. The caller is trusted: see
    /// [`Caller::trusted`].
    ///
    /// # Errors
    /// [`Problem`]; nothing was recorded then. After [`Code::StoreUnavailable`] the same submission may be repeated, and joins.
    pub async fn submit(
        &self,
        submission: Submission,
        tenant: &str,
        principal: &str,
    ) -> Result<Submitted, Problem> {
        self.submit_reserved(submission, tenant, principal, None)
            .await
    }

    /// The same for a submission that an application's own transaction has made under this id. Should its identity name another
    /// action already, it joins that one.
    ///
    /// # Errors
    /// As [`Engine::submit`].
    pub async fn submit_reserved(
        &self,
        submission: Submission,
        tenant: &str,
        principal: &str,
        reserved: Option<ActionId>,
    ) -> Result<Submitted, Problem> {
        let caller = Caller::trusted(tenant, principal);
        self.submit_by(submission, &caller, reserved, false).await
    }

    /// Records a submission with the authority of a caller.
    ///
    /// # Errors
    /// As [`Engine::submit`]; and [`Code::AuthorityEnded`] or [`Code::BeyondGrant`] where the caller may not.
    pub async fn submit_as(
        &self,
        submission: Submission,
        caller: &Caller,
    ) -> Result<Submitted, Problem> {
        self.submit_by(submission, caller, None, false).await
    }

    /// The same for a caller that waits for what becomes of it: the [`Listener`] was begun before anything happened.
    ///
    /// # Errors
    /// As [`Engine::submit_as`].
    pub async fn submit_watched(
        &self,
        submission: Submission,
        caller: &Caller,
    ) -> Result<Submitted, Problem> {
        self.submit_by(submission, caller, None, true).await
    }

    async fn submit_by(
        &self,
        submission: Submission,
        caller: &Caller,
        reserved: Option<ActionId>,
        watched: bool,
    ) -> Result<Submitted, Problem> {
        if self.stopping.load(Ordering::Relaxed) {
            return Err(shutting_down());
        }
        let submission = self.keyed(submission, &caller.tenant)?;
        let checked = submission.check(&caller.tenant, &caller.principal)?;
        let keys = &self.shared.keys;
        let fingerprint = keys.fingerprint(&checked.params_canonical, &checked.payload_canonical);
        let mut watch = None;
        let ear = watched.then_some(&mut watch);
        let mut admitted = self.submit_checked(&checked, caller, reserved, ear).await?;
        if let Admitted::Reserved(first) = admitted {
            self.take_over(&first, &caller.tenant).await?;
            let ear = watched.then_some(&mut watch);
            admitted = self
                .submit_checked(&checked, caller, Some(first.action), ear)
                .await?;
        }
        let now = self.shared.now();
        match admitted {
            Admitted::Created(record, _) => {
                self.shared.stands(&record);
                Ok(Submitted {
                    record,
                    created: true,
                    watch,
                })
            }
            Admitted::Joined(record) => {
                // What was recorded by a call whose answer got lost, or by another engine, may be known to nobody here.
                if !record.status().is_settled() {
                    self.look_at(&record, record.next.at.unwrap_or(now)).await;
                }
                Ok(Submitted {
                    record,
                    created: false,
                    watch: None,
                })
            }
            Admitted::Conflict { first, members } => Err(conflict(&first, &members)),
            Admitted::HeldOff(first) => Err(possible_duplicate(&first)),
            Admitted::Gone(stone) => Err(gone(&stone, fingerprint)),
            Admitted::Forgotten(before) => Err(forgotten(before)),
            Admitted::Stale => Err(stale()),
            Admitted::Reserved(_) => Err(reserved_again()),
        }
    }

    /// What is to be recorded, and what it moves, if the caller has the authority for it.
    pub(super) async fn authorized(
        &self,
        mut checked: Checked,
        caller: &Caller,
        reserved: Option<ActionId>,
        now: Timestamp,
    ) -> Result<(Admission, Moves), Problem> {
        let directory = self.shared.directory();
        let scope = &checked.scope;
        let (destination, operation) =
            self.operation(&caller.tenant, &scope.destination, &scope.operation)?;
        let moves = if caller.grant.is_some() || operation.approval.is_some() {
            Moves::of(operation, &checked.payload)
        } else {
            Moves::default()
        };
        let act = Act {
            tenant: &caller.tenant,
            principal: &caller.principal,
            grant: caller.grant.as_deref(),
            acts_for: &scope.principal,
            destination: &scope.destination,
            operation: &scope.operation,
            amount: moves.0.as_ref(),
        };
        directory.may_act(&act, now).map_err(no_authority)?;
        checked.scope.destination.clone_from(&destination.name);
        let identity = self.named(&checked).await?;
        let id = reserved
            .filter(|id| id.lane() == identity.lane())
            .unwrap_or_else(|| ActionId::new(now, identity.lane(), random_u64()));
        let place = (destination, operation);
        let mut admission = self.admission(place, checked, now, (identity, id)).await?;
        admission.under = Some(directory.edition());
        admission.action.content.asked_by = Some(moves.asked_by(caller));
        Ok((admission, moves))
    }

    /// Records what an application's transaction has submitted before: it was first. What is wrong with it is said to the
    /// application, when its row is picked up.
    async fn take_over(&self, first: &Reserved, tenant: &str) -> Result<(), Problem> {
        let Some((body, principal)) = &first.waiting else {
            return Ok(());
        };
        let named = Submission::from_json(body).and_then(|row| self.keyed(row, tenant));
        let checked = named.and_then(|row| row.check(tenant, principal));
        if let Ok(checked) = checked {
            let caller = Caller::trusted(tenant, principal);
            self.submit_checked(&checked, &caller, Some(first.action), None)
                .await?;
        }
        Ok(())
    }

    /// What became of a submission. Where authority has changed while it was on its way, it is decided anew.
    async fn submit_checked(
        &self,
        checked: &Checked,
        caller: &Caller,
        reserved: Option<ActionId>,
        mut ear: Option<&mut Option<Listener>>,
    ) -> Result<Admitted, Problem> {
        for _ in 0..DECIDED_MAX {
            let now = self.shared.store.now().await?;
            let (mut admission, moves) = self
                .authorized(checked.clone(), caller, reserved, now)
                .await?;
            admission.oldest = self.horizon(&admission.action, now)?;
            self.needs_no_approval(&admission.action, caller, &moves)
                .await?;
            self.join_or_room(&admission.action).await?;
            let room = self.take(caller, &admission.action, &moves, now).await?;
            if let Some(ear) = ear.as_deref_mut() {
                *ear = Some(self.shared.waiters.watch(admission.action.intent.action));
            }
            reach(CrashPoint::C1);
            let admitted = self.admit(admission).await?;
            if !matches!(admitted, Admitted::Created(..)) {
                self.give_back(room).await;
            }
            if !matches!(admitted, Admitted::Stale) {
                return Ok(admitted);
            }
            self.refresh_directory().await?;
        }
        Ok(Admitted::Stale)
    }

    /// The one place that every submission passes, however it came: what needs an approval is not recorded without one. What is
    /// recorded already is joined as ever.
    async fn needs_no_approval(
        &self,
        action: &Action,
        caller: &Caller,
        moves: &Moves,
    ) -> Result<(), Problem> {
        let scope = &action.scope;
        let destination = self.shared.destinations.get(&scope.destination);
        let operation = destination.and_then(|found| found.operation(&scope.operation));
        let asks = operation
            .and_then(|known| known.approval.as_ref())
            .is_some_and(|policy| policy.needs_one(&caller.principal, moves.0.as_ref()));
        if !asks
            || self
                .shared
                .store
                .find(action.identity_hash)
                .await?
                .is_some()
        {
            return Ok(());
        }
        let rule = format!(
            "{} at {} asks for an approval before anything is sent",
            scope.operation,
            own_name(&scope.tenant, &scope.destination)
        );
        let remedy = "propose it with the same body: POST /v1/proposals, or `factum propose`";
        Err(Problem::new(Code::ApprovalRequired, "", rule, remedy))
    }

    /// The hash by which an identity is found. In a store that an older program began, it may be the older one.
    async fn named(&self, checked: &Checked) -> Result<IdentityHash, Problem> {
        let keys = &self.shared.keys;
        if self.older_identities {
            let older = keys.identity_of_form_1(&checked.scope, &checked.identity);
            if self.shared.store.find(older).await?.is_some() {
                return Ok(older);
            }
        }
        Ok(keys.identity(&checked.scope, &checked.identity))
    }

    /// The submission under the key that its operation's template makes; where there is none, it names itself.
    ///
    /// # Errors
    /// F1004 or F1011: it lacks a part of that key, or names another.
    pub fn keyed(&self, submission: Submission, tenant: &str) -> Result<Submission, Problem> {
        let destination = self.destination(tenant, &submission.destination);
        let operation = destination.and_then(|found| found.operation(&submission.operation));
        match operation.and_then(|known| known.key_template.as_ref()) {
            Some(template) => template.name(submission),
            None => Ok(submission),
        }
    }

    /// Through the loop: it knows whether a place at the destination's gate is free, and it goes on when a caller went away.
    pub(super) async fn admit(&self, admission: Admission) -> Result<Admitted, Problem> {
        let (reply, answer) = oneshot::channel();
        let sent = self
            .messages
            .send(Message::Admit(Box::new(admission), reply))
            .await;
        match (sent, answer.await) {
            (Ok(()), Ok(admitted)) => Ok(admitted?),
            (Err(_), _) | (_, Err(_)) => Err(shutting_down()),
        }
    }

    /// Beyond the bound on unsettled actions only repeats are taken: they join and add nothing.
    pub(super) async fn join_or_room(&self, action: &Action) -> Result<(), Problem> {
        let shared = &self.shared;
        let unsettled = shared.unsettled.load(Ordering::Relaxed);
        let (room, store, now) = (&shared.room, shared.store.as_ref(), shared.now());
        let mut has_room = room.take(unsettled, now);
        if !has_room && room.asks_again(now) {
            room.ask(store, shared.worker, now).await?;
            has_room = room.take(unsettled, now);
        }
        if has_room
            || self
                .shared
                .store
                .find(action.identity_hash)
                .await?
                .is_some()
        {
            return Ok(());
        }
        let rule = "as many actions are unsettled as may be".to_owned();
        Err(Problem::new(
            Code::QueueFull,
            "",
            rule,
            "try again later, or raise limits.unsettled_max",
        )
        .after(Duration::from_secs(5)))
    }

    pub(super) async fn admission(
        &self,
        (destination, operation): (&Destination, &Operation),
        checked: Checked,
        now: Timestamp,
        named: (IdentityHash, ActionId),
    ) -> Result<Admission, Problem> {
        let restore = self.shared.store.restore().await?;
        if let Some(restore) = &restore {
            self.hear_of(restore).await;
        }
        let terms = Terms {
            keys: &self.shared.keys,
            operation,
            restore: restore.as_ref(),
            restore_grace: self.restore_grace,
        };
        let mut admission = terms.admission(checked, now, named)?;
        admission.action.content.place = destination.place();
        let id = admission.action.intent.action;
        tracing::debug!(action = %id, destination = %destination.name, "submission checked");
        Ok(admission)
    }

    pub(super) fn operation(
        &self,
        tenant: &str,
        destination: &str,
        operation: &str,
    ) -> Result<(&Destination, &Operation), Problem> {
        let Some(found) = self.destination(tenant, destination) else {
            let known: Vec<&str> = self.destinations_of(tenant).map(|(name, _)| name).collect();
            let remedy = if known.is_empty() {
                "add one: `factum destination add`".to_owned()
            } else {
                format!(
                    "use one of: {}; or add it with `factum destination add`",
                    known.join(", ")
                )
            };
            let rule = format!("no destination {destination:?} is configured here");
            return Err(Problem::new(
                Code::UnknownDestination,
                "/destination",
                rule,
                remedy,
            ));
        };
        match found.operation(operation) {
            Some(known) => Ok((found, known)),
            None => {
                let known: Vec<&str> = found.operations.keys().map(String::as_str).collect();
                let rule =
                    format!("the destination {destination:?} has no operation {operation:?}");
                Err(Problem::new(
                    Code::UnknownOperation,
                    "/operation",
                    rule,
                    format!("use one of: {}", known.join(", ")),
                ))
            }
        }
    }
}

/// Why there is no authority, as a problem.
pub(super) fn no_authority(missing: Missing) -> Problem {
    match missing {
        Missing::Ended(why) => Problem::new(
            Code::AuthorityEnded,
            "",
            why,
            "ask an administrator of the tenant; what was recorded earlier is kept, and can be asked for again",
        ),
        Missing::Beyond(why) => Problem::new(
            Code::BeyondGrant,
            "",
            why,
            "do what the grant covers, or ask for one that goes further",
        ),
    }
}

/// Equal content is under way, or was carried out a moment ago.
pub(super) fn possible_duplicate(first: &Record) -> Problem {
    let id = first.id();
    let rule = format!(
        "{id} has the same content in the same scope under another identity, and is {}; nothing was recorded",
        first.status().state.name()
    );
    let remedy = "if the same intent was meant, ask for that action, and repeat it with its own identity from now on; if a second \
                  effect is meant, send this again with `another: true`";
    Problem::new(Code::PossibleDuplicate, "/another", rule, remedy).about(id)
}

/// What it was decided on changed while it was on its way.
pub(super) fn stale() -> Problem {
    let rule =
        "what this submission rests on was changed while it was on its way; nothing was recorded";
    let remedy = "try again; the same identity joins";
    Problem::new(Code::StoreUnavailable, "", rule, remedy).after(Duration::from_secs(1))
}

pub(super) fn shutting_down() -> Problem {
    let rule = "the engine is shutting down and takes nothing on";
    let remedy = "try again; the same identity joins";
    Problem::new(Code::ShuttingDown, "", rule, remedy).after(Duration::from_secs(2))
}

pub(super) fn reserved_again() -> Problem {
    let rule = "an application's transaction is just submitting this identity anew";
    let remedy = "try again; the same identity joins";
    Problem::new(Code::StoreUnavailable, "", rule, remedy).after(Duration::from_secs(1))
}

pub(super) fn conflict(first: &Record, members: &[String]) -> Problem {
    let named = if members.is_empty() {
        "its content differs".to_owned()
    } else {
        format!(
            "{} {}",
            members.join(", "),
            if members.len() == 1 {
                "differs"
            } else {
                "differ"
            }
        )
    };
    let member = members.first().cloned().unwrap_or_default();
    let rule = format!(
        "this identity names {}, recorded earlier with another intent: {named}",
        first.id()
    );
    let remedy =
        "to repeat the first intent, send it unchanged; for a second effect, use another key";
    Problem::new(Code::IdentityConflict, member, rule, remedy).about(first.id())
}
