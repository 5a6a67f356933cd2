//! The sections `[effect]` and `[key]`.

use super::{Row, check};

const EFFECTS: &[Row] = &[
    Row(
        "\"POST\"",
        "\"post\"",
        &["8:10 /effect/method method | write one of GET, POST, PUT, PATCH, DELETE"],
    ),
    Row(
        "\"/a/{brand}\"",
        "\"a/{brand}\"",
        &[
            "9:8 /effect/path path_form | write it from its first slash, percent-encoded, without fragment: \"/a/{b}?c={d}\"",
        ],
    ),
    Row(
        "\"/a/{brand}\"",
        "\"/a//{brand}\"",
        &[
            "9:8 /effect/path path_form | write it from its first slash, percent-encoded, without fragment: \"/a/{b}?c={d}\"",
        ],
    ),
    Row(
        "\"/a/{brand}\"",
        "\"/a/../{brand}\"",
        &[
            "9:8 /effect/path path_form | write it from its first slash, percent-encoded, without fragment: \"/a/{b}?c={d}\"",
        ],
    ),
    Row(
        "\"/a/{brand}\"",
        "\"/a/{brand}#top\"",
        &[
            "9:8 /effect/path path_form | write it from its first slash, percent-encoded, without fragment: \"/a/{b}?c={d}\"",
        ],
    ),
    Row(
        "\"/a/{brand}\"",
        "\"/a b/{brand}\"",
        &[
            "9:8 /effect/path path_form | write it from its first slash, percent-encoded, without fragment: \"/a/{b}?c={d}\"",
        ],
    ),
    Row(
        "\"/a/{brand}\"",
        "\"/a%2/{brand}\"",
        &[
            "9:8 /effect/path path_form | write it from its first slash, percent-encoded, without fragment: \"/a/{b}?c={d}\"",
        ],
    ),
    Row(
        "\"/a/{brand}\"",
        "\"/a/{brand\"",
        &["9:8 /effect/path template | write a place as {name}, with a name of a-z, 0-9 and _"],
    ),
    Row(
        "\"/a/{brand}\"",
        "\"/a/{}\"",
        &["9:8 /effect/path template | write a place as {name}, with a name of a-z, 0-9 and _"],
    ),
    Row(
        "\"/a/{brand}\"",
        "\"/a/{object}\"",
        &[
            "9:8 /effect/path place | use parameters, or {key}, {reference}, {first_sent}, {first_sent_iso}",
        ],
    ),
    Row(
        "X-Brand = \"{brand}\"",
        "Authorization = \"{brand}\"",
        &["10:29 /effect/headers/Authorization header_reserved | leave it out"],
    ),
    Row(
        "X-Brand = \"{brand}\"",
        "Content-Length = \"1\"",
        &["10:30 /effect/headers/Content-Length header_reserved | leave it out"],
    ),
    Row(
        "X-Brand = \"{brand}\"",
        "X-Brand = \"a\\r\\nb\"",
        &["10:23 /effect/headers/X-Brand header_value | use printable ASCII on one line"],
    ),
    Row(
        "X-Brand = \"{brand}\"",
        "\"X Brand\" = \"b\"",
        &["10:25 /effect/headers/X Brand header_name | use letters, digits and hyphens"],
    ),
    Row(
        "X-Brand = \"{brand}\"",
        "X-Brand = \"{cursor}\"",
        &[
            "10:23 /effect/headers/X-Brand place | use parameters, or {key}, {reference}, {first_sent}, {first_sent_iso}",
        ],
    ),
    Row(
        "X-Brand = \"{brand}\"",
        "Idempotency-Key = \"b\"",
        &["16:9 /key/place key_place | leave it out of the headers of [effect]"],
    ),
    Row(
        "{ at = \"/r\", to",
        "{ at = \"r\", to",
        &[
            "11:15 /effect/set/0/at pointer | write a JSON pointer: \"/error/code\", with ~1 for / and ~0 for ~",
        ],
    ),
    Row(
        "{ at = \"/r\", to",
        "{ at = \"/*/r\", to",
        &["11:15 /effect/set/0/at pointer | name the one member"],
    ),
    Row(
        "{ at = \"/r\", to",
        "{ at = \"\", to",
        &["11:15 /effect/set/0/at pointer | name a member in it"],
    ),
    Row(
        "{ at = \"/r\", to",
        "{ to",
        &["11:8 /effect/set/0/at missing_member | add `at = …`"],
    ),
    Row(
        "to = \"{reference}\" }",
        "to = 2026-11-29 }",
        &[
            "11:26 /effect/set/0/to wrong_type | write a text, an integer, true, false, a list or a table",
        ],
    ),
    Row(
        "to = \"{reference}\" }",
        "to = \"{object}\" }",
        &[
            "11:26 /effect/set/0/to place | use parameters, or {key}, {reference}, {first_sent}, {first_sent_iso}",
        ],
    ),
    Row(
        "to = \"{reference}\" }",
        "to = \"fixed\" }",
        &[
            "53:6 /lookup/by lookup_reference | write {reference} into the effect's path, headers or `set`",
        ],
    ),
    Row(
        "direct = true",
        "direct = true\nbody = \"bytes\"",
        &["11:7 /effect/set body_form | write `body = \"json\"`, or leave `set` out"],
    ),
    Row(
        "direct = true",
        "direct = true\ninsert = { after = \"a\", text = \"{reference}\" }",
        &["13:10 /effect/insert body_form | write `body = \"text\"`"],
    ),
    Row(
        "direct = true",
        "direct = true\njson = { a = 1 }",
        &["13:8 /effect/json body_form | write `body = \"none\"` beside `json`"],
    ),
    Row(
        "[effect]",
        "[efect]",
        &[
            "1:1 /effect missing_member | add `effect = …`",
            "7:2 /efect unknown_member | did you mean `effect`?",
        ],
    ),
];

