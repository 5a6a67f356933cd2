//! The parts of the language beside the way of a request: advice, support, comparison, schema, what is for people.

use factum_contract::{AuthKind, BuildErrorKind, Contract, Ours, Provider};
use factum_core::evidence::AnswerClass;
use factum_core::promise::Authority;
use factum_core::{Span, Timestamp};
use serde_json::{Value, json};

use crate::support::{answer, contract, effect, params, raw_answer, with_header};

const HEAD: &str = "provider = \"p\"\noperation = \"o\"\ntitle = \"t\"\nconsequence = \"costly\"\n[effect]\npath = \"/\"\nset = [{ at = \"/r\", to = \"{reference}\" }]\n";
const SOURCE: &str = "source = { person = \"us\", date = \"2026-11-29\" }\n";

fn provided(provider: &str, operation: &str) -> Contract {
    let provider = format!("provider = \"p\"\ntitle = \"P\"\n{provider}");
    let text = format!("{HEAD}{operation}");
    Contract::parse("o.toml", Some(("provider.toml", &provider)), &text)
        .unwrap_or_else(|findings| panic!("{}", crate::support::shown(&findings)))
}

#[test]
fn instants_are_compared_with_the_answers_own_date() {
    let contract = provided("[advice]\nat = { header = \"X-Reset\" }\n", "");
    let date = "Sun, 06 Nov 1994 08:49:37 GMT";
    let read = |headers: &[(&str, &str)]| {
        let mut given = raw_answer(429, b"");
        for (name, value) in headers {
            given = with_header(given, name, value);
        }
        let reading = contract.read_answer(&given);
        (
            reading.retry_after,
            reading.retry_at.map(Timestamp::as_micros),
        )
    };
    let later = "Sun, 06 Nov 1994 08:50:07 GMT";
    let at = Some(784_111_807_000_000);
    let half_a_minute = Some(Span::from_secs(30));
    assert_eq!(
        read(&[("date", date), ("retry-after", later)]),
        (half_a_minute, at)
    );
    assert_eq!(
        read(&[("retry-after", later)]),
        (None, at),
        "no clock is asked"
    );
    assert_eq!(
        read(&[("date", date), ("x-reset", "784111807")]),
        (half_a_minute, at)
    );
    assert_eq!(
        read(&[
            ("date", date),
            ("x-reset", "784111807"),
            ("retry-after", "40")
        ]),
        (Some(Span::from_secs(40)), at)
    );
    assert_eq!(
        read(&[("date", later), ("retry-after", date)]).0,
        Some(Span::ZERO)
    );
    assert_eq!(read(&[("retry-after", "soon")]), (None, None));
}

#[test]
fn advice_comes_in_many_forms() {
    let contract = provided(
        "[advice]\nafter = { json = \"/parameters/retry_after\" }\nafter_unit = \"ms\"\n\
         again = { headers = { name = \"Should-Retry\", equals = \"true\" } }\nnever = { headers = { name = \"Should-Retry\", equals = \"false\" } }\n",
        "",
    );
    let body = answer(429, &json!({"parameters": {"retry_after": 1500.5}}));
    assert_eq!(
        contract.read_answer(&body).retry_after,
        Some(Span::from_millis(1501))
    );
    let advised = |value| {
        let answer = with_header(raw_answer(500, b""), "should-retry", value);
        contract.read_answer(&answer).retry_advised
    };
    assert_eq!(
        [advised("true"), advised("false"), advised("maybe")],
        [Some(true), Some(false), None]
    );
}

const KEY: &str = "[key]\nplace = { header = \"K\" }\n[key.repeat]\nretention = { floor = \"24 h\" }\n\
    stored = { success = true, refusals = false, errors = false }\nsource = { person = \"us\", date = \"2026-11-29\" }\n";

