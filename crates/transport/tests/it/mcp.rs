//! An MCP server that we started, as a few lines of shell: what is known of a call however it behaves.

use std::sync::Arc;

use factum_core::Span;
use factum_transport::mcp::{CallEnded, Command, Upstream};
use serde_json::json;

use crate::rig::{AMPLE, HandClock, ScriptClock, Times, permission};

/// What every server does first: greets under the id 1, reads that we are there, and reads the call, whose id is 2.
const GREETED: &str = r#"read l; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}'; read l; read call; "#;
const RESULT: &str = r#"echo '{"jsonrpc":"2.0","id":2,"result":{"content":[]}}'; "#;

fn server(script: &str, clock: &Arc<HandClock>) -> Upstream {
    let command = Command {
        words: ["sh", "-c", script].map(str::to_owned).into(),
        folder: None,
        withheld: Vec::new(),
        variables: Vec::new(),
    };
    Upstream::command(command, clock.clone())
}

async fn call(script: &str, times: Times) -> CallEnded {
    let upstream = server(script, &HandClock::new());
    upstream
        .call(permission(times), json!({"name": "make", "arguments": {}}))
        .await
}

#[tokio::test]
async fn a_whole_answer_is_read_through_chatter_and_questions() {
    let chatty = format!(
        r#"{GREETED} echo 'listening on nothing'; echo '{{"jsonrpc":"2.0","method":"notifications/x"}}'; {RESULT} read rest"#
    );
    let asking = format!(
        r#"{GREETED} echo '{{"jsonrpc":"2.0","id":"q","method":"ping"}}'; read pong; {RESULT} read rest"#
    );
    for script in [chatty, asking] {
        assert_eq!(
            call(&script, AMPLE).await,
            CallEnded::Answered(Ok(json!({"content": []}))),
            "{script}"
        );
    }
    let failing = format!(
        r#"{GREETED} echo '{{"jsonrpc":"2.0","id":2,"error":{{"code":-32603}}}}'; read rest"#
    );
    assert_eq!(
        call(&failing, AMPLE).await,
        CallEnded::Answered(Err(json!({"code": -32_603})))
    );
}

// Facts 1.1: a server that dies during a call leaves it unknown, and the moment of its death is evidence.
#[tokio::test]
async fn a_server_that_dies_during_a_call_has_lost_it() {
    let dying = format!("{GREETED} exit 1");
    let half = format!(r#"{GREETED} printf '{{"jsonrpc":"2.0","id":2,"res'; exit 0"#);
    for script in [dying, half] {
        let CallEnded::Lost {
            wrote, closed_at, ..
        } = call(&script, AMPLE).await
        else {
            panic!("{script}");
        };
        assert!(wrote > 0 && closed_at.is_some(), "{script}");
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_may_still_be_at_work() {
    let times = Times {
        answer: Span::from_millis(200),
        ..AMPLE
    };
    let CallEnded::Lost {
        wrote, closed_at, ..
    } = call(&format!("{GREETED} read never"), times).await
    else {
        panic!("it was sent");
    };
    assert!(wrote > 0);
    assert_eq!(closed_at, None);
}

#[tokio::test]
async fn where_no_byte_left_nothing_was_sent() {
    let gone = r#"read l; exit 0"#;
    let refusing = r#"read l; echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32600}}'; read l; echo '{"jsonrpc":"2.0","id":2,"error":{}}'; read l"#;
    for script in [gone, refusing] {
        assert!(
            matches!(call(script, AMPLE).await, CallEnded::NotSent { .. }),
            "{script}"
        );
    }
    let missing = Command {
        words: vec!["/no/such/program".to_owned()],
        folder: None,
        withheld: Vec::new(),
        variables: Vec::new(),
    };
    let missing = Upstream::command(missing, HandClock::new());
    assert!(matches!(
        missing.call(permission(AMPLE), json!({})).await,
        CallEnded::NotSent { .. }
    ));
}

// Law 7: the permission is looked at again just before the first byte.
#[tokio::test]
async fn a_permission_that_ended_writes_nothing() {
    // It ends between the first look and the instant before the first byte.
    let clock = ScriptClock::new(|reading| {
        if reading == 1 {
            Span::ZERO
        } else {
            AMPLE.send_wait
        }
    });
    // Not even a part of it: what comes next is the first line that the server reads, and whole.
    let echoes = r#"read l; echo '{"jsonrpc":"2.0","id":1,"result":{}}'; read l; read next; echo "$next" > "$SEEN"; echo '{"jsonrpc":"2.0","id":3,"result":{}}'; read rest"#;
    let seen = tempfile::NamedTempFile::new().unwrap();
    let command = Command {
        words: ["sh", "-c", echoes].map(str::to_owned).into(),
        folder: None,
        withheld: Vec::new(),
        variables: vec![("SEEN".to_owned(), seen.path().display().to_string())],
    };
    let upstream = Upstream::command(command, clock);
    let ended = upstream
        .call(permission(AMPLE), json!({"name": "make"}))
        .await;
    assert!(matches!(ended, CallEnded::NotSent { .. }), "{ended:?}");
    upstream
        .ask("tools/list", json!({}), Span::from_secs(60))
        .await
        .unwrap();
    let read = std::fs::read_to_string(seen.path()).unwrap();
    assert!(
        read.contains("tools/list") && !read.contains("make"),
        "{read}"
    );
}

#[tokio::test]
async fn a_server_that_died_is_started_again_for_the_next_call() {
    let folder = tempfile::tempdir().unwrap();
    let once = folder.path().join("died").display().to_string();
    let script =
        format!("{GREETED} if [ -e {once} ]; then {RESULT} read rest; else : > {once}; exit 1; fi");
    let upstream = server(&script, &HandClock::new());
    assert!(matches!(
        upstream.call(permission(AMPLE), json!({})).await,
        CallEnded::Lost { .. }
    ));
    assert!(matches!(
        upstream.call(permission(AMPLE), json!({})).await,
        CallEnded::Answered(Ok(_))
    ));
}
