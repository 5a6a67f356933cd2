//! The members beside the way of a request: places, windows, bodies, questions, reports, what is for people.

use super::{Row, check};

const PLACES: &[Row] = &[
    Row(
        "{ header = \"Idempotency-Key\" }",
        "{ item = \"/rows/key\" }",
        &["16:18 /key/place/item key_place | write it as \"/payments/0/idempotency_key\""],
    ),
    Row(
        "{ header = \"Idempotency-Key\" }",
        "{ item = \"/rows/0\" }",
        &["16:18 /key/place/item key_place | write it as \"/payments/0/idempotency_key\""],
    ),
    Row(
        "{ header = \"Idempotency-Key\" }",
        "{ query = \"a&b\" }",
        &["16:19 /key/place/query query_name | use A-Z, a-z, 0-9, -, ., _ and ~"],
    ),
    Row(
        "{ header = \"Idempotency-Key\" }",
        "{ directive = \"@idempotent\" }",
        &["16:23 /key/place/directive key_place | write it without the @: \"idempotent\""],
    ),
    Row(
        "{ header = \"Idempotency-Key\" }",
        "{ directive = \"idempotent\" }",
        &[
            "16:9 /key/place key_place | write @idempotent(key: \"<key>\") into the document of [effect]",
        ],
    ),
    Row(
        "{ header = \"Idempotency-Key\" }",
        "{ field = \"/key\" }",
        &["16:9 /key/place key_place | write { member = … }"],
    ),
    Row(
        "{ header = \"Idempotency-Key\" }",
        "{ variable = \"/key\" }",
        &["16:9 /key/place key_place | write { member = … }"],
    ),
    Row(
        "{ header = \"Idempotency-Key\" }",
        "{ given = [\"/a/*\"] }",
        &["16:20 /key/place/given/0 pointer | name the one member"],
    ),
    Row(
        "{ header = \"Idempotency-Key\" }",
        "{ given = [\"/a\"] }",
        &["16:9 /key/place key_given | leave {key} out, or choose another place"],
    ),
    Row(
        "length_max = 64",
        "length_max = 64\nlength_min = 60",
        &[
            "19:14 /key/length_min key_form | allow more characters, or choose an alphabet with fewer of them (hex)",
        ],
    ),
    Row(
        "length_max = 64",
        "length_max = 64\nlength_in = \"words\"",
        &["19:13 /key/length_in unknown_word | write one of characters, bytes"],
    ),
    Row(
        "length_max = 64",
        "length_max = 64\nrole = \"name\"",
        &["19:8 /key/role unknown_word | write one of key, resource_id, upsert"],
    ),
    Row(
        "length_max = 64",
        "length_max = 64\ncompanions = { headers = { Host = \"x\" } }",
        &["19:35 /key/companions/headers/Host header_reserved | leave it out"],
    ),
    Row(
        "length_max = 64",
        "length_max = 64\ncompanions = { set = [{ at = \"\", to = true }] }",
        &["19:30 /key/companions/set/0/at pointer | name a member in it"],
    ),
    Row(
        "length_max = 64",
        "length_max = 64\ncompanions = { headers = { X = \"{object}\" } }",
        &[
            "19:32 /key/companions/headers/X place | use parameters, or {key}, {reference}, {first_sent}, {first_sent_iso}",
        ],
    ),
];

