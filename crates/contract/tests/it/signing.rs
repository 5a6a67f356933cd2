//! Signatures of requests, against vectors that others publish: AWS Signature Version 4, and MACs over parts of a request.

use factum_contract::{
    Catalogue, HmacSigning, Provider, SigV4Credentials, SigV4Scope, Signable, sign_v4,
};
use factum_core::Timestamp;

/// Headers as they are written here.
type Headers = &'static [(&'static str, &'static str)];

const SUITE: SigV4Credentials<'_> = SigV4Credentials {
    access_key: "AKIDEXAMPLE",
    secret_key: b"wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
    session_token: None,
};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

fn pairs(headers: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    headers.iter().map(owned).collect()
}

/// Of the published suite (awslabs/aws-c-auth, tests/aws-signing-test-suite/v4, `header-signed-request.txt`): those that are sent
/// as they are written there. The form is that of the suite's first edition, which does not sign the body's hash as a header.
///
/// Name, method, path and query, headers beside the host, body; what is signed, and the signature.
const PUBLISHED: [(&str, &str, &str, Headers, &str, &str, &str); 13] = [
    (
        "get-vanilla",
        "GET",
        "/",
        &[],
        "",
        "host;x-amz-date",
        "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
    ),
    (
        "post-vanilla",
        "POST",
        "/",
        &[],
        "",
        "host;x-amz-date",
        "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
    ),
    (
        "get-vanilla-query-order-key-case",
        "GET",
        "/?Param2=value2&Param1=value1",
        &[],
        "",
        "host;x-amz-date",
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
    ),
    (
        "get-vanilla-empty-query-key",
        "GET",
        "/?Param1=value1",
        &[],
        "",
        "host;x-amz-date",
        "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb",
    ),
    (
        "get-vanilla-query-order-encoded",
        "GET",
        "/?Param-3=Value3&Param=Value2&%E1%88%B4=Value1",
        &[],
        "",
        "host;x-amz-date",
        "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac",
    ),
    (
        "get-vanilla-query-unreserved",
        "GET",
        "/?-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz=-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        &[],
        "",
        "host;x-amz-date",
        "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197",
    ),
    (
        "get-unreserved",
        "GET",
        "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        &[],
        "",
        "host;x-amz-date",
        "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
    ),
    (
        "get-slashes-normalized",
        "GET",
        "//example//",
        &[],
        "",
        "host;x-amz-date",
        "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84",
    ),
    (
        "get-header-key-duplicate",
        "GET",
        "/",
        &[
            ("my-header1", "value2"),
            ("my-header1", "value2"),
            ("my-header1", "value1"),
        ],
        "",
        "host;my-header1;x-amz-date",
        "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea",
    ),
    (
        "get-header-value-trim",
        "GET",
        "/",
        &[("my-header1", " value1"), ("my-header2", " \"a   b   c\"")],
        "",
        "host;my-header1;my-header2;x-amz-date",
        "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
    ),
    (
        "post-header-key-sort",
        "POST",
        "/",
        &[("my-header1", "value1")],
        "",
        "host;my-header1;x-amz-date",
        "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c",
    ),
    (
        "post-header-value-case",
        "POST",
        "/",
        &[("my-header1", "VALUE1")],
        "",
        "host;my-header1;x-amz-date",
        "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d",
    ),
    (
        "post-x-www-form-urlencoded",
        "POST",
        "/",
        &[("content-type", "application/x-www-form-urlencoded")],
        "Param1=value1",
        "content-type;host;x-amz-date",
        "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
    ),
];

#[test]
fn sigv4_signs_as_the_published_suite_does() {
    for (name, method, path_and_query, more, body, signed, signature) in PUBLISHED {
        let mut headers = pairs(&[("host", "example.amazonaws.com")]);
        headers.extend(pairs(more));
        headers.extend(pairs(&[("user-agent", "factum"), ("content-length", "13")]));
        let request = Signable {
            method,
            path_and_query,
            headers: &headers,
            body: body.as_bytes(),
            at: at(1_440_938_160),
        };
        let scope = SigV4Scope {
            region: "us-east-1",
            service: "service",
        };
        let expected = format!(
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
             SignedHeaders={signed}, Signature={signature}"
        );
        let added = sign_v4(&request, scope, &SUITE);
        let expected = pairs(&[
            ("x-amz-date", "20150830T123600Z"),
            ("authorization", &expected),
        ]);
        assert_eq!(added, expected, "{name}");
    }
}

