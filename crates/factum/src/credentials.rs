//! `auth = { … }` of a destination: how it is written, and what becomes of it beside the provider's contract. Holds references;
//! reads no secret.

use factum_contract::{AuthKind, AuthRules, Provider};
use factum_engine::{Code, Problem};
use factum_transport::{Auth, Hmac, Id, Malformed, OAuth2, SecretRef, SigV4, Target, Trust};
use serde::Deserialize;

use crate::config::DestinationConfig;

/// `auth = { … }`: one of its forms, each secret by reference.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AuthConfig {
    /// `Authorization: Bearer`.
    pub bearer: Option<String>,
    /// `Authorization: Basic`, one secret of the form `user:password`.
    pub basic: Option<String>,
    /// `Authorization: Basic`, with `password`.
    pub user: Option<String>,
    /// The secret beside `user`.
    pub password: Option<String>,
    /// A header of the destination's own, with `value`.
    pub header: Option<String>,
    /// The secret beside `header`.
    pub value: Option<String>,
    /// The parameter of the query that the provider's contract names.
    pub query: Option<String>,
    /// Tokens that are got with a client's credentials.
    pub oauth2: Option<OAuth2Config>,
    /// AWS Signature Version 4.
    pub sigv4: Option<SigV4Config>,
    /// A MAC over the request, as the provider's contract says.
    pub hmac: Option<HmacConfig>,
}

/// `oauth2 = { … }`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OAuth2Config {
    /// The client: as it is, or by reference.
    pub client_id: String,
    /// Its secret, by reference.
    pub client_secret: String,
    /// Where tokens are got, or a path below the base address; else as the provider's contract says.
    #[serde(default)]
    pub token_url: Option<String>,
    /// What is asked for; else as the provider's contract says.
    #[serde(default)]
    pub scopes: Option<Vec<String>>,
    /// For whom tokens are asked for; else as the provider's contract says.
    #[serde(default)]
    pub audience: Option<String>,
    /// Client and secret go into the body of the token request; else as the provider's contract says.
    #[serde(default)]
    pub in_body: Option<bool>,
    /// `file:PATH`: the one authority that is trusted at the token's address.
    #[serde(default)]
    pub ca: Option<String>,
}

/// `sigv4 = { … }`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SigV4Config {
    /// The access key's id, by reference.
    pub access_key: String,
    /// Its secret, by reference.
    pub secret_key: String,
    /// The session's token, by reference, for credentials that end.
    #[serde(default)]
    pub session_token: Option<String>,
    /// As in `eu-west-1`; else as the provider's contract says.
    #[serde(default)]
    pub region: Option<String>,
    /// As in `sqs`; else as the provider's contract says.
    #[serde(default)]
    pub service: Option<String>,
}

/// `hmac = { … }`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HmacConfig {
    /// The key, by reference.
    pub secret: String,
    /// The key's id, where the provider wants it: as it is, or by reference.
    #[serde(default)]
    pub key_id: Option<String>,
}

/// `target` with what the destination's configuration says of authentication and of certificates.
pub(crate) fn on(
    target: Target,
    at: &str,
    written: &DestinationConfig,
    provider: Option<&Provider>,
) -> Result<Target, Problem> {
    let place = Place {
        at,
        written,
        provider,
    };
    let mut target = target;
    if let Some(ca) = &written.ca {
        target = target.with_trust(place.trust("/ca", ca)?);
    }
    let Some(auth) = &written.auth else {
        return Ok(target);
    };
    let auth = place.auth(auth)?;
    target.with_auth(auth).map_err(|error| {
        let member = if error.member == "token_url" {
            "/auth/oauth2/token_url"
        } else {
            "/auth"
        };
        place.malformed(member, &error)
    })
}

/// What a provider wants where no `auth` is configured, unless it takes requests without.
#[must_use]
pub(crate) fn wanted(provider: &Provider) -> Option<String> {
    let kinds = &provider.auth.kinds;
    let wants = !kinds.is_empty() && !kinds.contains(&AuthKind::None);
    wants.then(|| names(kinds))
}

fn names(kinds: &[AuthKind]) -> String {
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
    names.join(", ")
}

/// Where something is written, and what it is about.
struct Place<'a> {
    at: &'a str,
    written: &'a DestinationConfig,
    provider: Option<&'a Provider>,
}

