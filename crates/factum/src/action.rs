//! Building one action, and the handle by which it is asked for afterwards.

use factum_core::identity::{Identity, Scope};
use factum_core::{ActionId, IdentityHash};
use factum_engine::submission::{ConversationRef, EventRef};
use factum_engine::{Ask, Code, Problem, Submission};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::proposals::ProposalAnswer;
#[cfg(feature = "sqlite")]
use crate::{DEFAULT_PRINCIPAL, DEFAULT_TENANT};
use crate::{Factum, Submitted};

/// An action that is being built. Nothing is recorded before one of the `submit` methods.
#[must_use]
pub struct ActionBuilder<'a> {
    factum: &'a Factum,
    submission: Submission,
    problem: Option<Problem>,
}

/// By what an action is asked for: its id, or its identity while it still stands in an outbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handle {
    /// By id.
    Action(ActionId),
    /// By identity.
    Identity(IdentityHash),
    /// By the id that it has from its transaction's commit on, although no engine may have taken it over yet.
    Reserved(ActionId),
}

impl From<ActionId> for Handle {
    fn from(id: ActionId) -> Self {
        Self::Action(id)
    }
}

impl<'a> ActionBuilder<'a> {
    pub(crate) fn new(factum: &'a Factum, destination: &str, operation: &str) -> Self {
        let submission = Submission {
            destination: destination.to_owned(),
            operation: operation.to_owned(),
            ..Submission::default()
        };
        Self {
            factum,
            submission,
            problem: None,
        }
    }