/// `get-vanilla-with-session-token` of the same suite.
#[test]
fn a_sessions_token_is_signed_too() {
    let headers = pairs(&[("host", "example.amazonaws.com")]);
    let request = Signable {
        method: "GET",
        path_and_query: "/",
        headers: &headers,
        body: b"",
        at: at(1_440_938_160),
    };
    let token = "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267";
    let credentials = SigV4Credentials {
        session_token: Some(token),
        ..SUITE
    };
    let scope = SigV4Scope {
        region: "us-east-1",
        service: "service",
    };
    let added = sign_v4(&request, scope, &credentials);
    assert_eq!(
        added[1],
        ("x-amz-security-token".to_owned(), token.to_owned())
    );
    let signature = "SignedHeaders=host;x-amz-date;x-amz-security-token, \
        Signature=07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8";
    assert!(added[2].1.ends_with(signature), "{added:?}");
}

/// "Examples: Signature Calculations" of the S3 API reference (AmazonS3/latest/API/sig-v4-header-based-auth.html): the path is
/// signed as it is sent, and the body's hash goes along.
#[test]
fn s3_has_its_own_way() {
    let credentials = SigV4Credentials {
        access_key: "AKIAIOSFODNN7EXAMPLE",
        secret_key: b"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        session_token: None,
    };
    const PUT: Headers = &[
        ("date", "Fri, 24 May 2013 00:00:00 GMT"),
        ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
    ];
    let rows: [(&str, &str, Headers, &str, &str); 3] = [
        (
            "GET",
            "/test.txt",
            &[("range", "bytes=0-9")],
            "",
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        ),
        (
            "GET",
            "/?lifecycle",
            &[],
            "",
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
        ),
        (
            "PUT",
            "/test%24file.text",
            PUT,
            "Welcome to Amazon S3.",
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
        ),
    ];
    for (method, path_and_query, more, body, signature) in rows {
        let mut headers = pairs(&[("host", "examplebucket.s3.amazonaws.com")]);
        headers.extend(pairs(more));
        let request = Signable {
            method,
            path_and_query,
            headers: &headers,
            body: body.as_bytes(),
            at: at(1_369_353_600),
        };
        let scope = SigV4Scope {
            region: "us-east-1",
            service: "s3",
        };
        let added = sign_v4(&request, scope, &credentials);
        let (_, value) = added.last().unwrap();
        assert!(value.ends_with(signature), "{path_and_query}: {value}");
    }
}

fn signing(members: &str) -> HmacSigning {
    let text = format!(
        "provider = \"p\"\ntitle = \"P\"\n[auth]\nkinds = [\"hmac\"]\nhmac = {{ {members} }}\n"
    );
    let provider = Provider::parse("f", &text).expect("a provider");
    provider.auth.hmac.expect("it signs")
}

/// The two vectors of Worldline's own SDKs (`DefaultAuthenticatorTest`).
#[test]
fn worldline_is_signed_as_its_sdks_sign() {
    let catalogue = Catalogue::builtin();
    let worldline = catalogue.provider("worldline").unwrap();
    let signing = worldline.auth.hmac.as_ref().unwrap();
    let own = pairs(&[
        ("x-gcs-servermetainfo", "processed header value"),
        ("content-type", "application/json"),
        ("x-gcs-customerheader", "processed header value"),
        ("x-gcs-clientmetainfo", "processed header value"),
    ]);
    let rows = [
        (
            "DELETE",
            own,
            &b"secretApiKey"[..],
            "VfnXpPBQQoHZivTcAg0JvOWkhnzlPnaCPKpTQn/uMJM=",
        ),
        (
            "GET",
            Vec::new(),
            b"6Kj5HT0MQKC6D8eb7W3lTg71kVKVDSt1",
            "9ond5EIN05dBXJGCLRK5om9pxHsyrh/12pZJ7bvmwNM=",
        ),
    ];
    for (method, headers, secret, signature) in rows {
        let request = Signable {
            method,
            path_and_query: "/v1/9991/tokens/123456789",
            headers: &headers,
            body: b"",
            at: at(1_402_061_983),
        };
        let value = format!("GCS v1HMAC:EC36A74A98D21:{signature}");
        let expected = pairs(&[
            ("date", "Fri, 06 Jun 2014 13:39:43 GMT"),
            ("authorization", &value),
        ]);
        assert_eq!(
            signing
                .sign(&request, Some("EC36A74A98D21"), secret)
                .unwrap(),
            expected
        );
        assert!(
            signing.sign(&request, None, secret).is_err(),
            "its key has a name"
        );
    }
}