impl Place<'_> {
    fn auth(&self, written: &AuthConfig) -> Result<Auth, Problem> {
        let (auth, kind) = match written {
            one if one.forms() != 1 => return Err(self.no_form()),
            AuthConfig {
                bearer: Some(token),
                ..
            } => (
                Auth::Bearer(self.secret("bearer", token)?),
                AuthKind::Bearer,
            ),
            AuthConfig {
                basic: Some(pair), ..
            } => (
                Auth::BasicPair(self.secret("basic", pair)?),
                AuthKind::Basic,
            ),
            AuthConfig {
                user: Some(user),
                password: Some(password),
                ..
            } => {
                let password = self.secret("password", password)?;
                let user = user.clone();
                (Auth::Basic { user, password }, AuthKind::Basic)
            }
            AuthConfig {
                header: Some(name),
                value: Some(value),
                ..
            } => {
                let (name, value) = (name.to_lowercase(), self.secret("value", value)?);
                (Auth::Header { name, value }, AuthKind::Header)
            }
            AuthConfig {
                query: Some(value), ..
            } => return self.query(value),
            AuthConfig {
                oauth2: Some(oauth2),
                ..
            } => return self.oauth2(oauth2),
            AuthConfig {
                sigv4: Some(sigv4), ..
            } => return self.sigv4(sigv4),
            AuthConfig {
                hmac: Some(hmac), ..
            } => return self.hmac(hmac),
            _ => return Err(self.no_form()),
        };
        self.takes(kind)?;
        if let (Auth::Header { name, .. }, Some(own)) = (&auth, &self.rules().header)
            && name != own
        {
            let rule = format!("{} reads its secret from the header {own}", self.name());
            return Err(self.bad("/auth/header", rule, &format!("write header = {own:?}")));
        }
        Ok(auth)
    }

    fn query(&self, value: &str) -> Result<Auth, Problem> {
        self.takes(AuthKind::Query)?;
        let Some(name) = self.rules().query else {
            return Err(self.unsaid(
                "/auth/query",
                "which parameter of the query carries a secret",
            ));
        };
        let value = self.secret("query", value)?;
        Ok(Auth::Query { name, value })
    }

    fn oauth2(&self, written: &OAuth2Config) -> Result<Auth, Problem> {
        let rules = self.rules();
        // A token that is got so is a bearer token: who takes these takes it, once its address is known.
        let bearer = rules.kinds.contains(&AuthKind::Bearer) && written.token_url.is_some();
        if !bearer {
            self.takes(AuthKind::Oauth2ClientCredentials)?;
        }
        let said = rules.oauth2.as_ref();
        let token_url = written
            .token_url
            .as_ref()
            .or(said.map(|said| &said.token_url));
        let Some(token_url) = token_url else {
            return Err(self.unsaid("/auth/oauth2/token_url", "where tokens are got"));
        };
        let base = self.written.base.trim_end_matches('/');
        let token_url = if token_url.starts_with('/') {
            format!("{base}{token_url}")
        } else {
            token_url.clone()
        };
        let scopes = written.scopes.clone();
        let audience = written.audience.clone();
        let trust = match &written.ca {
            Some(ca) => Some(self.trust("/auth/oauth2/ca", ca)?),
            None => None,
        };
        Ok(Auth::OAuth2(Box::new(OAuth2 {
            token_url,
            allow_plain_http: self.written.allow_plain_http,
            client_id: Id::parse(&written.client_id),
            client_secret: self.secret("oauth2/client_secret", &written.client_secret)?,
            scopes: scopes
                .or_else(|| Some(said?.scopes.clone()))
                .unwrap_or_default(),
            audience: audience.or_else(|| said?.audience.clone()),
            in_body: written
                .in_body
                .unwrap_or(said.is_some_and(|said| said.in_body)),
            trust,
        })))
    }

    fn sigv4(&self, written: &SigV4Config) -> Result<Auth, Problem> {
        self.takes(AuthKind::SigV4)?;
        let said = self.rules().sigv4;
        let said = said.as_ref();
        let service = written.service.as_ref().or(said.map(|said| &said.service));
        let region = written
            .region
            .as_ref()
            .or(said.and_then(|said| said.region.as_ref()));
        let Some(service) = service else {
            return Err(self.unsaid("/auth/sigv4/service", "for which service is signed"));
        };
        let Some(region) = region else {
            return Err(self.unsaid("/auth/sigv4/region", "for which region is signed"));
        };
        let session_token = match &written.session_token {
            Some(token) => Some(self.secret("sigv4/session_token", token)?),
            None => None,
        };
        Ok(Auth::SigV4(Box::new(SigV4 {
            access_key: self.secret("sigv4/access_key", &written.access_key)?,
            secret_key: self.secret("sigv4/secret_key", &written.secret_key)?,
            session_token,
            region: region.clone(),
            service: service.clone(),
        })))
    }

    fn hmac(&self, written: &HmacConfig) -> Result<Auth, Problem> {
        self.takes(AuthKind::Hmac)?;
        let Some(signing) = self.rules().hmac else {
            return Err(self.unsaid("/auth/hmac", "how requests are signed"));
        };
        Ok(Auth::Hmac(Box::new(Hmac {
            signing,
            key_id: written.key_id.as_deref().map(Id::parse),
            secret: self.secret("hmac/secret", &written.secret)?,
        })))
    }

    /// Whether the provider's contract takes this kind. A contract that lists none says nothing.
    fn takes(&self, kind: AuthKind) -> Result<(), Problem> {
        let rules = self.rules();
        if rules.kinds.is_empty() || rules.kinds.contains(&kind) {
            return Ok(());
        }
        let rule = format!(
            "the contract of {} does not take {}; it takes: {}",
            self.name(),
            kind.name(),
            names(&rules.kinds)
        );
        let forms: Vec<String> = rules.kinds.iter().map(|kind| form(*kind, &rules)).collect();
        Err(self.bad("/auth", rule, &format!("write {}", forms.join(", or "))))
    }

    fn secret(&self, member: &str, text: &str) -> Result<SecretRef, Problem> {
        SecretRef::parse(text).map_err(|error| self.malformed(&format!("/auth/{member}"), &error))
    }

    fn trust(&self, member: &str, text: &str) -> Result<Trust, Problem> {
        let remedy = "write file:PATH of a PEM file with the authority's certificate";
        let Some(path) = text.strip_prefix("file:") else {
            return Err(self.bad(
                member,
                "an authority is named by its file".to_owned(),
                remedy,
            ));
        };
        let pem = std::fs::read(path)
            .map_err(|error| self.bad(member, format!("cannot read {path}: {error}"), remedy))?;
        Trust::from_pem(&pem).map_err(|error| self.malformed(member, &error))
    }

    fn rules(&self) -> AuthRules {
        self.provider
            .map(|provider| provider.auth.clone())
            .unwrap_or_default()
    }

    fn name(&self) -> &str {
        &self.written.provider
    }

    fn no_form(&self) -> Problem {
        let rule = "it has one form: `bearer`, `basic`, `user` with `password`, `header` with `value`, `query`, `oauth2`, `sigv4` or `hmac`";
        let remedy =
            "write one of them, each secret by reference: `env:NAME`, `file:PATH` or `cmd:PROGRAM`";
        self.bad("/auth", rule.to_owned(), remedy)
    }

    fn unsaid(&self, member: &str, what: &str) -> Problem {
        let rule = format!("the contract of {} does not say {what}", self.name());
        self.bad(
            member,
            rule,
            "write it here, or add it to a contract of your own",
        )
    }

    fn malformed(&self, member: &str, error: &Malformed) -> Problem {
        self.bad(member, error.rule.clone(), &error.remedy)
    }

    fn bad(&self, member: &str, rule: String, remedy: &str) -> Problem {
        Problem::new(
            Code::BadConfig,
            format!("{}{member}", self.at),
            rule,
            remedy,
        )
    }
}

