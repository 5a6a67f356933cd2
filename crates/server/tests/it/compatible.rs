//! Whoever was written against the last released document can go on with this one. `docs/released/openapi.json` is that document, and
//! CONTRIBUTING says how it is renewed at a release.

mod judge;

use std::path::Path;

use judge::breaks;
use serde_json::{Value, json};

/// Breaks since the last release that are meant: what their descriptions hold, and the reason. The changelog tells users of those that
/// they may notice. Emptied at a release.
const MEANT: &[(&str, &str)] = &[
    (
        "pattern was \"^act_[0-",
        "the pattern of ids leaves out what never was an id",
    ),
    (
        "pattern was anything and is \"^[^",
        "blank texts and control characters were refused, or found nothing, before the document said so",
    ),
    (
        "GET /v1/destinations/{name} name: minLength",
        "nothing has an empty name",
    ),
    (
        "maxLength was anything and is",
        "longer texts and names were refused, but for `for`, which takes the form of what it is unique with",
    ),
    (
        "Submission/conversation/turn: maximum",
        "beyond it, readers of JSON disagree about the number",
    ),
    (
        "Submission: anyOf was",
        "the same three forms of an identity, in which null is the same as nothing",
    ),
    (
        "/copy_until",
        "what a copy that holds nothing knows of was answered as `never`, which is no instant",
    ),
    (
        "/contact/by: minLength",
        "when an answer is promised is an instant or null; it was free text",
    ),
];

#[test]
fn nothing_is_broken_since_the_last_release_but_what_is_meant() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/released/openapi.json");
    let released: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let found = breaks(&released, &factum_server::openapi::document());
    let is_meant = |one: &&String| MEANT.iter().any(|(part, _)| one.contains(part));
    let new: Vec<&String> = found.iter().filter(|one| !is_meant(one)).collect();
    assert!(
        new.is_empty(),
        "callers of the last release break:\n{new:#?}"
    );
    for (part, _) in MEANT {
        let still = found.iter().any(|one| one.contains(part));
        assert!(
            still,
            "nothing is broken like this any more, take it out of MEANT: {part}"
        );
    }
}

/// A small document: one call with a parameter, a body and an answer.
fn document() -> Value {
    let body = json!({
        "type": "object", "required": ["key"], "additionalProperties": false,
        "properties": {
            "key": {"type": "string", "maxLength": 9}, "n": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]},
            "word": {"type": "string", "enum": ["a", "b"]},
        },
    });
    let answer = json!({
        "type": "object", "required": ["id", "state"], "additionalProperties": false,
        "properties": {
            "id": {"type": "string"}, "state": {"type": "string", "enum": ["open", "done"]}, "note": {"type": "string"},
            "list": {"type": "array", "items": {"$ref": "#/components/schemas/Answer"}},
        },
    });
    let json_of = |name: &str| json!({"application/json": {"schema": {"$ref": format!("#/components/schemas/{name}")}}});
    json!({
        "paths": {"/x": {"post": {
            "security": [],
            "parameters": [{"name": "limit", "in": "query", "required": false, "schema": {"type": "integer", "maximum": 500}}],
            "requestBody": {"required": false, "content": json_of("Body")},
            "responses": {"200": {"content": json_of("Answer")}, "404": {"content": {}}},
        }}},
        "components": {"schemas": {"Body": body, "Answer": answer}},
    })
}

const CALL: &str = "/paths/~1x/post";
const BODY: &str = "/components/schemas/Body";
const ANSWER: &str = "/components/schemas/Answer";

/// The document with the value at a place replaced, or taken out where it is null.
fn changed(at: &str, value: Value) -> Value {
    let mut document = document();
    let (parent, name) = at.rsplit_once('/').unwrap();
    let name = name.replace("~1", "/");
    let parent = document.pointer_mut(parent).unwrap();
    match (value, parent) {
        (Value::Null, Value::Object(members)) => drop(members.remove(&name)),
        (Value::Null, Value::Array(items)) => drop(items.remove(name.parse().unwrap())),
        (value, Value::Object(members)) => drop(members.insert(name, value)),
        (value, other) => *other.get_mut(name.parse::<usize>().unwrap()).unwrap() = value,
    }
    document
}

