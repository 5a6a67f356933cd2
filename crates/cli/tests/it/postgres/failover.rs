//! The primary dies under load, its synchronous standby takes over, and nothing that was answered with 2xx is lost or doubled.
//!
//! The servers are this test's own: two on loopback, by the scripts of `labs/postgres`.

use std::process::Command;

use tempfile::TempDir;

use super::database::Database;
use super::workers::Workers;
use super::{Asked, OPERATIONS, everything_ends_well};
use crate::support::{Bed, ended};

/// A primary with a synchronous standby.
struct Pair {
    folder: TempDir,
}

impl Pair {
    fn start() -> Self {
        let pair = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        for script in ["start.sh", "standby.sh"] {
            let ran = ended(pair.script(&[script]));
            assert_eq!(ran.code, 0, "{script}: {ran:?}");
        }
        pair
    }

    /// A script of the lab, with these words.
    fn script(&self, words: &[&str]) -> Command {
        let mut command = Command::new("bash");
        let labs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../labs/postgres");
        command
            .arg(format!("{labs}/{}", words[0]))
            .args(&words[1..]);
        command.env("LAB_DIR", self.folder.path());
        command
    }

    /// What the scripts wrote down under this name.
    fn said(&self, name: &str) -> String {
        let env = std::fs::read_to_string(self.folder.path().join("env")).unwrap();
        let line = env.lines().find_map(|line| {
            let (found, value) = line.split_once('=')?;
            (found == name).then(|| value.to_owned())
        });
        line.unwrap()
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        // One of them is dead already.
        let _ = self.script(&["stop.sh", "KILL"]).output();
        let _ = self.script(&["standby.sh", "stop", "KILL"]).output();
    }
}

#[test]
#[ignore = "needs PostgreSQL; ./test starts one"]
fn after_a_fail_over_nothing_answered_is_lost_or_doubled() {
    let pair = Pair::start();
    let database = Database::on(&pair.said("URL"));
    let url = format!(
        "postgresql://factum@127.0.0.1:{},127.0.0.1:{}/{}?target_session_attrs=read-write",
        pair.said("PORT"),
        pair.said("STANDBY_PORT"),
        database.name
    );
    let bed = Bed::with(&["--loss", "0.2", "--seed", "5"]);
    let workers = Workers::at(&url, &bed, 3);
    let (mut asked, mut failing_over) = (Asked::new(), None);
    for n in 0..60 {
        if n == 20 {
            // Beside the load: the primary dies in the middle of whatever it does, then the standby takes over.
            let (stop, promote) = (
                pair.script(&["stop.sh", "KILL"]),
                pair.script(&["standby.sh", "promote"]),
            );
            failing_over = Some(std::thread::spawn(move || [ended(stop), ended(promote)]));
        }
        let (key, operation) = (format!("order-{n}"), OPERATIONS[n % OPERATIONS.len()]);
        let id = workers.submit(n % 3, operation, &key);
        asked.insert(key, (operation, id));
    }
    for ran in failing_over.unwrap().join().unwrap() {
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    assert!(
        asked.values().all(|(_, id)| id.is_some()),
        "the workers came back by themselves: {asked:?}"
    );
    everything_ends_well(&workers, &bed, &asked);
}
