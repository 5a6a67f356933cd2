//! What each kind of destination promises, seen without faults.

use std::time::Duration;

use factum_faults::FaultPlan;
use factum_testbed::{Config, Filter, Handle, Kind, Mode};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::caller::{Ask, End, Reply, order, reply, started, with_faults};

fn scripted(name: &str, behave: &str) -> Value {
    let mut body = order(name);
    body["behave"] = behave.into();
    body
}

async fn ask(testbed: &Handle, path: &str, key: &str, body: &Value) -> Reply {
    Ask::post(path, body).key(key).send(testbed.addr()).await
}

async fn job(testbed: &Handle, reply: &Reply) -> Value {
    let place = reply
        .header("Location")
        .expect("a queued answer says where its job is")
        .to_owned();
    Ask::get(place).send(testbed.addr()).await.json()
}

fn effects(testbed: &Handle, business: &str) -> u64 {
    testbed
        .ledger()
        .counts(&Filter::default())
        .effects_of(business)
}

#[tokio::test]
async fn a_repeat_makes_a_second_effect_except_under_an_honoured_key() {
    let testbed = with_faults("").await;
    for kind in Kind::ALL {
        for mode in Mode::ALL {
            let path = format!("/{}/{}/effects", kind.name(), mode.name());
            let name = format!("{}-{}", kind.name(), mode.name());
            let first = ask(&testbed, &path, &name, &order(&name)).await;
            let second = ask(&testbed, &path, &name, &order(&name)).await;
            let expected = if *mode == Mode::Sync { 201 } else { 202 };
            assert_eq!(
                (first.status, second.status),
                (expected, expected),
                "{name}"
            );
            assert_eq!(first.text == second.text, *kind == Kind::Key, "{name}");
            let replayed = second.header("Idempotent-Replayed") == Some("true");
            assert_eq!(replayed, *kind == Kind::Key, "{name}");
            let many = if *kind == Kind::Key { 1 } else { 2 };
            let filter = Filter::business(&name);
            let settled = testbed
                .ledger()
                .wait_until(&filter, |counts| counts.pending == 0)
                .await;
            assert_eq!(
                (settled.total_effects, settled.deliveries),
                (many, 2),
                "{name}"
            );
        }
    }
}

#[tokio::test]
async fn the_key_comes_as_header_path_segment_or_body_member() {
    let testbed = with_faults("").await;
    let put = Ask::new("PUT", "/key/sync/effects/k%2F1").body(order("a").to_string());
    let mut body = order("b");
    body["idempotency_key"] = "k2".into();
    let member = Ask::post("/key/sync/effects-body", &body);
    let quoted = Ask::post("/key/sync/effects", &order("c")).key("\"k3\"");
    let bare = Ask::post("/key/sync/effects", &order("c")).key("k3");
    for (first, second) in [(&put, &put), (&member, &member), (&quoted, &bare)] {
        let first = first.send(testbed.addr()).await;
        let second = second.send(testbed.addr()).await;
        assert_eq!((first.status, &first.text), (second.status, &second.text));
    }
    assert_eq!(testbed.ledger().counts(&Filter::default()).total_effects, 3);

    let missing = Ask::post("/key/sync/effects", &order("d"))
        .send(testbed.addr())
        .await;
    assert_eq!(
        (missing.status, missing.code().as_str()),
        (400, "key_missing")
    );
}

#[tokio::test]
async fn a_key_with_another_body_is_refused_and_stays_what_it_was() {
    let testbed = with_faults("").await;
    ask(&testbed, "/key/sync/effects", "k", &order("a")).await;
    let other = ask(&testbed, "/key/sync/effects", "k", &order("b")).await;
    assert_eq!((other.status, other.code().as_str()), (422, "key_reuse"));
    assert_eq!((effects(&testbed, "a"), effects(&testbed, "b")), (1, 0));
    // The same key at the other mode is another key.
    let queued = ask(&testbed, "/key/queued/effects", "k", &order("b")).await;
    assert_eq!(queued.status, 202);
}

