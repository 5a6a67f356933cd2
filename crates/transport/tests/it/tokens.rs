//! Tokens of a client, against an address that issues them, refuses, keeps silent and talks nonsense. Whatever becomes of a
//! token request, nothing of the action was sent.

use std::sync::Arc;

use factum_core::Span;
use factum_core::evidence::Phase;
use factum_transport::{
    Asked, Auth, Clock, Ended, HttpLimits, HttpTransport, Id, OAuth2, SecretRef, Target, Transport,
};

use crate::auth::secret;
use crate::rig::{
    AMPLE, Conn, HandClock, Seen, Server, Times, answered, assert_not_sent, ok, permission, post,
    target,
};

const CANARY: &str = "s3cr3t-c4n4ry";

/// Something that answers each connection by its number, from 0.
async fn answering(answer: impl Fn(usize) -> String + Clone + Send + Sync + 'static) -> Server {
    Server::start(move |mut conn: Conn| {
        let answer = answer.clone();
        async move {
            conn.read_request().await;
            conn.write(answer(conn.number)).await;
            conn.close()
        }
    })
    .await
}

/// The n-th token, for so many seconds.
fn token(n: usize, life: u32) -> String {
    ok(&format!(
        "{{\"access_token\":\"t0ken-{n}-{CANARY}\",\"token_type\":\"Bearer\",\"expires_in\":{life}}}"
    ))
}

fn refusal(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

async fn destination() -> Server {
    answering(|_| ok("{}")).await
}

fn client(issuer: &Server) -> OAuth2 {
    OAuth2 {
        token_url: format!("http://{}/oauth2/token", issuer.addr),
        allow_plain_http: false,
        client_id: Id::Plain("client:1".to_owned()),
        client_secret: secret(CANARY),
        scopes: vec!["tickets".to_owned(), "read".to_owned()],
        audience: None,
        in_body: false,
        trust: None,
    }
}

fn to(destination: &Server, oauth2: OAuth2) -> Target {
    let auth = Auth::OAuth2(Box::new(oauth2));
    target(destination.addr).with_auth(auth).unwrap()
}

/// A transport, and the clock that it goes by.
fn by_hand() -> (Arc<HandClock>, HttpTransport) {
    let clock = HandClock::new();
    let transport = HttpTransport::new(Arc::clone(&clock) as Arc<dyn Clock>);
    (clock, transport)
}

/// Valid for an hour of the clock that stands still.
fn long() -> Times {
    Times {
        send_wait: Span::from_secs(86_400),
        ..AMPLE
    }
}

async fn send(transport: &HttpTransport, to: &Target) -> Ended {
    transport
        .send(permission(long()), to, post("/", "{}"), false)
        .await
}

fn bearer(seen: &Seen) -> String {
    let text = seen.text();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("authorization: Bearer t0ken-"));
    line.unwrap_or_else(|| panic!("no token in {text}"))
        .split('-')
        .next()
        .unwrap()
        .to_owned()
}

#[tokio::test]
async fn one_token_serves_many_and_is_renewed_before_it_ends() {
    let mut issuer = answering(|n| token(n, 3600)).await;
    let mut server = destination().await;
    let (clock, transport) = by_hand();
    let to = to(&server, client(&issuer));
    let (one, two, three) = tokio::join!(
        send(&transport, &to),
        send(&transport, &to),
        send(&transport, &to)
    );
    for ended in [one, two, three] {
        answered(ended);
        assert_eq!(bearer(&server.seen().await), "0");
    }
    assert_eq!(
        issuer.accepted(),
        1,
        "one at a time asks, and the others wait for it"
    );
    let asked = issuer.seen().await.text();
    assert!(
        asked.starts_with("POST /oauth2/token HTTP/1.1\r\n"),
        "{asked}"
    );
    // RFC 6749, section 2.3.1: both are form-encoded before they are joined.
    assert!(
        asked.contains("authorization: Basic Y2xpZW50JTNBMTpzM2NyM3QtYzRuNHJ5\r\n"),
        "{asked}"
    );
    assert!(
        asked.ends_with("\r\n\r\ngrant_type=client_credentials&scope=tickets%20read"),
        "{asked}"
    );

    clock.advance(Span::from_secs(3299));
    answered(send(&transport, &to).await);
    assert_eq!(bearer(&server.seen().await), "0");
    clock.advance(Span::from_secs(2));
    answered(send(&transport, &to).await);
    assert_eq!(
        bearer(&server.seen().await),
        "1",
        "within the margin of five minutes"
    );
    let asked = transport
        .ask(&to, post("/me", ""), Span::from_secs(60))
        .await;
    assert!(
        matches!(asked, Asked::Answered(_)),
        "questions carry it too"
    );
    assert_eq!(bearer(&server.seen().await), "1");
}

