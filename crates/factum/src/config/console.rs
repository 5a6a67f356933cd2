//! `[console]`: the pages for people, and for how long somebody stays signed in there.

use factum_core::Span;
use serde::Deserialize;

use super::Wait;

/// `[console]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ConsoleConfig {
    /// Whether it is there at all.
    pub enabled: bool,
    /// A session ends when nobody has done anything in it for so long.
    pub idle: Wait,
    /// A session ends so long after it was opened, whatever is done in it.
    pub session: Wait,
}

impl Default for ConsoleConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            idle: Wait(Span::from_secs(30 * 60)),
            session: Wait(Span::from_secs(12 * 3_600)),
        }
    }
}
