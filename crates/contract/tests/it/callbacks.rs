//! Deliveries: whose they are, and what they say. D7, D9 and the faults of deliveries: forged, repeated, reordered, unmatched.

use std::fmt::Write as _;

use factum_contract::{CallbackMatch, CallbackRefused, Contract, HttpAnswer};
use factum_core::Timestamp;
use factum_core::evidence::{Callback, Receipt};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::json;

use crate::support::{answer, contract};

const NOW: i64 = 1_767_323_045;

fn signed_by(signature: &str) -> Contract {
    contract(&format!(
        "provider = \"p\"\noperation = \"o\"\ntitle = \"t\"\nconsequence = \"costly\"\n\
         [effect]\npath = \"/\"\n\
         [callback]\nsignature = {signature}\nid = \"/id\"\n\
         matches = [{{ by = \"reference\", at = \"/data/ref\" }}, {{ by = \"object\", at = \"/data/job\" }}]\n\
         positive = {{ at = \"/type\", equals = \"done\" }}\n\
         negative = {{ at = \"/type\", equals = \"failed\" }}\n\
         reversed = {{ at = \"/type\", one_of = [\"returned\", \"disputed\"] }}\n\
         receipt = \"/data/id\"\nwhy = \"/data/reason\"\n\
         source = {{ person = \"us\", date = \"2026-11-29\" }}\n"
    ))
}

fn verify(
    contract: &Contract,
    headers: &[(&str, &str)],
    secret: &str,
    now: i64,
) -> Result<Option<String>, CallbackRefused> {
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let now = Timestamp::from_micros(now * 1_000_000);
    let verified = contract.verify_callback(&headers, b"{\"a\":1}", secret.as_bytes(), now);
    verified.map(|verified| verified.id)
}

fn mac(secret: &[u8], text: &str) -> Vec<u8> {
    let mac = Hmac::<sha2::Sha256>::new_from_slice(secret).expect("a key of any length");
    mac.chain_update(text).finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a text takes it");
        text
    })
}

#[test]
fn stripe() {
    let contract = signed_by("{ scheme = \"stripe\" }");
    let fits = hex(&mac(b"whsec_x", &format!("{NOW}.{{\"a\":1}}")));
    let header = format!("t={NOW},v1={},v1={fits},v0=zz", "0".repeat(64));
    let check =
        |header: &str, now| verify(&contract, &[("Stripe-Signature", header)], "whsec_x", now);
    assert_eq!(check(&header, NOW + 300), Ok(None));
    assert_eq!(check(&header, NOW + 301), Err(CallbackRefused::OutOfTime));
    assert_eq!(check(&header, NOW - 301), Err(CallbackRefused::OutOfTime));
    let malformed = CallbackRefused::Malformed("stripe-signature".to_owned());
    assert_eq!(check(&format!("v1={fits}"), NOW), Err(malformed));
    assert_eq!(check(&format!("t={NOW}"), NOW), Err(CallbackRefused::Wrong));
    let moved = format!("t={},v1={fits}", NOW + 1);
    assert_eq!(check(&moved, NOW), Err(CallbackRefused::Wrong));
    let missing = CallbackRefused::Missing("stripe-signature".to_owned());
    assert_eq!(verify(&contract, &[], "whsec_x", NOW), Err(missing));
}

/// At this address, with this body.
fn delivered_to(
    contract: &Contract,
    url: Option<&str>,
    headers: &[(&str, &str)],
    body: &str,
    secret: &str,
) -> Result<Option<String>, CallbackRefused> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let headers: Vec<_> = headers.iter().map(owned).collect();
    let now = Timestamp::from_micros(NOW * 1_000_000);
    let verified =
        contract.verify_callback_at(url, &headers, body.as_bytes(), secret.as_bytes(), now);
    verified.map(|verified| verified.id)
}

