//! An incident at a destination that can tell nothing: forty answers are lost, and what really happened is cleared by its own export.

use std::collections::BTreeSet;
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::{Bed, Folder, PATIENCE, business};

const ALL: usize = 40;
const HAPPENED: usize = 27;

/// The testbed's own list of what exists there, as a person would export it.
fn export(bed: &Bed) -> String {
    let rows = bed.rows();
    let exist = rows.iter().filter_map(|row| {
        let (id, reference) = (row["id"].as_str()?, row["reference"].as_str()?);
        let business = row["business"].as_str()?;
        Some(format!("{id};{reference};{business}"))
    });
    let exist: BTreeSet<String> = exist.collect();
    assert_eq!(exist.len(), HAPPENED, "{rows:?}");
    let lines: Vec<String> = exist.into_iter().collect();
    format!("ticket;external reference;subject\n{}\n", lines.join("\n"))
}

/// A line of a file of submissions.
fn submission(name: &str) -> String {
    let payload = business(name);
    json!({"destination": "bed", "operation": "neither.sync", "key": name, "payload": payload})
        .to_string()
}

/// Every action, once nothing more comes of any by itself.
fn when_settled(folder: &Folder) -> Vec<Value> {
    let until = Instant::now() + PATIENCE;
    loop {
        let listed = folder.json(&["list", "--limit", "200"]);
        let all = listed["actions"].as_array().unwrap();
        if all.iter().all(|status| status["next"]["do"] == "none") {
            return all.clone();
        }
        assert!(Instant::now() < until, "{listed}");
    }
}

/// An incident leaves many unknown, and nobody rules on each by hand.
#[test]
fn forty_unknowns_are_cleared_by_the_destinations_own_export() {
    // Of the first twenty-seven the answer is lost, of the others the request, and no caller can tell which.
    let faults = format!("close_fin,class=effect,n=1-{HAPPENED};close_after_read,class=effect");
    let bed = Bed::with(&["--faults", &faults]);
    let folder = Folder::with(&bed);
    let server = folder.serve();
    let lines: Vec<String> = (0..ALL).map(|n| submission(&format!("n{n}"))).collect();
    folder.write("actions.jsonl", &lines.join("\n"));
    let words = [
        "submit",
        "--file",
        "actions.jsonl",
        "--wait",
        "60s",
        "--json",
    ];
    let submitted = folder.run(&words).json();
    assert_eq!(
        submitted["states"],
        json!({"outcome_unknown": ALL}),
        "{submitted}"
    );
    let sent = bed.deliveries();
    folder.write("export.csv", &export(&bed));
    let words = [
        "review",
        "match",
        "--destination",
        "bed",
        "--export",
        "export.csv",
        "--receipt",
        "ticket",
        "--complete",
    ];
    let found = folder.json(&words);
    let by = |word: &str| {
        let all = found["proposals"].as_array().unwrap().iter();
        all.filter(|one| one["by"] == word).count()
    };
    assert_eq!(
        (by("mark"), by("absence")),
        (HAPPENED, ALL - HAPPENED),
        "{found}"
    );
    assert_eq!(found["unclear"], json!([]));

    let confirm = ["--confirm", "--why", "their export of today"];
    let ruled = folder.json(&[&words[..], &confirm].concat());
    let refused = ruled["results"].as_array().unwrap().iter();
    assert_eq!(
        refused.filter(|one| one["problem"].is_object()).count(),
        0,
        "{ruled}"
    );
    let settled = when_settled(&folder);
    assert_eq!(settled.len(), ALL);
    for status in &settled {
        let name = status["key"].as_str().unwrap();
        let exists = bed.effects(name) == 1;
        let wanted = if exists {
            "succeeded"
        } else {
            "terminal_failure"
        };
        assert_eq!(status["state"], wanted, "{name}: {status}");
        let receipt: &Value = &status["receipt"]["reference"];
        assert_eq!(receipt.is_string(), exists, "{name}");
    }
    assert_eq!(bed.deliveries(), sent, "nobody sent anything");
    assert_eq!(folder.json(&["review"])["items"], json!([]));
    server.stop();
}

#[test]
fn an_item_is_taken_noted_and_given_back_from_the_terminal() {
    let bed = Bed::with(&["--faults", "close_fin,class=effect"]);
    let folder = Folder::with(&bed);
    let server = folder.serve();
    let made = folder.submit("neither.sync", "b1", &business("b1"));
    let id = made["id"].as_str().unwrap().to_owned();
    folder.status_when(&id, |status| status["next"]["do"] == "review");
    folder.json(&["review", "take", &id]);
    assert_eq!(
        folder.json(&["review", "list", "--order", "urgent"])["items"][0]["taken_by"],
        "ana"
    );
    let (_, problem) = folder.refused(&[
        "review",
        "verdict",
        &id,
        "cannot_be_known",
        "--why",
        "x",
        "--by",
        "ben",
    ]);
    assert_eq!(problem["code"], "F1110");
    folder.json(&["review", "note", &id, "asked their support"]);
    let shown = folder.json(&["review", "show", &id]);
    assert_eq!(
        shown["evidence"].as_array().unwrap().last().unwrap()["fact"],
        "noted"
    );
    folder.json(&["review", "release", &id]);
    let checked = folder.json(&["review", "check-again", &id]);
    assert_eq!(
        checked["results"][0]["problem"]["code"], "F1021",
        "nothing can be asked there"
    );
    let span = [
        "--from",
        "2020-01-01T00:00:00Z",
        "--until",
        "2099-01-01T00:00:00Z",
    ];
    let words = [
        &[
            "review",
            "incident",
            "--destination",
            "bed",
            "cannot_be_known",
            "--why",
            "gone",
        ][..],
        &span,
    ]
    .concat();
    let shown = folder.json(&words);
    assert_eq!(shown["items"][0]["action"], id);
    let digest = shown["digest"].as_str().unwrap();
    let ruled = folder.json(&[&words[..], &["--confirm", digest]].concat());
    assert_eq!(ruled["results"][0]["state"], "outcome_unknown");
    assert_eq!(folder.json(&["review"])["items"], json!([]));
    assert_eq!(bed.effects("b1"), 1);
    server.stop();
}
