//! Any bytes at all: nothing panics, and nothing is concluded from noise.

use factum_contract::{BuildErrorKind, Contract, EffectInput, HttpAnswer};
use factum_core::evidence::{AnswerClass, CancelAnswer, LookupAnswer, PollAnswer};
use proptest::prelude::*;
use serde_json::{Map, Value};

use crate::support::{builtin, testbed};

/// Pieces of which contracts are made, so that random texts come near to real ones.
fn toml_piece() -> impl Strategy<Value = String> {
    let words = [
        "[effect]\n",
        "[key]\n",
        "[key.repeat]\n",
        "[[answers]]\n",
        "[lookup]\n",
        "[poll]\n",
        "[cancel]\n",
        "[[claims]]\n",
        "provider = ",
        "operation = ",
        "path = ",
        "set = ",
        "when = ",
        "class = ",
        "place = ",
        "retention = ",
        "source = ",
        "about = ",
        "\"p\"\n",
        "\"/a/{b}\"\n",
        "\"{",
        "}\"",
        "{ status = ",
        "202",
        "\"5xx\"",
        " }\n",
        "{ at = \"/x\", equals = ",
        "true",
        "[",
        "]",
        ",",
        "\n",
        "=",
        "'''",
        "\u{fffd}",
        "ü",
        "\t",
        "#",
        "1979-05-27",
        "nan",
        "0x7f",
        "9223372036854775808",
    ];
    prop_oneof![
        8 => prop::sample::select(words.to_vec()).prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

/// Bodies that come near to what is read.
fn body() -> impl Strategy<Value = Vec<u8>> {
    let words = [
        "{\"ok\":true",
        "\"id\":",
        "\"T-1\"",
        "\"items\":[",
        "]",
        "{",
        "}",
        ",",
        "\"reference\":",
        "\"R\"",
        "null",
        "\"next\":",
        "\"complete\":true",
        "\"status\":\"completed\"",
        "\"error\":{\"code\":",
        "\"busy\"",
        "\"cancelled\":true",
        "1e999",
        "-",
        "\\u0000",
        "\"",
        "[[[[[[[[",
        "\u{feff}",
    ];
    let near = prop::collection::vec(prop::sample::select(words.to_vec()), 0..12)
        .prop_map(|words| words.concat().into_bytes());
    prop_oneof![near, prop::collection::vec(any::<u8>(), 0..200)]
}

fn any_answer() -> impl Strategy<Value = HttpAnswer> {
    let names = ["location", "retry-after", "idempotent-replayed", "x"];
    let header = (prop::sample::select(names.to_vec()), any::<String>())
        .prop_map(|(name, value)| (name.to_owned(), value));
    let headers = prop::collection::vec(header, 0..4);
    (any::<u16>(), headers, body(), any::<bool>()).prop_map(|(status, headers, body, truncated)| {
        HttpAnswer {
            status,
            headers,
            body,
            truncated,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn any_text_is_a_contract_or_has_findings(pieces in prop::collection::vec(toml_piece(), 0..40)) {
        let text = pieces.concat();
        match Contract::parse("f.toml", Some(("p.toml", &text)), &text) {
            Ok(contract) => prop_assert!(!contract.operation().is_empty()),
            Err(findings) => {
                prop_assert!(!findings.is_empty());
                for finding in findings {
                    prop_assert!(finding.line >= 1 && finding.column >= 1);
                    prop_assert!(finding.span.end <= text.len());
                    prop_assert!(text.is_char_boundary(finding.span.start));
                    prop_assert!(finding.to_string().contains(&finding.remedy));
                }
            }
        }
    }

    #[test]
    fn a_real_contract_with_a_piece_changed_never_panics(
        at in any::<prop::sample::Index>(),
        length in 0_usize..30,
        piece in toml_piece(),
    ) {
        let (_, text) = factum_contract::Catalogue::builtin_files()[9];
        let bounds: Vec<_> = text.char_indices().map(|(at, _)| at).collect();
        let first = at.index(bounds.len());
        let last = (first + length).min(bounds.len() - 1);
        let changed = format!("{}{piece}{}", &text[..bounds[first]], &text[bounds[last]..]);
        if let Err(findings) = Contract::parse("f.toml", None, &changed) {
            prop_assert!(!findings.is_empty());
        }
    }

    #[test]
    fn noise_is_never_success(answer in any_answer()) {
        for operation in ["key.sync", "key.queued", "lookup.sync", "lagging.queued", "cancel.sync", "neither.queued"] {
            let contract = testbed(operation);
            let reading = contract.read_answer(&answer);
            if answer.truncated || serde_json::from_slice::<Value>(&answer.body).is_err() {
                prop_assert_eq!(&reading.class, &AnswerClass::Unknown);
            }
            if reading.class == AnswerClass::Done {
                prop_assert!((200..300).contains(&answer.status));
                prop_assert!(reading.receipt.is_some_and(|r| !r.reference.is_empty()));
            }
        }
    }

    #[test]
    fn noise_is_never_absence(answer in any_answer(), mark in "[A-Za-z]{0,2}") {
        for contract in [testbed("lookup.queued"), testbed("lagging.sync"), builtin("redmine", "issue.create")] {
            let reading = contract.read_lookup(&answer, &mark);
            let whole = !answer.truncated
                && answer.status == 200
                && serde_json::from_slice::<Value>(&answer.body).is_ok();
            if !whole {
                let silent = matches!(reading.answer, LookupAnswer::Inconclusive { .. });
                prop_assert!(silent, "{:?}", reading);
            }
            if reading.answer == LookupAnswer::Absent {
                prop_assert_eq!(reading.next_page, None);
            }
        }
    }

    #[test]
    fn noise_completes_and_cancels_nothing(answer in any_answer()) {
        if answer.truncated || answer.status != 200 {
            let poll = testbed("key.queued").read_poll(&answer);
            let silent = matches!(poll, PollAnswer::Inconclusive { .. });
            prop_assert!(silent, "{:?}", poll);
            let cancel = testbed("cancel.sync").read_cancel(&answer);
            let silent = matches!(cancel, CancelAnswer::Unknown { .. });
            prop_assert!(silent, "{:?}", cancel);
        }
    }

    #[test]
    fn keys_never_leave_their_segment(key in any::<String>()) {
        let contract = testbed("key_path.sync");
        let built = contract.effect_request(&EffectInput {
            params: &Map::new(),
            payload: b"{}",
            key: Some(&key),
            reference: "R",
        });
        match built {
            Ok(request) => {
                let segments: Vec<_> = request.path_and_query.split('/').collect();
                prop_assert_eq!(segments.len(), 5);
                prop_assert!(request.path_and_query.bytes().all(|b| b.is_ascii_graphic()));
                prop_assert!(!request.path_and_query.contains(['?', '#', '\\']));
                prop_assert!(!["", ".", ".."].contains(&segments[4]));
            }
            Err(error) => prop_assert!(matches!(
                error.kind,
                BuildErrorKind::LeavesPath | BuildErrorKind::Empty
            )),
        }
    }

    #[test]
    fn keys_never_leave_their_header(key in any::<String>()) {
        let built = testbed("key.sync").effect_request(&EffectInput {
            params: &Map::new(),
            payload: b"{}",
            key: Some(&key),
            reference: "R",
        });
        let plain = !key.is_empty() && key.trim() == key && key.bytes().all(|b| (b' '..=b'~').contains(&b));
        prop_assert_eq!(built.is_ok(), plain);
    }

    #[test]
    fn a_set_member_leaves_the_rest_as_it_was(value in json(), space in "[ \n]{0,2}") {
        let payload = format!("{space}{{{space}\"a\":{space}{value}{space}}}{space}");
        let contract = testbed("lookup.sync");
        let request = contract.effect_request(&EffectInput {
            params: &Map::new(),
            payload: payload.as_bytes(),
            key: None,
            reference: "R",
        }).unwrap();
        let body = String::from_utf8(request.body).unwrap();
        prop_assert_eq!(body.replacen(",\"reference\":\"R\"", "", 1), payload);
        let read: Value = serde_json::from_str(&body).unwrap();
        prop_assert_eq!(read.pointer("/reference").and_then(Value::as_str), Some("R"));
    }
}

/// JSON texts with numbers that no machine type holds.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|flag| flag.to_string()),
        "-?[1-9][0-9]{0,30}(\\.[0-9]{1,30})?([eE][+-]?[0-9]{1,4})?",
        any::<String>().prop_map(|text| Value::String(text).to_string()),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|items| format!("[{}]", items.join(" , "))),
            prop::collection::vec(("[a-z}\\]]{0,3}", inner), 0..4).prop_map(|members| {
                let members: Vec<_> = members
                    .iter()
                    .map(|(name, value)| format!("\"{name}\": {value}"))
                    .collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}