/// How a kind is written.
fn form(kind: AuthKind, rules: &AuthRules) -> String {
    match kind {
        AuthKind::None => "no `auth` at all".to_owned(),
        AuthKind::Bearer => "`bearer = \"env:TOKEN\"`".to_owned(),
        AuthKind::Basic => "`basic = \"env:USER_AND_PASSWORD\"`".to_owned(),
        AuthKind::Header => {
            let name = rules.header.as_deref().unwrap_or("x-api-key");
            format!("`header = {name:?}, value = \"env:KEY\"`")
        }
        AuthKind::Query => "`query = \"env:KEY\"`".to_owned(),
        AuthKind::Oauth2ClientCredentials => {
            "`oauth2 = { client_id = \"…\", client_secret = \"env:SECRET\" }`".to_owned()
        }
        AuthKind::SigV4 => {
            "`sigv4 = { access_key = \"env:ID\", secret_key = \"env:SECRET\", region = \"…\" }`"
                .to_owned()
        }
        AuthKind::Hmac => "`hmac = { secret = \"env:SECRET\" }`".to_owned(),
    }
}

impl AuthConfig {
    /// How many forms are written; exactly one is right.
    fn forms(&self) -> usize {
        let forms = [
            self.bearer.is_some(),
            self.basic.is_some(),
            self.user.is_some() || self.password.is_some(),
            self.header.is_some() || self.value.is_some(),
            self.query.is_some(),
            self.oauth2.is_some(),
            self.sigv4.is_some(),
            self.hmac.is_some(),
        ];
        forms.into_iter().filter(|given| *given).count()
    }

    /// The form in words, with references and never a secret; for people.
    #[must_use]
    pub fn in_words(&self) -> String {
        let part = |word: &str, reference: &Option<String>| {
            let reference = reference.as_ref()?;
            Some(format!("{word} {reference}"))
        };
        let user = format!("basic {}", self.user.as_deref().unwrap_or_default());
        let oauth2 = self.oauth2.as_ref();
        let oauth2 = oauth2.map(|o| format!("oauth2 {} {}", o.client_id, o.client_secret));
        let sigv4 = self.sigv4.as_ref();
        let sigv4 = sigv4.map(|s| format!("sigv4 {} {}", s.access_key, s.secret_key));
        part("bearer", &self.bearer)
            .or(part("basic", &self.basic))
            .or(part(&user, &self.password))
            .or(part(
                self.header.as_deref().unwrap_or_default(),
                &self.value,
            ))
            .or(part("query", &self.query))
            .or(oauth2)
            .or(sigv4)
            .or(self
                .hmac
                .as_ref()
                .map(|hmac| format!("hmac {}", hmac.secret)))
            .unwrap_or_else(|| "none".to_owned())
    }
}