// B79
#[tokio::test]
async fn after_the_window_a_key_runs_as_new() {
    let testbed = with_faults("").await;
    testbed.change_settings(|settings| settings.key_retention = Duration::from_secs(3600));
    ask(&testbed, "/key/sync/effects", "k", &order("a")).await;
    testbed.advance(Duration::from_secs(3500));
    ask(&testbed, "/key/sync/effects", "k", &order("a")).await;
    assert_eq!(effects(&testbed, "a"), 1);
    // The window counts from the first arrival: the repeat has not moved it.
    testbed.advance(Duration::from_secs(200));
    ask(&testbed, "/key/sync/effects", "k", &order("a")).await;
    assert_eq!(effects(&testbed, "a"), 2);
}

// B77, B82
#[tokio::test]
async fn a_repeat_beside_the_first_is_told_that_it_is_in_progress() {
    let testbed = with_faults("").await;
    let mut body = scripted("a", "slow");
    body["slow_ms"] = 60_000.into();
    let first = Ask::post("/key/sync/effects", &body).key("k");
    let mut slow = TcpStream::connect(testbed.addr()).await.unwrap();
    slow.write_all(&first.bytes()).await.unwrap();
    testbed
        .ledger()
        .wait_until(&Filter::default(), |counts| counts.pending == 1)
        .await;

    let beside = first.send(testbed.addr()).await;
    assert_eq!(
        (beside.status, beside.code().as_str()),
        (409, "key_in_progress")
    );
    assert_eq!(beside.header("Retry-After"), Some("1"));

    testbed.advance(Duration::from_secs(60));
    assert_eq!(reply(&mut slow).await.status, 201);
    let after = first.send(testbed.addr()).await;
    assert_eq!((after.status, effects(&testbed, "a")), (201, 1));
}

// B82
#[tokio::test]
async fn many_callers_with_one_key_make_one_effect() {
    let testbed = with_faults("duplicate_delivery,every=2").await;
    let to = testbed.addr();
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..40 {
        callers.spawn(async move {
            let key = Ask::post("/key/sync/effects", &order("a"))
                .key("k")
                .send(to)
                .await;
            let none = Ask::post("/neither/sync/effects", &order("b"))
                .send(to)
                .await;
            (key.json()["id"].clone(), none.status)
        });
    }
    let answers = callers.join_all().await;
    assert!(
        answers
            .iter()
            .all(|(id, status)| (id, status) == (&answers[0].0, &201))
    );
    let counts = testbed.ledger().counts(&Filter::default());
    assert_eq!(counts.effects_of("a"), 1);
    // Half of all 80 requests were delivered twice; at `neither` each delivery is an effect.
    assert_eq!(
        (counts.deliveries, counts.effects_of("b") + counts.replayed),
        (80, 119)
    );
}

#[tokio::test]
async fn an_error_can_be_stored_and_replayed_in_place_of_the_answer() {
    for (replay_errors, second) in [(false, 201), (true, 503)] {
        let testbed = with_faults("status=503,n=1").await;
        testbed.change_settings(|settings| settings.replay_errors = replay_errors);
        let first = ask(&testbed, "/key/sync/effects", "k", &order("a")).await;
        let repeat = ask(&testbed, "/key/sync/effects", "k", &order("a")).await;
        assert_eq!((first.status, repeat.status), (503, second));
        assert_eq!(repeat.header("Idempotent-Replayed"), Some("true"));
        assert_eq!(effects(&testbed, "a"), 1);
    }
}

#[tokio::test]
async fn scripted_refusals_do_nothing_and_are_stored_under_a_key() {
    let testbed = with_faults("").await;
    for kind in Kind::ALL {
        for mode in Mode::ALL {
            let path = format!("/{}/{}/effects", kind.name(), mode.name());
            for (behave, status) in [("reject", 422), ("decline", 402), ("ok_false", 200)] {
                let name = format!("{}-{}-{behave}", kind.name(), mode.name());
                let first = ask(&testbed, &path, &name, &scripted(&name, behave)).await;
                let second = ask(&testbed, &path, &name, &scripted(&name, behave)).await;
                assert_eq!((first.status, second.status), (status, status), "{name}");
                let replayed = second.header("Idempotent-Replayed").is_some();
                assert_eq!(replayed, *kind == Kind::Key, "{name}");
                assert_eq!(effects(&testbed, &name), 0, "{name}");
            }
        }
    }
    // Rejected but recorded: once under each key, twice elsewhere.
    assert_eq!(
        testbed.ledger().counts(&Filter::default()).declined,
        2 * (1 + 4 * 2)
    );
}

