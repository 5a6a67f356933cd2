//! The tools, in one table: name, what a model reads, what a call takes, and what a token has to allow. What a token does not allow is
//! not there.

use std::time::Duration;

use factum::directory::Scope;
use factum::{Caller, Operation};
use serde_json::{Map, Value, json};

use super::asked::{Asked, ToolCall};
use super::wire::RpcError;
use super::words::{OUTCOMES, of_question};
use super::{gateway, looks, people, perform};

/// A list of tools may be kept for so long by a client.
const KEPT: Duration = Duration::from_secs(60);

/// The one sentence on which everything rests: a repeat has to carry the same key.
pub(crate) const REQUEST_KEY: &str = "Identifies this one intended action. Use the same value every time you try or retry this same action. Use a \
                           different value only if the user wants another, separate one. Build it from what causes the action, such as \
                           conversation, order and purpose: `conv-91/order-77/refund`.";

/// What is said of the member by which a second effect is meant.
pub(crate) const ANOTHER: &str =
    "Say true only if the user wants a second one although the same was done a moment ago.";

/// What a token has to allow.
#[derive(Clone, Copy)]
enum Allowed {
    Look,
    Submit,
    Review,
    Approve,
}

/// A tool.
struct Tool {
    name: &'static str,
    title: &'static str,
    says: &'static str,
    allowed: Allowed,
    /// It changes nothing.
    reads: bool,
    takes: fn() -> Value,
}

const TOOLS: &[Tool] = &[
    Tool {
        name: "perform_action",
        title: "Perform an action",
        says: "Carries out one action in an outside system, once. It answers within seconds: done, not done, or not known yet, with the \
               action's id. Not known is no failure: never call again for it with another request_key, ask get_action. Calling again with \
               the same request_key is always safe and never does it twice. list_operations says what there is.",
        allowed: Allowed::Submit,
        reads: false,
        takes: || {
            let mut own = Map::new();
            own.insert(
                "destination".to_owned(),
                text("The configured account at an outside system, as list_operations names it."),
            );
            own.insert(
                "operation".to_owned(),
                text("What is to be done there, as in `ticket.create`."),
            );
            own.insert("params".to_owned(), json!({"type": "object", "description": "Values for the operation's address and headers."}));
            own.insert(
                "payload".to_owned(),
                json!({"description": "What is sent, as the operation's input says."}),
            );
            own.extend(common(true));
            object(own, &["destination", "operation"])
        },
    },
    Tool {
        name: "get_action",
        title: "Look at an action",
        says: "How one action stands: what happened, what may be said about it, and what comes next. Asking changes nothing.",
        allowed: Allowed::Look,
        reads: true,
        takes: || named(true),
    },
    Tool {
        name: "list_recent_actions",
        title: "List recent actions",
        says: "The latest actions, newest first: where the id of one was lost, look here before anything is done again.",
        allowed: Allowed::Look,
        reads: true,
        takes: || {
            let own = [
                ("conversation", text("Asked for in this conversation.")),
                ("destination", text("At this destination.")),
                (
                    "state",
                    json!({"type": "string", "enum": crate::actions::state_words()}),
                ),
                (
                    "limit",
                    json!({"type": "integer", "minimum": 1, "maximum": 50}),
                ),
            ];
            object(members(own), &[])
        },
    },
    Tool {
        name: "explain_outcome",
        title: "Explain an outcome",
        says: "Why an action stands as it does: every attempt, what came back, and what is done next. Asking changes nothing.",
        allowed: Allowed::Look,
        reads: true,
        takes: || named(false),
    },
    Tool {
        name: "list_operations",
        title: "List operations",
        says: "What can be done here: destinations, operations, what each takes, and how grave it is.",
        allowed: Allowed::Look,
        reads: true,
        takes: || object(Map::new(), &[]),
    },
    Tool {
        name: "cancel_action",
        title: "Cancel an action",
        says: "Stops an action: nothing more is sent. What may have been sent already stays unknown until it is found out, and is not undone.",
        allowed: Allowed::Submit,
        reads: false,
        takes: || {
            object(
                members([
                    ("id", text("The action.")),
                    ("why", text("Why, in a few words.")),
                ]),
                &["id"],
            )
        },
    },
    Tool {
        name: "list_review",
        title: "List what waits for a person",
        says: "Actions of which nobody knows whether they happened, and which nothing but a person can settle.",
        allowed: Allowed::Review,
        reads: true,
        takes: || object(Map::new(), &[]),
    },
    Tool {
        name: "give_verdict",
        title: "Give a verdict",
        says: "Records what a person found out about an action. Where the host can ask, it asks the person; never answer for them.",
        allowed: Allowed::Review,
        reads: false,
        takes: || {
            let own = [
                ("id", text("The action.")),
                (
                    "verdict",
                    json!({"type": "string", "enum": crate::review::VERDICTS, "description": "What the person found; ignored where the host can ask them."}),
                ),
                ("why", text("How they know.")),
                ("receipt", text("Its number there, if it happened.")),
            ];
            object(members(own), &["id"])
        },
    },
    Tool {
        name: "list_proposals",
        title: "List proposals",
        says: "What waits for an approval before anything is sent.",
        allowed: Allowed::Approve,
        reads: true,
        takes: || object(Map::new(), &[]),
    },
    Tool {
        name: "approve_proposal",
        title: "Approve a proposal",
        says: "Sends exactly what a proposal shows. Where the host can ask, it asks the person; never approve for them.",
        allowed: Allowed::Approve,
        reads: false,
        takes: || {
            let own = [
                ("id", text("The proposal.")),
                (
                    "digest",
                    text(
                        "What exactly is approved, as the proposal shows it; not needed where the host asks the person.",
                    ),
                ),
                ("reason", text("Why.")),
            ];
            object(members(own), &["id"])
        },
    },
    Tool {
        name: "decline_proposal",
        title: "Decline a proposal",
        says: "Nothing of the proposal is ever sent.",
        allowed: Allowed::Approve,
        reads: false,
        takes: || {
            object(
                members([("id", text("The proposal.")), ("reason", text("Why."))]),
                &["id", "reason"],
            )
        },
    },
];

