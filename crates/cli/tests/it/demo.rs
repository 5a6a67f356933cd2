//! `factum demo` as scripts and people run it, and the same load through `factum submit --file`.
//!
//! Every number is held against the destination's ledger by the command itself; here it is only read what it found.

#![expect(
    clippy::unwrap_used,
    reason = "a helper that cannot go on fails its test at once"
)]

use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use factum_faults::FaultPlan;
use factum_testbed::{Config, Filter, Kind, Mode, Testbed};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

fn factum(temporary: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_factum"));
    command
        .args(arguments)
        .current_dir(temporary)
        .env("TMPDIR", temporary)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    for name in ["FACTUM_URL", "FACTUM_TOKEN", "FACTUM_LOG"] {
        command.env_remove(name);
    }
    command
}

/// Runs the demonstration; its object, which is all that it prints.
async fn demo(temporary: &Path, arguments: &[&str]) -> Value {
    let mut all = vec!["demo", "--json"];
    all.extend(arguments);
    if !arguments.contains(&"--within") {
        // A machine under load may take longer than the demonstration's own bound.
        all.extend(["--within", "150"]);
    }
    let output = factum(temporary, &all).output().await.unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}{}", errors(&output));
    assert_eq!(text.lines().count(), 1, "{text}");
    serde_json::from_str(&text).unwrap()
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn number(object: &Value, pointer: &str) -> u64 {
    object
        .pointer(pointer)
        .and_then(Value::as_u64)
        .unwrap_or_else(|| panic!("no number at {pointer}: {object}"))
}

