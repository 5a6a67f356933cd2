//! Deciding on a proposal: everything is read, decided, and written at the version that was read; whoever is slower decides anew.

use factum_core::{ActionId, ProposalId, Timestamp};
use factum_store::{Admitted, Approved, Record, Registered};

use super::super::retention::{forgotten, gone};
use super::draft::{Draft, asker};
use super::{DECIDED_MAX, Engine, Proposed, closed, stale, written};
use crate::approval::NotByThem;
use crate::directory::{Act, Caller, Scope};
use crate::engine::submit::{conflict, no_authority, possible_duplicate, reserved_again};
use crate::problem::{Code, Problem};
use crate::proposal::{Approval, Proposal, ProposalEntry, ProposalState, hex};

/// In whose name the engine looks at what it has let somebody in to, and where a policy approves.
const POLICY: &str = "policy";

/// What is decided.
#[derive(Clone, Copy, Debug)]
pub struct Decision<'a> {
    /// The digest that was looked at, as hexadecimal digits.
    pub digest: &'a str,
    /// Why.
    pub why: Option<&'a str>,
    /// Nothing is sent from then on, if that is earlier than the proposal says.
    pub until: Option<Timestamp>,
}

/// What became of a decision.
#[derive(Debug)]
pub struct Decided {
    /// The proposal as it stands.
    pub proposal: Proposal,
    /// Its action, once as many have approved as the operation asks for.
    pub action: Option<Box<Record>>,
    /// The action was recorded by this very call.
    pub created: bool,
}

impl Engine {
    /// Approves a proposal's digest. With the last approval that the operation asks for, the action is recorded in the transaction that
    /// writes it. A repeat, or another's approval that comes later, gets the same action.
    ///
    /// # Errors
    /// [`Code::UnknownProposal`], [`Code::ProposalClosed`], [`Code::ProposalChanged`], [`Code::NotTheirDecision`], or [`Problem`] as for a
    /// submission: whoever asked, and whoever approves, need the authority for it.
    pub async fn approve(
        &self,
        caller: &Caller,
        id: ProposalId,
        decision: Decision<'_>,
    ) -> Result<Decided, Problem> {
        for _ in 0..DECIDED_MAX {
            let proposal = self.proposal(caller, id).await?;
            if let Some(decided) = self.approve_once(caller, proposal, decision).await? {
                return Ok(decided);
            }
            self.refresh_directory().await?;
        }
        Err(stale())
    }

    /// Declines a proposal, or withdraws one's own: nothing of it is ever sent.
    ///
    /// # Errors
    /// [`Code::UnknownProposal`], [`Code::ProposalClosed`], [`Code::Forbidden`], or [`Problem`] if the store cannot be written.
    pub async fn decline(
        &self,
        caller: &Caller,
        id: ProposalId,
        why: &str,
    ) -> Result<Proposal, Problem> {
        for _ in 0..DECIDED_MAX {
            let proposal = self.proposal(caller, id).await?;
            if !caller.may(Scope::Approve) && proposal.entry.principal != caller.principal {
                let rule = "who may not approve can withdraw what they asked for themselves only";
                let remedy = "use a token with the scope `approve`";
                return Err(Problem::new(Code::Forbidden, "", rule, remedy));
            }
            match proposal.state {
                ProposalState::Pending => {}
                ProposalState::Declined => return Ok(proposal),
                ProposalState::Approved | ProposalState::Superseded | ProposalState::Expired => {
                    return Err(closed(&proposal));
                }
            }
            let ended = self.ended(&proposal, ProposalState::Declined, &caller.principal, why);
            if self.shared.store.change(vec![ended]).await? != Registered::Stale {
                return self.proposal(caller, id).await;
            }
        }
        Err(stale())
    }

