//! `factum contract schema`: the JSON Schema of contract files, for editors. What it lets pass, `lint` may still refuse.

use std::process::ExitCode;

use serde_json::{Map, Value, json};

use crate::exit;
use crate::failure::Failure;
use crate::out::Out;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// For provider.toml in place of an operation's file
    #[arg(long)]
    provider: bool,
}

pub(crate) fn run(args: &Args, out: Out) -> Result<ExitCode, Failure> {
    let schema = if args.provider {
        provider()
    } else {
        operation()
    };
    if out.json {
        out.value(&schema);
    } else {
        out.line(format_args!("{schema:#}"));
    }
    Ok(exit::code(exit::OK))
}

/// Members that sections have in common when they ask something.
const QUESTION: &str = "method:text path:text headers:table json:any form:table graphql:table";

/// The sections, each with its members: `name:kind`, or `name=word|word`; `!` behind a name that is needed.
const SECTIONS: &[(&str, &str)] = &[
    (
        "source",
        "url:text read:day person:text date:day report:text grade=stated|probed|in_house|assumed|second_hand quote:text \
         api_version:text",
    ),
    (
        "claim",
        "about!:text url:text read:day person:text date:day report:text \
         grade=stated|probed|in_house|assumed|second_hand quote:text api_version:text",
    ),
    (
        "when",
        "status:status headers:some json:some text:some graphql=ok|request_error|field_error",
    ),
    (
        "take",
        "json:text header:text last_segment:text between:texts",
    ),
    ("ours", "in!:#take with=reference|key"),
    (
        "effect",
        "method:text path!:text headers:table body=json|form|multipart|graphql|text|bytes|none set:list form_style:table \
         document:text insert:some \
         json:any form:table graphql:table direct:flag condition:#condition condition_checked:flag upsert:flag side_effects:text \
         source:#source",
    ),
    (
        "condition",
        "header:text member:text value:any param:text required:flag quoted:flag source:#source",
    ),
    (
        "key",
        "place!:any role=key|resource_id|upsert alphabet=hex|base32|base32hex|base64url|alphanumeric|digits|uuid length_max:count \
         length_min:count length_in=characters|bytes prefix:text companions:#companions repeat:#repeat source:#source",
    ),
    ("companions", "headers:table set:list"),
    ("rate", "requests!:count per!:span"),
    ("amount", "at!:text currency:text minor:flag"),
    (
        "request",
        "method:text path:text headers:table body:some contains:texts refused:text",
    ),
    (
        "signature",
        "scheme!=stripe|github|slack|standard_webhooks|hmac|shared_secret|basic header:text algorithm=sha256|sha1|sha512 \
         encoding=hex|base64 prefix:text signed:text timestamp:text id:text tolerance:span",
    ),
    (
        "repeat",
        "retention!:any clock=first_request|completion|object_end after=runs_as_new|refused|unstated adjustable:flag escapes:list \
         concurrent=in_progress|waits|unstated wait_min:span stored!:#stored failures=replayed|executed_again|poison|unstated \
         limits_checked=before_key|after_key scope:texts other_content=refused|first_result|new_effect|unstated compared:texts \
         replayed:#when replays=original|current_state|conflict|unstated source:#source",
    ),
    ("stored", "success!:flag refusals!:flag errors!:flag"),
    (
        "reference",
        "alphabet=hex|base32|base32hex|base64url|alphanumeric|digits|uuid length_max:count length_min:count \
         length_in=characters|bytes prefix:text",
    ),
    (
        "answer",
        "when!:#when class!=done|accepted|rejected|declined|in_progress|already_exists|mismatch|busy|unknown receipt:any \
         aliases:texts ours:#ours same:list object:#take stored:flag why:text settled:flag source:#source",
    ),
    ("processing", "max!:span source:#source"),
    (
        "lookup",
        "how=id|filter|search|scan|repeat|high_water by=reference|key success:status found:#when absent:#when several:#when \
         items:text ours:text others=inconclusive|ignored receipt:any queued:some object:text complete:any next:text next_path:text \
         pages:table more:some pages_max:count result_cap:count authority=authoritative|partial sees_queued:flag queue_max:span \
         visible_for:text consistency=strong|lag|unknown lag:text unique:flag includes:texts rate:#rate source:#source",
    ),
    (
        "poll",
        "success:status completed:#when working:#when failed:#when receipt:any why:text every:span source:#source",
    ),
    (
        "cancel",
        "confirmed!:#when object:text too_late:#when too_late_receipt:#take refuses_later_arrivals:flag retention!:any \
         source:#source",
    ),
    ("whoami", "success:status account!:text source:#source"),
    (
        "callback",
        "signature!:#signature body=json|form items:text id:text matches!:some positive:some negative:some reversed:some receipt:text \
         object:text why:text source:#source",
    ),
    (
        "events",
        "success:status first!:text next!:text expired:#when every:span pages_max:count items:text id:text matches!:some positive:some negative:some reversed:some \
         receipt:text object:text why:text source:#source",
    ),
    (
        "support",
        "key_honoured:#when key_ignored:#when marker_kept:#ours source:#source",
    ),
    (
        "undo",
        "how!=none|cancel|cancel_by_key|refund|reverse|delete|close|archive|redact operation:text within:span only_while:text \
         restorable_for:span leaves:text source:#source",
    ),
    (
        "completion",
        "done_means!=final|queued|recorded then:text reversible:text source:#source",
    ),
    ("input", "params:table payload:table"),
    (
        "product",
        "kind:text web:text deep_link:text search_text:text amount:#amount shown:texts captured:texts trace:text",
    ),
    (
        "example",
        "title:text params:table payload:any request:#request answer:table class:text receipt:texts object:text replayed:flag \
         ours:flag stored:flag why:text retry_after:text lookup:table poll:table cancel:table whoami:table callback:table \
         event:table shows:text asked:#request next_page:text cursor:text secret:text at:count",
    ),
    (
        "neither",
        "prefer!=ask|prefer_missing|prefer_duplicate by:text reason:text",
    ),
    (
        "auth",
        "kinds!:texts header:text query:text oauth2:table sigv4:table hmac:table",
    ),
    (
        "limits",
        "concurrency:count rate:#rate body_max:count between:span scope:text ban:text",
    ),
    (
        "advice",
        "after:#take after_unit=s|ms at:#take at_unit=s|ms again:#when never:#when",
    ),
];

