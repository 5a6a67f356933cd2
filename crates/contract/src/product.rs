//! What the effect is for people: its kind, and where it can be seen.

use crate::contract::Contract;
use crate::parts::optional;
use crate::source::Section;
use crate::template::{Template, Values};

/// The section `[product]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Product {
    kind: Option<String>,
    deep_link: Option<Template>,
    search_text: Option<Template>,
}

impl Product {
    pub(crate) fn read(root: &Section<'_>) -> Option<Self> {
        let Some(node) = root.get("product") else {
            return Some(Self::default());
        };
        let section = node.section()?;
        let kind = section.words("kind");
        let deep_link = optional(section.get("deep_link"), |node| {
            let template = crate::request::path(node, &[])?;
            let names = template.names();
            if names.iter().ne(&["receipt"]) {
                let message = "does not lead to the receipt alone";
                node.error(
                    "place",
                    message,
                    "write {receipt} where it goes, and no other place",
                );
                return None;
            }
            Some(template)
        });
        let search_text = optional(section.get("search_text"), |node| {
            node.checked(Template::parse(node.text()?))
        });
        section.end();
        Some(Self {
            kind,
            deep_link: deep_link?,
            search_text: search_text?,
        })
    }
}

impl Contract {
    /// What the effect is called: `issue`, `message`.
    #[must_use]
    pub fn product_kind(&self) -> Option<&str> {
        self.product.kind.as_deref()
    }

    /// The path below the destination's base address where a person sees the effect.
    #[must_use]
    pub fn deep_link(&self, receipt: &str) -> Option<String> {
        let template = self.product.deep_link.as_ref()?;
        let value = serde_json::Value::from(receipt);
        let params = serde_json::Map::from_iter([("receipt".to_owned(), value)]);
        let values = Values {
            params: Some(&params),
            ..Values::default()
        };
        template.fill_path(&values).ok()
    }
}
