//! What has to hold whatever bytes come in: one function per surface. `byte_noise` calls them with drawn bytes, `fuzz/` with
//! bytes that a fuzzer finds. They use nothing but the crate's own interface, so that both can include this file.

use std::sync::LazyLock;

use factum_contract::http::{HttpAnswer, HttpRequest};
use factum_contract::{
    CallbackRefused, Catalogue, Contract, EffectInput, Finding, Ours, Outcome, Provider, Script,
    parse_span, probe,
};
use factum_core::Timestamp;
use factum_core::evidence::{AnswerClass, CancelAnswer, LookupAnswer, PollAnswer};
use serde_json::Map;

/// What our requests carry.
const MARK: &str = "fct-7f3a";

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(Catalogue::builtin);

/// Every contract of the catalogue.
pub(crate) fn every_contract() -> impl Iterator<Item = &'static Contract> {
    let providers = CATALOGUE.providers();
    providers.flat_map(|provider| CATALOGUE.operations(provider))
}

/// The text of a contract, after a zero byte; the provider's stands before it. It is refused with findings that stand in it,
/// or it can be used.
pub(crate) fn contract_text(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (provider, operation) = match text.split_once('\0') {
        Some((provider, operation)) => (Some(("p.toml", provider)), operation),
        None => (None, &*text),
    };
    if let Some((file, text)) = provider
        && let Err(findings) = Provider::parse(file, text)
    {
        check_findings(&findings, &[text]);
    }
    match Contract::parse("o.toml", provider, operation) {
        Ok(contract) => use_contract(&contract),
        Err(findings) => {
            let texts = [provider.map_or("", |(_, text)| text), operation];
            check_findings(&findings, &texts);
        }
    }
    // The other texts that people and stores hand in.
    let _ = Contract::from_kept(&text);
    let _ = parse_span(&text);
    let _ = probe::Report::parse("r.toml", &text);
}

fn check_findings(findings: &[Finding], texts: &[&str]) {
    assert!(!findings.is_empty(), "refused, and nothing is said");
    for finding in findings {
        assert!(finding.line >= 1 && finding.column >= 1, "{finding}");
        let span = &finding.span;
        let stands = |text: &&str| text.get(span.clone()).is_some();
        assert!(texts.iter().any(stands), "{finding} stands nowhere");
        assert!(finding.to_string().contains(&finding.remedy), "{finding}");
    }
}

/// Everything that is asked of a contract that was accepted.
fn use_contract(contract: &Contract) {
    assert!(!contract.operation().is_empty());
    let input = EffectInput {
        params: &Map::new(),
        payload: b"{}",
        key: Some(MARK),
        reference: MARK,
    };
    if let Ok(request) = contract.effect_request(&input) {
        check_request(&request);
        let _ = contract.promises_for(&request);
    }
    let _ = (contract.promises(), contract.strength(), contract.grade());
    let _ = (contract.input_schema(), contract.answer_rules());
    let _ = (contract.key_terms(), contract.example_answers());
    let _ = contract.rehearse(&Script::after(Outcome::Lost));
    let _ = contract.far_side().example_requests(&[7; 32]);
    let encoded = contract.encode_key(&[7; 32]);
    assert_eq!(encoded, contract.encode_key(&[7; 32]));
}

/// A request stays below its base address, and its parts are what HTTP takes.
fn check_request(request: &HttpRequest) {
    let path = request.path_and_query.as_str();
    assert!(path.starts_with('/'), "{path:?}");
    assert!(path.bytes().all(|byte| byte.is_ascii_graphic()), "{path:?}");
    let (path, _) = path.split_once('?').unwrap_or((path, ""));
    let leaves = |part: &str| part == "..";
    assert!(!path.split('/').any(leaves), "{path:?} leaves its base");
    for (name, value) in &request.headers {
        assert!(!name.bytes().any(|b| b.is_ascii_uppercase()), "{name:?}");
        let plain = value.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        assert!(plain, "{name}: {value:?}");
    }
}

/// An answer from bytes: two for the status, one for what was cut, lines of headers, an empty line, the body.
pub(crate) fn answer_from(bytes: &[u8]) -> HttpAnswer {
    let (head, rest) = bytes.split_at(bytes.len().min(3));
    let at = |index: usize| head.get(index).copied().unwrap_or_default();
    let cut = rest.windows(2).position(|pair| pair == b"\n\n");
    let (lines, body) = match cut {
        Some(cut) => (&rest[..cut], &rest[cut + 2..]),
        None => (&rest[..0], rest),
    };
    let lines = String::from_utf8_lossy(lines).into_owned();
    let headers = lines.lines().filter_map(|line| line.split_once(": "));
    HttpAnswer {
        status: 100 + u16::from_be_bytes([at(0), at(1)]) % 500,
        headers: headers
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect(),
        body: body.to_vec(),
        truncated: at(2) & 1 == 1,
    }
}

/// An answer, read by every contract of the catalogue as an answer to each request that it can send.
pub(crate) fn answer(bytes: &[u8]) {
    let answer = answer_from(bytes);
    for contract in every_contract() {
        read_by(contract, &answer);
    }
}

