//! `[mcp]` of the configuration: how the engine answers language models.

use factum_core::Span;
use serde::{Deserialize, Deserializer};

use crate::config::Wait;

/// No tool call waits for longer: clients give up after a minute, and then the answer that names the action is lost.
const WAIT_MAX: Span = Span::from_secs(20);

/// `[mcp]`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct McpConfig {
    /// Every operation of the tenant's destinations is a tool of its own, with the contract's input schema.
    pub typed_tools: bool,
    /// How long a tool call waits for the rest of its action before it answers with the id alone: below the shortest time-out that
    /// clients have, which is 5 s.
    #[serde(deserialize_with = "bounded")]
    pub wait: Wait,
    /// For how long equal content under another key is held off, on every operation; one with a longer `twin_guard` keeps that. Models
    /// make a new key with every try. `0 s` leaves it to the operations.
    pub twin_guard: Wait,
}

impl Default for McpConfig {
    fn default() -> Self {
        Self {
            typed_tools: false,
            wait: Wait(Span::from_secs(4)),
            twin_guard: Wait(Span::from_secs(600)),
        }
    }
}

impl McpConfig {
    /// The guard, unless it is left to the operations.
    #[must_use]
    pub fn guard(&self) -> Option<Span> {
        Some(self.twin_guard.0).filter(|within| *within > Span::ZERO)
    }

    /// The longest time that a tool call may ask for.
    #[must_use]
    pub fn wait_max() -> std::time::Duration {
        Wait(WAIT_MAX).duration()
    }
}

fn bounded<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Wait, D::Error> {
    let wait = Wait::deserialize(deserializer)?;
    if wait.0 <= WAIT_MAX {
        return Ok(wait);
    }
    let rule =
        format!("a tool call that waits longer than {WAIT_MAX} outlasts the clients that make it");
    Err(serde::de::Error::custom(rule))
}

#[cfg(test)]
mod tests {
    use crate::Config;

    // B113
    #[test]
    fn no_tool_call_can_be_made_to_outlast_its_client() {
        let read = |wait: &str| Config::parse("f", &format!("mcp.wait = \"{wait}\""));
        assert_eq!(read("20 s").unwrap().mcp.wait.duration().as_secs(), 20);
        let refused = read("21 s").unwrap_err();
        assert!(refused.rule.contains("outlasts"), "{refused}");
        let guard = |text: &str| Config::parse("f", text).unwrap().mcp.guard();
        assert!(guard("").is_some() && guard("mcp.twin_guard = \"0 s\"").is_none());
    }
}
