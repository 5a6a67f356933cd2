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
const QUESTION: &str = "method:text path:text headers:{text} json:any form:table graphql:#query";

/// The sections, each with its members: `name:kind`, or `name=word|word`; `!` behind a name that is needed. A kind is one of
/// [`of_kind`], `#section`, `[kind]` for a list, `+kind` for one or a list of them, `{kind}` for a table whose names are free.
/// A section stands among words as `#section` too.
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
        "status:status headers:+#header_test json:+#json_test text:+#text_test graphql=ok|request_error|field_error",
    ),
    (
        "header_test",
        "name!:text equals:text one_of:[text] starts_with:text absent:flag",
    ),
    (
        "json_test",
        "at!:text equals:scalar one_of:[scalar] none_of:[scalar] exists:flag absent:flag \
         type=string|number|boolean|array|object|null length:count not_empty:flag contains:text starts_with:text status:status",
    ),
    ("text_test", "contains:text starts_with:text"),
    (
        "take",
        "json:text header:text last_segment:text between:[text]",
    ),
    ("query", "document!:text variables:table"),
    ("ours", "in!:#take with=reference|key"),
    (
        "effect",
        "method:text path!:text headers:{text} body=json|form|multipart|graphql|text|bytes|none set:[#set] \
         form_style:#form_style document:text insert:+#insert \
         json:any form:table graphql:#query direct:flag condition:#condition condition_checked:flag upsert:flag side_effects:text \
         source:#source",
    ),
    ("set", "at!:text to!:any"),
    ("insert", "after!:text text!:text"),
    (
        "form_style",
        "nested=brackets|dots lists=indices|brackets|repeat",
    ),
    (
        "condition",
        "header:text member:text value:text param:text required:flag quoted:flag source:#source",
    ),
    (
        "key",
        "place!=path|#place role=key|resource_id|upsert alphabet=hex|base32|base32hex|base64url|alphanumeric|digits|uuid length_max:count \
         length_min:count length_in=characters|bytes prefix:text companions:#companions repeat:#repeat source:#source",
    ),
    (
        "place",
        "header:text quoted_header:text member:text field:text variable:text item:text query:text directive:text given:+text",
    ),
    ("companions", "headers:{text} set:[#set]"),
    ("rate", "requests!:count per!:span"),
    ("amount", "at!:text currency:text minor:flag"),
    (
        "request",
        "method:text path:text headers:{text} body:+#json_test contains:texts refused:text",
    ),
    (
        "signature",
        "scheme!=stripe|github|slack|standard_webhooks|hmac|shared_secret|basic|twilio|mailgun|square|adyen|sendgrid header:text algorithm=sha256|sha1|sha512 \
         encoding=hex|base64 prefix:text signed:text timestamp:text id:text tolerance:span",
    ),
    (
        "repeat",
        "retention!=unbounded|unpublished|#kept clock=first_request|completion|object_end after=runs_as_new|refused|unstated adjustable:flag escapes:+#escape \
         concurrent=in_progress|waits|unstated wait_min:span stored!:#stored failures=replayed|executed_again|poison|unstated \
         limits_checked=before_key|after_key scope:texts other_content=refused|first_result|new_effect|unstated compared:texts \
         replayed:#when replays=original|current_state|conflict|unstated source:#source",
    ),
    ("kept", "floor:span approximate:span count:count"),
    ("window", "floor:span approximate:span"),
    (
        "escape",
        "body_over:count content_type:text answer_over:count stated:text",
    ),
    ("stored", "success!:flag refusals!:flag errors!:flag"),
    (
        "reference",
        "alphabet=hex|base32|base32hex|base64url|alphanumeric|digits|uuid length_max:count length_min:count \
         length_in=characters|bytes prefix:text",
    ),
    (
        "answer",
        "when!:#when class!=done|accepted|rejected|declined|in_progress|already_exists|mismatch|busy|unknown receipt=none|#take \
         aliases:texts ours:#ours same:[#same] object:#take stored:flag why:text settled:flag source:#source",
    ),
    ("processing", "max!:span source:#source"),
    (
        "lookup",
        "how=id|filter|search|scan|repeat|high_water by=reference|key success:status found:#when absent:#when several:#when \
         items:text ours:text others=inconclusive|ignored receipt=none|#take queued:+#json_test object:text complete=always|#complete next:text next_path:text \
         pages:#pages more:+#json_test pages_max:count result_cap:count authority=authoritative|partial sees_queued:flag queue_max:span \
         visible_for:text consistency=strong|lag|unknown lag:text unique:flag includes:texts rate:#rate source:#source",
    ),
    ("complete", "tests:+#json_test total:text"),
    ("pages", "offset:count page:count size:count link:text"),
    ("same", "sent!:text got!:text"),
    (
        "poll",
        "success:status completed:#when working:#when failed:#when receipt=none|#take why:text every:span source:#source",
    ),
    (
        "cancel",
        "confirmed!:#when object:text too_late:#when too_late_receipt:#take refuses_later_arrivals:flag retention!=unbounded|unpublished|#window \
         source:#source",
    ),
    ("whoami", "success:status account!:text"),
    (
        "callback",
        "signature!:#signature body=json|form items:text id:text matches!:+#match positive:+#json_test negative:+#json_test reversed:+#json_test receipt:text \
         object:text why:text source:#source",
    ),
    ("match", "by!=reference|key|object|receipt at!:text"),
    (
        "events",
        "success:status first!:text next!:text expired:#when every:span pages_max:count items:text id:text matches!:+#match positive:+#json_test negative:+#json_test reversed:+#json_test \
         receipt:text object:text why:text source:#source",
    ),
    (
        "support",
        "key_honoured:#when key_ignored:#when marker_kept:#ours source:#source",
    ),
    (
        "undo",
        "how!=none|cancel|cancel_by_key|refund|reverse|delete|close|archive|redact operation:text within:span only_while:text \
         restorable_for:span leaves:text params:table payload:any from_payload:{text} source:#source",
    ),
    (
        "completion",
        "done_means!=final|queued|recorded then:text reversible:text source:#source",
    ),
    ("input", "params:#input_schema payload:#input_schema"),
    (
        "input_schema",
        "type:texts description:text enum:[scalar] required:[text] properties:{#input_schema} additionalProperties:flag \
         items:#input_schema minLength:count maxLength:count minItems:count maxItems:count minimum:integer maximum:integer",
    ),
    (
        "product",
        "kind:text web:text deep_link:text search_text:text amount:#amount shown:texts captured:texts trace:text",
    ),
    (
        "example",
        "title:text params:table payload:any request:#request answer:#given class:text receipt:texts object:text replayed:flag \
         ours:flag stored:flag why:text retry_after:text lookup:#given poll:#given cancel:#given whoami:#given callback:#given \
         event:#given shows:text asked:#request next_page:text cursor:text secret:text at:count",
    ),
    (
        "given",
        "status:count headers:{text} body:any truncated:flag",
    ),
    (
        "neither",
        "prefer!=ask|prefer_missing|prefer_duplicate by:text reason:text",
    ),
    (
        "auth",
        "kinds!:texts header:text query:text oauth2:#oauth2 sigv4:#sigv4 hmac:#hmac",
    ),
    (
        "oauth2",
        "token_url!:text scopes:texts audience:text in_body:flag",
    ),
    ("sigv4", "service!:text region:text"),
    (
        "hmac",
        "header!:text algorithm=sha1|sha256|sha512 encoding=hex|base64 signed!:text value:text timestamp:text \
         timestamp_form=unix|unix_ms|http_date|rfc3339 key_header:text secret_form=text|base64",
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

/// The sections that have exactly one of their members.
const CHOICES: [&str; 7] = [
    "take",
    "text_test",
    "place",
    "kept",
    "window",
    "escape",
    "complete",
];

const OPERATION: &str = "provider!:text operation!:text title!:text \
    consequence!=harmless|reversible|costly|irreversible finish:flag neither:#neither api_version:text verified_on:day \
    review_by:day requires:texts effect!:#effect key:#key reference:#reference answers:[#answer] processing:#processing \
    lookup:#lookup poll:#poll cancel:#cancel whoami:#whoami callback:#callback events:#events support:#support undo:#undo \
    completion:#completion input:#input product:#product examples:[#example] claims:[#claim]";

const PROVIDER: &str = "provider!:text title!:text auth:#auth limits:#limits retry_after:#take advice:#advice answers:[#answer] \
    examples:[#example] claims:[#claim]";

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
        let mut section = object(&all);
        if CHOICES.contains(name) {
            section["minProperties"] = 1.into();
            section["maxProperties"] = 1.into();
        }
        definitions.insert((*name).to_owned(), section);
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
            Some(words) => of_words(words),
            None => of_kind(kind.trim_start_matches(':')),
        };
        properties.insert(plain.to_owned(), kind);
    }
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// One of these words, or a section that may stand in place of a word.
fn of_words(words: &str) -> Value {
    let (sections, words): (Vec<_>, Vec<_>) =
        words.split('|').partition(|word| word.starts_with('#'));
    let words = json!({"enum": words});
    if sections.is_empty() {
        return words;
    }
    let sections = sections.into_iter().map(of_kind);
    json!({"anyOf": std::iter::once(words).chain(sections).collect::<Vec<_>>()})
}

