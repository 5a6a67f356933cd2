//! Ways of authentication that are more than one header: a parameter of the query, and signatures. The receiving side checks
//! them, and no secret stands in anything that is stored or shown.

use std::sync::Arc;

use factum_contract::{HmacSigning, Provider, SigV4Credentials, SigV4Scope, Signable, sign_v4};
use factum_core::evidence::Phase;
use factum_core::{Span, Timestamp};
use factum_transport::{
    Auth, Clock, Hmac, HttpTransport, Id, OAuth2, SecretErrorKind, SecretRef, SigV4, Target,
    Transport, Trust,
};

use crate::rig::{
    AMPLE, Conn, HandClock, Seen, Server, answered, assert_not_sent, ok, permission, post, target,
    transport,
};
use crate::tls::{self, Pki};

/// What must appear nowhere.
const CANARY: &str = "s3cr3t-c4n4ry";

pub(crate) fn secret(text: &str) -> SecretRef {
    SecretRef::parse(&format!("cmd:echo {text}")).unwrap()
}

/// Answers every request with all that it got.
async fn parrot() -> Server {
    Server::start(|mut conn: Conn| async {
        conn.read_request().await;
        let text = conn.seen.text();
        let line = text.lines().next().unwrap_or_default().to_owned();
        conn.write(format!(
            "HTTP/1.1 200 OK\r\nx-asked: {line}\r\ncontent-length: {}\r\n\r\n{text}",
            text.len()
        ))
        .await;
        conn.close()
    })
    .await
}

fn api_key(value: &str) -> Auth {
    Auth::Query {
        name: "api_key".to_owned(),
        value: secret(value),
    }
}

#[tokio::test]
async fn a_secret_in_the_query_is_sent_and_is_not_in_the_answer_that_repeats_it() {
    let mut server = parrot().await;
    let rows = [
        (
            "/v1/x",
            "POST /v1/x?api_key=s3cr3t-c4n4ry%2F%C3%A9 HTTP/1.1",
        ),
        (
            "/v1/x?a=1",
            "POST /v1/x?a=1&api_key=s3cr3t-c4n4ry%2F%C3%A9 HTTP/1.1",
        ),
    ];
    let to = target(server.addr)
        .with_auth(api_key("s3cr3t-c4n4ry/é"))
        .unwrap();
    for (path, line) in rows {
        let ended = transport()
            .send(permission(AMPLE), &to, post(path, "{}"), false)
            .await;
        let answer = answered(ended);
        assert_eq!(server.seen().await.text().lines().next(), Some(line));
        let shown = format!("{answer:?} {}", String::from_utf8_lossy(&answer.body));
        assert!(
            !shown.contains(CANARY) && shown.contains("api_key=[secret] HTTP/1.1"),
            "{shown}"
        );
    }
    let request = post("/v1/x?api_key=mine", "");
    let twice = transport()
        .send(permission(AMPLE), &to, request, false)
        .await;
    assert_not_sent(&twice, Phase::Prepare);
}

fn sigv4(session: bool) -> Auth {
    Auth::SigV4(Box::new(SigV4 {
        access_key: secret("AKIDEXAMPLE"),
        secret_key: secret(CANARY),
        session_token: session.then(|| secret("t0ken-of-a-session")),
        region: "eu-west-1".to_owned(),
        service: "sqs".to_owned(),
    }))
}

/// Headers as the receiving side has them, and its own signature over them.
fn received(seen: &Seen) -> (Vec<(String, String)>, String, Vec<u8>) {
    let text = seen.text();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let mut lines = head.lines();
    let path = lines.next().unwrap().split(' ').nth(1).unwrap().to_owned();
    let header = |line: &str| {
        let (name, value) = line.split_once(": ").unwrap();
        (name.to_owned(), value.to_owned())
    };
    (lines.map(header).collect(), path, body.as_bytes().to_vec())
}

fn of<'a>(headers: &'a [(String, String)], name: &str) -> &'a str {
    let mut found = headers.iter().filter(|(own, _)| own == name);
    let (_, value) = found
        .next()
        .unwrap_or_else(|| panic!("no {name} in {headers:?}"));
    assert!(found.next().is_none(), "{name} twice");
    value
}

