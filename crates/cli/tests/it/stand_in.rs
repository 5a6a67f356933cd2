//! `factum testbed --stand-in`: an agent's actions against a provider, without an account there.

use crate::support::{Bed, Folder};

/// The configuration of whoever tries a stand-in: it is known to be done with a request soon.
const TICKETS: &str = "operations.\"ticket.create\".assume = { processing_max = { value = \"1 s\", by = \"ana\", \
    reason = \"a stand-in on this machine\" } }\n";

fn desk(bed: &Bed) -> Folder {
    let folder = Folder::new();
    let text = crate::support::configuration(&bed.base)
        .replace("destinations.bed", "destinations.desk")
        .replace("provider = \"testbed\"", "provider = \"zendesk\"")
        .replace("account = \"testbed\"", "account = \"acme\"");
    folder.write("factum.toml", &format!("{text}{TICKETS}"));
    folder
}

#[test]
fn tickets_at_a_stand_in_that_loses_answers_are_opened_once_each() {
    const TICKETS: usize = 30;
    let words = [
        "--stand-in",
        "zendesk.ticket.create",
        "--loss",
        "0.3",
        "--seed",
        "5",
    ];
    let bed = Bed::with(&words);
    let folder = desk(&bed);
    let server = folder.serve();
    let payload = r#"{"ticket":{"subject":"Refund","comment":{"body":"Order 77"}}}"#;
    let ids: Vec<String> = (0..TICKETS)
        .map(|number| {
            let key = format!("order-{number}");
            let words = [
                "submit",
                "desk",
                "ticket.create",
                "--key",
                &key,
                "--payload",
                payload,
            ];
            let status = folder.json(&words);
            status["id"].as_str().unwrap().to_owned()
        })
        .collect();
    for id in &ids {
        let status = folder.status_when(id, |status| {
            status["next"]["do"] == "none" || status["next"]["do"] == "review"
        });
        assert_eq!(status["state"], "succeeded", "{status}");
    }
    let counts = bed.counts();
    assert_eq!(counts["total_effects"], TICKETS, "{counts}");
    assert_eq!(counts["duplicates"], 0, "{counts}");
    let each = counts["by_business"].as_object().unwrap();
    assert!(
        each.len() == TICKETS && each.values().all(|effects| *effects == 1),
        "{counts}"
    );
    assert!(counts["answers_lost"].as_u64().unwrap() > 0, "{counts}");
    server.stop();
}

#[test]
fn people_are_told_which_destination_to_add_and_what_happened_there() {
    let folder = Folder::new();
    let free = [
        "testbed",
        "--listen",
        "127.0.0.1:0",
        "--admin-listen",
        "127.0.0.1:0",
    ];
    let stand_in = [
        "--stand-in",
        "zendesk.ticket.create",
        "--lie",
        "short-window",
    ];
    let child = crate::support::Child::start(folder.command(&[&free[..], &stand_in].concat()));
    assert!(child.line().starts_with("testbed at http://127.0.0.1:"));
    assert!(child.line().contains("factum destination add zendesk"));
    let ledger = child.line();
    let admin = ledger.rsplit(' ').next().unwrap().to_owned();
    let table = folder.run(&["testbed", "ledger", &admin]);
    assert!(table.out.contains("destination"), "{table:?}");
}

#[test]
fn wrong_words_are_refused_with_their_remedy() {
    let folder = Folder::new();
    for (words, code) in [
        (&["--stand-in", "zendesk.ticket.delete"][..], 3),
        (&["--stand-in", "nobody"], 3),
        (&["--lie", "short-window"], 2),
        (
            &["--stand-in", "zendesk.ticket.create", "--lie", "big-one"],
            2,
        ),
        (
            &["--stand-in", "zendesk.comment.add", "--lie", "short-window"],
            2,
        ),
        (&["--callback-url", "http://127.0.0.1:1/x"], 2),
    ] {
        let free = [
            "testbed",
            "--listen",
            "127.0.0.1:0",
            "--admin-listen",
            "127.0.0.1:0",
        ];
        let (got, problem) = folder.refused(&[&free[..], words].concat());
        assert_eq!(got, code, "{words:?}: {problem}");
        assert!(problem["remedy"].is_string(), "{problem}");
    }
}
