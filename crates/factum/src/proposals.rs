//! Proposals as every interface shows them: what would be sent, who asks, who approved, and what differs from the one before.

use factum_core::{ProposalId, Timestamp};
use factum_engine::proposal::{Proposal, ProposalState, Rendered};
use factum_engine::{
    Ask, Caller, Code, Decided, Decision, Problem, ProposalFilter, Proposed, Submission,
};
use serde::Serialize;
use serde_json::Value;

use crate::statements::Reader;
use crate::teller::Teller;
use crate::view::{StatementView, StatusView, rfc3339};
use crate::{DEFAULT_PRINCIPAL, DEFAULT_TENANT, Engine, Factum};

/// Differences that are listed at the most.
const DIFFERENCES_MAX: usize = 100;

/// A proposal as it stands.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProposalView {
    /// `pro_…`.
    pub id: String,
    /// `pending`, `approved`, `declined`, `superseded` or `expired`.
    pub state: &'static str,
    /// What an approval names: the digest of everything that would be done.
    pub digest: String,
    /// The caller's name for the effect.
    pub key: String,
    /// Where it would go.
    pub destination: String,
    /// What would be done there.
    pub operation: String,
    /// What the effect is called, in the contract's word.
    pub kind: Option<String>,
    /// How much it moves, where the contract says.
    pub amount: Option<AmountView>,
    /// For whom.
    #[serde(rename = "for")]
    pub on_behalf_of: String,
    /// Who asks.
    pub asked_by: String,
    /// Under which grant.
    pub grant: Option<String>,
    /// One line for people.
    pub summary: Option<String>,
    /// What it works on.
    pub subject: Option<String>,
    /// In which conversation it was asked for.
    pub conversation: Option<AskedView>,
    /// When it was made.
    pub created_at: String,
    /// It may be decided on before this, and nothing is sent from then on.
    pub expires_at: String,
    /// How many people have to approve.
    pub people: usize,
    /// Who has, so far.
    pub approvals: Vec<ApprovalView>,
    /// The one whose place it took.
    pub supersedes: Option<String>,
    /// The one that took its place.
    pub superseded_by: Option<String>,
    /// Who changed it last, when and why.
    pub changed: ChangedView,
    /// The action that its approval made.
    pub action: Option<String>,
    /// What may be said about it.
    pub statement: StatementView,
}

/// An amount, as it is written in the payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AmountView {
    /// The number.
    pub number: String,
    /// Its currency.
    pub currency: Option<String>,
}

/// Where it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AskedView {
    /// The conversation's name at the caller.
    pub id: String,
    /// At which turn.
    pub turn: Option<u64>,
    /// In which words.
    pub asked: Option<String>,
}

/// One approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ApprovalView {
    /// Who; none where the operation's policy did.
    pub by: Option<String>,
    /// When.
    pub at: String,
    /// Nothing is sent from then on.
    pub until: Option<String>,
    /// Why.
    pub reason: Option<String>,
}

/// A change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedView {
    /// When.
    pub at: String,
    /// Who.
    pub by: String,
    /// Why.
    pub why: String,
}

/// A proposal with everything that somebody who decides has to see.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProposalDetail {
    /// The proposal.
    #[serde(flatten)]
    pub proposal: ProposalView,
    /// The content as it was handed in.
    pub content: Value,
    /// What would be sent, without secrets; none where an application's own code carries it out.
    pub request: Option<RequestView>,
    /// What an approval would send now is not what was proposed, and why: then it cannot be approved.
    pub stale: Option<String>,
    /// What differs from the one whose place it took, by member.
    pub differences: Vec<Difference>,
}

/// A request as it would be sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RequestView {
    /// `POST` and the like.
    pub method: String,
    /// The whole address.
    pub address: String,
    /// Headers but those of authentication, in order.
    pub headers: Vec<HeaderView>,
    /// The body; none where it is no text.
    pub body: Option<String>,
    /// How long the body is.
    pub body_bytes: usize,
}

/// A header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HeaderView {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// One member that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// JSON pointer into the content.
    pub member: String,
    /// What stood there; null where nothing did.
    pub was: Value,
    /// What stands there now; null where nothing does.
    pub is: Value,
}

/// What became of a proposal, or of a decision on one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProposalAnswer {
    /// The proposal as it stands.
    pub proposal: ProposalDetail,
    /// Its action, once there is one.
    pub action: Option<StatusView>,
    /// Recorded by this very call: the proposal, or the action that an approval makes.
    #[serde(skip)]
    pub created: bool,
}

impl Factum {
    /// Records content to be decided on, or joins the proposal that says the same. Nothing is sent before it is approved.
    ///
    /// # Errors
    /// [`Problem`]; nothing was recorded then.
    pub async fn propose(
        &self,
        submission: Submission,
        ask: Ask,
    ) -> Result<ProposalAnswer, Problem> {
        let caller = Caller::trusted(DEFAULT_TENANT, DEFAULT_PRINCIPAL);
        self.propose_for(submission, &caller, ask, Reader::default())
            .await
    }

