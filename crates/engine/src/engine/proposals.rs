//! Proposals: made, looked at, decided on. What is approved becomes an action in the transaction that writes the approval, so that one
//! proposal has one action, however many approve it at once.

mod decide;
mod draft;

use std::sync::atomic::Ordering;

use factum_core::{ProposalId, Scope, Timestamp};
use factum_store::{Action, Change, EntryFilter, EntryKey, Kind, Record, Registered};
use serde::{Deserialize, Serialize};

pub use decide::{Decided, Decision};
use draft::Draft;

use super::submit::{DECIDED_MAX, shutting_down, stale};
use super::{Engine, random_u64};
use crate::destination::full_name;
use crate::directory::Caller;
use crate::problem::{Code, Problem};
use crate::proposal::{Proposal, ProposalEntry, ProposalState, Rendered, hex};
use crate::submission::Submission;

/// Proposals that are read at once.
const PAGE: usize = 200;

/// How far back what was superseded is followed.
const CHAIN_MAX: usize = 100;

/// What is asked beside the content.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ask {
    /// It may be decided on before this only, and nothing is sent from then on. As long as the operation's policy says where nothing is
    /// said.
    pub until: Option<Timestamp>,
    /// The one whose place it takes.
    pub supersedes: Option<ProposalId>,
}

/// What became of a wish to propose.
#[derive(Debug)]
pub struct Proposed {
    /// The proposal as it stands.
    pub proposal: Proposal,
    /// It was recorded by this very call.
    pub created: bool,
    /// The action, where it was approved already, or a policy did so at once.
    pub action: Option<Box<Record>>,
}

/// Which proposals to list. `None` matches everything.
#[derive(Clone, Debug, Default)]
pub struct ProposalFilter {
    /// In this state.
    pub state: Option<ProposalState>,
    /// For this destination, by the tenant's own name for it.
    pub destination: Option<String>,
    /// Asked for in this conversation.
    pub conversation: Option<String>,
    /// Behind this one: continues a listing. Not within a conversation.
    pub after: Option<ProposalId>,
    /// At most this many.
    pub limit: usize,
}

/// Which proposal an identity is at.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    v: u32,
    proposal: String,
}

/// Where an identity is: the version of its entry, and the proposal that it is at.
struct At {
    key: EntryKey,
    version: u64,
    proposal: Option<Proposal>,
}

impl Engine {
    /// Records content to be decided on, or joins the proposal that says the same. Nothing is sent before it is approved.
    ///
    /// # Errors
    /// [`Problem`]: as for a submission; [`Code::ProposalOpen`] where the identity has another proposal that waits; nothing was
    /// recorded then.
    pub async fn propose(
        &self,
        submission: Submission,
        caller: &Caller,
        ask: Ask,
    ) -> Result<Proposed, Problem> {
        if self.stopping.load(Ordering::Relaxed) {
            return Err(shutting_down());
        }
        let submission = self.inheriting(submission, caller, ask).await?;
        let submission = self.keyed(submission, &caller.tenant)?;
        for _ in 0..DECIDED_MAX {
            let (proposal, created) = match self.propose_once(&submission, caller, ask).await? {
                Some(found) => found,
                None => continue,
            };
            return self.with_policy(proposal, created).await;
        }
        Err(stale())
    }

    /// A proposal, if a caller may see it. One of somebody else is answered like one that there is not.
    ///
    /// # Errors
    /// [`Code::UnknownProposal`], or [`Problem`] if the store cannot be read.
    pub async fn proposal(&self, caller: &Caller, id: ProposalId) -> Result<Proposal, Problem> {
        let found = self.read_proposal(&caller.tenant, id).await?;
        found
            .filter(|found| self.may_see_proposal(caller, found))
            .ok_or_else(|| unknown(id))
    }

    /// Proposals that match and that a caller may see: oldest first, or of a conversation in the order of their identities, each
    /// followed by those that it superseded.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be read.
    pub async fn proposals(
        &self,
        caller: &Caller,
        filter: ProposalFilter,
    ) -> Result<Vec<Proposal>, Problem> {
        self.expire_proposals().await?;
        let mut found = match &filter.conversation {
            Some(name) => self.of_conversation(&caller.tenant, name).await?,
            None => return self.of_tenant(caller, filter).await,
        };
        found.retain(|one| filter.takes(one) && self.may_see_proposal(caller, one));
        found.truncate(filter.limit);
        Ok(found)
    }

