//! `[[answers]]`, and the sections that ask something.

use super::{ANSWERS_CLAIM, Row, WHOLE, check, check_in};

const RULES: &[Row] = &[
    Row(
        "status = 202, json",
        "status = 99, json",
        &["34:19 /answers/0/when/status out_of_range | write a number in this range"],
    ),
    Row(
        "status = 202, json",
        "status = \"6xx\", json",
        &["34:19 /answers/0/when/status status | write 201, \"4xx\" or \"500-599\""],
    ),
    Row(
        "status = 202, json",
        "status = [], json",
        &["34:19 /answers/0/when/status status | name one, or leave it out"],
    ),
    Row(
        "status = 202, json",
        "status = \"204-202\", json",
        &["34:19 /answers/0/when/status status | write 201, \"4xx\" or \"500-599\""],
    ),
    Row(
        "status = 202, json",
        "status = \"2xx\", stats = 1, json",
        &["34:26 /answers/0/when/stats unknown_member | did you mean `status`?"],
    ),
    Row(
        "status = 202, json",
        "status = [202, 303], json",
        &[
            "34:8 /answers/0/when success_status | name statuses within 2xx, or choose `already_exists` or `unknown`",
        ],
    ),
    Row(
        "status = 202, json = { at = \"/ok\", equals = true }",
        "",
        &["34:8 /answers/0/when matcher_empty | name a status, headers or json"],
    ),
    Row(
        "{ at = \"/ok\", equals = true } }\nclass = \"acc",
        "{ at = \"/ok\" } }\nclass = \"acc",
        &[
            "34:31 /answers/0/when/json predicate | write exactly one of equals, one_of, none_of, exists, absent, type, length, not_empty, contains, starts_with, status",
        ],
    ),
    Row(
        "{ at = \"/ok\", equals = true } }\nclass = \"acc",
        "{ at = \"/ok\", equals = true, exists = true } }\nclass = \"acc",
        &[
            "34:31 /answers/0/when/json predicate | write exactly one of equals, one_of, none_of, exists, absent, type, length, not_empty, contains, starts_with, status",
        ],
    ),
    Row(
        "{ at = \"/ok\", equals = true } }\nclass = \"acc",
        "{ at = \"/ok\", exists = false } }\nclass = \"acc",
        &["34:54 /answers/0/when/json/exists predicate | write `absent = true`"],
    ),
    Row(
        "{ at = \"/ok\", equals = true } }\nclass = \"acc",
        "{ at = \"/ok\", equals = 1.5 } }\nclass = \"acc",
        &["34:54 /answers/0/when/json/equals wrong_type | write a text, an integer, true or false"],
    ),
    Row(
        "{ at = \"/ok\", equals = true } }\nclass = \"acc",
        "{ at = \"/ok\", type = \"text\" } }\nclass = \"acc",
        &[
            "34:52 /answers/0/when/json/type unknown_word | write one of string, number, boolean, array, object, null",
        ],
    ),
    Row(
        "one_of = [\"a\", \"b\"]",
        "one_of = []",
        &["47:56 /answers/3/when/json/one_of predicate | list the values"],
    ),
    Row(
        "class = \"accepted\"",
        "class = \"ok\"",
        &[
            "35:9 /answers/0/class unknown_word | write one of done, accepted, rejected, declined, in_progress, already_exists, mismatch, busy, unknown",
        ],
    ),
    Row(
        "class = \"accepted\"",
        "class = \"done\"",
        &[
            "33:1 /answers/0/receipt receipt_missing | add `receipt = { json = \"/id\" }`, or `receipt = \"none\"` if there is none",
            "36:1 /answers/0/object unknown_member | known here: aliases, class, ours, receipt, same, source, when",
        ],
    ),
    Row(
        "object = { json = \"/job\" }\n",
        "",
        &["66:1 /poll poll_object | add `object = { json = … }` to that answer"],
    ),
    Row(
        "object = { json = \"/job\" }\n",
        "object = { json = \"/job\" }\nstored = true\n",
        &[
            "37:1 /answers/0/stored unknown_member | known here: class, object, receipt, source, when",
        ],
    ),
    Row(
        "{ status = 422, json = { at = \"/code\", one_of = [\"a\", \"b\"] } }",
        "{ status = \"2xx\" }",
        &["47:8 /answers/3/when refusal_proof | add a test of the body or of a header"],
    ),
    Row(
        "one_of = [\"a\", \"b\"]",
        "equals = \"reuse\"",
        &["46:1 /answers/3 matcher_unreachable | put it before that rule, or narrow that rule"],
    ),
    Row(
        "{ status = 422, json = { at = \"/code\", one_of = [\"a\", \"b\"] } }\nclass = \"rejected\"\nstored = true\n",
        "{ status = 403, json = { at = \"/code\", one_of = [\"a\", \"b\"] } }\nclass = \"rejected\"\n",
        &[
            "46:1 /answers/3/stored stored_unclear | write `stored = false`, or `stored = true` where that is known",
        ],
    ),
    Row(
        "why = \"/message\"",
        "why = \"message\"",
        &[
            "50:7 /answers/3/why pointer | write a JSON pointer: \"/error/code\", with ~1 for / and ~0 for ~",
        ],
    ),
];