/// The resend carries another date and another signature over the same method, path, key and body.
#[tokio::test]
async fn a_signature_is_made_anew_for_each_attempt_over_the_same_bytes() {
    let mut server = parrot().await;
    for session in [false, true] {
        let to = target(server.addr).with_auth(sigv4(session)).unwrap();
        let clock = HandClock::new();
        let transport = HttpTransport::new(Arc::clone(&clock) as Arc<dyn Clock>);
        let mut seen = Vec::new();
        for _ in 0..2 {
            let mut request = post("/q?Action=SendMessage&b=%2F", "{\"id\":7}");
            request.headers.push((
                "x-amz-target".to_owned(),
                "AmazonSQS.SendMessage".to_owned(),
            ));
            let at = clock.now();
            answered(transport.send(permission(AMPLE), &to, request, false).await);
            let (headers, path, body) = received(&server.seen().await);
            let signed = Signable {
                method: "POST",
                path_and_query: &path,
                headers: &headers
                    .iter()
                    .filter(|(name, _)| !["x-amz-security-token"].contains(&name.as_str()))
                    .cloned()
                    .collect::<Vec<_>>(),
                body: &body,
                at,
            };
            let credentials = SigV4Credentials {
                access_key: "AKIDEXAMPLE",
                secret_key: CANARY.as_bytes(),
                session_token: session.then_some("t0ken-of-a-session"),
            };
            let scope = SigV4Scope {
                region: "eu-west-1",
                service: "sqs",
            };
            for (name, value) in sign_v4(&signed, scope, &credentials) {
                assert_eq!(of(&headers, &name), value);
            }
            assert!(of(&headers, "authorization").contains("content-type;host;x-amz-date"));
            seen.push((of(&headers, "x-amz-date").to_owned(), path, body));
            clock.advance(Span::from_secs(30));
        }
        let [first, again] = seen.try_into().unwrap();
        assert_ne!(first.0, again.0, "the date is new");
        assert_eq!((first.1, first.2), (again.1, again.2), "the rest is not");
    }
}

fn signing() -> HmacSigning {
    let text = "provider = \"p\"\ntitle = \"P\"\n[auth]\nkinds = [\"hmac\"]\n\
        hmac = { header = \"X-Signature\", signed = \"{timestamp}.{method}.{path}.{body}\", timestamp = \"X-Time\", key_header = \"X-Key\" }\n";
    Provider::parse("f", text).unwrap().auth.hmac.unwrap()
}

fn hmac(value: &str) -> Auth {
    Auth::Hmac(Box::new(Hmac {
        signing: signing(),
        key_id: Some(Id::Plain("key-1".to_owned())),
        secret: secret(value),
    }))
}

#[tokio::test]
async fn a_mac_is_checked_by_the_receiving_side() {
    let mut server = parrot().await;
    let to = Target::parse(&format!("http://{}/base", server.addr), false)
        .unwrap()
        .with_auth(hmac(CANARY))
        .unwrap();
    let clock = HandClock::new();
    let transport = HttpTransport::new(Arc::clone(&clock) as Arc<dyn Clock>);
    let request = || post("/orders?a=1", "{\"id\":7}");
    answered(
        transport
            .send(permission(AMPLE), &to, request(), false)
            .await,
    );
    let (headers, path, body) = received(&server.seen().await);
    assert_eq!(
        (path.as_str(), of(&headers, "x-time"), of(&headers, "x-key")),
        ("/base/orders?a=1", "1000", "key-1")
    );
    let signed = Signable {
        method: "POST",
        path_and_query: &path,
        headers: &headers,
        body: &body,
        at: Timestamp::from_micros(1_000_000_000),
    };
    let expected = signing()
        .sign(&signed, Some("key-1"), CANARY.as_bytes())
        .unwrap();
    assert_eq!(of(&headers, "x-signature"), expected.last().unwrap().1);
}

#[tokio::test]
async fn no_secret_is_shown_by_anything() {
    let server = parrot().await;
    let oauth2 = Auth::OAuth2(Box::new(OAuth2 {
        token_url: format!("http://{}/token", server.addr),
        allow_plain_http: false,
        client_id: Id::Plain("client-1".to_owned()),
        client_secret: secret(CANARY),
        scopes: Vec::new(),
        audience: None,
        in_body: true,
        trust: None,
    }));
    let pair = format!("user:{CANARY}");
    let header = Auth::Header {
        name: "authorization".to_owned(),
        value: secret(&format!("Token {CANARY}")),
    };
    let kinds = [
        Auth::Bearer(secret(CANARY)),
        Auth::BasicPair(secret(&pair)),
        header,
        api_key(CANARY),
        sigv4(true),
        hmac(CANARY),
        oauth2,
    ];
    let coded = "dXNlcjpzM2NyM3QtYzRuNHJ5";
    for auth in kinds {
        let to = target(server.addr).with_auth(auth.clone()).unwrap();
        let sent = transport()
            .send(permission(AMPLE), &to, post("/", "{}"), false)
            .await;
        let asked = transport()
            .ask(&to, post("/", "{}"), Span::from_secs(60))
            .await;
        let wrong = transport()
            .send(permission(AMPLE), &to, post("no path", "{}"), false)
            .await;
        let bodies = match (&sent, &asked) {
            (
                factum_transport::Ended::Answered { answer, .. },
                factum_transport::Asked::Answered(other),
            ) => [answer.body.clone(), other.body.clone()].concat(),
            _ => Vec::new(),
        };
        let shown = format!(
            "{auth:?} {to:?} {sent:?} {asked:?} {wrong:?} {:?} {}",
            auth.credential(Span::from_secs(60)).await,
            String::from_utf8_lossy(&bodies)
        );
        for hidden in [CANARY, coded, "t0ken-of-a-session"] {
            assert!(!shown.contains(hidden), "{hidden} in {shown}");
        }
    }
}