/// The sections that ask the destination something.
const QUESTIONS: [&str; 5] = ["lookup", "poll", "cancel", "whoami", "events"];

const OPERATION: &str = "provider!:text operation!:text title!:text \
    consequence!=harmless|reversible|costly|irreversible finish:flag neither:#neither api_version:text verified_on:day \
    review_by:day requires:texts effect!:#effect key:#key reference:#reference answers:[answer] processing:#processing \
    lookup:#lookup poll:#poll cancel:#cancel whoami:#whoami callback:#callback events:#events support:#support undo:#undo \
    completion:#completion input:#input product:#product examples:[example] claims:[claim]";

const PROVIDER: &str = "provider!:text title!:text auth:#auth limits:#limits retry_after:#take advice:#advice answers:[answer] \
    examples:[example] claims:[claim]";

fn operation() -> Value {
    document("The contract of an operation", OPERATION)
}

fn provider() -> Value {
    document("What a provider's operations share", PROVIDER)
}

fn document(title: &str, members: &str) -> Value {
    let mut definitions = Map::new();
    for (name, own) in SECTIONS {
        let asks = QUESTIONS.contains(name);
        let all = format!("{own} {}", if asks { QUESTION } else { "" });
        definitions.insert((*name).to_owned(), object(&all));
    }
    let mut schema = object(members);
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = title.into();
    schema["$defs"] = Value::Object(definitions);
    schema
}