    /// Approves at once what the operation's policy says; else the proposal as it is, with its action if it has one.
    pub(super) async fn with_policy(
        &self,
        proposal: Proposal,
        created: bool,
    ) -> Result<Proposed, Problem> {
        let (principal, amount) = (&proposal.entry.principal, proposal.entry.amount.as_ref());
        let policy = self.policy_of(&proposal);
        if proposal.state != ProposalState::Pending || !policy.approves(principal, amount) {
            let action = self.action_of(&proposal).await?;
            return Ok(Proposed {
                proposal,
                created,
                action,
            });
        }
        let (tenant, id) = (proposal.tenant, proposal.id);
        let by = Caller::trusted(&tenant, POLICY);
        for _ in 0..DECIDED_MAX {
            let proposal = self.proposal(&by, id).await?;
            let digest = proposal.entry.digest.clone();
            let decision = Decision {
                digest: &digest,
                why: Some("the operation's policy approves it"),
                until: None,
            };
            let now = self.shared.store.now().await?;
            let given = Approval {
                policy: true,
                ..approval(&by, decision, now)
            };
            let decided = match proposal.state {
                ProposalState::Pending => self.make(proposal, vec![given], &by).await?,
                ProposalState::Approved
                | ProposalState::Declined
                | ProposalState::Superseded
                | ProposalState::Expired => Some(self.decided(proposal, false).await?),
            };
            if let Some(decided) = decided {
                return Ok(Proposed {
                    proposal: decided.proposal,
                    created,
                    action: decided.action,
                });
            }
            self.refresh_directory().await?;
        }
        Err(stale())
    }

    /// What the operation of a proposal asks for.
    pub(super) fn policy_of(&self, proposal: &Proposal) -> crate::approval::ApprovalPolicy {
        let submission = &proposal.entry.submission;
        let destination = self.destination(&proposal.tenant, &submission.destination);
        let operation = destination.and_then(|found| found.operation(&submission.operation));
        let policy = operation.and_then(|known| known.approval.clone());
        policy.unwrap_or_default()
    }

    async fn approve_once(
        &self,
        caller: &Caller,
        proposal: Proposal,
        decision: Decision<'_>,
    ) -> Result<Option<Decided>, Problem> {
        let now = self.shared.store.now().await?;
        match proposal.state {
            ProposalState::Approved => {
                self.is_named(&proposal, decision)?;
                return self.decided(proposal, false).await.map(Some);
            }
            ProposalState::Expired => {
                self.expire_proposals().await?;
                return Err(closed(&proposal));
            }
            ProposalState::Declined | ProposalState::Superseded => return Err(closed(&proposal)),
            ProposalState::Pending => self.is_named(&proposal, decision)?,
        }
        if decision.until.is_some_and(|until| until <= now) {
            let rule = "until is not in the future";
            let remedy = "set a later one, or leave it out";
            return Err(Problem::new(Code::BadTimes, "/until", rule, remedy));
        }
        let policy = self.policy_of(&proposal);
        policy
            .lets(&caller.principal, &proposal.entry.principal)
            .map_err(|why| not_theirs(&proposal, why))?;
        if policy.reason && decision.why.is_none_or(|why| why.trim().is_empty()) {
            let rule = "the operation asks for a reason with each approval";
            let problem = Problem::new(Code::NotTheirDecision, "/reason", rule, "say why");
            return Err(problem.about_proposal(proposal.id));
        }
        self.may_decide(&proposal, (&caller.principal, caller.grant.as_deref()), now)?;
        let mut given = self.still_given(&proposal, now);
        given.retain(|one| one.by != caller.principal);
        given.push(approval(caller, decision, now));
        if given.len() >= policy.people {
            return self.make(proposal, given, caller).await;
        }
        let entry = ProposalEntry {
            approvals: given,
            ..proposal.entry.clone()
        };
        let why = decision.why.unwrap_or("approved");
        let change = written(&proposal, &entry, &caller.principal, why);
        if self.shared.store.change(vec![change]).await? == Registered::Stale {
            return Ok(None);
        }
        let proposal = self.proposal(caller, proposal.id).await?;
        self.decided(proposal, false).await.map(Some)
    }

