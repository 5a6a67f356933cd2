//! Remote work with real processes: the example worker, killed between its steps, and servers that die at theirs. Effects are counted in
//! the testbed's ledger.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Bed, Child, Folder, Server};

const CONFIG: &str = r#"
[destinations.crm]
provider = "work"
limits = { send_wait = "3 s", linger = "200 ms", skew = "100 ms", pause_margin = "500 ms", backoff = "100 ms", work_lease = "3 s" }
[destinations.crm.work."contact.create"]
limit = "2 s"
processing_max = "1 s"
look_up = { complete = true }
by = "ops"
reason = "the testbed's own code"
[destinations.crm.work."invoice.create"]
limit = "2 s"
processing_max = "1 s"
key = { floor = "24 h", concurrent = true }
by = "ops"
reason = "the testbed's own code"
[destinations.crm.work."letter.send"]
limit = "2 s"
"#;

/// The worker of `examples/worker`, which dies by itself at a step where one is named.
fn worker(server: &Server, system: &str, dies_at: &str) -> Command {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/worker");
    // Its steps are its own; here somebody pulls the plug at one.
    let program = "import os, signal, sys\n\
        sys.path.insert(0, sys.argv[1])\n\
        sys.dont_write_bytecode = True\n\
        import worker\n\
        def step(name):\n    \
            print(name, flush=True)\n    \
            if name == sys.argv[2]: os.kill(os.getpid(), signal.SIGKILL)\n\
        worker.step = step\n\
        worker.run('crm')\n";
    let mut command = Command::new("python3");
    command
        .args(["-c", program])
        .arg(example)
        .arg(dies_at)
        .env("FACTUM_URL", &server.address)
        .env("FACTUM_TOKEN", server.token())
        .env("SYSTEM_URL", system)
        .stdin(Stdio::null());
    command
}

fn submit(folder: &Folder, operation: &str, name: &str) -> String {
    let payload = json!({"business": name}).to_string();
    let words = [
        "submit",
        "crm",
        operation,
        "--key",
        name,
        "--payload",
        &payload,
    ];
    folder.json(&words)["id"].as_str().unwrap().to_owned()
}