#[test]
fn rules() {
    check(RULES);
}

/// Rules that nobody stands behind.
const UNSOURCED: &[Row] = &[
    Row(
        ", json = { at = \"/code\", one_of = [\"a\", \"b\"] }",
        "",
        &[
            "47:8 /answers/3/when refusal_proof | add a test of the body or of a header, or a source for it",
        ],
    ),
    Row(
        "{ status = 422, json = { at = \"/code\", one_of",
        "{ status = \"5xx\", json = { at = \"/code\", one_of",
        &[
            "47:8 /answers/3/when refusal_proof | name statuses other than 429 and 5xx, or add a source for it",
        ],
    ),
    Row(
        "{ status = 422, json = { at = \"/code\", one_of",
        "{ json = { at = \"/code\", one_of",
        &[
            "47:8 /answers/3/when refusal_proof | name statuses other than 429 and 5xx, or add a source for it",
        ],
    ),
    Row("why = \"/message\"", "why = \"/text\"", &[SOURCE_MISSING]),
    Row(
        "class = \"rejected\"\nstored = true",
        "class = \"declined\"\nstored = true",
        &[SOURCE_MISSING],
    ),
    Row(
        "json = { at = \"/code\", one_of = [\"a\", \"b\"] } }",
        "headers = { name = \"x-code\", equals = \"a\" } }",
        &[SOURCE_MISSING],
    ),
    Row(
        "why = \"/message\"",
        "why = \"/message\"\nsource = { url = \"https://a.example/b\", read = \"2026-11-29\", grade = \"second_hand\" }",
        &[SOURCE_MISSING],
    ),
    Row(
        "why = \"/message\"",
        "why = \"/message\"\nsource = { url = \"https://a.example/b\", read = \"2026-11-29\", grade = \"stated\" }",
        &[],
    ),
    Row(
        "class = \"rejected\"\nstored = true\nwhy = \"/message\"",
        "class = \"unknown\"",
        &[],
    ),
    Row(
        "class = \"rejected\"\nstored = true\nwhy = \"/message\"",
        "class = \"busy\"",
        &[],
    ),
];

const SOURCE_MISSING: &str = "47:8 /answers/3/when refusal_source | add `source = …` to this rule or a [[claims]] about \"/answers\", or choose `unknown`";

#[test]
fn a_refusal_has_somebody_behind_it() {
    let unsourced = WHOLE.replace(ANSWERS_CLAIM, "");
    assert_ne!(unsourced, WHOLE);
    check_in(&unsourced, UNSOURCED);
}