    /// The approvals so far whose givers could still give them.
    fn still_given(&self, proposal: &Proposal, now: Timestamp) -> Vec<Approval> {
        let policy = self.policy_of(proposal);
        let stands = |one: &&Approval| {
            policy.lets(&one.by, &proposal.entry.principal).is_ok()
                && self
                    .may_decide(proposal, (&one.by, one.grant.as_deref()), now)
                    .is_ok()
        };
        (proposal.entry.approvals.iter())
            .filter(stands)
            .cloned()
            .collect()
    }

    /// Whoever approves needs the authority to act so themselves: their grant, if they act under one, covers it.
    fn may_decide(
        &self,
        proposal: &Proposal,
        (principal, grant): (&str, Option<&str>),
        now: Timestamp,
    ) -> Result<(), Problem> {
        let entry = &proposal.entry;
        let act = Act {
            tenant: &proposal.tenant,
            principal,
            grant,
            acts_for: entry.acts_for(),
            destination: &entry.submission.destination,
            operation: &entry.submission.operation,
            amount: entry.amount.as_ref(),
        };
        let directory = self.shared.directory();
        directory.may_act(&act, now).map_err(no_authority)
    }

    /// Records the action with the approvals that make it. `None` where something changed meanwhile.
    async fn make(
        &self,
        proposal: Proposal,
        given: Vec<Approval>,
        caller: &Caller,
    ) -> Result<Option<Decided>, Problem> {
        let mut reserved = None;
        for _ in 0..2 {
            let admitted = self
                .admit_approved(&proposal, &given, caller, reserved)
                .await?;
            match admitted {
                Admitted::Created(record, _) => {
                    self.shared.stands(&record);
                    let proposal = self.proposal(&whole(&proposal), proposal.id).await?;
                    return Ok(Some(Decided {
                        proposal,
                        action: Some(record),
                        created: true,
                    }));
                }
                Admitted::Joined(record) => return self.joined(&proposal, *record).await,
                Admitted::Conflict { first, members } => return Err(conflict(&first, &members)),
                Admitted::HeldOff(first) => {
                    return Err(possible_duplicate(&first).about_proposal(proposal.id));
                }
                Admitted::Gone(stone) => {
                    let problem = gone(&stone, stone.fingerprint);
                    return Err(problem.about_proposal(proposal.id));
                }
                Admitted::Forgotten(before) => {
                    return Err(forgotten(before).about_proposal(proposal.id));
                }
                Admitted::Stale => return Ok(None),
                // A row of an outbox was refused: its application was told this id for what is approved now.
                Admitted::Reserved(first) if first.waiting.is_none() => {
                    reserved = Some(first.action);
                }
                Admitted::Reserved(_) => return Err(reserved_again()),
            }
        }
        Err(reserved_again())
    }

    async fn admit_approved(
        &self,
        proposal: &Proposal,
        given: &[Approval],
        caller: &Caller,
        reserved: Option<ActionId>,
    ) -> Result<Admitted, Problem> {
        let draft = self.draft_of(proposal, reserved).await?;
        if hex(&draft.digest.0) != proposal.entry.digest {
            let rule = "what would be sent has changed since it was proposed: the contract, the address, the account or the program";
            let remedy = "look at it again, supersede it with the same content, and decide on that";
            let problem = Problem::new(Code::ProposalChanged, "/digest", rule, remedy);
            return Err(problem.about_proposal(proposal.id));
        }
        let action = &draft.admission.action;
        let now = action.intent.submitted_at;
        // Whoever approved is looked at under the edition that the transaction compares.
        let people = given.iter().filter(|one| !one.policy);
        let mut people = people.map(|one| (one.by.as_str(), one.grant.as_deref()));
        let all = people.all(|who| self.may_decide(proposal, who, now).is_ok());
        if !all || draft.admission.under != Some(self.shared.directory().edition()) {
            return Ok(Admitted::Stale);
        }
        self.join_or_room(action).await?;
        let room = self
            .take(&asker(proposal), action, &draft.moves, now)
            .await?;
        let admitted = self
            .admit(admission(proposal, draft, given.to_vec(), caller))
            .await?;
        if !matches!(admitted, Admitted::Created(..)) {
            self.give_back(room).await;
        }
        Ok(admitted)
    }

