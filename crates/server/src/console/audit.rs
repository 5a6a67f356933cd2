//! Who changed what about authority, when, and why: the latest change of each entry, and of one all of them.

use factum::view::rfc3339;
use factum::{Entry, EntryFilter, Kind};
use serde_json::Value;

use super::Visit;
use super::settings::Stand;
use super::words::When;
use crate::app::App;
use crate::reply::Failure;

/// Entries of a kind that are looked through, and changes that are shown.
const LOOKED_AT: usize = 500;
const SHOWN_MAX: usize = 50;

/// What of a tenant is changed by people, and where its page is.
const KINDS: [(Kind, &str, &str); 6] = [
    (Kind::Principal, "principal", "principals"),
    (Kind::Token, "token", "tokens"),
    (Kind::Grant, "grant", "grants"),
    (Kind::Endpoint, "webhook", "webhooks"),
    (Kind::Destination, "destination", ""),
    (Kind::Hold, "hold", ""),
];

/// One change.
pub(super) struct Change {
    /// `token 5f0c`; empty where the page says it.
    pub(super) what: String,
    /// Where there is more about it.
    pub(super) link: Option<String>,
    pub(super) at: When,
    pub(super) by: String,
    pub(super) why: String,
}

impl Change {
    /// As the API shows it.
    pub(super) fn of(changed: &Value) -> Self {
        let text = |member: &str| changed[member].as_str().unwrap_or_default().to_owned();
        Self {
            what: String::new(),
            link: None,
            at: When::of_text(&text("at")),
            by: text("by"),
            why: text("why"),
        }
    }

    fn of_entry(entry: &Entry, one: &str, page: &str) -> Self {
        let id = &entry.key.id;
        let path = form_urlencoded::byte_serialize(id.as_bytes()).collect::<String>();
        Self {
            what: format!("{one} {id}"),
            link: (!page.is_empty()).then(|| format!("/settings/{page}/{path}")),
            at: When::of_text(&rfc3339(entry.changed.at)),
            by: entry.changed.by.clone(),
            why: entry.changed.why.clone(),
        }
    }
}

/// The latest change of each entry of the tenant, and who signed in: the newest first.
pub(super) async fn changes(app: &App, visit: &Visit) -> Result<Vec<Change>, Failure> {
    let engine = app.factum().engine();
    let mut found = Vec::new();
    for (kind, one, page) in KINDS {
        let filter = EntryFilter {
            tenant: Some(visit.caller.tenant.clone()),
            limit: LOOKED_AT,
            ..EntryFilter::of(kind)
        };
        let entries = engine.entries(filter).await?;
        let changes = entries.iter();
        found.extend(changes.map(|entry| (entry.changed.at, Change::of_entry(entry, one, page))));
    }
    // Sessions lie together, whosever they are; the label tells.
    let sessions = EntryFilter {
        label: Some(visit.caller.tenant.clone()),
        limit: LOOKED_AT,
        ..EntryFilter::of(Kind::Session)
    };
    for entry in engine.entries(sessions).await? {
        let change = Change::of_entry(&entry, "session", "");
        found.push((entry.changed.at, change));
    }
    found.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    found.truncate(SHOWN_MAX);
    Ok(found.into_iter().map(|(_, change)| change).collect())
}

/// Everything that was changed about one entry, the newest first.
pub(super) fn history(versions: &Value) -> Vec<(Stand, Change)> {
    let versions = versions.as_array().into_iter().flatten().rev();
    let stand = |one: &Value| Stand::of(one["standing"].as_str().unwrap_or("active"));
    versions.map(|one| (stand(one), Change::of(one))).collect()
}