fn no_law_is_broken(object: &Value, actions: u64) {
    assert_eq!(number(object, "/actions"), actions);
    for name in [
        "duplicates",
        "missing",
        "false_success",
        "false_failure",
        "lost",
        "laws_broken",
    ] {
        assert_eq!(number(object, &format!("/{name}")), 0, "{name}: {object}");
    }
    assert_eq!(number(object, "/unknown_without_review"), 0, "{object}");
    assert_eq!(
        number(object, "/settled") + number(object, "/in_review"),
        actions,
        "{object}"
    );
    let by = object["settled_by"].as_object().unwrap();
    let settled: u64 = by.values().filter_map(Value::as_u64).sum();
    assert_eq!(
        settled,
        number(object, "/settled"),
        "each settled action was settled by something"
    );
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

#[tokio::test]
async fn answers_are_lost_and_no_law_is_broken() {
    let temporary = tempfile::tempdir().unwrap();
    let object = demo(temporary.path(), &["--actions", "60", "--loss", "0.3"]).await;
    no_law_is_broken(&object, 60);
    assert!(number(&object, "/answers_lost") > 0, "{object}");
    for by in ["reply", "same_key", "lookup", "poll", "cancel_by_key"] {
        assert!(
            number(&object, &format!("/settled_by/{by}")) > 0,
            "{by}: {object}"
        );
    }
    assert_eq!(number(&object, "/kills"), 0);
    assert_eq!(object["kinds"].as_array().unwrap().len(), 10);
    assert!(is_empty(temporary.path()), "the folder is taken away");
}

#[tokio::test]
async fn an_engine_that_is_killed_on_the_way_breaks_no_law() {
    let temporary = tempfile::tempdir().unwrap();
    let object = demo(
        temporary.path(),
        &["--actions", "60", "--kill", "--seed", "3"],
    )
    .await;
    no_law_is_broken(&object, 60);
    assert!(number(&object, "/kills") >= 2, "{object}");
    assert!(number(&object, "/answers_lost") > 0, "{object}");
}

#[tokio::test]
async fn without_losses_everything_is_settled_at_the_first_try() {
    let temporary = tempfile::tempdir().unwrap();
    let object = demo(temporary.path(), &["--actions", "30", "--loss", "0"]).await;
    no_law_is_broken(&object, 30);
    assert_eq!(number(&object, "/answers_lost"), 0);
    assert_eq!(number(&object, "/in_review"), 0);
    assert_eq!(number(&object, "/sent"), 30, "{object}");
}

#[tokio::test]
async fn a_run_that_is_cut_short_says_what_is_left_and_breaks_no_law() {
    let temporary = tempfile::tempdir().unwrap();
    let object = demo(
        temporary.path(),
        &["--actions", "60", "--loss", "0.9", "--within", "1"],
    )
    .await;
    for name in [
        "duplicates",
        "false_success",
        "false_failure",
        "lost",
        "laws_broken",
    ] {
        assert_eq!(number(&object, &format!("/{name}")), 0, "{name}: {object}");
    }
    assert!(number(&object, "/unfinished") > 0, "{object}");
}

#[tokio::test]
async fn people_get_the_stories_and_the_tables() {
    let temporary = tempfile::tempdir().unwrap();
    let output = factum(temporary.path(), &["demo", "--actions", "24"])
        .output()
        .await
        .unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(output.status.success(), "{text}{}", errors(&output));
    for part in [
        "release desk: 0.1.0: published; announced as T-",
        "support desk: conv-ben: My parcel is lost, open a ticket. (clicks twice)",
        "support desk: conv-ana: bot: Done. The reference is T-",
        "authoritative lookup, queued",
        "0 duplicates, 0 false \"done\", 0 false \"failed\", 0 lost.",
        "No law was broken.",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[tokio::test]
async fn wrong_use_is_refused_and_starts_nothing() {
    let temporary = tempfile::tempdir().unwrap();
    for arguments in [
        ["demo", "--loss", "1.5"],
        ["demo", "--actions", "0"],
        ["demo", "--seed", "x"],
    ] {
        let output = factum(temporary.path(), &arguments).output().await.unwrap();
        assert_eq!(
            output.status.code(),
            Some(2),
            "{arguments:?}: {}",
            errors(&output)
        );
    }
    assert!(is_empty(temporary.path()));
}

#[tokio::test]
async fn told_to_end_it_leaves_neither_engine_nor_folder() {
    let temporary = tempfile::tempdir().unwrap();
    let mut demo = factum(temporary.path(), &["demo", "--actions", "500"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let greeting = first_line(&mut demo).await;
    let engine = greeting
        .split("the engine at http://")
        .nth(1)
        .and_then(|rest| rest.split(',').next())
        .unwrap();
    let pid = rustix::process::Pid::from_raw(demo.id().unwrap().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(!demo.wait().await.unwrap().success());
    assert!(is_empty(temporary.path()), "the folder is taken away");
    let gone = async { while tokio::net::TcpStream::connect(engine).await.is_ok() {} };
    tokio::time::timeout(Duration::from_secs(60), gone)
        .await
        .expect("the engine ends with the demonstration");
}

#[tokio::test]
async fn kept_it_answers_until_it_is_told_to_end() {
    let temporary = tempfile::tempdir().unwrap();
    let arguments = ["demo", "--actions", "10", "--loss", "0", "--keep", "--json"];
    let mut demo = factum(temporary.path(), &arguments)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let object: Value = serde_json::from_str(&first_line(&mut demo).await).unwrap();
    let running = |name: &str| object["running"][name].as_str().unwrap().to_owned();
    let token = std::fs::read_to_string(running("token_file")).unwrap();
    let listed = factum(temporary.path(), &["list", "--json"])
        .env("FACTUM_URL", running("engine"))
        .env("FACTUM_TOKEN", token.trim())
        .output()
        .await
        .unwrap();
    assert!(listed.status.success(), "{}", errors(&listed));
    let text = String::from_utf8(listed.stdout).unwrap();
    assert_eq!(
        text.matches("\"succeeded\"").count() + text.matches("\"terminal_failure\"").count(),
        10,
        "{text}"
    );
    let pid = rustix::process::Pid::from_raw(demo.id().unwrap().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert!(demo.wait().await.unwrap().success());
    assert!(Path::new(&running("folder")).exists(), "the folder stays");
}

/// The first line of a child's output. The rest is read away, so that it never blocks.
async fn first_line(child: &mut Child) -> String {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.next_line().await.unwrap().expect("a first line");
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    line
}

#[tokio::test]
async fn the_same_load_from_a_file_has_the_same_result() {
    let temporary = tempfile::tempdir().unwrap();
    let file = temporary.path().join("actions.jsonl");
    // So few actions leave the stories out: the file is all of it.
    let shown = demo(
        temporary.path(),
        &[
            "--actions",
            "19",
            "--seed",
            "5",
            "--write-actions",
            file.to_str().unwrap(),
        ],
    )
    .await;
    let lines = std::fs::read_to_string(&file).unwrap().lines().count() as u64;
    assert_eq!((number(&shown, "/actions"), lines), (19, 19));

    let testbed = Testbed::start(Config {
        faults: FaultPlan::loss(5, 0.3),
        ..Config::default()
    })
    .await
    .unwrap();
    let mut server = serve(temporary.path(), &testbed.base_url());
    let greeting: Value = serde_json::from_str(&first_line(&mut server).await).unwrap();
    let token = std::fs::read_to_string(greeting["token_file"].as_str().unwrap()).unwrap();
    let submitted = factum(
        temporary.path(),
        &[
            "submit",
            "--file",
            file.to_str().unwrap(),
            "--wait",
            "45s",
            "--json",
        ],
    )
    .env("FACTUM_URL", greeting["address"].as_str().unwrap())
    .env("FACTUM_TOKEN", token.trim())
    .output()
    .await
    .unwrap();
    assert!(submitted.status.success(), "{}", errors(&submitted));
    let summary: Value = serde_json::from_slice(&submitted.stdout).unwrap();
    assert_eq!(
        (number(&summary, "/submitted"), number(&summary, "/refused")),
        (19, 0),
        "{summary}"
    );
    server.kill().await.unwrap();

    let ledger = testbed.ledger();
    assert_eq!(ledger.counts(&Filter::default()).duplicates, 0);
    for kind in [Kind::Key, Kind::Cancel, Kind::Lookup] {
        for mode in Mode::ALL {
            let effects = ledger
                .counts(&Filter::destination(kind, *mode))
                .total_effects;
            let shown = shown["kinds"].as_array().unwrap().iter();
            let mut shown =
                shown.filter(|line| line["kind"] == kind.name() && line["mode"] == mode.name());
            let line = shown.next().unwrap();
            assert_eq!(
                effects,
                number(line, "/effects"),
                "{} {}: {line}",
                kind.name(),
                mode.name()
            );
        }
    }
    testbed.shutdown().await;
}

fn serve(folder: &Path, testbed: &str) -> Child {
    let mut text =
        "server.listen = \"127.0.0.1:0\"\nstore.url = \"sqlite:data/factum.db\"\n".to_owned();
    for kind in Kind::ALL {
        for mode in Mode::ALL {
            text.push_str(&format!(
                "[destinations.{}-{}]\nprovider = \"testbed\"\nbase = \"{testbed}\"\naccount = \"testbed\"\n\
                 limits = {{ send_wait = \"2 s\", write = \"5 s\", answer_wait = \"1200 ms\", linger = \"200 ms\", \
                 skew = \"100 ms\", pause_margin = \"5 s\", backoff = \"100 ms\", backoff_max = \"2 s\" }}\n",
                kind.name(),
                mode.name()
            ));
        }
    }
    std::fs::write(folder.join("factum.toml"), text).unwrap();
    factum(folder, &["serve", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}