#[test]
fn effects() {
    check(EFFECTS);
}

const KEYS: &[Row] = &[
    Row(
        "{ header = \"Idempotency-Key\" }",
        "\"path\"",
        &["16:9 /key/place key_place | write {key} into the path of [effect]"],
    ),
    Row(
        "{ header = \"Idempotency-Key\" }",
        "\"body\"",
        &[
            "16:9 /key/place unknown_word | write \"path\", or a table with one of header, quoted_header, member, field, variable, item, query, directive, given",
        ],
    ),
    Row(
        "{ header = \"Idempotency-Key\" }",
        "{ cookie = \"k\" }",
        &[
            "16:11 /key/place/cookie unknown_member | known here: directive, field, given, header, item, member, query, quoted_header, variable",
        ],
    ),
    Row(
        "{ header = \"Idempotency-Key\" }",
        "{ header = \"K\", member = \"/k\" }",
        &[
            "16:9 /key/place one_form | write exactly one of header, quoted_header, member, field, variable, item, query, directive, given",
        ],
    ),
    Row(
        "{ header = \"Idempotency-Key\" }",
        "{ header = \"Cookie\" }",
        &["16:20 /key/place/header header_reserved | leave it out"],
    ),
    Row(
        "{ header = \"Idempotency-Key\" }",
        "{ header = \"Idempotency Key\" }",
        &["16:20 /key/place/header header_name | use letters, digits and hyphens"],
    ),
    Row(
        "{ header = \"Idempotency-Key\" }",
        "{ member = \"k\" }",
        &[
            "16:20 /key/place/member pointer | write a JSON pointer: \"/error/code\", with ~1 for / and ~0 for ~",
        ],
    ),
    Row(
        "\"base32\"",
        "\"base36\"",
        &[
            "17:12 /key/alphabet unknown_word | write one of hex, base32, base32hex, base64url, alphanumeric, digits, uuid",
        ],
    ),
    Row(
        "length_max = 64",
        "length_max = 0",
        &["18:14 /key/length_max out_of_range | write a number in this range"],
    ),
    Row(
        "length_max = 64",
        "length_max = 12",
        &[
            "18:14 /key/length_max key_form | allow more characters, or a larger alphabet (base64url)",
        ],
    ),
    Row(
        "length_max = 64",
        "length_max = 20",
        &[
            "18:14 /key/length_max key_form | keep it only if the destination takes no more characters",
        ],
    ),
    Row(
        "alphabet = \"base32\"\nlength_max = 64",
        "alphabet = \"uuid\"\nlength_max = 32",
        &["18:14 /key/length_max key_form | allow 36, or choose another alphabet"],
    ),
    Row(
        "length_max = 64",
        "prefix = \"our key\"",
        &["18:10 /key/prefix key_form | use up to 16 of A-Z, a-z, 0-9, - and _"],
    ),
    Row(
        "{ floor = \"24 h\" }",
        "{ floor = \"24\" }",
        &[
            "21:23 /key/repeat/retention/floor duration | write a whole number and one of ms, s, min, h, d: \"24 h\"",
        ],
    ),
    Row(
        "{ floor = \"24 h\" }",
        "{ floor = \"0 s\" }",
        &["21:23 /key/repeat/retention/floor duration | write how long it is"],
    ),
    Row(
        "{ floor = \"24 h\" }",
        "\"long\"",
        &[
            "21:13 /key/repeat/retention unknown_word | write { floor = … }, { approximate = … }, \"unbounded\" or \"unpublished\"",
        ],
    ),
    Row(
        "{ floor = \"24 h\" }",
        "{ floor = \"24 h\", approximate = \"25 h\" }",
        &["21:13 /key/repeat/retention one_form | write exactly one of floor, approximate"],
    ),
    Row(
        "retention = { floor = \"24 h\" }\n",
        "",
        &["20:1 /key/repeat/retention missing_member | add `retention = …`"],
    ),
    Row(
        "\"in_progress\"\nstored",
        "\"in_progres\"\nstored",
        &["22:14 /key/repeat/concurrent unknown_word | write one of in_progress, waits, unstated"],
    ),
    Row(
        ", errors = false",
        "",
        &["23:10 /key/repeat/stored/errors missing_member | add `errors = …`"],
    ),
    Row(
        "scope = [\"account\"]",
        "scope = [\"planet\"]",
        &[
            "24:10 /key/repeat/scope/0 unknown_word | write one of account, company_account, app, user, user_app, author, device, credential, endpoint, path, host, region, zone, environment, calendar, queue, topic, message_group, stream",
        ],
    ),
    Row(
        "class = \"in_progress\"",
        "class = \"unknown\"",
        &["22:14 /key/repeat/concurrent key_concurrent | add an answer of class \"in_progress\""],
    ),
    Row(
        "class = \"mismatch\"",
        "class = \"unknown\"",
        &["25:17 /key/repeat/other_content key_mismatch | add an answer of class \"mismatch\""],
    ),
    Row(
        "source = { url = \"https://a.example/b\", read = \"2026-11-29\", grade = \"stated\" }\n",
        "",
        &[
            "20:1 /key/repeat source_missing | add `source = { url = …, read = …, grade = … }` here, or a [[claims]] about it",
        ],
    ),
];

#[test]
fn keys() {
    check(KEYS);
}