/// An object with these members and no others.
fn object(members: &str) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for member in members.split_whitespace() {
        let end = member.find([':', '=']).unwrap_or(member.len());
        let (name, kind) = member.split_at(end);
        let plain = name.trim_end_matches('!');
        if plain != name {
            required.push(plain);
        }
        let kind = match kind.strip_prefix('=') {
            Some(words) => json!({"enum": words.split('|').collect::<Vec<_>>()}),
            None => of_kind(kind.trim_start_matches(':')),
        };
        properties.insert(plain.to_owned(), kind);
    }
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn of_kind(kind: &str) -> Value {
    if let Some(section) = kind.strip_prefix('#') {
        return json!({"$ref": format!("#/$defs/{section}")});
    }
    if let Some(section) = kind.strip_prefix('[') {
        let section = section.trim_end_matches(']');
        return json!({"type": "array", "items": {"$ref": format!("#/$defs/{section}")}});
    }
    match kind {
        "text" => json!({"type": "string"}),
        "flag" => json!({"type": "boolean"}),
        "count" => json!({"type": "integer", "minimum": 0}),
        "table" => json!({"type": "object"}),
        "list" => json!({"type": "array"}),
        "texts" => {
            json!({"type": ["string", "array"], "items": {"type": "string"}})
        }
        "some" => json!({"type": ["object", "array"], "items": {"type": "object"}}),
        "status" => json!({"type": ["integer", "string", "array"]}),
        "day" => json!({"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}),
        "span" => json!({"type": "string", "pattern": "^[0-9]+ ?(ms|s|min|h|d)$"}),
        _ => json!(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use factum_contract::Catalogue;

    /// What of a value the schema refuses, by the words that it uses.
    fn refused(schema: &Value, root: &Value, value: &Value, at: &str) -> Vec<String> {
        if let Some(name) = schema["$ref"].as_str() {
            let name = name.trim_start_matches("#/$defs/");
            let target = &root["$defs"][name];
            assert!(target.is_object(), "{name} is defined");
            return refused(target, root, value, at);
        }
        let mut wrong = Vec::new();
        let is = |kind: &str| match kind {
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            other => panic!("{other}"),
        };
        let kinds: Vec<_> = match &schema["type"] {
            Value::String(kind) => vec![kind.as_str()],
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        if !kinds.is_empty() && !kinds.iter().any(|kind| is(kind)) {
            wrong.push(format!("{at} is no {kinds:?}"));
        }
        if let Some(words) = schema["enum"].as_array()
            && !words.contains(value)
        {
            wrong.push(format!("{at} is none of {words:?}"));
        }
        for needed in schema["required"].as_array().into_iter().flatten() {
            if value[needed.as_str().unwrap()].is_null() {
                wrong.push(format!("{at} lacks {needed}"));
            }
        }
        for (name, member) in value.as_object().into_iter().flatten() {
            let at = format!("{at}/{name}");
            match &schema["properties"][name] {
                Value::Null if schema["additionalProperties"] == false => wrong.push(at),
                Value::Null => {}
                inner => wrong.extend(refused(inner, root, member, &at)),
            }
        }
        for (index, item) in value.as_array().into_iter().flatten().enumerate() {
            wrong.extend(refused(
                &schema["items"],
                root,
                item,
                &format!("{at}/{index}"),
            ));
        }
        wrong
    }

    fn check(path: &str, text: &str) -> Vec<String> {
        let value: Value = toml::from_str(text).unwrap();
        let schema = if path.ends_with("provider.toml") {
            provider()
        } else {
            operation()
        };
        refused(&schema, &schema, &value, path)
    }

    #[test]
    fn every_contract_that_lint_accepts_fits_the_schema() {
        let mut files: Vec<(String, String)> = Catalogue::builtin_files()
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect();
        // The kitchen uses every member of the language once.
        let kitchen = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../contract/tests/kitchen/sink"
        );
        for entry in std::fs::read_dir(kitchen).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            files.push((path.display().to_string(), text));
        }
        assert!(files.len() > 60);
        let wrong: Vec<_> = files
            .iter()
            .flat_map(|(path, text)| check(path, text))
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn a_wrong_member_or_word_is_refused() {
        let text = "provider = \"a\"\noperation = \"b\"\ntitle = \"c\"\nconsequence = \"awful\"\n[effect]\npath = \"/\"\npaht = 1\n";
        let wrong = check("x.toml", text);
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        let lacking = check("provider.toml", "title = \"x\"\n");
        assert_eq!(lacking, ["provider.toml lacks \"provider\""]);
    }

    #[test]
    fn every_section_that_is_named_is_defined() {
        let names: Vec<_> = SECTIONS.iter().map(|(name, _)| *name).collect();
        let all = SECTIONS.iter().map(|(_, members)| *members);
        for members in all.chain([OPERATION, PROVIDER]) {
            for member in members.split_whitespace() {
                let section = member.split_once(":#").map(|(_, name)| name);
                let items = member.split_once(":[").map(|(_, name)| name);
                if let Some(name) = section.or(items) {
                    assert!(names.contains(&name.trim_end_matches(']')), "{member}");
                }
            }
        }
    }
}