#[test]
fn twilio() {
    // The example of Twilio's own libraries (`RequestValidator`): address, token and signature.
    let contract = signed_by("{ scheme = \"twilio\" }");
    let url = "https://mycompany.com/myapp.php?foo=1&bar=2";
    let form = "To=%2B18005551212&CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B14158675309";
    let check = |url, form: &str, signature| {
        let headers = [("X-Twilio-Signature", signature)];
        delivered_to(&contract, url, &headers, form, "12345")
    };
    let fits = "RSOYDt4T1cUTdK1PDd93/VVr8B8=";
    assert_eq!(check(Some(url), form, fits), Ok(None));
    let twice = format!("{form}&Digits=1234");
    assert_eq!(
        check(Some(url), &twice, fits),
        Ok(None),
        "a pair counts once"
    );
    assert_eq!(check(None, form, fits), Err(CallbackRefused::NoAddress));
    let other = form.replace("Digits=1234", "Digits=1235");
    assert_eq!(check(Some(url), &other, fits), Err(CallbackRefused::Wrong));
    let elsewhere = Some("https://mycompany.com/myapp.php?foo=1");
    assert_eq!(check(elsewhere, form, fits), Err(CallbackRefused::Wrong));
    // A body that is no form: its hash stands in the address, and the address alone is signed.
    let url = "https://a.example/cb?bodySHA256=015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862";
    let fits = "Pz8NfVOQIAjA1ADhfwPj+/AIS/U=";
    assert_eq!(check(Some(url), "{\"a\":1}", fits), Ok(None));
    assert_eq!(
        check(Some(url), "{\"a\":2}", fits),
        Err(CallbackRefused::Wrong)
    );
}

#[test]
fn square() {
    let contract = signed_by("{ scheme = \"square\" }");
    // By Python's `hmac`, over address and body.
    let headers = [(
        "x-square-hmacsha256-signature",
        "KBUNPbQAln7XjTE2Jazp6ZjOputXg+7CDO4pOilJqGM=",
    )];
    let check = |url| delivered_to(&contract, url, &headers, "{\"a\":1}", "sq-key");
    assert_eq!(check(Some("https://a.example/cb")), Ok(None));
    assert_eq!(
        check(Some("https://a.example/cb/")),
        Err(CallbackRefused::Wrong)
    );
    assert_eq!(check(None), Err(CallbackRefused::NoAddress));
}

#[test]
fn mailgun() {
    let contract = signed_by("{ scheme = \"mailgun\" }");
    let token = "e0b5477167110d68991efc6b9f89f0a11066af27834600e123";
    let fits = "6c5dad88aa70680215e2bbec9ee227fe10da2dcd7ac3e839b09a44d870c8e6dc";
    let check = |time: i64, signature: &str| {
        let body = json!({ "signature": { "timestamp": time.to_string(), "token": token, "signature": signature } });
        delivered_to(&contract, None, &[], &body.to_string(), "mg-key")
    };
    assert_eq!(
        check(NOW, fits),
        Ok(Some(token.to_owned())),
        "by Python's `hmac`"
    );
    assert_eq!(check(NOW + 1, fits), Err(CallbackRefused::Wrong));
    assert_eq!(
        check(NOW, &fits.replace('6', "7")),
        Err(CallbackRefused::Wrong)
    );
    let old = NOW - 301;
    let signed = hex(&mac(b"mg-key", &format!("{old}{token}")));
    assert_eq!(check(old, &signed), Err(CallbackRefused::OutOfTime));
    let malformed = Err(CallbackRefused::Malformed("body".to_owned()));
    for body in ["", "[]", "{}", "{\"signature\":{\"timestamp\":1}}"] {
        assert_eq!(
            delivered_to(&contract, None, &[], body, "mg-key"),
            malformed
        );
    }
}

#[test]
fn adyen() {
    // The example of Adyen's own libraries (`HMACValidator`): key, item and signature.
    let contract = signed_by("{ scheme = \"adyen\" }");
    let key = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056";
    let item = |amount: i64| {
        json!({ "NotificationRequestItem": {
            "additionalData": { "hmacSignature": "coqCmt/IZ4E3CzPvMY8zTjQVL5hYJUiBRg8UU+iCWo0=" },
            "amount": { "value": amount, "currency": "EUR" },
            "pspReference": "7914073381342284", "eventCode": "AUTHORISATION", "eventDate": "2019-05-06T17:15:34.121+02:00",
            "merchantAccountCode": "TestMerchant", "merchantReference": "TestPayment-1407325143704", "success": "true",
        }})
    };
    let check = |items: &[serde_json::Value], key| {
        let body = json!({ "live": "false", "notificationItems": items });
        delivered_to(&contract, None, &[], &body.to_string(), key)
    };
    assert_eq!(check(&[item(1130)], key), Ok(None));
    assert_eq!(check(&[item(1131)], key), Err(CallbackRefused::Wrong));
    let mixed = [item(1130), item(1131)];
    assert_eq!(
        check(&mixed, key),
        Err(CallbackRefused::Wrong),
        "each has to fit"
    );
    assert_eq!(check(&[item(1130)], "no hex"), Err(CallbackRefused::Secret));
    let none = Err(CallbackRefused::Malformed("body".to_owned()));
    assert_eq!(check(&[], key), none, "nothing signed is nothing");
}

