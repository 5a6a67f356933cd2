//! A server's tools as hosts see them through the gateway.

use serde_json::{Value, json};

use super::config::{Mode, ServerConfig};
use crate::mcp::tools::{ANOTHER, REQUEST_KEY};

/// What an argument of ours is called at a tool, where it has one of that name itself.
pub(crate) fn own_name(tool: &Value, name: &str) -> String {
    if tool["inputSchema"]["properties"].get(name).is_some() {
        format!("factum_{name}")
    } else {
        name.to_owned()
    }
}

/// A tool as it is shown; none where it is blocked.
pub(super) fn shown(tool: &Value, config: &ServerConfig, prefix: &str) -> Option<Value> {
    let name = tool["name"].as_str()?;
    let mut shown = tool.clone();
    shown["name"] = format!("{prefix}{name}").into();
    match config.mode(name, tool) {
        Mode::Block => None,
        Mode::Read => Some(shown),
        Mode::Action => {
            as_action(&mut shown, tool, config);
            Some(shown)
        }
    }
}

fn as_action(shown: &mut Value, tool: &Value, config: &ServerConfig) {
    let own = config.tool(tool["name"].as_str().unwrap_or_default());
    if !shown["inputSchema"].is_object() {
        shown["inputSchema"] = json!({"type": "object"});
    }
    let another = own_name(tool, "another");
    shown["inputSchema"]["properties"][&another] =
        json!({"type": "boolean", "description": ANOTHER});
    if own.key.is_none() {
        let key = own_name(tool, "request_key");
        shown["inputSchema"]["properties"][&key] =
            json!({"type": "string", "maxLength": 255, "description": REQUEST_KEY});
        if own.require_key {
            let mut required = shown["inputSchema"]["required"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            required.push(key.into());
            shown["inputSchema"]["required"] = required.into();
        }
    }
    let says = tool["description"].as_str().unwrap_or_default();
    shown["description"] = format!(
        "{says}\n\nIt is done once: calling again with the same arguments or the same key joins the first call. A result that says pending or \
         unknown is no failure; do not call again, ask get_action."
    )
    .trim_start()
    .into();
    // A pending or unknown result has another form than the tool's own.
    if let Some(shown) = shown.as_object_mut() {
        shown.remove("outputSchema");
    }
    // Of a repeat only a key that is made from the arguments can be promised.
    shown["annotations"]["readOnlyHint"] = false.into();
    shown["annotations"]["idempotentHint"] = own.key.is_some().into();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_takes_a_key_beside_what_it_took_before() {
        let tool = json!({
            "name": "create", "description": "Creates.", "outputSchema": {"type": "object"},
            "inputSchema": {"type": "object", "properties": {"another": {"type": "string"}}, "required": ["another"]},
            "annotations": {"readOnlyHint": true, "idempotentHint": true},
        });
        let mut config = ServerConfig::default();
        config.tools.insert(
            "create".to_owned(),
            super::super::ToolConfig {
                require_key: true,
                ..Default::default()
            },
        );
        let shown = shown(&tool, &config, "gh__").unwrap();
        assert_eq!(
            (&shown["name"], shown.get("outputSchema")),
            (&json!("gh__create"), None)
        );
        let takes = &shown["inputSchema"];
        assert_eq!(
            takes["properties"]["another"]["type"], "string",
            "the tool's own stays"
        );
        assert_eq!(takes["properties"]["factum_another"]["type"], "boolean");
        assert_eq!(takes["required"], json!(["another", "request_key"]));
        assert_eq!(
            shown["annotations"],
            json!({"readOnlyHint": false, "idempotentHint": false})
        );
    }
}
