//! Requests: what the contract writes, what the submission may not change.

use factum_contract::{BuildErrorKind, EffectInput};
use serde_json::{Map, Value, json};

use crate::support::{contract, effect, testbed};

const HEAD: &str = r#"
provider = "p"
operation = "o"
title = "t"
consequence = "costly"
"#;

fn with(rest: &str) -> factum_contract::Contract {
    contract(&format!("{HEAD}{rest}"))
}

/// Where it fails and why.
fn fails(
    contract: &factum_contract::Contract,
    given: Value,
    payload: &str,
) -> (String, BuildErrorKind) {
    let error = effect(contract, given, payload).expect_err("the request cannot be built");
    assert!(error.to_string().starts_with(&error.member), "{error}");
    (error.member, error.kind)
}

#[test]
fn the_payload_is_sent_as_it_was_written() {
    // Numbers beyond a double, order, white space, repeated members and escapes are the caller's.
    let payload =
        "{ \"n\" : 1.00000000000000000001e+999,\n\t\"b\":\"\\u00e9\", \"a\": -0, \"a\": 2 }";
    let plain = with("[effect]\npath = \"/x\"\n");
    let request = effect(&plain, json!({}), payload).unwrap();
    assert_eq!(request.body, payload.as_bytes());
    let set = with("[effect]\npath = \"/x\"\nset = [{ at = \"/r\", to = \"{reference}\" }]\n");
    let request = effect(&set, json!({}), payload).unwrap();
    let expected = payload.replace(" }", ",\"r\":\"R\" }");
    assert_eq!(String::from_utf8(request.body).unwrap(), expected);
}

