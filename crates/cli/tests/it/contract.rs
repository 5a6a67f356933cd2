//! `factum contract`: lint, test, list, show, explain, schema, new. Nothing is sent, and no file is changed.

use serde_json::Value;

use crate::support::Folder;

const BROKEN: &str = "provider = \"acme\"\noperation = \"ticket.create\"\ntitle = \"Open\"\nconsequence = \"awful\"\n\n\
    [effect]\npath = \"/t\"\nspeed = 1\n\n[[answers]]\nwhen = { status = 201 }\nclass = \"done\"\n\
    receipt = { json = \"/id\" }\n";

/// A folder with a contract that is as `new` prints it.
fn with_template() -> Folder {
    let folder = Folder::new();
    let made = folder.json(&["contract", "new", "acme", "ticket.create"]);
    assert_eq!(made["path"], "contracts/acme/ticket.create.toml");
    folder.write(
        "contracts/acme/ticket.create.toml",
        made["text"].as_str().unwrap(),
    );
    folder
}

#[test]
fn every_command_has_help_with_an_example() {
    let folder = Folder::new();
    for word in [
        "lint", "test", "list", "show", "explain", "schema", "new", "probe",
    ] {
        let help = folder.run(&["contract", word, "--help"]);
        assert_eq!(help.code, 0, "{word}");
        let example = format!("factum contract {word}");
        assert!(help.out.contains(&example), "{word}: {}", help.out);
    }
    let explain = folder.run(&["explain", "outcome_unknown"]);
    assert_eq!(
        explain.code, 0,
        "the pages of `factum explain` stay where they are"
    );
}

#[test]
fn a_new_contract_lints_clean_and_its_examples_hold() {
    let folder = with_template();
    let linted = folder.json(&["contract", "lint", "contracts"]);
    assert_eq!(
        (&linted["files"], &linted["errors"]),
        (&1.into(), &0.into()),
        "{linted}"
    );
    let tested = folder.run(&["contract", "test", "contracts/acme/ticket.create.toml"]);
    assert_eq!(tested.code, 0, "{tested:?}");
    let (code, _) = folder.refused(&["contract", "new", "../acme", "ticket.create"]);
    assert_eq!(code, 2);
}

/// The template's text with its commented parts as the contract's own.
#[test]
fn what_the_template_offers_in_comments_is_in_the_language_too() {
    let folder = with_template();
    let text = folder.read("contracts/acme/ticket.create.toml");
    let member = |line: &str| line.contains(" = ") || line.starts_with('[');
    let lines = text.lines().map(|line| match line.strip_prefix("# ") {
        Some(rest) if member(rest) && !rest.starts_with(char::is_uppercase) => rest,
        _ => line,
    });
    let lines: Vec<_> = lines.collect();
    folder.write("contracts/acme/ticket.create.toml", &lines.join("\n"));
    let linted = folder.json(&["contract", "lint", "contracts"]);
    assert_eq!(linted["errors"], 0, "{linted:#}");
    let text = lines.join("\n");
    assert!(
        text.contains("\n[lookup]\n") && text.contains("\n[key.repeat]\n"),
        "{text}"
    );
}