/// A place, what stands there later, and the break that it is.
type Break = (String, Value, &'static str);

fn breaks_of_calls() -> Vec<Break> {
    vec![
        ("/paths/~1x".to_owned(), json!(null), "POST /x: is gone"),
        (CALL.to_owned(), json!(null), "POST /x: is gone"),
        (
            format!("{CALL}/security"),
            json!(null),
            "POST /x: needs a token now",
        ),
        (
            format!("{CALL}/parameters/0"),
            json!(null),
            "POST /x limit: is gone",
        ),
        (
            format!("{CALL}/parameters/0/required"),
            json!(true),
            "POST /x limit: is required now",
        ),
        (
            format!("{CALL}/parameters/0/schema/maximum"),
            json!(50),
            "POST /x limit: maximum was 500 and is 50",
        ),
        (
            format!("{CALL}/requestBody"),
            json!(null),
            "POST /x: takes no body any more",
        ),
        (
            format!("{CALL}/requestBody/required"),
            json!(true),
            "POST /x: wants a body now",
        ),
        (
            format!("{CALL}/requestBody/content/application~1json"),
            json!(null),
            "POST /x: no longer has application/json",
        ),
        (
            format!("{CALL}/responses/200"),
            json!(null),
            "POST /x: no longer answers 200",
        ),
    ]
}

fn breaks_of_bodies_and_answers() -> Vec<Break> {
    vec![
        (
            format!("{BODY}/properties/n"),
            json!(null),
            "Body/n: is gone",
        ),
        (
            format!("{BODY}/required"),
            json!(["key", "n"]),
            "Body/n: is required now",
        ),
        (
            format!("{BODY}/properties/key/maxLength"),
            json!(8),
            "Body/key: maxLength was 9 and is 8",
        ),
        (
            format!("{BODY}/properties/key/pattern"),
            json!("^a$"),
            "Body/key: pattern was anything and is \"^a$\"",
        ),
        (
            format!("{BODY}/properties/key/type"),
            json!("integer"),
            "Body/key: type was \"string\" and is \"integer\"",
        ),
        (
            format!("{BODY}/properties/n/anyOf/1"),
            json!(null),
            "Body/n: type was \"null\" and is \"integer\"",
        ),
        (
            format!("{BODY}/properties/n/anyOf/0/minimum"),
            json!(1),
            "Body/n: minimum was 0 and is 1",
        ),
        (
            format!("{BODY}/properties/word/enum"),
            json!(["a"]),
            "Body/word: the word \"b\" is on one side only",
        ),
        (
            format!("{ANSWER}/properties/note"),
            json!(null),
            "Answer/note: is gone",
        ),
        (
            format!("{ANSWER}/required"),
            json!(["id"]),
            "Answer/state: may be missing now",
        ),
        (
            format!("{ANSWER}/properties/state/enum"),
            json!(["open", "done", "lost"]),
            "Answer/state: the word \"lost\" is on one side only",
        ),
        (
            format!("{ANSWER}/properties/id"),
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            "Answer/id: type was \"null\" and is \"string\"",
        ),
    ]
}

#[test]
fn what_a_caller_rests_on_is_not_taken_away() {
    let rows = breaks_of_calls()
        .into_iter()
        .chain(breaks_of_bodies_and_answers());
    for (at, value, wanted) in rows {
        let found = breaks(&document(), &changed(&at, value.clone()));
        assert!(
            found.iter().any(|one| one == wanted),
            "{at} = {value}: {found:?}, wanted {wanted}"
        );
    }
    let mut wants = document();
    let parameter = json!({"name": "who", "in": "query", "required": true, "schema": {}});
    let parameters = wants.pointer_mut(&format!("{CALL}/parameters"));
    parameters.unwrap().as_array_mut().unwrap().push(parameter);
    assert_eq!(
        breaks(&document(), &wants),
        ["POST /x: wants the parameter \"who\""]
    );
}

#[test]
fn what_is_added_or_widened_breaks_nobody() {
    let rows = [
        ("/paths/~1y".to_owned(), json!({"get": {}})),
        (format!("{CALL}/parameters/0/schema/maximum"), json!(null)),
        (format!("{CALL}/responses/404"), json!(null)),
        (format!("{CALL}/responses/409"), json!({"content": {}})),
        (format!("{BODY}/required"), json!([])),
        (format!("{BODY}/properties/more"), json!({"type": "string"})),
        (format!("{BODY}/properties/key/maxLength"), json!(10)),
        (
            format!("{BODY}/properties/key"),
            json!({"anyOf": [{"type": "null"}, {"type": "string"}]}),
        ),
        (
            format!("{BODY}/properties/word/enum"),
            json!(["a", "b", "c"]),
        ),
        (
            format!("{ANSWER}/properties/more"),
            json!({"type": "string"}),
        ),
        (format!("{ANSWER}/required"), json!(["id", "state", "note"])),
        (format!("{ANSWER}/properties/state/enum"), json!(["open"])),
        (format!("{ANSWER}/properties/id/maxLength"), json!(3)),
    ];
    assert_eq!(breaks(&document(), &document()), [""; 0]);
    for (at, value) in rows {
        let found = breaks(&document(), &changed(&at, value.clone()));
        assert!(found.is_empty(), "{at} = {value}: {found:?}");
    }
}
