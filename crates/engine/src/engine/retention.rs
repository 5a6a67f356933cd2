//! What is answered about what is not kept any more.

use factum_core::{ActionId, Fingerprint, Timestamp};
use factum_store::{StoreError, Tombstone};

use super::Engine;
use crate::problem::{Code, Problem};

impl Engine {
    /// Why there is no action of this id: it was purged, or there never was one.
    pub(super) async fn absent(&self, id: ActionId) -> Result<Problem, StoreError> {
        let left = self.shared.store.remains(id).await?;
        Ok(left.map_or_else(
            || Problem::unknown_action(id),
            |left| purged(&left.tombstone),
        ))
    }
}

fn purged(stone: &Tombstone) -> Problem {
    let rule = format!(
        "{} ended as {} and was purged on {}; its identity stays taken",
        stone.action,
        stone.state.name(),
        written(stone.purged_at)
    );
    let remedy =
        "what is left is its tombstone and evidence that came later: GET /v1/actions/{id}/evidence";
    Problem::new(Code::Purged, "", rule, remedy).about(stone.action)
}

/// The identity of a submission names an action that was purged.
pub(super) fn gone(stone: &Tombstone, submitted: Fingerprint) -> Problem {
    if stone.fingerprint == submitted {
        let mut problem = purged(stone);
        problem.remedy =
            "do not send it again: it is the same intent; for a second effect, use another key"
                .into();
        return problem;
    }
    let rule = format!(
        "this identity names {}, recorded earlier with another intent and purged since",
        stone.action
    );
    let remedy = "for another effect, use another key";
    Problem::new(Code::IdentityConflict, "", rule, remedy).about(stone.action)
}

/// The identity of a submission may be one that is forgotten.
pub(super) fn forgotten(before: Timestamp) -> Problem {
    let rule = format!(
        "identities of this scope from before {} are forgotten, and this one may be among them",
        written(before)
    );
    let remedy = "look at the destination whether it was done; if it has to be done now, submit it as a new intent: a new key, and \
                  `intent_at` of now";
    Problem::new(Code::IdentityExpired, "/intent_at", rule, remedy)
}

/// An instant as every interface writes it.
fn written(at: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(at.as_micros())
        .map_or_else(|_| format!("{} µs", at.as_micros()), |at| at.to_string())
}