    /// What a proposal would send; `None` where an application's own code carries it out.
    ///
    /// # Errors
    /// It cannot be built any more, as its destination, operation or contract has changed.
    pub async fn rendered(&self, proposal: &Proposal) -> Result<Option<Rendered>, Problem> {
        self.shown(proposal).await
    }

    /// Whether what would be sent now is what the proposal's digest names; why not, where it is not.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be read.
    pub async fn changed_since(&self, proposal: &Proposal) -> Result<Option<String>, Problem> {
        match self.draft_of(proposal, None).await {
            Ok(draft) if hex(&draft.digest.0) == proposal.entry.digest => Ok(None),
            Ok(_) => Ok(Some(
                "the contract, the address, the account or the program has changed".to_owned(),
            )),
            Err(problem) if problem.code.status() < 500 => Ok(Some(problem.rule.into_string())),
            Err(problem) => Err(problem),
        }
    }

    /// The kind of the effect, in the contract's word for it: `ticket`, `message`.
    #[must_use]
    pub fn kind_of(&self, proposal: &Proposal) -> Option<&str> {
        let submission = &proposal.entry.submission;
        let destination = self.destination(&proposal.tenant, &submission.destination)?;
        let own = destination
            .operation(&submission.operation)?
            .contract
            .as_ref()?;
        own.contract.product_kind()
    }

    /// How many people have to approve a proposal.
    #[must_use]
    pub fn people_for(&self, proposal: &Proposal) -> usize {
        self.policy_of(proposal).people
    }

    /// Writes down which proposals nobody decided on in time: what is looked at shows it anyway.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be read or written.
    pub async fn expire_proposals(&self) -> Result<(), Problem> {
        let store = &self.shared.store;
        let now = store.now().await?;
        for entry in store.entries_due(Kind::Proposal, now, PAGE).await? {
            let proposal = Proposal::of(entry, now)?;
            if proposal.state == ProposalState::Expired {
                let (by, why) = ("factum", "nobody decided in time");
                let ended = self.ended(&proposal, ProposalState::Expired, by, why);
                // Somebody who was faster has decided it otherwise.
                store.change(vec![ended]).await?;
            }
        }
        Ok(())
    }

    /// The proposals of a conversation: those that its identities are at, each followed by what it superseded.
    pub(super) async fn of_conversation(
        &self,
        tenant: &str,
        name: &str,
    ) -> Result<Vec<Proposal>, Problem> {
        let heads = self.shared.store.entries(EntryFilter {
            tenant: Some(tenant.to_owned()),
            label: Some(name.to_owned()),
            ..EntryFilter::of(Kind::Proposed)
        });
        let mut found = Vec::new();
        for entry in heads.await? {
            let mut next = head(&entry.body)?;
            for _ in 0..CHAIN_MAX {
                let Some(id) = next else {
                    break;
                };
                let Some(proposal) = self.read_proposal(tenant, id).await? else {
                    break;
                };
                let before = proposal.entry.supersedes.as_deref();
                next = before.and_then(|text| text.parse().ok());
                found.push(proposal);
            }
        }
        Ok(found)
    }

    async fn of_tenant(
        &self,
        caller: &Caller,
        filter: ProposalFilter,
    ) -> Result<Vec<Proposal>, Problem> {
        let now = self.shared.store.now().await?;
        let mut after = filter
            .after
            .map(|id| (caller.tenant.clone(), id.to_string()));
        let mut found = Vec::new();
        loop {
            let page = self.shared.store.entries(EntryFilter {
                tenant: Some(caller.tenant.clone()),
                label: filter.state.map(|state| state.word().to_owned()),
                after: after.clone(),
                limit: PAGE,
                ..EntryFilter::of(Kind::Proposal)
            });
            let page = page.await?;
            let more = page.len() == PAGE;
            after = page
                .last()
                .map(|entry| (entry.key.tenant.clone(), entry.key.id.clone()));
            for entry in page {
                let one = Proposal::of(entry, now)?;
                if filter.takes(&one) && self.may_see_proposal(caller, &one) {
                    found.push(one);
                }
            }
            if !more || found.len() >= filter.limit {
                found.truncate(filter.limit);
                return Ok(found);
            }
        }
    }

