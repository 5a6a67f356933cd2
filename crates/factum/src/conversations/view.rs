//! What is shown of a conversation.

use serde::Serialize;

use super::told::{How, Told};
use crate::proposals::ProposalView;
use crate::view::{StatementView, StatusView, rfc3339};

/// A conversation: what was asked in it, and what may be said.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConversationView {
    /// Its name at the caller.
    pub id: String,
    /// The actions, oldest first.
    pub actions: Vec<InConversation>,
    /// What was asked for and people decide on first, oldest first: what waits, and what came to nothing. An approved one is among the
    /// actions.
    pub proposals: Vec<ProposalView>,
    /// How many of the actions have a correction due.
    pub corrections_due: usize,
    /// These are all; else the newest.
    pub complete: bool,
}

/// One action in a conversation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InConversation {
    /// At which turn it was asked for.
    pub turn: Option<u64>,
    /// In which words.
    pub asked: Option<String>,
    /// How it stands, with what may be said now and what may not.
    pub status: StatusView,
    /// What was told, oldest first.
    pub told: Vec<ToldView>,
    /// What has to be put right.
    pub correction: Option<CorrectionView>,
}

/// One statement that was told, or counts as told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToldView {
    /// The version of the status that was read.
    pub version: u64,
    /// Which statement.
    pub statement: &'static str,
    /// The statement that its words amount to, where they claim more than it does.
    pub counts_as: Option<&'static str>,
    /// The words.
    pub say: String,
    /// Their language.
    pub locale: String,
    /// `handed_out`, `told` or `denied`.
    pub how: &'static str,
    /// When that became known.
    pub at: String,
    /// From whom.
    pub by: String,
}

/// What has to be put right with whoever was told something.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CorrectionView {
    /// In which conversation.
    pub conversation: String,
    /// About which action.
    pub action: String,
    /// `contradicted`: a claim that the evidence does not support. `news`: what was open then is settled.
    pub kind: &'static str,
    /// The version of the correction: what an acknowledgement names.
    pub version: u64,
    /// What was told.
    pub told: ToldView,
    /// The words of the correction, in the language that it was told in.
    pub say: String,
    /// What may be said now, in the same language.
    pub statement: StatementView,
    /// The version of the status that this rests on.
    pub status_version: u64,
    /// It is still to be passed on.
    pub due: bool,
}

/// What became of word of what was told.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToldAnswer {
    /// What is kept.
    pub told: Option<ToldView>,
    /// What has to be put right, if evidence came in meanwhile.
    pub correction: Option<CorrectionView>,
}

impl ToldView {
    pub(super) fn of(told: &Told) -> Self {
        Self {
            version: told.version,
            statement: told.statement.name(),
            counts_as: told.counts_as.map(|statement| statement.name()),
            say: told.say.clone(),
            locale: told.locale.clone(),
            how: match told.how {
                How::HandedOut => "handed_out",
                How::Told => "told",
                How::Denied => "denied",
            },
            at: rfc3339(told.at),
            by: told.by.clone(),
        }
    }
}
