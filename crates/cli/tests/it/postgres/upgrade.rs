//! An upgrade with workers running: processes of two versions on one database, under load, killed, stopped and sent away.
//!
//! The newer version is what a test makes of this one: with a migration and an encoding more. The older one is this one, or the program that
//! `FACTUM_TEST_OLDER` names, built from an earlier commit.

use std::time::Instant;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::database::Database;
use super::workers::{Program, Workers};
use super::{Asked, Draws, OPERATIONS, everything_rests};
use crate::support::{Bed, PATIENCE};

/// What makes a process the next version.
static NEXT: [(&str, &str); 1] = [("FACTUM_NEXT", "1")];

fn newer() -> Program {
    Program {
        variables: &NEXT,
        ..Program::this()
    }
}

fn older() -> Program {
    let built = std::env::var_os("FACTUM_TEST_OLDER");
    let this = Program::this();
    Program {
        path: built.map_or(this.path, Into::into),
        ..this
    }
}

/// Two older workers, 0 and 1, and two newer ones, 2 and 3, under load while one of each is killed and started again.
fn side_by_side(workers: &mut Workers, asked: &mut Asked) {
    let mut draws = Draws(7);
    let mut load = |workers: &Workers, round: usize| {
        for n in 0..10 {
            let key = format!("round-{round}-{n}");
            let operation = OPERATIONS[n % OPERATIONS.len()];
            let id = workers.submit(draws.next(4), operation, &key);
            asked.insert(key, (operation, id));
        }
    };
    load(workers, 0);
    workers.kill_and_start(2);
    load(workers, 1);
    workers.kill_and_start(0);
    load(workers, 2);
    workers.signal(3, Signal::STOP);
    load(workers, 3);
    workers.signal(3, Signal::CONT);
    load(workers, 4);
}

/// Ends the upgrade once no older worker is taken to live; how often it was told that one is.
fn finish(workers: &Workers) -> u32 {
    let deadline = Instant::now() + PATIENCE;
    let mut held_up = 0;
    loop {
        let ran = workers.run_as(&NEXT, &["migrate", "--finish", "--json"]);
        if ran.code == 0 {
            assert_eq!(ran.json()["finished"], true);
            return held_up;
        }
        let problem: Value = serde_json::from_str(&ran.err).unwrap();
        assert_eq!(problem["code"], "F1055", "{problem}");
        assert!(Instant::now() < deadline, "it is never over: {problem}");
        held_up += 1;
    }
}

// One after another, as an operator does it: nothing stops, nothing is lost or doubled, and what stood still over the end refuses.
#[test]
#[ignore = "needs PostgreSQL; ./test starts one"]
fn two_versions_work_side_by_side_until_the_older_one_has_left() {
    let (database, bed) = (
        Database::make(),
        Bed::with(&["--loss", "0.25", "--seed", "23"]),
    );
    let mut workers = Workers::start(&database, &bed, 0);
    for program in [older(), older(), newer(), newer()] {
        workers.join(program);
    }
    let mut asked = Asked::new();
    side_by_side(&mut workers, &mut asked);
    let refused = workers.run_as(&NEXT, &["migrate", "--finish", "--json"]);
    assert!(
        refused.code != 0 && refused.err.contains("F1055"),
        "{refused:?}"
    );

    // One of the older ones leaves, the other one stands still over the end of the upgrade.
    workers.stop(0);
    workers.signal(1, Signal::STOP);
    finish(&workers);
    for n in 0..10 {
        let key = format!("afterwards-{n}");
        let operation = OPERATIONS[n % OPERATIONS.len()];
        let id = workers.submit(2 + n % 2, operation, &key);
        asked.insert(key, (operation, id));
    }
    let new = asked["afterwards-0"].1.clone().unwrap();
    workers.signal(1, Signal::CONT);
    let path = format!("/v1/actions/{new}");
    let paths = [
        ("GET", path.as_str()),
        ("GET", "/v1/actions"),
        ("POST", "/v1/actions"),
    ];
    for (method, path) in paths {
        let body = match method {
            "POST" => super::payload("key.sync", "too-late"),
            _ => Value::Null,
        };
        let answer = workers.ask(1, method, path, &body).unwrap();
        assert_eq!(answer.body["code"], "F1051", "{method} {path}: {answer:?}");
    }
    // One that comes back is told so at its start.
    workers.kill(1);
    let (code, problem) = workers.refused(&older().path, &["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(problem["code"], "F1051", "{code}: {problem}");
    workers.leave_only(2);
    for (key, status) in everything_rests(&workers, &bed, &asked) {
        if status["operation"] == "key.sync" {
            assert_eq!(status["state"], json!("succeeded"), "{key}: {status}");
        }
    }
}
