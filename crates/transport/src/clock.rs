//! The store's time as it is known here. Handed in; this crate reads no clock of its own beside the runtime's timers.

use std::time::Duration;

use factum_core::{Span, Timestamp};

/// The store's time as it is known in this process.
pub trait Clock: Send + Sync {
    /// The time now. Never runs backwards, and does not stand still while the machine sleeps (R11).
    fn now(&self) -> Timestamp;
}

/// A timer this far ahead never fires in practice, and adding it to an instant cannot overflow.
const FAR: Duration = Duration::from_secs(86_400 * 365);

/// A length of time as the runtime's timers take it.
pub(crate) fn duration(span: Span) -> Duration {
    Duration::from_micros(span.as_micros().unsigned_abs()).min(FAR)
}
