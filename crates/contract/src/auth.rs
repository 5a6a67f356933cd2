//! Reading `[auth]` of a provider: the ways to authenticate that it takes, and what each of them needs to know.
//!
//! Nothing here holds a secret: a destination's configuration names it, and the transport fetches it when it sends.

use crate::parts::{self, optional};
use crate::provider::{AuthKind, AuthRules, Oauth2, SigV4};
use crate::signing::HmacSigning;
use crate::source::{Node, Section};

pub(crate) fn read(section: &Section<'_>) -> Option<AuthRules> {
    let kinds = section.need("kinds").and_then(|node| {
        let words = node.list(false)?;
        words.iter().map(Node::word).collect::<Option<Vec<_>>>()
    });
    let header = optional(section.get("header"), parts::header_name);
    let query = optional(section.get("query"), crate::key::query_name);
    let oauth2 = optional(section.get("oauth2"), oauth2);
    let sigv4 = optional(section.get("sigv4"), sigv4);
    let hmac = optional(section.get("hmac"), HmacSigning::read);
    section.end();
    let rules = AuthRules {
        kinds: kinds?,
        header: header?,
        query: query?,
        oauth2: oauth2?,
        sigv4: sigv4?,
        hmac: hmac?,
    };
    let members = [
        (AuthKind::Header, "header", rules.header.is_some()),
        (AuthKind::Query, "query", rules.query.is_some()),
        (
            AuthKind::Oauth2ClientCredentials,
            "oauth2",
            rules.oauth2.is_some(),
        ),
        (AuthKind::SigV4, "sigv4", rules.sigv4.is_some()),
        (AuthKind::Hmac, "hmac", rules.hmac.is_some()),
    ];
    for (kind, member, given) in members {
        if rules.kinds.contains(&kind) != given {
            let word = crate::lookup::word(kind);
            let message =
                format!("knows only one of the kind \"{word}\" and its member `{member}`");
            section.error(member, "auth_member", message, "write both, or neither");
            return None;
        }
    }
    Some(rules)
}

fn oauth2(node: &Node<'_>) -> Option<Oauth2> {
    let section = node.section()?;
    let token_url = section.need("token_url").and_then(|node| {
        let text = node.words()?;
        if !text.starts_with("https://") && !text.starts_with('/') {
            let message = "is neither an address nor a path";
            node.error(
                "token_url",
                message,
                "write \"https://…\", or a path from its first slash",
            );
            return None;
        }
        Some(text.to_owned())
    });
    let scopes = optional(section.get("scopes"), |node| {
        let list = node.list(true)?;
        let texts = list.iter().map(|node| node.words().map(str::to_owned));
        texts.collect::<Option<Vec<_>>>()
    });
    let audience = section.words("audience");
    let in_body = section.flag("in_body");
    section.end();
    Some(Oauth2 {
        token_url: token_url?,
        scopes: scopes?.unwrap_or_default(),
        audience,
        in_body,
    })
}

fn sigv4(node: &Node<'_>) -> Option<SigV4> {
    let section = node.section()?;
    let service = section.need_words("service");
    let region = section.words("region");
    section.end();
    Some(SigV4 {
        service: service?,
        region,
    })
}
