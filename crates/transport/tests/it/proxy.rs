//! Proxies named in the environment are not used. The environment is set in a child process, which runs one test of this file.

use std::process::Stdio;

use tokio::process::Command;

use crate::rig::{Conn, Server, answered, ok, post, send};

const CHILD: &str = "proxy::the_destination_itself_is_reached";

async fn server() -> Server {
    Server::start(|mut conn: Conn| async {
        conn.read_request().await;
        conn.write(ok("direct")).await;
        conn.close()
    })
    .await
}

#[tokio::test]
async fn the_destination_itself_is_reached() {
    let mut destination = server().await;
    let answer = answered(send(&destination, post("/", "{}")).await);
    assert_eq!(answer.body, b"direct");
    let line = destination.seen().await.text();
    assert!(line.starts_with("POST / HTTP/1.1\r\n"), "{line}");
}

#[tokio::test]
async fn a_proxy_in_the_environment_gets_nothing() {
    let proxy = server().await;
    let address = format!("http://{}", proxy.addr);
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", CHILD]).stdout(Stdio::piped());
    for name in [
        "HTTP_PROXY",
        "http_proxy",
        "ALL_PROXY",
        "all_proxy",
        "HTTPS_PROXY",
    ] {
        child.env(name, &address);
    }
    let output = child.output().await.unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("1 passed"), "{text}");
    assert_eq!(proxy.accepted(), 0);
}
