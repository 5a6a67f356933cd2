//! Canaries: a text of its own in every place where a stranger's content, a credential or a person's words can stand, and a search
//! for each of them in every byte that comes out: answers, the terminal, logs and traces at their loudest, metrics, the store's
//! files with their log or a dump of its database, backup and export, and the pages for people. Each has the list of places where it may be; in all others it is a leak.

mod console;
mod contracts;
mod story;
mod talkative;

use std::collections::BTreeMap;

use story::{Place, Story};

use Place::{Export, Far, Kept, Managed, Problems, Told, Webhook};

/// The text of a canary: nothing escapes it, and nothing else looks like it.
fn plant(name: &str) -> String {
    format!("canary0{}0yrc", name.replace('_', "0"))
}

/// Where each canary may be, and is: one that is in none of its places was never planted.
const MAY: &[(&str, &[Place])] = &[
    // What a caller hands in goes to the destination, and to whoever exports the whole store.
    ("payload", &[Far, Export]),
    ("member", &[Far, Export]),
    ("param", &[Far, Export]),
    ("tool", &[Far, Export]),
    // What a contract lets be shown, what callers write for people, and what people write.
    ("title", &[Far, Export, Told]),
    ("summary", &[Export, Told, Webhook]),
    ("asked", &[Export, Told]),
    ("note", &[Export, Told]),
    ("verdict", &[Export, Told]),
    ("hold", &[Export, Managed, Kept]),
    ("erasure", &[Export, Told]),
    // What destinations say: their reason is what a caller is told, the listed member is kept, and no more.
    ("refusal", &[Export, Told, Webhook]),
    ("captured", &[Export]),
    ("answer", &[]),
    ("answer_header", &[]),
    ("found", &[]),
    ("report", &[Export, Managed]),
    // Credentials go where they belong.
    ("bearer", &[Far]),
    ("api_key", &[Far]),
    ("hmac", &[]),
    ("callback_secret", &[]),
    ("made_token", &[]),
    ("admin_token", &[]),
    ("webhook_secret", &[]),
    ("webhook_address", &[Webhook, Managed, Export]),
    // What is refused is told to whoever sent it.
    ("bad_member", &[Problems]),
    ("bad_body", &[]),
    ("bad_token", &[]),
    ("bad_path", &[]),
    ("bad_query", &[Problems]),
    ("bad_header", &[]),
];

/// Planted by nobody's hand: only that they are nowhere can be seen.
const NOWHERE: &[&str] = &[
    "answer",
    "answer_header",
    "found",
    "hmac",
    "callback_secret",
    "made_token",
    "admin_token",
    "webhook_secret",
    "bad_body",
    "bad_token",
    "bad_path",
    "bad_header",
];

#[test]
fn a_canary_is_found_where_it_may_be_and_nowhere_else() {
    look_for_them(&Story::play(None));
}

mod postgres {
    use super::story::Story;
    use crate::postgres::database::Database;

    #[test]
    #[ignore = "needs PostgreSQL; ./test starts one"]
    fn a_canary_is_found_in_no_database_where_it_may_not_be() {
        super::look_for_them(&Story::play(Some(Database::make())));
    }
}

fn look_for_them(story: &Story) {
    let mut leaks = Vec::new();
    let mut seen: BTreeMap<&str, Vec<Place>> = BTreeMap::new();
    for (name, may) in MAY {
        let text = story.text_of(name);
        for (place, label, output) in &story.output {
            let Some(context) = found(output, &text) else {
                continue;
            };
            seen.entry(name).or_default().push(*place);
            if !may.contains(place) {
                leaks.push(format!("{name} in {place:?} ({label}): …{context}…"));
            }
        }
    }
    assert!(
        leaks.is_empty(),
        "{} leaks:\n{}",
        leaks.len(),
        leaks.join("\n")
    );
    for (name, may) in MAY {
        let places = seen.get(name).map_or(&[][..], Vec::as_slice);
        assert!(
            places.is_empty() == NOWHERE.contains(name),
            "{name} may be in {may:?}, and was found in {places:?}"
        );
    }
}

/// What stands around a text: as it is, in hexadecimal, or in base64 wherever it begins.
fn found<'a>(output: &'a str, text: &str) -> Option<&'a str> {
    let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    let encoded = (0..3).map(|shift| {
        let padded = format!("{}{text}", "-".repeat(shift));
        let whole = factum_contract::base64::encode(padded.as_bytes());
        // What depends on its neighbours is left out.
        whole[4..whole.len() - 4].to_owned()
    });
    let mut forms = [text.to_owned(), hex].into_iter().chain(encoded);
    let at = forms.find_map(|form| output.find(&form))?;
    let begin = output.floor_char_boundary(at.saturating_sub(120));
    let end = output.ceil_char_boundary((at + 120).min(output.len()));
    Some(&output[begin..end])
}