#[tokio::test]
async fn scopes_audience_and_credentials_go_where_the_provider_wants_them() {
    let mut issuer = answering(|n| token(n, 60)).await;
    let server = destination().await;
    let (_, transport) = by_hand();
    let oauth2 = OAuth2 {
        scopes: Vec::new(),
        audience: Some("https://api.example/".to_owned()),
        in_body: true,
        token_url: format!("http://{}/t?tenant=7", issuer.addr),
        ..client(&issuer)
    };
    answered(send(&transport, &to(&server, oauth2)).await);
    let asked = issuer.seen().await.text();
    assert!(
        asked.starts_with("POST /t?tenant=7 HTTP/1.1\r\n") && !asked.contains("authorization"),
        "{asked}"
    );
    let body = "grant_type=client_credentials&audience=https%3A%2F%2Fapi.example%2F&client_id=client%3A1&client_secret=s3cr3t-c4n4ry";
    assert!(asked.ends_with(body), "{asked}");
}

/// A rotated secret gets a token of its own: the old one may belong to somebody else.
#[tokio::test]
async fn another_secret_gets_another_token_and_is_the_same_account() {
    let mut issuer = answering(|n| token(n, 3600)).await;
    let mut server = destination().await;
    let (_, transport) = by_hand();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("client-secret");
    let file = SecretRef::parse(&format!("file:{}", path.display())).unwrap();
    let oauth2 = OAuth2 {
        client_secret: file,
        ..client(&issuer)
    };
    let to = to(&server, oauth2.clone());
    let mut identities = Vec::new();
    for (n, stored) in ["one", "two"].into_iter().enumerate() {
        std::fs::write(&path, stored).unwrap();
        answered(send(&transport, &to).await);
        assert_eq!(bearer(&server.seen().await), n.to_string());
        assert!(issuer.seen().await.text().contains("authorization: Basic "));
        let found = to
            .auth()
            .credential(Span::from_secs(60))
            .await
            .unwrap()
            .unwrap();
        identities.push(found.with_exposed(<[u8]>::to_vec));
    }
    assert_eq!(
        identities[0], identities[1],
        "neither the token nor the secret names the account"
    );
    let others = [
        OAuth2 {
            client_id: Id::Plain("client:2".to_owned()),
            ..oauth2.clone()
        },
        OAuth2 {
            token_url: format!("http://{}/other-tenant", issuer.addr),
            ..oauth2
        },
    ];
    for other in others {
        let found = Auth::OAuth2(Box::new(other))
            .credential(Span::from_secs(60))
            .await
            .unwrap()
            .unwrap();
        assert_ne!(found.with_exposed(<[u8]>::to_vec), identities[0]);
    }
}

#[tokio::test]
async fn a_refused_client_sends_nothing_and_asks_again_later() {
    let body = format!("{{\"error\":\"invalid_client\",\"error_description\":\"no {CANARY}\"}}");
    let issuer = answering(move |n| {
        if n < 2 {
            refusal("401 Unauthorized", &body)
        } else {
            token(n, 60)
        }
    })
    .await;
    let server = destination().await;
    let (clock, transport) = by_hand();
    let to = to(&server, client(&issuer));
    let first = send(&transport, &to).await;
    assert_not_sent(&first, Phase::Prepare);
    let shown = format!("{first:?}");
    assert!(
        shown.contains("no token was got: the token's address answered 401 (invalid_client)")
            && !shown.contains(CANARY),
        "{shown}"
    );
    let again = send(&transport, &to).await;
    assert_not_sent(&again, Phase::Prepare);
    assert!(
        format!("{again:?}").contains("it is asked again in 1 s"),
        "{again:?}"
    );
    assert_eq!(
        (issuer.accepted(), server.accepted()),
        (1, 0),
        "the address is left alone for a moment"
    );
    clock.advance(Span::from_secs(1));
    assert_not_sent(&send(&transport, &to).await, Phase::Prepare);
    clock.advance(Span::from_secs(1));
    assert_not_sent(&send(&transport, &to).await, Phase::Prepare);
    assert_eq!(issuer.accepted(), 2, "then twice as long");
    clock.advance(Span::from_secs(1));
    answered(send(&transport, &to).await);
    assert_eq!((issuer.accepted(), server.accepted()), (3, 1));
}

