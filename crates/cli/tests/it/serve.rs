//! `factum serve`: the first run, a held store, configurations with errors, and how it ends.

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::json;

use crate::support::{Bed, Child, Folder, business, ended, mode};

#[test]
fn the_first_start_makes_private_files_and_says_where_it_is() {
    let folder = Folder::new();
    let server = folder.serve();
    assert!(server.address.starts_with("http://127.0.0.1:"));
    assert_eq!(mode(&folder.path("factum-data")), 0o700);
    for file in ["admin.token", "keys/root", "factum.db"] {
        assert_eq!(
            mode(&folder.path("factum-data").join(file)),
            0o600,
            "{file}"
        );
    }
    let token = server.token();
    let elsewhere = Folder::new();
    let ask = |token: &str| {
        let mut command = elsewhere.command(&["list", "--json"]);
        command
            .env("FACTUM_URL", &server.address)
            .env("FACTUM_TOKEN", token);
        ended(command)
    };
    assert_eq!(
        ask(&token).json(),
        json!({"actions": [], "next_before": null})
    );
    let wrong = ask("fct_0000");
    assert_eq!(wrong.code, 6, "{wrong:?}");
    assert!(
        wrong.err.contains("F1022") && !wrong.err.contains(&token),
        "{wrong:?}"
    );
    server.stop();
    let again = folder.serve();
    assert_eq!(again.token(), token, "a token is made once");
}

#[test]
fn people_are_told_the_address_the_token_file_and_the_next_command() {
    let folder = Folder::new();
    let child = Child::start(folder.command(&["serve", "--listen", "127.0.0.1:0"]));
    assert!(child.line().contains("http://127.0.0.1:"));
    assert!(child.line().contains("console http://127.0.0.1:"));
    assert!(child.line().contains("admin.token"));
    assert!(child.line().contains("factum destination add"));
}

