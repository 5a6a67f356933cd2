//! Contracts that use every member of the language: read, kept, asked and answered; and whatever bytes are thrown at them.

use std::path::Path;
use std::sync::LazyLock;

use factum_contract::{Catalogue, Contract, HttpAnswer, LookupAsk};
use factum_core::Timestamp;
use factum_core::evidence::{AnswerClass, LookupAnswer};
use factum_core::promise::{Consequence, Retention};
use proptest::prelude::*;

use crate::support::{params, shown};

fn kitchen() -> &'static Catalogue {
    static KITCHEN: LazyLock<Catalogue> = LazyLock::new(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kitchen/sink");
        let read = |entry: std::io::Result<std::fs::DirEntry>| {
            let path = entry.expect("the folder is listed").path();
            let text = std::fs::read_to_string(&path).expect("a file of the kitchen");
            (path.display().to_string(), text)
        };
        let entries = std::fs::read_dir(folder).expect("the kitchen is there");
        let files: Vec<_> = entries.map(read).collect();
        let files = files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()));
        let mut catalogue = Catalogue::default();
        let loaded = catalogue.load_overrides(files);
        loaded.unwrap_or_else(|findings| panic!("{}", shown(&findings)));
        catalogue
    });
    &KITCHEN
}

#[test]
fn examples_hold_and_nothing_is_missing() {
    let mut seen = 0;
    for contract in kitchen().operations("sink") {
        assert_eq!(shown(contract.warnings()), "");
        assert_eq!(
            shown(&contract.run_examples()),
            "",
            "{}",
            contract.operation()
        );
        assert_eq!(
            shown(&contract.catalogue_gaps()),
            "",
            "{}",
            contract.operation()
        );
        seen += 1;
    }
    assert_eq!(seen, 12);
}

#[test]
fn a_kept_contract_is_the_same_contract() {
    for contract in kitchen().operations("sink") {
        let text = kitchen().kept_text("sink", contract.operation()).unwrap();
        let kept = Contract::from_kept(&text).unwrap();
        assert_eq!(kept.digest(), contract.digest());
        assert_eq!(kept.promises(), contract.promises());
        assert_eq!(kept.encode_key(&[3; 32]), contract.encode_key(&[3; 32]));
        assert_eq!(kept.input_schema(), contract.input_schema());
    }
}

#[test]
fn what_is_said_is_what_is_promised() {
    let promises = |operation: &str| kitchen().get("sink", operation).unwrap().promises();
    let charge = promises("charge.create");
    assert_eq!(charge.consequence, Consequence::Costly);
    assert!(charge.key.unwrap().retention.floor().is_some());
    assert!(charge.completion.unwrap().callback);
    assert!(charge.condition_checked && charge.path_is_direct);
    // Its scope is only hearsay, which is shown; nothing that carries a permission rests on it.
    let contract = kitchen().get("sink", "charge.create").unwrap();
    assert!(
        contract
            .sources()
            .any(|(path, _)| path == "/key/repeat/scope")
    );
    let note = promises("note.put");
    assert_eq!(note.key.unwrap().retention, Retention::Unpublished);
    assert_eq!(promises("row.add").lookup, None);
    assert_eq!(promises("file.upload").key.unwrap().retention.floor(), None);
}

#[test]
fn terms_are_shown_in_the_words_of_the_language() {
    let contract = kitchen().get("sink", "charge.create").unwrap();
    let key = contract.key_terms().unwrap();
    assert_eq!(
        (key.place.as_str(), key.role, key.alphabet),
        ("header idempotency-key", "key", "alphanumeric")
    );
    assert_eq!(contract.encode_key(&[1; 32]).len(), key.length);
    let repeat = key.repeat.unwrap();
    assert_eq!(
        repeat.escapes,
        [
            "a request of more than 1000000 bytes",
            "a request of the type multipart/"
        ]
    );
    assert_eq!(repeat.scope, ["account", "endpoint"]);
    assert_eq!(repeat.stored, [true, true, false]);
    let rules = contract.answer_rules();
    assert_eq!(rules.len(), 10);
    assert_eq!(
        rules[0].when,
        "status 201, /id is of the type string, /errors has 0 elements, /items is not empty"
    );
    assert_eq!(rules[4].when, "status 409, /code = \"exists\"");
    assert_eq!((rules[9].class, rules[9].common), ("rejected", true));
    let answers = contract.example_answers();
    let done = answers
        .iter()
        .find(|answer| answer.to == "effect" && answer.means == "done");
    assert_eq!(done.unwrap().answer.status, 201);
    let given = kitchen()
        .get("sink", "place.given")
        .unwrap()
        .key_terms()
        .unwrap();
    assert_eq!(given.place, "given by /user and /name");
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let words = [
        "{\"data\":",
        "{\"create\":",
        "{\"id\":\"x\"",
        "\"errors\":[",
        "]",
        "}",
        ",",
        "{",
        "[",
        "\"object\":\"list\"",
        "\"items\":",
        "\"ref\":\"R\"",
        "\"more\":false",
        "\"next\":null",
        "\"notes\":",
        "\"total\":0",
        "OK id=",
        ";",
        "\"results\":[{\"status\":\"2",
        "1e999",
        "null",
        "t=1,v1=",
        "\"events\":[{",
        "\"type\":\"charged\"",
        "%",
        "&",
        "=",
        "\u{feff}",
    ];
    let near = prop::collection::vec(prop::sample::select(words.to_vec()), 0..14)
        .prop_map(|words| words.concat().into_bytes());
    prop_oneof![near, prop::collection::vec(any::<u8>(), 0..200)]
}

