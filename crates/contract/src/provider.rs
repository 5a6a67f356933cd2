//! What all operations of a provider share: how it is authenticated to, its limits, the answers that every operation can get.

use factum_core::Span;

use crate::advice::Advice;
use crate::auth;
use crate::claims::Claims;
use crate::examples::Examples;
use crate::finding::Finding;
use crate::parts::{self, Take, optional};
use crate::rules::{self, KeyIs, Rule};
use crate::signing::HmacSigning;
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
    pub(crate) advice: Advice,
    pub(crate) examples: Examples,
}

/// How a provider can be authenticated to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthRules {
    /// The kinds that it takes; empty where nothing is said.
    pub kinds: Vec<AuthKind>,
    /// The header that carries the secret, for [`AuthKind::Header`]; in lower case.
    pub header: Option<String>,
    /// The parameter of the query that carries it, for [`AuthKind::Query`].
    pub query: Option<String>,
    /// Where tokens are got, for [`AuthKind::Oauth2ClientCredentials`].
    pub oauth2: Option<Oauth2>,
    /// What is signed for, for [`AuthKind::SigV4`].
    pub sigv4: Option<SigV4>,
    /// How requests are signed, for [`AuthKind::Hmac`].
    pub hmac: Option<HmacSigning>,
}

/// Getting tokens with the credentials of a client (RFC 6749, section 4.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oauth2 {
    /// The address where tokens are got, or its path below the destination's base address.
    pub token_url: String,
    /// The scopes that are asked for.
    pub scopes: Vec<String>,
    /// The audience that is asked for, where the provider wants one.
    pub audience: Option<String>,
    /// The client's credentials go into the body of the request, not into its `Authorization`.
    pub in_body: bool,
}

/// AWS Signature Version 4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SigV4 {
    /// The service's name in the scope of the signature: `sqs`.
    pub service: String,
    /// The region, where it is not the destination's setting.
    pub region: Option<String>,
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
    /// A parameter of the query.
    Query,
    /// A bearer token that is got with a client's credentials, and renewed.
    Oauth2ClientCredentials,
    /// AWS Signature Version 4.
    SigV4,
    /// A MAC over parts of the request.
    Hmac,
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
    /// Between two requests that change something, at the least.
    pub between: Option<Span>,
}

impl AuthKind {
    /// As contracts write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        crate::lookup::word(self)
    }
}

impl Word for AuthKind {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("none", Self::None),
        ("bearer", Self::Bearer),
        ("basic", Self::Basic),
        ("header", Self::Header),
        ("query", Self::Query),
        ("oauth2_client_credentials", Self::Oauth2ClientCredentials),
        ("sigv4", Self::SigV4),
        ("hmac", Self::Hmac),
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
            Some(section) => auth::read(&section),
            None => Some(AuthRules::default()),
        };
        let limits = match root.sub("limits") {
            Some(section) => limits(&section),
            None => Some(ProviderLimits::default()),
        };
        let retry_after = optional(root.get("retry_after"), parts::take);
        let advice = match root.sub("advice") {
            Some(section) => Advice::read(&section),
            None => Some(Advice::default()),
        };
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
            advice: advice?,
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

fn whole(node: &Node<'_>) -> Option<u32> {
    u32::try_from(node.integer_in(1, i64::from(u32::MAX))?).ok()
}

/// So many requests within a length of time.
pub(crate) fn rate(node: &Node<'_>) -> Option<(u32, Span)> {
    let rate = node.section()?;
    let requests = rate.need("requests").and_then(|node| whole(&node));
    let per = rate.need("per").and_then(|node| parts::length(&node));
    rate.end();
    Some((requests?, per?))
}

fn limits(section: &Section<'_>) -> Option<ProviderLimits> {
    let concurrency = optional(section.get("concurrency"), whole);
    let rate = optional(section.get("rate"), rate);
    let body_max = optional(section.get("body_max"), |node| {
        u64::try_from(node.integer_in(1, i64::MAX)?).ok()
    });
    let between = optional(section.get("between"), parts::length);
    // For people: what a limit counts over, and what follows when it is broken.
    section.words("scope");
    section.words("ban");
    section.end();
    Some(ProviderLimits {
        between: between?,
        concurrency: concurrency?,
        rate: rate?,
        body_max: body_max?,
    })
}
