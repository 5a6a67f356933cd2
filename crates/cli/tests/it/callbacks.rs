//! A destination reports by itself what became of an effect, with the faults that reports have; counted in its ledger.

use std::net::TcpListener;

use serde_json::Value;

use crate::support::{Bed, Child, Folder, business, configuration};

/// Of tests, in the form that Standard Webhooks gives to a secret.
const SECRET: &str = "whsec_Zm9yLXRlc3RzLW9ubHktbm90LWEtc2VjcmV0";

/// A server and a testbed that reports to it.
struct Reported {
    folder: Folder,
    bed: Bed,
    // Ended when the test ends.
    _server: Child,
}

impl Reported {
    /// The testbed reports with this fault.
    fn with(fault: &str) -> Self {
        let folder = Folder::new();
        // The address of the door follows from the keys alone, so that the testbed can be told it before the server knows
        // the testbed's.
        folder.write("factum.toml", &text("http://127.0.0.1:1"));
        let door = folder.json(&["destination", "callback", "bed"]);
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let listen = format!("127.0.0.1:{port}");
        let url = format!("http://{listen}{}", door["path"].as_str().unwrap());
        let rules = format!("{fault},class=callback");
        let mut words = vec!["--callback-url", &url, "--callback-secret", SECRET];
        if !fault.is_empty() {
            words.extend(["--faults", &rules]);
        }
        let bed = Bed::with(&words);
        folder.write("factum.toml", &text(&bed.base));
        let mut command = folder.command(&["serve", "--listen", &listen, "--json"]);
        command.env("REPORTS", SECRET);
        let server = Child::start(command);
        server.json();
        Self {
            folder,
            bed,
            _server: server,
        }
    }

    /// Submits one effect whose end is only reported.
    fn submit(&self, name: &str) -> String {
        let status = self.folder.submit("key.reported", name, &business(name));
        status["id"].as_str().unwrap().to_owned()
    }

    fn succeeded(&self, id: &str) -> Value {
        self.folder
            .status_when(id, |status| status["state"] == "succeeded")
    }

    /// How often a report stands in the evidence.
    fn reports(&self, id: &str) -> usize {
        let evidence = self.folder.json(&["evidence", id]);
        let all = evidence["evidence"].as_array().unwrap();
        all.iter()
            .filter(|one| one["fact"] == "called_back")
            .count()
    }
}

fn text(base: &str) -> String {
    let callback = "callback = { secrets = [\"env:REPORTS\"] }\n";
    format!("{}{callback}", configuration(base))
}

// B181, B182, B183
#[test]
fn what_is_only_reported_succeeds_once_however_the_report_comes() {
    for fault in [
        "",
        "callback_twice",
        "callback_reordered,n=1",
        "callback_late=400",
        "callback_before_answer=300",
        "callback_forged",
    ] {
        let reported = Reported::with(fault);
        let ids = ["a", "b"].map(|name| reported.submit(name));
        for id in &ids {
            let status = reported.succeeded(id);
            assert_eq!(status["duplicate_suspected"], false, "{fault}: {status}");
            assert_eq!(reported.reports(id), 1, "{fault}: one report is one fact");
        }
        let counts = reported.bed.counts();
        assert_eq!(counts["total_effects"], 2, "{fault}: {counts}");
        assert_eq!(counts["duplicates"], 0, "{fault}: {counts}");
    }
}

#[test]
fn what_is_never_reported_stays_accepted_and_is_waited_for() {
    let reported = Reported::with("callback_lost");
    let id = reported.submit("a");
    let accepted = |status: &Value| status["state"] == "accepted";
    let status = reported.folder.status_when(&id, accepted);
    assert_eq!(status["next"]["do"], "wait", "{status}");
    assert_eq!(status["happened"], "unknown", "{status}");
    let waiting = reported.folder.json(&["callbacks"]);
    assert_eq!(
        waiting["callbacks"].as_array().map(Vec::len),
        Some(0),
        "{waiting}"
    );
}

// R21: a report that something failed speaks for the object that it names, and does not undo what is proved to exist.
#[test]
fn the_contrary_of_what_was_reported_undoes_nothing() {
    let reported = Reported::with("callback_contradictory");
    let id = reported.submit("a");
    let both = |status: &Value| status["next"]["do"] == "none" && reported.reports(&id) == 2;
    let status = reported.folder.status_when(&id, both);
    assert_eq!(status["state"], "succeeded", "{status}");
    let counts = reported.bed.counts();
    assert_eq!(
        (&counts["deliveries"], &counts["total_effects"]),
        (&1.into(), &1.into())
    );
}