const REPEATS: &[Row] = &[
    Row(
        "retention = { floor = \"24 h\" }",
        "retention = { count = 0 }",
        &["21:23 /key/repeat/retention/count out_of_range | write a number in this range"],
    ),
    Row(
        "retention = { floor = \"24 h\" }",
        "retention = { floor = \"24 h\" }\nclock = \"noon\"",
        &[
            "22:9 /key/repeat/clock unknown_word | write one of first_request, completion, object_end",
        ],
    ),
    Row(
        "retention = { floor = \"24 h\" }",
        "retention = { floor = \"24 h\" }\nafter = \"gone\"",
        &["22:9 /key/repeat/after unknown_word | write one of runs_as_new, refused, unstated"],
    ),
    Row(
        "retention = { floor = \"24 h\" }",
        "retention = { floor = \"24 h\" }\nescapes = [{ body_over = 0 }]",
        &["22:26 /key/repeat/escapes/0/body_over out_of_range | write a number in this range"],
    ),
    Row(
        "retention = { floor = \"24 h\" }",
        "retention = { floor = \"24 h\" }\nescapes = [{ body_over = 1, stated = \"x\" }]",
        &[
            "22:12 /key/repeat/escapes/0 one_form | write exactly one of body_over, content_type, answer_over, stated",
        ],
    ),
    Row(
        "retention = { floor = \"24 h\" }",
        "retention = { floor = \"24 h\" }\nfailures = \"poisoned\"",
        &[
            "22:12 /key/repeat/failures unknown_word | write one of replayed, executed_again, poison, unstated",
        ],
    ),
    Row(
        "retention = { floor = \"24 h\" }",
        "retention = { floor = \"24 h\" }\nwait_min = \"0 s\"",
        &["22:12 /key/repeat/wait_min duration | write how long it is"],
    ),
    Row(
        "retention = { floor = \"24 h\" }",
        "retention = { floor = \"24 h\" }\ncompared = [\"all\"]",
        &[
            "22:13 /key/repeat/compared/0 pointer | write a JSON pointer: \"/error/code\", with ~1 for / and ~0 for ~",
        ],
    ),
    Row(
        "retention = { floor = \"24 h\" }",
        "retention = { floor = \"24 h\" }\nreplays = \"again\"",
        &[
            "22:11 /key/repeat/replays unknown_word | write one of original, current_state, conflict, unstated",
        ],
    ),
    Row(
        "retention = { floor = \"24 h\" }",
        "retention = { floor = \"24 h\" }\nlimits_checked = \"never\"",
        &["22:18 /key/repeat/limits_checked unknown_word | write one of before_key, after_key"],
    ),
];

const BODIES: &[Row] = &[
    Row(
        "direct = true",
        "direct = true\nbody = \"xml\"",
        &[
            "13:8 /effect/body unknown_word | write one of json, form, multipart, graphql, text, bytes, none",
        ],
    ),
    Row(
        "direct = true",
        "direct = true\nbody = \"graphql\"",
        &["7:1 /effect/document body_form | write `body = \"graphql\"` and `document = \"…\"`"],
    ),
    Row(
        "direct = true",
        "direct = true\ndocument = \"{ a }\"",
        &["13:12 /effect/document body_form | write `body = \"graphql\"` and `document = \"…\"`"],
    ),
    Row(
        "direct = true",
        "direct = true\nbody = \"graphql\"\ndocument = \"mutation { a \"",
        &[
            "14:12 /effect/document graphql | write the whole document: \"mutation($input: I!) { create(input: $input) { id } }\"",
        ],
    ),
    Row(
        "direct = true",
        "direct = true\nbody = \"graphql\"\ndocument = \"{ a(key: <key>) }\"",
        &["14:12 /effect/document graphql | write \"<key>\", with the quotes"],
    ),
    Row(
        "direct = true",
        "direct = true\nform_style = { nested = \"dots\" }",
        &["13:14 /effect/form_style body_form | write `body = \"form\"`"],
    ),
    Row(
        "direct = true",
        "direct = true\nbody = \"form\"\nform_style = { nested = \"arrows\" }",
        &["14:25 /effect/form_style/nested unknown_word | write one of brackets, dots"],
    ),
    Row(
        "headers = { X-Brand = \"{brand}\" }",
        "headers = { Content-Type = \"a/b\" }\nbody = \"multipart\"",
        &["10:11 /effect/headers body_form | leave the header out"],
    ),
    Row(
        "direct = true",
        "direct = true\njson = {}\nform = {}",
        &["7:1 /effect body_form | keep one of `json`, `form` and `graphql`"],
    ),
    Row(
        "direct = true",
        "direct = true\nside_effects = \"\"",
        &["13:16 /effect/side_effects empty | write it out, or leave the member out"],
    ),
    Row(
        "source = { person = \"us\", date = \"2026-11-29\" }\n\n[key]",
        "source = { person = \"us\", date = \"2026-11-29\" }\n[effect.condition]\nheader = \"If-Match\"\n\n[key]",
        &[
            "14:1 /effect/condition condition | write `value`, or `param` and whether it is `required`",
        ],
    ),
    Row(
        "source = { person = \"us\", date = \"2026-11-29\" }\n\n[key]",
        "source = { person = \"us\", date = \"2026-11-29\" }\n[effect.condition]\nvalue = \"*\"\n\n[key]",
        &["14:1 /effect/condition condition | write `header` or `member`"],
    ),
    Row(
        "source = { person = \"us\", date = \"2026-11-29\" }\n\n[key]",
        "source = { person = \"us\", date = \"2026-11-29\" }\n[effect.condition]\nheader = \"If-Match\"\nparam = \"key\"\n\n[key]",
        &["16:9 /effect/condition/param place | use parameters only"],
    ),
];

