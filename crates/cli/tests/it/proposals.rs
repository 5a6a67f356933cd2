//! `factum propose | approve | decline | proposal`: from an agent's wish to one effect, over a lost answer; and no effect once what was
//! approved is not what would be sent.

use serde_json::{Value, json};

use crate::support::{Bed, Folder, Ran, Server, business, configuration, ended};

const POLICY: &str =
    "operations.\"key.sync\".approval = { required = \"always\", reason = true }\n";

/// Somebody with an address and a token of their own.
struct Person<'a> {
    folder: &'a Folder,
    address: String,
    token: String,
}

impl<'a> Person<'a> {
    /// Makes the principal and the token.
    fn make(folder: &'a Folder, server: &Server, name: &str, scope: &str) -> Self {
        folder.json(&["principal", "add", name]);
        let made = folder.json(&["token", "add", name, "--scope", scope, "--scope", "read"]);
        Self {
            folder,
            address: server.address.clone(),
            token: made["token"].as_str().unwrap().to_owned(),
        }
    }

    fn run(&self, words: &[&str]) -> Ran {
        let mut command = self.folder.command(&[words, &["--json"]].concat());
        command.env("FACTUM_URL", &self.address);
        command.env("FACTUM_TOKEN", &self.token);
        ended(command)
    }

    fn json(&self, words: &[&str]) -> Value {
        let ran = self.run(words);
        assert_eq!(ran.code, 0, "{words:?}: {ran:?}");
        ran.json()
    }
}

fn folder_of(bed: &Bed, account: &str) -> Folder {
    let folder = Folder::new();
    write(&folder, bed, account);
    folder
}

fn write(folder: &Folder, bed: &Bed, account: &str) {
    let text = configuration(&bed.base)
        .replace("account = \"testbed\"", &format!("account = {account:?}"));
    folder.write("factum.toml", &format!("{text}{POLICY}"));
}

fn at_rest(status: &Value) -> bool {
    matches!(status["next"]["do"].as_str(), Some("none" | "review"))
}

/// The agent's answer to the first request is lost; what was approved is sent again by its key, and there is one effect.
#[test]
fn what_is_approved_has_one_effect_over_a_lost_answer() {
    let bed = Bed::with(&["--faults", "close_fin,class=effect,n=1"]);
    let folder = folder_of(&bed, "testbed");
    let server = folder.serve();
    let agent = Person::make(&folder, &server, "agent", "submit");
    let boss = Person::make(&folder, &server, "boss", "approve");
    let payload = business("order-77").to_string();
    let wish = [
        "bed",
        "key.sync",
        "--key",
        "order-77",
        "--payload",
        &payload,
    ];
    let refused = agent.run(&[&["submit"], &wish[..]].concat());
    assert!(
        refused.code != 0 && refused.err.contains("F1080"),
        "{refused:?}"
    );
    let made = agent.json(&[&["propose"], &wish[..]].concat());
    let id = made["proposal"]["id"].as_str().unwrap();
    let waiting = boss.json(&["proposal", "list", "--state", "pending"]);
    assert_eq!(waiting["proposals"][0]["id"], id);
    let shown = boss.json(&["proposal", "show", id]);
    let digest = shown["digest"].as_str().unwrap();
    assert!(
        shown["request"]["body"]
            .as_str()
            .unwrap()
            .contains("order-77"),
        "{shown}"
    );
    let approve = ["approve", id, "--digest", digest, "--reason", "it is right"];
    let own = agent.run(&approve);
    assert!(own.code != 0 && own.err.contains("F1060"), "{own:?}");
    let approved = boss.json(&approve);
    let action = approved["action"]["id"].as_str().unwrap();
    assert_eq!(
        boss.json(&approve)["action"]["id"],
        action,
        "a repeat gets the same"
    );
    let rested = folder.status_when(action, at_rest);
    assert_eq!(rested["state"], "succeeded", "{rested}");
    assert_eq!((bed.effects("order-77"), bed.deliveries()), (1, 2));
    server.stop();
}

/// R23, over processes: the account that is configured now is not the one that was approved.
#[test]
fn another_account_than_was_approved_stops_the_send() {
    let bed = Bed::start();
    let folder = folder_of(&bed, "testbed");
    let server = folder.serve();
    let agent = Person::make(&folder, &server, "agent", "submit");
    let boss = Person::make(&folder, &server, "boss", "approve");
    let payload = business("order-78").to_string();
    let made = agent.json(&[
        "propose",
        "bed",
        "key.sync",
        "--key",
        "order-78",
        "--payload",
        &payload,
    ]);
    let proposal = &made["proposal"];
    folder.json(&["admin", "pause"]);
    let words = ["approve", proposal["id"].as_str().unwrap(), "--digest"];
    let digest = [
        proposal["digest"].as_str().unwrap(),
        "--reason",
        "it is right",
    ];
    let approved = boss.json(&[&words[..], &digest[..]].concat());
    let action = approved["action"]["id"].as_str().unwrap().to_owned();
    server.stop();
    write(&folder, &bed, "another");
    let server = folder.serve();
    folder.json(&["admin", "resume"]);
    let rested = folder.status_when(&action, at_rest);
    assert_eq!(
        (&rested["state"], &rested["happened"]),
        (&json!("cancelled"), &json!("no"))
    );
    let log = folder.json(&["evidence", &action]).to_string();
    assert!(log.contains("the account has changed since pro_"), "{log}");
    assert_eq!((bed.effects("order-78"), bed.deliveries()), (0, 0));
    server.stop();
}