const QUESTIONS: &[Row] = &[
    Row(
        "by = \"reference\"",
        "by = \"name\"",
        &["53:6 /lookup/by unknown_word | write one of reference, key"],
    ),
    Row(
        "\"/a?r={reference}\"",
        "\"/a\"",
        &[
            "54:8 /lookup/path lookup_mark | write {reference} into the path, or `others = \"ignored\"`",
        ],
    ),
    Row(
        "\"/a?r={reference}\"",
        "\"/a?r={key}\"",
        &[
            "54:8 /lookup/path place | use parameters, or {reference}, {since}, {since_unix}, {since_ms}",
        ],
    ),
    Row(
        "&c={cursor}",
        "",
        &["55:13 /lookup/next_path lookup_pages | write {cursor} where the page's name goes"],
    ),
    Row(
        "next = \"/next\"\n",
        "",
        &[
            "52:1 /lookup/next lookup_pages | write both: where the cursor stands, and the path that asks with it",
        ],
    ),
    Row(
        "ours = \"/r\"\n",
        "",
        &["52:1 /lookup/ours missing_member | add `ours = …`"],
    ),
    Row(
        "receipt = { json = \"/id\" }\ncomplete",
        "complete",
        &[
            "52:1 /lookup/receipt receipt_missing | add `receipt = { json = \"/id\" }`, or `receipt = \"none\"` if there is none",
        ],
    ),
    Row(
        "complete = { tests = { at = \"/complete\", equals = true } }\n",
        "",
        &[
            "52:1 /lookup/complete lookup_complete | add `complete = { tests = … }`, `{ total = … }` or \"always\"",
        ],
    ),
    Row(
        "complete = { tests",
        "complete = { test",
        &["60:14 /lookup/complete/test unknown_member | did you mean `tests`?"],
    ),
    Row(
        "sees_queued = true\n",
        "",
        &[
            "61:13 /lookup/authority lookup_authority | add `sees_queued = true` or `queue_max`, or write \"partial\"",
        ],
    ),
    Row(
        "visible_for = \"30 d\"\n",
        "",
        &[
            "52:1 /lookup/visible_for lookup_visible | add `visible_for`: a length of time, or \"unbounded\"",
        ],
    ),
    Row(
        "lag = \"0 s\"\n",
        "",
        &["52:1 /lookup/lag missing_member | add `lag = …`"],
    ),
    Row(
        "lag = \"0 s\"",
        "lag = \"none\"",
        &["64:7 /lookup/lag duration | write a whole number and one of ms, s, min, h, d: \"24 h\""],
    ),
    Row(
        "items = \"/items\"\n",
        "",
        &["52:1 /lookup/absent lookup_absent | add `absent = { status = 404, … }`"],
    ),
    Row(
        "source = { person = \"us\", date = \"2026-11-29\", grade = \"probed\" }\n",
        "",
        &[
            "52:1 /lookup source_missing | add `source = { url = …, read = …, grade = … }` here, or a [[claims]] about it",
        ],
    ),
    Row(
        "\"/jobs/{object}\"",
        "\"/jobs\"",
        &["68:8 /poll/path poll_object | write {object} where the name of the queued work goes"],
    ),
    Row(
        "working = { json = { at = \"/s\", equals = \"working\" } }\n",
        "",
        &["67:1 /poll/working missing_member | add `working = …`"],
    ),
    Row(
        "class = \"accepted\"\nobject = { json = \"/job\" }",
        "class = \"unknown\"",
        &["66:1 /poll poll_accepted | add an answer of class \"accepted\" with its `object`"],
    ),
    Row(
        "json = { key = \"{key}\" }\n",
        "",
        &["73:1 /cancel cancel_key | write {key} into the path or into `json`"],
    ),
    Row(
        "confirmed = { status = 200,",
        "confirmed = { status = 404,",
        &["76:13 /cancel/confirmed success_status | name statuses within 2xx"],
    ),
    Row(
        "retention = \"unbounded\"\n",
        "",
        &["73:1 /cancel/retention missing_member | add `retention = …`"],
    ),
    Row(
        "path = \"/me\"",
        "path = \"/me/{brand}\"",
        &["81:8 /whoami/path place | write it out"],
    ),
    Row(
        "deep_link = \"/things/{receipt}\"",
        "deep_link = \"/things/{id}\"",
        &["86:13 /product/deep_link place | write {receipt} where it goes"],
    ),
];

#[test]
fn questions() {
    check(QUESTIONS);
}