const LOOKUPS: &[Row] = &[
    Row(
        "by = \"reference\"",
        "how = \"guess\"\nby = \"reference\"",
        &[
            "53:7 /lookup/how unknown_word | write one of id, filter, search, scan, repeat, high_water",
        ],
    ),
    Row(
        "by = \"reference\"",
        "how = \"scan\"\nby = \"reference\"",
        &["53:7 /lookup/how lookup_scan | write {since}, {since_unix} or {since_ms} into the path"],
    ),
    Row(
        "by = \"reference\"",
        "how = \"repeat\"\nby = \"reference\"",
        &[
            "54:1 /lookup/by unknown_member | known here: how, source",
            "55:1 /lookup/path unknown_member | known here: how, source",
            "56:1 /lookup/next_path unknown_member | known here: how, source",
            "57:1 /lookup/next unknown_member | known here: how, source",
            "58:1 /lookup/items unknown_member | known here: how, source",
            "59:1 /lookup/ours unknown_member | known here: how, source",
            "60:1 /lookup/receipt unknown_member | known here: how, source",
            "61:1 /lookup/complete unknown_member | known here: how, source",
            "62:1 /lookup/authority unknown_member | known here: how, source",
            "63:1 /lookup/sees_queued unknown_member | known here: how, source",
            "64:1 /lookup/visible_for unknown_member | known here: how, source",
            "65:1 /lookup/lag unknown_member | known here: how, source",
        ],
    ),
    Row(
        "lag = \"0 s\"\n",
        "consistency = \"unknown\"\n",
        &["61:13 /lookup/authority lookup_consistency | write \"partial\""],
    ),
    Row(
        "lag = \"0 s\"\n",
        "consistency = \"strong\"\nlag = \"1 s\"\n",
        &["65:7 /lookup/lag lookup_consistency | leave it out, or write \"lag\""],
    ),
    Row(
        "lag = \"0 s\"\n",
        "consistency = \"lag\"\n",
        &["52:1 /lookup/lag missing_member | add `lag = …`"],
    ),
    Row(
        "next = \"/next\"\n",
        "pages = { offset = 100, size = 1 }\n",
        &[
            "56:9 /lookup/pages one_form | write { offset = 100 }, { page = 1, size = 100 } or { link = \"page\" }",
        ],
    ),
    Row(
        "next = \"/next\"\n",
        "next = \"/next\"\npages = { offset = 100 }\n",
        &["57:9 /lookup/pages lookup_pages | keep `next` or `pages`"],
    ),
    Row(
        "next = \"/next\"\n",
        "how = \"search\"\npages = { offset = 100 }\n",
        &["62:13 /lookup/authority lookup_pages | ask for pages by a cursor, or write \"partial\""],
    ),
    Row(
        "ours = \"/r\"",
        "ours = \"path\"",
        &[
            "58:8 /lookup/ours lookup_ours | leave `items` and pages out, or name the member of an item",
        ],
    ),
    Row(
        "ours = \"/r\"",
        "ours = \"ref\"",
        &[
            "58:8 /lookup/ours pointer | write a JSON pointer: \"/error/code\", with ~1 for / and ~0 for ~",
        ],
    ),
    Row(
        "ours = \"/r\"",
        "ours = \"/r\"\nresult_cap = 0",
        &["59:14 /lookup/result_cap out_of_range | write a number in this range"],
    ),
    Row(
        "ours = \"/r\"",
        "ours = \"/r\"\nincludes = [\"trashed\"]",
        &[
            "59:13 /lookup/includes/0 unknown_word | write one of closed, archived, deleted, merged, queued",
        ],
    ),
    Row(
        "ours = \"/r\"",
        "ours = \"/r\"\nrate = { requests = 1 }",
        &["59:8 /lookup/rate/per missing_member | add `per = …`"],
    ),
    Row(
        "ours = \"/r\"",
        "ours = \"/r\"\nseveral = {}",
        &["59:11 /lookup/several matcher_empty | name a status, headers or json"],
    ),
];

