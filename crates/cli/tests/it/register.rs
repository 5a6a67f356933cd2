//! `factum tenant | principal | grant | token`: from nothing to a token that sends, and to its end.

use serde_json::{Value, json};

use crate::support::{Bed, Folder, Ran, Server, business, configuration, ended};

/// A folder in which the tenant `acme` has the testbed as `bed`.
fn folder_of_acme(bed: &Bed) -> Folder {
    let folder = Folder::new();
    let ours = configuration(&bed.base);
    let theirs = ours.replace("[destinations.bed]", "[tenants.acme.destinations.bed]");
    folder.write("factum.toml", &theirs);
    folder
}

/// The command, as somebody who has only an address and this token.
fn with_token(folder: &Folder, server: &Server, token: &str, words: &[&str]) -> Ran {
    let mut command = folder.command(&[words, &["--json"]].concat());
    command.env("FACTUM_URL", &server.address);
    command.env("FACTUM_TOKEN", token);
    ended(command)
}

/// Makes the tenant, its agent, a grant for one operation, and a token under that.
fn token_of_agent(folder: &Folder) -> String {
    folder.json(&["tenant", "add", "acme", "--about", "Acme Ltd."]);
    folder.json(&["principal", "add", "agent", "--tenant", "acme"]);
    folder.json(&[
        "grant",
        "add",
        "night",
        "--tenant",
        "acme",
        "--principal",
        "agent",
        "--operation",
        "key.sync",
    ]);
    let made = folder.json(&[
        "token", "add", "agent", "--tenant", "acme", "--grant", "night", "--scope", "submit",
        "--scope", "read",
    ]);
    made["token"].as_str().unwrap().to_owned()
}

fn standing(value: &Value) -> &str {
    value["standing"].as_str().unwrap()
}

#[test]
fn a_token_under_a_grant_sends_until_the_grant_is_revoked() {
    let bed = Bed::with(&[]);
    let folder = folder_of_acme(&bed);
    let server = folder.serve();
    let token = token_of_agent(&folder);

    let payload = business("order-77").to_string();
    let words = [
        "submit",
        "bed",
        "key.sync",
        "--key",
        "order-77",
        "--payload",
        &payload,
        "--wait",
        "30s",
    ];
    let done = with_token(&folder, &server, &token, &words);
    assert_eq!((done.code, &done.json()["state"]), (0, &json!("succeeded")));
    let beyond = words.map(|word| {
        if word == "key.sync" {
            "neither.sync"
        } else {
            word
        }
    });
    let refused = with_token(&folder, &server, &token, &beyond);
    assert!(
        refused.code != 0 && refused.err.contains("F1062"),
        "{refused:?}"
    );

    folder.json(&[
        "grant",
        "revoke",
        "night",
        "--tenant",
        "acme",
        "--why",
        "the trial is over",
    ]);
    let again = words.map(|word| if word == "order-77" { "order-78" } else { word });
    let refused = with_token(&folder, &server, &token, &again);
    assert!(
        refused.code != 0 && refused.err.contains("F1022"),
        "{refused:?}"
    );
    let shown = folder.json(&["grant", "show", "night", "--tenant", "acme"]);
    let history = shown["history"].as_array().unwrap();
    assert_eq!((standing(&shown), history.len()), ("revoked", 2), "{shown}");
    assert!(
        history
            .iter()
            .any(|version| version["why"] == "the trial is over" && version["by"] == "ana")
    );
    assert_eq!((bed.effects("order-77"), bed.deliveries()), (1, 1));
    server.stop();
}

#[test]
fn a_token_is_shown_once_and_rotated_without_a_gap() {
    let bed = Bed::with(&[]);
    let folder = Folder::with(&bed);
    let server = folder.serve();
    folder.json(&["principal", "add", "desk"]);
    let first = folder.json(&["token", "add", "desk", "--scope", "read"]);
    let (name, old) = (
        first["name"].as_str().unwrap(),
        first["token"].as_str().unwrap(),
    );
    let second = folder.json(&["token", "rotate", name, "--overlap", "2h"]);
    let new = second["token"].as_str().unwrap();
    for token in [old, new] {
        let listed = with_token(&folder, &server, token, &["list"]);
        assert_eq!(listed.code, 0, "{listed:?}");
    }
    let listed = folder.run(&["token", "list", "--json"]).out;
    assert!(listed.contains(name), "{listed}");
    assert!(
        !listed.contains(old) && !listed.contains(new),
        "what was shown once stands in no list"
    );

    folder.json(&["token", "revoke", name, "--why", "moved"]);
    assert_ne!(with_token(&folder, &server, old, &["list"]).code, 0);
    assert_eq!(with_token(&folder, &server, new, &["list"]).code, 0);
    server.stop();
    let (_, problem) = folder.refused(&["token", "list"]);
    assert!(
        problem["remedy"].as_str().unwrap().contains("factum serve"),
        "{problem}"
    );
}
