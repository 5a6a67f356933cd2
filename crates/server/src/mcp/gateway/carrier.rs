//! How a tool of a server behind the gateway is carried: once, with our mark in it; what the answer proves; how it is looked up.

use factum::core::evidence::{AnswerClass, LookupAnswer, Receipt};
use factum::core::{Permission, Span};
use factum::upstream::{CallEnded, Unasked, Upstream, said};
use factum::{Boxed, Carried, CarriedRequest, Carrier};
use serde_json::{Map, Value, json};

use super::config::{LookUp, Marker, MarkerStyle, ServerConfig, ToolConfig};
use super::reading::{Meaning, hits, meaning, receipt};

/// Under this name a call carries our key, for a server that knows what to do with one.
const KEY: &str = "dev.factum/idempotencyKey";

/// The tools of one server.
pub(super) struct Tools {
    pub(super) upstream: Upstream,
    pub(super) config: ServerConfig,
}

impl Carrier for Tools {
    fn carry(&self, permission: Permission, request: CarriedRequest) -> Boxed<'_, Carried> {
        Box::pin(async move {
            let tool = self.config.tool(&request.operation);
            let arguments = match arguments(&tool, &request) {
                Ok(arguments) => arguments,
                Err(why) => return Carried::NotSent(why),
            };
            let params = json!({"name": request.operation, "arguments": arguments, "_meta": {KEY: request.key}});
            match self.upstream.call(permission, params).await {
                CallEnded::NotSent { detail } => Carried::NotSent(detail),
                CallEnded::Lost {
                    wrote,
                    closed_at,
                    detail,
                } => Carried::Lost {
                    wrote,
                    closed_at,
                    detail,
                },
                CallEnded::Answered(outcome) => {
                    answered(&tool, outcome, self.config.result_max_bytes)
                }
            }
        })
    }

    fn look_up(&self, request: CarriedRequest, limit: Span) -> Boxed<'_, LookupAnswer> {
        Box::pin(async move {
            let tool = self.config.tool(&request.operation);
            let Some(lookup) = &tool.lookup else {
                let why = "no lookup is configured".to_owned();
                return LookupAnswer::Inconclusive { why };
            };
            let mark = mark(&request.reference);
            let params = json!({"name": lookup.tool, "arguments": asked(lookup, &mark)});
            match self.upstream.ask("tools/call", params, limit).await {
                Ok(result) => looked(lookup, &mark, &result),
                Err(Unasked(why)) => LookupAnswer::Inconclusive { why },
            }
        })
    }
}

/// Our mark: by the reference, which carries no epoch.
fn mark(reference: &str) -> String {
    format!("factum:{reference}")
}

/// The arguments as they are sent, every time the same.
fn arguments(tool: &ToolConfig, request: &CarriedRequest) -> Result<Map<String, Value>, String> {
    let parsed: Value =
        serde_json::from_str(&request.payload).map_err(|error| error.to_string())?;
    let Value::Object(mut arguments) = parsed else {
        return Err("the arguments are no object".to_owned());
    };
    let Some(Marker { argument, style }) = &tool.marker else {
        return Ok(arguments);
    };
    let text = match arguments.get(argument) {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => String::new(),
        Some(_) => {
            return Err(format!(
                "the argument {argument:?} is no text, and our mark goes into it"
            ));
        }
    };
    let mark = mark(&request.reference);
    let marked = match style {
        MarkerStyle::HiddenComment => format!("{text}\n\n<!-- {mark} -->"),
        MarkerStyle::Line => format!("{text}\n\nRef: {mark}"),
    };
    arguments.insert(argument.clone(), marked.into());
    Ok(arguments)
}

/// What a response proves. An error proves nothing unless somebody answers for that: servers act, and then err.
fn answered(tool: &ToolConfig, outcome: Result<Value, Value>, max_bytes: usize) -> Carried {
    let refused = |why: String| {
        if tool.errors_prove_nothing_happened {
            AnswerClass::Rejected { stored: false, why }
        } else {
            AnswerClass::Unknown
        }
    };
    match outcome {
        Ok(result) => {
            let means = match meaning(&result) {
                Meaning::Done => AnswerClass::Done,
                Meaning::Error(why) => refused(why),
                Meaning::Nothing => AnswerClass::Unknown,
            };
            let named = tool
                .receipt
                .as_deref()
                .filter(|_| means == AnswerClass::Done);
            let receipt = named
                .and_then(|pointer| receipt(&result, pointer))
                .map(Receipt::new);
            Carried::Read {
                means,
                receipt,
                body: kept(result.to_string(), max_bytes),
            }
        }
        Err(error) => Carried::Read {
            means: refused(said(&error)),
            receipt: None,
            body: kept(json!({ "error": error }).to_string(), max_bytes),
        },
    }
}