#[test]
fn a_text_is_sent_by_its_characters_with_our_mark_behind_its_anchor() {
    let text = with(
        "[effect]\npath = \"/x\"\nbody = \"text\"\ninsert = { after = \"BEGIN\\r\\n\", text = \"X:{reference}\\r\\n\" }\n",
    );
    let request = effect(&text, json!({}), r#" "BEGIN\r\n\u00e9 BEGIN\r\n" "#).unwrap();
    assert_eq!(
        String::from_utf8(request.body).unwrap(),
        "BEGIN\r\nX:R\r\né BEGIN\r\n"
    );
    let kinds = request.headers.iter().find(|(n, _)| n == "content-type");
    assert_eq!(kinds.unwrap().1, "text/plain; charset=utf-8");
    let payload = "/payload".to_owned();
    for wrong in ["{}", "7", "BEGIN\r\n", "", "null"] {
        let expected = (payload.clone(), BuildErrorKind::NotText);
        assert_eq!(fails(&text, json!({}), wrong), expected, "{wrong}");
    }
    let expected = (payload, BuildErrorKind::NoAnchor);
    assert_eq!(fails(&text, json!({}), r#""BEGIN\n""#), expected);
}

#[test]
fn bytes_need_not_be_json() {
    let bytes = with(
        "[effect]\npath = \"/x\"\nbody = \"bytes\"\nheaders = { Content-Type = \"text/plain\" }\n",
    );
    let request = bytes.effect_request(&EffectInput {
        params: &Map::new(),
        payload: b"\xff\x00 any",
        key: None,
        reference: "R",
    });
    let request = request.unwrap();
    assert_eq!(request.body, b"\xff\x00 any");
    let kinds: Vec<_> = request
        .headers
        .iter()
        .filter(|(n, _)| n == "content-type")
        .collect();
    assert_eq!(
        kinds,
        [&("content-type".to_owned(), "text/plain".to_owned())]
    );
    let json = with("[effect]\npath = \"/x\"\n");
    for payload in ["", "{", "{} x", "nul"] {
        let expected = ("/payload".to_owned(), BuildErrorKind::NotJson);
        assert_eq!(fails(&json, json!({}), payload), expected, "{payload}");
    }
}

#[test]
fn an_operation_without_a_body_takes_none() {
    let none = with("[effect]\nmethod = \"DELETE\"\npath = \"/x/{id}\"\nbody = \"none\"\n");
    let request = effect(&none, json!({"id": 7}), "").unwrap();
    assert_eq!(
        (request.method.as_str(), request.path_and_query.as_str()),
        ("DELETE", "/x/7")
    );
    assert!(request.body.is_empty());
    let expected = ("/payload".to_owned(), BuildErrorKind::NotWanted);
    assert_eq!(fails(&none, json!({"id": 7}), "{}"), expected);
}

#[test]
fn a_body_of_the_contract_s_own_is_filled() {
    let own = with(
        "[effect]\npath = \"/x\"\nbody = \"none\"\njson = { a = [\"{n}\", \"n={n}\", 3, true], r = \"{reference}\" }\n",
    );
    let request = effect(&own, json!({"n": 12345678901234567890_u64}), "").unwrap();
    assert_eq!(
        String::from_utf8(request.body).unwrap(),
        "{\"a\":[12345678901234567890,\"n=12345678901234567890\",3,true],\"r\":\"R\"}"
    );
}

#[test]
fn parameters_never_change_the_path() {
    let paths = with("[effect]\npath = \"/brands/{brand}/tickets?tag={tag}\"\n");
    let request = effect(
        &paths,
        json!({"brand": "a b&c", "tag": "x/../y?z=1#f&g=ü"}),
        "{}",
    );
    assert_eq!(
        request.unwrap().path_and_query,
        "/brands/a%20b%26c/tickets?tag=x%2F..%2Fy%3Fz%3D1%23f%26g%3D%C3%BC"
    );
    for brand in [
        "..",
        ".",
        "a/b",
        "/",
        "a\\b",
        "%2e%2e",
        "%2F",
        "%252f",
        "..%2f",
        "a\r\nHost: b",
        "a\u{0}",
        "\u{85}",
    ] {
        let expected = ("/params/brand".to_owned(), BuildErrorKind::LeavesPath);
        let given = json!({"brand": brand, "tag": "t"});
        assert_eq!(fails(&paths, given, "{}"), expected, "{brand:?}");
    }
}

#[test]
fn parameters_are_those_of_the_contract_and_plain() {
    let paths = with("[effect]\npath = \"/brands/{brand}/tickets?tag={tag}\"\n");
    let rows = [
        (
            json!({"brand": "", "tag": "t"}),
            "/params/brand",
            BuildErrorKind::Empty,
        ),
        (
            json!({"brand": "b", "tag": ""}),
            "/params/tag",
            BuildErrorKind::Empty,
        ),
        (
            json!({"tag": "t"}),
            "/params/brand",
            BuildErrorKind::Missing,
        ),
        (
            json!({"brand": null, "tag": "t"}),
            "/params/brand",
            BuildErrorKind::NotScalar,
        ),
        (
            json!({"brand": ["b"], "tag": "t"}),
            "/params/brand",
            BuildErrorKind::NotScalar,
        ),
        (
            json!({"brand": {}, "tag": "t"}),
            "/params/brand",
            BuildErrorKind::NotScalar,
        ),
        (
            json!({"brand": "b", "tag": "t", "tga": "u"}),
            "/params/tga",
            BuildErrorKind::Unknown,
        ),
        (
            json!({"brand": "b", "tag": "t", "a/b": "u"}),
            "/params/a~1b",
            BuildErrorKind::Unknown,
        ),
    ];
    for (given, member, kind) in rows {
        let shown = given.to_string();
        assert_eq!(
            fails(&paths, given, "{}"),
            (member.to_owned(), kind),
            "{shown}"
        );
    }
}

#[test]
fn numbers_and_booleans_go_into_paths_as_written() {
    let paths = with("[effect]\npath = \"/x/{a}/{b}\"\n");
    let given: Value = serde_json::from_str(r#"{"a": 1.50, "b": false}"#).unwrap();
    let request = effect(&paths, given, "{}").unwrap();
    assert_eq!(request.path_and_query, "/x/1.50/false");
}

#[test]
fn no_value_starts_a_header() {
    let headers = with(
        "[effect]\npath = \"/\"\nheaders = { X-Brand = \"brand {brand}\", X-Fixed = \"a\" }\n",
    );
    let request = effect(&headers, json!({"brand": "acme"}), "{}").unwrap();
    let sent = ("x-brand".to_owned(), "brand acme".to_owned());
    assert!(request.headers.contains(&sent), "{:?}", request.headers);
    for brand in [
        "a\r\nx-evil: 1",
        "a\nb",
        "a\rb",
        "a\u{0}",
        "ü",
        "\u{7f}",
        " a",
        "a ",
    ] {
        let expected = ("/params/brand".to_owned(), BuildErrorKind::NotHeaderText);
        assert_eq!(
            fails(&headers, json!({"brand": brand}), "{}"),
            expected,
            "{brand:?}"
        );
    }
}

#[test]
fn keys_fit_their_place() {
    let place = |place: &str| with(&format!("[effect]\npath = \"/\"\n[key]\nplace = {place}\n"));
    let header = |contract: &factum_contract::Contract, key: &str| {
        let request = contract.effect_request(&EffectInput {
            params: &Map::new(),
            payload: b"{}",
            key: Some(key),
            reference: "R",
        });
        request
            .map(|request| request.headers.last().cloned())
            .map_err(|error| (error.member, error.kind))
    };
    let named = |value: &str| Ok(Some(("idempotency-key".to_owned(), value.to_owned())));
    let bare = place("{ header = \"Idempotency-Key\" }");
    let quoted = place("{ quoted_header = \"Idempotency-Key\" }");
    assert_eq!(header(&bare, "abc"), named("abc"));
    assert_eq!(header(&quoted, "abc"), named("\"abc\""));
    let refused = Err(("/key".to_owned(), BuildErrorKind::NotHeaderText));
    for key in ["", "a\r\nb: c", "ü", " "] {
        assert_eq!(header(&bare, key), refused, "{key:?}");
    }
    for key in ["a\"b", "a\\b"] {
        assert_eq!(header(&quoted, key), refused, "{key:?}");
    }
    let member = place("{ member = \"/request/key\" }");
    let request = effect(&member, json!({}), "{\"request\":{}}").unwrap();
    assert_eq!(request.body, b"{\"request\":{\"key\":\"K\"}}");
}

#[test]
fn a_contract_with_a_key_builds_nothing_without_it() {
    let contract = testbed("key.sync");
    assert!(contract.sends_key());
    assert!(!testbed("lookup.sync").sends_key());
    let request = contract.effect_request(&EffectInput {
        params: &Map::new(),
        payload: b"{}",
        key: None,
        reference: "R",
    });
    let error = request.unwrap_err();
    assert_eq!(
        (error.member.as_str(), error.kind),
        ("/key", BuildErrorKind::Missing)
    );
    assert_eq!(error.to_string(), "/key is missing; add it");
}

#[test]
fn a_member_of_the_contract_s_is_never_the_caller_s() {
    let contract = testbed("key_body.sync");
    let rows = [
        (
            "{\"reference\":\"mine\"}",
            "/payload/reference",
            BuildErrorKind::Taken,
        ),
        (
            "{\"idempotency_key\":\"mine\"}",
            "/payload/idempotency_key",
            BuildErrorKind::Taken,
        ),
        ("[1]", "/payload/reference", BuildErrorKind::NoPlace),
        ("\"text\"", "/payload/reference", BuildErrorKind::NoPlace),
    ];
    for (payload, member, kind) in rows {
        assert_eq!(
            fails(contract, json!({}), payload),
            (member.to_owned(), kind),
            "{payload}"
        );
    }
}

#[test]
fn what_could_not_be_looked_up_is_not_sent() {
    let contract = with(
        r#"
[effect]
path = "/"
set = [{ at = "/r", to = "{reference}" }]
[lookup]
by = "reference"
path = "/{space}/items?r={reference}"
items = "/items"
ours = "/r"
receipt = { json = "/id" }
authority = "partial"
lag = "1 s"
"#,
    );
    let params: Vec<_> = contract.params().collect();
    assert_eq!(params, ["space"]);
    let expected = ("/params/space".to_owned(), BuildErrorKind::Missing);
    assert_eq!(fails(&contract, json!({}), "{}"), expected);
    let expected = ("/params/space".to_owned(), BuildErrorKind::LeavesPath);
    assert_eq!(fails(&contract, json!({"space": ".."}), "{}"), expected);
    assert!(effect(&contract, json!({"space": "s"}), "{}").is_ok());
}

#[test]
fn equal_input_gives_equal_bytes() {
    // B101
    for operation in ["key.sync", "key_path.queued", "key_body.sync"] {
        let contract = testbed(operation);
        let one = effect(contract, json!({}), "{\"b\":1,\"a\":2}").unwrap();
        let two = effect(contract, json!({}), "{\"b\":1,\"a\":2}").unwrap();
        assert_eq!(one, two, "{operation}");
    }
}

#[test]
fn a_body_beyond_the_provider_s_bound_is_not_sent() {
    let provider = "provider = \"p\"\ntitle = \"P\"\n[limits]\nbody_max = 20\n";
    let text = format!("{HEAD}[effect]\npath = \"/\"\n");
    let contract = factum_contract::Contract::parse("o", Some(("p", provider)), &text).unwrap();
    assert!(effect(&contract, json!({}), "\"123456789012345678\"").is_ok());
    let expected = ("/payload".to_owned(), BuildErrorKind::TooLarge);
    assert_eq!(
        fails(&contract, json!({}), "\"1234567890123456789\""),
        expected
    );
}

#[test]
fn keys_and_references_fit_and_never_meet() {
    let contract = testbed("key.sync");
    let key = contract.encode_key(&[1; 32]);
    assert_eq!(key.len(), 52, "all 256 bits in base32");
    assert_eq!(key, contract.encode_key(&[1; 32]));
    assert_ne!(key, contract.encode_key(&[2; 32]));
    let reference = contract.encode_reference(&[1; 32]);
    assert_eq!(reference.len(), 26, "130 bits in base32");
    assert!(!key.contains(&reference));
    let short = with(
        "[effect]\npath = \"/\"\n[key]\nplace = { header = \"K\" }\nalphabet = \"base64url\"\nlength_max = 25\nprefix = \"fm-\"\n[reference]\nprefix = \"fm-\"\nalphabet = \"hex\"\n",
    );
    assert_eq!(short.encode_key(&[1; 32]).len(), 25);
    assert!(short.encode_key(&[1; 32]).starts_with("fm-"));
    assert_eq!(short.encode_reference(&[1; 32]).len(), 3 + 32);
    assert!(
        short.warnings().is_empty(),
        "22 characters of 6 bits are enough"
    );
}