fn of_kind(kind: &str) -> Value {
    if let Some(section) = kind.strip_prefix('#') {
        return json!({"$ref": format!("#/$defs/{section}")});
    }
    if let Some(one) = kind.strip_prefix('+') {
        let list = json!({"type": "array", "items": of_kind(one)});
        return json!({"anyOf": [of_kind(one), list]});
    }
    if let Some(items) = kind.strip_prefix('[') {
        return json!({"type": "array", "items": of_kind(items.trim_end_matches(']'))});
    }
    if let Some(members) = kind.strip_prefix('{') {
        let members = of_kind(members.trim_end_matches('}'));
        return json!({"type": "object", "additionalProperties": members});
    }
    match kind {
        "text" => json!({"type": "string"}),
        "flag" => json!({"type": "boolean"}),
        "count" => json!({"type": "integer", "minimum": 0}),
        "integer" => json!({"type": "integer"}),
        "scalar" => json!({"type": ["string", "integer", "boolean"]}),
        "table" => json!({"type": "object", "additionalProperties": true}),
        "texts" => {
            json!({"type": ["string", "array"], "items": {"type": "string"}})
        }
        "status" => json!({"type": ["integer", "string", "array"]}),
        "day" => json!({"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}),
        "span" => json!({"type": "string", "pattern": "^[0-9]+ ?(ms|s|min|h|d)$"}),
        _ => json!(true),
    }
}

#[cfg(test)]
mod tests;
