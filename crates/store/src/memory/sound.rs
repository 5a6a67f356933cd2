//! What the other stores' schemas refuse, refused in memory too.

use crate::record::Record;
use crate::{StoreError, StoreErrorKind};

pub(super) const ADMITTING: &str = "recording an action";
pub(super) const COMMITTING: &str = "committing a decision";

/// Refuses what the other stores' schemas refuse: a next step that is no word of the core, that has no time where it needs
/// one, or that forgets what is not settled (law 8).
pub(super) fn sound_step(record: &Record, doing: &'static str) -> Result<(), StoreError> {
    let status = record.status();
    let untimed = record.next.at.is_none();
    let sound = match record.next.step.as_str() {
        "send" | "look_up" | "poll" | "cancel_by_key" | "wait" => !untimed,
        "review" => untimed,
        "none" => untimed && status.is_settled(),
        _ => false,
    };
    if sound {
        return Ok(());
    }
    let text = format!(
        "the next step `{}` at {:?} cannot stand beside the state `{}`",
        record.next.step,
        record.next.at,
        status.state.name()
    );
    Err(StoreError::new(doing, StoreErrorKind::Database(text)))
}
