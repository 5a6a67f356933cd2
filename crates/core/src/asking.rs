//! What a question to the destination needs from the evidence.

use crate::id::{AttemptNo, Epoch};
use crate::intent::Intent;
use crate::known::Known;
use crate::proof::Reader;

impl Known {
    /// The version of the provider key that attempts stand under now.
    #[must_use]
    pub fn current_epoch(&self) -> Epoch {
        self.epoch()
    }

    /// The destination's name for the work that this attempt queued, if it gave one.
    #[must_use]
    pub fn queued_object(&self, intent: &Intent, attempt: AttemptNo) -> Option<String> {
        let reader = Reader {
            intent,
            known: self,
            promises: &intent.promises,
        };
        reader
            .accepted()
            .filter(|(accepted, _)| *accepted == attempt)
            .and_then(|(_, object)| object.map(str::to_owned))
    }
}

impl Known {
    /// When the last restore that this action was caught by was noticed.
    #[must_use]
    pub fn restored_at(&self) -> Option<crate::time::Timestamp> {
        self.restored.map(|restored| restored.at)
    }

    /// The names of the reviews that nobody has answered.
    #[must_use]
    pub fn open_review_ids(&self) -> Vec<crate::id::EvidenceId> {
        self.open_reviews().map(|(id, ..)| id).collect()
    }

    /// Whether any effect request was marked before this instant.
    #[must_use]
    pub fn marked_before(&self, at: crate::time::Timestamp) -> bool {
        self.marks().any(|(mark, _)| mark.at < at)
    }

    /// When effect requests were marked: nothing of each can have arrived earlier.
    pub fn marked_at(&self) -> impl Iterator<Item = crate::time::Timestamp> {
        self.marks().map(|(mark, _)| mark.at)
    }

    /// When the first effect request was marked.
    #[must_use]
    pub fn first_mark(&self) -> Option<crate::time::Timestamp> {
        self.marked_at().min()
    }

    /// The versions of the provider key that requests were marked under.
    #[must_use]
    pub fn epochs(&self) -> std::collections::BTreeSet<Epoch> {
        self.marks().map(|(mark, _)| mark.epoch).collect()
    }

    /// The caller withdrew it, or the authority for it ended.
    #[must_use]
    pub fn is_withdrawn(&self) -> bool {
        self.ends.cancel_requested.is_some() || self.ends.authority_lost.is_some()
    }
}