#[test]
fn support_that_is_missing_takes_its_promise_away() {
    let contract = contract(&format!(
        "{HEAD}{KEY}[[answers]]\nwhen = {{ status = 201 }}\nclass = \"done\"\nreceipt = {{ json = \"/id\" }}\n\
         [lookup]\nby = \"reference\"\npath = \"/?r={{reference}}\"\nitems = \"/items\"\nours = \"/r\"\nreceipt = {{ json = \"/id\" }}\n\
         authority = \"authoritative\"\ncomplete = \"always\"\nlag = \"0 s\"\nvisible_for = \"unbounded\"\n{SOURCE}\
         [support]\nkey_ignored = {{ headers = {{ name = \"Idempotency-Status\", equals = \"ignored\" }} }}\n\
         marker_kept = {{ in = {{ json = \"/r\" }} }}\n{SOURCE}"
    ));
    let ours = Ours {
        reference: Some("R"),
        key: Some("K"),
    };
    let read = |answer| contract.read_answer_to(&answer, &ours);
    let good = read(answer(201, &json!({"id": 1, "r": "R"})));
    assert_eq!((good.key_honoured, good.marker_kept), (None, Some(true)));
    assert_eq!(contract.promises_after(&good), contract.promises());
    // Redmine drops a custom field that the tracker does not have, and answers 201.
    let dropped = read(answer(201, &json!({"id": 1})));
    assert_eq!(dropped.marker_kept, Some(false));
    let left = contract.promises_after(&dropped);
    assert_eq!(left.lookup.unwrap().authority, Authority::Partial);
    let ignored = with_header(
        answer(201, &json!({"id": 1, "r": "R"})),
        "idempotency-status",
        "ignored",
    );
    let ignored = read(ignored);
    assert_eq!(ignored.key_honoured, Some(false));
    assert_eq!(
        contract
            .promises_after(&ignored)
            .key
            .unwrap()
            .retention
            .floor(),
        None
    );
    assert_eq!(
        read(raw_answer(500, b"")).marker_kept,
        None,
        "an error shows nothing"
    );
}

