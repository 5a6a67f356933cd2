//! One tenant's backlog does not keep another tenant's action waiting: counted where the effects are.

use std::time::Instant;

use serde_json::json;

use crate::support::{Bed, Folder, PATIENCE, configuration};

/// Actions of the first tenant that are due at once.
const MANY: u64 = 2_000;

/// Of these, so many may go before the other tenant's only one. Its turn comes after one of theirs; while it is claimed, marked and
/// carried, the others have four places, and each is taken for as long as the destination keeps its answer.
const BEFORE: usize = 100;

#[test]
fn a_tenant_with_two_thousand_due_actions_keeps_nobody_else_waiting() {
    let (bed, folder) = (
        Bed::with(&["--faults", "late_answer=100,class=effect"]),
        Folder::new(),
    );
    let ours = configuration(&bed.base) + "gate.in_flight_max = 4\n";
    let theirs = ours.replace("[destinations.bed]", "[tenants.acme.destinations.bed]");
    folder.write("factum.toml", &format!("{ours}{theirs}"));
    let server = folder.serve();
    folder.json(&["tenant", "add", "acme", "--about", "Acme Ltd."]);
    folder.json(&["principal", "add", "agent", "--tenant", "acme"]);
    let words = ["token", "add", "agent", "--tenant", "acme"];
    let made = folder.json(&[&words[..], &["--scope", "submit", "--scope", "read"]].concat());
    folder.json(&["admin", "pause"]);
    for n in 0..MANY {
        let body = json!({"destination": "bed", "operation": "key.sync", "key": format!("many-{n}"),
            "payload": {"business": "many"}});
        let answer = server.ask("POST", "/v1/actions", &body).unwrap();
        assert_eq!(answer.status, 201, "{answer:?}");
    }
    let payload = json!({"business": "one"}).to_string();
    let words = [
        "submit",
        "bed",
        "key.sync",
        "--key",
        "one",
        "--payload",
        &payload,
        "--json",
    ];
    let mut command = folder.command(&words);
    command.env("FACTUM_URL", &server.address);
    command.env("FACTUM_TOKEN", made["token"].as_str().unwrap());
    let ran = crate::support::ended(command);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        bed.deliveries(),
        0,
        "nothing is sent before all of them wait"
    );
    folder.json(&["admin", "resume"]);
    let deadline = Instant::now() + PATIENCE;
    let rows = loop {
        let rows = bed.rows();
        if rows.iter().any(|row| row["business"] == "one") {
            break rows;
        }
        assert!(Instant::now() < deadline, "it never came");
    };
    let before = rows
        .iter()
        .take_while(|row| row["business"] != "one")
        .count();
    assert!(before <= BEFORE, "{before} of the others went first");
    let ones = rows.iter().filter(|row| row["business"] == "one").count();
    assert_eq!(ones, 1, "{rows:?}");
}
