//! SIGKILL in the middle of a load: what was answered is there afterwards, and nothing is half there.
//!
//! This shows what the process's end does. It shows nothing about a loss of power.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use factum_core::ActionId;
use factum_core::evidence::AnswerClass;
use factum_store::{Admission, Admitted, Committed, Store};

use super::open_in;
use crate::fixtures::{MINUTE, START, TestClock, WORKER, admission, answered, mark, next};

/// Tells the child its round and its folder.
const CHILD: &str = "FACTUM_STORE_TEST_CHILD";

// Law 10: nothing that was answered is lost by kill -9.
#[tokio::test]
async fn what_was_answered_survives_a_kill() {
    let files = tempfile::tempdir().unwrap();
    for round in 0..3u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "sqlite::kill::writes_until_it_is_killed",
                "--ignored",
                "--nocapture",
            ])
            .env(CHILD, format!("{round} {}", files.path().display()))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut answered: Vec<String> = Vec::new();
        while answered.len() < 200 {
            let line = lines
                .next()
                .expect("the child writes until it is killed")
                .unwrap();
            answered.extend(line.strip_prefix("answered ").map(str::to_owned));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // What was still in the pipe had been answered too; a last line may be cut.
        answered.extend(
            lines
                .map_while(Result::ok)
                .filter_map(|line| line.strip_prefix("answered ").map(str::to_owned))
                .filter(|line| line.ends_with('.')),
        );
        everything_is_there(files.path(), &answered).await;
    }
}

async fn everything_is_there(folder: &Path, answered: &[String]) {
    let opened = open_in(folder, &TestClock::new()).unwrap();
    assert!(!opened.restored, "{:?}", opened.restored_because);
    assert!(opened.former.is_some_and(|by| by.starts_with("process ")));
    for line in answered {
        let (id, version) = line.trim_end_matches('.').split_once(' ').unwrap();
        let id: ActionId = id.parse().unwrap();
        let version: u64 = version.parse().unwrap();
        let record = opened.store.load(id).await.unwrap().expect(line);
        assert!(
            record.version >= version,
            "{line}, and it has {}",
            record.version
        );
    }
    let verified = opened.store.verify_all().await.unwrap();
    assert_eq!(verified.findings, []);
    assert!(verified.actions >= 67, "{verified:?}");
    opened.store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the process that the test above starts and kills"]
#[expect(
    clippy::disallowed_methods,
    reason = "a test harness hands nothing else on to a test"
)]
async fn writes_until_it_is_killed() {
    let child = std::env::var(CHILD).unwrap();
    let (round, folder) = child.split_once(' ').unwrap();
    let round: u64 = round.parse().unwrap();
    let store = Arc::new(open_in(Path::new(folder), &TestClock::new()).unwrap().store);
    let mut callers = Vec::new();
    for caller in 0..8u64 {
        let store = Arc::clone(&store);
        callers.push(tokio::spawn(async move {
            for n in 0.. {
                carry_out(
                    store.as_ref(),
                    round * 1_000_000_000 + caller * 1_000_000 + n,
                )
                .await;
            }
        }));
    }
    for caller in callers {
        caller.await.unwrap();
    }
}

/// One action from its submission to its end; each answer is told at once.
async fn carry_out(store: &dyn Store, n: u64) {
    let tell = |id: ActionId, version: u64| {
        let line = format!("answered {id} {version}.\n");
        std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
    };
    let wish = Admission {
        claim_for: Some((WORKER, MINUTE)),
        ..admission(n)
    };
    let Admitted::Created(record, Some(claim)) = store.admit(wish).await.unwrap() else {
        panic!("new")
    };
    tell(record.id(), record.version);
    let wait = next("wait", Some(START + MINUTE));
    let marked = store
        .commit(&claim, vec![mark(1, START)], wait)
        .await
        .unwrap();
    let Committed::Durable(marked) = marked else {
        panic!("held")
    };
    tell(record.id(), marked.version);
    let claim = claim.at_version(marked.version);
    let done = vec![answered(1, AnswerClass::Done)];
    let settled = store
        .commit(&claim, done, next("none", None))
        .await
        .unwrap();
    let Committed::Durable(settled) = settled else {
        panic!("held")
    };
    tell(record.id(), settled.version);
}