    /// The caller's name for this effect: the same for every repeat of the intent, another for a second effect.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.submission.key = Some(key.into());
        self
    }

    /// The event that causes the effect, and which of its effects this is.
    pub fn event(
        mut self,
        source: impl Into<String>,
        id: impl Into<String>,
        effect: impl Into<String>,
    ) -> Self {
        self.submission.event = Some(EventRef {
            source: source.into(),
            id: id.into(),
        });
        self.submission.effect = Some(effect.into());
        self
    }

    /// Values for the contract's templates: something that serialises to a JSON object.
    pub fn params(mut self, params: impl Serialize) -> Self {
        self.submission.params = self.raw("/params", &params);
        self
    }

    /// What is sent.
    pub fn payload(mut self, payload: impl Serialize) -> Self {
        self.submission.payload = self.raw("/payload", &payload);
        self
    }

    /// One line for people, safe to show.
    pub fn summary(mut self, summary: impl Into<String>) -> Self {
        self.submission.summary = Some(summary.into());
        self
    }

    /// What it works on at its destination, as in `ticket/77`. While a later action on it exists, a harmless effect is not
    /// repeated unless the destination checks a condition.
    pub fn subject(mut self, subject: impl Into<String>) -> Self {
        self.submission.subject = Some(subject.into());
        self
    }

    /// Equal content under another identity is meant to be a second effect: overrides the operation's twin guard.
    pub fn another(mut self) -> Self {
        self.submission.another = Some(true);
        self
    }

    /// For whom it is carried out.
    pub fn on_behalf_of(mut self, principal: impl Into<String>) -> Self {
        self.submission.on_behalf_of = Some(principal.into());
        self
    }

    /// The W3C `traceparent` of the caller. It correlates only, and goes to destinations that take one.
    pub fn trace(mut self, trace: impl Into<String>) -> Self {
        self.submission.trace = Some(trace.into());
        self
    }

    /// In which conversation, at which turn, in which words it was asked for.
    pub fn conversation(
        mut self,
        id: impl Into<String>,
        turn: u64,
        asked: impl Into<String>,
    ) -> Self {
        self.submission.conversation = Some(ConversationRef {
            id: id.into(),
            turn: Some(turn),
            asked: Some(asked.into()),
        });
        self
    }

    /// The language of whoever asked, as a BCP 47 tag: statements about it are worded in it.
    pub fn locale(mut self, tag: impl Into<String>) -> Self {
        self.submission.locale = Some(tag.into());
        self
    }

    /// No effect request from this on.
    pub fn deadline(mut self, at: jiff::Timestamp) -> Self {
        self.submission.deadline = Some(at);
        self
    }

    /// No send before this.
    pub fn not_before(mut self, at: jiff::Timestamp) -> Self {
        self.submission.not_before = Some(at);
        self
    }

    /// When the intent was formed.
    pub fn intent_at(mut self, at: jiff::Timestamp) -> Self {
        self.submission.intent_at = Some(at);
        self
    }

    /// Records it, or joins the action that its identity names.
    ///
    /// # Errors
    /// [`Problem`]; nothing was recorded then.
    pub async fn submit(self) -> Result<Submitted, Problem> {
        match self.problem {
            Some(problem) => Err(problem),
            None => self.factum.submit(self.submission).await,
        }
    }

    /// Proposes it instead: nothing is sent before it is approved ([`Factum::approve`]).
    ///
    /// # Errors
    /// [`Problem`]; nothing was recorded then.
    pub async fn propose(self, ask: Ask) -> Result<ProposalAnswer, Problem> {
        match self.problem {
            Some(problem) => Err(problem),
            None => self.factum.propose(self.submission, ask).await,
        }
    }

    /// Records it in the application's own transaction: it commits with the application's data, or not at all. The file needs
    /// its outbox ([`crate::outbox::prepare`]) and an engine that picks it up ([`Factum::outbox`]).
    ///
    /// # Errors
    /// [`Problem`] if the submission breaks a rule, or the row cannot be written; the caller rolls back.
    #[cfg(feature = "sqlite")]
    pub fn submit_in(self, transaction: &rusqlite::Transaction<'_>) -> Result<Handle, Problem> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        let submission = self
            .factum
            .engine()
            .keyed(self.submission, DEFAULT_TENANT)?;
        let body = to_json(&submission)?;
        let checked = submission.check(DEFAULT_TENANT, DEFAULT_PRINCIPAL)?;
        crate::outbox::insert(transaction, &body).map_err(|error| {
            let rule = format!("the outbox row could not be written: {error}");
            Problem::new(
                Code::StoreFailed,
                "",
                rule,
                "make the outbox with factum::outbox::prepare, then try again",
            )
        })?;
        Ok(Handle::Identity(
            self.factum.identity_of(&checked.scope, &checked.identity),
        ))
    }

    /// The same in a transaction of PostgreSQL, on the database that the engines work on.
    ///
    /// # Errors
    /// [`Problem`] if the submission breaks a rule or the row cannot be written; the caller rolls back.
    #[cfg(feature = "postgres")]
    pub async fn submit_in_postgres(
        self,
        transaction: &tokio_postgres::Transaction<'_>,
    ) -> Result<Handle, Problem> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        let submission = self
            .factum
            .engine()
            .keyed(self.submission, DEFAULT_TENANT)?;
        let submitted = crate::postgres::submit(transaction, &submission).await?;
        Ok(Handle::Reserved(submitted.id))
    }

    fn raw(&mut self, member: &str, value: &impl Serialize) -> Option<Box<RawValue>> {
        match to_raw_value(value) {
            Ok(raw) => Some(raw),
            Err(error) => {
                let rule = format!("the value cannot be written as JSON: {error}");
                self.problem = Some(Problem::new(
                    Code::WrongType,
                    member,
                    rule,
                    "pass a value that serde can serialise",
                ));
                None
            }
        }
    }
}

impl Factum {
    /// The keyed hash by which an identity is found.
    #[must_use]
    pub fn identity_of(&self, scope: &Scope, identity: &Identity) -> IdentityHash {
        self.engine().identity_hash(scope, identity)
    }
}

/// A submission as the body of `POST /v1/actions`.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) fn to_json(submission: &Submission) -> Result<String, Problem> {
    serde_json::to_string(submission).map_err(|error| {
        let rule = format!("the submission cannot be written as JSON: {error}");
        Problem::new(
            Code::WrongType,
            "",
            rule,
            "pass values that serde can serialise",
        )
    })
}