// B29
#[tokio::test]
async fn a_queued_job_goes_through_its_words_and_its_effect_lands_at_completion() {
    let testbed = with_faults("").await;
    testbed.change_settings(|settings| settings.queue_delay = Duration::from_secs(100));
    let taken = ask(&testbed, "/neither/queued/effects", "", &order("a")).await;
    assert_eq!((taken.status, &taken.json()["job"]), (202, &json!("J-1")));
    assert_eq!(job(&testbed, &taken).await["status"], "queued");
    testbed.advance(Duration::from_secs(60));
    assert_eq!(job(&testbed, &taken).await["status"], "working");
    assert_eq!(effects(&testbed, "a"), 0);

    testbed.advance(Duration::from_secs(60));
    testbed
        .ledger()
        .wait_until(&Filter::default(), |counts| counts.total_effects == 1)
        .await;
    let done = job(&testbed, &taken).await;
    assert_eq!(
        (&done["status"], &done["id"]),
        (&json!("completed"), &json!("T-000001"))
    );
    let unknown = Ask::get("/neither/queued/jobs/J-9")
        .send(testbed.addr())
        .await;
    let elsewhere = Ask::get("/key/queued/jobs/J-1").send(testbed.addr()).await;
    assert_eq!((unknown.status, elsewhere.status), (404, 404));
}

#[tokio::test]
async fn a_job_can_be_taken_and_fail() {
    let testbed = with_faults("").await;
    let taken = ask(
        &testbed,
        "/key/queued/effects",
        "k",
        &scripted("a", "complete_then_fail"),
    )
    .await;
    assert_eq!(taken.status, 202);
    testbed
        .ledger()
        .wait_until(&Filter::default(), |counts| counts.failed_jobs == 1)
        .await;
    let failed = job(&testbed, &taken).await;
    assert_eq!(
        (&failed["status"], &failed["id"]),
        (&json!("failed"), &Value::Null)
    );
    assert_eq!(effects(&testbed, "a"), 0);
    // Under the key the first answer stays what it was: taken.
    assert_eq!(
        ask(
            &testbed,
            "/key/queued/effects",
            "k",
            &scripted("a", "complete_then_fail")
        )
        .await
        .status,
        202
    );
}

#[tokio::test]
async fn a_cancel_ends_every_effect_of_its_key_and_bars_later_arrivals() {
    let testbed = with_faults("").await;
    let cancel = json!({"key": "k"});
    ask(&testbed, "/cancel/sync/effects", "k", &order("a")).await;
    ask(&testbed, "/cancel/sync/effects", "k", &order("a")).await;
    ask(&testbed, "/cancel/sync/effects", "other", &order("b")).await;
    for _ in 0..2 {
        let cancelled = Ask::post("/cancel/sync/cancel", &cancel)
            .send(testbed.addr())
            .await;
        assert_eq!(
            cancelled.json(),
            json!({"cancelled": true, "ids": ["T-000001", "T-000002"]})
        );
    }
    let late = ask(&testbed, "/cancel/sync/effects", "k", &order("a")).await;
    assert_eq!((late.status, late.code().as_str()), (409, "key_cancelled"));
    let counts = testbed.ledger().counts(&Filter::default());
    assert_eq!(
        (
            counts.effects_of("a"),
            counts.effects_of("b"),
            counts.cancelled
        ),
        (0, 1, 2)
    );

    let nothing = Ask::post("/cancel/sync/cancel", &json!({"key": "never"}))
        .send(testbed.addr())
        .await;
    assert_eq!(nothing.json(), json!({"cancelled": true, "ids": []}));
}