#[tokio::test]
async fn an_address_that_asks_for_a_rest_gets_it() {
    let busy = "HTTP/1.1 429 Too Many Requests\r\nretry-after: 20\r\ncontent-length: 0\r\n\r\n";
    let issuer = answering(move |n| {
        if n == 0 {
            busy.to_owned()
        } else {
            token(n, 60)
        }
    })
    .await;
    let server = destination().await;
    let (clock, transport) = by_hand();
    let to = to(&server, client(&issuer));
    assert_not_sent(&send(&transport, &to).await, Phase::Prepare);
    clock.advance(Span::from_secs(19));
    assert_not_sent(&send(&transport, &to).await, Phase::Prepare);
    assert_eq!(issuer.accepted(), 1);
    clock.advance(Span::from_secs(1));
    answered(send(&transport, &to).await);
}

/// A token that has not ended is used on while its address is down, and not where the client is refused.
#[tokio::test]
async fn a_token_outlives_an_address_that_is_down() {
    for (status, usable) in [
        ("503 Service Unavailable", true),
        ("401 Unauthorized", false),
    ] {
        let issuer = answering(move |n| {
            if n == 0 {
                token(n, 100)
            } else {
                refusal(status, "")
            }
        })
        .await;
        let server = destination().await;
        let (clock, transport) = by_hand();
        let to = to(&server, client(&issuer));
        answered(send(&transport, &to).await);
        clock.advance(Span::from_secs(90));
        for _ in 0..2 {
            let ended = send(&transport, &to).await;
            if usable {
                answered(ended);
            } else {
                assert_not_sent(&ended, Phase::Prepare);
            }
        }
        assert_eq!(issuer.accepted(), 2, "{status}");
        clock.advance(Span::from_secs(10));
        assert_not_sent(&send(&transport, &to).await, Phase::Prepare);
    }
}

#[tokio::test]
async fn nonsense_is_no_token_and_is_not_shown() {
    let long = format!("{{\"access_token\":\"{}\"}}", "x".repeat(20_000));
    let endless = "x".repeat(70_000);
    let rows = [
        ok(CANARY),
        ok(&format!("[\"{CANARY}\"]")),
        ok(&format!("{{\"token\":\"{CANARY}\"}}")),
        ok("{\"access_token\":\"\"}"),
        ok("{\"access_token\":7}"),
        ok(&format!("{{\"access_token\":\"{CANARY}\\r\\nx: 1\"}}")),
        ok(&format!(
            "{{\"access_token\":\"{CANARY}\",\"token_type\":\"mac\"}}"
        )),
        ok(&long),
        ok(&endless),
        refusal("302 Found", CANARY),
        refusal("400 Bad Request", &format!("{{\"error\":\"{CANARY}\"}}")),
        refusal("500 Internal Server Error", CANARY),
        "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"access_token\":\"".to_owned(),
        format!("{CANARY}\r\n\r\n"),
        String::new(),
    ];
    for row in rows {
        let answer = row.clone();
        let issuer = answering(move |_| answer.clone()).await;
        let server = destination().await;
        let (_, transport) = by_hand();
        let ended = send(&transport, &to(&server, client(&issuer))).await;
        assert_not_sent(&ended, Phase::Prepare);
        assert!(!format!("{ended:?}").contains(CANARY), "{ended:?}");
        assert_eq!(server.accepted(), 0, "{row}");
    }
}