const REPORTS: &[Row] = &[
    Row(
        "[product]",
        "[callback]\nmatches = { by = \"reference\", at = \"/r\" }\npositive = { at = \"/t\", exists = true }\nreceipt = \"/id\"\nsignature = { scheme = \"stripe\" }\n\n[product]",
        &[
            "84:1 /callback source_missing | add `source = { url = …, read = …, grade = … }` here, or a [[claims]] about it",
        ],
    ),
    Row(
        "[product]",
        "[callback]\nmatches = { by = \"name\", at = \"/r\" }\npositive = { at = \"/t\", exists = true }\nreceipt = \"/id\"\nsignature = { scheme = \"stripe\" }\nsource = { person = \"us\", date = \"2026-11-29\" }\n\n[product]",
        &["85:18 /callback/matches/by unknown_word | write one of reference, key, object, receipt"],
    ),
    Row(
        "[product]",
        "[callback]\nmatches = { by = \"reference\", at = \"/r\" }\npositive = { at = \"/t\", exists = true }\nreceipt = \"/id\"\nsignature = { scheme = \"rsa\" }\nsource = { person = \"us\", date = \"2026-11-29\" }\n\n[product]",
        &[
            "88:24 /callback/signature/scheme unknown_word | write one of stripe, github, slack, standard_webhooks, hmac, shared_secret, basic, twilio, mailgun, square, adyen, sendgrid",
        ],
    ),
    Row(
        "[product]",
        "[callback]\nmatches = { by = \"reference\", at = \"/r\" }\npositive = { at = \"/t\", exists = true }\nreceipt = \"/id\"\nsignature = { scheme = \"hmac\" }\nsource = { person = \"us\", date = \"2026-11-29\" }\n\n[product]",
        &["88:13 /callback/signature/header signature | add `header = …`"],
    ),
    Row(
        "[product]",
        "[callback]\nmatches = { by = \"reference\", at = \"/r\" }\npositive = { at = \"/t\", exists = true }\nreceipt = \"/id\"\nsignature = { scheme = \"hmac\", header = \"X\", signed = \"{timestamp}{body}\" }\nsource = { person = \"us\", date = \"2026-11-29\" }\n\n[product]",
        &["88:55 /callback/signature/signed signature | add `timestamp = …`"],
    ),
    Row(
        "[product]",
        "[callback]\nmatches = { by = \"reference\", at = \"/r\" }\npositive = { at = \"/t\", exists = true }\nreceipt = \"/id\"\nsignature = { scheme = \"hmac\", header = \"X\", signed = \"{host}{body}\" }\nsource = { person = \"us\", date = \"2026-11-29\" }\n\n[product]",
        &[
            "88:55 /callback/signature/signed signature | write {body}, and around it {url}, {timestamp} and {id}",
        ],
    ),
    Row(
        "[product]",
        "[callback]\nmatches = []\npositive = { at = \"/t\", exists = true }\nreceipt = \"/id\"\nsignature = { scheme = \"basic\" }\nsource = { person = \"us\", date = \"2026-11-29\" }\n\n[product]",
        &["85:11 /callback/matches reports | name a mark: { by = \"reference\", at = … }"],
    ),
    Row(
        "[product]",
        "[callback]\nmatches = { by = \"reference\", at = \"/r\" }\npositive = { at = \"/t\", exists = true }\nsignature = { scheme = \"basic\" }\nsource = { person = \"us\", date = \"2026-11-29\" }\n\n[product]",
        &["84:1 /callback/receipt receipt_missing | add `receipt = \"/id\"`"],
    ),
    Row(
        "[product]",
        "[callback]\nmatches = { by = \"reference\", at = \"/r\" }\nnegative = { at = \"/t\", exists = true }\nsignature = { scheme = \"basic\" }\nsource = { person = \"us\", date = \"2026-11-29\" }\n\n[product]",
        &["84:1 /callback/object reports | add `object = \"/id\"`"],
    ),
    Row(
        "[product]",
        "[callback]\nmatches = { by = \"reference\", at = \"/r\" }\nsignature = { scheme = \"basic\" }\nsource = { person = \"us\", date = \"2026-11-29\" }\n\n[product]",
        &["84:1 /callback/positive reports | add `positive = { at = …, equals = … }`"],
    ),
    Row(
        "[product]",
        "[events]\npath = \"/events\"\nfirst = \"/events\"\nnext = \"/n\"\nmatches = { by = \"receipt\", at = \"/r\" }\npositive = { at = \"/t\", exists = true }\nsource = { person = \"us\", date = \"2026-11-29\" }\n\n[product]",
        &["85:8 /events/path events_cursor | write {cursor} where the name of the last event goes"],
    ),
    Row(
        "[product]",
        "[events]\npath = \"/events/{shop}/{cursor}\"\nfirst = \"/events\"\nnext = \"/n\"\nmatches = { by = \"receipt\", at = \"/r\" }\npositive = { at = \"/t\", exists = true }\nsource = { person = \"us\", date = \"2026-11-29\" }\n\n[product]",
        &["85:8 /events/path place | write it out"],
    ),
];