#[tokio::test]
async fn a_cancel_ends_queued_jobs_and_requests_that_have_not_landed() {
    let testbed = with_faults("").await;
    let cancel = Ask::post("/cancel/queued/cancel", &json!({"key": "k"}));
    let taken = ask(&testbed, "/cancel/queued/effects", "k", &order("a")).await;
    assert_eq!(
        cancel.send(testbed.addr()).await.json()["ids"],
        json!(["J-1"])
    );
    let ended = job(&testbed, &taken).await;
    assert_eq!(
        (&ended["status"], &ended["reason"]),
        (&json!("failed"), &json!("cancelled"))
    );

    testbed.set_faults(FaultPlan::parse(1, "delayed_commit=60000").unwrap());
    assert_eq!(
        ask(&testbed, "/cancel/sync/effects", "m", &order("b"))
            .await
            .end,
        End::ClosedEmpty
    );
    testbed.set_faults(FaultPlan::none());
    Ask::post("/cancel/sync/cancel", &json!({"key": "m"}))
        .send(testbed.addr())
        .await;
    testbed.advance(Duration::from_secs(60));
    let counts = testbed
        .ledger()
        .wait_until(&Filter::business("b"), |counts| counts.pending == 0)
        .await;
    assert_eq!((counts.total_effects, counts.refused), (0, 1));
    assert_eq!(effects(&testbed, "a"), 0);
}

#[tokio::test]
async fn a_token_is_asked_for_where_one_is_set() {
    let bearer = Some("secret".to_owned());
    let testbed = started(Config {
        bearer,
        ..Config::default()
    })
    .await;
    let asks = [
        Ask::post("/neither/sync/effects", &order("a")),
        Ask::get("/whoami"),
        Ask::get("/lookup/sync/effects"),
    ];
    for (ask, status) in asks.into_iter().zip([201, 200, 200]) {
        let without = ask.send(testbed.addr()).await;
        assert_eq!(
            (without.status, without.code().as_str()),
            (401, "unauthorized")
        );
        let wrong = ask
            .clone()
            .header("Authorization", "Bearer secre")
            .send(testbed.addr())
            .await;
        assert_eq!(wrong.status, 401);
        let with = ask
            .header("Authorization", "Bearer secret")
            .send(testbed.addr())
            .await;
        assert_eq!(with.status, status);
    }
    assert_eq!(effects(&testbed, "a"), 1);
}

#[tokio::test]
async fn what_is_no_request_is_refused_and_does_nothing() {
    let testbed = with_faults("").await;
    let to = testbed.addr();
    let bad_body = Ask::new("POST", "/neither/sync/effects")
        .body("{\"business\": 7}")
        .send(to)
        .await;
    assert_eq!(
        (bad_body.status, bad_body.code().as_str()),
        (400, "malformed")
    );
    let nowhere = Ask::get("/neither/sync/effects").send(to).await;
    assert_eq!(
        (nowhere.status, nowhere.code().as_str()),
        (404, "not_found")
    );
    let long_head = Ask::get("/whoami")
        .header("X-Filler", "x".repeat(70_000))
        .send(to)
        .await;
    assert_eq!(long_head.status, 431);
    let too_long = Ask::new("POST", "/neither/sync/effects")
        .header("Content-Length", "99999999999")
        .send(to)
        .await;
    assert_eq!(too_long.status, 413);
    assert_eq!(testbed.ledger().counts(&Filter::default()).total_effects, 0);
}

#[tokio::test]
async fn connections_are_kept_and_bodies_may_come_in_chunks() {
    let testbed = with_faults("").await;
    let mut stream = TcpStream::connect(testbed.addr()).await.unwrap();
    stream
        .write_all(&Ask::get("/whoami").bytes())
        .await
        .unwrap();
    assert_eq!(
        reply(&mut stream).await.json(),
        json!({"account": "testbed"})
    );
    let head = "POST /neither/sync/effects HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunks = "9\r\n{\"busines\r\n8;x=y\r\ns\":\"abc\"\r\n1\r\n}\r\n0\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(chunks.as_bytes()).await.unwrap();
    assert_eq!(reply(&mut stream).await.status, 201);
    assert_eq!(effects(&testbed, "abc"), 1);

    // A request that breaks off does nothing and is counted as what it is.
    stream
        .write_all(b"POST /neither/sync/effects HTTP/1.1\r\nContent-Length: 20\r\n\r\n{\"bus")
        .await
        .unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(reply(&mut stream).await.end, End::ClosedEmpty);
    let counts = testbed.ledger().counts(&Filter::default());
    assert_eq!((counts.cut_off, counts.deliveries), (1, 1));
}