fn headers() -> impl Strategy<Value = Vec<(String, String)>> {
    let names = [
        "link",
        "date",
        "retry-after",
        "x-reset",
        "x-wait-ms",
        "x-sig",
        "x-time",
        "x-id",
        "location",
        "replayed",
        "content-type",
    ];
    let values = [
        "<https://a.example/?page=2>; rel=\"next\"",
        "<",
        ">;rel=next",
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "99999999999999999999",
        "1.5",
        "-1",
        "sha256=00",
        "sha256=é",
        "1767323045",
    ];
    let value = prop_oneof![
        prop::sample::select(values.to_vec()).prop_map(str::to_owned),
        any::<String>(),
    ];
    let header = (prop::sample::select(names.to_vec()), value)
        .prop_map(|(name, value)| (name.to_owned(), value));
    prop::collection::vec(header, 0..5)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn nothing_is_concluded_from_noise(
        status in any::<u16>(), headers in headers(), body in bytes(), truncated in any::<bool>(),
        cursor in prop::option::of("[0-9]{0,20}"),
    ) {
        let answer = HttpAnswer { status, headers, body, truncated };
        for contract in kitchen().operations("sink") {
            let reading = contract.read_answer(&answer);
            if reading.class == AnswerClass::Done {
                prop_assert!((200..300).contains(&status) && !truncated);
                prop_assert!(reading.receipt.is_some());
            }
            let page = contract.read_lookup_page(&answer, "R", cursor.as_deref());
            if page.answer == LookupAnswer::Absent {
                prop_assert!(!truncated && page.next_page.is_none());
            }
            let _ = contract.read_poll(&answer);
            let _ = contract.read_cancel(&answer);
            let _ = contract.promises_after(&reading);
            if truncated {
                prop_assert_eq!(contract.read_events(&answer), None);
            }
        }
    }

    #[test]
    fn no_forged_delivery_is_taken(
        headers in headers(), body in bytes(), secret in prop::collection::vec(any::<u8>(), 0..40), now in any::<i64>(),
    ) {
        for contract in kitchen().operations("sink") {
            let now = Timestamp::from_micros(now);
            prop_assert!(contract.verify_callback(&headers, &body, &secret, now).is_err());
            let _ = contract.read_callbacks(&body);
        }
    }

    #[test]
    fn a_changed_contract_is_read_or_complained_about(
        which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), length in 0_usize..40,
        piece in prop::sample::select(vec!["", "\"", "[", "]", "{", "}", "=", "0", "true", "\"path\"", "{key}", "\n", "é", "[[x]]\n"]),
    ) {
        let operations: Vec<_> = kitchen().operations("sink").map(Contract::operation).collect();
        let operation = which.get(&operations);
        let path = format!("{}/tests/kitchen/sink/{operation}.toml", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).expect("a file of the kitchen");
        let bounds: Vec<_> = text.char_indices().map(|(at, _)| at).collect();
        let first = at.index(bounds.len());
        let last = (first + length).min(bounds.len() - 1);
        let changed = format!("{}{piece}{}", &text[..bounds[first]], &text[bounds[last]..]);
        match Contract::parse("f.toml", None, &changed) {
            Ok(contract) => {
                // Whatever it says now, its examples are replayed without a panic, and its questions are built or refused.
                let _ = contract.run_examples();
                let none = params(serde_json::json!({}));
                let ask = LookupAsk { params: &none, mark: "R", since: None, cursor: None };
                let _ = contract.lookup_question(&ask);
            }
            Err(findings) => prop_assert!(!findings.is_empty()),
        }
    }
}