/// Whether a token lets its holder record actions.
pub(crate) fn may_submit(caller: &Caller) -> bool {
    caller.may(Scope::Submit)
}

/// Whether it was made for approvals: the token that may do everything was not, and is what a model on this machine has.
pub(crate) fn may_approve(caller: &Caller) -> bool {
    caller.token.is_some() && caller.scopes.contains(&Scope::Approve)
}

/// Whether it was made for verdicts.
pub(crate) fn may_review(caller: &Caller) -> bool {
    caller.token.is_some() && caller.scopes.contains(&Scope::Review)
}

impl Allowed {
    fn lets(self, caller: &Caller) -> bool {
        match self {
            Self::Look => [Scope::Read, Scope::Submit, Scope::Review]
                .iter()
                .any(|scope| caller.may(*scope)),
            Self::Submit => may_submit(caller),
            Self::Review => may_review(caller),
            Self::Approve => may_approve(caller),
        }
    }
}

/// `tools/list`.
pub(crate) async fn list(asked: &Asked<'_>) -> Value {
    let mut tools: Vec<Value> = known(asked).map(Tool::shown).collect();
    match asked.app.gateway() {
        Some(gateway) => tools.splice(0..0, gateway.list().await).for_each(drop),
        None => tools.extend(typed(asked).into_iter().map(|(tool, _, _)| tool)),
    }
    asked.kept(json!({ "tools": tools }), KEPT)
}

/// The tools of this table that are there for a caller. A gateway's actions are the tools behind it.
fn known<'a>(asked: &'a Asked<'_>) -> impl Iterator<Item = &'static Tool> + 'a {
    let behind = asked.app.gateway().is_some();
    let performs = |tool: &Tool| matches!(tool.name, "perform_action" | "list_operations");
    TOOLS
        .iter()
        .filter(move |tool| tool.allowed.lets(asked.caller) && !(behind && performs(tool)))
}

