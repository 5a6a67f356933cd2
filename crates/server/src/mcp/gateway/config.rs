//! What an operator says of the servers behind the gateway. What is not said is not promised.

use std::collections::BTreeMap;
use std::path::PathBuf;

use factum::config::{Wait, WorkConfig, WorkLookUp};
use factum::core::Span;
use factum::{Code, Problem};
use serde::Deserialize;
use serde_json::Value;

/// `gateway.toml`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatewayConfig {
    /// The servers, by the names that the engine knows them by.
    pub servers: BTreeMap<String, ServerConfig>,
}

/// `[servers.NAME]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerConfig {
    /// The program that is the server, with its arguments; or `url`.
    pub command: Vec<String>,
    /// Its address.
    pub url: Option<String>,
    /// The token for that address, by reference.
    pub bearer: Option<String>,
    /// Where the program runs.
    pub folder: Option<PathBuf>,
    /// Variables for the program, beside our own.
    pub env: BTreeMap<String, String>,
    /// The operator vouches for `readOnlyHint`: tools that the server calls reads are passed through.
    pub trust_annotations: bool,
    /// Tools that only read, by name; `*` at the end stands for any rest.
    pub read: Vec<String>,
    /// Tools whose calls a person approves one by one, named in the same way.
    pub approve: Vec<String>,
    /// How long a call may take before its answer counts as lost.
    pub timeout: Wait,
    /// A longer result is not kept, in bytes of JSON: what became of the call is, and the host is told so.
    pub result_max_bytes: usize,
    /// What is said of single tools.
    pub tools: BTreeMap<String, ToolConfig>,
}

/// `[servers.NAME.tools.TOOL]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ToolConfig {
    /// `action` where nothing is said.
    pub mode: Mode,
    /// How the key is made from the arguments: `issue/{args.repo}/{args.title}`.
    pub key: Option<String>,
    /// A call without `request_key` is refused.
    pub require_key: bool,
    /// A person approves each call; where nothing is said, as the server's `approve` has it.
    pub approve: Option<bool>,
    /// Where our mark goes, so that a lookup finds it.
    pub marker: Option<Marker>,
    /// How the effect is looked up.
    pub lookup: Option<LookUp>,
    /// The receipt in the result's structured content, or in its text as JSON: a JSON pointer.
    pub receipt: Option<String>,
    /// An error of the tool proves that nothing happened. Needs `by` and `reason`.
    pub errors_prove_nothing_happened: bool,
    /// `harmless`, `reversible`, `costly` or `irreversible`.
    pub consequence: Option<String>,
    /// `ask`, `prefer_missing` or `prefer_duplicate`.
    pub neither: Option<String>,
    /// The server, and what is behind it, works on a call for this long at the most. Needs `by` and `reason`.
    pub processing_max: Option<Wait>,
    /// Who answers for what is promised.
    pub by: Option<String>,
    /// Why, in their words.
    pub reason: Option<String>,
}

/// What becomes of a tool's call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Recorded, and sent once.
    #[default]
    Action,
    /// Passed through.
    Read,
    /// Not there.
    Block,
}

/// `marker = { argument = "body", style = "hidden_comment" }`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marker {
    /// The argument whose text it is added to.
    pub argument: String,
    /// In which form.
    #[serde(default)]
    pub style: MarkerStyle,
}

/// How the mark looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkerStyle {
    /// `<!-- factum:… -->`, which readers of Markdown and HTML do not see.
    #[default]
    HiddenComment,
    /// A last line, `Ref: factum:…`.
    Line,
}

/// `lookup = { tool = "search_issues", arguments = { query = "{marker}" } }`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LookUp {
    /// A tool that only reads.
    pub tool: String,
    /// Its arguments; `{marker}` in a text is our mark.
    pub arguments: BTreeMap<String, Value>,
    /// Where the list of what was found stands in the result: a JSON pointer. Without it, the mark anywhere in the text is one.
    #[serde(default)]
    pub items: Option<String>,
    /// The receipt in an item: a JSON pointer.
    #[serde(default)]
    pub receipt: Option<String>,
    /// By when after landing an effect is found at the latest.
    #[serde(default)]
    pub lag: Option<Wait>,
    /// It sees closed, archived and deleted things too: that nothing is found says that there is nothing.
    #[serde(default)]
    pub complete: bool,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            command: Vec::new(),
            url: None,
            bearer: None,
            folder: None,
            env: BTreeMap::new(),
            trust_annotations: false,
            read: Vec::new(),
            approve: Vec::new(),
            timeout: Wait(Span::from_secs(300)),
            result_max_bytes: 1024 * 1024,
            tools: BTreeMap::new(),
        }
    }
}

