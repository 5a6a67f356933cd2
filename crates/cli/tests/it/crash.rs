//! The engine is killed with SIGKILL at each named crash point, started again, and held against the destination's ledger.
//!
//! C1 to C4, C6 and C7 are reached by failpoints; C5 lies in the destination's time, so the test kills from outside while the
//! destination holds its answer. B149, B73, B151, B154, B178; B13 and B14 as far as a crash is the side computation that fails.

use std::process::ExitStatus;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::{Bed, Folder, Server, business};

/// An operation, and how its action has to stand in the end: the state, and the effects that the ledger may hold.
struct End {
    operation: &'static str,
    state: &'static str,
    effects: &'static [u64],
}

const fn done(operation: &'static str) -> End {
    End {
        operation,
        state: "succeeded",
        effects: &[1],
    }
}

const fn open(operation: &'static str, effects: &'static [u64]) -> End {
    End {
        operation,
        state: "outcome_unknown",
        effects,
    }
}

/// Kills at a point, starts again, and says how each operation ended.
fn killed_at(point: &str, ends: &[End]) {
    for end in ends {
        let bed = Bed::start();
        let folder = Folder::with(&bed);
        let mut server = folder.serve_with(&[("FACTUM_FAILPOINT", point)]);
        let words = submission(end.operation);
        // The caller may or may not hear of it before the engine dies.
        folder.run(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(
            by_sigkill(server.child.ended()),
            "{point} was not reached for {}",
            end.operation
        );
        drop(server);
        settled_after_a_start(&folder, &bed, point, end);
    }
}

/// Starts the engine again, repeats the submission (which joins or is new), and compares with the ledger.
fn settled_after_a_start(folder: &Folder, bed: &Bed, point: &str, end: &End) {
    let server = folder.serve();
    let again = folder.submit(end.operation, "order-1", &business("order-1"));
    let id = again["id"].as_str().unwrap();
    let rested = folder.status_when(id, at_rest);
    let told = format!("{point} {}: {rested}", end.operation);
    assert_eq!(rested["state"], end.state, "{told}");
    let effects = bed.effects("order-1");
    assert!(end.effects.contains(&effects), "{effects} effects; {told}");
    if end.state == "outcome_unknown" {
        assert_eq!(rested["next"]["do"], "review", "{told}");
        // B154: whoever has to look is told why nothing is known: the process is gone, and not that the request failed.
        let log = folder.json(&["evidence", id]);
        let gone = log.to_string().contains("process_gone");
        assert!(gone, "{log}; {told}");
    }
    server.stop();
}

fn submission(operation: &str) -> Vec<String> {
    let words = ["submit", "bed", operation, "--key", "order-1", "--payload"];
    let mut words: Vec<String> = words.map(str::to_owned).to_vec();
    words.push(business("order-1").to_string());
    words
}

fn by_sigkill(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.signal() == Some(Signal::KILL.as_raw())
}

/// C1: nothing is recorded and nothing was promised; the caller repeats, and it is carried out once.
#[test]
fn c1_before_the_submission_commits() {
    killed_at("C1", &[done("key.sync"), done("neither.sync")]);
}

/// C2 and C3: recorded and not marked is safe to send. (Where the first mark joins the submission they do not exist.)
#[test]
fn c2_and_c3_come_back_as_safe_to_send() {
    for point in ["C2", "C3"] {
        killed_at(
            point,
            &[
                done("neither.sync"),
                done("cancel.sync"),
                done("lagging.queued"),
            ],
        );
    }
}

/// C4: marked, and no byte was written. It is maybe sent: settled where that can be found out, else for a person.
#[test]
fn c4_marked_is_maybe_sent() {
    killed_at(
        "C4",
        &[
            done("key.sync"),
            done("lookup.sync"),
            done("cancel.sync"),
            open("neither.sync", &[0]),
        ],
    );
}

/// C6: the answer was read and not stored. The effect exists; it is found, or a person looks.
#[test]
fn c6_an_answer_that_was_not_stored_is_unknown() {
    killed_at(
        "C6",
        &[
            done("key.sync"),
            done("lookup.sync"),
            done("cancel.sync"),
            open("neither.sync", &[1]),
        ],
    );
}

/// C7: stored, and the caller was not answered. The repeat is told what is known.
#[test]
fn c7_what_is_stored_is_known_after_a_start() {
    killed_at(
        "C7",
        &[done("key.sync"), done("lookup.sync"), done("neither.sync")],
    );
}

/// C5: written, and the destination holds its answer while the engine dies.
#[test]
fn c5_written_without_an_answer_is_unknown() {
    for end in [
        done("key.sync"),
        done("lookup.sync"),
        open("neither.sync", &[1]),
    ] {
        // It lands after the engine's end, and even then nobody is answered: the kill cannot come too late.
        let bed = Bed::with(&["--faults", HELD_ANSWER]);
        let folder = Folder::with(&bed);
        let server = folder.serve();
        let payload = slow("order-1", 1_500);
        folder.submit(end.operation, "order-1", &payload);
        until_delivered(&bed);
        server.child.kill();
        let server = folder.serve();
        let again = folder.submit(end.operation, "order-1", &payload);
        assert_eq!(again["joined"], true);
        let id = again["id"].as_str().unwrap();
        let rested = folder.status_when(id, at_rest);
        assert_eq!(rested["state"], end.state, "{}: {rested}", end.operation);
        let landed = folder.status_when(id, |_| bed.effects("order-1") > 0);
        assert!(
            end.effects.contains(&bed.effects("order-1")),
            "{}: {landed}",
            end.operation
        );
        server.stop();
    }
}

/// B163, B164: the process stands still while its answer is in the air, for longer than it would have waited, and goes on.
#[test]
fn a_process_that_stood_still_repeats_nothing() {
    for end in [
        done("key.sync"),
        done("lookup.sync"),
        open("neither.sync", &[1]),
    ] {
        let bed = Bed::with(&["--faults", "close_fin,class=effect,n=1"]);
        let folder = Folder::with(&bed);
        let server = folder.serve();
        folder.submit(end.operation, "order-1", &slow("order-1", 700));
        until_delivered(&bed);
        stand_still(&server, 7_000);
        let id = folder.json(&["list"])["actions"][0]["id"]
            .as_str()
            .unwrap()
            .to_owned();
        let rested = folder.status_when(&id, at_rest);
        assert_eq!(rested["state"], end.state, "{}: {rested}", end.operation);
        assert!(
            end.effects.contains(&bed.effects("order-1")),
            "{}: {rested}",
            end.operation
        );
        server.stop();
    }
}

/// B79, B80: the engine comes back after the destination's window for the key is over. Nothing is sent again; a person decides.
#[test]
fn after_the_window_a_restarted_engine_sends_nothing_by_key() {
    let bed = Bed::with(&["--faults", HELD_ANSWER]);
    let folder = Folder::with(&bed);
    // The built-in contract with a window of 40 s, of which 30 s are kept as a margin.
    let text = include_str!("../../../../contracts/testbed/key.sync.toml");
    let short = text.replace(
        "retention = { floor = \"24 h\" }",
        "retention = { floor = \"40 s\" }",
    );
    assert_ne!(text, short);
    folder.write("contracts/testbed/key.sync.toml", &short);
    let written = folder.read("factum.toml");
    folder.write(
        "factum.toml",
        &format!("contracts = \"contracts\"\n{written}"),
    );
    let server = folder.serve();
    folder.submit("key.sync", "order-1", &slow("order-1", 1_500));
    until_delivered(&bed);
    server.child.kill();
    pause(9_000);
    let server = folder.serve();
    let id = folder.json(&["list"])["actions"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let rested = folder.status_when(&id, at_rest);
    assert_eq!(
        (&rested["state"], &rested["next"]["do"]),
        (&json!("outcome_unknown"), &json!("review")),
        "{rested}"
    );
    assert_eq!((bed.effects("order-1"), bed.deliveries()), (1, 1));
    server.stop();
}

/// The destination acts on the first request and holds its answer for a minute.
const HELD_ANSWER: &str = "late_answer=60000,class=effect,n=1";

fn slow(name: &str, millis: u64) -> Value {
    json!({ "business": name, "behave": "slow", "slow_ms": millis })
}

/// The destination has the request; its own ledger says so.
fn until_delivered(bed: &Bed) {
    for _ in 0..2_000 {
        if bed.deliveries() > 0 {
            return;
        }
    }
    panic!("the request never arrived");
}

/// Stops the process like a suspended machine, and lets it go on.
fn stand_still(server: &Server, millis: u64) {
    let pid = Pid::from_raw(i32::try_from(server.child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    pause(millis);
    kill_process(pid, Signal::CONT).unwrap();
}

/// Nothing more happens by itself.
fn at_rest(status: &Value) -> bool {
    matches!(status["next"]["do"].as_str(), Some("none" | "review"))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the pause itself is what is tested; nothing is waited for"
)]
fn pause(millis: u64) {
    std::thread::sleep(std::time::Duration::from_millis(millis));
}
