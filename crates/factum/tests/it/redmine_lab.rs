//! A real server that nobody here wrote: Redmine, behind a proxy that loses answers and requests.
//!
//! Run by `./test`, which starts the server and names its folder in `LAB_DIR`. The truth is Redmine's own database.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use factum::{ActionId, Config, Factum};
use serde_json::{Value, json};

const ACTIONS: usize = 100;
const RULES: [&str; 6] = [
    "drop-response,method=POST,p=0.15",
    "drop-request,method=POST,p=0.12",
    "gateway-error,method=POST,p=0.1,status=504",
    "reject,method=POST,p=0.1,status=503",
    "cut-response,method=POST,p=0.1",
    "drop-response,method=GET,p=0.1",
];

/// D1 to D3, B89, B91: whatever the proxy lost, each issue stands in Redmine's database once, and every statement is true.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs LAB_DIR with a running Redmine; ./test starts one"]
async fn redmine_lab_holds_each_issue_once() {
    let lab = Lab::find();
    let proxy = Proxy::start(&lab);
    let folder = tempfile::tempdir().unwrap();
    let factum = engine(folder.path(), &lab, proxy.port).await;
    let run = folder
        .path()
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    let mut ids: Vec<(String, ActionId)> = Vec::new();
    for n in 0..ACTIONS {
        let subject = format!("issue {n} of {run}");
        let action = factum
            .action("tracker", "issue.create")
            .key(format!("{run}/{n}"));
        let action =
            action.params(json!({ "field_id": lab.env["FIELD_ID"].parse::<u64>().unwrap() }));
        let payload = json!({"issue": {
            "project_id": lab.env["PROJECT"], "tracker_id": lab.env["TRACKER_ID"].parse::<u64>().unwrap(), "subject": subject,
        }});
        let submitted = action.payload(payload).submit().await.unwrap();
        ids.push((subject, submitted.status.id.parse().unwrap()));
    }
    let mut resent = 0;
    for (subject, id) in &ids {
        let status = factum
            .wait_status(*id, Duration::from_secs(300))
            .await
            .unwrap();
        assert_eq!(
            status.state,
            "succeeded",
            "{subject}: {status:?} {:?}",
            factum.evidence(*id).await
        );
        resent += status.attempts - 1;
    }
    let rows = lab.issues();
    for (subject, id) in &ids {
        let held: Vec<&Value> = rows
            .iter()
            .filter(|row| row["subject"] == json!(subject))
            .collect();
        assert_eq!(held.len(), 1, "{subject} ({id}): {held:?}");
        let receipt = factum.status(*id).await.unwrap().receipt.unwrap().reference;
        assert_eq!(
            held[0]["id"].to_string(),
            receipt,
            "{subject}: the receipt names the issue"
        );
    }
    assert!(
        resent > 0,
        "the proxy lost requests, so some were sent again"
    );
    factum.shutdown(Duration::from_secs(10)).await;
}

async fn engine(folder: &Path, lab: &Lab, proxy: u16) -> Factum {
    let token = folder.join("token");
    std::fs::write(&token, &lab.env["TOKEN"]).unwrap();
    let text = format!(
        r#"
        [destinations.tracker]
        provider = "redmine"
        base = "http://127.0.0.1:{proxy}"
        account = "admin"
        auth = {{ header = "x-redmine-api-key", value = "file:{}" }}

        [destinations.tracker.limits]
        answer_wait = "10 s"
        linger = "200 ms"
        skew = "100 ms"
        pause_margin = "2 s"
        backoff = "200 ms"
        backoff_max = "3 s"

        [destinations.tracker.gate]
        in_flight_max = 8
        circuit_failures = 0

        [destinations.tracker.operations."issue.create"]
        direct = true
        by = "the laboratory"
        reason = "the proxy in front of it repeats nothing under these rules"
        [destinations.tracker.operations."issue.create".assume]
        processing_max = {{ value = "3 s", by = "the laboratory", reason = "one puma on loopback, eight requests at a time" }}
        "#,
        token.display()
    );
    let config = Config::parse("redmine.toml", &text).unwrap();
    Factum::sqlite(folder.join("factum.db"))
        .config(config)
        .start()
        .await
        .unwrap()
}

/// A running Redmine.
struct Lab {
    env: BTreeMap<String, String>,
    folder: String,
}

impl Lab {
    #[expect(
        clippy::disallowed_methods,
        reason = "./test names the running lab in the environment"
    )]
    fn find() -> Self {
        let folder = std::env::var("LAB_DIR").expect("LAB_DIR names the folder of a running lab");
        let text = std::fs::read_to_string(Path::new(&folder).join("env")).unwrap();
        let env = text.lines().filter_map(|line| line.split_once('='));
        Self {
            env: env
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            folder,
        }
    }

    fn port(&self) -> &str {
        self.env["URL"].rsplit(':').next().unwrap()
    }

    /// The issues in the server's own database.
    fn issues(&self) -> Vec<Value> {
        let counted = Command::new(labs().join("redmine/count.sh"))
            .env("LAB_DIR", &self.folder)
            .output()
            .unwrap();
        assert!(
            counted.status.success(),
            "{}",
            String::from_utf8_lossy(&counted.stderr)
        );
        counted
            .stdout
            .lines()
            .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
            .collect()
    }
}

/// The proxy in front of it; ended with the test.
struct Proxy {
    child: Child,
    port: u16,
}

impl Proxy {
    fn start(lab: &Lab) -> Self {
        let mut command = Command::new("python3");
        command
            .arg(labs().join("lossy_proxy.py"))
            .args(["--target", lab.port(), "--seed", "11"]);
        for rule in RULES {
            command.args(["--rule", rule]);
        }
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let port = line.trim().rsplit(' ').next().unwrap().parse().unwrap();
        Self { child, port }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn labs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../labs")
}
