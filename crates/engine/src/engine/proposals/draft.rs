//! What a proposal comes to: the action that it would make, what that would send, and the digest over both.

use factum_core::{ActionId, ProposalDigest, ProposalId, Timestamp};
use factum_store::{Admission, Approved};

use super::Engine;
use crate::approval::ApprovalPolicy;
use crate::destination::{Operation, Reach};
use crate::directory::Caller;
use crate::engine::random_u64;
use crate::engine::submit::Moves;
use crate::problem::{Problem, from_build_error};
use crate::proposal::{Proposal, Rendered, digest_of, request_of};
use crate::submission::Submission;

/// An action that is not recorded.
pub(super) struct Draft {
    /// What the store would be asked for.
    pub(super) admission: Admission,
    /// How much it moves.
    pub(super) moves: Moves,
    /// The digest of what would be sent.
    pub(super) digest: ProposalDigest,
    /// What the operation asks for.
    pub(super) policy: ApprovalPolicy,
}

/// Under what a draft is made.
#[derive(Clone, Copy)]
struct Under<'a> {
    caller: &'a Caller,
    /// The instant that stands in the request, where the contract writes one.
    as_of: Timestamp,
    now: Timestamp,
    /// The id that an application's own transaction was told for this identity, in a row that was refused since.
    reserved: Option<ActionId>,
}

impl Engine {
    /// As of now, if the caller has the authority for it.
    pub(super) async fn draft(
        &self,
        submission: &Submission,
        caller: &Caller,
        now: Timestamp,
    ) -> Result<Draft, Problem> {
        let under = Under {
            caller,
            as_of: now,
            now,
            reserved: None,
        };
        self.draft_under(submission, under).await
    }

    /// The same as it was shown earlier.
    pub(super) async fn draft_as_of(
        &self,
        submission: &Submission,
        caller: &Caller,
        as_of: Timestamp,
    ) -> Result<Draft, Problem> {
        let now = self.shared.store.now().await?;
        let under = Under {
            caller,
            as_of,
            now,
            reserved: None,
        };
        self.draft_under(submission, under).await
    }

    /// What a proposal would come to if it were approved now, under the authority of whoever asked.
    pub(super) async fn draft_of(
        &self,
        proposal: &Proposal,
        reserved: Option<ActionId>,
    ) -> Result<Draft, Problem> {
        let caller = asker(proposal);
        let under = Under {
            caller: &caller,
            as_of: Timestamp::from_micros(proposal.entry.made_at),
            now: self.shared.store.now().await?,
            reserved,
        };
        self.draft_under(&proposal.entry.submission, under).await
    }

    async fn draft_under(
        &self,
        submission: &Submission,
        under: Under<'_>,
    ) -> Result<Draft, Problem> {
        let caller = under.caller;
        let mut checked = submission
            .clone()
            .check(&caller.tenant, &caller.principal)?;
        // A proposal that a copy of the store still holds as waiting may have been approved and sent in what was lost (R18).
        let formed = checked.intent_at.unwrap_or(under.as_of);
        checked.intent_at = Some(formed.min(under.as_of));
        let (destination, operation) = self.operation(
            &caller.tenant,
            &checked.scope.destination,
            &checked.scope.operation,
        )?;
        let account = destination.account.clone();
        let (mut admission, moves) = self
            .authorized(checked, caller, under.reserved, under.now)
            .await?;
        let content = &mut admission.action.content;
        content.approved = Some(blank(admission.action.intent.action, account, under.as_of));
        let digest = self.digest(&admission, operation)?;
        Ok(Draft {
            admission,
            moves,
            digest,
            policy: operation.approval.clone().unwrap_or_default(),
        })
    }

    fn digest(
        &self,
        admission: &Admission,
        operation: &Operation,
    ) -> Result<ProposalDigest, Problem> {
        let action = &admission.action;
        let approved = action.content.approved.as_ref();
        let account = approved.and_then(|approved| approved.account.as_deref());
        let keys = &self.shared.keys;
        let request = match &operation.contract {
            Some(own) => Some(
                request_of(keys, action, &own.contract)
                    .map_err(|error| from_build_error(&error))?,
            ),
            None => None,
        };
        Ok(digest_of(keys, action, request.as_ref(), account))
    }

    /// What a proposal sends, or has sent, under the contract that it was made under: whoever has lost authority since changes
    /// nothing about what was shown.
    pub(super) async fn shown(&self, proposal: &Proposal) -> Result<Option<Rendered>, Problem> {
        let entry = &proposal.entry;
        let as_of = Timestamp::from_micros(entry.made_at);
        let caller = asker(proposal);
        let checked = (entry.submission.clone()).check(&caller.tenant, &caller.principal)?;
        let scope = &checked.scope;
        let place = self.operation(&caller.tenant, &scope.destination, &scope.operation)?;
        let (destination, operation) = place;
        let mut checked = checked;
        checked.scope.destination.clone_from(&destination.name);
        let identity = self.shared.keys.identity(&checked.scope, &checked.identity);
        let id = ActionId::new(as_of, identity.lane(), random_u64());
        let mut admission = self
            .admission(place, checked, as_of, (identity, id))
            .await?;
        admission.action.content.approved = Some(blank(id, entry.account.clone(), as_of));
        let Some(own) = &operation.contract else {
            return Ok(None);
        };
        let pinned = match entry.contract_digest() {
            Some(digest) => self.shared.contract(digest).await,
            None => None,
        };
        let contract = pinned.unwrap_or_else(|| own.contract.clone());
        let request = request_of(&self.shared.keys, &admission.action, &contract)
            .map_err(|error| from_build_error(&error))?;
        let base = match (&entry.place, &destination.reach) {
            (Some(place), _) => place.clone(),
            (None, Reach::Http(target)) => target.base(),
            (None, Reach::InProcess(_) | Reach::Elsewhere) => String::new(),
        };
        Ok(Some(Rendered {
            method: request.method,
            address: format!("{}{}", base.trim_end_matches('/'), request.path_and_query),
            headers: request.headers,
            body: request.body,
        }))
    }
}

/// Whoever asked for a proposal, as they act.
pub(super) fn asker(proposal: &Proposal) -> Caller {
    let asked = proposal.entry.asked_by();
    Caller {
        grant: asked.grant,
        ..Caller::trusted(&proposal.tenant, &asked.principal)
    }
}

/// Holds the account and the instant, of which the request and its digest are made; nothing is approved by it.
fn blank(action: ActionId, account: Option<String>, as_of: Timestamp) -> Approved {
    Approved {
        proposal: ProposalId::new(as_of, action.lane(), 0),
        digest: ProposalDigest([0; 32]),
        as_of,
        account,
        by: Vec::new(),
    }
}
