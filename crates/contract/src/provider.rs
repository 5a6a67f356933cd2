//! What all operations of a provider share: how it is authenticated to, its limits, the answers that every operation can get.

use factum_core::Span;

use crate::claims::Claims;
use crate::examples::Examples;
use crate::finding::Finding;
use crate::parts::{self, Take, optional};
use crate::rules::{self, KeyIs, Rule};
use crate::source::{Node, Report, Section, Word};

/// What all operations of a provider share: the file `provider.toml`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provider {
    /// The provider's name, as in the configuration of destinations.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// How it can be authenticated to.
    pub auth: AuthRules,
    /// What it takes at the most.
    pub limits: ProviderLimits,
    pub(crate) answers: Vec<Rule>,
    pub(crate) retry_after: Option<Take>,
    pub(crate) examples: Examples,
}

/// How a provider can be authenticated to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthRules {
    /// The kinds that it takes; empty where nothing is said.
    pub kinds: Vec<AuthKind>,
    /// The header that carries the secret, for [`AuthKind::Header`]; in lower case.
    pub header: Option<String>,
}

/// A way to authenticate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AuthKind {
    /// None.
    None,
    /// `Authorization: Bearer …`
    Bearer,
    /// `Authorization: Basic …`
    Basic,
    /// A header of the provider's own.
    Header,
}

/// What a provider takes at the most; none where nothing is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProviderLimits {
    /// Requests at once.
    pub concurrency: Option<u32>,
    /// Requests within a length of time.
    pub rate: Option<(u32, Span)>,
    /// Bytes of a body.
    pub body_max: Option<u64>,
}

impl Word for AuthKind {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("none", Self::None),
        ("bearer", Self::Bearer),
        ("basic", Self::Basic),
        ("header", Self::Header),
    ];
}

impl Provider {
    /// From the text of a `provider.toml`.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(file: &str, text: &str) -> Result<Self, Vec<Finding>> {
        let report = Report::new(file, text);
        let provider = {
            let tree = report.tree();
            tree.and_then(|tree| Self::read(&report.root(&tree)))
        };
        match provider {
            Some(mut provider) if !report.failed() => {
                provider.examples.place(file, text);
                Ok(provider)
            }
            _ => Err(report.into_findings()),
        }
    }

    fn read(root: &Section<'_>) -> Option<Self> {
        let mut claims = Claims::read(root);
        let name = root.need("provider").and_then(|node| name(&node));
        let title = root.need_words("title");
        let auth = match root.sub("auth") {
            Some(section) => auth(&section),
            None => Some(AuthRules::default()),
        };
        let limits = match root.sub("limits") {
            Some(section) => limits(&section),
            None => Some(ProviderLimits::default()),
        };
        let retry_after = optional(root.get("retry_after"), parts::take);
        let answers = rules::read(root, KeyIs::PerOperation, &mut claims);
        let examples = Examples::read(root);
        root.end();
        Some(Self {
            examples: examples?,
            name: name?,
            title: title?,
            auth: auth?,
            limits: limits?,
            answers: answers.rules,
            retry_after: retry_after?,
        })
    }
}

/// The name of a provider or an operation: it is a folder's or a file's name, and stands in configurations.
pub(crate) fn name(node: &Node<'_>) -> Option<String> {
    let text = node.text()?;
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b);
    let fine = text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(plain)
        && !text.contains("..")
        && !text.ends_with('.');
    if !fine {
        let message = format!("`{text}` cannot be a name");
        let remedy = "use a-z, 0-9, hyphens, underscores and single dots, a letter first";
        node.error("name", message, remedy);
        return None;
    }
    Some(text.to_owned())
}

fn auth(section: &Section<'_>) -> Option<AuthRules> {
    let kinds = section.need("kinds").and_then(|node| {
        let words = node.list(false)?;
        words.iter().map(Node::word).collect::<Option<Vec<_>>>()
    });
    let header = optional(section.get("header"), parts::header_name);
    section.end();
    let rules = AuthRules {
        kinds: kinds?,
        header: header?,
    };
    if rules.kinds.contains(&AuthKind::Header) != rules.header.is_some() {
        let message = "knows only one of the kind \"header\" and the header's name";
        let remedy = "write both, or neither";
        section.error("header", "auth_header", message, remedy);
        return None;
    }
    Some(rules)
}

fn limits(section: &Section<'_>) -> Option<ProviderLimits> {
    let whole = |node: &Node<'_>| {
        let number = node.integer_in(1, i64::from(u32::MAX))?;
        u32::try_from(number).ok()
    };
    let concurrency = optional(section.get("concurrency"), whole);
    let rate = optional(section.get("rate"), |node| {
        let rate = node.section()?;
        let requests = rate.need("requests").and_then(|node| whole(&node));
        let per = rate.need("per").and_then(|node| parts::length(&node));
        rate.end();
        Some((requests?, per?))
    });
    let body_max = optional(section.get("body_max"), |node| {
        u64::try_from(node.integer_in(1, i64::MAX)?).ok()
    });
    section.end();
    Some(ProviderLimits {
        concurrency: concurrency?,
        rate: rate?,
        body_max: body_max?,
    })
}