/// What no answer may be taken for, whatever the contract.
fn read_by(contract: &Contract, answer: &HttpAnswer) {
    let name = || format!("{}.{}", contract.provider(), contract.operation());
    let ours = Ours {
        key: Some(MARK),
        reference: Some(MARK),
    };
    let reading = contract.read_answer_to(answer, &ours);
    assert_eq!(reading, contract.read_answer_to(answer, &ours));
    if matches!(
        reading.class,
        AnswerClass::Done | AnswerClass::Accepted { .. }
    ) {
        // An informational head is no answer, a server that failed has promised nothing.
        let fits = (200..500).contains(&answer.status);
        assert!(fits, "{}: {} is {:?}", name(), answer.status, reading.class);
    }
    if let Some(receipt) = &reading.receipt {
        assert!(!receipt.reference.is_empty(), "{}: {reading:?}", name());
    }
    let _ = contract.promises_after(&reading);
    let page = contract.read_lookup_page(answer, MARK, None);
    match &page.answer {
        LookupAnswer::Absent => assert_eq!(page.next_page, None, "{}", name()),
        LookupAnswer::Found(receipts) => {
            assert!(!answer.truncated && !receipts.is_empty(), "{}", name());
        }
        LookupAnswer::Queued { .. } | LookupAnswer::Inconclusive { .. } => {}
    }
    let _ = page.clone().join(page);
    match contract.read_poll(answer) {
        PollAnswer::Inconclusive { .. } => {}
        read => assert!(answer.status < 500, "{}: {read:?}", name()),
    }
    match contract.read_cancel(answer) {
        CancelAnswer::Unknown { .. } => {}
        read => assert!(answer.status < 500, "{}: {read:?}", name()),
    }
    let _ = contract.read_whoami(answer);
    let _ = contract.read_events(answer);
    let _ = contract.read_callbacks(&answer.body);
}

/// The schemes by which deliveries are signed, and the secret that each is checked with.
const SCHEMES: [(&str, &str); 12] = [
    ("{ scheme = \"stripe\" }", "whsec_fuzz"),
    ("{ scheme = \"github\" }", "s"),
    ("{ scheme = \"slack\" }", "s"),
    ("{ scheme = \"standard_webhooks\" }", "whsec_c2VjcmV0"),
    (
        "{ scheme = \"hmac\", header = \"x-mac\", algorithm = \"sha512\", encoding = \"base64\", \
         signed = \"{timestamp}.{id}.{body}\", timestamp = \"x-at\", id = \"x-id\" }",
        "s",
    ),
    (
        "{ scheme = \"shared_secret\", header = \"x-token\", prefix = \"Bearer \" }",
        "opensesame-7",
    ),
    ("{ scheme = \"basic\" }", "user:password"),
    ("{ scheme = \"twilio\" }", "s"),
    ("{ scheme = \"mailgun\" }", "s"),
    ("{ scheme = \"square\" }", "s"),
    ("{ scheme = \"adyen\" }", "00112233445566778899aabbccddeeff"),
    (
        "{ scheme = \"sendgrid\" }",
        "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==",
    ),
];

static SIGNED: LazyLock<Vec<(Contract, &str)>> = LazyLock::new(|| {
    let contract = |signature: &str| {
        let text = format!(
            "provider = \"p\"\noperation = \"o\"\ntitle = \"t\"\nconsequence = \"costly\"\n\
             [effect]\npath = \"/\"\n\
             [callback]\nsignature = {signature}\nid = \"/id\"\n\
             matches = [{{ by = \"reference\", at = \"/ref\" }}]\n\
             positive = {{ at = \"/type\", equals = \"done\" }}\nreceipt = \"/id\"\n\
             source = {{ person = \"us\", date = \"2026-11-30\" }}\n"
        );
        Contract::parse("o.toml", None, &text).expect("the schemes are known")
    };
    let all = SCHEMES.iter();
    all.map(|(signature, secret)| (contract(signature), *secret))
        .collect()
});

/// Where deliveries go.
const URL: &str = "https://factum.example/v1/callbacks/x?y=z";

/// Within the tolerance of what a fuzzer writes in ten digits.
const NOW: i64 = 1_767_323_045;

/// A delivery in the form of [`answer_from`]. Bytes of somebody else are refused by every scheme; those that only have to name
/// a secret are taken if they do.
pub(crate) fn delivery(bytes: &[u8]) {
    let HttpAnswer { headers, body, .. } = answer_from(bytes);
    let now = Timestamp::from_micros(NOW * 1_000_000);
    for (contract, secret) in SIGNED.iter() {
        for url in [None, Some(URL)] {
            let read = contract.verify_callback_at(url, &headers, &body, secret.as_bytes(), now);
            let named = |(_, value): &(String, String)| {
                value.contains("opensesame-7") || value.contains("dXNlcjpwYXNzd29yZA==")
            };
            match read {
                Ok(_) => assert!(headers.iter().any(named), "forged: {headers:?}"),
                Err(CallbackRefused::NoSignature) => panic!("each has a signature"),
                Err(_) => {}
            }
        }
        check_signed(contract, secret, &body);
        let _ = contract.read_callbacks(&body);
    }
}

/// Whatever is signed is taken, and no longer once a byte of it is another.
fn check_signed(contract: &Contract, secret: &str, body: &[u8]) {
    let far = contract.far_side();
    let micros = NOW * 1_000_000;
    let (now, secret) = (Timestamp::from_micros(micros), secret.as_bytes());
    let report = factum_contract::far_side::Report {
        headers: Vec::new(),
        body: body.to_vec(),
    };
    let Some(signed) = far.sign(&report, URL, "d-1", secret, micros) else {
        return;
    };
    let verify = |body: &[u8], secret: &[u8]| {
        contract.verify_callback_at(Some(URL), &signed.headers, body, secret, now)
    };
    assert!(verify(body, secret).is_ok(), "{:?}", signed.headers);
    let by_secret = signed
        .headers
        .iter()
        .any(|(name, _)| name == "x-token" || name == "authorization");
    if !by_secret {
        let mut other = body.to_vec();
        other.push(b'x');
        assert!(verify(&other, secret).is_err(), "{:?}", signed.headers);
    }
    assert!(verify(body, b"c3RyYW5nZXI=").is_err(), "another's secret");
}