    /// The same with the authority of a caller, answered to a reader.
    ///
    /// # Errors
    /// [`Problem`]; nothing was recorded then.
    pub async fn propose_for(
        &self,
        submission: Submission,
        caller: &Caller,
        ask: Ask,
        reader: Reader,
    ) -> Result<ProposalAnswer, Problem> {
        let Proposed {
            proposal,
            created,
            action,
        } = self.engine().propose(submission, caller, ask).await?;
        Ok(ProposalAnswer {
            proposal: self.detail(&proposal, reader).await?,
            action: action.map(|record| self.view(&record, !created, reader)),
            created,
        })
    }

    /// Approves what a proposal's digest names; with the last approval that is asked for its action is recorded.
    ///
    /// # Errors
    /// [`Problem`]: see [`Engine::approve`].
    pub async fn approve(
        &self,
        caller: &Caller,
        id: ProposalId,
        decision: Decision<'_>,
        reader: Reader,
    ) -> Result<ProposalAnswer, Problem> {
        let Decided {
            proposal,
            action,
            created,
        } = self.engine().approve(caller, id, decision).await?;
        Ok(ProposalAnswer {
            proposal: self.detail(&proposal, reader).await?,
            action: action.map(|record| self.view(&record, !created, reader)),
            created,
        })
    }

    /// Declines a proposal, or withdraws one's own.
    ///
    /// # Errors
    /// [`Problem`]: see [`Engine::decline`].
    pub async fn decline(
        &self,
        caller: &Caller,
        id: ProposalId,
        why: &str,
        reader: Reader,
    ) -> Result<ProposalAnswer, Problem> {
        let proposal = self.engine().decline(caller, id, why).await?;
        Ok(ProposalAnswer {
            proposal: self.detail(&proposal, reader).await?,
            action: None,
            created: false,
        })
    }

    /// One proposal, with what it would send.
    ///
    /// # Errors
    /// [`Code::UnknownProposal`], or [`Problem`] if the store cannot be read.
    pub async fn proposal(
        &self,
        caller: &Caller,
        id: ProposalId,
        reader: Reader,
    ) -> Result<ProposalDetail, Problem> {
        let proposal = self.engine().proposal(caller, id).await?;
        self.detail(&proposal, reader).await
    }

    /// Proposals that match, oldest first.
    ///
    /// # Errors
    /// [`Problem`] if the store cannot be read.
    pub async fn proposals(
        &self,
        caller: &Caller,
        filter: ProposalFilter,
        reader: Reader,
    ) -> Result<Vec<ProposalView>, Problem> {
        let found = self.engine().proposals(caller, filter).await?;
        let teller = &self.inner.teller;
        let views = found.iter();
        Ok(views
            .map(|one| ProposalView::of(self.engine(), teller, one, reader))
            .collect())
    }

    async fn detail(&self, proposal: &Proposal, reader: Reader) -> Result<ProposalDetail, Problem> {
        let engine = self.engine();
        let stale = match proposal.state {
            ProposalState::Pending => engine.changed_since(proposal).await?,
            ProposalState::Approved
            | ProposalState::Declined
            | ProposalState::Superseded
            | ProposalState::Expired => None,
        };
        let (request, stale) = match engine.rendered(proposal).await {
            Ok(request) => (request.map(RequestView::of), stale),
            Err(problem) if problem.code.status() < 500 => {
                (None, stale.or(Some(problem.rule.into_string())))
            }
            Err(problem) => return Err(problem),
        };
        Ok(ProposalDetail {
            proposal: ProposalView::of(engine, &self.inner.teller, proposal, reader),
            content: content(proposal)?,
            request,
            stale,
            differences: self.differences(proposal).await?,
        })
    }

    async fn differences(&self, proposal: &Proposal) -> Result<Vec<Difference>, Problem> {
        let before = proposal.entry.supersedes.as_deref();
        let Some(id) = before.and_then(|text| text.parse().ok()) else {
            return Ok(Vec::new());
        };
        let whole = Caller::trusted(&proposal.tenant, DEFAULT_PRINCIPAL);
        let earlier = self.engine().proposal(&whole, id).await?;
        let mut found = Vec::new();
        differ(&content(&earlier)?, &content(proposal)?, "", &mut found);
        found.truncate(DIFFERENCES_MAX);
        Ok(found)
    }
}

