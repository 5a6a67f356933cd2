//! Secrets by reference: read at send time, in the right header, and shown nowhere.

use std::sync::Arc;

use factum_core::Span;
use factum_core::evidence::Phase;
use factum_transport::{Asked, Auth, Ended, Secret, SecretErrorKind, SecretRef, Target, Transport};

use crate::rig::{
    AMPLE, Conn, Server, answered, assert_not_sent, ok, permission, post, target, transport,
};

const AMPLE_TIME: Span = Span::from_secs(60);

fn reference(text: &str) -> SecretRef {
    SecretRef::parse(text).unwrap()
}

async fn text_of(text: &str) -> Result<String, SecretErrorKind> {
    let secret = reference(text).resolve(AMPLE_TIME).await;
    secret
        .map(|s| s.with_exposed(|b| String::from_utf8(b.to_vec()).unwrap()))
        .map_err(|e| e.kind)
}

#[tokio::test]
async fn a_secret_comes_from_environment_file_or_program_without_its_newline() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("token");
    let file = format!("file:{}", path.display());
    for (stored, read) in [
        ("abc", "abc"),
        ("abc\n", "abc"),
        ("abc\r\n", "abc"),
        ("abc\n\n", "abc\n"),
        (" a b ", " a b "),
    ] {
        std::fs::write(&path, stored).unwrap();
        assert_eq!(text_of(&file).await.unwrap(), read);
    }
    assert_eq!(text_of("cmd:echo  one   two").await.unwrap(), "one two");
    let path = std::env::var_os("PATH").unwrap().into_string().unwrap();
    assert_eq!(text_of("env:PATH").await.unwrap(), path);
}

#[tokio::test]
async fn a_secret_that_is_not_there_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| format!("file:{}", dir.path().join(name).display());
    std::fs::write(dir.path().join("empty"), "\n").unwrap();
    std::fs::write(dir.path().join("long"), vec![b'x'; 70_000]).unwrap();
    let folder = format!("file:{}", dir.path().display());
    let missing = std::io::ErrorKind::NotFound;
    let rows = [
        (
            "env:FACTUM_TEST_NEVER_SET".to_owned(),
            SecretErrorKind::NotSet,
        ),
        (at("missing"), SecretErrorKind::Unreadable(missing)),
        (at("empty"), SecretErrorKind::Empty),
        (at("long"), SecretErrorKind::TooLong(65_536)),
        (folder, SecretErrorKind::NotAFile),
        (
            "cmd:factum-no-such-program".to_owned(),
            SecretErrorKind::NotRun(missing),
        ),
        (
            "cmd:false".to_owned(),
            SecretErrorKind::Failed("exit status: 1".to_owned()),
        ),
        ("cmd:true".to_owned(), SecretErrorKind::Empty),
        ("cmd:yes".to_owned(), SecretErrorKind::TooLong(65_536)),
    ];
    for (text, why) in rows {
        assert_eq!(text_of(&text).await.unwrap_err(), why, "{text}");
    }
    let limit = Span::from_millis(50);
    let slow = reference("cmd:sleep 600").resolve(limit).await.unwrap_err();
    assert_eq!(slow.kind, SecretErrorKind::TooSlow(limit));
    assert_eq!(
        slow.to_string(),
        "the secret cmd:sleep was not there after 50 ms"
    );
}

#[test]
fn a_reference_reads_back_and_a_secret_in_its_place_is_not_repeated() {
    for text in ["env:A_B1", "file:/run/secrets/x", "cmd:pass show a/b"] {
        assert_eq!(reference(text).to_text(), text);
    }
    let secret = "ghp_16C7e42F292c6912E7";
    for text in [
        secret.to_owned(),
        format!("token:{secret}"),
        format!("env:{secret}="),
        format!("cmd:echo '{secret}'"),
        "env:".to_owned(),
        "file:".to_owned(),
        "cmd: ".to_owned(),
        String::new(),
    ] {
        let error = SecretRef::parse(&text).unwrap_err();
        assert_eq!(error.member, "auth");
        assert!(!error.remedy.is_empty());
        assert!(!format!("{error} {error:?}").contains(secret), "{error}");
    }
    let shown = format!("{:?}", reference("cmd:pass show prod/key"));
    assert_eq!(shown, "SecretRef(cmd:pass)");
    assert_eq!(format!("{:?}", Secret::new(b"abc".to_vec())), "Secret(..)");
}

