//! `[console]`: the pages for people, and for how long somebody stays signed in there.

use std::collections::BTreeMap;

use factum_core::Span;
use factum_engine::directory::Scope;
use serde::Deserialize;

use super::Wait;

/// `[console]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ConsoleConfig {
    /// Whether it is there at all.
    pub enabled: bool,
    /// A session ends when nobody has done anything in it for so long.
    pub idle: Wait,
    /// A session ends so long after it was opened, whatever is done in it.
    pub session: Wait,
    /// People sign in with this identity provider too.
    pub oidc: Option<OidcConfig>,
}

/// `[console.oidc]`: sign-in by OpenID Connect.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OidcConfig {
    /// The provider, as it calls itself: `https://id.example`.
    pub issuer: String,
    /// What the provider calls this installation.
    pub client_id: String,
    /// A reference to the secret that the provider gave it, `env:NAME` or `file:PATH`; none for a public client.
    pub client_secret: Option<String>,
    /// Where browsers find this console: `https://factum.example`.
    pub url: String,
    /// What is asked for.
    #[serde(default = "scopes")]
    pub scopes: Vec<String>,
    /// The claim that names somebody here, in logs and verdicts: one that they cannot change themselves.
    #[serde(default = "name")]
    pub name: String,
    /// The claim with the groups that somebody is in.
    #[serde(default = "groups")]
    pub groups: String,
    /// What the members of each group may do. Whoever is in none of them is not let in.
    pub roles: BTreeMap<String, Vec<Scope>>,
    /// The tenant that they belong to; the installation's own where none is said.
    pub tenant: Option<String>,
}

impl OidcConfig {
    /// What somebody may do who is in these groups: all that any of them may.
    #[must_use]
    pub fn scopes_of(&self, groups: &[String]) -> Vec<Scope> {
        let mut scopes = Vec::new();
        for scope in groups
            .iter()
            .filter_map(|group| self.roles.get(group))
            .flatten()
        {
            if !scopes.contains(scope) {
                scopes.push(*scope);
            }
        }
        scopes
    }
}

fn scopes() -> Vec<String> {
    ["openid", "profile", "groups"].map(str::to_owned).into()
}

fn name() -> String {
    "sub".to_owned()
}

fn groups() -> String {
    "groups".to_owned()
}

impl Default for ConsoleConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            idle: Wait(Span::from_secs(30 * 60)),
            session: Wait(Span::from_secs(12 * 3_600)),
            oidc: None,
        }
    }
}