impl ProposalView {
    /// As it is told to a reader.
    #[must_use]
    pub fn of(engine: &Engine, teller: &Teller, proposal: &Proposal, reader: Reader) -> Self {
        let entry = &proposal.entry;
        let submission = &entry.submission;
        let talk = submission.conversation.as_ref();
        let instant = |micros| rfc3339(Timestamp::from_micros(micros));
        let amount = entry.amount.clone();
        let approvals = entry.approvals.iter();
        Self {
            id: proposal.id.to_string(),
            state: proposal.state.word(),
            digest: entry.digest.clone(),
            key: key(submission),
            destination: submission.destination.clone(),
            operation: submission.operation.clone(),
            kind: engine.kind_of(proposal).map(ToOwned::to_owned),
            amount: amount.map(|(number, currency)| AmountView { number, currency }),
            on_behalf_of: entry.acts_for().to_owned(),
            asked_by: entry.principal.clone(),
            grant: entry.grant.clone(),
            summary: submission.summary.clone(),
            subject: submission.subject.clone(),
            conversation: talk.map(|talk| AskedView {
                id: talk.id.clone(),
                turn: talk.turn,
                asked: talk.asked.clone(),
            }),
            created_at: instant(entry.made_at),
            expires_at: instant(entry.until),
            people: engine.people_for(proposal),
            approvals: approvals
                .map(|one| ApprovalView {
                    by: (!one.policy).then(|| one.by.clone()),
                    at: instant(one.at),
                    until: one.until.map(instant),
                    reason: one.why.clone(),
                })
                .collect(),
            supersedes: entry.supersedes.clone(),
            superseded_by: entry.superseded_by.clone(),
            changed: ChangedView {
                at: rfc3339(proposal.changed_at),
                by: proposal.changed_by.clone(),
                why: proposal.changed_why.clone(),
            },
            action: entry.action.clone(),
            statement: teller.proposed(proposal, reader),
        }
    }
}

impl RequestView {
    fn of(rendered: Rendered) -> Self {
        let headers = rendered.headers.into_iter();
        Self {
            method: rendered.method,
            address: rendered.address,
            headers: headers
                .map(|(name, value)| HeaderView { name, value })
                .collect(),
            body_bytes: rendered.body.len(),
            body: String::from_utf8(rendered.body).ok(),
        }
    }
}

impl Teller {
    /// What may be said about a proposal. Of an approved one: that; how its action stands is said by the action's own statement.
    #[must_use]
    pub fn proposed(&self, proposal: &Proposal, reader: Reader) -> StatementView {
        let submitted = proposal.entry.submission.locale.as_deref();
        let words = self.statements.words(&proposal.tenant, reader, submitted);
        words.proposal(match proposal.state {
            ProposalState::Pending => "proposal-pending",
            ProposalState::Approved => "proposal-approved",
            ProposalState::Declined => "proposal-declined",
            ProposalState::Superseded => "proposal-superseded",
            ProposalState::Expired => "proposal-expired",
        })
    }
}

/// As an action of this submission shows its key.
fn key(submission: &Submission) -> String {
    let event = submission.event.as_ref();
    let event = event.map(|event| {
        let effect = submission.effect.as_deref().unwrap_or_default();
        format!("{} {} {effect}", event.source, event.id)
    });
    submission.key.clone().or(event).unwrap_or_default()
}

fn content(proposal: &Proposal) -> Result<Value, Problem> {
    // Over its text, so that numbers stay as they are written.
    let text = serde_json::to_string(&proposal.entry.submission);
    let value = text.and_then(|text| serde_json::from_str(&text));
    value.map_err(|error| {
        let rule = format!("the proposal {} cannot be shown: {error}", proposal.id);
        Problem::new(Code::Internal, "", rule, "see the log")
    })
}

/// Member by member, down to what is no object on both sides.
fn differ(was: &Value, is: &Value, at: &str, found: &mut Vec<Difference>) {
    if let (Value::Object(before), Value::Object(now)) = (was, is) {
        let names: std::collections::BTreeSet<&String> = before.keys().chain(now.keys()).collect();
        for name in names {
            let member = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
            let side = |all: &serde_json::Map<String, Value>| {
                all.get(name).cloned().unwrap_or(Value::Null)
            };
            differ(&side(before), &side(now), &member, found);
        }
    } else if was != is {
        found.push(Difference {
            member: at.to_owned(),
            was: was.clone(),
            is: is.clone(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_named_by_the_smallest_member() {
        let was = serde_json::json!({"a": 1, "b": {"c/d": "x", "e": [1]}, "gone": true});
        let is = serde_json::json!({"a": 1, "b": {"c/d": "y", "e": [1, 2]}, "new": 1.50});
        let mut found = Vec::new();
        differ(&was, &is, "", &mut found);
        let members: Vec<&str> = found.iter().map(|one| one.member.as_str()).collect();
        assert_eq!(members, ["/b/c~1d", "/b/e", "/gone", "/new"]);
        assert_eq!(
            (&found[2].was, &found[2].is),
            (&Value::Bool(true), &Value::Null)
        );
    }
}