async fn listener() -> Server {
    Server::start(|mut conn: Conn| async {
        conn.read_request().await;
        conn.write(ok("{}")).await;
        conn.close()
    })
    .await
}

#[tokio::test]
async fn each_way_of_authentication_makes_its_header() {
    let mut server = listener().await;
    let rows = [
        (
            Auth::Bearer(reference("cmd:echo t0ken")),
            "authorization: Bearer t0ken",
        ),
        (
            Auth::Basic {
                user: "Aladdin".to_owned(),
                password: reference("cmd:echo open sesame"),
            },
            "authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
        ),
        (
            Auth::BasicPair(reference("cmd:echo Aladdin:open sesame")),
            "authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
        ),
        (
            Auth::Header {
                name: "x-api-key".to_owned(),
                value: reference("cmd:echo k"),
            },
            "x-api-key: k",
        ),
    ];
    for (auth, line) in rows {
        let to = target(server.addr).with_auth(auth).unwrap();
        let ended = transport()
            .send(permission(AMPLE), &to, post("/", "{}"), false)
            .await;
        answered(ended);
        let seen = server.seen().await.text();
        assert!(seen.lines().any(|l| l == line), "{seen}");
    }
}

#[tokio::test]
async fn a_secret_that_cannot_be_used_sends_nothing_and_is_not_shown() {
    let server = listener().await;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    std::fs::write(&path, "s3cr3t\r\nx-other: 1").unwrap();
    let file = || reference(&format!("file:{}", path.display()));
    let own = Auth::Header {
        name: "content-type".to_owned(),
        value: reference("cmd:echo s3cr3t"),
    };
    for auth in [
        Auth::Bearer(file()),
        Auth::BasicPair(reference("cmd:echo s3cr3t")),
        Auth::Bearer(reference("cmd:false")),
        own,
    ] {
        let to = target(server.addr).with_auth(auth).unwrap();
        let ended = transport()
            .send(permission(AMPLE), &to, post("/", "{}"), false)
            .await;
        assert_not_sent(&ended, Phase::Prepare);
        assert!(!format!("{ended:?} {to:?}").contains("s3cr3t"));
    }
    assert_eq!(server.accepted(), 0);
}

// A secret that was swapped for another account's is caught at the send itself; the question "who am I" may be asked.
#[tokio::test]
async fn a_credential_that_is_not_the_confirmed_one_sends_nothing() {
    let server = listener().await;
    let guarded = |confirmed: &'static [u8]| {
        target(server.addr)
            .with_auth(Auth::Bearer(reference("cmd:echo mine")))
            .unwrap()
            .with_guard(Arc::new(move |secret: &Secret| {
                secret.with_exposed(|bytes| bytes == confirmed)
            }))
    };
    let send = async |to: &Target| {
        transport()
            .send(permission(AMPLE), to, post("/", "{}"), false)
            .await
    };
    assert_not_sent(&send(&guarded(b"theirs")).await, Phase::Prepare);
    assert_eq!(server.accepted(), 0);
    assert!(matches!(
        send(&guarded(b"mine")).await,
        Ended::Answered { .. }
    ));
    let asked = transport()
        .ask(&guarded(b"theirs"), post("/me", ""), AMPLE_TIME)
        .await;
    assert!(matches!(asked, Asked::Answered(_)));
}

#[test]
fn authentication_that_cannot_work_is_refused_early() {
    let to = || Target::parse("https://a.example", false).unwrap();
    let secret = || reference("env:X");
    for auth in [
        Auth::Basic {
            user: "a:b".to_owned(),
            password: secret(),
        },
        Auth::Header {
            name: "host".to_owned(),
            value: secret(),
        },
        Auth::Header {
            name: "x y".to_owned(),
            value: secret(),
        },
    ] {
        assert_eq!(to().with_auth(auth).unwrap_err().member, "auth");
    }
}
