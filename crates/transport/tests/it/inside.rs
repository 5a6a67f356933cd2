//! Where nothing is sent: networks that nobody allowed, whatever a name says about itself and whatever an answer points to.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use factum_core::Span;
use factum_core::evidence::Phase;
use factum_transport::{Asked, Boxed, HttpTransport, Networks, Resolve, Target, Transport};

use crate::rig::{AMPLE, Conn, HandClock, Server, answered, assert_not_sent, ok, permission, post};

/// Leads a name to these places in turn, and counts how often it is asked.
struct InTurn(Mutex<VecDeque<SocketAddr>>);

impl Resolve for InTurn {
    fn resolve<'a>(&'a self, _: &'a str, _: u16) -> Boxed<'a, io::Result<Vec<SocketAddr>>> {
        let next = self.0.lock().unwrap().pop_front();
        let found = next.ok_or_else(|| io::Error::other("asked more often than meant"));
        Box::pin(std::future::ready(found.map(|place| vec![place])))
    }
}

fn leading_to(places: impl IntoIterator<Item = SocketAddr>) -> (HttpTransport, Arc<InTurn>) {
    let names = Arc::new(InTurn(Mutex::new(places.into_iter().collect())));
    let transport = HttpTransport::new(HandClock::new()).with_resolver(names.clone());
    (transport, names)
}

async fn echo(mut conn: Conn) -> crate::rig::Seen {
    while conn.read_request().await {
        conn.write(ok("{}")).await;
    }
    conn.close()
}

/// A name that a tenant wrote, where the operator allows the first server's network alone.
fn elsewhere(allowed: SocketAddr) -> Target {
    let network = format!("{}/32", allowed.ip()).parse().unwrap();
    Target::parse("http://hooks.example.com", true)
        .unwrap()
        .reaching(Networks::Listed([network].into()))
        .written_by_others()
}

// DNS rebinding: the name is right when it is looked at, and leads to this machine a moment later.
#[tokio::test]
async fn a_name_that_is_led_elsewhere_between_two_requests_reaches_nothing() {
    let allowed = Server::start_at("127.0.0.2:0", echo).await;
    let inside = Server::start(echo).await;
    let (transport, names) = leading_to([allowed.addr, inside.addr, inside.addr, allowed.addr]);
    let target = elsewhere(allowed.addr);
    let send = || transport.send(permission(AMPLE), &target, post("/", "{}"), false);
    assert_eq!(answered(send().await).status, 200);
    assert_not_sent(&send().await, Phase::Resolve);
    let question = transport.ask(&target, post("/", "{}"), Span::from_secs(60));
    let Asked::Failed { phase, detail } = question.await else {
        panic!("a question reached this machine");
    };
    assert_eq!(phase, Phase::Resolve);
    assert!(detail.contains("allow_private"), "{detail}");
    assert_eq!(answered(send().await).status, 200);
    assert!(
        names.0.lock().unwrap().is_empty(),
        "each request asks for the name once, and connects to what it was told"
    );
    assert_eq!((allowed.accepted(), inside.accepted()), (2, 0));
}

// A connection that another target may use is no way in either.
#[tokio::test]
async fn a_connection_kept_for_others_is_no_way_in() {
    let server = Server::start(echo).await;
    let (transport, names) = leading_to([server.addr, server.addr]);
    let base = "http://hooks.example.com";
    let operators = Target::parse(base, true).unwrap().reaching(Networks::Any);
    let tenants = Target::parse(base, true).unwrap().written_by_others();
    let send = |target| transport.send(permission(AMPLE), target, post("/", "{}"), true);
    assert_eq!(answered(send(&operators).await).status, 200);
    assert_not_sent(&send(&tenants).await, Phase::Resolve);
    assert!(names.0.lock().unwrap().is_empty());
    assert_eq!(server.accepted(), 1);
}

// B19
#[tokio::test]
async fn a_redirect_into_this_machine_is_not_followed() {
    let inside = Server::start(echo).await;
    let location = format!("http://{}/latest/meta-data", inside.addr);
    let allowed = Server::start_at("127.0.0.2:0", move |mut conn: Conn| {
        let location = location.clone();
        async move {
            conn.read_request().await;
            conn.write(format!(
                "HTTP/1.1 307 Moved\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"
            ))
            .await;
            conn.close()
        }
    })
    .await;
    let (transport, _) = leading_to([allowed.addr]);
    let target = elsewhere(allowed.addr);
    let sent = transport.send(permission(AMPLE), &target, post("/", "{}"), false);
    assert_eq!(answered(sent.await).status, 307);
    assert_eq!(inside.accepted(), 0);
}