#[tokio::test]
async fn a_life_may_be_text_or_missing() {
    for (life, kept) in [
        ("\"3600\"", 3000),
        ("3600.0", 3000),
        ("null", 200),
        ("\"soon\"", 200),
    ] {
        let answer = move |n| {
            ok(&format!(
                "{{\"access_token\":\"t0ken-{n}-x\",\"expires_in\":{life}}}"
            ))
        };
        let issuer = answering(answer).await;
        let server = destination().await;
        let (clock, transport) = by_hand();
        let to = to(&server, client(&issuer));
        answered(send(&transport, &to).await);
        clock.advance(Span::from_secs(kept));
        answered(send(&transport, &to).await);
        assert_eq!(issuer.accepted(), 1, "{life}");
        clock.advance(Span::from_secs(400));
        answered(send(&transport, &to).await);
        assert_eq!(issuer.accepted(), 2, "{life}");
    }
}

#[tokio::test]
async fn a_silent_address_and_one_that_is_not_there_send_nothing() {
    let issuer = Server::start(|mut conn: Conn| async {
        conn.read_to_end().await;
        conn.close()
    })
    .await;
    let server = destination().await;
    let (_, transport) = by_hand();
    let limits = HttpLimits {
        token: Span::from_millis(50),
        ..HttpLimits::default()
    };
    let silent = to(&server, client(&issuer)).with_limits(limits);
    assert_not_sent(&send(&transport, &silent).await, Phase::Prepare);
    let gone = OAuth2 {
        token_url: "http://127.0.0.1:1/token".to_owned(),
        ..client(&issuer)
    };
    assert_not_sent(&send(&transport, &to(&server, gone)).await, Phase::Prepare);
    assert_eq!(server.accepted(), 0);
}

/// Law 7: the window ends while the token is on its way. The token is kept; the action is not sent.
#[tokio::test]
async fn a_token_that_took_its_time_does_not_lengthen_the_window() {
    let clock = HandClock::new();
    let moved = Arc::clone(&clock);
    let issuer = answering(move |n| {
        moved.advance(Span::from_secs(61));
        token(n, 3600)
    })
    .await;
    let server = destination().await;
    let transport = HttpTransport::new(Arc::clone(&clock) as Arc<dyn Clock>);
    let to = to(&server, client(&issuer));
    let ended = transport
        .send(permission(AMPLE), &to, post("/", "{}"), false)
        .await;
    assert_not_sent(&ended, Phase::Prepare);
    assert_eq!((issuer.accepted(), server.accepted()), (1, 0));
    answered(send(&transport, &to).await);
    assert_eq!(issuer.accepted(), 1);
}

/// The destination ends a token before its time: the answer is passed on as it is, and the next request carries a new one.
#[tokio::test]
async fn a_token_that_the_destination_refuses_is_not_used_again() {
    let issuer = answering(|n| token(n, 3600)).await;
    let mut server = answering(|n| {
        if n == 0 {
            refusal("401 Unauthorized", "")
        } else {
            ok("{}")
        }
    })
    .await;
    let (_, transport) = by_hand();
    let to = to(&server, client(&issuer));
    for (status, n) in [(401, "0"), (200, "1"), (200, "1")] {
        assert_eq!(answered(send(&transport, &to).await).status, status);
        assert_eq!(bearer(&server.seen().await), n);
    }
}

#[test]
fn an_address_that_cannot_be_one_is_refused_early() {
    for url in [
        "",
        "token",
        "/token",
        "http://a.example/token",
        "https://a.example/../x",
        "https://u:p@a.example/",
        "https://a.example?x/",
        "https://a.example/t#x",
    ] {
        let oauth2 = OAuth2 {
            token_url: url.to_owned(),
            allow_plain_http: false,
            client_id: Id::Plain("c".to_owned()),
            client_secret: secret("x"),
            scopes: Vec::new(),
            audience: None,
            in_body: false,
            trust: None,
        };
        let to = Target::parse("https://a.example", false).unwrap();
        let error = to.with_auth(Auth::OAuth2(Box::new(oauth2))).unwrap_err();
        assert_eq!(error.member, "token_url", "{url}");
    }
}