/// `tools/call`.
pub(crate) async fn call(asked: &Asked<'_>) -> Result<Value, RpcError> {
    let call: ToolCall = asked.read()?;
    let Some(known) = known(asked).find(|tool| tool.name == call.name) else {
        return call_other(asked, &call).await;
    };
    let told = match known.name {
        "perform_action" => return perform::perform(asked, &call, None).await,
        "give_verdict" => return people::verdict(asked, &call).await,
        "approve_proposal" => return people::approve(asked, &call).await,
        "get_action" => match looks::get(asked, &call).await {
            Ok(result) => return Ok(result),
            Err(problem) => Err(problem),
        },
        "list_recent_actions" => looks::list(asked, &call).await,
        "explain_outcome" => looks::explain(asked, &call).await,
        "cancel_action" => looks::cancel(asked, &call).await,
        "list_operations" => Ok(looks::operations(asked)),
        "list_review" => people::review(asked).await,
        "list_proposals" => people::proposals(asked).await,
        _ => people::decline(asked, &call).await,
    };
    Ok(asked.told(told.unwrap_or_else(|problem| of_question(&problem))))
}

/// A tool that stands in no table: an operation's own, or one of a server behind the gateway.
async fn call_other(asked: &Asked<'_>, call: &ToolCall) -> Result<Value, RpcError> {
    if let Some(behind) = asked
        .app
        .gateway()
        .and_then(|gateway| gateway.tool(&call.name))
    {
        let (server, known, name) = behind;
        return gateway::calls::call(asked, call, (server, known, &name)).await;
    }
    let typed = typed(asked);
    match typed.iter().find(|(tool, _, _)| tool["name"] == *call.name) {
        Some((_, destination, operation)) => {
            perform::perform(asked, call, Some((destination, operation))).await
        }
        None => {
            let why = format!(
                "no tool is called {:?}, or the token does not allow it",
                call.name
            );
            Err(RpcError::params(why))
        }
    }
}

impl Tool {
    fn shown(&self) -> Value {
        let mut tool = json!({
            "name": self.name,
            "title": self.title,
            "description": self.says,
            "inputSchema": (self.takes)(),
            "annotations": annotations(self.title, self.reads, self.reads),
        });
        if self.name == "perform_action" {
            tool["outputSchema"] = output();
        }
        tool
    }
}

/// A tool for each operation of the tenant's destinations, with destination and operation.
fn typed(asked: &Asked<'_>) -> Vec<(Value, String, String)> {
    if !asked.config().typed_tools || asked.app.gateway().is_some() || !may_submit(asked.caller) {
        return Vec::new();
    }
    let engine = asked.app.factum().engine();
    let destinations = engine.destinations_of(&asked.caller.tenant);
    let each = destinations.flat_map(|(name, destination)| {
        let own = destination.operations.iter();
        own.map(move |(operation, known)| {
            (
                operation_tool(name, operation, known),
                name.to_owned(),
                operation.clone(),
            )
        })
    });
    each.collect()
}

fn operation_tool(destination: &str, operation: &str, own: &Operation) -> Value {
    let contract = own.contract.as_ref().map(|own| own.contract.input_schema());
    let mut takes = match contract {
        Some(Value::Object(schema)) => schema,
        Some(_) | None => Map::new(),
    };
    let required: Vec<String> = takes.keys().cloned().collect();
    let required: Vec<&str> = required.iter().map(String::as_str).collect();
    takes
        .entry("payload".to_owned())
        .or_insert_with(|| json!({}));
    let templated = own.key_template.is_some();
    takes.extend(common(!templated));
    let title = format!("{operation} at {destination}");
    json!({
        "name": tool_name(destination, operation),
        "title": title,
        "description": format!(
            "{operation} at {destination}, once; its consequence is {}. Not known yet is no failure: ask get_action, and do not call again \
             for the same request.",
            own.promises.consequence.name()
        ),
        "inputSchema": object(takes, &required),
        "outputSchema": output(),
        // The key is made from the arguments: equal arguments have no further effect.
        "annotations": annotations(&title, false, templated),
    })
}