    async fn read_proposal(
        &self,
        tenant: &str,
        id: ProposalId,
    ) -> Result<Option<Proposal>, Problem> {
        let store = &self.shared.store;
        let now = store.now().await?;
        let entry = store.entry(Proposal::key(tenant, id)).await?;
        entry.map(|entry| Proposal::of(entry, now)).transpose()
    }

    fn may_see_proposal(&self, caller: &Caller, proposal: &Proposal) -> bool {
        let directory = self.shared.directory();
        proposal.tenant == caller.tenant && directory.acts_for(caller, proposal.entry.acts_for())
    }

    /// What takes another's place is for the same effect: it has its identity, and is for whom that was, where it says nothing else.
    async fn inheriting(
        &self,
        mut submission: Submission,
        caller: &Caller,
        ask: Ask,
    ) -> Result<Submission, Problem> {
        let Some(id) = ask.supersedes else {
            return Ok(submission);
        };
        let earlier = self.proposal(caller, id).await?.entry;
        let acts_for = earlier.acts_for().to_owned();
        submission.on_behalf_of.get_or_insert(acts_for);
        if submission.key.is_none() && submission.event.is_none() {
            let earlier = earlier.submission;
            submission.key = earlier.key;
            submission.event = earlier.event;
            submission.effect = earlier.effect;
        }
        Ok(submission)
    }

    /// One try; `None` where somebody else was faster.
    async fn propose_once(
        &self,
        submission: &Submission,
        caller: &Caller,
        ask: Ask,
    ) -> Result<Option<(Proposal, bool)>, Problem> {
        let now = self.shared.store.now().await?;
        let draft = self.draft(submission, caller, now).await?;
        let at = self.at(&caller.tenant, &draft).await?;
        if let Some(there) = &at.proposal
            && self.says_the_same(there, submission, caller).await?
        {
            let joined = self.proposal(caller, there.id).await?;
            return Ok(Some((joined, false)));
        }
        let old = self.free_for(&at, &draft, ask).await?;
        let (entry, id) = self.entry_for(submission, caller, (&draft, ask), now)?;
        let changes = changes(&at, &entry, id, old, &caller.principal);
        // The lanes are one, so that this is one transaction on a distributed database too.
        match self.shared.store.change(changes).await? {
            Registered::Stale => Ok(None),
            Registered::Durable { .. } => {
                let made = self.read_proposal(&caller.tenant, id).await?;
                made.map(|made| Some((made, true)))
                    .ok_or_else(|| unknown(id))
            }
        }
    }

    fn entry_for(
        &self,
        submission: &Submission,
        caller: &Caller,
        (draft, ask): (&Draft, Ask),
        now: Timestamp,
    ) -> Result<(ProposalEntry, ProposalId), Problem> {
        let until = ask.until.unwrap_or(now + draft.policy.holds);
        if until <= now {
            let rule = "expires_at is not in the future";
            let remedy = "set a later one, or leave it out";
            return Err(Problem::new(Code::BadTimes, "/expires_at", rule, remedy));
        }
        let action = &draft.admission.action;
        if action.intent.not_before.is_some_and(|at| at >= until) {
            let rule =
                "not_before has to be earlier than expires_at, else nothing could ever be sent";
            let remedy = "move one of them";
            return Err(Problem::new(Code::BadTimes, "/not_before", rule, remedy));
        }
        let named = Submission {
            on_behalf_of: Some(action.scope.principal.clone()),
            ..submission.clone()
        };
        let asked = draft.moves.asked_by(caller);
        let entry = ProposalEntry {
            v: ProposalEntry::V,
            state: ProposalState::Pending,
            submission: named,
            principal: asked.principal,
            grant: asked.grant,
            amount: asked.amount,
            digest: hex(&draft.digest.0),
            contract: hex(&action.content.contract),
            place: action.content.place.clone(),
            account: action
                .content
                .approved
                .as_ref()
                .and_then(|one| one.account.clone()),
            made_at: now.as_micros(),
            until: until.as_micros(),
            approvals: Vec::new(),
            supersedes: ask.supersedes.map(|id| id.to_string()),
            superseded_by: None,
            action: None,
        };
        let lane = action.identity_hash.lane();
        Ok((entry, ProposalId::new(now, lane, random_u64())))
    }