#[test]
fn a_held_store_is_refused_and_its_holder_named() {
    let folder = Folder::new();
    let server = folder.serve();
    let (code, problem) = folder.refused(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!((code, problem["code"].as_str()), (5, Some("F1050")));
    let rule = problem["rule"].as_str().unwrap();
    assert!(
        rule.contains(&format!("process {}", server.child.id())) && rule.contains(&server.address),
        "{rule}"
    );
    // On the holder's own address the answer is the same: the port is not what is in the way.
    let port = server.address.trim_start_matches("http://");
    let (code, problem) = folder.refused(&["serve", "--listen", port]);
    assert_eq!((code, problem["code"].as_str()), (5, Some("F1050")));
}

#[test]
fn a_configuration_with_an_error_is_refused_with_its_line() {
    let folder = Folder::new();
    folder.write(
        "factum.toml",
        "[server]\nlisten = \"127.0.0.1:0\"\nlisen = \"x\"\n",
    );
    let (code, problem) = folder.refused(&["serve"]);
    assert_eq!((code, problem["code"].as_str()), (2, Some("F1040")));
    let rule = problem["rule"].as_str().unwrap();
    assert!(
        rule.contains("line 3") && rule.contains("lisen") && rule.contains("factum.toml"),
        "{rule}"
    );
    assert!(!folder.path("factum-data").exists(), "nothing was made");

    folder.write("factum.toml", "server.listen = 127\n[[[\n");
    assert_eq!(folder.refused(&["serve"]).0, 2);
    let (code, problem) = folder.refused(&["serve", "--config", "nowhere.toml"]);
    assert_eq!(code, 2);
    assert!(problem["rule"].as_str().unwrap().contains("nowhere.toml"));

    folder.write("factum.toml", "");
    let mut command = folder.command(&["serve", "--json"]);
    command.env("FACTUM_SERVER__LISEN", "127.0.0.1:0");
    let ran = ended(command);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("FACTUM_SERVER__LISEN"), "{ran:?}");

    folder.write("factum.toml", "store.url = \"mysql://db\"\n");
    let (code, problem) = folder.refused(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!((code, problem["member"].as_str()), (2, Some("/store/url")));
}

#[test]
fn other_machines_are_let_in_only_expressly() {
    let folder = Folder::new();
    let (code, problem) = folder.refused(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(
        (code, problem["member"].as_str()),
        (2, Some("/server/listen"))
    );
    let mut command = folder.command(&["serve", "--listen", "not an address", "--json"]);
    command.env("FACTUM_LOG", "error");
    assert_eq!(ended(command).code, 2);
}

#[test]
fn the_environment_overrides_the_file() {
    let folder = Folder::new();
    folder.write("factum.toml", "store.url = \"sqlite:./here/factum.db\"\n");
    let server = folder.serve_with(&[("FACTUM_STORE__URL", "sqlite:./there/factum.db")]);
    assert!(folder.path("there/factum.db").exists() && !folder.path("here").exists());
    server.stop();
}

#[test]
fn a_send_in_flight_may_end_before_the_server_does() {
    let bed = Bed::start();
    let folder = Folder::patient(&bed);
    let server = folder.serve();
    let id = folder.submit(
        "neither.sync",
        "k",
        &json!({"business": "b", "behave": "slow", "slow_ms": 10_000}),
    );
    let id = id["id"].as_str().unwrap();
    folder.status_when(id, |status| status["state"] == "dispatching");
    server.stop();
    let status = folder.json(&["status", id]);
    assert_eq!(
        (status["state"].as_str(), status["attempts"].as_u64()),
        (Some("succeeded"), Some(1)),
        "{status}"
    );
    assert_eq!(bed.effects("b"), 1);
}

#[test]
fn a_second_signal_ends_it_at_once_and_the_outcome_is_unknown_until_it_is_found_out() {
    // The destination acts, and holds its answer for longer than a slow machine needs for all of this.
    let bed = Bed::with(&["--faults", "late_answer=60000,class=effect,n=1"]);
    let folder = Folder::patient(&bed);
    let mut server = folder.serve();
    let id = folder.submit("key.sync", "k", &business("b"));
    let id = id["id"].as_str().unwrap();
    folder.status_when(id, |status| status["state"] == "dispatching");
    server.child.terminate();
    // The first signal is taken before the second is sent: nobody is let in any more.
    while folder.run(&["status", id]).code == 0 {}
    server.child.terminate();
    assert_eq!(server.child.ended().code(), Some(1));
    // Nobody serves: looking sends nothing, and says the truth about what the dead process left.
    let status = folder.json(&["status", id]);
    assert_eq!(
        (status["state"].as_str(), status["happened"].as_str()),
        (Some("outcome_unknown"), Some("unknown"))
    );
    assert_eq!(bed.deliveries(), 1);
    let server = folder.serve();
    let status = folder.json(&["status", id, "--wait", "50s"]);
    assert_eq!(status["state"], "succeeded", "{status}");
    assert_eq!(bed.effects("b"), 1);
    server.stop();
}

#[test]
fn a_killed_server_is_followed_by_one_that_finishes_its_work() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let server = folder.serve();
    folder.json(&["admin", "pause"]);
    let id = folder.submit("key.sync", "k", &business("b"));
    server.child.kill();
    let server = folder.serve();
    folder.json(&["admin", "resume"]);
    let status = folder.json(&["status", id["id"].as_str().unwrap(), "--wait", "30s"]);
    assert_eq!(status["state"], "succeeded");
    assert_eq!(bed.effects("b"), 1);
    server.stop();
}

#[test]
fn what_was_recorded_and_not_sent_is_sent_once_after_a_stop_and_a_kill() {
    // B152
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let server = folder.serve();
    folder.json(&["admin", "pause"]);
    let submit = |part: &str| {
        let lines = (0..25).map(|n| {
            let name = format!("{part}-{n}");
            json!({"destination": "bed", "operation": "neither.sync", "key": name, "payload": {"business": name}}).to_string()
        });
        folder.write("actions.jsonl", &lines.collect::<Vec<_>>().join("\n"));
        assert_eq!(
            folder.json(&["submit", "--file", "actions.jsonl"])["submitted"],
            25
        );
    };
    submit("stopped");
    server.stop();
    let server = folder.serve();
    submit("killed");
    server.child.kill();
    let server = folder.serve();
    folder.json(&["admin", "resume"]);
    let watched = folder.run(&["watch", "--all"]);
    assert_eq!(watched.code, 0, "{watched:?}");
    assert_eq!(
        folder.json(&["list", "--state", "succeeded"])["actions"]
            .as_array()
            .unwrap()
            .len(),
        50
    );
    let counts = bed.counts();
    assert_eq!(
        (
            counts["total_effects"].as_u64(),
            counts["deliveries"].as_u64()
        ),
        (Some(50), Some(50)),
        "{counts}"
    );
    server.stop();
}

/// A limit on the size of files (`ulimit -f`) ends no server: it is refused like a disk without room, and goes on once it is lifted.
#[test]
fn a_limit_on_the_size_of_files_is_no_room_and_no_end() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let server = folder.serve();
    let pid = Pid::from_raw(i32::try_from(server.child.id()).unwrap()).unwrap();
    let limit = |current| {
        let limits = Rlimit {
            current,
            maximum: None,
        };
        prlimit(Some(pid), Resource::Fsize, limits).unwrap();
    };
    limit(Some(0));
    let payload = business("order-1").to_string();
    let words = [
        "submit",
        "bed",
        "key.sync",
        "--key",
        "order-1",
        "--payload",
        &payload,
    ];
    let (code, problem) = folder.refused(&words);
    assert_eq!(code, 5, "it may work later: {problem}");
    limit(None);
    let status = folder.submit("key.sync", "order-1", &business("order-1"));
    assert_eq!(
        status["joined"], false,
        "nothing had been recorded: {status}"
    );
    folder.status_when(status["id"].as_str().unwrap(), |status| {
        status["state"] == "succeeded"
    });
    assert_eq!((bed.effects("order-1"), bed.deliveries()), (1, 1));
    server.stop();
}
