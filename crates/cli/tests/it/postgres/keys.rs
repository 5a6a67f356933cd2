//! A new key under load with two workers, the old one let go, and content purged; the database is read as a dump shows it.

use std::time::Instant;

use serde_json::Value;

use super::database::Database;
use super::restored::{settled, submitted};
use super::workers::Workers;
use crate::support::{Bed, PATIENCE};

/// A payload as it stands in a text column.
fn held(business: &str) -> String {
    super::payload("", business)["payload"].to_string()
}

fn rows_of(keys: &Value, number: u64) -> Option<u64> {
    let all = keys["keys"].as_array().unwrap();
    let found = all.iter().find(|key| key["number"] == number)?;
    found["rows"].as_u64()
}

/// Waits until the first key has so many rows; none where it is gone.
fn until_the_first_has(workers: &Workers, rows: Option<u64>) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let keys = workers.here(&["admin", "keys", "list"]);
        if rows_of(&keys, 1) == rows {
            return;
        }
        assert!(Instant::now() < deadline, "it never came: {keys}");
    }
}

#[test]
#[ignore = "needs PostgreSQL; ./test starts one"]
fn a_key_is_rotated_under_load_and_the_old_one_leaves_no_row() {
    let (database, bed) = (Database::make(), Bed::start());
    let workers = Workers::start(&database, &bed, 2);
    let before = submitted(&workers, "before");
    settled(&workers, &bed, &before);
    assert!(database.dumped().contains("~1:1:"), "it can be seen");
    let rotated = workers.here(&["admin", "keys", "rotate"]);
    assert_eq!(rotated["sealing"], 2, "{rotated}");
    // The workers adopt it within seconds, in the midst of these.
    let during = submitted(&workers, "during");
    settled(&workers, &bed, &during);
    until_the_first_has(&workers, Some(0));
    workers.here(&["admin", "keys", "retire", "1"]);
    until_the_first_has(&workers, None);
    let dump = database.dumped();
    assert!(!dump.contains("~1:1:") && dump.contains("~1:2:"));
    // What was sealed before is read, and what comes is sealed with the second.
    settled(&workers, &bed, &before);
    let after = submitted(&workers, "after");
    settled(&workers, &bed, &after);
    let counts = bed.counts();
    assert_eq!(
        (&counts["total_effects"], &counts["deliveries"]),
        (&18.into(), &18.into()),
        "{counts}"
    );
}

#[test]
#[ignore = "needs PostgreSQL; ./test starts one"]
fn purged_content_leaves_the_database_and_its_identity_stays() {
    let (database, bed) = (Database::make(), Bed::start());
    let url = &database.url;
    let store = format!("url = \"{url}\"\nseal = \"off\"\n[retention]\npayload = \"1 ms\"\n");
    let workers = Workers::with(&store, &bed, 2);
    let gone = submitted(&workers, "gone");
    settled(&workers, &bed, &gone);
    workers.command(0, &["admin", "purge"]);
    // Of the payloads only keyed hashes of the members that are compared.
    let dump = database.dumped();
    assert!(!dump.contains(&held("gone-0")) && dump.contains("/payload/business"));
    for (key, (operation, id)) in &gone {
        assert_eq!(workers.submit(1, operation, key), *id, "{key} joins");
    }
    assert_eq!(bed.deliveries(), 6);
}
