//! Requests cut at random points, by the server, by a limit or by the caller: `NotSent` is never said of one that arrived.

use std::collections::BTreeMap;
use std::time::Duration;

use factum_core::Span;
use factum_core::mistake::{Mistake, making};
use factum_transport::{Ended, Transport};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::rig::{AMPLE, Conn, Dice, Server, Times, permission, post, target, transport};

const TURNS: usize = 600;

/// Enough to tell which turn it was: `POST /t000123/`.
const MARKER: usize = 14;

/// Reads some of it, then does one of four things, by the connection's number.
async fn cutting() -> Server {
    Server::start(|mut conn: Conn| async {
        let mut dice = Dice(conn.number as u64 + 99);
        let n = [0, MARKER, 40, 500, 60_000][usize::try_from(dice.below(5)).unwrap()];
        if n > 0 {
            conn.read_exactly(n).await;
        }
        match dice.below(4) {
            0 => conn.reset(),
            1 => conn.close(),
            2 => {
                conn.write("HTTP/1.1 200").await;
                conn.reset()
            }
            _ => {
                conn.read_to_end().await;
                conn.close()
            }
        }
    })
    .await
}

/// What the server read, by turn. A last connection, accepted after all others, tells that none is missing.
async fn arrivals(server: &mut Server) -> BTreeMap<usize, u64> {
    // Its handler may close or reset it at any of these steps; either way it has been accepted by the end of them.
    if let Ok(mut last) = TcpStream::connect(server.addr).await {
        let marker = format!("POST /t{TURNS:06}/");
        let _ = last.write_all(marker.as_bytes()).await;
        let _ = last.shutdown().await;
        let _ = last.read_to_end(&mut Vec::new()).await;
    }
    let mut arrived = BTreeMap::new();
    for _ in 0..server.accepted() {
        let seen = server.seen().await;
        if seen.bytes.is_empty() {
            continue;
        }
        let text = seen.text();
        let turn = text["POST /t".len()..MARKER - 1].parse().unwrap();
        let twice = arrived.insert(turn, seen.bytes.len() as u64);
        assert_eq!(twice, None, "turn {turn} arrived twice");
    }
    arrived
}

/// How many of many requests were proven not to have been sent, and of how many nothing is known; or what was said and is not so.
async fn cut_at_random() -> Result<(u32, u32), String> {
    let mut server = cutting().await;
    let transport = transport();
    let to = target(server.addr);
    let mut dice = Dice(2);
    let mut outcomes = Vec::new();
    for turn in 0..TURNS {
        let size = [2, 3_000, 200_000][usize::try_from(dice.below(3)).unwrap()];
        let limit = Span::from_micros(i64::try_from(dice.below(3_000)).unwrap());
        let times = Times {
            send_wait: if dice.below(4) == 0 {
                limit
            } else {
                AMPLE.send_wait
            },
            write: limit,
            answer: limit,
        };
        let request = post(&format!("/t{turn:06}/"), vec![b'x'; size]);
        let reuse = dice.below(2) == 0;
        let sending = transport.send(permission(times), &to, request, reuse);
        outcomes.push(sending.await);
    }
    let arrived = arrivals(&mut server).await;
    let (mut proven, mut unknown) = (0, 0);
    for (turn, ended) in outcomes.iter().enumerate() {
        let seen = arrived.get(&turn).copied().unwrap_or(0);
        match ended {
            Ended::NotSent { .. } => {
                proven += 1;
                if seen > 0 {
                    return Err(format!("turn {turn}: {ended:?}, {seen} read"));
                }
            }
            Ended::Lost { wrote, .. } => {
                unknown += 1;
                if *wrote < seen {
                    return Err(format!("turn {turn}: {ended:?}, {seen} read"));
                }
            }
            Ended::Answered { .. } => panic!("turn {turn}: nobody answered"),
        }
    }
    Ok((proven, unknown))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_cuts_it_no_byte_written_means_no_byte_read() {
    let (proven, unknown) = cut_at_random().await.unwrap();
    assert!(
        proven > 0 && unknown > 0,
        "{proven} proven, {unknown} unknown"
    );
}

// R29: the check above would notice a byte that left and is not counted.
#[test]
fn bytes_that_are_not_counted_are_noticed() {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().unwrap();
    let checked = making(Some(Mistake::BytesCountedByAnAnswer), || {
        runtime.block_on(cut_at_random())
    });
    assert!(checked.is_err(), "{checked:?}");
}

// A caller that gives up leaves no verdict behind, and no request that goes on without it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_send_that_is_given_up_writes_nothing_afterwards() {
    let mut server = Server::start(|mut conn: Conn| async {
        conn.read_to_end().await;
        conn.close()
    })
    .await;
    let transport = transport();
    let to = target(server.addr);
    let mut dice = Dice(3);
    for _ in 0..300 {
        let patience = Duration::from_micros(dice.below(2_000));
        let sending = transport.send(permission(AMPLE), &to, post("/", vec![b'x'; 50_000]), false);
        let given_up = tokio::time::timeout(patience, sending).await;
        assert!(given_up.is_err(), "nobody answers");
    }
    // Every connection that was accepted has ended, though the server never closed one.
    for _ in 0..server.accepted() {
        server.seen().await;
    }
}
