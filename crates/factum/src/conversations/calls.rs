//! What an application, or the server, calls of all this.

use factum_core::ActionId;
use factum_engine::Problem;

use super::{
    ConversationView, Conversations, CorrectionFilter, CorrectionView, Place, Telling, ToldAnswer,
};
use crate::Factum;
use crate::statements::{Audience, Reader};
use crate::view::StatusView;

impl Factum {
    /// What was asked in a conversation and what may be said. What a customer or an agent is shown counts as told.
    ///
    /// # Errors
    /// [`Code::UnknownConversation`](crate::Code::UnknownConversation), or [`Problem`] of the store.
    pub async fn conversation(
        &self,
        tenant: &str,
        id: &str,
        reader: Reader,
    ) -> Result<ConversationView, Problem> {
        self.inner.watch.begins();
        self.conversations().show(tenant, id, reader).await
    }

    /// Keeps what a conversation was told about an action, or that it was not told it.
    ///
    /// # Errors
    /// See [`Conversations::told`].
    pub async fn told(
        &self,
        tenant: &str,
        conversation: &str,
        action: ActionId,
        telling: Telling,
        reader: Reader,
    ) -> Result<ToldAnswer, Problem> {
        self.inner.watch.begins();
        let place = Place {
            tenant,
            conversation,
            action,
        };
        self.conversations().told(place, telling, reader).await
    }

    /// Corrections that are due.
    ///
    /// # Errors
    /// [`Problem`] of the store.
    pub async fn corrections(
        &self,
        tenant: &str,
        filter: CorrectionFilter,
        audience: Audience,
    ) -> Result<Vec<CorrectionView>, Problem> {
        self.conversations()
            .corrections(tenant, filter, audience)
            .await
    }

    /// Keeps that a correction was passed on.
    ///
    /// # Errors
    /// See [`Conversations::acknowledge`].
    pub async fn acknowledge(
        &self,
        tenant: &str,
        conversation: &str,
        action: ActionId,
        version: u64,
        by: &str,
    ) -> Result<CorrectionView, Problem> {
        let place = Place {
            tenant,
            conversation,
            action,
        };
        self.conversations()
            .acknowledge(place, version, by, Reader::default())
            .await
    }

    /// Keeps that a status was handed out for the conversation of its action, as the answer to a submission is. What is recorded
    /// is answered in any case; where this cannot be kept, the log says so.
    pub async fn handed_out(&self, tenant: &str, status: &StatusView) {
        let Some((conversation, action)) =
            status.conversation.as_deref().zip(status.id.parse().ok())
        else {
            return;
        };
        self.inner.watch.begins();
        let place = Place {
            tenant,
            conversation,
            action,
        };
        if let Err(problem) = self.conversations().hand_out(place, status).await {
            tracing::warn!(%action, %problem, "it cannot be kept what a conversation was told");
        }
    }

    fn conversations(&self) -> Conversations<'_> {
        Conversations::new(&self.inner.engine, &self.inner.teller)
    }
}