/// `helpdesk` and `ticket.create` as one name that every host takes.
fn tool_name(destination: &str, operation: &str) -> String {
    let plain = |text: &str| -> String {
        text.chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect()
    };
    format!("{}__{}", plain(destination), plain(operation))
}

fn annotations(title: &str, reads: bool, idempotent: bool) -> Value {
    json!({
        "title": title,
        "readOnlyHint": reads,
        "destructiveHint": !reads,
        "idempotentHint": idempotent,
        "openWorldHint": !reads,
    })
}

/// What every tool that does something takes beside its own.
fn common(names_itself: bool) -> Map<String, Value> {
    let mut own = members([
        (
            "another",
            json!({"type": "boolean", "description": ANOTHER}),
        ),
        (
            "summary",
            text("One line for people: what is done, without secrets."),
        ),
        (
            "conversation",
            text("The conversation in which it was asked for."),
        ),
        (
            "for",
            text("For whom it is done, where that is somebody else than the token's holder."),
        ),
        (
            "wait_s",
            json!({"type": "integer", "minimum": 0, "maximum": 20, "description": "How long to wait for the outcome, in seconds; 4 where nothing is said."}),
        ),
    ]);
    if names_itself {
        own.insert(
            "request_key".to_owned(),
            json!({"type": "string", "maxLength": 255, "description": REQUEST_KEY}),
        );
    }
    own
}

fn named(waits: bool) -> Value {
    let mut own = members([
        ("id", text("`act_…`, as a tool answered it.")),
        (
            "request_key",
            text("In place of the id: the key of the call."),
        ),
    ]);
    if waits {
        let wait =
            "Answer once it is settled or a person is needed, after so many seconds at the latest.";
        own.insert(
            "wait_s".to_owned(),
            json!({"type": "integer", "minimum": 0, "maximum": 20, "description": wait}),
        );
    }
    object(own, &[])
}

/// What tools that do something answer.
fn output() -> Value {
    json!({
        "type": "object",
        "properties": {
            "outcome": {"type": "string", "enum": OUTCOMES},
            "id": {"type": "string"},
            "request_key": {"type": "string"},
            "happened": {"type": "string", "enum": ["yes", "no", "not_yet", "unknown"]},
            "safe_to_call_again": {"type": "boolean", "description": "Of a new request_key; the same one is always safe."},
            "say": {"type": "string", "description": "May be said as it stands."},
            "next_call": {"description": "What to call next, and after how many seconds; null where nothing is to be done."},
        },
        "required": ["outcome"],
    })
}

fn text(says: &str) -> Value {
    json!({"type": "string", "description": says})
}

fn members<const N: usize>(own: [(&str, Value); N]) -> Map<String, Value> {
    own.into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn object(members: Map<String, Value>, required: &[&str]) -> Value {
    json!({"type": "object", "properties": members, "required": required, "additionalProperties": false})
}

#[cfg(test)]
mod tests {
    use super::*;

    // B65
    #[test]
    fn the_key_is_asked_for_so_that_a_repeat_has_the_same() {
        let schema = common(true);
        let says = schema["request_key"]["description"].as_str().unwrap();
        assert!(says.contains("same value every time"), "{says}");
        assert!(!says.to_lowercase().contains("unique"), "{says}");
    }

    #[test]
    fn only_what_is_made_from_the_arguments_is_called_idempotent() {
        for tool in TOOLS {
            let shown = tool.shown();
            assert_eq!(
                shown["annotations"]["idempotentHint"], tool.reads,
                "{}",
                tool.name
            );
            assert!(
                shown["inputSchema"]["properties"].is_object(),
                "{}",
                tool.name
            );
        }
        assert_eq!(
            tool_name("help-desk", "ticket.create"),
            "help_desk__ticket_create"
        );
    }
}
