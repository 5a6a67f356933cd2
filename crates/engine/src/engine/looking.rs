//! Where a person looks for an effect at its destination, and by what.

use factum_store::Record;
use serde_json::{Map, Value};

use super::Engine;

/// Where to look, and what to search for there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Whereabouts {
    /// What the effect is called: `ticket`, `message`; none where no contract says.
    pub kind: Option<String>,
    /// The site where people see it, or else the address that requests go to.
    pub site: Option<String>,
    /// The effect itself, once its receipt is known.
    pub link: Option<String>,
    /// What to type into the destination's own search, where the contract says.
    pub search: Option<String>,
    /// Our mark in the effect. Nobody else has written it.
    pub mark: String,
    /// The key that the requests carried; empty where none was sent.
    pub key: String,
}

impl Engine {
    /// Where a person can see what became of an action.
    pub async fn whereabouts(&self, record: &Record) -> Whereabouts {
        let content = &record.action.content;
        let (key, mark) = self.names(record, record.known.current_epoch()).await;
        let base = content.place.clone();
        let Some(contract) = self.shared.pinned_contract(record).await else {
            return Whereabouts {
                site: base,
                mark,
                ..Whereabouts::default()
            };
        };
        let params: Map<String, Value> = serde_json::from_str(&content.params).unwrap_or_default();
        let receipt = record.status().receipt;
        let link = receipt.and_then(|receipt| contract.deep_link_with(&params, &receipt.reference));
        let below = |path: String| match &base {
            Some(base) if path.starts_with('/') => {
                format!("{}{path}", base.trim_end_matches('/'))
            }
            Some(_) | None => path,
        };
        let sent =
            record.known.attempts_marked() > 0 && record.action.intent.promises.key.is_some();
        Whereabouts {
            kind: contract.product_kind().map(str::to_owned),
            site: contract.site().map(str::to_owned).or(base.clone()),
            link: link.map(below),
            search: contract.search_text(&params, &mark),
            key: if sent { key } else { String::new() },
            mark,
        }
    }
}