#[tokio::test]
async fn what_cannot_be_signed_with_sends_nothing() {
    let server = parrot().await;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("key");
    std::fs::write(&path, "AKID\r\nx: 1").unwrap();
    let broken = || SecretRef::parse(&format!("file:{}", path.display())).unwrap();
    let Auth::SigV4(mut parts) = sigv4(false) else {
        panic!("as it was made")
    };
    parts.access_key = broken();
    let base64 = "provider = \"p\"\ntitle = \"P\"\n[auth]\nkinds = [\"hmac\"]\nhmac = { header = \"X-S\", signed = \"{body}\", secret_form = \"base64\" }\n";
    let kinds = [
        Auth::SigV4(parts),
        Auth::Hmac(Box::new(Hmac {
            signing: Provider::parse("f", base64).unwrap().auth.hmac.unwrap(),
            key_id: None,
            secret: secret("not-base64!"),
        })),
        Auth::Hmac(Box::new(Hmac {
            signing: signing(),
            key_id: Some(Id::parse("cmd:false")),
            secret: secret(CANARY),
        })),
    ];
    for auth in kinds {
        let to = target(server.addr).with_auth(auth).unwrap();
        let ended = transport()
            .send(permission(AMPLE), &to, post("/", "{}"), false)
            .await;
        assert_not_sent(&ended, Phase::Prepare);
    }
    assert_eq!(server.accepted(), 0);
}

/// R13: a secret that is rotated under the same name is the same account; another name is another one.
#[tokio::test]
async fn the_name_beside_the_secret_tells_the_account() {
    let identity = async |auth: Auth| {
        let found = auth.credential(Span::from_secs(60)).await.unwrap().unwrap();
        found.with_exposed(<[u8]>::to_vec)
    };
    let Auth::SigV4(parts) = sigv4(false) else {
        panic!("as it was made")
    };
    let with = |change: fn(&mut SigV4)| {
        let mut parts = parts.clone();
        change(&mut parts);
        Auth::SigV4(parts)
    };
    let same = identity(with(|_| {})).await;
    assert_eq!(
        same,
        identity(with(|p| p.secret_key = secret("other"))).await
    );
    assert_eq!(same, identity(sigv4(true)).await);
    assert_ne!(
        same,
        identity(with(|p| p.access_key = secret("AKIDOTHER"))).await
    );
    assert_ne!(identity(hmac("one")).await, identity(hmac("two")).await);
    assert_ne!(
        identity(api_key("one")).await,
        identity(api_key("two")).await
    );
    let missing = with(|p| p.secret_key = SecretRef::parse("cmd:false").unwrap());
    let error = missing.credential(Span::from_secs(60)).await.unwrap_err();
    assert!(
        matches!(error.kind, SecretErrorKind::Failed(_)),
        "all of it is read"
    );
}

#[test]
fn what_cannot_work_is_refused_early() {
    let to = || Target::parse("https://a.example", false).unwrap();
    let Auth::SigV4(mut parts) = sigv4(false) else {
        panic!("as it was made")
    };
    parts.region = "eu west".to_owned();
    let nameless = Auth::Hmac(Box::new(Hmac {
        signing: signing(),
        key_id: None,
        secret: secret("x"),
    }));
    let odd = Auth::Query {
        name: "a&b".to_owned(),
        value: secret("x"),
    };
    for auth in [Auth::SigV4(parts), nameless, odd] {
        assert_eq!(to().with_auth(auth).unwrap_err().member, "auth");
    }
}

/// A private authority is trusted where it is named, by nobody else, and nobody else is trusted there.
#[tokio::test]
async fn a_destination_can_have_its_own_authority() {
    let pki = Pki::new();
    let server = tls::start(pki.acceptor(), tls::echo).await;
    let trust = Trust::from_pem(pki.pem().as_bytes()).unwrap();
    let other = Trust::from_pem(Pki::new().pem().as_bytes()).unwrap();
    let plain = tls::https(&server);
    let rows = [
        (plain.clone().with_trust(trust), true),
        (plain.clone().with_trust(other), false),
        (plain, false),
    ];
    let transport = transport();
    for (to, trusted) in rows {
        let ended = transport
            .send(permission(AMPLE), &to, post("/", "{}"), false)
            .await;
        if trusted {
            assert_eq!(answered(ended).body, b"{}");
        } else {
            assert_not_sent(&ended, Phase::Tls);
        }
    }
    let garbage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for wrong in ["", "no PEM", garbage] {
        assert_eq!(Trust::from_pem(wrong.as_bytes()).unwrap_err().member, "ca");
    }
}

// The server of the rig answers with what it was sent; `ok` is for the others.
#[tokio::test]
async fn without_authentication_nothing_is_added() {
    let mut server = Server::start(|mut conn: Conn| async {
        conn.read_request().await;
        conn.write(ok("{}")).await;
        conn.close()
    })
    .await;
    answered(
        transport()
            .send(
                permission(AMPLE),
                &target(server.addr),
                post("/", "{}"),
                false,
            )
            .await,
    );
    let (headers, ..) = received(&server.seen().await);
    let names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "host",
            "content-type",
            "user-agent",
            "content-length",
            "connection"
        ]
    );
}