#[test]
fn lint_shows_every_error_at_its_place_with_a_caret_and_a_remedy() {
    let folder = Folder::new();
    folder.write("contracts/acme/ticket.create.toml", BROKEN);
    let ran = folder.run(&["contract", "lint", "contracts"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.out.contains("ticket.create.toml:4:15: /consequence"),
        "{ran:?}"
    );
    assert!(
        ran.out.contains("ticket.create.toml:8:1: /effect/speed"),
        "{ran:?}"
    );
    assert!(
        ran.out.contains("^^^^^") && ran.out.contains("\n  = "),
        "{ran:?}"
    );
    let rows = folder.run(&["contract", "lint", "contracts", "--json"]);
    assert_eq!(rows.code, 1);
    let rows = rows.json();
    let findings = rows["findings"].as_array().unwrap();
    assert!(findings.len() >= 2, "all at once: {rows:#}");
    assert_eq!(rows["errors"], findings.len());
    for member in [
        "severity", "file", "line", "column", "member", "rule", "message", "remedy",
    ] {
        assert!(!findings[0][member].is_null(), "{member}: {rows:#}");
    }
}

#[test]
fn a_provider_that_is_wrong_is_said_once() {
    let folder = with_template();
    folder.write("contracts/acme/provider.toml", "provider = \"acme\"\n");
    let rows = folder.run(&["contract", "lint", "contracts", "--json"]);
    assert_eq!(rows.code, 1, "{rows:?}");
    let rows = rows.json();
    assert_eq!(rows["errors"], 1, "{rows:#}");
    let file = rows["findings"][0]["file"].as_str().unwrap();
    assert!(file.ends_with("provider.toml"), "{file}");
    let alone = folder.run(&["contract", "lint", "contracts/acme/ticket.create.toml"]);
    assert_eq!(
        alone.code, 1,
        "one file alone is refused for its provider's sake: {alone:?}"
    );
    let (code, _) = folder.refused(&["contract", "lint", "no/such/folder"]);
    assert_eq!(code, 3);
}

#[test]
fn an_example_that_does_not_hold_is_a_finding() {
    let folder = with_template();
    let text = folder.read("contracts/acme/ticket.create.toml");
    let wrong = text.replace("receipt = \"t-1\"", "receipt = \"t-2\"");
    assert_ne!(text, wrong);
    folder.write("contracts/acme/ticket.create.toml", &wrong);
    let ran = folder.run(&["contract", "test", "contracts/acme"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("t-2"), "{ran:?}");
    let builtin = folder.json(&["contract", "test", "zendesk"]);
    assert!(builtin["contracts"].as_u64().unwrap() > 1, "{builtin}");
    assert_eq!(folder.refused(&["contract", "test", "zendesk.no"]).0, 3);
}

#[test]
fn the_list_has_a_row_per_operation_and_can_be_narrowed() {
    let folder = Folder::new();
    let rows = folder.json(&["contract", "list"]);
    let rows = rows.as_array().unwrap();
    assert!(rows.len() > 30);
    for row in rows {
        for member in ["provider", "operation", "class", "grade", "sources"] {
            assert!(row.get(member).is_some(), "{member}: {row}");
        }
    }
    let only = |words: &[&str]| folder.json(&[&["contract", "list"], words].concat());
    let lookups = only(&["--class", "d"]);
    let lookups = lookups.as_array().unwrap();
    assert!(!lookups.is_empty() && lookups.len() < rows.len());
    assert!(lookups.iter().all(|row| row["class"] == "D"));
    let stripe = only(&["--provider", "stripe"]);
    assert!(
        stripe
            .as_array()
            .unwrap()
            .iter()
            .all(|row| row["provider"] == "stripe")
    );
    assert_eq!(
        folder
            .refused(&["contract", "list", "--provider", "nobody"])
            .0,
        3
    );
    assert_eq!(folder.refused(&["contract", "list", "--class", "F"]).0, 2);
    let table = folder.run(&["contract", "list", "--provider", "redmine"]);
    assert!(table.out.contains("redmine.issue.create"), "{table:?}");
}

#[test]
fn a_page_says_what_is_promised_by_whom_and_what_a_lost_answer_means() {
    let folder = Folder::new();
    let page = folder.run(&["contract", "show", "stripe.charge.create"]);
    assert_eq!(page.code, 0, "{page:?}");
    for says in [
        "class A",
        "After a lost answer",
        "costly*",
        "irreversible ",
        "https://",
        "unknown ",
    ] {
        assert!(page.out.contains(says), "{says}: {}", page.out);
    }
    let value = folder.json(&["contract", "show", "stripe.charge.create"]);
    for word in ["harmless", "reversible", "costly", "irreversible"] {
        let after = &value["after_lost_answer"][word];
        assert!(!after["decisions"].as_array().unwrap().is_empty(), "{word}");
    }
    let (code, problem) = folder.refused(&["contract", "show", "stripe.charge"]);
    assert_eq!(code, 3);
    let remedy = problem["remedy"].as_str().unwrap();
    assert!(remedy.contains("stripe.charge.create"), "{problem}");
}

fn explained(folder: &Folder, words: &[&str]) -> Value {
    folder.json(&[&["contract", "explain"], words].concat())
}

#[test]
fn the_same_key_is_used_inside_its_window_and_not_after_it() {
    let folder = Folder::new();
    let lost = ["testbed.key.sync", "--after", "lost-answer"];
    let inside = explained(&folder, &lost);
    let first = &inside["decisions"][0];
    assert_eq!(first["permission"], "same_key", "{inside:#}");
    assert!(first["not_after_ms"].as_u64().unwrap() > 0);
    assert_eq!(inside["state"], "succeeded");
    let over = explained(&folder, &[&lost[..], &["--at", "+2000h"]].concat());
    assert_eq!(over["decisions"][0]["do"], "review", "{over:#}");
    assert_eq!(over["happened"], "unknown");
    let text = folder.run(&[
        "contract", "explain", lost[0], lost[1], lost[2], "--at", "+5 s",
    ]);
    assert!(text.out.contains("send again at +5 s"), "{text:?}");
    assert!(
        text.out.contains("because ") && text.out.contains("permission same_key"),
        "{text:?}"
    );
}

#[test]
fn consequence_and_what_lookups_show_change_what_is_decided() {
    let folder = Folder::new();
    let lost = ["testbed.neither.sync", "--after", "lost-answer"];
    assert_eq!(explained(&folder, &lost)["decisions"][0]["do"], "review");
    let harmless = explained(
        &folder,
        &[&lost[..], &["--consequence", "harmless"]].concat(),
    );
    assert_eq!(
        harmless["decisions"][0]["permission"], "harmless",
        "{harmless:#}"
    );
    let lookup = ["testbed.lookup.sync", "--after", "lost-answer"];
    assert_eq!(explained(&folder, &lookup)["state"], "succeeded");
    let absent = explained(&folder, &[&lookup[..], &["--shown", "absent"]].concat());
    let sent = absent["decisions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|step| step["do"] == "send");
    assert_eq!(sent.unwrap()["permission"], "proven_absent", "{absent:#}");
    for (after, state) in [
        ("not-sent", "succeeded"),
        ("rejected", "terminal_failure"),
        ("mismatch", "outcome_unknown"),
        ("done", "succeeded"),
    ] {
        let played = explained(&folder, &["testbed.key.sync", "--after", after]);
        assert_eq!(played["state"], state, "{after}: {played:#}");
    }
    for wrong in ["+25", "soon"] {
        let words = [&["contract", "explain"], &lost[..], &["--at", wrong]].concat();
        assert_eq!(folder.refused(&words).0, 2, "{wrong}");
    }
}

#[test]
fn the_schemas_name_the_sections_and_let_no_other_member_pass() {
    let folder = Folder::new();
    let operation = folder.json(&["contract", "schema"]);
    assert_eq!(operation["additionalProperties"], false);
    for section in ["effect", "key", "answers", "lookup", "poll", "callback"] {
        assert!(operation["properties"][section].is_object(), "{section}");
    }
    let provider = folder.json(&["contract", "schema", "--provider"]);
    assert!(provider["properties"]["auth"].is_object());
    let text = folder.run(&["contract", "schema"]);
    assert!(
        text.out.starts_with("{\n"),
        "it is for a file, and readable"
    );
}

// A contract of one's own lies over the catalogue.
#[test]
fn contracts_of_ones_own_are_listed_beside_the_catalogue() {
    let folder = with_template();
    folder.write("factum.toml", "contracts = \"contracts\"\n");
    let rows = folder.json(&["contract", "list", "--provider", "acme"]);
    assert_eq!(rows[0]["operation"], "ticket.create", "{rows}");
    let shown = folder.run(&["contract", "show", "acme.ticket.create"]);
    assert_eq!(shown.code, 0, "{shown:?}");
}
