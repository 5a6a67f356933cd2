//! `factum review`, `verdict` and `check-again`: where nothing can be found out, a person says what happened.

use crate::support::{Bed, Folder, business};

/// An action whose answer was lost at a destination that can tell nothing.
fn unresolved(folder: &Folder, key: &str) -> String {
    let id = folder.submit("neither.sync", key, &business(key))["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let status = folder.json(&["status", &id, "--wait", "50s"]);
    assert_eq!(
        (status["state"].as_str(), status["next"]["do"].as_str()),
        (Some("outcome_unknown"), Some("review")),
        "{status}"
    );
    id
}

#[test]
fn a_person_settles_what_nobody_can_look_up() {
    let bed = Bed::with(&["--faults", "close_fin,class=effect"]);
    let folder = Folder::with(&bed);
    let server = folder.serve();
    let id = unresolved(&folder, "b1");
    let waiting = folder.json(&["review"]);
    assert_eq!(waiting["items"][0]["id"], *id);
    assert!(folder.run(&["review"]).out.contains(&id));

    let (code, problem) = folder.refused(&["check-again", &id]);
    assert_eq!(
        (code, problem["code"].as_str()),
        (4, Some("F1021")),
        "nothing can be asked there"
    );
    let (code, _) = folder.refused(&[
        "verdict",
        &id,
        "did_not_happen",
        "--why",
        "x",
        "--receipt",
        "T-1",
    ]);
    assert_eq!(code, 2, "a receipt of what did not happen");

    let ruled = folder.json(&[
        "verdict",
        &id,
        "happened",
        "--receipt",
        "T-000001",
        "--why",
        "it stands in their list",
    ]);
    assert_eq!(
        (
            ruled["state"].as_str(),
            ruled["receipt"]["reference"].as_str()
        ),
        (Some("succeeded"), Some("T-000001"))
    );
    let log = folder.json(&["evidence", &id]);
    let verdict = log["evidence"]
        .as_array()
        .unwrap()
        .iter()
        .find(|record| record["fact"] == "verdict")
        .unwrap();
    assert_eq!(
        verdict["detail"]["by"], "ana",
        "the user of the terminal said it: {log}"
    );
    // What only a person's word has settled may be said otherwise; both stay in the log, and nothing is sent for it.
    let sent = bed.deliveries();
    let again = folder.json(&["verdict", &id, "did_not_happen", "--why", "changed my mind"]);
    // It takes hold once no request can land any more, which is now or soon: by how long the steps before this one took.
    assert!(
        ["unknown", "no"].contains(&again["happened"].as_str().unwrap()),
        "{again}"
    );
    let log = folder.json(&["evidence", &id]);
    let verdicts = log["evidence"].as_array().unwrap().iter();
    assert_eq!(
        verdicts
            .filter(|record| record["fact"] == "verdict")
            .count(),
        2
    );
    assert_eq!((bed.deliveries(), bed.effects("b1")), (sent, 1));
    server.stop();
}

#[test]
fn verdicts_are_recorded_without_a_server_too_and_send_nothing() {
    let bed = Bed::with(&["--faults", "close_fin,class=effect"]);
    let folder = Folder::with(&bed);
    let server = folder.serve();
    let (first, second) = (unresolved(&folder, "b1"), unresolved(&folder, "b2"));
    server.stop();
    let sent = bed.deliveries();

    let closed = folder.json(&[
        "verdict",
        &first,
        "cannot_be_known",
        "--why",
        "their list is gone",
        "--by",
        "ben",
    ]);
    assert_eq!(
        (closed["state"].as_str(), closed["closed"]["by"].as_str()),
        (Some("outcome_unknown"), Some("ben")),
        "{closed}"
    );
    let again = folder.json(&[
        "verdict",
        &second,
        "send_again",
        "--why",
        "they want it twice rather than never",
    ]);
    assert_eq!(again["state"], "outcome_unknown", "{again}");
    assert_eq!(
        bed.deliveries(),
        sent,
        "an order to send waits for a server"
    );
    assert_eq!(folder.json(&["review"])["items"], serde_json::json!([]));
}