const PEOPLE: &[Row] = &[
    Row(
        "[product]",
        "[support]\nmarker_kept = { with = \"key\" }\n\n[product]",
        &["85:15 /support/marker_kept/in missing_member | add `in = …`"],
    ),
    Row(
        "[product]",
        "[completion]\ndone_means = \"recorded\"\nsource = { person = \"us\", date = \"2026-11-29\" }\n\n[product]",
        &["85:14 /completion/done_means completion | add `then = …`, the operation that takes it"],
    ),
    Row(
        "[product]",
        "[completion]\ndone_means = \"done\"\nsource = { person = \"us\", date = \"2026-11-29\" }\n\n[product]",
        &["85:14 /completion/done_means unknown_word | write one of final, queued, recorded"],
    ),
    Row(
        "kind = \"thing\"",
        "web = \"http://x\"",
        &["85:7 /product/web web | write it as \"https://desk.example\", without a path"],
    ),
    Row(
        "kind = \"thing\"",
        "web = \"https://x/path\"",
        &["85:7 /product/web web | write it as \"https://desk.example\", without a path"],
    ),
    Row(
        "kind = \"thing\"",
        "amount = { currency = \"/c\" }",
        &["85:10 /product/amount/at missing_member | add `at = …`"],
    ),
    Row(
        "kind = \"thing\"",
        "shown = [\"note\"]",
        &[
            "85:10 /product/shown/0 pointer | write a JSON pointer: \"/error/code\", with ~1 for / and ~0 for ~",
        ],
    ),
    Row(
        "kind = \"thing\"",
        "trace = \"Host\"",
        &["85:9 /product/trace header_reserved | leave it out"],
    ),
    Row(
        "finish = false",
        "review_by = \"2026-11-28\"\nverified_on = \"2026-11-29\"",
        &["5:13 /review_by review_by | name a later day"],
    ),
    Row(
        "finish = false",
        "verified_on = \"today\"",
        &["5:15 /verified_on source_form | write it as \"2026-11-29\""],
    ),
    Row(
        "finish = false",
        "requires = [\"\"]",
        &["5:13 /requires/0 empty | write it out, or leave the member out"],
    ),
    Row(
        "[product]",
        "[input]\npayload = { type = \"text\" }\n\n[product]",
        &[
            "85:20 /input/payload/type unknown_word | write one of string, integer, number, boolean, array, object, null",
        ],
    ),
    Row(
        "[product]",
        "[input]\npayload = { properties = { a = { pattern = \"x\" } } }\n\n[product]",
        &[
            "85:34 /input/payload/properties/a/pattern unknown_member | known here: additionalProperties, description, enum, items, maxItems, maxLength, maximum, minItems, minLength, minimum, properties, required, type",
        ],
    ),
    Row(
        "[product]",
        "[input]\npayload = { maxLength = -1 }\n\n[product]",
        &["85:25 /input/payload/maxLength out_of_range | write a number in this range"],
    ),
    Row(
        "[product]",
        "[input]\npayload = { enum = [1.5] }\n\n[product]",
        &["85:21 /input/payload/enum/0 wrong_type | write a text, an integer, true or false"],
    ),
];