    async fn at(&self, tenant: &str, draft: &Draft) -> Result<At, Problem> {
        let identity = draft.admission.action.identity_hash;
        let key = EntryKey::beside(identity.lane(), Kind::Proposed, tenant, hex(&identity.0));
        let Some(entry) = self.shared.store.entry(key.clone()).await? else {
            return Ok(At {
                key,
                version: 0,
                proposal: None,
            });
        };
        let proposal = match head(&entry.body)? {
            Some(id) => self.read_proposal(tenant, id).await?,
            None => None,
        };
        Ok(At {
            key,
            version: entry.version,
            proposal,
        })
    }

    /// Whether a proposal that waits, or was approved, says what is to be proposed.
    async fn says_the_same(
        &self,
        there: &Proposal,
        submission: &Submission,
        caller: &Caller,
    ) -> Result<bool, Problem> {
        let open = matches!(
            there.state,
            ProposalState::Pending | ProposalState::Approved
        );
        if !open {
            return Ok(false);
        }
        let as_of = Timestamp::from_micros(there.entry.made_at);
        let draft = self.draft_as_of(submission, caller, as_of).await?;
        Ok(hex(&draft.digest.0) == there.entry.digest)
    }

    /// Whether the identity is free for another proposal; the one that it takes the place of.
    async fn free_for(
        &self,
        at: &At,
        draft: &Draft,
        ask: Ask,
    ) -> Result<Option<Proposal>, Problem> {
        let action = &draft.admission.action;
        if let Some(first) = self.shared.store.find(action.identity_hash).await? {
            let rule = format!("this identity names {}, recorded earlier", first.id());
            let remedy = "look at that action; for a second effect, use another key";
            let problem = Problem::new(Code::IdentityConflict, "/key", rule, remedy);
            return Err(problem.about(first.id()));
        }
        let waits = at.proposal.as_ref();
        let waits = waits.filter(|there| there.state == ProposalState::Pending);
        match (waits, ask.supersedes) {
            (Some(there), Some(id)) if there.id == id => Ok(Some(there.clone())),
            (Some(there), _) => {
                let rule = format!("{} waits for a decision, with another content", there.id);
                let remedy = "supersede that one: POST /v1/proposals/{id}/supersede";
                let problem = Problem::new(Code::ProposalOpen, "", rule, remedy);
                Err(problem.about_proposal(there.id))
            }
            (None, Some(id)) => {
                let ended = self.read_proposal(&action.scope.tenant, id).await?;
                let ended = ended.ok_or_else(|| unknown(id))?;
                Err(if same_effect(&ended, action)? {
                    closed(&ended)
                } else {
                    another_effect()
                })
            }
            (None, None) => Ok(None),
        }
    }

    /// A proposal that ends without an action.
    fn ended(&self, proposal: &Proposal, state: ProposalState, by: &str, why: &str) -> Change {
        let entry = ProposalEntry {
            state,
            ..proposal.entry.clone()
        };
        written(proposal, &entry, by, why)
    }
}

impl ProposalFilter {
    fn takes(&self, proposal: &Proposal) -> bool {
        let destination = &proposal.entry.submission.destination;
        self.state.is_none_or(|state| state == proposal.state)
            && self
                .destination
                .as_ref()
                .is_none_or(|name| name == destination)
    }
}

