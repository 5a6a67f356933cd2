//! What the effect is for people: its kind, where it can be seen, which parts of it may be shown.

use serde_json::{Map, Value};

use crate::contract::Contract;
use crate::parts::{self, optional};
use crate::pointer::Pointer;
use crate::source::{Node, Section};
use crate::template::{Template, Values};

/// The section `[product]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Product {
    kind: Option<String>,
    web: Option<String>,
    deep_link: Option<Template>,
    search_text: Option<Template>,
    amount: Option<Amount>,
    shown: Vec<Pointer>,
    captured: Vec<Pointer>,
    trace: Option<String>,
}

/// Where an amount stands in the payload.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Amount {
    at: Pointer,
    currency: Option<Pointer>,
    minor: bool,
}

/// An amount of a submission, as it is written there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AmountFound {
    /// The number, as written.
    pub number: String,
    /// The currency, as written, where the contract says where it stands.
    pub currency: Option<String>,
    /// It counts the smallest unit of the currency (cents).
    pub minor: bool,
}

impl Product {
    pub(crate) fn read(root: &Section<'_>) -> Option<Self> {
        let Some(node) = root.get("product") else {
            return Some(Self::default());
        };
        let section = node.section()?;
        let kind = section.words("kind");
        let web = optional(section.get("web"), web);
        let deep_link = optional(section.get("deep_link"), deep_link);
        let search_text = optional(section.get("search_text"), |node| {
            node.checked(Template::parse(node.text()?))
        });
        let amount = optional(section.get("amount"), amount);
        let shown = optional(section.get("shown"), pointers);
        let captured = optional(section.get("captured"), pointers);
        let trace = optional(section.get("trace"), parts::own_header_name);
        section.end();
        Some(Self {
            kind,
            web: web?,
            deep_link: deep_link?,
            search_text: search_text?,
            amount: amount?,
            shown: shown?.unwrap_or_default(),
            captured: captured?.unwrap_or_default(),
            trace: trace?,
        })
    }

    /// The members of an answer that are kept with all that is below them.
    pub(crate) fn captured(&self) -> &[Pointer] {
        &self.captured
    }
}

fn deep_link(node: &Node<'_>) -> Option<Template> {
    let template = crate::request::path(node, &[])?;
    if !template.names().contains("receipt") {
        let message = "does not lead to the receipt";
        node.error("place", message, "write {receipt} where it goes");
        return None;
    }
    Some(template)
}

/// `https://desk.example`: what a deep link stands below, where that is not the destination's base address.
fn web(node: &Node<'_>) -> Option<String> {
    let text = node.text()?;
    let host = text.strip_prefix("https://").unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-.:".contains(c);
    if host.is_empty() || !host.chars().all(plain) {
        let message = format!("`{text}` is not the address of a site");
        node.error(
            "web",
            message,
            "write it as \"https://desk.example\", without a path",
        );
        return None;
    }
    Some(text.to_owned())
}

fn amount(node: &Node<'_>) -> Option<Amount> {
    let section = node.section()?;
    let at = section.need("at").and_then(|n| parts::exact_pointer(&n));
    let currency = optional(section.get("currency"), parts::exact_pointer);
    let minor = section.flag("minor");
    section.end();
    Some(Amount {
        at: at?,
        currency: currency?,
        minor,
    })
}

fn pointers(node: &Node<'_>) -> Option<Vec<Pointer>> {
    node.list(true)?.iter().map(parts::pointer).collect()
}

impl Contract {
    /// What the effect is called: `issue`, `message`.
    #[must_use]
    pub fn product_kind(&self) -> Option<&str> {
        self.product.kind.as_deref()
    }

    /// The site where people see effects, where it is not the destination's base address.
    #[must_use]
    pub fn site(&self) -> Option<&str> {
        self.product.web.as_deref()
    }

    /// Where a person sees the effect: an address, or a path below the destination's base address. None where the contract
    /// has no link, or one that needs more than the receipt; see [`Contract::deep_link_with`].
    #[must_use]
    pub fn deep_link(&self, receipt: &str) -> Option<String> {
        self.deep_link_with(&Map::new(), receipt)
    }

    /// Where a person sees the effect of this submission.
    #[must_use]
    pub fn deep_link_with(&self, params: &Map<String, Value>, receipt: &str) -> Option<String> {
        let template = self.product.deep_link.as_ref()?;
        let mut params = params.clone();
        params.insert("receipt".to_owned(), Value::from(receipt));
        let values = Values {
            params: Some(&params),
            ..Values::default()
        };
        let path = template.fill_path(&values).ok()?;
        let web = self.product.web.as_deref().unwrap_or_default();
        Some(format!("{web}{path}"))
    }

    /// What a person can search for at the destination to find the effect.
    #[must_use]
    pub fn search_text(&self, params: &Map<String, Value>, reference: &str) -> Option<String> {
        let values = Values {
            params: Some(params),
            reference: Some(reference),
            ..Values::default()
        };
        self.product.search_text.as_ref()?.fill(&values).ok()
    }

    /// Whether it says where an amount stands.
    #[must_use]
    pub fn says_an_amount(&self) -> bool {
        self.product.amount.is_some()
    }

    /// The amount that a payload moves, where the contract says where it stands.
    #[must_use]
    pub fn amount(&self, payload: &Value) -> Option<AmountFound> {
        let amount = self.product.amount.as_ref()?;
        let currency = amount.currency.as_ref();
        Some(AmountFound {
            number: amount.at.text(payload)?,
            currency: currency.and_then(|at| at.text(payload)),
            minor: amount.minor,
        })
    }

    /// What of a payload may be shown to people who may not see all of it: the values of the members that the contract lists, by
    /// their JSON pointers. What is not there is left out.
    #[must_use]
    pub fn shown_of(&self, payload: &Value) -> Vec<(String, Value)> {
        let members = self.product.shown.iter().flat_map(|at| {
            let found = at.all(payload).into_iter();
            found.map(|value| (at.to_string(), value.clone()))
        });
        members.collect()
    }

    /// The members of the payload that may be shown to people who may not see all of it, as JSON pointers.
    pub fn shown_members(&self) -> impl Iterator<Item = String> {
        self.product.shown.iter().map(ToString::to_string)
    }

    /// The members of an answer that may be kept beside what is needed to read it, as JSON pointers.
    pub fn captured_members(&self) -> impl Iterator<Item = String> {
        self.product.captured.iter().map(ToString::to_string)
    }

    /// The header in which the destination takes a trace context (W3C), in lower case.
    #[must_use]
    pub fn trace_header(&self) -> Option<&str> {
        self.product.trace.as_deref()
    }
}