const MATCHERS: &[Row] = &[
    Row(
        "status = 202, json = { at = \"/ok\", equals = true }",
        "status = 202, graphql = \"fine\"",
        &[
            "34:34 /answers/0/when/graphql unknown_word | write one of ok, request_error, field_error",
        ],
    ),
    Row(
        "status = 202, json = { at = \"/ok\", equals = true }",
        "status = 202, text = { equals = \"x\" }",
        &["34:33 /answers/0/when/text/equals unknown_member | known here: contains, starts_with"],
    ),
    Row(
        "status = 202, json = { at = \"/ok\", equals = true }",
        "status = 202, json = { at = \"/ok\", length = -1 }",
        &["34:54 /answers/0/when/json/length out_of_range | write a number in this range"],
    ),
    Row(
        "status = 202, json = { at = \"/ok\", equals = true }",
        "status = 202, json = { at = \"/ok\", not_empty = false }",
        &["34:57 /answers/0/when/json/not_empty predicate | write `length = 0`"],
    ),
    Row(
        "status = 202, json = { at = \"/ok\", equals = true }",
        "status = 202, json = { at = \"/ok\", none_of = [] }",
        &["34:55 /answers/0/when/json/none_of predicate | list the values"],
    ),
    Row(
        "status = 202, json = { at = \"/ok\", equals = true }",
        "status = 202, headers = { name = \"X\", equals = \"a\", absent = true }",
        &[
            "34:34 /answers/0/when/headers predicate | write at most one of equals, one_of, starts_with, absent",
        ],
    ),
    Row(
        "status = 202, json = { at = \"/ok\", equals = true }",
        "status = 202, headers = { name = \"X\", absent = false }",
        &["34:57 /answers/0/when/headers/absent predicate | leave it out"],
    ),
    Row(
        "object = { json = \"/job\" }",
        "object = { between = [\"<a>\"] }",
        &["36:22 /answers/0/object/between between | write [\"<Id>\", \"</Id>\"]"],
    ),
    Row(
        "class = \"mismatch\"",
        "class = \"mismatch\"\nsettled = true",
        &["45:1 /answers/2/settled unknown_member | known here: class, source, when"],
    ),
    Row(
        "class = \"mismatch\"",
        "class = \"already_exists\"\nsame = [{ sent = \"/a\" }]",
        &["45:9 /answers/2/same/0/got missing_member | add `got = …`"],
    ),
];

#[test]
fn places() {
    check(PLACES);
}

#[test]
fn repeats() {
    check(REPEATS);
}

#[test]
fn bodies() {
    check(BODIES);
}

#[test]
fn lookups() {
    check(LOOKUPS);
}

#[test]
fn reports() {
    check(REPORTS);
}

#[test]
fn people() {
    check(PEOPLE);
}

#[test]
fn matchers() {
    check(MATCHERS);
}