/// The new proposal, the identity that is at it, and the one whose place it takes: all or none.
fn changes(
    at: &At,
    entry: &ProposalEntry,
    id: ProposalId,
    old: Option<Proposal>,
    by: &str,
) -> Vec<Change> {
    let talk = entry.submission.conversation.as_ref();
    let body = Head {
        v: 1,
        proposal: id.to_string(),
    };
    let tenant = at.key.tenant.clone();
    let (by, why) = (by.to_owned(), "proposed".to_owned());
    let mut changes = vec![
        Change {
            key: Proposal::key(&tenant, id),
            expected: 0,
            body: entry.text(),
            label: Some(entry.state.word().to_owned()),
            due: Some(Timestamp::from_micros(entry.until)),
            by: by.clone(),
            why: why.clone(),
        },
        Change {
            key: at.key.clone(),
            expected: at.version,
            body: serde_json::to_string(&body).expect("plain data serialises"),
            label: talk.map(|talk| talk.id.clone()),
            due: None,
            by: by.clone(),
            why,
        },
    ];
    if let Some(old) = old {
        let entry = ProposalEntry {
            state: ProposalState::Superseded,
            superseded_by: Some(id.to_string()),
            ..old.entry.clone()
        };
        changes.push(written(&old, &entry, &by, "superseded"));
    }
    changes
}

/// A proposal as it is from now on.
fn written(proposal: &Proposal, entry: &ProposalEntry, by: &str, why: &str) -> Change {
    let pending = entry.state == ProposalState::Pending;
    Change {
        key: Proposal::key(&proposal.tenant, proposal.id),
        expected: proposal.version,
        body: entry.text(),
        label: Some(entry.state.word().to_owned()),
        due: pending.then(|| Timestamp::from_micros(entry.until)),
        by: by.to_owned(),
        why: why.to_owned(),
    }
}

fn head(body: &str) -> Result<Option<ProposalId>, Problem> {
    let read: Head = serde_json::from_str(body).map_err(|error| {
        let rule = format!("which proposal an identity is at: {error}");
        Problem::new(Code::StoreDamaged, "", rule, "run `factum doctor`")
    })?;
    Ok(read.proposal.parse().ok())
}

pub(super) fn unknown(id: ProposalId) -> Problem {
    let rule = format!("no proposal {id} is recorded here");
    let remedy = "check the id; it is in the answer to the proposal";
    Problem::new(Code::UnknownProposal, "", rule, remedy).about_proposal(id)
}

/// Whether a proposal is for the effect that an action is for.
fn same_effect(proposal: &Proposal, action: &Action) -> Result<bool, Problem> {
    let entry = &proposal.entry;
    let checked = (entry.submission.clone()).check(&proposal.tenant, &entry.principal)?;
    let scope = Scope {
        destination: full_name(&proposal.tenant, &checked.scope.destination),
        ..checked.scope
    };
    Ok(scope == action.scope && checked.identity == action.identity)
}

fn another_effect() -> Problem {
    let rule = "what takes a proposal's place is for the same effect: same destination, operation, key, and for whom";
    let remedy = "leave `key` out to keep it; for another effect, decline that one and propose this one by itself";
    Problem::new(Code::BadIdentity, "/key", rule, remedy)
}

/// Why nothing can be decided on it any more.
pub(super) fn closed(proposal: &Proposal) -> Problem {
    let entry = &proposal.entry;
    let id = proposal.id;
    let newer = entry.superseded_by.as_deref();
    let (rule, remedy) = match proposal.state {
        ProposalState::Superseded => (
            format!("{id} was superseded by {}", newer.unwrap_or("another one")),
            "look at the newer one, and decide on that",
        ),
        ProposalState::Declined => (
            format!(
                "{id} was declined by {}: {}",
                proposal.changed_by, proposal.changed_why
            ),
            "propose anew",
        ),
        ProposalState::Expired => (format!("{id} has expired"), "propose anew"),
        ProposalState::Approved => (
            format!("{id} was approved"),
            "look at its action; cancel that to stop what was not sent",
        ),
        ProposalState::Pending => (format!("{id} waits for a decision"), "decide"),
    };
    let problem = Problem::new(Code::ProposalClosed, "", rule, remedy);
    let problem = match entry.action_id() {
        Some(action) => problem.about(action),
        None => problem,
    };
    let named = newer.and_then(|text| text.parse().ok());
    problem.about_proposal(named.unwrap_or(id))
}