/// Expected values by Python's `hmac`.
#[test]
fn hashes_times_and_secrets_are_written_as_the_provider_says() {
    let request = Signable {
        method: "POST",
        path_and_query: "/orders?a=1",
        headers: &[],
        body: b"{\"x\":1}",
        at: Timestamp::from_micros(1_440_938_160_123_456),
    };
    let sent = |members: &str, secret: &[u8]| signing(members).sign(&request, Some("id-1"), secret);
    let exchange = "header = \"CB-ACCESS-SIGN\", encoding = \"base64\", secret_form = \"base64\", signed = \"{timestamp}{method}{path}{body}\", timestamp = \"CB-ACCESS-TIMESTAMP\", key_header = \"CB-ACCESS-KEY\"";
    let expected = pairs(&[
        ("cb-access-timestamp", "1440938160"),
        ("cb-access-key", "id-1"),
        (
            "cb-access-sign",
            "QZt19gXps5Gx93zTBcjunO+Sduidv2khPessr/gsYVk=",
        ),
    ]);
    assert_eq!(
        sent(exchange, b"Y29pbmJhc2UtbGlrZSBrZXk=").unwrap(),
        expected
    );
    assert!(sent(exchange, b"no base64!").is_err());

    let request = Signable {
        path_and_query: "/v1",
        ..request
    };
    let sent = |members: &str| signing(members).sign(&request, None, b"s3cr3t").unwrap();
    let millis = "header = \"x-s\", algorithm = \"sha512\", signed = \"{timestamp}{method}{path}{body}\", timestamp = \"x-t\", timestamp_form = \"unix_ms\"";
    assert_eq!(sent(millis)[0].1, "1440938160123");
    assert_eq!(
        sent(millis)[1].1,
        "94b73067a8aeb808b48cfc534b64ee1a904f7d18244eeab2faf0ef8c14df82b1421ddefcf9102bda172cfc8987e79dfa063ee1c0b779005042723e6ba1cbda28"
    );
    let old = "header = \"x-s\", algorithm = \"sha1\", signed = \"{method}{path}\", value = \"sha1={signature}\"";
    let expected = pairs(&[("x-s", "sha1=2861aa95a7a9f2139265cee043c19683101a90b5")]);
    assert_eq!(sent(old), expected);
}

#[test]
fn a_signature_that_cannot_be_made_is_refused_by_the_lint() {
    let rows = [
        ("header = \"s\", signed = \"{url}\"", "/auth/hmac/signed"),
        ("header = \"s\", signed = \"{body\"", "/auth/hmac/signed"),
        (
            "header = \"s\", signed = \"{header.}\"",
            "/auth/hmac/signed",
        ),
        (
            "header = \"s\", signed = \"{timestamp}{body}\"",
            "/auth/hmac/timestamp",
        ),
        (
            "header = \"s\", signed = \"{body}\", timestamp = \"t\"",
            "/auth/hmac/timestamp",
        ),
        (
            "header = \"s\", signed = \"{body}\", value = \"{key_id}\"",
            "/auth/hmac/value",
        ),
        (
            "header = \"s\", signed = \"{body}\", value = \"{body}\"",
            "/auth/hmac/value",
        ),
    ];
    for (members, member) in rows {
        let text = format!(
            "provider = \"p\"\ntitle = \"P\"\n[auth]\nkinds = [\"hmac\"]\nhmac = {{ {members} }}\n"
        );
        let findings = Provider::parse("f", &text).unwrap_err();
        assert_eq!(findings[0].member, member, "{members}: {findings:?}");
    }
}