impl ServerConfig {
    pub(super) fn check(&self, at: &str) -> Result<(), Problem> {
        let bad = |member: &str, rule: &str, remedy: &str| {
            Err(Problem::new(
                Code::BadConfig,
                format!("{at}{member}"),
                rule,
                remedy,
            ))
        };
        if self.command.is_empty() == self.url.is_none() {
            let rule = "a server is a command or an address, one of the two";
            return bad(
                "",
                rule,
                "write command = [\"npx\", \"…\"], or url = \"https://…\"",
            );
        }
        for (name, tool) in &self.tools {
            let at = format!("/tools/{name}");
            let answered = [&tool.by, &tool.reason]
                .into_iter()
                .all(|text| text.as_ref().is_some_and(|text| !text.trim().is_empty()));
            if tool.errors_prove_nothing_happened && !answered {
                let rule = "it promises something of the server, and nobody answers for it";
                return bad(
                    &format!("{at}/errors_prove_nothing_happened"),
                    rule,
                    "add `by` and `reason`",
                );
            }
            if tool.lookup.is_some() && tool.marker.is_none() {
                let rule = "a lookup asks for our mark, and none is written";
                return bad(
                    &format!("{at}/lookup"),
                    rule,
                    "add marker = { argument = \"…\" }",
                );
            }
        }
        Ok(())
    }

    /// What is said of a tool.
    pub(crate) fn tool(&self, name: &str) -> ToolConfig {
        self.tools.get(name).cloned().unwrap_or_default()
    }

    /// What becomes of a tool's call. A word of the server's makes it a read only where the operator vouches for those.
    pub(crate) fn mode(&self, name: &str, tool: &Value) -> Mode {
        if let Some(own) = self.tools.get(name) {
            return own.mode;
        }
        if named(&self.read, name)
            || (self.trust_annotations && tool["annotations"]["readOnlyHint"] == true)
        {
            Mode::Read
        } else {
            Mode::Action
        }
    }

    /// Whether a person approves each call of a tool.
    pub(super) fn asks_first(&self, name: &str) -> bool {
        let own = self.tools.get(name).and_then(|tool| tool.approve);
        own.unwrap_or_else(|| named(&self.approve, name))
    }

    /// What is promised of a tool. That a server calls one destructive makes it graver, unless the operator says what it is.
    pub(super) fn work(&self, name: &str, tool: Option<&Value>) -> WorkConfig {
        let own = self.tool(name);
        let destructive = tool.is_some_and(|tool| tool["annotations"]["destructiveHint"] == true);
        let graver = destructive.then(|| "irreversible".to_owned());
        WorkConfig {
            consequence: own.consequence.or(graver),
            neither: own.neither,
            key_template: own.key,
            processing_max: own.processing_max,
            look_up: own.lookup.map(|lookup| WorkLookUp {
                complete: lookup.complete,
                lag: lookup.lag,
                by: None,
            }),
            by: own.by,
            reason: own.reason,
            ..WorkConfig::default()
        }
    }
}

/// Whether a list names a tool.
fn named(list: &[String], tool: &str) -> bool {
    list.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(start) => tool.starts_with(start),
        None => pattern == tool,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_servers_word_makes_nothing_looser() {
        let reads = json!({"annotations": {"readOnlyHint": true, "idempotentHint": true, "destructiveHint": false}});
        let mut config = ServerConfig::default();
        assert_eq!(config.mode("search", &reads), Mode::Action);
        assert_eq!(
            config.work("search", Some(&reads)).consequence,
            None,
            "costly, as where nothing is said"
        );
        config.trust_annotations = true;
        assert_eq!(config.mode("search", &reads), Mode::Read);
        config.read = vec!["get_*".to_owned()];
        assert_eq!(
            (
                config.mode("get_x", &json!({})),
                config.mode("set_x", &json!({}))
            ),
            (Mode::Read, Mode::Action)
        );
        config.approve = vec!["set_*".to_owned()];
        let quiet = ToolConfig {
            approve: Some(false),
            ..ToolConfig::default()
        };
        config.tools.insert("set_quiet".to_owned(), quiet);
        let asks = ["set_x", "set_quiet", "get_x"].map(|name| config.asks_first(name));
        assert_eq!(asks, [true, false, false]);
        let wipes = json!({"annotations": {"destructiveHint": true}});
        assert_eq!(
            config.work("wipe", Some(&wipes)).consequence.as_deref(),
            Some("irreversible")
        );
    }
}
