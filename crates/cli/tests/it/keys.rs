//! `factum admin keys`: a new key under load, and the old one let go. Effects are counted at the destination, and the files are read.

use serde_json::{Value, json};

use crate::support::{Bed, Folder, Server, business};

/// Every text sealed with the first key begins so.
const BY_THE_FIRST: &str = "~1:1:";
/// Effects in each part of the load.
const PART: usize = 40;

/// Submits one part of the load.
fn load(folder: &Folder, part: &str) {
    let lines = (0..PART).map(|n| {
        let name = format!("{part}-{n}");
        json!({"destination": "bed", "operation": "key.sync", "key": name, "payload": business(&name)}).to_string()
    });
    let file = format!("{part}.jsonl");
    folder.write(&file, &lines.collect::<Vec<_>>().join("\n"));
    let done = folder.json(&["submit", "--file", &file]);
    assert_eq!(done["submitted"], PART, "{done}");
}

/// The keys, once this holds for them.
fn keys_when(folder: &Folder, wanted: impl Fn(&Value) -> bool) -> Value {
    let deadline = std::time::Instant::now() + crate::support::PATIENCE;
    loop {
        let keys = folder.json(&["admin", "keys", "list"]);
        if wanted(&keys) {
            return keys;
        }
        assert!(
            std::time::Instant::now() < deadline,
            "it never came: {keys}"
        );
    }
}

fn rows_of(keys: &Value, number: u64) -> Option<u64> {
    let all = keys["keys"].as_array().unwrap();
    let found = all.iter().find(|key| key["number"] == number)?;
    found["rows"].as_u64()
}

/// How many of the store's files hold this text.
fn files_with(folder: &Folder, text: &str) -> usize {
    let entries = std::fs::read_dir(folder.path("factum-data")).unwrap();
    let files = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file());
    let holds = |path: &std::path::PathBuf| {
        let bytes = std::fs::read(path).unwrap();
        String::from_utf8_lossy(&bytes).contains(text)
    };
    files.filter(holds).count()
}

/// The load is done, once each.
fn all_done(folder: &Folder, bed: &Bed, parts: u64) {
    let watched = folder.run(&["watch", "--all"]);
    assert_eq!(watched.code, 0, "{watched:?}");
    let (counts, all) = (bed.counts(), parts * PART as u64);
    for name in ["total_effects", "deliveries"] {
        assert_eq!(counts[name].as_u64(), Some(all), "{name}: {counts}");
    }
}

#[test]
fn a_key_is_rotated_under_load_and_the_old_one_leaves_no_trace() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let server = folder.serve();
    load(&folder, "before");
    assert!(
        files_with(&folder, BY_THE_FIRST) > 0,
        "it can be seen in the files"
    );
    std::thread::scope(|scope| {
        let meanwhile = scope.spawn(|| ["during", "later"].map(|part| load(&folder, part)));
        let rotated = folder.json(&["admin", "keys", "rotate"]);
        assert_eq!(rotated["sealing"], 2, "{rotated}");
        meanwhile.join().unwrap();
    });
    let keys = keys_when(&folder, |keys| rows_of(keys, 1) == Some(0));
    assert!(
        rows_of(&keys, 2) > Some(0) && keys["in_clear"] == 0,
        "{keys}"
    );
    // Nothing of the load was lost or repeated for that, nor had it to wait for a person.
    all_done(&folder, &bed, 3);

    folder.json(&["admin", "keys", "retire", "1"]);
    keys_when(&folder, |keys| rows_of(keys, 1).is_none());
    assert!(!folder.path("factum-data/keys/seal/1").exists());
    assert_eq!(
        files_with(&folder, BY_THE_FIRST),
        0,
        "no file holds what it sealed"
    );
    load(&folder, "after");
    all_done(&folder, &bed, 4);
    server.stop();
    readable_without(&folder);
}

/// A new process, with the second key alone, reads and joins what was sealed before.
fn readable_without(folder: &Folder) {
    let server: Server = folder.serve();
    let again = folder.submit("key.sync", "before-0", &business("before-0"));
    assert_eq!(
        (&again["joined"], &again["state"]),
        (&json!(true), &json!("succeeded")),
        "{again}"
    );
    let evidence = folder.json(&["evidence", again["id"].as_str().unwrap()]);
    assert!(evidence.to_string().contains("answered"), "{evidence}");
    server.stop();
    assert_eq!(folder.run(&["doctor"]).code, 0);
}

#[test]
fn what_seals_is_not_let_go_and_a_missing_key_is_named() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let server = folder.serve();
    let id = folder.submit("key.sync", "k", &business("b"))["id"].clone();
    folder.status_when(id.as_str().unwrap(), |status| {
        status["state"] == "succeeded"
    });
    let (key, elsewhere) = (
        folder.path("factum-data/keys/seal/1"),
        folder.path("elsewhere"),
    );
    std::fs::rename(&key, &elsewhere).unwrap();
    let served = folder.run(&["doctor"]);
    assert!(
        served.code == 1 && served.out.contains("there is no key in keys/seal/"),
        "{served:?}"
    );
    std::fs::rename(&elsewhere, &key).unwrap();
    let (_, problem) = folder.refused(&["admin", "keys", "retire", "1"]);
    assert!(
        problem["remedy"]
            .as_str()
            .is_some_and(|remedy| remedy.contains("rotate")),
        "{problem}"
    );
    server.stop();
    std::fs::rename(&key, &elsewhere).unwrap();
    let doctor = folder.run(&["doctor"]);
    assert!(
        doctor.code == 1 && doctor.out.contains("sealed with key 1, which is not here"),
        "{doctor:?}"
    );
    let (_, refused) = folder.refused(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(refused.to_string().contains("seal"), "{refused}");
    std::fs::rename(&elsewhere, &key).unwrap();
    assert_eq!(
        folder.run(&["doctor"]).code,
        0,
        "back in its place it is well"
    );
}

// A run without a key says so loudly, at its start and to whoever asks.
#[test]
fn a_run_that_seals_nothing_says_so() {
    let bed = Bed::start();
    let folder = Folder::with(&bed);
    let config = folder.read("factum.toml");
    folder.write("factum.toml", &format!("store.seal = \"off\"\n{config}"));
    let mut command = folder.command(&["serve", "--listen", "127.0.0.1:0", "--json"]);
    command.stderr(std::fs::File::create(folder.path("log")).unwrap());
    let child = crate::support::Child::start(command);
    child.json();
    let log = folder.read("log");
    assert!(
        log.contains("WARN") && log.contains("content is written in clear"),
        "{log}"
    );
    folder.submit("key.sync", "k", &business("in-the-clear"));
    assert!(files_with(&folder, "in-the-clear") > 0);
    let doctor = folder.run(&["doctor"]);
    let warned = doctor
        .out
        .lines()
        .find(|line| line.starts_with("warning") && line.contains("clear"));
    assert!(warned.is_some(), "{doctor:?}");
}