fn facts(folder: &Folder, id: &str) -> Vec<String> {
    let log = folder.json(&["evidence", id]);
    let facts = log["evidence"].as_array().unwrap().iter();
    facts
        .map(|fact| fact["fact"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn workers_die_between_their_steps_and_every_effect_is_made_once() {
    let bed = Bed::with(&["--faults", "close_fin,class=effect,n=1-2"]);
    let folder = Folder::new();
    folder.write("factum.toml", CONFIG);
    let server = folder.serve();
    let names: Vec<String> = (0..4).map(|n| format!("n{n}")).collect();
    let kinds = ["contact.create", "invoice.create", "letter.send"];
    let mut actions = Vec::new();
    for kind in kinds {
        for name in &names {
            let name = format!("{name}-{kind}");
            actions.push((kind, submit(&folder, kind, &name), name));
        }
    }
    for step in ["claimed", "begun", "called", "begun", "called"] {
        let mut child = Child::start(worker(&server, &bed.base, step));
        assert!(!child.ended().success(), "it was killed at {step}");
    }
    // They go on until they are ended: on a busy machine a worker that gives up when idle goes too early.
    let workers: Vec<_> = (0..2)
        .map(|_| Child::start(worker(&server, &bed.base, "never")))
        .collect();
    for (kind, id, name) in &actions {
        let settles = *kind != "letter.send";
        let status = folder.status_when(id, |status| {
            let step = status["next"]["do"].as_str();
            step == Some("none") || (!settles && step == Some("review"))
        });
        let effects = bed.effects(name);
        match status["state"].as_str() {
            Some("succeeded") => assert_eq!(effects, 1, "{name}: {status}"),
            Some("outcome_unknown") if !settles => assert!(effects <= 1, "{name}: {effects}"),
            _ => panic!("{name}: {status}"),
        }
    }
    workers.into_iter().for_each(Child::kill);
    server.stop();
}

/// R12 over the death of a server: the mark is durable, its answer is lost, and nobody else gets the permission.
#[test]
fn a_begin_whose_server_dies_hands_out_nothing_more() {
    let bed = Bed::start();
    let folder = Folder::new();
    // Longer than any restart takes: what is said after the lease is for a person, who was asked by then.
    let patient = CONFIG.replace("work_lease = \"3 s\"", "work_lease = \"10 min\"");
    folder.write("factum.toml", &patient);
    let server = folder.serve_with(&[("FACTUM_FAILPOINT", "C4")]);
    let id = submit(&folder, "letter.send", "kept");
    let claimed = folder.json(&["work", "claim", "--wait", "30s", "--lease", "10min"]);
    let claim = claimed["items"][0]["claim"].as_str().unwrap().to_owned();
    let (code, _) = folder.refused(&["work", "begin", &claim]);
    assert_ne!(code, 0, "the server died with the mark");
    drop(server);

    let server = folder.serve();
    let (_, problem) = folder.refused(&["work", "begin", &claim]);
    assert_eq!(problem["code"], "F1102", "{problem}");
    assert!(
        !facts(&folder, &id).contains(&"process_gone".to_owned()),
        "that a server died says nothing about a worker"
    );
    let why = ["--why", "the answer to the begin was lost"];
    let said = folder.json(&[&["work", "report", &claim, "not_sent"][..], &why].concat());
    assert_eq!(said["action"]["state"], "retryable_failure", "{said}");
    let worker = Child::start(worker(&server, &bed.base, "never"));
    let status = folder.status_when(&id, |status| status["next"]["do"] == "none");
    assert_eq!(
        (&status["state"], &status["attempts"]),
        (&json!("succeeded"), &json!(2))
    );
    assert_eq!(bed.effects("kept"), 1);
    worker.kill();
    server.stop();
}

/// A claim ends with the server that gave it, and a mark does not.
#[test]
fn a_claim_from_before_a_restart_is_over() {
    let folder = Folder::new();
    folder.write("factum.toml", CONFIG);
    let server = folder.serve();
    let id = submit(&folder, "letter.send", "one");
    let first = folder.json(&["work", "claim", "--wait", "30s"]);
    let first = first["items"][0]["claim"].as_str().unwrap().to_owned();
    server.stop();
    let server = folder.serve();
    let again = folder.json(&["work", "claim", "--wait", "30s"]);
    assert_eq!(again["items"][0]["action"], id);
    let (_, problem) = folder.refused(&["work", "begin", &first]);
    assert_eq!(problem["code"], "F1101", "{problem}");
    let (code, _) = folder.refused(&["work", "report", &first, "perhaps"]);
    assert_eq!(code, 2);
    let (_, problem) = folder.refused(&["work", "begin", "wrk_00"]);
    assert_eq!(problem["code"], "F1100");
    server.stop();
    let (_, problem) = folder.refused(&["work", "claim"]);
    assert!(
        problem["remedy"].as_str().unwrap().contains("factum serve"),
        "{problem}"
    );
}

/// Where a contract describes the operation, it reads the answer that the worker got, and lookups are asked from here.
#[test]
fn a_contract_reads_what_a_worker_got_and_looks_up_what_it_lost() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let text = folder.read("factum.toml");
    let by_work = "[destinations.bed.operations.\"lookup.sync\"]\ncarried_by = \"work\"\n";
    folder.write("factum.toml", &format!("{text}{by_work}"));
    let server = folder.serve();
    let submitted = folder.submit("lookup.sync", "read", &json!({"business": "read"}));
    let id = submitted["id"].as_str().unwrap().to_owned();
    let item = folder.json(&["work", "claim", "--wait", "30s"])["items"][0].clone();
    let claim = item["claim"].as_str().unwrap();
    let begun = folder.json(&["work", "begin", claim]);
    assert_eq!(begun["reference"], item["reference"]);
    folder.write(
        "answer.json",
        r#"{"status": 422, "body": "{\"ok\":false,\"error\":{\"code\":\"invalid\",\"message\":\"no such brand\"}}"}"#,
    );
    let said = folder.json(&[
        "work",
        "report",
        claim,
        "answered",
        "--answer",
        "answer.json",
    ]);
    assert_eq!(said["action"]["state"], "terminal_failure", "{said}");
    assert_eq!(said["action"]["because"], "no such brand");
    assert_eq!(facts(&folder, &id), ["marked", "answered"]);

    // Nothing was ever sent, and the worker says that it does not know: the engine looks, and offers it again.
    let submitted = folder.submit("lookup.sync", "lost", &json!({"business": "lost"}));
    let id = submitted["id"].as_str().unwrap().to_owned();
    let item = folder.json(&["work", "claim", "--wait", "30s"])["items"][0].clone();
    let claim = item["claim"].as_str().unwrap();
    folder.json(&["work", "begin", claim]);
    folder.json(&["work", "report", claim, "unknown", "--why", "reset"]);
    let item: Value = folder.json(&["work", "claim", "--wait", "60s"])["items"][0].clone();
    assert_eq!(item["permission"]["kind"], "proven_absent", "{item}");
    assert_eq!(facts(&folder, &id)[..3], ["marked", "lost", "looked_up"]);
    assert_eq!(bed.deliveries(), 0, "nothing here sends it");
    server.stop();
}
