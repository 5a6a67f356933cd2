//! Situations from the field, cleared as somebody would who sees the console for the first time: from an action's page alone they learn
//! what is not known and what to search for, look into the destination's own list for that, and say what they find. What really happened
//! is counted in the testbed's ledger.

use factum_faults::FaultPlan;
use factum_testbed::{Config, Filter, Handle, Testbed};
use serde_json::json;

use crate::browsing::{Browser, value_of};
use crate::world::{TOKEN, World, at};

/// Nothing lingers long.
const SHORT: &str = "limits = { send_wait = \"1 s\", write = \"1 s\", answer_wait = \"1 s\", linger = \"10 ms\", pause_margin = \"50 ms\", \
                     skew = \"0 ms\", backoff = \"50 ms\", backoff_max = \"200 ms\" }\ngate = { circuit_failures = 0 }";

/// The case, what goes wrong, what the page has to say about it, and whether the destination acted.
const SITUATIONS: &[(&str, &str, &str, bool)] = &[
    // A server error although it was created.
    (
        "B01",
        "status=500",
        "answered with 500: nothing that says whether it was done",
        true,
    ),
    // No answer within the caller's patience.
    ("B02", "close_fin", "left, and no answer came back", true),
    // The answer broke off before the new id was stored.
    ("B08", "cut_body", "answer", true),
    // A chat without a key, and the answer is lost.
    ("B11", "close_rst", "left, and no answer came back", true),
    // Success without a body.
    (
        "B17",
        "empty_2xx",
        "answered with 200: nothing that says whether it was done",
        true,
    ),
    // A redirect that nobody may follow.
    (
        "B19",
        "redirect=307",
        "answered with 307: nothing that says whether it was done",
        true,
    ),
    // A gateway that gave up waiting.
    (
        "B22",
        "status=504",
        "answered with 504: nothing that says whether it was done",
        true,
    ),
    // A page of somebody in between instead of the answer.
    (
        "B49",
        "garbage",
        "answered with 200: nothing that says whether it was done",
        true,
    ),
    // A gateway's error, of which nobody knows on which side of the work it arose.
    (
        "B50",
        "status=502",
        "answered with 502: nothing that says whether it was done",
        true,
    ),
    // The same as a lost answer from here, and nothing was made.
    (
        "B112",
        "close_after_read",
        "left, and no answer came back",
        false,
    ),
];

async fn testbed(fault: &str) -> Handle {
    let faults = FaultPlan::parse(7, &format!("{fault},class=effect")).expect("a fault");
    let config = Config {
        faults,
        ..Config::default()
    };
    Testbed::start(config).await.expect("it starts")
}

/// What somebody does who has only the page: searches the destination's list for the mark that it names.
fn looked_up(page: &str, testbed: &Handle) -> (&'static str, Option<String>) {
    let (_, after) = page
        .split_once("Our mark in it")
        .expect("it says what to search for");
    let mark = after.split("<code data-copy>").nth(1).expect("a mark");
    let mark = mark.split('<').next().expect("it ends");
    let rows = testbed.ledger().rows(&Filter::default());
    let mut found = rows
        .into_iter()
        .filter(|row| row.reference.as_deref() == Some(mark));
    match found.find_map(|row| row.id) {
        Some(id) => ("happened", Some(id)),
        None => ("did_not_happen", None),
    }
}

#[tokio::test]
async fn each_leads_to_the_right_verdict_from_the_page_alone() {
    for (case, fault, says, acted) in SITUATIONS {
        let testbed = testbed(fault).await;
        let config = format!(
            "[destinations.desk]\nprovider = \"testbed\"\nbase = \"{}\"\n{SHORT}\n",
            testbed.base_url()
        );
        let world = World::with(&config, |limits| limits).await;
        let wish = json!({
            "destination": "desk", "operation": "neither.sync", "key": *case, "payload": {"business": *case}, "summary": "Printer on fire",
        });
        let status = world.settled(&wish).await;
        let browser = Browser::signed_in(&world, TOKEN).await;
        let queue = browser.get("/review").await;
        assert!(
            queue.text.contains("Printer on fire"),
            "{case}: {}",
            queue.text
        );
        let target = format!("/actions/{}", status["id"].as_str().expect("an id"));
        let page = browser.get(&target).await.text;
        assert!(page.contains(says), "{case}: {page}");
        assert!(page.contains("What we do not know"), "{case}: {page}");
        let (verdict, receipt) = looked_up(&page, &testbed);
        let seen = value_of(&page, "seen");
        let mut said = vec![
            ("seen", seen.as_str()),
            ("verdict", verdict),
            ("why", "their list"),
            ("confirm", "yes"),
        ];
        said.extend(receipt.as_deref().map(|receipt| ("receipt", receipt)));
        let ruled = browser.post(&format!("{target}/verdict"), &said).await;
        assert_eq!(ruled.status, 303, "{case}: {}", ruled.text);
        let after = world.get(&format!("{}?wait=30", at(&status))).await.json();
        let counts = testbed.ledger().counts(&Filter::default());
        let wanted = if *acted {
            ("succeeded", 1)
        } else {
            ("terminal_failure", 0)
        };
        assert_eq!(
            (after["state"].as_str(), counts.total_effects),
            (Some(wanted.0), wanted.1),
            "{case}: {after}"
        );
        assert_eq!(counts.deliveries, 1, "{case}: nothing more was sent");
    }
}