#[test]
fn sendgrid() {
    // The known answer in SendGrid's own libraries (`EventWebhook`): public key, signature, time and body.
    const KEY: &str = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==";
    const SIGNATURE: &str = "MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM=";
    const SIGNED_AT: i64 = 1_600_112_502;
    const BODY: &str = "[{\"email\":\"hello@world.com\",\"event\":\"dropped\",\"reason\":\"Bounced Address\",\
        \"sg_event_id\":\"ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA\",\
        \"sg_message_id\":\"LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0\",\
        \"smtp-id\":\"<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>\",\"timestamp\":1600112492}]\r\n";
    let contract = signed_by("{ scheme = \"sendgrid\" }");
    let check = |signature: &str, time: &str, body: &str, key: &str, now: i64| {
        let headers = [
            ("X-Twilio-Email-Event-Webhook-Signature", signature),
            ("X-Twilio-Email-Event-Webhook-Timestamp", time),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let now = Timestamp::from_micros(now * 1_000_000);
        contract.verify_callback(&headers, body.as_bytes(), key.as_bytes(), now)
    };
    let time = SIGNED_AT.to_string();
    let verified = check(SIGNATURE, &time, BODY, KEY, SIGNED_AT + 5).unwrap();
    let sent_at = Timestamp::from_micros(SIGNED_AT * 1_000_000);
    assert_eq!(verified.sent_at, Some(sent_at));
    let wrong = Err(CallbackRefused::Wrong);
    let changed = BODY.replace("dropped", "delivered");
    assert_eq!(check(SIGNATURE, &time, &changed, KEY, SIGNED_AT), wrong);
    let later = (SIGNED_AT + 1).to_string();
    assert_eq!(check(SIGNATURE, &later, BODY, KEY, SIGNED_AT), wrong);
    for signature in ["", "AAAA", "no base64", &SIGNATURE[4..]] {
        assert_eq!(
            check(signature, &time, BODY, KEY, SIGNED_AT),
            wrong,
            "{signature}"
        );
    }
    let old = Err(CallbackRefused::OutOfTime);
    assert_eq!(check(SIGNATURE, &time, BODY, KEY, SIGNED_AT + 999), old);
    // What is no key on the curve is a mistake of the configuration, not of the sender.
    for key in ["AAAA", &KEY[..KEY.len() - 8], "no base64"] {
        let refused = check(SIGNATURE, &time, BODY, key, SIGNED_AT);
        assert_eq!(refused, Err(CallbackRefused::Secret), "{key}");
    }
}

#[test]
fn github() {
    // GitHub's own published example, with its body in place of ours.
    let contract = signed_by("{ scheme = \"github\" }");
    let headers = [(
        "x-hub-signature-256".to_owned(),
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17".to_owned(),
    )];
    let now = Timestamp::from_micros(0);
    let secret = b"It's a Secret to Everybody";
    let verified = contract.verify_callback(&headers, b"Hello, World!", secret, now);
    assert!(verified.is_ok(), "{verified:?}");
    let wrong = contract.verify_callback(&headers, b"Hello, World?", secret, now);
    assert_eq!(wrong, Err(CallbackRefused::Wrong));
    let fits = format!("sha256={}", hex(&mac(b"k", "{\"a\":1}")));
    let delivered = [
        ("X-Hub-Signature-256", fits.as_str()),
        ("X-GitHub-Delivery", "d-1"),
    ];
    assert_eq!(
        verify(&contract, &delivered, "k", NOW),
        Ok(Some("d-1".to_owned()))
    );
    let twice = [
        ("X-Hub-Signature-256", fits.as_str()),
        ("x-hub-signature-256", "sha256=00"),
    ];
    let malformed = CallbackRefused::Malformed("x-hub-signature-256".to_owned());
    assert_eq!(verify(&contract, &twice, "k", NOW), Err(malformed));
    assert_eq!(
        verify(&contract, &delivered, "", NOW),
        Err(CallbackRefused::Secret)
    );
}

#[test]
fn slack() {
    let contract = signed_by("{ scheme = \"slack\" }");
    let fits = format!("v0={}", hex(&mac(b"k", &format!("v0:{NOW}:{{\"a\":1}}"))));
    let time = NOW.to_string();
    let headers = [
        ("X-Slack-Signature", fits.as_str()),
        ("X-Slack-Request-Timestamp", time.as_str()),
    ];
    assert_eq!(verify(&contract, &headers, "k", NOW + 5), Ok(None));
    assert_eq!(
        verify(&contract, &headers, "k", NOW + 999),
        Err(CallbackRefused::OutOfTime)
    );
    assert_eq!(
        verify(&contract, &headers, "other", NOW),
        Err(CallbackRefused::Wrong)
    );
}

#[test]
fn standard_webhooks() {
    // The vector of the Standard Webhooks reference libraries.
    let contract = signed_by("{ scheme = \"standard_webhooks\" }");
    let headers = [
        (
            "webhook-id".to_owned(),
            "msg_p5jXN8AQM9LWM0D4loKWxJek".to_owned(),
        ),
        ("webhook-timestamp".to_owned(), "1614265330".to_owned()),
        (
            "webhook-signature".to_owned(),
            "v1,AAAA v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=".to_owned(),
        ),
    ];
    let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
    let check = |secret: &[u8], now| {
        contract.verify_callback(&headers, b"{\"test\": 2432232314}", secret, now)
    };
    let verified = check(b"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", at(1_614_265_330)).unwrap();
    assert_eq!(verified.id.as_deref(), Some("msg_p5jXN8AQM9LWM0D4loKWxJek"));
    assert_eq!(verified.sent_at, Some(at(1_614_265_330)));
    assert_eq!(
        check(b"whsec_?", at(1_614_265_330)),
        Err(CallbackRefused::Secret)
    );
    assert_eq!(
        check(b"whsec_AAAA", at(1_614_265_330)),
        Err(CallbackRefused::Wrong)
    );
}

#[test]
fn schemes_of_their_own() {
    let own = signed_by(
        "{ scheme = \"hmac\", header = \"X-Sig\", algorithm = \"sha1\", encoding = \"base64\", signed = \"{id}|{timestamp}|{body}|end\", timestamp = \"X-Time\", id = \"X-Id\", tolerance = \"1 min\" }",
    );
    let text = format!("i|{NOW}|{{\"a\":1}}|end");
    let mac = Hmac::<sha1::Sha1>::new_from_slice(b"k").unwrap();
    let mac = mac.chain_update(text).finalize().into_bytes();
    let coded = base64(&mac);
    let time = NOW.to_string();
    let headers = [
        ("X-Sig", coded.as_str()),
        ("X-Time", time.as_str()),
        ("X-Id", "i"),
    ];
    assert_eq!(
        verify(&own, &headers, "k", NOW + 60),
        Ok(Some("i".to_owned()))
    );
    assert_eq!(
        verify(&own, &headers, "k", NOW + 61),
        Err(CallbackRefused::OutOfTime)
    );
    let other = [
        ("X-Sig", coded.as_str()),
        ("X-Time", time.as_str()),
        ("X-Id", "j"),
    ];
    assert_eq!(verify(&own, &other, "k", NOW), Err(CallbackRefused::Wrong));

    let shared =
        signed_by("{ scheme = \"shared_secret\", header = \"X-Token\", prefix = \"Token \" }");
    assert_eq!(
        verify(&shared, &[("x-token", "Token s3")], "s3", NOW),
        Ok(None)
    );
    assert_eq!(
        verify(&shared, &[("x-token", "Token s4")], "s3", NOW),
        Err(CallbackRefused::Wrong)
    );
    let malformed = CallbackRefused::Malformed("x-token".to_owned());
    assert_eq!(
        verify(&shared, &[("x-token", "s3")], "s3", NOW),
        Err(malformed)
    );

    let basic = signed_by("{ scheme = \"basic\" }");
    let header = [("Authorization", "basic dXM6c2VjcmV0")];
    assert_eq!(verify(&basic, &header, "us:secret", NOW), Ok(None));
    assert_eq!(
        verify(&basic, &header, "us:other", NOW),
        Err(CallbackRefused::Wrong)
    );

    let none = crate::support::testbed("key.sync");
    assert_eq!(
        verify(none, &[], "k", NOW),
        Err(CallbackRefused::NoSignature)
    );
}

/// As RFC 4648 has it, written otherwise than in the crate.
fn base64(bytes: &[u8]) -> String {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    let digit = |chunk: &[u8]| {
        let text = format!("{:0<6}", std::str::from_utf8(chunk).expect("digits"));
        char::from(alphabet[usize::from_str_radix(&text, 2).expect("bits")])
    };
    let mut text: String = bits.as_bytes().chunks(6).map(digit).collect();
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}

#[test]
fn reports_are_read_by_what_they_carry() {
    let contract = signed_by("{ scheme = \"github\" }");
    let read = |body: serde_json::Value| contract.read_callback(body.to_string().as_bytes());
    let done =
        read(json!({"id": "e1", "type": "done", "data": {"ref": "R", "job": "J", "id": "T-1"}}))
            .unwrap();
    assert_eq!(done.id.as_deref(), Some("e1"));
    assert_eq!(
        done.matches,
        [
            CallbackMatch::Reference("R".to_owned()),
            CallbackMatch::Object("J".to_owned())
        ]
    );
    assert_eq!(done.callback, Callback::Positive(Receipt::new("T-1")));
    let failed = read(json!({"type": "failed", "data": {"job": "J", "reason": "no"}})).unwrap();
    let expected = Callback::Negative {
        object: "J".to_owned(),
        why: "no".to_owned(),
    };
    assert_eq!(failed.callback, expected);
    let returned = read(json!({"type": "disputed", "data": {"ref": "R"}})).unwrap();
    assert!(matches!(returned.callback, Callback::Reversed { .. }));
    for nothing in [
        // A success without a receipt proves nothing; a failure of no object speaks for nothing (R21).
        json!({"type": "done", "data": {"ref": "R"}}),
        json!({"type": "failed", "data": {"ref": "R"}}),
        // Nobody knows whose it is.
        json!({"type": "done", "data": {"id": "T-1"}}),
        json!({"type": "other", "data": {"ref": "R"}}),
        json!([]),
    ] {
        assert_eq!(read(nothing.clone()), None, "{nothing}");
    }
    assert_eq!(contract.read_callbacks(b"not json"), []);
}

#[test]
fn a_form_can_report_and_a_list_can_hold_several() {
    let head = "provider = \"p\"\noperation = \"o\"\ntitle = \"t\"\nconsequence = \"costly\"\n[effect]\npath = \"/\"\n";
    let source = "source = { person = \"us\", date = \"2026-11-29\" }\n";
    let form = contract(&format!(
        "{head}[callback]\nsignature = {{ scheme = \"basic\" }}\nbody = \"form\"\n\
         matches = {{ by = \"receipt\", at = \"/MessageSid\" }}\n\
         positive = {{ at = \"/MessageStatus\", equals = \"delivered\" }}\n{source}"
    ));
    let reading = form
        .read_callback(b"MessageSid=SM1&MessageStatus=delivered")
        .unwrap();
    assert_eq!(reading.callback, Callback::Positive(Receipt::new("SM1")));
    let list = contract(&format!(
        "{head}[callback]\nsignature = {{ scheme = \"basic\" }}\nitems = \"\"\n\
         matches = {{ by = \"reference\", at = \"/ref\" }}\nreceipt = \"/id\"\n\
         positive = {{ at = \"/event\", equals = \"delivered\" }}\n{source}"
    ));
    let body = json!([
        {"event": "delivered", "ref": "R", "id": "1"},
        {"event": "processed", "ref": "R", "id": "1"},
        {"event": "delivered", "ref": "S", "id": "2"},
    ]);
    let all = list.read_callbacks(body.to_string().as_bytes());
    assert_eq!(all.len(), 2);
}

#[test]
fn events_are_fetched_from_where_they_were_left() {
    let contract = contract(
        "provider = \"p\"\noperation = \"o\"\ntitle = \"t\"\nconsequence = \"costly\"\n[effect]\npath = \"/\"\n\
         [events]\npath = \"/sync?after={cursor}\"\nfirst = \"/sync\"\nitems = \"/events\"\nnext = \"/last\"\n\
         matches = { by = \"object\", at = \"/job\" }\n\
         negative = { at = \"/type\", equals = \"failed\" }\n\
         source = { person = \"us\", date = \"2026-11-29\" }\n",
    );
    let path = |cursor| contract.events_request(cursor).unwrap().path_and_query;
    assert_eq!(path(None), "/sync");
    assert_eq!(path(Some("7")), "/sync?after=7");
    let events = json!({"events": [{"job": "J", "type": "failed"}, {"job": "K", "type": "posted"}], "last": 9});
    let page = contract.read_events(&answer(200, &events)).unwrap();
    assert_eq!(
        (page.events.len(), page.items, page.next.as_deref()),
        (1, 2, Some("9"))
    );
    assert_eq!(page.events[0].place, 0);
    assert_eq!(page.events[0].text, "{\"job\":\"J\",\"type\":\"failed\"}");
    // Nothing is passed over because of an answer that could not be read.
    assert_eq!(contract.read_events(&answer(500, &events)), None);
    assert_eq!(
        contract.read_events(&answer(200, &json!({"last": 9}))),
        None
    );
    assert_eq!(contract.read_events(&HttpAnswer::default()), None);
}