    /// Another approval made the action meanwhile; or somebody recorded it without this proposal.
    async fn joined(
        &self,
        proposal: &Proposal,
        record: Record,
    ) -> Result<Option<Decided>, Problem> {
        let again = self.proposal(&whole(proposal), proposal.id).await?;
        if again.entry.action_id() == Some(record.id()) {
            return Ok(Some(Decided {
                proposal: again,
                action: Some(Box::new(record)),
                created: false,
            }));
        }
        let rule = format!(
            "the same identity was submitted without an approval meanwhile, and is {}",
            record.id()
        );
        let remedy = "look at that action; decline this proposal";
        let problem = Problem::new(Code::DoesNotApply, "", rule, remedy);
        Err(problem.about(record.id()).about_proposal(proposal.id))
    }

    async fn decided(&self, proposal: Proposal, created: bool) -> Result<Decided, Problem> {
        let action = self.action_of(&proposal).await?;
        Ok(Decided {
            proposal,
            action,
            created,
        })
    }

    async fn action_of(&self, proposal: &Proposal) -> Result<Option<Box<Record>>, Problem> {
        match proposal.entry.action_id() {
            Some(id) => Ok(Some(Box::new(self.load(id).await?))),
            None => Ok(None),
        }
    }

    /// What is approved is what the proposal's digest names.
    fn is_named(&self, proposal: &Proposal, decision: Decision<'_>) -> Result<(), Problem> {
        if decision.digest.eq_ignore_ascii_case(&proposal.entry.digest) {
            return Ok(());
        }
        let rule = "the digest is not this proposal's";
        let remedy = "look at the proposal again, and name the digest that it shows";
        let problem = Problem::new(Code::ProposalChanged, "/digest", rule, remedy);
        Err(problem.about_proposal(proposal.id))
    }
}

fn approval(caller: &Caller, decision: Decision<'_>, now: Timestamp) -> Approval {
    Approval {
        by: caller.principal.clone(),
        policy: false,
        grant: caller.grant.clone(),
        at: now.as_micros(),
        until: decision.until.map(Timestamp::as_micros),
        why: decision.why.map(ToOwned::to_owned),
    }
}

/// The draft with the approval that lets it be sent, and the proposal's end, in one.
fn admission(
    proposal: &Proposal,
    draft: Draft,
    given: Vec<Approval>,
    caller: &Caller,
) -> factum_store::Admission {
    let mut admission = draft.admission;
    let id = admission.action.intent.action;
    let ends = given.iter().filter_map(|one| one.until);
    let until = ends.chain([proposal.entry.until]).min();
    admission.action.intent.approved_until = until.map(Timestamp::from_micros);
    let by: Vec<String> = given
        .iter()
        .filter(|one| !one.policy)
        .map(|one| one.by.clone())
        .collect();
    let account = admission.action.content.approved.take();
    admission.action.content.approved = Some(Approved {
        proposal: proposal.id,
        digest: draft.digest,
        as_of: Timestamp::from_micros(proposal.entry.made_at),
        account: account.and_then(|blank| blank.account),
        by,
    });
    let why = given.last().and_then(|one| one.why.clone());
    let entry = ProposalEntry {
        state: ProposalState::Approved,
        approvals: given,
        action: Some(id.to_string()),
        ..proposal.entry.clone()
    };
    let why = why.unwrap_or_else(|| "approved".to_owned());
    admission.entries = vec![written(proposal, &entry, &caller.principal, &why)];
    admission
}

/// Somebody who sees the proposal: the engine itself, once a caller was let in.
fn whole(proposal: &Proposal) -> Caller {
    Caller::trusted(&proposal.tenant, POLICY)
}

fn not_theirs(proposal: &Proposal, why: NotByThem) -> Problem {
    let (rule, remedy) = match why {
        NotByThem::Own => (
            "who asked for it may not approve it",
            "have somebody else approve it",
        ),
        NotByThem::Others => (
            "the operation names who may approve, and this principal is not among them",
            "have one of them approve it",
        ),
    };
    let problem = Problem::new(Code::NotTheirDecision, "", rule, remedy);
    problem.about_proposal(proposal.id)
}