#[test]
fn an_answer_is_compared_with_what_was_sent() {
    // R31: the 200 belongs to somebody else's content.
    let contract = contract(&format!(
        "{HEAD}[[answers]]\nwhen = {{ status = 200 }}\nclass = \"done\"\nreceipt = {{ json = \"/id\" }}\n\
         same = [{{ sent = \"/amount\", got = \"/payment/amount\" }}, {{ sent = \"/live\", got = \"/live\" }}]\n"
    ));
    let request = effect(&contract, json!({}), r#"{"amount":10.50,"live":true}"#).unwrap();
    let read = |body: Value| {
        let answer = answer(200, &body);
        contract
            .read_answer_of(&answer, &Ours::default(), &request)
            .class
    };
    let exact: Value =
        serde_json::from_str(r#"{"id":1,"payment":{"amount":10.50},"live":true}"#).unwrap();
    assert_eq!(read(exact.clone()), AnswerClass::Done);
    assert_eq!(
        read(json!({"id": 1, "payment": {"amount": "10.50"}, "live": true})),
        AnswerClass::Done
    );
    for other in [
        json!({"id": 1, "payment": {"amount": 10.51}, "live": true}),
        json!({"id": 1, "payment": {"amount": 10.5}, "live": false}),
        json!({"id": 1}),
    ] {
        assert_eq!(read(other), AnswerClass::Unknown);
    }
    let unseen = contract.read_answer(&answer(200, &exact)).class;
    assert_eq!(
        unseen,
        AnswerClass::Unknown,
        "without the request nothing is recognised"
    );
}

#[test]
fn failures_hide_in_many_bodies() {
    let contract = contract(&format!(
        "{HEAD}\
         [[answers]]\nwhen = {{ status = 200, graphql = \"ok\", json = {{ at = \"/data/c/userErrors/*/code\", one_of = [\"IN_USE\"] }} }}\nclass = \"rejected\"\nsource = {{ person = \"us\", date = \"2026-11-29\" }}\n\
         [[answers]]\nwhen = {{ status = 200, graphql = \"ok\", json = {{ at = \"/data/c/userErrors\", length = 0 }} }}\nclass = \"done\"\nreceipt = {{ json = \"/data/c/id\" }}\n\
         [[answers]]\nwhen = {{ status = [200, 400], graphql = \"request_error\", json = {{ at = \"/errors/0/message\", starts_with = \"Field\" }} }}\nclass = \"rejected\"\nsource = {{ person = \"us\", date = \"2026-11-29\" }}\n\
         [[answers]]\nwhen = {{ status = 207, json = [{{ at = \"/results\", length = 1 }}, {{ at = \"/results/0/status\", status = \"2xx\" }}] }}\nclass = \"done\"\nreceipt = {{ json = \"/results/0/id\" }}\n\
         [[answers]]\nwhen = {{ status = 200, json = {{ at = \"/ErrorCode\", none_of = [0] }} }}\nclass = \"rejected\"\nsource = {{ person = \"us\", date = \"2026-11-29\" }}\n\
         [[answers]]\nwhen = {{ status = 200, text = {{ starts_with = \"OK \" }} }}\nclass = \"done\"\nreceipt = {{ between = [\"OK \", \";\"] }}\n\
         [[answers]]\nwhen = {{ status = 500, headers = {{ name = \"X-Safe\", one_of = [\"a\", \"b\"] }}, json = {{ at = \"/e\", contains = \"gone\" }} }}\nclass = \"unknown\"\nsettled = true\n"
    ));
    let class =
        |status: u16, body: &str| contract.read_answer(&raw_answer(status, body.as_bytes()));
    let is_rejected = |body: &str| matches!(class(200, body).class, AnswerClass::Rejected { .. });
    assert!(is_rejected(
        r#"{"data":{"c":{"userErrors":[{"code":"IN_USE"}]}}}"#
    ));
    assert!(is_rejected(r#"{"errors":[{"message":"Field x"}]}"#));
    assert!(is_rejected(r#"{"ErrorCode":406}"#));
    for unknown in [
        r#"{"data":{"c":{"userErrors":[{"code":"OTHER"}]}}}"#,
        r#"{"data":null,"errors":[{"message":"Field x"}]}"#,
        r#"{"data":{"c":{"id":1,"userErrors":[]}},"errors":[{"message":"partly"}]}"#,
        r#"{"ErrorCode":0}"#,
        r#"{"data":{"c":{"userErrors":[]}}}"#,
    ] {
        assert_eq!(class(200, unknown).class, AnswerClass::Unknown, "{unknown}");
    }
    let done = |status, body: &str| {
        let reading = class(status, body);
        assert_eq!(reading.class, AnswerClass::Done, "{body}");
        reading.receipt.unwrap().reference
    };
    assert_eq!(done(200, r#"{"data":{"c":{"id":7,"userErrors":[]}}}"#), "7");
    assert_eq!(done(207, r#"{"results":[{"status":"201","id":"x"}]}"#), "x");
    assert_eq!(done(200, "OK 123;rest"), "123");
    assert_eq!(
        class(207, r#"{"results":[{"status":201},{"status":500}]}"#).class,
        AnswerClass::Unknown
    );
    assert_eq!(
        class(207, r#"{"results":[{"status":409}]}"#).class,
        AnswerClass::Unknown
    );
    let gone = with_header(answer(500, &json!({"e": "it is gone"})), "x-safe", "B");
    let reading = contract.read_answer(&gone);
    assert_eq!(
        (reading.class, reading.settled),
        (AnswerClass::Unknown, true)
    );
}

#[test]
fn what_is_submitted_has_the_form_that_the_contract_describes() {
    let contract = contract(&format!(
        "{HEAD}[input]\npayload = {{ type = \"object\", required = [\"a\"], additionalProperties = false, properties = {{ \
         a = {{ type = \"integer\", minimum = 1, maximum = 10 }}, b = {{ type = [\"string\", \"null\"], minLength = 2, maxLength = 3 }}, \
         c = {{ enum = [\"x\", 1, true] }}, d = {{ type = \"array\", minItems = 1, maxItems = 2, items = {{ type = \"boolean\" }} }} }} }}\n"
    ));
    let check = |payload: &str| effect(&contract, json!({}), payload).map(drop);
    assert_eq!(check(r#"{"a":10,"b":"üü","c":true,"d":[false]}"#), Ok(()));
    assert_eq!(check(r#"{"a":1,"b":null}"#), Ok(()));
    use BuildErrorKind as Kind;
    for (payload, member, kind) in [
        ("[]", "/payload", Kind::WrongType),
        ("{}", "/payload/a", Kind::Missing),
        (r#"{"a":1.0}"#, "/payload/a", Kind::WrongType),
        (r#"{"a":0}"#, "/payload/a", Kind::OutOfRange),
        (
            r#"{"a":99999999999999999999}"#,
            "/payload/a",
            Kind::OutOfRange,
        ),
        (r#"{"a":1,"b":"x"}"#, "/payload/b", Kind::TooShort),
        (r#"{"a":1,"b":"xxxx"}"#, "/payload/b", Kind::TooLong),
        (r#"{"a":1,"c":"y"}"#, "/payload/c", Kind::NotListed),
        (r#"{"a":1,"d":[]}"#, "/payload/d", Kind::TooShort),
        (
            r#"{"a":1,"d":[true,true,true]}"#,
            "/payload/d",
            Kind::TooLong,
        ),
        (r#"{"a":1,"d":[1]}"#, "/payload/d/0", Kind::WrongType),
        (r#"{"a":1,"z":1}"#, "/payload/z", Kind::Unknown),
    ] {
        let error = check(payload).unwrap_err();
        assert_eq!(
            (error.member.as_str(), error.kind),
            (member, kind),
            "{payload}"
        );
    }
    let schema = contract.input_schema();
    assert_eq!(
        schema["payload"]["properties"]["b"]["type"],
        json!(["string", "null"])
    );
    assert_eq!(schema["payload"]["additionalProperties"], json!(false));
}

#[test]
fn what_is_for_people_is_there() {
    let contract = contract(&format!(
        "api_version = \"2026-04\"\nverified_on = \"2026-11-29\"\nreview_by = \"2027-05-29\"\nrequires = \"a label\"\n{HEAD}\
         [undo]\nhow = \"refund\"\noperation = \"refund.create\"\nwithin = \"48 h\"\nleaves = \"a line in the statement\"\n{SOURCE}\
         [completion]\ndone_means = \"recorded\"\nthen = \"transfer.fund\"\nreversible = \"returns within 60 days\"\n{SOURCE}\
         [product]\nkind = \"charge\"\nweb = \"https://desk.example\"\ndeep_link = \"/{{shop}}/charges/{{receipt}}\"\nsearch_text = \"ref:{{reference}}\"\n\
         amount = {{ at = \"/money/amount\", currency = \"/money/currency\", minor = true }}\nshown = [\"/note\"]\ncaptured = \"/id\"\ntrace = \"traceparent\"\n"
    ));
    assert_eq!(contract.api_version(), Some("2026-04"));
    assert_eq!(
        (contract.verified_on(), contract.review_by()),
        (Some("2026-11-29"), Some("2027-05-29"))
    );
    assert_eq!(contract.requires().collect::<Vec<_>>(), ["a label"]);
    let undo = contract.undo().unwrap();
    assert_eq!(
        (undo.how, undo.operation),
        ("refund", Some("refund.create"))
    );
    assert_eq!(undo.within, Some(Span::from_secs(48 * 3600)));
    assert_eq!(
        (contract.done_means(), contract.then()),
        (Some("recorded"), Some("transfer.fund"))
    );
    assert_eq!(
        contract.reversible_after_done(),
        Some("returns within 60 days")
    );
    let shop = params(json!({"shop": "a b"}));
    assert_eq!(
        contract.deep_link_with(&shop, "ch/1"),
        None,
        "a receipt that would lead elsewhere is no link"
    );
    assert_eq!(
        contract.deep_link_with(&shop, "ch_1").as_deref(),
        Some("https://desk.example/a%20b/charges/ch_1")
    );
    assert_eq!(contract.deep_link("ch_1"), None);
    assert_eq!(contract.search_text(&shop, "R").as_deref(), Some("ref:R"));
    let amount = contract
        .amount(&json!({"money": {"amount": 500, "currency": "eur"}}))
        .unwrap();
    assert_eq!(
        (
            amount.number.as_str(),
            amount.currency.as_deref(),
            amount.minor
        ),
        ("500", Some("eur"), true)
    );
    assert_eq!(contract.shown_members().collect::<Vec<_>>(), ["/note"]);
    assert_eq!(contract.captured_members().collect::<Vec<_>>(), ["/id"]);
    assert_eq!(contract.trace_header(), Some("traceparent"));
}

#[test]
fn providers_name_what_their_authentication_needs() {
    let text = "provider = \"p\"\ntitle = \"P\"\n[auth]\n\
        kinds = [\"query\", \"oauth2_client_credentials\", \"sigv4\", \"hmac\"]\nquery = \"api_key\"\n\
        oauth2 = { token_url = \"https://login.example/token\", scopes = [\"tickets\"], audience = \"api\", in_body = true }\n\
        sigv4 = { service = \"sqs\", region = \"eu-west-1\" }\n\
        hmac = { header = \"X-Signature\", signed = \"{timestamp}{method}{path}{body}\", timestamp = \"X-Time\", encoding = \"base64\" }\n\
        [limits]\nbetween = \"1 s\"\nscope = \"each bucket\"\nban = \"10,000 refused requests in 10 minutes\"\n";
    let provider = Provider::parse("f", text).unwrap();
    assert_eq!(provider.auth.kinds.len(), 4);
    assert!(provider.auth.kinds.contains(&AuthKind::SigV4));
    assert_eq!(provider.auth.oauth2.unwrap().scopes, ["tickets"]);
    assert!(!provider.auth.hmac.unwrap().wants_key_id());
    assert_eq!(provider.limits.between, Some(Span::from_secs(1)));
}

#[test]
fn contracts_are_sorted_by_what_a_lost_answer_comes_to() {
    use factum_contract::{Grade, Strength};
    let by_lookup = "[lookup]\nby = \"reference\"\npath = \"/?r={reference}\"\nours = \"/r\"\nreceipt = \"none\"\nauthority = \"partial\"\nlag = \"0 s\"\n";
    let hearsay = "source = { url = \"https://a.example\", read = \"2026-11-29\", grade = \"second_hand\" }\n";
    for (rest, expected) in [
        // R4: nothing is stated about a repeat beside the first, nor a time after which the first no longer runs.
        (KEY.to_owned(), Strength::B),
        (
            KEY.replace("stored =", "concurrent = \"waits\"\nstored ="),
            Strength::A,
        ),
        (
            KEY.replace("{ floor = \"24 h\" }", "\"unpublished\""),
            Strength::B,
        ),
        (
            KEY.replace("[key.repeat]", "role = \"resource_id\"\n[key.repeat]"),
            Strength::C,
        ),
        (by_lookup.to_owned(), Strength::D),
        (String::new(), Strength::E),
        // A window that only others tell of is none.
        (KEY.replace(SOURCE, hearsay), Strength::E),
    ] {
        let contract = contract(&format!("{HEAD}{rest}"));
        assert_eq!(contract.strength(), expected, "{rest}");
    }
    let mixed = contract(&format!("{HEAD}{KEY}{by_lookup}{hearsay}"));
    assert_eq!(mixed.grade(), Some(Grade::SecondHand));
    assert_eq!(mixed.grade().map(Grade::word), Some("second_hand"));
}

#[test]
fn hearsay_is_shown_and_not_relied_on() {
    let source = "source = { url = \"https://a.example\", read = \"2026-11-29\", grade = \"second_hand\" }\n";
    let text = |source: &str| {
        format!(
            "{HEAD}[[answers]]\nwhen = {{ status = 202 }}\nclass = \"accepted\"\nobject = {{ json = \"/job\" }}\n\
             [poll]\npath = \"/jobs/{{object}}\"\ncompleted = {{ status = 200 }}\nworking = {{ status = 202 }}\nreceipt = \"none\"\n{source}\
             [callback]\nsignature = {{ scheme = \"basic\" }}\nmatches = {{ by = \"receipt\", at = \"/id\" }}\n\
             positive = {{ at = \"/ok\", equals = true }}\n{source}\
             [events]\npath = \"/?{{cursor}}\"\nfirst = \"/\"\nnext = \"/n\"\nmatches = {{ by = \"receipt\", at = \"/id\" }}\n\
             positive = {{ at = \"/ok\", equals = true }}\n{source}"
        )
    };
    let body = br#"{"ok":true,"id":"1"}"#;
    let event = raw_answer(200, body);
    let read = |source| {
        let contract = contract(&text(source));
        let completion = contract.promises().completion.unwrap();
        let reports = contract.read_callbacks(body).len();
        (
            completion.poll,
            completion.callback,
            reports,
            contract.read_events(&event).is_some(),
        )
    };
    assert_eq!(read(SOURCE), (true, true, 1, true));
    assert_eq!(read(source), (false, false, 0, false));
}