/// An answer as it is kept: as it was written, or, where it is too long, a result that says so.
fn kept(answer: String, max_bytes: usize) -> Vec<u8> {
    if answer.len() <= max_bytes {
        return answer.into_bytes();
    }
    let text = format!(
        "The tool answered with {} bytes, and no more than {max_bytes} are kept (result_max_bytes). Do not call it again to see them; ask a \
         tool that reads.",
        answer.len()
    );
    json!({"content": [{"type": "text", "text": text}]})
        .to_string()
        .into_bytes()
}

/// A lookup's arguments, with our mark in them.
fn asked(lookup: &LookUp, mark: &str) -> Value {
    let arguments = lookup
        .arguments
        .iter()
        .map(|(name, value)| (name.clone(), filled(value, mark)));
    Value::Object(arguments.collect())
}

fn filled(value: &Value, mark: &str) -> Value {
    match value {
        Value::String(text) => text.replace("{marker}", mark).into(),
        Value::Array(items) => items.iter().map(|item| filled(item, mark)).collect(),
        Value::Object(members) => Value::Object(
            members
                .iter()
                .map(|(name, value)| (name.clone(), filled(value, mark)))
                .collect(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn looked(lookup: &LookUp, mark: &str, result: &Value) -> LookupAnswer {
    match hits(lookup, mark, result) {
        Ok(found) if found.is_empty() => LookupAnswer::Absent,
        Ok(found) => LookupAnswer::Found(found.into_iter().map(Receipt::new).collect()),
        Err(why) => LookupAnswer::Inconclusive { why },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(payload: &str) -> CarriedRequest {
        CarriedRequest {
            operation: "create_issue".to_owned(),
            key: "k".to_owned(),
            reference: "abc".to_owned(),
            params: "{}".to_owned(),
            payload: payload.to_owned(),
        }
    }

    #[test]
    fn the_mark_is_the_same_every_time_and_goes_into_text_alone() {
        let marker = Marker {
            argument: "body".to_owned(),
            style: MarkerStyle::HiddenComment,
        };
        let tool = ToolConfig {
            marker: Some(marker),
            ..ToolConfig::default()
        };
        let sent = arguments(&tool, &request(r#"{"title":"t","body":"b","n":1.10}"#)).unwrap();
        assert_eq!(sent["body"], "b\n\n<!-- factum:abc -->");
        assert_eq!(
            sent["n"].to_string(),
            "1.10",
            "numbers stay as they were written"
        );
        assert!(arguments(&tool, &request(r#"{"body":7}"#)).is_err());
    }

    // What a result proves does not depend on its length; only what is kept of it does.
    #[test]
    fn a_result_that_is_too_long_is_done_and_says_what_is_missing() {
        let long = json!({"content": [{"type": "text", "text": "x".repeat(2_000)}], "structuredContent": {"id": "T-7"}});
        let tool = ToolConfig {
            receipt: Some("/id".to_owned()),
            ..ToolConfig::default()
        };
        let Carried::Read {
            means,
            receipt,
            body,
        } = answered(&tool, Ok(long.clone()), 1_000)
        else {
            panic!("it was read");
        };
        assert_eq!(
            (means, receipt),
            (AnswerClass::Done, Some(Receipt::new("T-7")))
        );
        let said = String::from_utf8(body).unwrap();
        assert!(said.len() < 1_000 && said.contains("are kept"), "{said}");
        let whole = answered(&tool, Ok(long.clone()), 10_000);
        assert!(
            matches!(whole, Carried::Read { body, .. } if body == long.to_string().into_bytes())
        );
    }

    // B124: an upstream that acts and then errs.
    #[test]
    fn an_error_proves_nothing_unless_somebody_answers_for_that() {
        let careful = ToolConfig::default();
        let vouched = ToolConfig {
            errors_prove_nothing_happened: true,
            ..ToolConfig::default()
        };
        let failed =
            || Ok(json!({"content": [{"type": "text", "text": "no such repo"}], "isError": true}));
        let errors = [failed(), Err(json!({"code": -32603, "message": "boom"}))];
        for outcome in errors {
            let class = |tool: &ToolConfig| match answered(tool, outcome.clone(), 1_000) {
                Carried::Read { means, .. } => means,
                other => panic!("{other:?}"),
            };
            assert_eq!(class(&careful), AnswerClass::Unknown);
            assert!(matches!(class(&vouched), AnswerClass::Rejected { .. }));
        }
    }
}
